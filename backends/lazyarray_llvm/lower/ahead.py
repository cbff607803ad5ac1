"""Owns asking for lines of memory ahead of a walk: how far ahead of what, and the instructions."""

from __future__ import annotations

from lazyarray.schedule.kernel import Access
from lazyarray_llvm.builder import Value, itemsize
from lazyarray_llvm.lower.frame import Frame, Pointer
from lazyarray_llvm.lower.memory import element, fixed_step, step_bytes
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.lower.streaming import LINE

# How far ahead of a walk its lines are asked for.  Hardware alone does not look beyond a page, and where little is done
# with each line it keeps too few of them on the way: sums of float64 took 1.2 to 1.4 times as long, Black-Scholes 1.2.
AHEAD_BYTES = 4096
CHANNELS = 4  # elements that lie no further apart share lines with each other


def ahead(frame: Frame, number: int) -> Value | None:
    """The distance in bytes to what a walk of rows reads `AHEAD_BYTES` later through an access; None where unknown."""
    access, last = frame.kernel.accesses[number], len(frame.kernel.roles) - 1
    if last and access.steps[last - 1] == "s":
        return rows_ahead(frame, number, last - 1)
    return along_row(frame, number)


def along_row(frame: Frame, number: int) -> Value | None:
    """The same where rows are long."""
    return frame.number(AHEAD_BYTES) if is_near(frame.kernel.accesses[number]) else None


def is_near(access: Access) -> bool:
    """True where all lines of a row are read: its elements lie side by side, or those of other channels between."""
    step = fixed_step(access)
    return step is not None and 1 <= step <= CHANNELS


def rows_ahead(frame: Frame, number: int, axis: int) -> Value | None:
    """The same where the rows lie along `axis`: short ones may lie apart."""
    access, last = frame.kernel.accesses[number], len(frame.kernel.roles) - 1
    if not is_near(access) or access.steps[axis] == "0":
        return None
    b, size = frame.b, frame.number(AHEAD_BYTES)
    with frame.hoisted(frame.entry):
        length = b.binary("mul", frame.argument(f"extent{last}"), step_bytes(frame, number), "row.bytes")
        rows = b.add(b.binary("udiv", size, b.intrinsic("smax", [length, frame.number(1)])), frame.number(1))
        other = b.binary("mul", rows, frame.argument(f"stride{number}.{axis}"), "rows.ahead")
        return b.select(b.compare("sge", length, size), size, other)


def prefetch(frame: Frame, number: int, base: Pointer, point: Point) -> None:
    """Asks for the lines of a point's lanes, if access `number` has them near each other; `base` may lie anywhere."""
    access = frame.kernel.accesses[number]
    at, size = element(frame, number, base, point.index), itemsize(access.code) * (fixed_step(access) or 1)
    frame.b.module.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
    for line in range(max(1, point.lanes * size // LINE)):
        here = frame.offset(at, frame.number(line * LINE), hint="ahead")
        frame.b.line(f"call void @llvm.prefetch.p0(ptr {here.ref}, i32 0, i32 3, i32 1)")
