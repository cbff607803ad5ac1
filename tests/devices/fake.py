"""A device without a GPU: memory of its own inside the process, kernels compiled for the CPU, calls in NumPy.

It is strict where a GPU is: an address that is not in its memory, or not within the array that it belongs to, fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from lazyarray.errors import CompileError
from lazyarray.ir.index_map import IndexMap, apply
from lazyarray.ir.node import Library
from lazyarray.runtime import backend, device
from lazyarray.schedule.kernel import Binding, Kernel

Array = np.ndarray[Any, Any]


class FakeArray(np.ndarray[Any, Any]):
    """Memory of the fake device; the host may not convert it."""

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise AssertionError("the host reads a device's memory")


class FakeDevice:
    """A device for tests. `transfers`: bytes copied there (positive) and back (negative)."""

    compiler = "fake"

    def __init__(self, number: int = 0) -> None:
        self.name = f"fake:{number}"
        self.live: WeakValueDictionary[int, FakeArray] = WeakValueDictionary()
        self.transfers: list[int] = []
        self.launched: list[Kernel] = []
        self.calls: list[str] = []

    def active(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> FakeArray:
        made = np.ndarray.__new__(FakeArray, shape, dtype)
        made.view(np.ndarray).reshape(-1).view(np.uint8)[...] = 0xCD
        self.live[self.address(made)] = made
        return made

    def address(self, array: FakeArray) -> int:
        found: int = array.__array_interface__["data"][0]
        return found

    def upload(self, data: Array) -> FakeArray:
        assert type(data) is not FakeArray
        assert data.flags.c_contiguous
        made = self.empty(data.shape, data.dtype)
        made.view(np.ndarray)[...] = data
        self.transfers.append(data.nbytes)
        return made

    def download(self, arrays: Sequence[FakeArray], targets: Sequence[Array]) -> None:
        for array, target in zip(arrays, targets, strict=True):
            assert type(array) is FakeArray
            target[...] = array.view(np.ndarray)
            self.transfers.append(-target.nbytes)

    def copy(self, array: FakeArray) -> FakeArray:
        made = self.empty(array.shape, array.dtype)
        made.view(np.ndarray)[...] = array.view(np.ndarray)
        return made

    def view(self, array: FakeArray, view: IndexMap) -> FakeArray:
        found = apply(view, array.view(np.ndarray)).view(FakeArray)
        return found  # type: ignore[no-any-return]

    def call(self, library: Library, args: Sequence[FakeArray], out: FakeArray | None) -> Any:
        if library.name == "einsum":
            return NotImplemented
        self.calls.append(library.name)
        result = library.function(*[a.view(np.ndarray) for a in args], **dict(library.options))
        made = self.empty(np.shape(result), result.dtype) if out is None else out
        made.view(np.ndarray)[...] = result
        return made

    def wait(self) -> None:
        pass

    def owner(self, address: int) -> FakeArray:
        for start, array in list(self.live.items()):
            if start <= address <= start + array.nbytes:
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

    def start(self, binding: Binding, origins: device.Origins, flags: int = 0) -> None:
        if 0 not in binding.extents:
            for number, pointer in enumerate(binding.pointers):
                self.place.owner(pointer)
                start, size = origins[number]
                assert start <= pointer <= start + size
        self.place.launched.append(self.kernel)
        if not flags:
            self.program.launch(binding)
            return
        found = self.program.watch(binding)
        array = self.place.owner(flags)
        first = (flags - self.place.address(array)) // 4
        for target, word in self.words.items():
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
        for noted in (one.transfers, one.launched, one.calls):
            noted.clear()
    device._devices["fake"] = DEVICES[0]
    return DEVICES


def remove() -> None:
    """Forgets them."""
    backend._loaded.pop("fake", None)
    for name in [name for name in device._devices if name.startswith("fake")]:
        del device._devices[name]
