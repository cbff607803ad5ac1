"""Runs emitted kernels on a GPU from host arrays: memory there and back around every launch."""

from __future__ import annotations

import ctypes
from functools import cache

from lazyarray.ir.ops import dtype_of
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_cupy.driver import CupyDriver
from lazyarray_triton import model
from lazyarray_triton.launch import Origins
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.source import TritonSource
from tests.triton.cases import MEMORY


@cache
def launcher() -> Launcher:
    return Launcher(CupyDriver())


def placed_by_data(kernel: Kernel) -> set[int]:
    """The accesses whose places depend on data: what they reach is more than what they walk."""
    found = {int(i.attr or 0) for s in kernel.stages for i in s.body if i.op in ("gather", "expand")}
    return found | {t.access for s in kernel.stages for t in s.stores if t.packed or t.offset is not None}


def span(code: str, pointer: int, extents: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """First byte and end of the memory that an access walks."""
    reach = [s * (n - 1) for s, n in zip(strides, extents, strict=True) if n and pointer]
    low = pointer + sum(min(r, 0) for r in reach)
    # What is reduced to nothing still writes its result; a pointer of 0 stands for no memory.
    return low, pointer + sum(max(r, 0) for r in reach) + dtype_of(code).itemsize * (pointer != 0)


def merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that touch or overlap are one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = found[-1][0], max(high, found[-1][1])
        else:
            found.append((low, high))
    return found


def launch(
    kernel: Kernel, binding: Binding, guess: model.Guess | None = None, origins: Origins | None = None
) -> TritonSource | None:
    """As the interpreter's `launch`: on host memory, done when it returns."""
    driver = launcher().driver
    assert isinstance(driver, CupyDriver)
    runtime = driver._cupy.cuda.runtime
    walks = list(zip(kernel.accesses, binding.pointers, binding.strides, strict=True))
    wide = placed_by_data(kernel)
    spans = [MEMORY[p] if k in wide else span(a.code, p, binding.extents, s) for k, (a, p, s) in enumerate(walks)]
    spans += [(low, low + size) for low, size in (origins or {}).values()]
    areas = []
    for low, high in merged([s for s in spans if s[1] > s[0]]):
        # Addresses keep their place within 256 bytes, and so their alignment.
        memory = driver.allocate(high - low + 256, None)
        at = int(memory) + low % 256
        runtime.memcpy(at, low, high - low, runtime.memcpyHostToDevice)
        areas.append((low, high, at, memory))

    def moved(address: int) -> int:
        return next((at + address - low for low, high, at, _ in areas if low <= address < high), address)

    pointers = tuple(moved(p) for p in binding.pointers)
    there = None if origins is None else {k: (moved(low), size) for k, (low, size) in origins.items()}
    ran = launcher().run(kernel, binding._replace(pointers=pointers), guess, there)
    runtime.deviceSynchronize()
    for low, high, at, _ in areas:
        back = ctypes.create_string_buffer(high - low)
        runtime.memcpy(ctypes.addressof(back), at, high - low, runtime.memcpyDeviceToHost)
        _put_back(low, back.raw)
    return ran


def _put_back(address: int, data: bytes) -> None:
    """Writes what changed only: some of the arrays may not be written."""
    if ctypes.string_at(address, len(data)) != data:
        ctypes.memmove(address, data, len(data))
