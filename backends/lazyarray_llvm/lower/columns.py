"""Owns kernels that reduce outer axes and keep the last one: blocks of columns, accumulators in strips of scratch.

Every column is reduced in logical order of the reduction axes, which is NumPy's order when the last axis is kept.
Where a block fits one vector, the accumulators stay in registers instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from lazyarray.schedule.kernel import Kernel, Reduction, Scan, Stage
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import AnyValue, Complex, Value
from lazyarray_llvm.lower.ahead import rows_ahead
from lazyarray_llvm.lower.body import Body, not_ahead
from lazyarray_llvm.lower.facts import Levels, cost, widest
from lazyarray_llvm.lower.frame import Frame, Register
from lazyarray_llvm.lower.layout import Key, layout
from lazyarray_llvm.lower.memory import fixed_step, store_or_stream
from lazyarray_llvm.lower.nest import Cell, Span, for_each_row, reduced_loops, row_pointer
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.lower.scratch import Planes
from lazyarray_llvm.lower.streaming import streamed
from lazyarray_llvm.lower.values import used_values, value_codes

_NARROW_BODY = 60  # up to so many instructions the loop for a block of one vector is worth its code

_UNROLL = 4  # rows that one walk of a block takes at once where rows are cheap
_UNROLLED_BODY = 6
_ROWS_AFTER = 4 * _UNROLL  # how many rows ahead the lines of a block are asked for


def column_span(frame: Frame, stage: Stage, levels: Levels) -> Span:
    """Lanes and loops for one pass over a block of columns."""
    kernel, width = frame.kernel, frame.host.vector_bytes
    lanes = max(1, min(64, width // widest(kernel, [stage], levels)))
    numbers = {i.attr for i in (*stage.body, *stage.after) if i.op in ("load", "gather")} | {
        s.access for s in stage.stores
    }
    steps = [fixed_step(kernel.accesses[n]) for n in numbers if isinstance(n, int)]
    work = cost([stage], levels)
    single = width == 64 and work >= 40 and all(step in (0, 1) for step in steps)
    wide = lanes if single or work >= 14 or None in steps else 2 * lanes
    return Span(lanes, wide, single=single, strict=any(step is not None and step > 1 for step in steps))


class Columns:
    """The function of a kernel of the form p.. r.. p."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.kernel: Kernel = frame.kernel
        self.levels = Levels(self.kernel)
        self.codes = value_codes(self.kernel)
        self.body = Body(frame, self.levels)
        self.planes = Planes(frame)
        self.strips = layout(self.kernel).strips
        self.past = streamed(self.kernel)
        self.last = len(self.kernel.roles) - 1
        self.parallel = [a for a, role in enumerate(self.kernel.roles[:-1]) if role == "p"]
        self.reduced = [a for a, role in enumerate(self.kernel.roles) if role == "r"]
        self.totals: dict[int, Reduction | Scan] = {}
        self.cell: Cell | None = None
        self.flat: Value | None = None  # flattened index of the reduction axes
        self.body.recall = self._recall

    def whole(self, name: str) -> str:
        """The function that runs all stages, block by block."""
        used = range(len(self.kernel.accesses))
        self.body.rows = [self.frame.address(f"pointer{n}") for n in used]
        for stage in self.kernel.stages:
            self.body.compute([*stage.body, *stage.after], 0)
        with self.frame.scope():
            self.body.settle()
            for_each_row(self.body, self.parallel, self.last, self._row, used)
        return self.frame.function(name)

    def _row(self, cell: Cell) -> None:
        self.cell = cell
        for stage in self.kernel.stages:
            self.body.compute([*stage.body, *stage.after], 1)
            if stage.level == "row":
                self._row_stage(stage)
            else:
                self._full_stage(stage)

    # -- values that cross stages ---------------------------------------------------------------------------
    def _column(self, point: Point) -> Value:
        assert self.cell is not None
        return self.frame.b.sub(point.index, self.cell.start)

    def _element(self, point: Point) -> Value:
        """The number of a kept element: reduction index times block length plus column."""
        assert self.flat is not None
        b = self.frame.b
        return b.add(b.mul(self.flat, self.frame.argument("block")), self._column(point))

    def _recall(self, value: int, point: Point) -> AnyValue:
        return self.planes.recall(("kept", value), self.codes[value], self._element(point), point)

    def _known(self, stage: Stage, point: Point) -> dict[int, AnyValue]:
        """Results of reductions and of row stages that a stage uses, read from strips."""
        defined = {i.target for i in (*stage.body, *stage.after)} | {r.target for r in stage.reductions}
        if stage.scan is not None:
            defined.add(stage.scan.target)
        known: dict[int, AnyValue] = {}
        for value in sorted(used_values(stage) - defined):
            key: Key = ("row", value)
            if key in self.strips and self.levels.of(value) == 3:
                known[value] = self.planes.recall(key, self.codes[value], self._column(point), point)
            elif value in self.totals:
                pieces = self._read_total(value, point)
                known[value] = pieces[-1] if self.totals[value].op in ("argmin", "argmax") else ops.whole(pieces)
        return known

    def _running_code(self, target: int) -> str:
        reduction = self.totals[target]
        if isinstance(reduction, Scan):
            return reduction.code
        return ops.operand_code(reduction, self.codes[reduction.value])

    def _read_total(self, target: int, point: Point) -> list[Value]:
        return self.planes.read(("total", target), self._running_code(target), self._column(point), point)

    # -- stages ---------------------------------------------------------------------------------------------
    def _row_stage(self, stage: Stage) -> None:
        span = column_span(self.frame, stage, self.levels)
        instructions = [*stage.body, *stage.after]

        def vector(point: Point, _: list[Register]) -> list[Register]:
            env = self.body.vectors(instructions, point, lambda at: self._known(stage, at))
            for i in instructions:
                if ("row", i.target) in self.strips and self.levels.of(i.target) == 3:
                    self.planes.write(("row", i.target), self._column(point), ops.parts(env[i.target]))
            self._stores(stage, point, env)
            return []

        self._walk(span, vector)

    def _walk(self, span: Span, vector: Callable[[Point, list[Register]], Sequence[Register]]) -> None:
        assert self.cell is not None
        with self.frame.scope():
            self.body.settle()
            span.walk(self.frame, self.cell.start, self.cell.stop, [], vector)

    def _stores(self, stage: Stage, point: Point, env: dict[int, AnyValue]) -> None:
        for target in stage.stores:
            mask = None if target.mask is None else self.body.value(target.mask, env, point.lanes)
            assert mask is None or isinstance(mask, Value)
            value = self.body.value(target.value, env, point.lanes)
            store_or_stream(self.frame, self.past, target.access, self.body.rows[target.access], point, value, mask)

    def _full_stage(self, stage: Stage) -> None:
        frame, b = self.frame, self.frame.b
        running: list[Reduction | Scan] = [
            *stage.reductions,
            *([stage.scan] if stage.scan is not None else []),
        ]
        self.totals.update((r.target, r) for r in running)
        span = column_span(frame, stage, self.levels)
        rows, indices = self.body.rows, self.body.indices
        assert self.cell is not None
        if cost([stage], self.levels) > _NARROW_BODY:
            self._wide(stage, running, span)
        else:
            count = b.sub(self.cell.stop, self.cell.start)
            fits = b.compare("sle", count, frame.number(span.lanes))
            narrow, wide, done = b.fresh("narrow"), b.fresh("wide"), b.fresh("reduced")
            b.branch(fits, narrow, wide)
            b.start(narrow)
            registers = dict(self.body.registers)
            self._narrow(stage, running, span)
            b.jump(done)
            b.start(wide)
            self.body.registers, self.body.rows, self.body.indices = registers, rows, indices
            self._wide(stage, running, span)
            b.jump(done)
            b.start(done)
        self.body.rows, self.body.indices, self.flat = rows, indices, None

    def _initial(self, reduction: Reduction | Scan, lanes: int) -> list[Value]:
        b, code = self.frame.b, self._running_code(reduction.target)
        if isinstance(reduction, Scan):
            return ops.parts(ops.identity(b, reduction.op, code, lanes))
        if reduction.start is not None:
            return ops.parts(self.body.value(reduction.start, {}, lanes))
        first = ops.start(b, reduction.op, code)
        pieces = [b.splat(piece, lanes) for piece in ops.parts(first)]
        if reduction.op in ("argmin", "argmax"):
            pieces.append(b.const("i8", 0, lanes))
        return pieces

    def _narrow(self, stage: Stage, running: Sequence[Reduction | Scan], span: Span) -> None:
        """A block of one vector: accumulators are registers."""
        frame, b = self.frame, self.frame.b
        assert self.cell is not None
        active = b.sub(self.cell.stop, self.cell.start)
        self.body.ahead = cache(lambda number: rows_ahead(frame, number, self.reduced[-1]))
        with frame.scope():
            self.body.settle()
            point = Point(frame, self.cell.start, span.lanes, active)
            if span.lanes > 1:
                point.mask("i8")
            initial: list[Register] = [v for r in running for v in self._initial(r, span.lanes)]

            def inside(position: Value | None, carried: list[Register]) -> list[Register]:
                self.flat = position
                self.body.compute([*stage.body, *stage.after], 2)
                pieces, at = {}, 0
                for r in running:
                    width = len(self.strips["total", r.target])
                    pieces[r.target] = [v for v in carried[at : at + width] if isinstance(v, Value)]
                    at += width
                with frame.scope():
                    self.body.settle()
                    after = self._step(stage, running, point, pieces)
                return [v for r in running for v in after[r.target]]

            final = reduced_loops(self.body, self.reduced, initial, inside)
            at = 0
            for r in running:
                width = len(self.strips["total", r.target])
                found = [v for v in final[at : at + width] if isinstance(v, Value)]
                self.planes.write(("total", r.target), self._column(point), found)
                at += width
        self.body.ahead = not_ahead

    def _wide(self, stage: Stage, running: Sequence[Reduction | Scan], span: Span) -> None:
        """A block of any length: accumulators are strips."""

        def begin(point: Point, _: list[Register]) -> list[Register]:
            for r in running:
                self.planes.write(("total", r.target), self._column(point), self._initial(r, point.lanes))
            return []

        def vector(point: Point, _: list[Register]) -> list[Register]:
            before = {r.target: self._read_total(r.target, point) for r in running}
            after = self._step(stage, running, point, before)
            for r in running:
                self.planes.write(("total", r.target), self._column(point), after[r.target])
            return []

        def inside(position: Value | None, _: list[Register]) -> list[Register]:
            self.flat = position
            self.body.compute([*stage.body, *stage.after], 2)
            self._walk(span, vector)
            return []

        if running:
            self._walk(Span(span.lanes, span.lanes, single=False, strict=False), begin)
        if self._unrolls(stage, running):
            self._several_rows(stage, running, span, inside)
        else:
            reduced_loops(self.body, self.reduced, [], inside)

    def _unrolls(self, stage: Stage, running: Sequence[Reduction | Scan]) -> bool:
        """Whether rows are so cheap that a vector of accumulators should take several at once."""
        if not running or stage.scan is not None or stage.stores or stage.kept:
            return False
        lanes_only = all(self.levels.of(i.target) in (0, 1, 3) for i in (*stage.body, *stage.after))
        return lanes_only and cost([stage], self.levels) <= _UNROLLED_BODY

    def _several_rows(
        self,
        stage: Stage,
        running: Sequence[Reduction | Scan],
        span: Span,
        one_row: Callable[[Value | None, list[Register]], list[Register]],
    ) -> None:
        """The innermost reduction axis by `_UNROLL` rows per walk of the block, and its rest row by row."""
        frame, b, axis = self.frame, self.frame.b, self.reduced[-1]
        size = frame.argument(f"extent{axis}")

        def outer(position: Value | None, _: list[Register]) -> list[Register]:
            rows, indices = self.body.rows, dict(self.body.indices)
            first = frame.number(0) if position is None else b.mul(position, size)

            def place(i: Value) -> None:
                self.body.rows = [row_pointer(frame, n, {axis: i}, row) for n, row in enumerate(rows)]
                self.body.indices = {**indices, axis: i}
                self.flat = i if position is None else b.add(first, i)

            def several(i: Value, _: list[Register]) -> list[Register]:
                places = []
                for k in range(_UNROLL):
                    place(b.add(i, frame.number(k)) if k else i)
                    places.append((self.body.rows, self.body.indices, self.flat))

                self.body.ahead = cache(lambda number: self._rows_after(number, running))

                def vector(point: Point, _: list[Register]) -> list[Register]:
                    totals = {r.target: self._read_total(r.target, point) for r in running}
                    for self.body.rows, self.body.indices, self.flat in places:
                        totals = self._step(stage, running, point, totals)
                    for r in running:
                        self.planes.write(("total", r.target), self._column(point), totals[r.target])
                    return []

                self._walk(span, vector)
                self.body.ahead = not_ahead
                return []

            def rest(i: Value, _: list[Register]) -> list[Register]:
                place(i)
                return one_row(self.flat, [])

            limit = b.sub(size, frame.number(_UNROLL - 1))
            reached = frame.loop(frame.number(0), limit, _UNROLL, [], several, "rows")[0]
            assert isinstance(reached, Value)
            frame.loop(reached, size, 1, [], rest, f"i{axis}")
            self.body.rows, self.body.indices = rows, indices
            return []

        reduced_loops(self.body, self.reduced[:-1], [], outer)

    def _rows_after(self, number: int, running: Sequence[Reduction | Scan]) -> Value | None:
        """The distance to the rows after the next ones, for reductions that carry several registers.

        An argmax of float32 took half the time so; sums of one register took as long as without.
        """
        frame, axis, access = self.frame, self.reduced[-1], self.kernel.accesses[number]
        several = any(len(self.strips["total", r.target]) > 1 for r in running)
        if not several or fixed_step(access) != 1 or access.steps[axis] == "0":
            return None
        with frame.hoisted(frame.entry):
            return frame.b.mul(frame.argument(f"stride{number}.{axis}"), frame.number(_ROWS_AFTER))

    def _step(
        self, stage: Stage, running: Sequence[Reduction | Scan], point: Point, before: dict[int, list[Value]]
    ) -> dict[int, list[Value]]:
        """The body at a point, the accumulators after it, then what follows from a scan, and stores."""
        env = self.body.vectors(stage.body, point, lambda at: self._known(stage, at))
        after: dict[int, list[Value]] = {}
        for r in running:
            if isinstance(r, Scan):
                after[r.target] = self._scan(r, env, point, before[r.target])
                env[r.target] = ops.whole(after[r.target])
            else:
                after[r.target] = self._reduce(r, env, point, before[r.target])
        env = self.body.vectors(stage.after, point, env)
        self._stores(stage, point, env)
        for kept in stage.kept:
            self.planes.write(("kept", kept), self._element(point), ops.parts(self.body.value(kept, env, point.lanes)))
        return after

    def _scan(self, scan: Scan, env: dict[int, AnyValue], point: Point, before: list[Value]) -> list[Value]:
        b = self.frame.b
        value = self.body.value(scan.value, env, point.lanes)
        inside, first = self._inside(point), None
        if isinstance(value, Complex) and scan.op == "prod":
            # The first element is copied: 1 * x is not x when a part is infinite.
            assert self.flat is not None
            first = b.compare("eq", self.flat, self.frame.number(0))
            later = b.splat(b.not_(first), point.lanes)
            inside = later if inside is None else b.and_(inside, later)
        with self.frame.watch.observing(scan.target, inside):
            after = ops.combine(b, scan.op, ops.whole(before), value)
        return ops.parts(after if first is None else ops.choose(b, first, value, after))

    @staticmethod
    def _inside(point: Point) -> Value | None:
        return None if point.whole or point.lanes == 1 else point.mask()

    def _reduce(self, r: Reduction, env: dict[int, AnyValue], point: Point, before: list[Value]) -> list[Value]:
        b, _frame = self.frame.b, self.frame
        value = self.body.value(r.value, env, point.lanes)
        code = ops.operand_code(r, self.codes[r.value])
        if value.code != code:
            value = self.frame.watch.cast(r.target, value, code, self._inside(point))
        where = None if r.where is None else self.body.value(r.where, env, point.lanes)
        assert where is None or isinstance(where, Value)
        if r.op in ("argmin", "argmax"):
            best = ops.whole(before[:-1])
            wins = ops.better(b, r.op, value, best)
            assert self.flat is not None
            after = [*ops.parts(value), b.splat(self.flat, point.lanes)]
            return [b.select(wins, new, old) for new, old in zip(after, before, strict=True)]
        inside = self._inside(point)
        if where is not None:
            inside = where if inside is None else b.and_(inside, where)
        with self.frame.watch.observing(r.target, inside):
            after = ops.parts(ops.combine(b, r.op, ops.whole(before), value, by_columns=True))
        if where is not None:
            after = [b.select(where, new, old) for new, old in zip(after, before, strict=True)]
        return after
