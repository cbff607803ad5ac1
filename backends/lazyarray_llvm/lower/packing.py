"""Owns packed stores and `expand`: true lanes moved side by side, and spread again, by what the host has for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from lazyarray.schedule.kernel import Store
from lazyarray_llvm.builder import COMPLEX_PARTS, AnyValue, Complex, Value, itemsize, llvm_type, memory_code
from lazyarray_llvm.lower.elements import (
    call_copy,
    expand_load,
    load_scalar,
    masked_load,
    masked_store,
    store_scalar,
    to_memory,
)
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.memory import interleave, twice
from lazyarray_llvm.lower.ordered import Counters, count_bits, inside_mask, lane_of, mask_bits
from lazyarray_llvm.lower.point import Point, masks_natively, prefix_mask


def packs_natively(frame: Frame, code: str, lanes: int) -> bool:
    """Whether the host moves the true lanes of such elements together by one instruction."""
    sizes = (1, 2, 4, 8) if "+avx512vbmi2" in frame.host.features else (4, 8)
    return frame.host.vector_bytes == 64 and itemsize(code) in sizes and masks_natively(frame, code, lanes)


def pack(frame: Frame, code: str, base: Pointer, point: Point, value: AnyValue, mask: Value, before: Value) -> None:
    """Writes the true lanes, all inside the row, one after another as elements `before` and following."""
    if point.lanes == 1:
        one = frame.offset(base, before, itemsize(code), "packed")

        def write() -> list[Register]:
            store_scalar(frame, value, one)
            return []

        frame.when(mask, write)
        return
    wide, mask = _pairs(frame, value, mask)
    wide, mask = widen(frame, wide), widen_mask(frame, mask, itemsize(wide.code))
    at = frame.offset(base, before, itemsize(code), "packed")
    for picks in registers(frame, wide.code, wide.lanes):
        some, taken = frame.b.shuffle(wide, None, picks), frame.b.shuffle(mask, None, picks)
        count = count_bits(frame, mask_bits(frame, taken))
        # Compressing in registers and then storing a prefix: compressing stores take over 100 cycles on Zen 4.
        moved = compress_lanes(frame, some, taken)
        masked_store(frame, moved, at, prefix_mask(frame, frame.b.sub(frame.number(len(picks)), count), len(picks)))
        at = frame.offset(at, count, itemsize(wide.code), "packed")


def _pairs(frame: Frame, value: AnyValue, mask: Value) -> tuple[Value, Value]:
    """The lanes as they lie in memory, and which are meant: a complex number is two of them."""
    parts = [value.re, value.im] if isinstance(value, Complex) else [to_memory(frame, value)]
    parts = [frame.b.bitcast(p, "u2") if p.code == "f2" else p for p in parts]
    return interleave(frame, parts), mask if len(parts) == 1 else twice(frame, mask)


class Staged:
    """Elements of one packed store that wait in a buffer: whole vectors are written there, as memory has no room for.

    What lies behind the true lanes of a vector is written over by the next one. Behind the last it may be another
    task's, or nobody's. With a branch for each lane, `a[mask]` of 1e5 float64 took 280 us on a Zen 3 where every second
    element is meant, and takes 180 so; at once through masks of AVX2 such a CPU stores four elements in 12 cycles.
    """

    MOST: Final = 256  # elements that are copied at once

    def __init__(self, frame: Frame, code: str, base: Pointer, lanes: int, count: Pointer) -> None:
        self.frame, self.size, self.lanes, self.base = frame, itemsize(code), lanes, base
        self.count = count  # where the number of true lanes so far lies, while no row is walked
        self.buffer = frame.alloca(f"[{(self.MOST + 64) * self.size} x i8]", "staged", 64)
        self.gone = frame.alloca("i64", "staged.gone")  # how many true lanes have been copied, with earlier tasks'
        frame.b.line(f"store {self._number(count)}, ptr {self.gone.ref}")

    def put(self, point: Point, value: AnyValue, mask: Value, before: Value) -> None:
        """Appends the true lanes; `before`: how many came before them."""
        frame, b = self.frame, self.frame.b
        gone = self._number(self.gone)
        waiting = b.sub(before, gone)
        at = frame.offset(self.buffer, waiting, self.size, "staged.at")
        if point.lanes == 1:
            store_scalar(frame, value, at)
            waiting = b.add(waiting, b.convert("zext", mask, "i8"))
        else:
            waiting = b.add(waiting, self._put_lanes(value, mask, at))

        def full() -> list[Register]:
            self._copy(gone)
            return []

        frame.when(b.compare("sge", waiting, frame.number(self.MOST)), full)

    def _put_lanes(self, value: AnyValue, mask: Value, at: Pointer) -> Value:
        """Writes the true lanes one after another at `at`; returns how many they are."""
        frame, b = self.frame, self.frame.b
        total = frame.number(0)
        if not frame.b.has_avx2:
            for k in range(mask.lanes):
                store_scalar(frame, lane_of(frame, value, k), frame.offset(at, total, self.size))
                total = b.add(total, b.convert("zext", b.extract(mask, k), "i8"))
            return total
        wide, mask = _pairs(frame, value, mask)
        size, bits = itemsize(wide.code), mask_bits(frame, mask)
        least = min(_TABLE_LANES[size], wide.lanes)
        for first in range(0, wide.lanes, least):
            some = b.shuffle(wide, None, range(first, first + least))
            here = _piece(frame, bits, first, least, wide.lanes)
            place = frame.offset(at, total, size)
            moved = move_lanes(frame, some, here, "pack")
            b.line(f"store {moved}, ptr {place.ref}, align {size}")
            total = b.add(total, count_bits(frame, here))
        return total if wide.lanes == value.lanes else b.binary("lshr", total, b.like(total, 1))

    def _copy(self, gone: Value) -> None:
        """Copies as many as are copied at once, and moves those behind them to the front."""
        frame, b = self.frame, self.frame.b
        to = frame.offset(self.base, gone, self.size, "packed")

        def piece(at: Value, _: list[Register]) -> list[Register]:
            source, target = frame.offset(self.buffer, at, 1), frame.offset(to, at, 1)
            _copy_bytes(frame, source, target, 64)
            return []

        frame.loop(frame.number(0), frame.number(self.MOST * self.size), 64, [], piece, "copied")
        rest = frame.offset(self.buffer, frame.number(self.MOST), self.size)
        _copy_bytes(frame, rest, self.buffer, self.lanes * self.size)
        b.line(f"store {b.add(gone, frame.number(self.MOST))}, ptr {self.gone.ref}")

    def finish(self) -> None:
        """At the end of a call: copies what still waits."""
        frame, b = self.frame, self.frame.b
        gone, count = self._number(self.gone), self._number(self.count)
        to, unit = frame.offset(self.base, gone, self.size, "packed"), frame.number(self.size)
        call_copy(frame, self.size, to, unit, self.buffer, unit, b.sub(count, gone))

    def _number(self, cell: Pointer) -> Value:
        return self.frame.b.emit(f"load i64, ptr {cell.ref}", "i8", 1, "count")


class Packings:
    """The buffers of a function's packed stores, by store; none where the host packs by instructions."""

    def __init__(
        self, frame: Frame, stores: Sequence[Store], bases: Sequence[Pointer], lanes: int, counters: Counters
    ) -> None:
        self.frame = frame
        self.staged: dict[int, Staged] = {}
        for target in stores:
            if target.packed and target.mask is not None:
                code = frame.kernel.accesses[target.access].code
                part, width = COMPLEX_PARTS.get(code, memory_code(code)), 2 if code in COMPLEX_PARTS else 1
                if not packs_natively(frame, part, width * lanes):
                    cell = counters.cells[counters.masks.index(target.mask)]
                    self.staged[target.access] = Staged(frame, code, bases[target.access], lanes, cell)

    def put(self, target: Store, base: Pointer, point: Point, value: AnyValue, mask: Value, before: Value) -> None:
        """The true lanes of one vector."""
        staged = self.staged.get(target.access)
        if staged is None:
            pack(self.frame, self.frame.kernel.accesses[target.access].code, base, point, value, mask, before)
        else:
            staged.put(point, value, mask, before)

    def finish(self) -> None:
        for staged in self.staged.values():
            staged.finish()


_LEAST_BYTES = 16  # LLVM 22 has no instruction for compressing or expanding less than an XMM register


def widen(frame: Frame, value: Value) -> Value:
    """The vector with lanes appended, up to a register of 16 bytes."""
    return lengthen(frame, value, max(value.lanes, _LEAST_BYTES // itemsize(value.code)))


def lengthen(frame: Frame, value: Value, lanes: int) -> Value:
    """The vector with undefined lanes appended, up to so many."""
    more = lanes - value.lanes
    return frame.b.shuffle(value, None, [*range(value.lanes), *(-1 for _ in range(more))]) if more else value


def widen_mask(frame: Frame, mask: Value, size: int) -> Value:
    """The mask of a vector that was widened: off in the lanes appended; `size`: bytes of an element."""
    lanes = mask.lanes
    more = max(lanes, _LEAST_BYTES // size) - lanes
    return frame.b.shuffle(mask, frame.b.like(mask, False), [*range(lanes), *([lanes] * more)]) if more else mask


def registers(frame: Frame, code: str, lanes: int) -> list[range]:
    """The lanes of a vector in pieces of at most one machine register (LLVM 22 compresses no more than that)."""
    most = min(lanes, frame.host.vector_bytes // itemsize(code))
    return [range(first, first + most) for first in range(0, lanes, most)]


def compress_lanes(frame: Frame, value: Value, mask: Value) -> Value:
    """The true lanes moved to the front."""
    b = frame.b
    spelled = {"f4": "f32", "f8": "f64"}.get(value.code, f"i{8 * itemsize(value.code)}")
    name = f"llvm.experimental.vector.compress.v{value.lanes}{spelled}"
    b.module.declare(name, value.type, [value.type, mask.type, value.type])
    return b.emit(f"call {value.type} @{name}({value}, {mask}, {value.type} poison)", value.code, value.lanes, "packed")


_TABLE_LANES: Final = {1: 8, 2: 8, 4: 8, 8: 4}  # lanes that one entry of a table places, by the size of an element


def move_lanes(frame: Frame, value: Value, bits: Value, how: Literal["pack", "spread"]) -> Value:
    """Lanes of a vector of integers or floats moved as the bits of a mask say, by one instruction of AVX2.

    "pack": the true lanes to the front, others behind them. "spread": the first lanes to the places of true ones, in
    the others is anything.
    """
    b, size, lanes = frame.b, itemsize(value.code), value.lanes
    wide, part = (32, "i4") if size >= 4 else (16, "i1")
    full = lengthen(frame, value, wide // size)
    count = wide // itemsize(part)
    parts = b.emit(f"bitcast {full} to {llvm_type(part, count)}", part, count, "parts")
    entry = 16 if size == 2 else 8
    at = frame.offset(Pointer(f"@{_table(frame, size, entry, how)}"), bits, entry, "places.at")
    places = b.emit(f"load <{entry} x i8>, ptr {at.ref}, align {entry}", "i1", entry, "places")
    if size >= 4:
        places, name = b.convert("zext", places, "i4"), "llvm.x86.avx2.permd"
    else:
        places, name = lengthen(frame, places, 16), _BYTES
    b.module.declare(name, parts.type, [parts.type, places.type])
    moved = b.call(name, part, count, [parts, places], "moved")
    back = b.emit(f"bitcast {moved} to {llvm_type(value.code, wide // size)}", value.code, wide // size, "moved")
    return b.shuffle(back, None, range(lanes))


_BYTES: Final = "llvm.x86.ssse3.pshuf.b.128"


def _table(frame: Frame, size: int, entry: int, how: Literal["pack", "spread"]) -> str:
    """The symbol of a table: by the bits of a mask, which lane (or part of one) moves to each place."""
    name = f"lanes.{how}.{size}"
    if not frame.b.module.has(name):
        lanes = _TABLE_LANES[size]
        parts = entry // lanes
        found = bytearray()
        for bits in range(1 << lanes):
            true = [k for k in range(lanes) if bits >> k & 1]
            if how == "spread":
                true = [(bits & (1 << k) - 1).bit_count() for k in range(lanes)]
            moved = [true[k] if k < len(true) else 0 for k in range(lanes)]
            found += bytes(parts * lane + part for lane in moved for part in range(parts))
        text = "".join(f"\\{byte:02X}" for byte in found)
        frame.b.module.define(name, f'@{name} = private unnamed_addr constant [{len(found)} x i8] c"{text}", align 64')
    return name


def _piece(frame: Frame, bits: Value, first: int, lanes: int, of: int) -> Value:
    """The bits of some lanes of a mask."""
    b = frame.b
    bits = b.binary("lshr", bits, b.like(bits, first)) if first else bits
    return b.and_(bits, b.like(bits, (1 << lanes) - 1)) if first + lanes < of else bits


def _copy_bytes(frame: Frame, source: Pointer, to: Pointer, count: int) -> None:
    """Copies a vector of so many bytes."""
    found = frame.b.emit(f"load <{count} x i8>, ptr {source.ref}, align 1", "i1", count, "bytes")
    frame.b.line(f"store {found}, ptr {to.ref}, align 1")


def _spread_by_table(frame: Frame, at: Pointer, mask: Value, code: str) -> Value:
    """Elements of 4 or 8 bytes that lie one after another, spread over the true lanes; other lanes are 0."""
    b, lanes, size = frame.b, mask.lanes, itemsize(code)
    bits, least = mask_bits(frame, mask), min(_TABLE_LANES[size], mask.lanes)
    number = f"i{size}"
    made: Value | None = None
    for first in range(0, lanes, least):
        here = _piece(frame, bits, first, least, lanes)
        count = count_bits(frame, here)
        few = count if size == 8 else b.convert("trunc", count, number)
        inside = b.compare("slt", b.vector(number, range(least)), b.splat(few, least))
        found = masked_load(frame, at, inside, b.const(code, 0, least), "packed")
        moved = move_lanes(frame, found, here, "spread")
        made = moved if made is None else b.shuffle(made, lengthen(frame, moved, made.lanes), range(made.lanes + least))
        at = frame.offset(at, count, size, "packed")
    assert made is not None
    return b.select(mask, made, b.like(made, 0))


def spread_load(frame: Frame, code: str, at: Pointer, mask: Value) -> Value:
    """Elements that lie one after another, spread over the lanes of a mask, by what the host has; other lanes are 0."""
    lanes = mask.lanes
    if packs_natively(frame, code, lanes):
        mask = widen_mask(frame, mask, itemsize(code))
    elif frame.b.has_avx2 and itemsize(code) in (4, 8) and masks_natively(frame, code, min(lanes, 8)):
        return _spread_by_table(frame, at, mask, code)
    spread = expand_load(frame, code, at, mask, mask.lanes)
    return frame.b.shuffle(spread, None, range(lanes)) if spread.lanes > lanes else spread


def expand(frame: Frame, code: str, base: Pointer, point: Point, mask: Value, before: Value) -> AnyValue:
    """Elements `before` and following of packed memory, spread over the true lanes."""
    b, lanes = frame.b, point.lanes
    at = frame.offset(base, before, itemsize(code), "packed")
    part = COMPLEX_PARTS.get(code, memory_code(code))
    if lanes == 1:
        zeros = [b.const(part, 0, 1)] * (2 if code in COMPLEX_PARTS else 1)
        read = frame.when(mask, lambda: _parts(frame, load_scalar(frame, code, at)), _made(frame, code, zeros))
        found = [v for v in read if isinstance(v, Value)]
        return Complex(found[0], found[1]) if len(found) == 2 else found[0]
    mask = inside_mask(point, mask, part)
    if code in COMPLEX_PARTS:
        pairs = spread_load(frame, part, at, twice(frame, mask))
        parts = [b.shuffle(pairs, None, range(k, 2 * lanes, 2)) for k in (0, 1)]
        return Complex(parts[0], parts[1])
    inner = "u2" if part == "f2" else part
    spread = spread_load(frame, inner, at, mask)
    if inner != part:
        spread = b.bitcast(spread, part)
    return b.compare("ne", spread, b.like(spread, 0)) if code == "b1" else spread


def _parts(frame: Frame, value: AnyValue) -> list[Register]:
    return [value.re, value.im] if isinstance(value, Complex) else [value]


def _made(frame: Frame, code: str, zeros: list[Value]) -> list[Register]:
    return [frame.b.const("b1", False, 1)] if code == "b1" else list(zeros)
