"""Owns the device "cuda": its memory in CuPy's pool, copies to and from the host, library calls.

Everything is queued on the device's default stream, in order, so that memory which is freed may be given to later work
at once; large copies have a stream of their own (`landing.py`).  Only downloads wait.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, NamedTuple

import cupy
import numpy as np
from cupy.cuda import runtime

from lazyarray.errors import BackendError, DeviceMemoryError
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Library
from lazyarray_cupy import products, sorts, transforms
from lazyarray_cupy.blocks import Block, Blocks
from lazyarray_cupy.driver import CupyDriver
from lazyarray_cupy.functions import FUNCTIONS
from lazyarray_cupy.landing import Landing
from lazyarray_cupy.libraries import DIRECT, LIBRARIES
from lazyarray_cupy.opening import COMPILER
from lazyarray_cupy.sorts import SORTS
from lazyarray_cupy.staging import Staging
from lazyarray_cupy.transforms import TRANSFORMS
from lazyarray_cupy.work import Work

Array = np.ndarray[Any, Any]
# Copies of up to so much from pageable memory are staged by the driver, and return before they have run.
_AT_ONCE: Final = 64 << 10
_LANDS: Final = 1 << 20  # from so much on copies to the device have a stream of their own
_KEPT: Final = 4 << 30  # bytes of memory for such copies that are kept
_BYTE: Final = np.dtype(np.uint8)
_allocate: Final = cupy.cuda.alloc

# Calls that plans make, of one array, each into memory that is given.
INTO: Final = {**TRANSFORMS, **SORTS}

_APPEND: Final = r"""extern "C" __global__ void append(int* taken, int* words, int count, int room) {
    const bool fits = taken[0] + count <= room;
    int* to = taken + 1 + taken[0];
    __syncthreads();
    for (int at = threadIdx.x; at < count; at += blockDim.x) {
        if (fits) to[at] = words[at];
        words[at] = 0;
    }
    if (threadIdx.x == 0 && fits) taken[0] += count;
}"""


class Recording(NamedTuple):
    """A record that is being made, and where its thread queued its work, and took its memory, before."""

    thread: int
    stream: Any
    allocator: Any


class Device:
    """One GPU."""

    compiler = COMPILER

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = f"cuda:{number}"
        self._device = cupy.cuda.Device(number)
        # Where there is one GPU it is every thread's own.
        self._active: AbstractContextManager[Any] = self._device if runtime.getDeviceCount() > 1 else nullcontext()
        self._staging = Staging()
        self._blocks = Blocks(self._fresh, cupy.cuda.get_current_stream)
        self.allocate = self._blocks.allocate
        self._work = Work(self)
        self._recording: Recording | None = None
        atexit.register(self._blocks.close)

    def __repr__(self) -> str:
        return f"<device {self.name}>"

    @functools.cached_property
    def driver(self) -> CupyDriver:
        """What a compiler launches its kernels with."""
        with self._device:
            return CupyDriver(self.trim)

    def active(self) -> AbstractContextManager[Any]:
        """A block in which this is the calling thread's device, and nothing is put on record."""
        recording = self._recording
        if recording is not None and recording.thread == threading.get_ident():
            return self._aside(recording)
        return self._active

    @contextlib.contextmanager
    def _aside(self, recording: Recording) -> Iterator[None]:
        """A block in which work is queued as it was before a record was begun."""
        work, kept = self._work.pause(), self.driver.kept
        self._recording = self.driver.kept = None
        try:
            with self._device, recording.stream, cupy.cuda.using_allocator(recording.allocator):
                yield
        finally:
            self._recording, self.driver.kept = recording, kept
            self._work.go_on(work)

    def about(self) -> str:
        """The GPU's name."""
        name: bytes = runtime.getDeviceProperties(self.number)["name"]
        return name.decode()

    # -- memory ----------------------------------------------------------------------------------------------------
    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """New memory; pools are trimmed before there is none."""
        try:
            return cupy.ndarray(shape, dtype)
        except cupy.cuda.memory.OutOfMemoryError:
            self.trim()
        try:
            return cupy.ndarray(shape, dtype)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise DeviceMemoryError(f"{self.name} has no room for it: {error}") from None

    def _fresh(self, nbytes: int) -> Any:
        """New memory of CuPy's pool."""
        try:
            return _allocate(nbytes)
        except cupy.cuda.memory.OutOfMemoryError:
            return self.empty((nbytes,), _BYTE).data

    def shaped(self, memory: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """An array over allocated memory."""
        return cupy.ndarray(shape, dtype, memory.lend() if type(memory) is Block else memory)

    def trim(self) -> None:
        """Gives unused memory back to the driver."""
        self._blocks.clear()
        transforms.forget()
        self._landing.trim()
        runtime.deviceSynchronize()
        cupy.get_default_memory_pool().free_all_blocks()

    def address(self, array: Any) -> int:
        """Where an array's memory begins."""
        return array.data.ptr  # type: ignore[no-any-return]

    def upload(self, data: Array) -> Any:
        """A copy of host memory, queued; the host memory has been read when this returns."""
        size = data.nbytes
        stream = cupy.cuda.get_current_stream()
        if size >= _LANDS and not stream.ptr:
            return self._land(data)
        made = self.empty(data.shape, data.dtype)
        if size > _AT_ONCE:
            self._staging.upload(made.data.ptr, data.ctypes.data, size, stream)
        elif size:
            runtime.memcpyAsync(made.data.ptr, data.ctypes.data, size, runtime.memcpyHostToDevice, stream.ptr)
        return made

    def _land(self, data: Array) -> Any:
        """A copy that travels while kernels that were queued before still run; those that are queued later wait."""
        block = self._landing.take(data.nbytes)
        copies, pointer = self._copies, block.memory.ptr
        copies.wait_event(block.moment)
        self._staging.upload(pointer, data.ctypes.data, data.nbytes, copies)
        cupy.cuda.Stream.null.wait_event(copies.record())
        memory = cupy.cuda.UnownedMemory(pointer, block.nbytes, block, self.number)
        return cupy.ndarray(data.shape, data.dtype, cupy.cuda.MemoryPointer(memory, 0))

    @functools.cached_property
    def _copies(self) -> Any:
        """The stream of large copies."""
        return cupy.cuda.Stream(non_blocking=True)

    @functools.cached_property
    def _landing(self) -> Landing:
        def allocate(nbytes: int) -> Any:
            return self.empty((nbytes,), _BYTE).data

        return Landing(allocate, _moment, min(_KEPT, self._device.mem_info[1] // 16))

    def download(self, arrays: Sequence[Any], targets: Sequence[Array]) -> None:
        """Copies arrays into host memory."""
        stream = cupy.cuda.get_current_stream()
        for array, target in zip(arrays, targets, strict=True):
            size = target.nbytes
            if size > _AT_ONCE:
                # Kernels that other threads queue meanwhile run beside the copy.
                self._copies.wait_event(stream.record())
                self._staging.download(target.ctypes.data, array.data.ptr, size, self._copies)
            elif size:
                runtime.memcpyAsync(target.ctypes.data, array.data.ptr, size, runtime.memcpyDeviceToHost, stream.ptr)
        if any(target.nbytes <= _AT_ONCE for target in targets):
            runtime.streamSynchronize(stream.ptr)

    def copy(self, array: Any) -> Any:
        """A copy on the device."""
        made = self.empty(array.shape, array.dtype)
        if array.nbytes:
            made.data.copy_from_device_async(array.data, array.nbytes, cupy.cuda.get_current_stream())
        return made

    def put(self, address: int, array: Any) -> None:
        """Copies an array to an address on the device."""
        if array.nbytes:
            stream = cupy.cuda.get_current_stream().ptr
            runtime.memcpyAsync(address, array.data.ptr, array.nbytes, runtime.memcpyDeviceToDevice, stream)

    def clear(self, array: Any) -> None:
        """Sets all bytes of an array to 0."""
        array.data.memset_async(0, array.nbytes, cupy.cuda.get_current_stream())

    def view(self, array: Any, view: IndexMap) -> Any:
        """The part of an array's memory that an index map describes."""
        if 0 in view.shape:
            return cupy.ndarray(view.shape, array.dtype)
        size = array.dtype.itemsize
        strides = tuple([step * size for step in view.strides])
        return cupy.ndarray(view.shape, array.dtype, memptr=array.data + view.offset * size, strides=strides)

    def wait(self) -> None:
        """Returns when all that was queued has run."""
        runtime.streamSynchronize(cupy.cuda.get_current_stream().ptr)

    # -- records ---------------------------------------------------------------------------------------------------
    def recordable(self, library: Library, shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool:
        """True where a library call can be part of a CUDA graph: cuBLAS (CuPy itself refuses that), cuFFT, Thrust."""
        if library.name in TRANSFORMS:
            return transforms.fits(shapes, codes)
        if library.name in SORTS:
            return sorts.fits(shapes, codes)
        return library.name in DIRECT and products.fits(library, shapes, codes)

    def record(self, queue: Callable[[], None]) -> Callable[[], None]:
        """A CUDA graph of what `queue` queues, which is not run."""
        stream = cupy.cuda.Stream(non_blocking=True)
        driver, before = self.driver, self._recording
        kept: list[Any] = []
        # What a handler evaluates is apart from the moment on at which another stream may be the current one.
        self._recording = Recording(threading.get_ident(), cupy.cuda.get_current_stream(), cupy.cuda.get_allocator())
        try:
            with stream:
                stream.begin_capture()
                driver.kept = kept
                self._work.begin(kept)
                try:
                    queue()
                except BaseException:
                    with contextlib.suppress(Exception):
                        stream.end_capture()
                    raise
                graph = stream.end_capture()
        finally:
            driver.kept = None
            self._work.end()
            self._recording = before
        launch = functools.partial(graph.launch)  # on the current stream
        launch.kept = kept  # type: ignore[attr-defined]  # memory that the graph works in
        return launch

    def append(self, taken: Any, words: Any) -> None:
        """Puts words behind others, which are counted, and sets them to 0."""
        self._append((1,), (128,), (taken, words, np.int32(words.size), np.int32(taken.size - 1)))

    @functools.cached_property
    def _append(self) -> Any:
        return cupy.RawKernel(_APPEND, "append")

    # -- libraries -------------------------------------------------------------------------------------------------
    def call(self, library: Library, args: Sequence[Any], out: Any) -> Any:
        """A library call in CuPy; NotImplemented where CuPy has none that means the same."""
        into = INTO.get(library.name)
        if into is not None:
            options: dict[str, Any] = dict(library.options)
            return into(args[0], out, self._work, **options)
        function = LIBRARIES.get(library.name)
        return NotImplemented if function is None else function(args, out, **dict(library.options))

    def takes(self, library: Library) -> bool:
        """True for the transforms and sorts that plans call here."""
        return library.name in INTO

    def function(self, name: str) -> Callable[..., Any] | None:
        """CuPy's function of NumPy's name, where it means the same on what it takes; it may return NotImplemented."""
        return FUNCTIONS.get(name)

    # -- arrays of others ------------------------------------------------------------------------------------------
    def owns(self, given: Any) -> bool:
        """True for arrays of GPU libraries that lie on this device."""
        interface = getattr(given, "__cuda_array_interface__", None)
        if interface is None:
            return False
        address = interface["data"][0]
        return not address or runtime.pointerGetAttributes(address).device == self.number

    def from_others(self, given: Any) -> Any:
        """An array over the memory of another library's, on whichever GPU that lies."""
        address = given.__cuda_array_interface__["data"][0]
        with cupy.cuda.Device(runtime.pointerGetAttributes(address).device if address else self.number):
            return cupy.asarray(given)

    def from_dlpack(self, given: Any) -> Any:
        """An array over the memory that another library hands out."""
        with self._device:
            return cupy.from_dlpack(given)


def _moment() -> Any:
    """A mark behind all that is queued on the stream of kernels."""
    event = cupy.cuda.Event(block=False, disable_timing=True)
    event.record(cupy.cuda.Stream.null)
    return event


def open_device(number: int) -> Device:
    """The GPU of that number."""
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        raise BackendError(f"there is no GPU that CuPy can use: {error}") from None
    if number >= count:
        raise BackendError(f"there is no cuda:{number}: this machine has {count} GPU{'s' if count != 1 else ''}")
    return Device(number)
