"""Owns lines: short rows that are walked many at once, as if the elements of all operands lay side by side.

A row of three elements is a vector cut short, and for every operand a load of its own. Rows of results, and of most
operands, follow each other in memory: as many of them as fill a tile are one line. Of operands whose rows lie apart, or
that are broadcast, the line is made in a tile on the stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from lazyarray.schedule.kernel import Kernel
from lazyarray_llvm.builder import Value, itemsize
from lazyarray_llvm.lower.ahead import AHEAD_BYTES
from lazyarray_llvm.lower.elements import plain, put
from lazyarray_llvm.lower.facts import merged
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.tiling import goes_along, line_elements, tile_bytes
from lazyarray_llvm.moves.names import Way, symbol

_DISTANCE = 512  # bytes at least from where a repeated row is read to where it is written: stores take time to be seen
_VECTOR = 64  # bytes that a repeated row is copied by
_BY_ROWS = ("ptr", "i64", "ptr", "i64", "i64")
_BY_ELEMENTS = ("ptr", "i64", "i64", "ptr", "i64", "i64", "i64", "i64")
_Walk: TypeAlias = tuple[Pointer, Value, Value]  # an address, bytes from row to row and from column to column


class Lines:
    """The lines of one function, and the tile of each access that moves."""

    def __init__(self, frame: Frame, kernel: Kernel) -> None:
        self.frame = frame
        self.accesses = kernel.accesses  # as they lie, not as `in_lines` has them
        self.last = len(kernel.roles) - 1
        self.written = kernel.written
        self._bytes: dict[int, Value] = {}
        stage = merged(kernel)
        masked = {t.access for t in stage.stores if t.mask is not None}
        self.read = masked.union(i.attr for i in stage.body if i.op == "load")
        elements = line_elements(kernel)
        self.columns = frame.argument(f"extent{self.last}")
        with frame.hoisted(frame.entry):
            self.rows = self._aligned(frame.b.binary("udiv", frame.number(elements), self.columns, "fit"))
        self.tiles = {
            n: frame.alloca(f"[{tile_bytes(a, elements)} x i8]", f"tile{n}", 64)
            for n, a in enumerate(kernel.accesses)
            if goes_along(a)
        }

    def _aligned(self, rows: Value) -> Value:
        """So many rows, or some fewer, that the next line begins where vectors do: those across lines cost double."""
        b = self.frame.b
        for unit in (8, 64):
            enough = b.compare("sge", rows, self.frame.number(unit))
            rows = b.select(enough, b.and_(rows, self.frame.number(-unit)), rows)
        return rows

    def walk(
        self, count: Value, pointers: Sequence[Register], emit: Callable[[list[Pointer], Value, Value], None]
    ) -> None:
        """`count` rows from given ones on; `emit` is told of each line where it begins, rows before, and elements."""
        frame, b = self.frame, self.frame.b
        most = frame.minimum(self.rows, count)
        for number, pointer in enumerate(pointers):
            if self._repeats(number):
                self._repeat(number, pointer, most)
        lines = b.binary("udiv", b.add(count, b.sub(self.rows, frame.number(1))), self.rows, "lines")

        def line(n: Value, _: list[Register]) -> list[Register]:
            past = b.mul(n, self.rows)
            rows = frame.minimum(self.rows, b.sub(count, past))
            here = [self._moved(number, pointer, past) for number, pointer in enumerate(pointers)]
            emit([self._line(number, at, rows) for number, at in enumerate(here)], past, b.mul(rows, self.columns))
            for number in sorted(self.written):
                self._put_back(number, here[number], rows)
            return []

        frame.loop(frame.number(0), lines, 1, [], line, "line")

    def ahead(self, number: int) -> Value | None:
        """How many bytes ahead of a line its memory is asked for, where it is no tile."""
        near = self.accesses[number].steps[-1] == "1" and not self._repeats(number)
        return self.frame.number(AHEAD_BYTES) if near else None

    def _repeats(self, number: int) -> bool:
        """Whether all rows of a segment are one row of an access."""
        return number in self.tiles and self.accesses[number].steps[-2] == "0"

    def _moved(self, number: int, pointer: Register, rows: Value) -> Pointer:
        assert isinstance(pointer, Pointer)
        if number not in self.tiles or self._repeats(number):
            return pointer
        return self.frame.offset(pointer, self.frame.b.mul(rows, self._apart(number)), hint=f"row{number}")

    def _line(self, number: int, at: Pointer, rows: Value) -> Pointer:
        """Where the line of an access begins whose first row is at `at`."""
        frame = self.frame
        if number not in self.tiles:
            return at
        tile, apart = self.tiles[number], self._lie_apart(number)
        if self._repeats(number):
            return tile
        if number not in self.read:
            return frame.pointer(f"select i1 {apart.ref}, ptr {tile.ref}, ptr {at.ref}", f"line{number}.at")

        def fill() -> list[Register]:
            self._fill(number, at, rows)
            return [tile]

        (found,) = frame.when(apart, fill, [at])
        assert isinstance(found, Pointer)
        return found

    def _fill(self, number: int, at: Pointer, rows: Value) -> None:
        """Copies rows of an access into its tile."""
        step = self.accesses[number].steps[-1]
        if step in ("0", "1"):
            to = f"ptr {self.tiles[number].ref}, {self._row_bytes(number)}"
            way: Way = "repeat" if step == "0" else "copy"
            self._call(number, way, f"{to}, ptr {at.ref}, {self._apart(number)}, {rows}")
        else:
            self._spread(number, at, rows)

    def _repeat(self, number: int, at: Register, rows: Value) -> None:
        """Fills a tile with one row: some by elements, the others a whole number of vectors after these.

        A vector that was written in one piece can be read again before it is in the cache.
        """
        frame, b = self.frame, self.frame.b
        assert isinstance(at, Pointer)
        row, unit = self._row_bytes(number), _VECTOR // self._size(number)
        units = b.binary("udiv", frame.number(_DISTANCE // unit), row, "distant")
        some = frame.minimum(b.mul(b.add(units, frame.number(1)), frame.number(unit)), rows)
        self._spread(number, at, some)
        done, tile = b.mul(some, row), self.tiles[number]

        def copy(k: Value, _: list[Register]) -> list[Register]:
            source = frame.offset(tile, b.sub(k, done), hint="before")
            put(frame, plain(frame, "u1", source, _VECTOR, "some"), frame.offset(tile, k))
            return []

        frame.loop(done, b.mul(rows, row), _VECTOR, [], copy, "repeat")

    def _spread(self, number: int, at: Pointer, rows: Value) -> None:
        """Copies rows into a tile by elements."""
        self._move(number, self._in_tile(number), self._in_memory(number, at), rows)

    def _put_back(self, number: int, at: Pointer, rows: Value) -> None:
        """Copies a tile to where its rows lie, if they lie apart."""

        def move() -> list[Register]:
            self._move(number, self._in_memory(number, at), self._in_tile(number), rows)
            return []

        self.frame.when(self._lie_apart(number), move)

    def _in_tile(self, number: int) -> _Walk:
        return self.tiles[number], self._row_bytes(number), self.frame.number(self._size(number))

    def _in_memory(self, number: int, at: Pointer) -> _Walk:
        return at, self._apart(number), self._along(number)

    def _move(self, number: int, to: _Walk, source: _Walk, rows: Value) -> None:
        spelled = ", ".join(f"ptr {at.ref}, {row}, {column}" for at, row, column in (to, source))
        self._call(number, "spread", f"{spelled}, {rows}, {self.columns}")

    def _call(self, number: int, way: Way, arguments: str) -> None:
        name = symbol(way, self._size(number))
        self.frame.b.module.declare(name, "void", _BY_ELEMENTS if way == "spread" else _BY_ROWS)
        self.frame.b.line(f"call void @{name}({arguments})")

    def _size(self, number: int) -> int:
        return itemsize(self.accesses[number].code)

    # -- steps, in bytes -----------------------------------------------------------------------------------
    def _apart(self, number: int) -> Value:
        """From a row to the next."""
        still = self.accesses[number].steps[-2] == "0"
        return self.frame.number(0) if still else self.frame.argument(f"stride{number}.{self.last - 1}")

    def _along(self, number: int) -> Value:
        """From an element of a row to the next."""
        step = self.accesses[number].steps[-1]
        if step == "s":
            return self.frame.argument(f"stride{number}.{self.last}")
        return self.frame.number(int(step) * self._size(number))

    def _row_bytes(self, number: int) -> Value:
        """From a row of a line to the next."""
        size = self._size(number)
        found = self._bytes.get(size)
        if found is None:
            with self.frame.hoisted(self.frame.entry):
                found = self._bytes[size] = self.frame.b.mul(self.columns, self.frame.number(size))
        return found

    def _lie_apart(self, number: int) -> Value:
        """Whether the elements of an access are no line."""
        b = self.frame.b
        if self.accesses[number].steps[-1] != "1":
            return b.const("b1", True, 1)
        return b.compare("ne", self._apart(number), self._row_bytes(number))
