"""Owns tiles of accesses that lie far apart along the last axis: turned into the stack, where vectors find neighbours.

What is read transposed has its neighbours along the rows' axis. Squares of it are loaded so and turned in registers.
"""

from __future__ import annotations

from lazyarray.schedule.kernel import Access, Kernel, Stage
from lazyarray_llvm.builder import Value, itemsize
from lazyarray_llvm.lower.frame import Frame, Pointer

ROWS, COLUMNS = 64, 32  # of a tile, at most
_MOST_BYTES = 64 << 10  # of all tiles of a kernel, on the stack
_SLACK = 64  # elements behind a tile that vectors cut short may touch

_COPY = """define internal void @copy.tile.{size}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %from.column, \
i64 %rows, i64 %columns) nounwind noinline {{
entry:
  br label %row.loop
row.loop:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.done ]
  %to.line = phi ptr [ %to, %entry ], [ %to.next, %row.done ]
  %from.line = phi ptr [ %from, %entry ], [ %from.later, %row.done ]
  br label %column.loop
column.loop:
  %c = phi i64 [ 0, %row.loop ], [ %c.next, %column.loop ]
  %from.at = phi ptr [ %from.line, %row.loop ], [ %from.next, %column.loop ]
  %value = load {type}, ptr %from.at, align {align}
  %to.at = getelementptr [{size} x i8], ptr %to.line, i64 %c
  store {type} %value, ptr %to.at, align {align}
  %from.next = getelementptr i8, ptr %from.at, i64 %from.column
  %c.next = add i64 %c, 1
  %more.columns = icmp slt i64 %c.next, %columns
  br i1 %more.columns, label %column.loop, label %row.done
row.done:
  %to.next = getelementptr i8, ptr %to.line, i64 %to.row
  %from.later = getelementptr i8, ptr %from.line, i64 %from.row
  %r.next = add i64 %r, 1
  %more.rows = icmp slt i64 %r.next, %rows
  br i1 %more.rows, label %row.loop, label %done
done:
  ret void
}}"""

# The last square of a line is one that fits, over part of the one before.
_TURN = """define internal void @turn.{size}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %from.column, \
i64 %rows, i64 %columns) nounwind noinline {{
entry:
  %near = icmp eq i64 %from.row, {size}
  %last.row = sub i64 %rows, {side}
  %last.column = sub i64 %columns, {side}
  %fits = icmp sge i64 %last.row, 0
  %fits.too = icmp sge i64 %last.column, 0
  %fit = and i1 %fits, %fits.too
  %squares = and i1 %near, %fit
  br i1 %squares, label %row.loop, label %apart
row.loop:
  %row = phi i64 [ 0, %entry ], [ %row.next, %row.done ]
  %r = call i64 @llvm.smin.i64(i64 %row, i64 %last.row)
  %from.line = getelementptr [{size} x i8], ptr %from, i64 %r
  %to.offset = mul i64 %r, %to.row
  %to.line = getelementptr i8, ptr %to, i64 %to.offset
  br label %square
square:
  %column = phi i64 [ 0, %row.loop ], [ %column.next, %square ]
  %c = call i64 @llvm.smin.i64(i64 %column, i64 %last.column)
  %from.offset = mul i64 %c, %from.column
  %from.0 = getelementptr i8, ptr %from.line, i64 %from.offset
  %to.0 = getelementptr [{size} x i8], ptr %to.line, i64 %c
{moves}
  %column.next = add i64 %column, {side}
  %more.columns = icmp slt i64 %column.next, %columns
  br i1 %more.columns, label %square, label %row.done
row.done:
  %row.next = add i64 %row, {side}
  %more.rows = icmp slt i64 %row.next, %rows
  br i1 %more.rows, label %row.loop, label %done
apart:
  call void @copy.tile.{size}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %from.column, i64 %rows, i64 %columns)
  br label %done
done:
  ret void
}}"""


def _moves(size: int, side: int) -> str:
    """A square loaded along its rows, turned in registers, and stored along its columns."""
    vector = f"<{side} x i{8 * size}>"
    lines, names = [], []
    for k in range(side):
        lines.append(f"  %in.{k} = load {vector}, ptr %from.{k}, align {size}")
        if k + 1 < side:
            lines.append(f"  %from.{k + 1} = getelementptr i8, ptr %from.{k}, i64 %from.column")
        names.append(f"%in.{k}")
    for number, pairs in enumerate(_rounds(side, side * size > 16)):
        made = []
        for k, (first, second, picks) in enumerate(pairs):
            made.append(f"%turned.{number}.{k}")
            spelled = ", ".join(f"i32 {pick}" for pick in picks)
            pair = f"{vector} {names[first]}, {vector} {names[second]}"
            lines.append(f"  {made[-1]} = shufflevector {pair}, <{side} x i32> <{spelled}>")
        names = made
    for k, name in enumerate(names):
        lines.append(f"  store {vector} {name}, ptr %to.{k}, align {size}")
        if k + 1 < side:
            lines.append(f"  %to.{k + 1} = getelementptr i8, ptr %to.{k}, i64 %to.row")
    return "\n".join(lines)


def _rounds(side: int, wide: bool) -> list[list[tuple[int, int, list[int]]]]:
    """How a square is turned: for each round and new vector, two vectors and the lanes that are picked from them.

    Interleaving the first vector with the one half a square behind, the second with the one behind that and so on, as
    often as the side can be halved, turns it: one instruction each in 16 bytes. `wide` ones cross these only once if
    squares of 1, 2, 4, ... are swapped across the diagonal instead (J. O. Eklundh, 1972).
    """
    rounds, apart = [], 1
    while apart < side:
        pairs = []
        for k in range(side):
            if wide:
                first, second = k & ~apart, k | apart
                shift = apart if k & apart else 0
                picks = [j + shift if not j & apart else side + j - apart + shift for j in range(side)]
            else:
                first, second = k // 2, k // 2 + side // 2
                picks = [k % 2 * side // 2 + j // 2 + side * (j % 2) for j in range(side)]
            pairs.append((first, second, picks))
        rounds.append(pairs)
        apart *= 2
    return rounds


def turned_accesses(kernel: Kernel, stage: Stage) -> list[int]:
    """What a kernel without reductions loads far apart along its last axis, and elsewhere along the one before."""
    if len(kernel.roles) < 2 or kernel.packs or kernel.scatters:
        return []
    loaded = {i.attr for i in stage.body if i.op == "load"}
    apart = {i.attr for i in stage.body if i.op in ("gather", "expand")} | {s.access for s in stage.stores}
    found = []
    left = _MOST_BYTES
    for number, access in enumerate(kernel.accesses):
        far = access.steps[-1] == "s" and access.steps[-2] != "0"
        if far and number in loaded and number not in apart and left >= tile_bytes(access):
            found.append(number)
            left -= tile_bytes(access)
    return found


def tile_bytes(access: Access) -> int:
    """Of the tile of one access, with what vectors cut short may touch behind it."""
    return (ROWS * COLUMNS + _SLACK) * itemsize(access.code)


def side_by_side(kernel: Kernel, numbers: list[int]) -> Kernel:
    """The kernel as it reads tiles: these accesses have neighbours along the last axis."""
    accesses = [
        a._replace(steps=(*a.steps[:-1], "1")) if number in numbers else a for number, a in enumerate(kernel.accesses)
    ]
    return kernel._replace(accesses=tuple(accesses))


class Tiles:
    """The tiles of one function, one for each access."""

    def __init__(self, frame: Frame, numbers: list[int]) -> None:
        self.frame = frame
        self.last = len(frame.kernel.roles) - 1
        self.memory = {
            n: frame.alloca(f"[{tile_bytes(frame.kernel.accesses[n])} x i8]", f"tile{n}", 64) for n in numbers
        }

    def row_bytes(self, number: int) -> int:
        """From a row of a tile to the next."""
        return COLUMNS * itemsize(self.frame.kernel.accesses[number].code)

    def fill(self, number: int, row: Pointer, count: Value, start: Value, stop: Value) -> Pointer:
        """Where element 0 of a row would be in a tile that now holds `count` rows from `row` on, `start` to `stop`."""
        frame, size = self.frame, itemsize(self.frame.kernel.accesses[number].code)
        apart = frame.argument(f"stride{number}.{self.last}")
        along = frame.argument(f"stride{number}.{self.last - 1}")
        source = frame.offset(row, frame.b.mul(start, apart), hint=f"square{number}")
        memory = self.memory[number]
        kind = f"i{8 * size}" if size <= 8 else "<2 x i64>"
        align = min(size, 8)
        module = frame.b.module
        module.define(f"copy.tile.{size}", _COPY.format(size=size, type=kind, align=align))
        if size <= 8:
            side = max(16, min(32, 4 * size, frame.host.vector_bytes)) // size
            module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
            module.define(f"turn.{size}", _TURN.format(size=size, side=side, moves=_moves(size, side)))
        width = frame.b.sub(stop, start)
        way = f"turn.{size}" if size <= 8 else f"copy.tile.{size}"
        lines = f"ptr {memory.ref}, i64 {self.row_bytes(number)}, ptr {source.ref}, {along}, {apart}"
        frame.b.line(f"call void @{way}({lines}, {count}, {width})")
        back = frame.b.sub(frame.number(0), start)
        return frame.offset(memory, back, size, f"tile{number}.row")
