"""Owns one pass over the last axis when it is a reduction axis: accumulators, NumPy's pairwise tree, scans.

A float sum follows NumPy's pairwise tree without leaving registers: leaves of at most 128 elements are added in eight
lanes side by side (complex: 64 and four), and an explicit stack of partial sums joins the leaves in tree order.  All
other reductions of the stage ride along, leaf by leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lazyarray.schedule.kernel import Reduction, Scan, Stage
from lazyarray_llvm import elementwise
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import COMPLEX_PARTS, AnyValue, Complex, Value, is_complex, llvm_type
from lazyarray_llvm.lower.body import Body
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.memory import Point
from lazyarray_llvm.lower.nest import Span

_STACK = 64  # levels of the pairwise tree


@dataclass(frozen=True, slots=True)
class Running:
    """A reduction of a pass that is not a tree sum, or its scan, with the dtype that it runs in."""

    reduction: Reduction | Scan
    kind: ops.Kind
    code: str

    @property
    def op(self) -> str:
        return self.reduction.op

    def shape(self, lanes: int) -> list[tuple[str, int]]:
        """Codes and lanes of the registers that it carries."""
        wide = 1 if self.kind == "ordered" else lanes
        part = COMPLEX_PARTS.get(self.code, self.code)
        shape = [(part, wide)] * (2 if is_complex(self.code) else 1)
        if self.op in ("argmin", "argmax"):
            shape.append(("i8", wide))
        return shape


class Pass:
    """One walk over the vectors of a range: the body, what is reduced, and (first pass of a stage) its effects."""

    def __init__(
        self,
        body: Body,
        stage: Stage,
        reductions: Sequence[Reduction],
        codes: dict[int, str],
        span: Span,
        effects: Callable[[Point, dict[int, AnyValue]], None] | None,
    ) -> None:
        self.body = body
        self.frame = body.frame
        self.stage = stage
        self.span = span
        self.effects = effects
        self.flat: Value | None = None  # index among the reduced elements of the last axis' element 0
        self.stretches: Callable[[Reduction, Point, Value, AnyValue], None] | None = None
        self.trees: list[Reduction] = []
        self.masked: list[Reduction] = []
        self.running: list[Running] = []
        for r in reductions:
            code = ops.operand_code(r, codes[r.value])
            kind = ops.kind_of(r, code)
            if kind == "tree":
                self.trees.append(r)
            elif kind == "stretches":
                self.masked.append(r)
            else:
                wide = ops.sum_code(code) if kind == "ordered" and r.op == "prod" else code
                self.running.append(Running(r, kind, wide))
        if stage.scan is not None and effects is not None:
            self.running.append(Running(stage.scan, "ordered", stage.scan.code))

    # -- registers of the running reductions ---------------------------------------------------------------------------
    @property
    def lanes(self) -> int:
        return self.span.lanes

    def shape(self) -> list[tuple[str, int]]:
        return [entry for r in self.running for entry in r.shape(self.lanes)]

    def initial(self) -> list[Register]:
        """Every running reduction at its identity."""
        b = self.frame.b
        registers: list[Register] = []
        for r in self.running:
            lanes = 1 if r.kind == "ordered" else self.lanes
            if r.kind == "ordered" and r.op == "sum":
                first: AnyValue = ops.identity(b, "sum", r.code, 1)
            elif r.kind == "ordered" and isinstance(r.reduction, Reduction) and r.reduction.start is not None:
                first = self._widened(self.body.value(r.reduction.start, {}, 1), r.code)
            else:
                first = ops.identity(b, r.op, r.code, lanes)
            registers += ops.parts(first)
            if r.op in ("argmin", "argmax"):
                registers.append(b.const("i8", 0, lanes))
        return registers

    def _widened(self, value: AnyValue, code: str) -> AnyValue:
        return value if value.code == code else elementwise.cast(self.frame.b, value, code)

    def results(self, carried: Sequence[Register]) -> dict[int, list[Value]]:
        """The folded registers per reduction target: the value's parts, and the index of argmin and argmax."""
        b = self.frame.b
        found: dict[int, list[Value]] = {}
        for r, registers in self._grouped(carried):
            if r.kind == "arg":
                value, index = ops.fold_best(b, r.op, registers[0], registers[1])
                found[r.reduction.target] = [value, index]
            elif r.kind == "free":
                found[r.reduction.target] = ops.parts(ops.fold(b, r.op, ops.whole(registers)))
            else:
                found[r.reduction.target] = list(registers)
        return found

    def _grouped(self, carried: Sequence[Register]) -> list[tuple[Running, list[Value]]]:
        groups, at = [], 0
        for r in self.running:
            count = len(r.shape(self.lanes))
            groups.append((r, [v for v in carried[at : at + count] if isinstance(v, Value)]))
            at += count
        return groups

    # -- one vector ----------------------------------------------------------------------------------------------------
    def step(self, point: Point, carried: Sequence[Register]) -> tuple[list[Register], dict[int, AnyValue]]:
        """The body at a point, then every running reduction, then effects."""
        env = self.body.vectors(self.stage.body, point)
        following: list[Register] = []
        for r, registers in self._grouped(carried):
            value = self._operand(r, env, point)
            if isinstance(r.reduction, Scan):
                following += self._scan(r, point, value, registers, env)
            elif r.kind == "ordered":
                following += self._ordered(r, point, value, registers, env)
            elif r.kind == "arg":
                following += self._arg(r, point, value, registers)
            else:
                mask = self._mask(r.reduction, point, env)
                if mask is not None:
                    value = ops.choose(
                        self.frame.b, mask, value, ops.identity(self.frame.b, r.op, r.code, point.lanes)
                    )
                following += ops.parts(ops.combine(self.frame.b, r.op, ops.whole(registers), value))
        for reduction in self.masked:
            assert self.stretches is not None
            assert reduction.where is not None
            mask = self.body.value(reduction.where, env, point.lanes)
            assert isinstance(mask, Value)
            value = self._widened(
                self.body.value(reduction.value, env, point.lanes), ops.sum_code(reduction.code)
            )
            self.stretches(reduction, point, mask, value)
        if self.effects is not None:
            env = self.body.vectors(self.stage.after, point, env)
            self.effects(point, env)
        return following, env

    def _operand(self, r: Running, env: dict[int, AnyValue], point: Point) -> AnyValue:
        return self._widened(self.body.value(r.reduction.value, env, point.lanes), r.code)

    def _mask(self, reduction: Reduction, point: Point, env: dict[int, AnyValue]) -> Value | None:
        where = None if reduction.where is None else self.body.value(reduction.where, env, point.lanes)
        assert where is None or isinstance(where, Value)
        if point.active is None or point.lanes == 1:
            return where
        inside = point.mask(COMPLEX_PARTS.get(reduction.code, reduction.code))
        return inside if where is None else self.frame.b.and_(inside, where)

    def _scan(
        self, r: Running, point: Point, value: AnyValue, registers: list[Value], env: dict[int, AnyValue]
    ) -> list[Value]:
        b, scan = self.frame.b, r.reduction
        running, lanes = ops.whole(registers), []
        for k in range(point.lanes):
            one = ops.pick(b, value, [k])
            after = ops.combine(b, r.op, running, one)
            if k == 0 and isinstance(one, Complex) and r.op == "prod":
                # The first element is copied: 1 * x is not x when a part is infinite.
                after = ops.choose(b, b.compare("eq", point.index, self.frame.number(0)), one, after)
            running = after
            lanes.append(running)
        if point.lanes == 1:
            env[scan.target] = running
        else:
            vectors = []
            for parts in zip(*(ops.parts(one) for one in lanes), strict=True):
                vector = Value("poison", parts[0].code, point.lanes)
                for k, part in enumerate(parts):
                    vector = b.insert(vector, part, k)
                vectors.append(vector)
            env[scan.target] = ops.whole(vectors)
        return ops.parts(running)

    def _ordered(
        self, r: Running, point: Point, value: AnyValue, registers: list[Value], env: dict[int, AnyValue]
    ) -> list[Value]:
        b, reduction = self.frame.b, r.reduction
        assert isinstance(reduction, Reduction)
        where = None if reduction.where is None else self.body.value(reduction.where, env, point.lanes)
        assert where is None or isinstance(where, Value)
        for k in range(point.lanes):
            taken: list[Value] = []
            if point.active is not None and k:
                taken.append(b.compare("sgt", point.active, self.frame.number(k)))
            if where is not None:
                taken.append(b.extract(where, k))
            one = ops.pick(b, value, [k])
            if r.op in ("argmin", "argmax"):
                best = ops.whole(registers[:-1])
                taken.append(ops.better(b, r.op, one, best))
                after = [*ops.parts(one), self._flat_index(point, k)]
            else:
                after = ops.parts(ops.combine(b, r.op, ops.whole(registers), one))
            if where is not None and r.code != reduction.code:
                # Half floats: a product is rounded where a stretch of True ends.
                registers = self._rounded(registers)
            if taken:
                mask = taken[0]
                for more in taken[1:]:
                    mask = b.and_(mask, more)
                after = [b.select(mask, new, old) for new, old in zip(after, registers, strict=True)]
            registers = after
        return registers

    def _rounded(self, registers: list[Value]) -> list[Value]:
        b = self.frame.b
        halves = [elementwise.cast(b, v, "f2") for v in registers]
        return [v for h in halves for v in ops.parts(elementwise.cast(b, h, "f4"))]

    def _flat_index(self, point: Point, lane: int) -> Value:
        b = self.frame.b
        base = point.index if self.flat is None else b.add(point.index, self.flat)
        return b.add(base, self.frame.number(lane)) if lane else base

    def _arg(self, r: Running, point: Point, value: AnyValue, registers: list[Value]) -> list[Value]:
        b = self.frame.b
        assert isinstance(value, Value)
        index = self._flat_index(point, 0)
        lanes = (
            b.add(b.splat(index, point.lanes), b.vector("i8", range(point.lanes)))
            if point.lanes > 1
            else index
        )
        wins = ops.better(b, r.op, value, registers[0])
        if point.active is not None and point.lanes > 1:
            wins = b.and_(wins, point.mask(r.code))
        return [b.select(wins, value, registers[0]), b.select(wins, lanes, registers[1])]

    # -- one range ---------------------------------------------------------------------------------------------------
    def walk(self, start: Value, stop: Value, carried: Sequence[Register]) -> list[Register]:
        """A range without tree sums."""
        return self.span.walk(
            self.frame, start, stop, carried, lambda point, inner: self.step(point, inner)[0]
        )

    def walk_tree(self, start: Value, count: Value, cells: Cells) -> list[AnyValue]:
        """One run of every tree sum over [start, start + count): pairwise sums; running registers live in `cells`."""
        return Tree(self, cells).run(start, count)


class Cells:
    """Stack memory for registers that live from one span to the next."""

    def __init__(self, frame: Frame, shape: Sequence[tuple[str, int]]) -> None:
        self.frame = frame
        self.shape = list(shape)
        self.places = [frame.alloca(llvm_type(code, lanes), "cell", 64) for code, lanes in shape]

    def store(self, registers: Sequence[Register]) -> None:
        for place, register in zip(self.places, registers, strict=True):
            self.frame.b.line(f"store {register.type} {register.ref}, ptr {place.ref}")

    def load(self) -> list[Register]:
        b = self.frame.b
        return [
            b.emit(f"load {llvm_type(code, lanes)}, ptr {place.ref}", code, lanes, "state")
            for (code, lanes), place in zip(self.shape, self.places, strict=True)
        ]


class Tree:
    """The pairwise tree of one run."""

    def __init__(self, pass_: Pass, cells: Cells) -> None:
        self.pass_ = pass_
        self.frame = pass_.frame
        self.cells = cells
        self.codes = [ops.sum_code(r.code) for r in pass_.trees]
        self.unit = ops.unit_elements(self.codes[0])
        self.leaf = ops.leaf_elements(self.codes[0])

    def _parts(self) -> list[str]:
        return [
            p for code in self.codes for p in [COMPLEX_PARTS.get(code, code)] * (2 if is_complex(code) else 1)
        ]

    def _values(self, registers: Sequence[Register]) -> list[AnyValue]:
        values, at = [], 0
        for code in self.codes:
            width = 2 if is_complex(code) else 1
            values.append(ops.whole([v for v in registers[at : at + width] if isinstance(v, Value)]))
            at += width
        return values

    def run(self, start: Value, count: Value) -> list[AnyValue]:
        """Walks the leaves in order; `pending` holds the sizes of right halves to come, `partial` finished left halves."""
        frame, b = self.frame, self.frame.b
        pending = frame.alloca(f"[{_STACK} x i64]", "pending")
        parts = self._parts()
        partials = [frame.alloca(f"[{_STACK} x {llvm_type(p, 1)}]", "partial") for p in parts]
        names = {
            n: b.fresh(n)
            for n in ("descend", "split", "leaf", "ascend", "parent", "right", "join", "tree.done")
        }
        before = b.block
        b.jump(names["descend"])
        b.start(names["descend"])
        size, depth, position = (Value("%" + b.fresh(n), "i8", 1) for n in ("size", "depth", "position"))
        phis = len(b.lines)
        b.lines.append("")
        b.branch(b.compare("sgt", size, frame.number(self.leaf)), names["split"], names["leaf"])

        b.start(names["split"])
        left = b.and_(b.binary("lshr", size, frame.number(1)), frame.number(-self.unit))
        self._store(b.sub(size, left), pending, depth, "i64")
        deeper = b.add(depth, frame.number(1))
        b.jump(names["descend"])

        b.start(names["leaf"])
        sums = self._leaf(position, size)
        end = b.add(position, size)
        leaf_end = b.block
        b.jump(names["ascend"])

        b.start(names["ascend"])
        level = Value("%" + b.fresh("level"), "i8", 1)
        finished = [Value("%" + b.fresh("sum"), p, 1) for p in parts]
        merges = len(b.lines)
        b.lines.append("")
        b.branch(b.compare("eq", level, frame.number(0)), names["tree.done"], names["parent"])

        b.start(names["parent"])
        above = b.sub(level, frame.number(1))
        waiting = self._load(pending, above, "i8")
        b.branch(b.compare("eq", waiting, frame.number(0)), names["join"], names["right"])

        b.start(names["right"])
        for place, value in zip(partials, finished, strict=True):
            self._store(value, place, above, value.type)
        self._store(frame.number(0), pending, above, "i64")
        b.jump(names["descend"])

        b.start(names["join"])
        lefts = [self._load(place, above, p) for place, p in zip(partials, parts, strict=True)]
        joined = [b.add(a, c) for a, c in zip(lefts, finished, strict=True)]
        b.jump(names["ascend"])

        b.lines[phis] = "\n".join(
            f"  {name.ref} = phi i64 [ {first}, %{before} ], [ {halved}, %{names['split']} ], [ {right}, %{names['right']} ]"
            for name, first, halved, right in (
                (size, count.ref, left.ref, waiting.ref),
                (depth, "0", deeper.ref, level.ref),
                (position, start.ref, position.ref, end.ref),
            )
        )
        b.lines[merges] = "\n".join(
            f"  {name.ref} = phi {name.type} [ {x}, %{leaf_end} ], [ {y}, %{names['join']} ]"
            for name, x, y in zip(
                [level, *finished],
                [depth.ref, *(s.ref for s in sums)],
                [above.ref, *(j.ref for j in joined)],
                strict=True,
            )
        )
        b.start(names["tree.done"])
        return self._values(finished)

    def _store(self, value: Value, base: Pointer, at: Value, type_: str) -> None:
        place = self.frame.pointer(f"getelementptr {type_}, ptr {base.ref}, i64 {at.ref}", "slot")
        self.frame.b.line(f"store {value}, ptr {place.ref}")

    def _load(self, base: Pointer, at: Value, code: str) -> Value:
        type_ = llvm_type(code, 1)
        place = self.frame.pointer(f"getelementptr {type_}, ptr {base.ref}, i64 {at.ref}", "slot")
        return self.frame.b.emit(f"load {type_}, ptr {place.ref}", code, 1, "waiting")

    # -- leaves ------------------------------------------------------------------------------------------------------
    def _leaf(self, start: Value, count: Value) -> list[Value]:
        """The sums of one leaf: `unit` lanes side by side, folded, then the rest one by one."""
        frame, b, p = self.frame, self.frame.b, self.pass_
        stop = b.add(start, count)
        whole_stop = b.add(start, b.and_(count, frame.number(-self.unit)))
        zeros: list[Register] = [b.const(code, -0.0, self.unit) for code in self._parts()]
        running = self.cells.load()
        carried: list[Register] = [*running, *zeros]
        state: list[Register] = [start, *carried]
        lanes = p.lanes

        def inside(j: Value, inner: list[Register]) -> list[Register]:
            after, env = p.step(Point(frame, j, lanes), inner[: len(running)])
            sums = self._add_groups(env, inner[len(running) :], None, lanes)
            return [*after, *sums]

        def cut(j: Value, inner: list[Register]) -> list[Register]:
            left = b.binary("sub nsw", stop, j, "left")
            active = frame.minimum(left, frame.number(lanes)) if p.span.single else left
            after, env = p.step(Point(frame, j, lanes, active), inner[: len(running)])
            groups = b.sub(whole_stop, j)
            at = len(running) + len(zeros)
            sums = self._add_groups(env, inner[len(running) : at], groups, lanes)
            return [*after, *sums, *self._rest(env, inner[at:], groups, lanes)]

        if p.span.single:
            state = frame.loop(start, stop, lanes, [*carried, *zeros], cut)
        else:
            limit = b.binary("sub nsw", whole_stop, frame.number(lanes - 1), "limit")
            state = frame.loop(start, limit, lanes, carried, inside)
            first = state[0]
            assert isinstance(first, Value)
            last = [*state[1:], *zeros]
            state[1:] = frame.when(b.compare("slt", first, stop), lambda: cut(first, last), last)
        registers = state[1:]
        self.cells.store(registers[: len(running)])
        sums = registers[len(running) : len(running) + len(zeros)]
        rest = registers[len(running) + len(zeros) :]
        folded = [part for v in self._values(sums) for part in ops.parts(ops.fold_pairwise(b, v))]
        return self._add_rest(folded, rest, b.and_(count, frame.number(self.unit - 1)))

    def _groups(self, env: dict[int, AnyValue], lanes: int) -> list[list[Value]]:
        """Per part of every sum: its vector in groups of `unit` lanes."""
        grouped = []
        for r, code in zip(self.pass_.trees, self.codes, strict=True):
            value = self.pass_.body.value(r.value, env, lanes)
            if value.code != code:
                value = elementwise.cast(self.frame.b, value, code)
            for part in ops.parts(value):
                picks = [range(i, i + self.unit) for i in range(0, lanes, self.unit)]
                grouped.append([v for pick in picks for v in ops.parts(ops.pick(self.frame.b, part, pick))])
        return grouped

    def _add_groups(
        self, env: dict[int, AnyValue], sums: Sequence[Register], left: Value | None, lanes: int
    ) -> list[Register]:
        b = self.frame.b
        after: list[Register] = []
        for groups, total in zip(self._groups(env, lanes), sums, strict=True):
            assert isinstance(total, Value)
            for i, group in enumerate(groups):
                added = b.add(total, group)
                if left is not None:
                    taken = b.compare("sgt", left, self.frame.number(i * self.unit))
                    added = b.emit(f"select {taken}, {added}, {total}", added.code, added.lanes, "sel")
                total = added
            after.append(total)
        return after

    def _rest(
        self, env: dict[int, AnyValue], before: Sequence[Register], left: Value, lanes: int
    ) -> list[Register]:
        """The group that holds the elements after the last whole group."""
        b = self.frame.b
        after: list[Register] = []
        for groups, found in zip(self._groups(env, lanes), before, strict=True):
            assert isinstance(found, Value)
            for i, group in enumerate(groups):
                here = b.compare("eq", left, self.frame.number(i * self.unit))
                found = b.emit(f"select {here}, {group}, {found}", found.code, found.lanes, "rest")
            after.append(found)
        return after

    def _add_rest(self, sums: list[Value], rest: Sequence[Register], count: Value) -> list[Value]:
        frame, b = self.frame, self.frame.b

        def add() -> list[Register]:
            inside = Point(frame, frame.number(0), self.unit, count)
            after: list[Register] = []
            for total, group in zip(sums, rest, strict=True):
                assert isinstance(group, Value)
                taken = b.select(inside.mask(group.code), group, b.like(group, -0.0))
                for k in range(self.unit - 1):
                    total = b.add(total, b.extract(taken, k))
                after.append(total)
            return after

        found = frame.when(b.compare("sgt", count, frame.number(0)), add, sums)
        return [v for v in found if isinstance(v, Value)]
