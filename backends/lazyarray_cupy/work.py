"""Owns what library calls of plans work with on a GPU: memory for a while, copies, numbers that are scaled.

While calls are recorded, what they work in is the record's own, since it is used again whenever that is queued.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import cupy

from lazyarray.errors import CompileError
from lazyarray.runtime.device import compiler_for
from lazyarray_cupy.scaling import scaling

if TYPE_CHECKING:
    from lazyarray_cupy.device import Device


class Work:
    """What the calls on one device work with."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.kept: list[Any] | None = None  # what a record that is being made keeps
        self._scratches: dict[Any, Any] = {}
        self._pool: Any = None

    def begin(self, kept: list[Any]) -> None:
        """A record begins, which keeps what is in the list."""
        self.kept = kept
        self._scratches, self._pool = {}, None

    def end(self) -> None:
        """It has ended."""
        self.kept = None

    def pause(self) -> tuple[Any, ...]:
        """What is called until `go_on` is not part of the record; what is returned is given to that."""
        found = self.kept, self._scratches, self._pool
        self.kept = None
        return found

    def go_on(self, paused: tuple[Any, ...]) -> None:
        """The record goes on."""
        self.kept, self._scratches, self._pool = paused

    def keep(self, used: Any) -> None:
        """What a call works by stays, if it is being recorded."""
        if self.kept is not None:
            self.kept.append(used)

    def scratch(self, shape: tuple[int, ...], dtype: Any, number: int = 0) -> Any:
        """Memory until what is queued next has run; calls that are recorded share that of one shape and number."""
        if self.kept is None:
            return self._device.empty(shape, dtype)
        key = shape, dtype, number
        found = self._scratches.get(key)
        if found is None:
            found = self._scratches[key] = self._device.empty(shape, dtype)
            self.kept.append(found)
        return found

    def allocating(self) -> AbstractContextManager[Any]:
        """A block in which CuPy takes memory that it needs for a while where nobody else is given it again."""
        if self.kept is None:
            return nullcontext()
        if self._pool is None:
            self._pool = cupy.cuda.MemoryPool()
            self.kept.append(self._pool)
        return cupy.cuda.using_allocator(self._pool.malloc)  # type: ignore[no-any-return]

    def copy(self, target: Any, array: Any) -> None:
        """target[...] = array, without a kernel if memory is copied as it lies."""
        if array.dtype == target.dtype and array.flags.c_contiguous and target.flags.c_contiguous:
            target.data.copy_from_device_async(array.data, array.nbytes, cupy.cuda.get_current_stream())
        else:
            target[...] = array

    def scale(self, numbers: Any, factor: float) -> None:
        """Multiplies real numbers where they are."""
        device, dtype, nbytes = self._device, numbers.dtype, numbers.nbytes
        program = compiler_for(device).compile_for(device, scaling(f"f{dtype.itemsize}"))
        launcher = program.launcher((numbers.size,), ((dtype.itemsize,),) * 2, (nbytes, nbytes))
        pointers = [numbers.data.ptr] * 2
        try:
            launcher.start(pointers, [factor], pointers)
        except CompileError:
            cupy.multiply(numbers, dtype.type(factor), out=numbers)
