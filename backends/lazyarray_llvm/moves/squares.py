"""Owns the functions that turn squares of elements in registers: their text."""

from __future__ import annotations

from lazyarray_llvm.moves.names import symbol

# The last square of a line is one that fits, over part of the one before.
_TURN = """define internal void @turn.{size}.{side}(ptr %to, i64 %to.row, ptr %from, i64 %from.column, \
i64 %rows, i64 %columns) nounwind noinline {{
entry:
  %last.row = sub i64 %rows, {side}
  %last.column = sub i64 %columns, {side}
  br label %row.loop
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
done:
  ret void
}}"""

# Squares as large as fit; elements one by one where none does, or where rows are no rows of memory.
_CHOICE = """define void @{name}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %from.column, \
i64 %rows, i64 %columns) nounwind {{
entry:
  %near = icmp eq i64 %from.row, {size}
  br i1 %near, label %{first}, label %apart
{tries}
apart:
  call void @{spread}(ptr %to, i64 %to.row, i64 {size}, ptr %from, i64 %from.row, i64 %from.column, i64 %rows, \
i64 %columns)
  ret void
}}"""
_TRY = """try.{side}:
  %rows.fit.{side} = icmp sge i64 %rows, {side}
  %columns.fit.{side} = icmp sge i64 %columns, {side}
  %fit.{side} = and i1 %rows.fit.{side}, %columns.fit.{side}
  br i1 %fit.{side}, label %turn.{side}, label %{otherwise}
turn.{side}:
  call void @turn.{size}.{side}(ptr %to, i64 %to.row, ptr %from, i64 %from.column, i64 %rows, i64 %columns)
  ret void"""


def squares_text(size: int, width: int) -> str:
    """The function for elements of a size, of vectors of up to `width` bytes."""
    sides = _sides(size, width)
    labels = [*(f"try.{side}" for side in sides), "apart"]
    tries = [_TRY.format(side=side, size=size, otherwise=after) for side, after in zip(sides, labels[1:], strict=True)]
    names = {"name": symbol("turn", size), "spread": symbol("spread", size)}
    choice = _CHOICE.format(**names, size=size, first=labels[0], tries="\n".join(tries))
    return "\n".join([*(_TURN.format(size=size, side=side, moves=_moves(size, side)) for side in sides), choice])


def _sides(size: int, width: int) -> list[int]:
    """Of the squares that are tried, the largest first."""
    widest = {1: 16, 2: 16, 4: 32, 8: 32}.get(size, 0)
    widths = [nbytes for nbytes in (32, 16) if nbytes <= min(width, widest)]
    return [nbytes // size for nbytes in widths]


def _moves(size: int, side: int) -> str:
    """A square loaded along its rows, turned in registers, and stored along its columns."""
    vector, wide = f"<{side} x i{8 * size}>", side * size > 16
    lines = [f"  %from.{k + 1} = getelementptr i8, ptr %from.{k}, i64 %from.column" for k in range(side - 1)]
    lines += (
        _halves(size, side)
        if wide
        else [f"  %in.{k} = load {vector}, ptr %from.{k}, align {size}" for k in range(side)]
    )
    names = [f"%in.{k}" for k in range(side)]
    for number, pairs in enumerate(_rounds(side // 2 if wide else side, side, wide)):
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


def _halves(size: int, side: int) -> list[str]:
    """The first round of wide squares, halves swapped across the diagonal, done by loads, which other units do."""
    half, lines = side // 2, []
    vector = f"<{half} x i{8 * size}>"
    joined = ", ".join(f"i32 {k}" for k in range(side))
    for k in range(half):
        lines.append(f"  %further.{k} = getelementptr i8, ptr %from.{k}, i64 {half * size}")
        lines.append(f"  %further.{k + half} = getelementptr i8, ptr %from.{k + half}, i64 {half * size}")
        for to, at in ((k, "from"), (k + half, "further")):
            lines.append(f"  %low.{to} = load {vector}, ptr %{at}.{k}, align {size}")
            lines.append(f"  %high.{to} = load {vector}, ptr %{at}.{k + half}, align {size}")
            pair = f"{vector} %low.{to}, {vector} %high.{to}"
            lines.append(f"  %in.{to} = shufflevector {pair}, <{side} x i32> <{joined}>")
    return lines


def _rounds(below: int, side: int, wide: bool) -> list[list[tuple[int, int, list[int]]]]:
    """How a square is turned, by rounds below a distance: for each new vector, two vectors, and lanes picked of them.

    Interleaving the first vector with the one half a square behind, the second with the one behind that and so on, as
    often as the side can be halved, turns it: one instruction each in 16 bytes. `wide` ones cross these only once if
    squares of 1, 2, 4, ... are swapped across the diagonal instead (J. O. Eklundh, 1972).
    """
    rounds, apart = [], 1
    while apart < below:
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
