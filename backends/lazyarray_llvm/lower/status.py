"""Owns the sticky floating-point status of the CPU around a kernel function: clean at its begin, told at its end.

Reading it costs some 20 cycles a call, whatever the number of elements.  What the CPU saw is a superset of what NumPy
would report: lanes whose results are not used have raised their errors too.
"""

from __future__ import annotations

import functools
from typing import Final

from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW
from lazyarray.records import NamedTuple
from lazyarray_llvm.builder import Module

# Above the bits of the status register in the word `raised`: errors that a kernel found by itself, as NumPy's bits.
SOFT_SHIFT: Final = 8
# Above those: errors that NumPy's own loops raised; the launch's flags say which of them.
LOOP_SHIFT: Final = 16


class Status(NamedTuple):
    """How one kind of CPU keeps its sticky errors: bits of the register, and how to read and clear it."""

    invalid: int
    divide: int
    overflow: int

    @property
    def all(self) -> int:
        return self.invalid | self.divide | self.overflow

    @property
    def meanings(self) -> tuple[tuple[int, int], ...]:
        """Bits of the register with NumPy's bits."""
        return ((self.invalid, INVALID), (self.divide, DIVIDE), (self.overflow, OVERFLOW))

    def numpy_bits(self, raised: int) -> int:
        """NumPy's bits of a word that kernels left."""
        found = raised >> LOOP_SHIFT | (raised >> SOFT_SHIFT & (1 << LOOP_SHIFT - SOFT_SHIFT) - 1)
        for bit, meaning in self.meanings:
            if raised & bit:
                found |= meaning
        return found

    def bits_of(self, errors: int) -> int:
        """The bits of a word that kernels leave for these of NumPy's: from the register, and found by themselves."""
        found = errors << SOFT_SHIFT
        for bit, meaning in self.meanings:
            if errors & meaning:
                found |= bit
        return found


_MXCSR: Final = Status(invalid=1, divide=4, overflow=8)  # Intel SDM volume 1, 10.2.3
_FPSR: Final = Status(invalid=1, divide=2, overflow=4)  # Arm ARM, FPSR


def status_of(triple: str) -> Status | None:
    """The status register of a CPU that kernels can read; None where there is no such one."""
    cpu = triple.split("-")[0]
    if cpu in ("x86_64", "amd64"):
        return _MXCSR
    return _FPSR if cpu in ("aarch64", "arm64") and _reads_fpsr() else None


@functools.cache
def _reads_fpsr() -> bool:
    """Whether LLVM has intrinsics for it: from version 19 on."""
    from llvmlite import binding

    return bool(binding.llvm_version_info >= (19, 0, 0))


def clear_lines(module: Module, triple: str, next_block: str) -> list[str]:
    """The end of the entry block: the status is clean at `next_block`."""
    status = status_of(triple)
    if status is None:
        return [f"  br label %{next_block}"]
    return [
        *_read_lines(module, status, "status.before", status.all),
        "  %status.dirty = icmp ne i32 %status.before.errors, 0",
        f"  br i1 %status.dirty, label %status.clear, label %{next_block}",
        "status.clear:",
        f"  %status.clean = and i32 %status.before, {~status.all}",
        *_write_lines(module, status, "status.clean"),
        f"  br label %{next_block}",
    ]


def slot_lines(triple: str) -> list[str]:
    """What the lines of this module need at the begin of the entry block."""
    return ["  %status.slot = alloca i32, align 4"] if status_of(triple) is _MXCSR else []


def observed_lines(module: Module, triple: str, name: str, *, begins: bool) -> list[str]:
    """At the begin of a block: a clean status; at its end: what was raised since, as the i32 `%name.errors`."""
    status = status_of(triple)
    assert status is not None
    read = _read_lines(module, status, name, status.all)
    if not begins:
        return read
    return [*read, f"  %{name}.clean = and i32 %{name}, {~status.all}", *_write_lines(module, status, f"{name}.clean")]


def restored_lines(module: Module, triple: str, found: str, name: str) -> list[str]:
    """After a call between two `observed_lines`, of `found` and of `name`: the errors are those of `found` again."""
    status = status_of(triple)
    assert status is not None
    return [
        f"  %{name}.clean = and i32 %{name}, {~status.all}",
        f"  %{name}.before = or i32 %{name}.clean, %{found}.errors",
        *_write_lines(module, status, f"{name}.before"),
    ]


def tell_lines(module: Module, triple: str, slot: int) -> list[str]:
    """The end of a function: errors go into slot `slot` of the argument block.

    In blocks of their own: nothing moves in or out, as only values can be moved between blocks and none is used here.
    """
    status = status_of(triple)
    if status is None:
        return []
    return [
        "  br label %status.tell",
        "status.tell:",
        *_read_lines(module, status, "status.after", status.all),
        "  %status.raised = icmp ne i32 %status.after.errors, 0",
        "  br i1 %status.raised, label %status.put, label %status.done",
        "status.put:",
        "  %status.bits = zext i32 %status.after.errors to i64",
        f"  %status.at = getelementptr i64, ptr %args, i64 {slot}",
        "  %status.old = atomicrmw or ptr %status.at, i64 %status.bits monotonic, align 8",
        "  br label %status.done",
        "status.done:",
    ]


def _read_lines(module: Module, status: Status, name: str, mask: int) -> list[str]:
    if status is _MXCSR:
        module.declare("llvm.x86.sse.stmxcsr", "void", ["ptr"])
        read = [
            "  call void @llvm.x86.sse.stmxcsr(ptr %status.slot)",
            f"  %{name} = load i32, ptr %status.slot, align 4",
        ]
    else:
        module.declare("llvm.aarch64.get.fpsr", "i64", [])
        read = [
            f"  %{name}.wide = call i64 @llvm.aarch64.get.fpsr()",
            f"  %{name} = trunc i64 %{name}.wide to i32",
        ]
    return [*read, f"  %{name}.errors = and i32 %{name}, {mask}"]


def _write_lines(module: Module, status: Status, name: str) -> list[str]:
    if status is _MXCSR:
        module.declare("llvm.x86.sse.ldmxcsr", "void", ["ptr"])
        return [
            f"  store i32 %{name}, ptr %status.slot, align 4",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %status.slot)",
        ]
    module.declare("llvm.aarch64.set.fpsr", "void", ["i64"])
    return [
        f"  %{name}.wide = zext i32 %{name} to i64",
        f"  call void @llvm.aarch64.set.fpsr(i64 %{name}.wide)",
    ]
