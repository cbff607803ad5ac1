"""Owns what launches need of the CUDA driver, through CuPy: modules, work memory, the current stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_STATIC_SHARED = 48 << 10  # more than this has to be asked for


class WorkMemory:
    """An allocation of CuPy's pool; its address is `int(memory)`."""

    __slots__ = ("pointer",)

    def __init__(self, pointer: Any) -> None:
        self.pointer = pointer

    def __int__(self) -> int:
        return int(self.pointer.ptr)


class CupyDriver:
    """The current device through CuPy."""

    def __init__(self, trim: Callable[[], None] | None = None) -> None:
        import cupy
        from cupy.cuda import driver, function

        self._trim = trim or self._trim_pool
        self._cupy, self._driver, self._module = cupy, driver, function.Module
        self._current = cupy.cuda.get_current_stream
        self.launch_kernel = driver.launchKernel
        attributes = cupy.cuda.Device().attributes
        self.capability = int(cupy.cuda.Device().compute_capability)
        self.multiprocessors = int(attributes["MultiProcessorCount"])
        self._modules: list[Any] = []  # a handle is valid as long as its module
        self.kept: list[Any] | None = None  # work memory is kept here while launches are recorded

    def load(self, binary: Any) -> int:
        """The handle of a compiled function."""
        module = self._module()
        module.load(binary.cubin)
        self._modules.append(module)
        handle = int(module.get_function(binary.name).ptr)
        if binary.shared > _STATIC_SHARED:
            attribute = self._driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._driver.funcSetAttribute(handle, attribute, binary.shared)
        return handle

    def allocate(self, size: int, fill: int | None) -> WorkMemory:
        """Memory of `size` bytes, alive as long as the object."""
        try:
            pointer = self._cupy.cuda.alloc(max(size, 1))
        except self._cupy.cuda.memory.OutOfMemoryError:
            self._trim()
            pointer = self._cupy.cuda.alloc(max(size, 1))
        if fill is not None:
            pointer.memset_async(fill, size, self._cupy.cuda.get_current_stream())
        if self.kept is not None:
            self.kept.append(pointer)
        return WorkMemory(pointer)

    def _trim_pool(self) -> None:
        self._cupy.cuda.runtime.deviceSynchronize()  # what is queued may hold memory until it has run
        self._cupy.get_default_memory_pool().free_all_blocks()

    def launch(self, handle: int, grid: int, threads: int, shared: int, arguments: int) -> None:
        """Launches on the current stream; `arguments` is the address of an array of pointers to the arguments."""
        self.launch_kernel(handle, grid, 1, 1, threads, 1, 1, shared, self.stream(), arguments, 0)

    def stream(self) -> int:
        """The address of the current stream."""
        return int(self._current().ptr)

    def event(self) -> Any:
        """A moment on the current stream."""
        made = self._cupy.cuda.Event()
        made.record()
        return made

    def is_over(self, event: Any) -> bool:
        """True when the stream has come there; does not wait for it."""
        return bool(event.done)

    def seconds_between(self, before: Any, after: Any) -> float:
        """What lay between two moments that are over."""
        return float(self._cupy.cuda.get_elapsed_time(before, after)) / 1000
