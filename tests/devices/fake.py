"""A device without a GPU: memory of its own inside the process, kernels compiled for the CPU, calls in NumPy.

It is strict where a GPU is: an address that is not in its memory, or not within the array that it belongs to, fails.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lazyarray.errors import CompileError, DeviceMemoryError
from lazyarray.ir.index_map import IndexMap, apply
from lazyarray.ir.node import Library
from lazyarray.runtime import backend, device
from lazyarray.runtime.run import AnyRun
from lazyarray.schedule.kernel import Binding, Kernel

Array = np.ndarray[Any, Any]


class FakeArray(np.ndarray[Any, Any]):
    """Memory of the fake device; the host may not convert it."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("the host reads a device's memory")


def weakless(array: FakeArray) -> Array:
    """The host's view of an array's memory, which does not keep it from being handed out again."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low, high = sum([min(r, 0) for r in reach]), sum([max(r, 0) for r in reach]) + array.dtype.itemsize
    memory = (ctypes.c_char * (high - low)).from_address(array.__array_interface__["data"][0] + low)
    return np.ndarray(array.shape, array.dtype, memory, -low, array.strides)


class FakeDevice:
    """A device for tests. `transfers`: bytes copied there (positive) and back (negative)."""

    compiler = "fake"
    survives_fork = True

    def __init__(self, number: int = 0) -> None:
        self.room: int | None = None  # how many more arrays fit; None: any number
        self.name = f"fake:{number}"
        self.live: WeakValueDictionary[int, FakeArray] = WeakValueDictionary()
        self.free: dict[int, list[Array]] = {}  # memory that was given back, by its size
        self.transfers: list[int] = []
        self.launched: list[Kernel] = []
        self.calls: list[str] = []
        self.replays: list[int] = []  # of each time a record was queued: how much it holds
        self.recording: list[Callable[[], Any]] | None = None
        # By "before" or "after" the next kernel over its operand is queued, or the next record is "begun" or to be
        # "ended": what a signal handler does then.
        self.meanwhile: dict[str, Callable[[], Any]] = {}

    def active(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.recording is None else self.aside(self.recording)

    @contextmanager
    def aside(self, recording: list[Callable[[], Any]]) -> Iterator[None]:
        self.recording = None
        try:
            yield
        finally:
            self.recording = recording

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> FakeArray:
        # As a pool does: what was given back last is handed out first, at the same address.
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if self.room is not None:
            if not self.room:
                raise DeviceMemoryError(f"{self.name} is full")
            self.room -= 1
        given = self.free.setdefault(size, [])
        memory = given.pop() if given else np.empty(size + 64, np.uint8)
        skipped = -memory.ctypes.data % 64
        made = np.ndarray.__new__(FakeArray, shape, dtype, memory, skipped)
        weakref.finalize(made, given.append, memory).atexit = False
        made.view(np.ndarray).reshape(-1).view(np.uint8)[...] = 0xCD
        self.live[self.address(made)] = made
        return made

    def allocate(self, nbytes: int) -> tuple[FakeArray, int]:
        made = self.empty((nbytes,), np.dtype(np.uint8))
        return made, self.address(made)

    def shaped(self, memory: FakeArray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> FakeArray:
        return np.ndarray.__new__(FakeArray, shape, dtype, memory)

    def append(self, taken: FakeArray, words: FakeArray) -> None:
        to, given = weakless(taken), weakless(words)

        def work() -> None:
            to[1 + to[0] : 1 + to[0] + given.size] = given
            to[0] += given.size
            given[:] = 0

        self.do(work)

    def happen(self, when: str, run: AnyRun | None) -> None:
        """Runs the handler, if this is the moment of a kernel over its operand."""
        handler = self.meanwhile.pop(when, None) if run is not None else None
        if handler is not None:
            handler()

    def do(self, work: Callable[[], Any]) -> None:
        """Runs what is queued, or puts it on record."""
        if self.recording is None:
            work()
        else:
            self.recording.append(work)

    def recordable(self, library: Library, shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool:
        return library.name == "matmul" or self.takes(library)

    def takes(self, library: Library) -> bool:
        return library.name in ("sort", "argsort") or library.name.startswith("fft.")

    def record(self, queue: Callable[[], None]) -> Callable[[], None]:
        self.recording = kept = []
        try:
            for when in ("begun", "ended"):
                handler = self.meanwhile.pop(when, None)
                if handler is not None:
                    handler()
                if when == "begun":
                    queue()
        finally:
            self.recording = None

        def replay() -> None:
            self.replays.append(len(kept))
            for work in kept:
                work()

        return replay

    def address(self, array: FakeArray) -> int:
        found: int = array.__array_interface__["data"][0]
        return found

    def upload(self, data: Array) -> FakeArray:
        assert self.recording is None
        assert type(data) is not FakeArray
        assert data.flags.c_contiguous
        made = self.empty(data.shape, data.dtype)
        made.view(np.ndarray)[...] = data
        self.transfers.append(data.nbytes)
        return made

    def download(self, arrays: Sequence[FakeArray], targets: Sequence[Array]) -> None:
        assert self.recording is None
        for array, target in zip(arrays, targets, strict=True):
            assert type(array) is FakeArray
            target[...] = array.view(np.ndarray)
            self.transfers.append(-target.nbytes)

    def copy(self, array: FakeArray) -> FakeArray:
        made = self.empty(array.shape, array.dtype)
        made.view(np.ndarray)[...] = array.view(np.ndarray)
        return made

    def put(self, address: int, array: FakeArray) -> None:
        source, target = self.address(array), self.owner(address)
        assert address + array.nbytes <= self.address(target) + target.nbytes

        def work() -> None:
            self.owner(source)
            self.owner(address)
            ctypes.memmove(address, source, array.nbytes)

        self.do(work)

    def clear(self, array: FakeArray) -> None:
        address, size = self.address(array), array.nbytes
        self.do(lambda: ctypes.memset(address, 0, size))

    def view(self, array: FakeArray, view: IndexMap) -> FakeArray:
        found = apply(view, array.view(np.ndarray)).view(FakeArray)
        return found  # type: ignore[no-any-return]

    def call(self, library: Library, args: Sequence[FakeArray], out: FakeArray | None) -> Any:
        if library.name == "einsum":
            return NotImplemented
        if out is not None:
            seen, target = [weakless(a) for a in args], weakless(out)

            def work() -> None:
                self.calls.append(library.name)
                target[...] = library.function(*seen, **dict(library.options))

            self.do(work)
            return out
        assert self.recording is None
        self.calls.append(library.name)
        result = library.function(*[a.view(np.ndarray) for a in args], **dict(library.options))
        made = self.empty(np.shape(result), result.dtype)
        made.view(np.ndarray)[...] = result
        return made

    def wait(self) -> None:
        pass

    def owner(self, address: int) -> FakeArray:
        for held in self.live.valuerefs():  # a list: arrays come and go meanwhile
            array = held()
            if array is not None and self.address(array) <= address <= self.address(array) + array.nbytes:
                return array
        raise AssertionError(f"{address:#x} is not in the memory of {self.name}")


class FakeProgram:
    """A kernel on the fake device."""

    def __init__(self, place: FakeDevice, kernel: Kernel) -> None:
        self.place, self.kernel = place, kernel
        self.program: Any = backend.load("llvm").compile(kernel)

    @property
    def source(self) -> str:
        return self.program.source

    @property
    def words(self) -> dict[int, int]:
        return {target: number for number, target in enumerate(self.program.words)}

    def launcher(self, extents: Any, strides: Any, sizes: tuple[int, ...]) -> FakeLauncher:
        return FakeLauncher(self, extents, strides, sizes)


class FakeLauncher:
    """A kernel at fixed extents and strides."""

    def __init__(self, program: FakeProgram, extents: Any, strides: Any, sizes: tuple[int, ...]) -> None:
        self.program, self.extents, self.strides, self.sizes = program, extents, strides, sizes
        self.here = program.program.launcher(extents, strides)

    def start(
        self, pointers: list[int], scalars: list[Any], bases: list[int], flags: int = 0, run: AnyRun | None = None
    ) -> None:
        place, kept = self.program.place, list(bases)
        binding = Binding(self.extents, tuple(pointers), self.strides, tuple(scalars))
        over = run if place.recording is None else None
        place.happen("before", over)
        place.do(lambda: self.run(binding, kept, flags, over))
        place.happen("after", over)

    def run(self, binding: Binding, bases: list[int], flags: int, run: AnyRun | None) -> None:
        program, place = self.program, self.program.place
        if 0 not in binding.extents:
            for pointer, start, size in zip(binding.pointers, bases, self.sizes, strict=True):
                place.owner(pointer)
                assert start <= pointer <= start + size
        place.launched.append(program.kernel)
        pointers, scalars = list(binding.pointers), list(binding.scalars)
        if not flags:
            self.here.launch(pointers, scalars, run)
            return
        found = self.here.watch(pointers, scalars, run)
        array = place.owner(flags)
        first = (flags - place.address(array)) // 4
        for target, word in program.words.items():
            array.view(np.ndarray)[first + word] |= found.get(target, 0)


class FakeCompiler:
    """The backend of fake devices. It refuses kernels on float16, as a compiler may."""

    name = "fake"
    device_kind = "fake"

    def compile_for(self, place: Any, kernel: Kernel) -> FakeProgram:
        if any(access.code == "f2" for access in kernel.accesses):
            raise CompileError("it has no float16")
        return FakeProgram(place, kernel)

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        return None


DEVICES = [FakeDevice(0), FakeDevice(1)]  # plans keep the programs that they have for a device


def install() -> list[FakeDevice]:
    """Makes two fake devices known, with nothing noted yet."""
    backend._loaded["fake"] = FakeCompiler()  # type: ignore[assignment]
    for one in DEVICES:
        device._devices[one.name] = one
        for noted in (one.transfers, one.launched, one.calls, one.replays):
            noted.clear()
    device._devices["fake"] = DEVICES[0]
    device._constants.clear()
    device._sent.clear()
    return DEVICES


def remove() -> None:
    """Forgets them."""
    backend._loaded.pop("fake", None)
    for name in [name for name in device._devices if name.startswith("fake")]:
        del device._devices[name]
