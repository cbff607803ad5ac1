"""Owns kernels over few long rows, split into phases: parallel parts of rows, then one step that joins them.

A row is cut where NumPy's pairwise tree cuts it, at a fixed depth, so that joining the parts in tree order gives the
bits of the whole.  Each full stage is one phase; its `finish` joins the reductions and runs the row stages after it.
Values that later phases need are kept in memory per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarray.schedule.kernel import Reduction, Stage
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import AnyValue, Value
from lazyarray_llvm.lower.ahead import along_row
from lazyarray_llvm.lower.elements import load_scalar, store_scalar
from lazyarray_llvm.lower.facts import (
    PARTIAL_BYTES,
    VALUE_BYTES,
    carries,
    crossing,
    group_reductions,
    is_buffered,
    phase_names,
    tree_class,
)
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.nest import Cell, for_each_row
from lazyarray_llvm.lower.reduce import Rows
from lazyarray_llvm.lower.rowpass import Pass
from lazyarray_llvm.lower.tree import Cells
from lazyarray_llvm.lower.values import used_values


class Phases(Rows):
    """One function of a split kernel."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame)
        self.exact = True  # what lies beyond a segment's end belongs to another worker
        self.past = ()  # segments begin anywhere
        self.fetching = None
        self.body.ahead = lambda number: along_row(frame, number)  # every stage reads its segments from memory
        self.crossing = crossing(self.kernel)
        self.carries = carries(self.kernel)
        self.row: Value | None = None  # flattened index of the parallel axes

    # -- values per row -------------------------------------------------------------------------------------
    def _place(self, value: int) -> Pointer:
        frame, b = self.frame, self.frame.b
        assert self.row is not None
        slot = b.mul(self.row, frame.number(len(self.crossing)))
        slot = b.add(slot, frame.number(self.crossing.index(value)))
        return frame.offset(frame.address("values"), slot, VALUE_BYTES, "value.at")

    def _take(self, stages: Sequence[Stage], made: set[int]) -> None:
        """Loads what the stages use and earlier phases left."""
        for value in self.crossing:
            if value not in made and any(value in used_values(s) for s in stages):
                found = load_scalar(self.frame, self.codes[value], self._place(value), "value")
                self.body.registers[value] = found

    def _leave(self, values: set[int]) -> None:
        for value in self.crossing:
            if value in values:
                store_scalar(self.frame, self.body.registers[value], self._place(value))

    # -- parts ----------------------------------------------------------------------------------------------
    def part(self, stage: Stage, name: str) -> str:
        """The function that runs segments of a full stage."""
        self.begin()
        self._current = stage
        walk = group_reductions(stage, self.codes)[0]
        pass_ = self.make_pass(stage, walk, effects=True)
        carried = Cells(self.frame, pass_.shape()) if self.carries else None

        def begin(task: Value) -> None:
            if carried is not None:
                carried.store(pass_.initial())

        def end(task: Value) -> None:
            if carried is not None:
                self._put_partials(walk, task, pass_.results(carried.load()))

        def row(cell: Cell) -> None:
            found = self._part(stage, pass_, carried, cell)
            if carried is None:
                slot = self.frame.b.add(self.frame.b.mul(cell.row, self.frame.argument("blocks")), cell.start)
                self._put_partials(walk, slot, found)

        with self.frame.scope():
            self.body.settle()
            outer = [*self.parallel, *self.outer]
            for_each_row(self.body, outer, None, row, self.used, segments=True, begin=begin, end=end)
        return self.frame.function(name)

    def _inner_rows(self) -> Value:
        """Points of the outer reduction axes."""
        frame = self.frame
        count: Value = frame.number(1)
        sizes: list[Value] = [frame.argument(f"extent{axis}") for axis in self.outer]
        with frame.hoisted(frame.entry):
            for size in sizes:
                count = size if count.ref == "1" else frame.b.mul(count, size)
        return count

    def _part(self, stage: Stage, pass_: Pass, carried: Cells | None, cell: Cell) -> dict[int, list[Value]]:
        """A segment of a row: what its reductions have found, if it is not left in `carried` for the next row."""
        frame, b = self.frame, self.frame.b
        length = frame.argument(f"extent{self.last}")
        self.row, within = cell.row, None
        if self.outer:
            inner = self._inner_rows()
            self.row = b.binary("udiv", cell.row, inner, "parallel")
            within = b.mul(b.sub(cell.row, b.mul(self.row, inner)), length)
        self.flat = b.mul(cell.row, length)
        self._take([stage], set())
        instructions = [*stage.body, *stage.after]
        self.body.compute(instructions, 1)
        self.body.compute(instructions, 2)
        pass_.flat = within
        start, count = self._segment(stage, cell.start)
        with frame.scope():
            self.body.settle()
            if carried is not None:
                carried.store(pass_.walk(start, b.add(start, count), carried.load()))
                return {}
            if not pass_.trees:
                return pass_.results(pass_.walk(start, b.add(start, count), pass_.initial()))
            cells = Cells(frame, pass_.shape())
            cells.store(pass_.initial())
            sums = pass_.walk_tree(start, count, cells)
            found = pass_.results(cells.load())
        found.update((r.target, ops.parts(s)) for r, s in zip(pass_.trees, sums, strict=True))
        return found

    def _segment(self, stage: Stage, number: Value) -> tuple[Value, Value]:
        """Where a segment begins and how many elements it has."""
        frame, b = self.frame, self.frame.b
        length = frame.argument(f"extent{self.last}")
        if is_buffered(self.kernel):
            size = frame.number(ops.BUFFER_ELEMENTS)
            start = b.mul(number, size)
            return start, frame.minimum(size, b.sub(length, start))
        classes = [tree_class(r, self.codes) for r in stage.reductions]
        unit = next((found[0] for found in classes if found is not None), 8)
        depth = frame.argument("depth")

        def down(level: Value, carried: list[Register]) -> list[Register]:
            start, count = carried
            assert isinstance(start, Value)
            assert isinstance(count, Value)
            left = b.and_(b.binary("lshr", count, frame.number(1)), frame.number(-unit))
            shift = b.sub(b.sub(depth, frame.number(1)), level)
            bit = b.and_(b.binary("lshr", number, shift), frame.number(1))
            right = b.compare("ne", bit, frame.number(0))
            return [
                b.select(right, b.add(start, left), start),
                b.select(right, b.sub(count, left), left),
            ]

        found = frame.loop(frame.number(0), depth, 1, [frame.number(0), length], down, "level")
        begin, elements = found[1:]
        assert isinstance(begin, Value)
        assert isinstance(elements, Value)
        return begin, elements

    def _partial(self, slot: Value, number: int, count: int) -> Pointer:
        frame, b = self.frame, self.frame.b
        index = b.add(b.mul(slot, frame.number(count)), frame.number(number)) if count > 1 else slot
        return frame.offset(frame.address("partials"), index, PARTIAL_BYTES, "partial.at")

    def _put_partials(self, walk: Sequence[Reduction], slot: Value, found: dict[int, list[Value]]) -> None:
        for number, r in enumerate(walk):
            self._put_partial(r, self._partial(slot, number, len(walk)), found[r.target])

    def _put_partial(self, reduction: Reduction, at: Pointer, registers: list[Value]) -> None:
        if reduction.op in ("argmin", "argmax"):
            store_scalar(self.frame, registers[1], self._second(at))
            registers = registers[:1]
        store_scalar(self.frame, ops.whole(registers), at)

    def _second(self, at: Pointer) -> Pointer:
        return self.frame.offset(at, self.frame.number(PARTIAL_BYTES // 2), hint="index.at")

    def _partial_code(self, reduction: Reduction) -> str:
        code = ops.operand_code(reduction, self.codes[reduction.value])
        return ops.sum_code(code) if tree_class(reduction, self.codes) is not None else code

    # -- joins ----------------------------------------------------------------------------------------------
    def join(self, number: int | None, name: str) -> str:
        """The function that joins the parts of a full stage (if any) and runs the row stages after it."""
        self.begin()
        first = 0 if number is None else number + 1
        last = first
        while last < len(self.kernel.stages) and self.kernel.stages[last].level == "row":
            last += 1
        stages = self.kernel.stages[first:last]
        with self.frame.scope():
            self.body.settle()
            for_each_row(
                self.body, self.parallel, None, lambda c: self._join(number, stages, c), self.used, single=True
            )
        return self.frame.function(name)

    def _join(self, number: int | None, stages: Sequence[Stage], cell: Cell) -> None:
        self.row = cell.row
        reductions = () if number is None else group_reductions(self.kernel.stages[number], self.codes)[0]
        made = {r.target for r in reductions}
        made |= {i.target for s in stages for i in (*s.body, *s.after)}
        needed = [*stages, *(() if number is None else (self.kernel.stages[number],))]
        self._take(needed, made)
        if number is not None:
            # An initial value may be computed by the stage itself.
            self.body.compute(self.kernel.stages[number].body, 1)
        for position, reduction in enumerate(reductions):
            self.body.registers[reduction.target] = self._joined(reduction, position, len(reductions))
        for stage in stages:
            self.row_stage(stage)
        self._leave(made)

    def _joined(self, reduction: Reduction, position: int, count: int) -> AnyValue:
        """One reduction over all parts of the current row."""
        frame, b = self.frame, self.frame.b
        assert self.row is not None
        code = self._partial_code(reduction)
        is_tree = tree_class(reduction, self.codes) is not None
        inner, segments = self._inner_rows(), frame.argument("blocks")
        if self.carries:
            rows, run = frame.argument("rows"), frame.argument("run")
            inner = b.binary("udiv", b.add(rows, b.sub(run, frame.number(1))), run, "groups")
        if is_tree:
            first = ops.parts(self._begin_total(reduction))
        else:
            first = ops.parts(ops.identity(b, reduction.op, code, 1))
            if reduction.op in ("argmin", "argmax"):
                first.append(frame.number(0))
        base = b.mul(b.mul(self.row, inner), segments)

        def row(r: Value, carried: list[Register]) -> list[Register]:
            slot = b.add(base, b.mul(r, segments))
            if is_tree and reduction.op != "buffered_sum":
                self._fold_tree(reduction, code, slot, segments, position, count)
                run = load_scalar(frame, code, self._partial(slot, position, count), "run")
                total = ops.whole([v for v in carried if isinstance(v, Value)])
                return list(ops.parts(self._add_run(reduction, total, run)))

            def segment(s: Value, inner_carried: list[Register]) -> list[Register]:
                at = self._partial(b.add(slot, s), position, count)
                return self._add_part(reduction, code, at, [v for v in inner_carried if isinstance(v, Value)])

            return frame.loop(frame.number(0), segments, 1, carried, segment, "segment")[1:]

        final = frame.loop(frame.number(0), inner, 1, first, row, "inner")[1:]
        registers = [v for v in final if isinstance(v, Value)]
        if is_tree:
            return ops.whole(registers)
        kind = ops.kind_of(reduction, code)
        return self.finish(reduction, kind, registers)

    def _add_part(self, reduction: Reduction, code: str, at: Pointer, carried: list[Value]) -> list[Register]:
        frame, b = self.frame, self.frame.b
        value = load_scalar(frame, code, at, "part")
        if reduction.op in ("argmin", "argmax"):
            index = load_scalar(frame, "i8", self._second(at), "index")
            assert isinstance(value, Value)
            assert isinstance(index, Value)
            return list(ops.best_of(b, reduction.op, (carried[0], carried[1]), (value, index)))
        if reduction.op == "buffered_sum" and tree_class(reduction, self.codes) is not None:
            return list(ops.parts(self._add_run(reduction, ops.whole(carried), value)))
        return list(ops.parts(ops.combine(b, reduction.op, ops.whole(carried), value)))

    def _fold_tree(
        self, reduction: Reduction, code: str, slot: Value, segments: Value, position: int, count: int
    ) -> None:
        """Joins neighbouring parts, level by level, in place: the first part becomes the sum of the row."""
        frame, b = self.frame, self.frame.b

        def level(step: Value, _: list[Register]) -> list[Register]:
            depth = b.add(step, frame.number(1))
            pairs = b.binary("lshr", segments, depth)

            def pair(i: Value, _: list[Register]) -> list[Register]:
                left = b.add(slot, b.add(i, i))
                a = load_scalar(frame, code, self._partial(left, position, count), "left")
                right = b.add(left, frame.number(1))
                c = load_scalar(frame, code, self._partial(right, position, count), "right")
                at = self._partial(b.add(slot, i), position, count)
                joined = ops.combine(b, "sum", a, c)
                frame.watch.combined(reduction.target, a, c, joined)
                store_scalar(frame, joined, at)
                return []

            frame.loop(frame.number(0), pairs, 1, [], pair, "pair")
            return []

        frame.loop(frame.number(0), frame.argument("depth"), 1, [], level, "level")


def emit_phases(make_frame: Callable[[], Frame]) -> dict[str, str]:
    """Every function of a split kernel by name."""
    kernel = make_frame().kernel
    texts = {}
    for name in phase_names(kernel):
        phases = Phases(make_frame())
        if name == "begin":
            texts[name] = phases.join(None, name)
        elif name.startswith("part"):
            texts[name] = phases.part(kernel.stages[int(name[4:])], name)
        else:
            texts[name] = phases.join(int(name[6:]), name)
    return texts
