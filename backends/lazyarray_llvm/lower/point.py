"""Owns points: the vectors in which a row is walked, which of their lanes lie inside it, and masks of these.

A whole vector has all its lanes inside the row.  A vector that is cut short reads nothing outside the row: its lanes
beyond the end repeat lane 0, so that no lane computes on data that is not there (no false overflow, no trap).
"""

from __future__ import annotations

from lazyarray_llvm.builder import Value, itemsize
from lazyarray_llvm.lower.frame import Frame, Pointer, Register


class Reach:
    """A range that is walked point after point, in order, and how far into it values were computed ahead."""

    def __init__(self, frame: Frame, start: Value, stop: Value) -> None:
        self.stop = stop
        self.filled = frame.alloca("i64", "reach.filled")
        frame.b.line(f"store {start}, ptr {self.filled.ref}, align 8")


def reach_of(frame: Frame, start: Value, stop: Value) -> Reach | None:
    """The reach of a walk that begins here, if the function looks ahead."""
    return Reach(frame, start, stop) if frame.looks_ahead else None


class Point:
    """One vector of the last axis: the index of its first lane, and how many lanes lie inside the row.

    `reach`: the walk that it belongs to, where something is to be computed ahead. `often_whole`: a vector that is cut
    to the row is so at its end only.
    """

    def __init__(
        self,
        frame: Frame,
        index: Value,
        lanes: int,
        active: Value | None = None,
        reach: Reach | None = None,
        *,
        often_whole: bool = False,
    ) -> None:
        self.often_whole = often_whole
        self.reach = reach
        self.frame = frame
        self.index = index
        self.lanes = lanes
        self.active = active
        self._masks: dict[str, tuple[Value, Register]] = {}
        self._starts: dict[str, Pointer] = {}

    @property
    def whole(self) -> bool:
        return self.active is None

    def mask(self, code: str = "") -> Value:
        """Lanes inside the row; made for elements of `code` where masks are vectors of that width."""
        assert self.active is not None
        wide = self.frame.host.vector_bytes == 64
        key = "" if wide else code or f"i{max(1, min(8, self.frame.host.vector_bytes // self.lanes))}"
        found = self._masks.get(key)
        if found is None:
            made = self._mask(self.active, key)
            found = self._masks[key] = made, self.frame.carry(made, f"i{itemsize(key)}" if key else "i1")
        mask = self.frame.resume(*found)
        assert isinstance(mask, Value)
        return mask

    def _mask(self, active: Value, code: str) -> Value:
        b, lanes = self.frame.b, self.lanes
        if lanes == 1:
            return b.const("b1", True, 1)
        if not code:
            unused = b.binary("sub", b.const("i8", lanes, 1), active, "unused")
            return prefix_mask(self.frame, unused, lanes)
        code = f"i{itemsize(code)}"
        if lanes > 127 and code == "i1":
            code = "i2"
        count = active if code == "i8" else b.convert("trunc", active, code)
        return b.compare("ult", b.vector(code, range(lanes)), b.splat(count, lanes))

    def clamped(self) -> Value:
        """The lane numbers as i64, those outside the row replaced by 0."""
        b = self.frame.b
        lanes = b.vector("i8", range(self.lanes))
        return lanes if self.active is None else b.select(self.mask("i8"), lanes, b.like(lanes, 0))

    def count(self) -> Value:
        return self.active if self.active is not None else self.frame.number(self.lanes)


def prefix_mask(frame: Frame, unused: Value, lanes: int) -> Value:
    """A mask whose last `unused` lanes are off, made as bits of an integer (one shift and one move on AVX-512)."""
    b = frame.b
    wide = max(32, lanes)
    narrow = unused.ref if wide == 64 else b.emit(f"trunc i64 {unused.ref} to i{wide}", "b1", 1, "off").ref
    # Shifted in at least 32 bits, so that the bits above the mask are zero: LLVM 22 may lose its own clearing of them
    # when a mask is spilled, and then stores eight bytes with a mask of sixteen.
    bits = b.emit(f"lshr i{wide} {(1 << lanes) - 1 if lanes < wide else -1}, {narrow}", "b1", 1, "bits").ref
    if wide > lanes:
        bits = b.emit(f"trunc i{wide} {bits} to i{lanes}", "b1", 1, "bits").ref
    return b.emit(f"bitcast i{lanes} {bits} to <{lanes} x i1>", "b1", lanes, "in")


def masks_natively(frame: Frame, code: str, lanes: int) -> bool:
    """Whether a masked load or store of such elements is an instruction of the host."""
    width = frame.host.vector_bytes
    x86 = frame.host.triple.startswith(("x86", "amd64", "i686"))
    if not x86 or lanes == 1 or lanes & (lanes - 1) or lanes > 64:
        return False
    return width == 64 or (width == 32 and itemsize(code) >= 4)
