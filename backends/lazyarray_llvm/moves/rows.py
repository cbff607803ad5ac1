"""Owns the functions that move short rows between memory and lines: their text."""

from __future__ import annotations

from lazyarray_llvm.moves.names import symbol

# Columns are few and rows many: the inner loops go along a column, by some rows and by one.
_SPREAD = """define void @{name}(ptr %to, i64 %to.row, i64 %to.column, ptr %from, i64 %from.row, \
i64 %from.column, i64 %rows, i64 %columns) nounwind {{
entry:
  %any = icmp sgt i64 %rows, 0
  %whole = and i64 %rows, -{some}
  %has.some = icmp ne i64 %whole, 0
  %more = icmp ne i64 %rows, %whole
  br i1 %any, label %column.loop, label %done
column.loop:
  %c = phi i64 [ 0, %entry ], [ %c.next, %column.done ]
  %to.first = phi ptr [ %to, %entry ], [ %to.later, %column.done ]
  %from.first = phi ptr [ %from, %entry ], [ %from.later, %column.done ]
  br i1 %has.some, label %some.loop, label %rest
some.loop:
  %s = phi i64 [ 0, %column.loop ], [ %s.next, %some.loop ]
  %to.0 = phi ptr [ %to.first, %column.loop ], [ %to.{some}, %some.loop ]
  %from.0 = phi ptr [ %from.first, %column.loop ], [ %from.{some}, %some.loop ]
{moves}
  %s.next = add i64 %s, {some}
  %more.of.some = icmp slt i64 %s.next, %whole
  br i1 %more.of.some, label %some.loop, label %rest
rest:
  %to.rest = phi ptr [ %to.first, %column.loop ], [ %to.{some}, %some.loop ]
  %from.rest = phi ptr [ %from.first, %column.loop ], [ %from.{some}, %some.loop ]
  br i1 %more, label %row.loop, label %column.done
row.loop:
  %r = phi i64 [ %whole, %rest ], [ %r.next, %row.loop ]
  %to.at = phi ptr [ %to.rest, %rest ], [ %to.next, %row.loop ]
  %from.at = phi ptr [ %from.rest, %rest ], [ %from.next, %row.loop ]
  %value = load {type}, ptr %from.at, align {align}
  store {type} %value, ptr %to.at, align {align}
  %to.next = getelementptr i8, ptr %to.at, i64 %to.row
  %from.next = getelementptr i8, ptr %from.at, i64 %from.row
  %r.next = add i64 %r, 1
  %more.rows = icmp slt i64 %r.next, %rows
  br i1 %more.rows, label %row.loop, label %column.done
column.done:
  %to.later = getelementptr i8, ptr %to.first, i64 %to.column
  %from.later = getelementptr i8, ptr %from.first, i64 %from.column
  %c.next = add i64 %c, 1
  %more.columns = icmp slt i64 %c.next, %columns
  br i1 %more.columns, label %column.loop, label %done
done:
  ret void
}}"""
_AT_ONCE = 4  # rows
_MOVE = """  %value.{k} = load {type}, ptr %from.{k}, align {align}
  store {type} %value.{k}, ptr %to.{k}, align {align}
  %to.{after} = getelementptr i8, ptr %to.{k}, i64 %to.row
  %from.{after} = getelementptr i8, ptr %from.{k}, i64 %from.row"""


def _spread_text(size: int) -> str:
    """Elements from anywhere to anywhere."""
    kind, align = f"i{8 * size}" if size <= 8 else "<2 x i64>", min(size, 8)
    moves = "\n".join(_MOVE.format(k=k, after=k + 1, type=kind, align=align) for k in range(_AT_ONCE))
    return _SPREAD.format(name=symbol("spread", size), some=_AT_ONCE, moves=moves, type=kind, align=align)


# Vectors reach into the row behind theirs, which is written after it.
_ROWS = """define internal void @{name}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %rows) nounwind noinline {{
entry:
  %some = icmp sgt i64 %rows, 0
  br i1 %some, label %row.loop, label %done
row.loop:
  %r = phi i64 [ 0, %entry ], [ %r.next, %row.done ]
  %to.line = phi ptr [ %to, %entry ], [ %to.later, %row.done ]
  %from.line = phi ptr [ %from, %entry ], [ %from.later, %row.done ]
{of_row}
  br label %vector.loop
vector.loop:
  %at = phi i64 [ 0, %row.loop ], [ %at.next, %vector.loop ]
{of_vector}
  %to.at = getelementptr i8, ptr %to.line, i64 %at
  store {vector} %value, ptr %to.at, align {align}
  %at.next = add i64 %at, {bytes}
  %more.vectors = icmp slt i64 %at.next, %to.row
  br i1 %more.vectors, label %vector.loop, label %row.done
row.done:
  %to.later = getelementptr i8, ptr %to.line, i64 %to.row
  %from.later = getelementptr i8, ptr %from.line, i64 %from.row
  %r.next = add i64 %r, 1
  %more.rows = icmp slt i64 %r.next, %rows
  br i1 %more.rows, label %row.loop, label %done
done:
  ret void
}}"""


# Rows whose vectors end before the last row does by vectors, the others by elements.
_COPY = """define void @{copy}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %rows) nounwind {{
  %up = add i64 %to.row, {less}
  %vectors = and i64 %up, -{width}
  %behind = sub i64 %vectors, %to.row
  %step = call i64 @llvm.smax.i64(i64 %from.row, i64 1)
  %last = add i64 %behind, %step
  %further = sub i64 %last, 1
  %unsafe = udiv i64 %further, %step
  %before = sub i64 %rows, %unsafe
  %some = call i64 @llvm.smax.i64(i64 %before, i64 0)
  %forward = icmp sgt i64 %from.row, 0
  %safe = select i1 %forward, i64 %some, i64 0
  call void @copy.some(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %safe)
  %to.offset = mul i64 %safe, %to.row
  %from.offset = mul i64 %safe, %from.row
  %to.others = getelementptr i8, ptr %to, i64 %to.offset
  %from.others = getelementptr i8, ptr %from, i64 %from.offset
  %others = sub i64 %rows, %safe
  %columns = udiv i64 %to.row, {size}
  call void @{spread}(ptr %to.others, i64 %to.row, i64 {size}, ptr %from.others, i64 %from.row, i64 {size}, \
i64 %others, i64 %columns)
  ret void
}}"""

# Elements that lie side by side, a vector of them at once, each so often as the row is long; the others row by row.
_REPEAT = """define void @{name}(ptr %to, i64 %to.row, ptr %from, i64 %from.row, i64 %rows) \
nounwind {{
entry:
  %near = icmp eq i64 %from.row, {size}
  br i1 %near, label %choose, label %others
choose:
  switch i64 %to.row, label %others [ {choices} ]
{ways}
others:
  %done = phi i64 [ 0, %entry ], [ 0, %choose ], {done}
  %to.offset = mul i64 %done, %to.row
  %from.offset = mul i64 %done, %from.row
  %to.others = getelementptr i8, ptr %to, i64 %to.offset
  %from.others = getelementptr i8, ptr %from, i64 %from.offset
  %rows.left = sub i64 %rows, %done
  call void @repeat.one(ptr %to.others, i64 %to.row, ptr %from.others, i64 %from.row, i64 %rows.left)
  ret void
}}"""
_REPEAT_WAY = """by.{columns}:
  %start.{columns} = phi i64 [ 0, %choose ], [ %next.{columns}, %whole.{columns} ]
  %next.{columns} = add i64 %start.{columns}, {lanes}
  %whole.too.{columns} = icmp sle i64 %next.{columns}, %rows
  br i1 %whole.too.{columns}, label %whole.{columns}, label %others
whole.{columns}:
  %from.{columns} = getelementptr [{size} x i8], ptr %from, i64 %start.{columns}
  %ones.{columns} = load {vector}, ptr %from.{columns}, align {unit}
  %begin.{columns} = mul i64 %start.{columns}, {row}
  %to.{columns} = getelementptr i8, ptr %to, i64 %begin.{columns}
{moves}
  br label %by.{columns}"""
_SHUFFLED = (2, 3, 4)  # elements of rows that vectors are turned into by instructions known beforehand


def _repeat_text(size: int, width: int) -> str:
    """Each row is one element, again and again."""
    unit = min(size, 8)
    parts, ways = size // unit, []
    lanes, vector = width // size, f"<{width // unit} x i{8 * unit}>"
    for columns in _SHUFFLED:
        moves = []
        for k in range(columns):
            picks = [(k * lanes + j) // columns * parts + part for j in range(lanes) for part in range(parts)]
            moves += _stored(f"{columns}.{k}", f"%ones.{columns}", f"%to.{columns}", vector, picks, k * width, unit)
        ways.append(
            _REPEAT_WAY.format(
                columns=columns, lanes=lanes, size=size, vector=vector, unit=unit, row=columns * size,
                moves="\n".join(moves),
            )
        )  # fmt: skip
    choices = " ".join(f"i64 {columns * size}, label %by.{columns}" for columns in _SHUFFLED)
    done = ", ".join(f"[ %start.{columns}, %by.{columns} ]" for columns in _SHUFFLED)
    name = symbol("repeat", size)
    return _REPEAT.format(name=name, size=size, choices=choices, ways="\n".join(ways), done=done)


def _stored(name: str, of: str, to: str, vector: str, picks: list[int], at: int, align: int) -> list[str]:
    """Lanes of a vector in another order, stored so many bytes from an address."""
    spelled = ", ".join(f"i32 {pick}" for pick in picks)
    return [
        f"  %v.{name} = shufflevector {vector} {of}, {vector} poison, <{len(picks)} x i32> <{spelled}>",
        f"  %p.{name} = getelementptr i8, ptr {to}, i64 {at}",
        f"  store {vector} %v.{name}, ptr %p.{name}, align {align}",
    ]


def _repeat_one_text(size: int, width: int) -> str:
    """The same one after the other."""
    unit = min(size, 8)
    lanes, kind, parts = width // unit, f"i{8 * unit}", size // unit
    vector, one = f"<{lanes} x {kind}>", f"<{parts} x {kind}>"
    picks = ", ".join(f"i32 {k % parts}" for k in range(lanes))
    of_row = f"  %one = load {one}, ptr %from.line, align {unit}\n"
    of_row += f"  %value = shufflevector {one} %one, {one} poison, <{lanes} x i32> <{picks}>"
    return _ROWS.format(name="repeat.one", of_row=of_row, of_vector="", vector=vector, align=unit, bytes=width)


def _copy_text(size: int, width: int) -> str:
    """Each row is a row that lies elsewhere."""
    unit = min(size, 8)
    vector = f"<{width // unit} x i{8 * unit}>"
    of_vector = "  %from.at = getelementptr i8, ptr %from.line, i64 %at\n"
    of_vector += f"  %value = load {vector}, ptr %from.at, align {unit}"
    vectors = _ROWS.format(name="copy.some", of_row="", of_vector=of_vector, vector=vector, align=unit, bytes=width)
    names = {"copy": symbol("copy", size), "spread": symbol("spread", size)}
    copy = _COPY.format(**names, size=size, width=width, less=width - 1)
    return f"{vectors}\n{copy}"


def rows_text(size: int, width: int) -> str:
    """The functions for elements of a size, of vectors of `width` bytes."""
    narrow = min(32, width, 16 * size)  # rows are short, and vectors across lines of memory cost double
    repeats = [_repeat_one_text(size, narrow), _repeat_text(size, width)]
    return "\n".join([_spread_text(size), _copy_text(size, narrow), *repeats])
