"""Owns tiles of accesses that lie far apart along the last axis: turned into the stack, where vectors find neighbours.

What is read transposed has its neighbours along the rows' axis. Squares of it are loaded so and turned in registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarray_llvm.builder import Value, itemsize
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.tiling import COLUMNS, tile_bytes
from lazyarray_llvm.moves.names import symbol


class Tiles:
    """The tiles of one function, one for each access; `copied`: through which two accesses a kernel only copies."""

    def __init__(self, frame: Frame, numbers: list[int], copied: tuple[int, int] | None = None) -> None:
        self.frame = frame
        self.copied = copied
        self.last = len(frame.kernel.roles) - 1
        self.memory = {
            n: frame.alloca(f"[{tile_bytes(frame.kernel.accesses[n])} x i8]", f"tile{n}", 64) for n in numbers
        }

    def row_bytes(self, number: int) -> int:
        """From a row of a tile to the next."""
        return COLUMNS * self._size(number)

    def fill(self, number: int, row: Pointer, count: Value, start: Value, stop: Value) -> Pointer:
        """Where element 0 of a row would be in a tile that now holds `count` rows from `row` on, `start` to `stop`."""
        frame, memory = self.frame, self.memory[number]
        self._turn(memory, frame.number(self.row_bytes(number)), number, row, count, start, stop)
        back = frame.b.sub(frame.number(0), start)
        return frame.offset(memory, back, self._size(number), f"tile{number}.row")

    def copy(self, rows: Sequence[Register], count: Value, start: Value, stop: Value) -> None:
        """All that a kernel does which only copies: the elements go where a tile would."""
        assert self.copied is not None
        source, target = self.copied
        row, to = rows[source], rows[target]
        assert isinstance(row, Pointer)
        assert isinstance(to, Pointer)
        to = self.frame.offset(to, start, self._size(target), f"turned{target}")
        self._turn(to, self.frame.argument(f"stride{target}.{self.last - 1}"), source, row, count, start, stop)

    def _turn(
        self, to: Pointer, to_row: Value, number: int, row: Pointer, count: Value, start: Value, stop: Value
    ) -> None:
        frame, name = self.frame, symbol("turn", self._size(number))
        apart = frame.argument(f"stride{number}.{self.last}")
        along = frame.argument(f"stride{number}.{self.last - 1}")
        source = frame.offset(row, frame.b.mul(start, apart), hint=f"square{number}")
        frame.b.module.declare(name, "void", ["ptr", "i64", "ptr", "i64", "i64", "i64", "i64"])
        width = frame.b.sub(stop, start)
        frame.b.line(f"call void @{name}(ptr {to.ref}, {to_row}, ptr {source.ref}, {along}, {apart}, {count}, {width})")

    def _size(self, number: int) -> int:
        return itemsize(self.frame.kernel.accesses[number].code)
