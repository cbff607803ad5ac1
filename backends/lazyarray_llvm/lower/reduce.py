"""Owns kernels whose last axis is a reduction axis: a row is one unit of work, its values stay in cache.

A kernel runs whole, row by row, or split into phases when it has too few rows to occupy the workers (see `split`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from lazyarray.schedule.kernel import Kernel, Reduction, Stage
from lazyarray_llvm import elementwise
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import AnyValue, Value, is_complex, itemsize
from lazyarray_llvm.lower.ahead import ahead, prefetch
from lazyarray_llvm.lower.body import Body
from lazyarray_llvm.lower.elements import store_scalar, store_when
from lazyarray_llvm.lower.facts import Levels, carries, cost, group_reductions, vector_registers, widest
from lazyarray_llvm.lower.frame import Frame, Register
from lazyarray_llvm.lower.memory import fixed_step, store_or_stream
from lazyarray_llvm.lower.nest import Cell, Span, for_each_row, reduced_loops
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.lower.rowpass import Pass
from lazyarray_llvm.lower.scratch import Planes
from lazyarray_llvm.lower.streaming import streamed
from lazyarray_llvm.lower.tree import Cells
from lazyarray_llvm.lower.values import value_codes

_SHORT_BODY = 14
_SINGLE_BODY = 40
_AT_WORK = 4  # registers of a step's own: an element, masks


def row_span(frame: Frame, stage: Stage, levels: Levels, walk: Sequence[Reduction], codes: dict[int, str]) -> Span:
    """Lanes and loops for one walk of a full stage."""
    kernel, width = frame.kernel, frame.host.vector_bytes
    operands = [ops.operand_code(r, codes[r.value]) for r in walk]
    kinds = [ops.kind_of(r, code) for r, code in zip(walk, operands, strict=True)]
    narrow = stage
    if "tree" not in kinds:
        # Places are counted in lanes as wide as the values.
        found = (r._replace(code=codes[r.value]) if r.op in ("argmin", "argmax") else r for r in stage.reductions)
        narrow = stage._replace(reductions=tuple(found))
    lanes = max(1, min(64, width // widest(kernel, [narrow], levels)))
    work = cost([stage], levels)
    units = [ops.unit_elements(codes[r.value]) for r, kind in zip(walk, kinds, strict=True) if kind == "tree"]
    numbers = {i.attr for i in stage.body if i.op in ("load", "gather")} | {s.access for s in stage.stores}
    steps = [fixed_step(kernel.accesses[n]) for n in numbers if isinstance(n, int)]
    least = lanes = max([lanes, *units])
    # More vectors at once shorten chains of dependent steps; those of the order of a sum stay as they are.
    chains = not units or "free" in kinds or "arg" in kinds
    if chains and stage.scan is None and "ordered" not in kinds and work < _SHORT_BODY and None not in steps:
        # Rows that carry on where the last one ended may be short, and are joined by no fold.
        most = min(64, (2 if stage.stores or carries(kernel) else 4) * lanes)
        free = vector_registers(width) - _AT_WORK
        while 2 * lanes <= most and registers_carried(walk, operands, kinds, 2 * lanes, width) <= free:
            lanes *= 2
    single = width == 64 and work >= _SINGLE_BODY and all(step in (0, 1) for step in steps)
    strict = any(step is not None and step > 1 for step in steps)
    least = min(lanes, max([least, *(_least_lanes(r, codes, "tree" in kinds, width) for r in walk)]))
    return Span(lanes, lanes, single=single, strict=strict, narrow=lanes if single else least)


def _least_lanes(reduction: Reduction, codes: dict[int, str], beside_tree: bool, width: int) -> int:
    """The fewest lanes that a reduction takes at once, whatever it carries.

    The best of a step is found in one vector; places of narrow elements are counted in steps of one width, and those
    beside sums carried in all lanes.
    """
    code = codes[reduction.value]
    if reduction.op not in ("argmin", "argmax") or code == "b1":
        return 1
    return 64 if beside_tree or itemsize(code) < 4 else width // itemsize(code)


def registers_carried(
    walk: Sequence[Reduction], operands: Sequence[str], kinds: Sequence[ops.Kind], lanes: int, width: int
) -> int:
    """Vector registers (of `width` bytes) that the reductions of a walk fill from one step of `lanes` to the next."""
    found = 0
    for r, code, kind in zip(walk, operands, kinds, strict=True):
        if kind == "tree":
            carried = ops.unit_elements(code) * itemsize(ops.sum_code(code))
        elif kind == "arg" and code == "b1":
            carried = 0
        elif kind == "arg":
            carried = lanes * (itemsize(code) + 8) if "tree" in kinds else 3 * width
        else:
            carried = 0 if r.op == "count" else lanes * itemsize(code)
        found += -(-carried // width)
    return found


class Rows:
    """One function over rows of a kernel whose last axis is reduced."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.kernel: Kernel = frame.kernel
        self.levels = Levels(self.kernel)
        self.codes = value_codes(self.kernel)
        self.body = Body(frame, self.levels)
        self.planes = Planes(frame)
        self.last = len(self.kernel.roles) - 1
        self.parallel = [axis for axis, role in enumerate(self.kernel.roles) if role == "p"]
        self.outer = [axis for axis, role in enumerate(self.kernel.roles) if role == "r"][:-1]
        self.used = range(len(self.kernel.accesses))
        self.past: Sequence[int] = streamed(self.kernel)
        full = [stage for stage in self.kernel.stages if stage.level != "row"]
        # While a row is walked for the second time, from the caches, memory would have nothing to do.
        self.fetching: Stage | None = full[1] if len(full) > 1 and self.parallel and not self.outer else None
        self.fetched = self._next_row(full[0]) if self.fetching is not None else []
        if len(full) == 1:  # later stages find the row in a cache
            self.body.ahead = cache(lambda number: ahead(frame, number))
        self.flat: Value | None = None
        self.exact = False
        self._current: Stage | None = None
        self.body.recall = self._recall

    def _next_row(self, stage: Stage) -> list[int]:
        """The accesses through which a stage reads a row of memory that lies elsewhere for the next row."""
        numbers = {i.attr for i in stage.body if i.op == "load" and isinstance(i.attr, int)}
        fast = self.parallel[-1]
        steps = {n: self.kernel.accesses[n].steps for n in numbers}
        return sorted(n for n in numbers if steps[n][-1] == "1" and steps[n][fast] != "0")

    def _fetch(self, point: Point) -> None:
        for number in self.fetched:
            stride = self.frame.argument(f"stride{number}.{self.parallel[-1]}")
            prefetch(self.frame, number, self.frame.offset(self.body.rows[number], stride, hint="following"), point)

    def begin(self) -> None:
        """Values that are the same for the whole call."""
        self.body.rows = [self.frame.address(f"pointer{n}") for n in self.used]
        for stage in self.kernel.stages:
            self.body.compute([*stage.body, *stage.after], 0)

    def whole(self, name: str) -> str:
        """The function that runs all stages row by row."""
        self.begin()
        with self.frame.scope():
            self.body.settle()
            for_each_row(self.body, self.parallel, None, self._row, self.used)
        return self.frame.function(name)

    def _row(self, cell: Cell) -> None:
        for stage in self.kernel.stages:
            if stage.level == "row":
                self.row_stage(stage)
            else:
                self.full_stage(stage)

    def row_stage(self, stage: Stage) -> None:
        """One-lane code, once per row."""
        self.body.compute([*stage.body, *stage.after], 1)
        for target in stage.stores:
            value = self.body.value(target.value, {}, 1)
            at = self.body.rows[target.access]
            if target.mask is None:
                store_scalar(self.frame, value, at)
            else:
                mask = self.body.value(target.mask, {}, 1)
                assert isinstance(mask, Value)
                store_when(self.frame, mask, value, at)

    def full_stage(self, stage: Stage) -> None:
        """All walks of a stage; its reductions become one-lane registers."""
        self._current = stage
        self.body.compute([*stage.body, *stage.after], 1)
        for number, walk in enumerate(group_reductions(stage, self.codes)):
            pass_ = self.make_pass(stage, walk, effects=number == 0)
            values = self._run(pass_)
            for reduction in walk:
                self.body.registers[reduction.target] = values[reduction.target]

    def make_pass(self, stage: Stage, walk: Sequence[Reduction], *, effects: bool) -> Pass:
        span = row_span(self.frame, stage, self.levels, walk, self.codes)
        made = Pass(
            self.body,
            stage,
            walk,
            self.codes,
            span,
            (lambda p, e: self._effects(stage, p, e)) if effects else None,
        )
        made.stretches = self._stretch
        if effects and stage is self.fetching:
            made.ahead = self._fetch
        return made

    # -- effects --------------------------------------------------------------------------------------------
    def element(self, index: Value) -> Value:
        """The number of an element of the last axis among all reduced elements of the row."""
        return index if self.flat is None else self.frame.b.add(index, self.flat)

    def _effects(self, stage: Stage, point: Point, env: dict[int, AnyValue]) -> None:
        for target in stage.stores:
            mask = None if target.mask is None else self.body.value(target.mask, env, point.lanes)
            assert mask is None or isinstance(mask, Value)
            value = self.body.value(target.value, env, point.lanes)
            store_or_stream(self.frame, self.past, target.access, self.body.rows[target.access], point, value, mask)
        for kept in stage.kept:
            value = self.body.value(kept, env, point.lanes)
            inside = point if self.exact else None
            self.planes.write(("kept", kept), self.element(point.index), ops.parts(value), inside)

    def _recall(self, value: int, point: Point) -> AnyValue:
        return self.planes.recall(("kept", value), self.codes[value], self.element(point.index), point)

    def _stretch(self, reduction: Reduction, point: Point, mask: Value, value: AnyValue) -> None:
        self.planes.write(("stretch", reduction.target), point.index, [*ops.parts(value), mask])

    # -- reductions of a row --------------------------------------------------------------------------------
    def _run(self, pass_: Pass) -> dict[int, AnyValue]:
        """Runs a walk over all reduced elements of the current row."""
        frame = self.frame
        zero, length = frame.number(0), frame.argument(f"extent{self.last}")
        simple = not pass_.trees and not pass_.masked and not self.outer
        initial = pass_.initial()
        if simple:
            with frame.scope():
                self.body.settle()
                carried = pass_.walk(zero, length, initial)
            return self._finished(pass_, carried, [])
        cells = Cells(frame, pass_.shape())
        cells.store(initial)
        sums = [*pass_.trees, *pass_.masked]
        totals = [self._begin_total(r) for r in sums]
        boxes = Cells(frame, [(p.code, 1) for total in totals for p in ops.parts(total)])
        direct = not self.outer and not pass_.masked and not any(r.op == "buffered_sum" for r in pass_.trees)
        if direct:
            with frame.scope():
                self.body.settle()
                runs = pass_.walk_tree(zero, length, cells)
            totals = [self._add_run(r, t, s) for r, t, s in zip(sums, totals, runs, strict=True)]
        else:
            boxes.store([p for total in totals for p in ops.parts(total)])
            self.for_each_reduced(lambda: self._one_row(pass_, cells, boxes, totals, sums))
            totals = self._unbox(boxes, totals)
        return self._finished(pass_, cells.load(), totals)

    def _unbox(self, boxes: Cells, like: Sequence[AnyValue]) -> list[AnyValue]:
        loaded = [v for v in boxes.load() if isinstance(v, Value)]
        totals, at = [], 0
        for value in like:
            width = len(ops.parts(value))
            totals.append(ops.whole(loaded[at : at + width]))
            at += width
        return totals

    def _one_row(
        self, pass_: Pass, cells: Cells, boxes: Cells, like: Sequence[AnyValue], sums: Sequence[Reduction]
    ) -> None:
        """One point of the outer reduction axes: a walk of the last axis, its sums added to the totals."""
        frame, b = self.frame, self.frame.b
        zero, length = frame.number(0), frame.argument(f"extent{self.last}")
        pass_.flat = self.flat

        def run(start: Value, count: Value) -> None:
            runs = pass_.walk_tree(start, count, cells)
            totals = self._unbox(boxes, like)
            after = [self._add_run(r, t, s) for r, t, s in zip(pass_.trees, totals, runs, strict=False)]
            boxes.store([p for t in [*after, *totals[len(after) :]] for p in ops.parts(t)])

        if not pass_.trees:
            cells.store(self._rounded(pass_, pass_.walk(zero, length, cells.load())))
        elif any(r.op == "buffered_sum" for r in pass_.trees):
            size = ops.BUFFER_ELEMENTS

            def buffer(start: Value, _: list[Register]) -> list[Register]:
                run(start, frame.minimum(b.sub(length, start), frame.number(size)))
                return []

            frame.loop(zero, length, size, [], buffer, "buffer")
        else:
            run(zero, length)
        if pass_.masked:
            totals = self._unbox(boxes, like)
            done = len(pass_.trees)
            after = [
                *totals[:done],
                *(self._stretches(r, t) for r, t in zip(pass_.masked, totals[done:], strict=True)),
            ]
            boxes.store([p for t in after for p in ops.parts(t)])

    def _rounded(self, pass_: Pass, carried: Sequence[Register]) -> list[Register]:
        """Products of half floats run in float32 and are rounded once per row."""
        b, after, at = self.frame.b, list(carried), 0
        for r in pass_.running:
            if isinstance(r.reduction, Reduction) and r.reduction.code == "f2" and r.code == "f4":
                register = after[at]
                assert isinstance(register, Value)
                half = self.frame.watch.cast(r.reduction.target, register, "f2")
                wide = elementwise.cast(b, half, "f4")
                assert isinstance(wide, Value)
                after[at] = wide
            at += len(r.shape(pass_.lanes))
        return after

    def _begin_total(self, reduction: Reduction) -> AnyValue:
        if reduction.start is not None:
            return self.body.value(reduction.start, {}, 1)
        return ops.start(self.frame.b, reduction.op, reduction.code)

    def _add_run(self, reduction: Reduction, total: AnyValue, run: AnyValue) -> AnyValue:
        b = self.frame.b
        if reduction.code != "f2":
            after = ops.combine(b, "sum", total, run)
        else:
            wide = elementwise.cast(b, total, "f4")
            after = elementwise.cast(b, ops.combine(b, "sum", wide, run), "f2")
        self.frame.watch.combined(reduction.target, total, run, after)
        return after

    def _stretches(self, reduction: Reduction, total: AnyValue) -> AnyValue:
        frame, b = self.frame, self.frame.b
        zero, length = frame.number(0), frame.argument(f"extent{self.last}")
        width = 2 if is_complex(reduction.code) else 1
        mask = self.planes.at(("stretch", reduction.target), width, zero)

        def add() -> AnyValue:
            found = []
            for part, piece in enumerate(ops.parts(total)):
                name = ops.define_stretches(b.module, piece.code, ops.unit_elements(reduction.code))
                values = self.planes.at(("stretch", reduction.target), part, zero)
                text = f"call {piece.type} @{name}({piece}, ptr {values.ref}, ptr {mask.ref}, {length})"
                found.append(b.emit(text, piece.code, 1, "stretches"))
            return ops.whole(found)

        return frame.watch.by_status(reduction.target, add)

    def _finished(self, pass_: Pass, carried: Sequence[Register], totals: Sequence[AnyValue]) -> dict[int, AnyValue]:
        """One-lane results per reduction target."""
        values: dict[int, AnyValue] = {}
        for r, total in zip([*pass_.trees, *pass_.masked], totals, strict=False):
            values[r.target] = total
        results = pass_.results(carried)
        for running in pass_.running:
            reduction = running.reduction
            if isinstance(reduction, Reduction):
                values[reduction.target] = self.finish(reduction, running.kind, results[reduction.target])
        return values

    def finish(self, reduction: Reduction, kind: ops.Kind, registers: list[Value]) -> AnyValue:
        """The final value of a reduction: initial value, rounding, dtype."""
        b = self.frame.b
        if reduction.op in ("argmin", "argmax"):
            return registers[-1]
        value = ops.whole(registers)
        if kind == "free" and reduction.start is not None:
            value = ops.combine(b, reduction.op, self.body.value(reduction.start, {}, 1), value)
        return self.frame.watch.cast(reduction.target, value, reduction.code)

    def for_each_reduced(self, emit: Callable[[], None]) -> None:
        """Loops over the outer reduction axes around `emit`."""
        rows, indices = self.body.rows, self.body.indices
        length = self.frame.argument(f"extent{self.last}")

        def inside(position: Value | None, _: list[Register]) -> list[Register]:
            self.flat = None if position is None else self.frame.b.mul(position, length)
            assert self._current is not None
            self.body.compute([*self._current.body, *self._current.after], 2)
            with self.frame.scope():
                self.body.settle()
                emit()
            return []

        reduced_loops(self.body, self.outer, [], inside)
        self.body.rows, self.body.indices, self.flat = rows, indices, None
