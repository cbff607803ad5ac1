"""Owns the outer loops of a kernel: tasks, rows of the outer axes, and spans of vectors along the last axis.

A task is a number of rows (points of the outer axes, flattened) times a block of the last axis; both sizes are
arguments, so that one compiled kernel serves every extent and every cut into tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lazyarray.records import NamedTuple
from lazyarray_llvm.builder import Value
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.lines import Lines
from lazyarray_llvm.lower.point import Point, Reach, reach_of
from lazyarray_llvm.lower.tiles import Tiles
from lazyarray_llvm.lower.tiling import COLUMNS, ROWS

if TYPE_CHECKING:
    from lazyarray_llvm.lower.body import Body


class Cell(NamedTuple):
    """What the row loop gives to the code of one row."""

    row: Value  # flattened outer index
    start: Value  # range of the last axis
    stop: Value


def for_each_row(
    body: Body,
    outer: Sequence[int],
    last: int | None,
    emit: Callable[[Cell], None],
    used: Sequence[int],
    *,
    segments: bool = False,
    single: bool = False,
    tiles: Tiles | None = None,
    lines: Lines | None = None,
    begin: Callable[[Value], None] | None = None,
    end: Callable[[Value], None] | None = None,
) -> None:
    """The task and row loops over the axes `outer`; `used`: accesses whose rows move.

    `last` is cut into blocks, if given; with `segments` a cell has the number of its segment as start.  A
    task is `run` rows, or one row with `single`.  `begin` runs first in every task, `end` after its rows.
    `tiles`: rows are walked by tiles, through which their accesses go.  `lines`: many rows are walked as one cell.
    """
    frame = body.frame
    b = frame.b

    def task(t: Value, _: list[Register]) -> list[Register]:
        zero = frame.number(0)
        if begin is not None:
            begin(t)
        if last is None and not segments:
            group, start, stop = t, zero, zero
        else:
            blocks, block = frame.argument("blocks"), frame.argument("block")
            group = b.binary("udiv", t, blocks, "group")
            start = stop = b.sub(t, b.mul(group, blocks))
            if last is not None:
                start = b.mul(start, block)
                stop = frame.minimum(b.add(start, block), frame.argument(f"extent{last}"))
        if not outer:
            body.rows = [frame.address(f"pointer{n}") for n in range(len(frame.kernel.accesses))]
            emit(Cell(zero, start, stop))
            return []
        if single:
            first, left = group, frame.number(1)
        else:
            first = b.mul(group, frame.argument("run"))
            left = frame.minimum(frame.argument("run"), b.sub(frame.argument("rows"), first))
        _rows(body, outer, first, left, Cell(zero, start, stop), emit, used, tiles, lines)
        if end is not None:
            end(t)
        return []

    frame.loop(Value("%begin", "i8", 1), Value("%end", "i8", 1), 1, [], task, "task")


def _rows(
    body: Body,
    outer: Sequence[int],
    first: Value,
    count: Value,
    cell: Cell,
    emit: Callable[[Cell], None],
    used: Sequence[int],
    tiles: Tiles | None,
    lines: Lines | None,
) -> None:
    """Rows `first` to `first + count`: the innermost outer axis is a loop of pointer steps, the others an odometer."""
    frame = body.frame
    b = frame.b
    slow, fast = outer[:-1], outer[-1]
    extent = frame.argument(f"extent{fast}")
    counters, inner = _odometer(frame, slow, extent, first)

    def segment(done: Value, carried: list[Register]) -> list[Register]:
        start = carried[0]
        assert isinstance(start, Value)
        indices = {axis: b.emit(f"load i64, ptr {counters[axis].ref}", "i8", 1, f"i{axis}") for axis in slow}
        indices[fast] = start
        run = frame.minimum(b.sub(count, done), b.sub(extent, start))
        bases: list[Register] = [row_pointer(frame, n, indices) for n in used]
        here = cell._replace(row=b.add(first, done))
        rows = _Rows(body, fast, indices, emit, used, tiles)
        if lines is not None:
            rows.in_lines(lines, run, bases, here)
        elif tiles is not None:
            rows.by_tiles(start, run, bases, here)
        else:
            rows.one_by_one(start, run, bases, here)
        _advance(frame, slow, counters)
        return [frame.number(0), b.add(done, run)]

    if not slow:
        segment(frame.number(0), [inner])
        return
    _while_below(frame, count, inner, segment)


def _odometer(frame: Frame, slow: Sequence[int], extent: Value, row: Value) -> tuple[dict[int, Pointer], Value]:
    """Where the indices of the slow axes are counted, set to those of a row; and its index along the fast axis."""
    b = frame.b
    counters: dict[int, Pointer] = {}
    if not slow:
        return counters, row
    place = b.binary("udiv", row, extent, "outer")
    inner = b.sub(row, b.mul(place, extent))
    for axis in reversed(slow):
        counters[axis] = frame.alloca("i64", f"i{axis}.cell")
        if axis == slow[0]:
            index = place
        else:
            size = frame.argument(f"extent{axis}")
            above = b.binary("udiv", place, size, "outer")
            index = b.sub(place, b.mul(above, size))
            place = above
        b.line(f"store {index}, ptr {counters[axis].ref}")
    return counters, inner


class _Rows:
    """Rows whose indices differ in that of the fast axis alone."""

    def __init__(
        self,
        body: Body,
        fast: int,
        indices: dict[int, Value],
        emit: Callable[[Cell], None],
        used: Sequence[int],
        tiles: Tiles | None,
    ) -> None:
        self.body, self.frame, self.fast, self.indices = body, body.frame, fast, indices
        self.emit, self.used, self.tiles = emit, used, tiles

    def one_by_one(self, start: Value, count: Value, pointers: Sequence[Register], cell: Cell) -> None:
        """`count` rows from index `start` on, whose pointers are given; `cell` is that of the first."""
        body, frame, b = self.body, self.frame, self.frame.b

        def row(r: Value, moving: list[Register]) -> list[Register]:
            body.rows = [frame.address(f"pointer{n}") for n in range(len(frame.kernel.accesses))]
            for n, pointer in zip(self.used, moving, strict=True):
                assert isinstance(pointer, Pointer)
                body.rows[n] = pointer
            body.indices = {**self.indices, self.fast: b.add(start, r)}
            self.emit(cell._replace(row=b.add(cell.row, r)))
            return [self._moved(n, p, None) for n, p in zip(self.used, moving, strict=True)]

        frame.loop(frame.number(0), count, 1, pointers, row, "row")

    def by_tiles(self, start: Value, count: Value, pointers: Sequence[Register], cell: Cell) -> None:
        """The same, a tile's columns of a tile's rows after the other."""
        frame, b, tiles = self.frame, self.frame.b, self.tiles
        assert tiles is not None

        def some_rows(past: Value, here: list[Register]) -> list[Register]:
            number = frame.minimum(b.sub(count, past), frame.number(ROWS))

            def tile(left: Value, _: list[Register]) -> list[Register]:
                right = frame.minimum(b.add(left, frame.number(COLUMNS)), cell.stop)
                if tiles.copied is not None:
                    tiles.copy(here, number, left, right)
                    return []
                through = [
                    tiles.fill(n, p, number, left, right) if n in tiles.memory and isinstance(p, Pointer) else p
                    for n, p in zip(self.used, here, strict=True)
                ]
                self.one_by_one(b.add(start, past), number, through, Cell(b.add(cell.row, past), left, right))
                return []

            frame.loop(cell.start, cell.stop, COLUMNS, [], tile, "tile")
            return [self._moved(n, p, number) for n, p in zip(self.used, here, strict=True)]

        frame.loop(frame.number(0), count, ROWS, pointers, some_rows, "rows")

    def in_lines(self, lines: Lines, count: Value, pointers: Sequence[Register], cell: Cell) -> None:
        """The same, as many rows as fit into a line at once."""

        def line(rows: list[Pointer], past: Value, elements: Value) -> None:
            self.body.rows, self.body.indices = rows, self.indices
            self.emit(Cell(self.frame.b.add(cell.row, past), self.frame.number(0), elements))

        lines.walk(count, pointers, line)

    def _moved(self, number: int, row: Register, rows: Value | None) -> Register:
        """The pointer so many rows later in memory; one row, in its tile if it has one, if `rows` is None."""
        frame = self.frame
        if frame.kernel.accesses[number].steps[self.fast] == "0" or not isinstance(row, Pointer):
            return row
        if rows is None and self.tiles is not None and number in self.tiles.memory:
            return frame.offset(row, frame.number(self.tiles.row_bytes(number)), hint=f"row{number}.next")
        stride = frame.argument(f"stride{number}.{self.fast}")
        return frame.offset(row, stride if rows is None else frame.b.mul(rows, stride), hint=f"row{number}.next")


def _while_below(
    frame: Frame, count: Value, inner: Value, segment: Callable[[Value, list[Register]], list[Register]]
) -> None:
    """Segments until `count` rows are done; a segment returns the next inner index and the rows done."""
    b = frame.b
    top, end, before = b.fresh("segment"), b.fresh("segment.done"), b.block
    b.branch(b.compare("slt", frame.number(0), count), top, end)
    b.start(top)
    done, index = "%" + b.fresh("rows"), "%" + b.fresh("first")
    place = len(b.lines)
    b.lines.append("")
    following = segment(Value(done, "i8", 1), [Value(index, "i8", 1)])
    b.lines[place] = (
        f"  {done} = phi i64 [ 0, %{before} ], [ {following[1].ref}, %{b.block} ]\n"
        f"  {index} = phi i64 [ {inner.ref}, %{before} ], [ {following[0].ref}, %{b.block} ]"
    )
    assert isinstance(following[1], Value)
    b.branch(b.compare("slt", following[1], count), top, end)
    b.start(end)


def row_pointer(frame: Frame, number: int, indices: dict[int, Value], base: Pointer | None = None) -> Pointer:
    """The address of access `number` at some outer indices."""
    b = frame.b
    pointer = base if base is not None else frame.address(f"pointer{number}")
    for axis, index in indices.items():
        if frame.kernel.accesses[number].steps[axis] != "0" and index.ref != "0":
            distance = b.mul(index, frame.argument(f"stride{number}.{axis}"))
            pointer = frame.offset(pointer, distance, hint=f"row{number}")
    return pointer


def _advance(frame: Frame, axes: Sequence[int], counters: dict[int, Pointer]) -> None:
    """Adds one to the odometer."""
    b = frame.b
    carry = frame.number(1)
    for axis in reversed(axes):
        index = b.emit(f"load i64, ptr {counters[axis].ref}", "i8", 1, f"i{axis}")
        after = b.add(index, carry)
        wraps = b.compare("eq", after, frame.argument(f"extent{axis}"))
        b.line(f"store {b.select(wraps, frame.number(0), after)}, ptr {counters[axis].ref}")
        carry = b.convert("zext", wraps, "i8")


def reduced_loops(
    body: Body,
    axes: Sequence[int],
    carried: Sequence[Register],
    emit: Callable[[Value | None, list[Register]], Sequence[Register]],
) -> list[Register]:
    """Nested loops over reduction axes in logical order; `emit` gets the flattened index (None without axes)."""
    frame = body.frame
    rows, indices = list(body.rows), dict(body.indices)

    def nest(
        left: Sequence[int], position: Value | None, inner: dict[int, Value], registers: list[Register]
    ) -> list[Register]:
        if not left:
            body.indices = {**indices, **inner}
            body.rows = [row_pointer(frame, n, inner, row) for n, row in enumerate(rows)]
            return list(emit(position, registers))
        size = frame.argument(f"extent{left[0]}")

        def step(i: Value, moving: list[Register]) -> list[Register]:
            here = i if position is None else frame.b.add(frame.b.mul(position, size), i)
            return nest(left[1:], here, {**inner, left[0]: i}, moving)

        return frame.loop(frame.number(0), size, 1, registers, step, f"i{left[0]}")[1:]

    return nest(axes, None, {}, list(carried))


class Span:
    """How a range of the last axis is walked in vectors."""

    def __init__(
        self, lanes: int, wide: int, *, single: bool, strict: bool, short: bool = False, narrow: int = 0
    ) -> None:
        self.lanes = lanes
        self.narrow = narrow or lanes  # those of whole vectors after the loop, and of the rest
        self.wide = wide  # lanes of the loop over whole vectors
        # Ranges may be as short as one vector: one that fits after the loop is a whole one, so it may be streamed.
        self.short = short and not single and not strict and wide == 2 * lanes
        self.single = single  # one loop of vectors cut to the range, instead of whole ones and a rest
        self.strict = strict  # whole vectors leave at least one element to the rest

    def walk(
        self,
        frame: Frame,
        start: Value,
        stop: Value,
        carried: Sequence[Register],
        emit: Callable[[Point, list[Register]], Sequence[Register]],
    ) -> list[Register]:
        """Runs `emit` for every vector of [start, stop)."""
        b = frame.b
        reach = reach_of(frame, start, stop)
        state: list[Register] = [start, *carried]

        def whole(state: list[Register], lanes: int) -> list[Register]:
            first, *before = state
            assert isinstance(first, Value)
            limit = b.binary("sub nsw", stop, frame.number(lanes - (0 if self.strict else 1)), "limit")
            return frame.walk(
                first, limit, lanes, before, lambda j, inner: emit(Point(frame, j, lanes, None, reach), inner)
            )

        if not self.single:
            state = whole(state, self.wide)
            if self.lanes == 1 and self.wide == 1:
                return state[1:]
        if self.short:
            state = self._one_more(frame, stop, state, emit, reach)
        if self.narrow < self.lanes:
            state = whole(state, self.narrow)
        first = state[0]
        assert isinstance(first, Value)

        def rest(j: Value, inner: list[Register]) -> Sequence[Register]:
            left = b.binary("sub nsw", stop, j, "left")
            active = frame.minimum(left, frame.number(self.lanes)) if self._repeats else left
            return emit(Point(frame, j, self.narrow, active, reach, often_whole=self.single), inner)

        if self._repeats:
            return frame.loop(first, stop, self.lanes, state[1:], rest)[1:]
        return frame.when(b.compare("slt", first, stop), lambda: rest(first, state[1:]), state[1:])

    def _one_more(
        self,
        frame: Frame,
        stop: Value,
        state: list[Register],
        emit: Callable[[Point, list[Register]], Sequence[Register]],
        reach: Reach | None,
    ) -> list[Register]:
        """One more whole vector of half the width, if it fits."""
        b, first = frame.b, state[0]
        assert isinstance(first, Value)
        after = b.add(first, frame.number(self.lanes))

        def whole() -> list[Register]:
            return [after, *emit(Point(frame, first, self.lanes, None, reach), state[1:])]

        return frame.when(b.compare("sle", after, stop), whole, state)

    @property
    def _repeats(self) -> bool:
        if self.short or self.narrow < self.lanes:
            return False
        return self.single or self.wide + (1 if self.strict else 0) > self.lanes
