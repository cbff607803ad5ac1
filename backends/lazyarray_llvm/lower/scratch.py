"""Owns the scratch planes of a worker: arrays that hold values of a row, or of a block of columns, between stages.

Long planes have an element per reduced element (of every column of the block); strips have one per column.
"""

from __future__ import annotations

from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import AnyValue, Value, itemsize, llvm_type
from lazyarray_llvm.lower.ends import put_inside
from lazyarray_llvm.lower.frame import Frame, Pointer
from lazyarray_llvm.lower.layout import Key, layout
from lazyarray_llvm.lower.point import Point


class Planes:
    """Addresses of a worker's planes in one function."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        made = layout(frame.kernel)
        self.codes = {**made.strips, **made.long}
        self._strips = sum(len(codes) for codes in made.strips.values())
        self._first: dict[Key, int] = {}
        at = 0
        for key, codes in self.codes.items():
            self._first[key] = at
            at += len(codes)
        self._bases: dict[int, Pointer] = {}

    def _base(self, number: int) -> Pointer:
        found = self._bases.get(number)
        if found is None:
            frame, b = self.frame, self.frame.b
            scratch, stride = frame.address("scratch"), frame.argument("stride")
            strip, plane = frame.argument("strip"), frame.argument("plane")
            with frame.hoisted(frame.entry):
                at = b.mul(Value("%worker", "i8", 1), stride)
                at = b.add(at, b.mul(strip, frame.number(min(number, self._strips))))
                if number > self._strips:
                    at = b.add(at, b.mul(plane, frame.number(number - self._strips)))
                found = self._bases[number] = frame.offset(scratch, at, hint="plane")
        return found

    def at(self, key: Key, part: int, index: Value) -> Pointer:
        """The address of an element of one part of a value's planes."""
        base = self._base(self._first[key] + part)
        return self.frame.offset(base, index, itemsize(self.codes[key][part]), key[0])

    def write(self, key: Key, index: Value, pieces: list[Value], inside: Point | None = None) -> None:
        """Writes a vector: all its lanes (what lies beyond its end is written again, or slack), or those inside."""
        for part, piece in enumerate(pieces):
            place = self.at(key, part, index)
            if inside is not None and not inside.whole:
                put_inside(self.frame, place, inside, piece)
                continue
            if piece.code == "b1":
                piece = self.frame.b.convert("zext", piece, "u1")
            self.frame.b.line(f"store {piece}, ptr {place.ref}, align {itemsize(piece.code)}")

    def read(self, key: Key, code: str, index: Value, point: Point) -> list[Value]:
        """Reads a vector of `code`; lanes outside the row repeat lane 0."""
        b = self.frame.b
        pieces = []
        for part, inside in enumerate(self.codes[key]):
            place = self.at(key, part, index)
            text = f"load {llvm_type(inside, point.lanes)}, ptr {place.ref}, align {itemsize(inside)}"
            piece = b.emit(text, inside, point.lanes, key[0])
            if not point.whole and point.lanes > 1:
                piece = b.select(point.mask(inside), piece, b.shuffle(piece, None, [0] * point.lanes))
            is_bool = code == "b1" and inside == "u1"
            pieces.append(b.compare("ne", piece, b.like(piece, 0)) if is_bool else piece)
        return pieces

    def recall(self, key: Key, code: str, index: Value, point: Point) -> AnyValue:
        """A value of a plane as a register."""
        return ops.whole(self.read(key, code, index, point))
