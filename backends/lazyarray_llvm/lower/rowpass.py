"""Owns one pass over the last axis when it is a reduction axis: the body, accumulators, scans, effects."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lazyarray.schedule.kernel import Reduction, Scan, Stage
from lazyarray_llvm import elementwise
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import COMPLEX_PARTS, AnyValue, Builder, Complex, Value, is_complex, is_float, itemsize
from lazyarray_llvm.lower.body import Body
from lazyarray_llvm.lower.frame import Register
from lazyarray_llvm.lower.nest import Span
from lazyarray_llvm.lower.ordered import count_bits, first_bit, mask_bits
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.lower.tree import Cells, Tree


@dataclass(frozen=True, slots=True)
class Running:
    """A reduction of a pass that is not a tree sum, or its scan, with the dtype that it runs in.

    A count of true elements is one number all the time. `folded`: an argmin or argmax that carries one element and its
    index; lanes are at work inside a walk only.
    """

    reduction: Reduction | Scan
    kind: ops.Kind
    code: str
    folded: bool = False

    @property
    def op(self) -> str:
        return self.reduction.op

    @property
    def is_single(self) -> bool:
        """Whether it carries one element, and not one for each lane."""
        return self.kind == "ordered" or self.folded or self.op == "count" or self.is_search

    @property
    def is_search(self) -> bool:
        """Whether it looks for the first of a row's bits that is set, or is not."""
        return self.kind == "arg" and self.code == "b1"

    def shape(self, lanes: int) -> list[tuple[str, int]]:
        """Codes and lanes of the registers that it carries."""
        wide = 1 if self.is_single else lanes
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
        self.ahead: Callable[[Point], None] | None = None
        self.stretches: Callable[[Reduction, Point, Value, AnyValue], None] | None = None
        self.trees: list[Reduction] = []
        self.masked: list[Reduction] = []
        self.running: list[Running] = []
        self.base: Value | None = None  # what the places of `folded` ones count from
        kinds = {ops.kind_of(r, ops.operand_code(r, codes[r.value])) for r in reductions}
        for r in reductions:
            code = ops.operand_code(r, codes[r.value])
            kind = ops.kind_of(r, code)
            if kind == "tree":
                self.trees.append(r)
            elif kind == "stretches":
                self.masked.append(r)
            else:
                wide = ops.sum_code(code) if kind == "ordered" and r.op == "prod" else code
                folded = kind == "arg" and wide != "b1" and "tree" not in kinds
                self.running.append(Running(r, kind, wide, folded))
        if stage.scan is not None and effects is not None:
            self.running.append(Running(stage.scan, "ordered", stage.scan.code))

    # -- registers of the running reductions ----------------------------------------------------------------
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
            lanes = 1 if r.is_single else self.lanes
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

    def _grouped(self, carried: Sequence[Register], *, spread: bool = False) -> list[tuple[Running, list[Value]]]:
        """The registers of each: outside a block, or `spread` over lanes in one."""
        groups, at = [], 0
        for r in self.running:
            count = len(self._spread(r) if spread and r.folded else r.shape(self.lanes))
            groups.append((r, [v for v in carried[at : at + count] if isinstance(v, Value)]))
            at += count
        return groups

    # -- one vector -----------------------------------------------------------------------------------------
    def step(self, point: Point, carried: Sequence[Register]) -> tuple[list[Register], dict[int, AnyValue]]:
        """The body at a point, then every running reduction, then effects."""
        if self.ahead is not None:
            self.ahead(point)
        env = self.body.vectors(self.stage.body, point)
        following: list[Register] = []
        for r, registers in self._grouped(carried, spread=True):
            value = self._operand(r, env, point)
            if isinstance(r.reduction, Scan):
                following += self._scan(r, point, value, registers, env)
            elif r.kind == "ordered":
                following += self._ordered(r, point, value, registers, env)
            elif r.kind == "arg":
                following += self._arg(r, point, value, registers)
            elif r.op == "count":
                following.append(self._count(r.reduction, point, value, registers[0], env))
            else:
                inside = self._mask(r.reduction, point, env)
                if inside is not None:
                    value = ops.choose(
                        self.frame.b, inside, value, ops.identity(self.frame.b, r.op, r.code, point.lanes)
                    )
                following += self._combined(r.op, registers, value, point.lanes)
        for reduction in self.masked:
            assert self.stretches is not None
            assert reduction.where is not None
            mask = self.body.value(reduction.where, env, point.lanes)
            assert isinstance(mask, Value)
            value = self.body.value(reduction.value, env, point.lanes)
            value = self.frame.watch.cast(reduction.target, value, ops.sum_code(reduction.code), mask)
            self.stretches(reduction, point, mask, value)
        if self.effects is not None:
            env = self.body.vectors(self.stage.after, point, env)
            self.effects(point, env)
        return following, env

    def _combined(self, op: str, registers: list[Value], value: AnyValue, lanes: int) -> list[Register]:
        """Registers with the values of a point of as many lanes or, in their first ones, of fewer."""
        frame, b, width = self.frame, self.frame.b, registers[0].lanes
        if lanes == width:
            return list(ops.parts(ops.combine(b, op, ops.whole(registers), value)))
        wide = [_value(frame.carry(r)) for r in registers]
        first = [frame.resume(r, b.shuffle(w, None, range(lanes))) for r, w in zip(registers, wide, strict=True)]
        found = ops.parts(ops.combine(b, op, ops.whole([_value(r) for r in first]), value))
        after: list[Register] = []
        for before, whole, part in zip(registers, wide, found, strict=True):
            spread = b.shuffle(_value(frame.carry(part)), None, [k % lanes for k in range(width)])
            joined = b.shuffle(spread, whole, [*range(lanes), *range(width + lanes, 2 * width)])
            after.append(frame.resume(before, joined))
        return after

    def _operand(self, r: Running, env: dict[int, AnyValue], point: Point) -> AnyValue:
        value = self.body.value(r.reduction.value, env, point.lanes)
        if r.op == "count":
            return value
        return self.frame.watch.cast(r.reduction.target, value, r.code)

    def _count(
        self, reduction: Reduction, point: Point, mask: AnyValue, before: Value, env: dict[int, AnyValue]
    ) -> Value:
        """The number of true elements so far, with those of one vector."""
        assert isinstance(mask, Value)
        inside = self._mask(reduction, point, env)
        taken = mask if inside is None else self.frame.b.and_(mask, inside)
        count = count_bits(self.frame, mask_bits(self.frame, taken))
        number = elementwise.cast(self.frame.b, count, before.code)
        assert isinstance(number, Value)
        return self.frame.b.add(before, number)

    def _mask(self, reduction: Reduction, point: Point, env: dict[int, AnyValue]) -> Value | None:
        where = None if reduction.where is None else self.body.value(reduction.where, env, point.lanes)
        assert where is None or isinstance(where, Value)
        if point.active is None or point.lanes == 1:
            return where
        counts = reduction.op == "count"
        inside = point.mask("" if counts else COMPLEX_PARTS.get(reduction.code, reduction.code))
        return inside if where is None else self.frame.b.and_(inside, where)

    def _scan(
        self, r: Running, point: Point, value: AnyValue, registers: list[Value], env: dict[int, AnyValue]
    ) -> list[Value]:
        b, scan = self.frame.b, r.reduction
        if r.op in ("max", "min") and point.lanes > 1:
            env[scan.target] = vector = self._running_extremes(r, point, value, registers[0])
            return [b.extract(vector, point.lanes - 1)]
        running, lanes = ops.whole(registers), []
        for k in range(point.lanes):
            one = ops.pick(b, value, [k])
            reached = None if point.active is None or not k else b.compare("sgt", point.active, self.frame.number(k))
            copied = None
            if k == 0 and isinstance(one, Complex) and r.op == "prod":
                # The first element is copied: 1 * x is not x when a part is infinite.
                copied = b.compare("eq", point.index, self.frame.number(0))
                reached = b.not_(copied)
            with self.frame.watch.observing(scan.target, reached):
                after = ops.combine(b, r.op, running, one)
            running = after if copied is None else ops.choose(b, copied, one, after)
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

    def _running_extremes(self, r: Running, point: Point, value: AnyValue, before: Value) -> Value:
        """v0, max(v0, v1), max(max(v0, v1), v2), ... as a tree: each lane takes in the one 1, 2, 4, ... before it.

        Exact: of several NaNs, and of zeros, `maximum` takes the first or the last, however they are put together.
        """
        b, lanes = self.frame.b, point.lanes
        nothing = ops.identity(b, r.op, r.code, lanes)
        if point.active is not None:
            value = ops.choose(b, point.mask(r.code), value, nothing)
        assert isinstance(value, Value)
        assert isinstance(nothing, Value)
        step = 1
        while step < lanes:
            earlier = b.shuffle(nothing, value, [*range(step), *range(lanes, 2 * lanes - step)])
            found = ops.combine(b, r.op, earlier, value)
            assert isinstance(found, Value)
            value, step = found, 2 * step
        after = ops.combine(b, r.op, b.splat(before, lanes), value)
        assert isinstance(after, Value)
        return after

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
            mask = _all(b, taken)
            if r.op in ("argmin", "argmax"):
                best = ops.whole(registers[:-1])
                mask = _all(b, [*taken, ops.better(b, r.op, one, best)])
                after = [*ops.parts(one), self._flat_index(point, k)]
            else:
                with self.frame.watch.observing(reduction.target, mask):
                    after = ops.parts(ops.combine(b, r.op, ops.whole(registers), one))
            if mask is not None and where is not None and r.code != reduction.code:
                # Half floats: a product is rounded where a stretch of True ends.
                registers = self._rounded(registers, reduction.target, b.not_(mask))
            if mask is not None:
                after = [b.select(mask, new, old) for new, old in zip(after, registers, strict=True)]
            registers = after
        return registers

    def _rounded(self, registers: list[Value], target: int, inside: Value) -> list[Value]:
        b = self.frame.b
        halves = [self.frame.watch.cast(target, v, "f2", inside) for v in registers]
        return [v for h in halves for v in ops.parts(elementwise.cast(b, h, "f4"))]

    def _flat_index(self, point: Point, lane: int) -> Value:
        b = self.frame.b
        base = point.index if self.flat is None else b.add(point.index, self.flat)
        return b.add(base, self.frame.number(lane)) if lane else base

    def _arg(self, r: Running, point: Point, value: AnyValue, registers: list[Value]) -> list[Register]:
        b = self.frame.b
        assert isinstance(value, Value)
        if r.is_search:
            return self._first_bit(r, point, value, registers)
        if r.folded:
            if self._width(r) < self.lanes:
                return self._best_of_step(r, point, value, registers)
            lanes = self._place(r, point, point.lanes)
        else:
            index = self._flat_index(point, 0)
            lanes = b.add(b.splat(index, point.lanes), b.vector("i8", range(point.lanes))) if point.lanes > 1 else index
        wins = ops.better(b, r.op, value, registers[0])
        if point.active is not None and point.lanes > 1:
            wins = b.and_(wins, point.mask(r.code))
        return [b.select(wins, value, registers[0]), b.select(wins, lanes, registers[1])]

    def _first_bit(self, r: Running, point: Point, value: Value, registers: list[Value]) -> list[Register]:
        """The place of the first true element (argmin: false one), where none was found before."""
        b, (best, place) = self.frame.b, registers
        wanted = value if r.op == "argmax" else b.not_(value)
        if point.active is not None and point.lanes > 1:
            wanted = b.and_(wanted, point.mask())
        bits = mask_bits(self.frame, wanted)
        here = b.add(self._flat_index(point, 0), first_bit(self.frame, bits))
        wins = b.and_(b.compare("ne", bits, b.like(bits, 0)), b.not_(best) if r.op == "argmax" else best)
        found = b.const("b1", r.op == "argmax", 1)
        return [b.select(wins, found, best), b.select(wins, here, place)]

    def _width(self, r: Running) -> int:
        """Lanes of the registers of a `folded` one: those of one vector, if a step takes several."""
        one = self.frame.host.vector_bytes // itemsize(r.code)
        return one if itemsize(r.code) >= 4 and self.lanes > one else self.lanes

    def _best_of_step(self, r: Running, point: Point, value: Value, registers: list[Value]) -> list[Register]:
        """The best of a step's vectors, the earlier of equal ones, and then of all steps, in one vector of registers.

        Four vectors with a best and a place each would not fit into sixteen registers. NaNs are noted, to be looked for
        by `_first_nan`: to ask of every vector whether it may still win takes two of five operations.
        """
        b, width = self.frame.b, self._width(r)
        if point.active is not None:
            cut = ops.choose(b, point.mask(r.code), value, ops.identity(b, r.op, r.code, point.lanes))
            assert isinstance(cut, Value)
            value = cut
        best, place, *noted = registers
        vectors = [b.shuffle(value, None, range(k, k + width)) for k in range(0, point.lanes, width)]
        if noted:
            pairs = zip(vectors[::2], vectors[1::2] or vectors, strict=True)
            found = [b.compare("uno", *pair) for pair in pairs]
            noted = [b.or_(noted[0], b.convert("sext", functools.reduce(b.or_, found), noted[0].code))]
        level = [(one, b.const(place.code, k * width, width)) for k, one in enumerate(vectors)]
        while len(level) > 1:
            level = [ops.leading(b, r.op, *pair) for pair in zip(level[::2], level[1::2], strict=True)]
        leader, offset = level[0]
        at = b.add(self._place(r, point, width), offset)
        return [*ops.leading(b, r.op, (best, place), (leader, at)), *noted]

    def _place(self, r: Running, point: Point, lanes: int) -> Value:
        """The place of a point's first element in its block, of a narrow dtype that of its step, in all lanes."""
        frame, b, code = self.frame, self.frame.b, self._place_code(r)
        assert self.base is not None
        place = b.sub(point.index, self.base)
        if itemsize(code) < 4:
            place = b.binary("lshr", place, frame.number(self.lanes.bit_length() - 1), "step")
        return b.splat(place if code == "i8" else b.convert("trunc", place, code), lanes)

    def _first_nan(self, r: Running, first: Value, end: Value) -> list[Register]:
        """NaN and the place of the first one in a block that has one."""
        b, code = self.frame.b, self._place_code(r)
        lanes, span = self.span.narrow, self.span
        none = b.const(code, 2 ** (8 * itemsize(code) - 1) - 1, lanes)

        def step(point: Point, carried: list[Register]) -> list[Register]:
            before = carried[0]
            assert isinstance(before, Value)
            value = self._operand(r, self.body.vectors(self.stage.body, point), point)
            assert isinstance(value, Value)
            is_nan = b.compare("uno", value, value)
            if point.active is not None and point.lanes > 1:
                is_nan = b.and_(is_nan, point.mask(r.code))
            place = b.add(self._place(r, point, point.lanes), b.vector(code, range(point.lanes)))
            here = b.select(is_nan, place, none)
            return [b.select(b.compare("slt", here, before), here, before)]

        alone = Span(lanes, lanes, single=span.single, strict=span.strict)
        (places,) = alone.walk(self.frame, first, end, [none], step)
        assert isinstance(places, Value)
        return [b.const(r.code, math.nan, 1), *ops.parts(ops.fold(b, "min", places))]

    # -- one range ------------------------------------------------------------------------------------------
    def walk(self, start: Value, stop: Value, carried: Sequence[Register]) -> list[Register]:
        """A range without tree sums."""

        def walk(first: Value, end: Value, inner: Sequence[Register]) -> list[Register]:
            return self.span.walk(self.frame, first, end, inner, lambda point, here: self.step(point, here)[0])

        if not any(r.folded for r in self.running):
            return walk(start, stop, carried)
        frame, b = self.frame, self.frame.b
        size = min(self._block(r) for r in self.running if r.folded)

        def block(first: Value, state: list[Register]) -> list[Register]:
            groups = self._grouped(state)
            self.base = first
            inner: list[Register] = []
            for r, registers in groups:
                inner += self._spread(r) if r.folded else registers
            end = frame.minimum(b.add(first, frame.number(size)), stop)
            found = self._grouped(walk(first, end, inner), spread=True)
            after: list[Register] = []
            for (r, before), (_, registers) in zip(groups, found, strict=True):
                after += self._folded(r, first, end, before, registers) if r.folded else registers
            return after

        return frame.loop(start, stop, size, carried, block)[1:]

    def _spread(self, r: Running) -> list[Register]:
        """What the lanes of a `folded` one begin with: best values, their places, and where NaNs are noted."""
        b, width = self.frame.b, self._width(r)
        registers: list[Register] = list(ops.parts(ops.identity(b, r.op, r.code, width)))
        registers.append(b.const(self._place_code(r), 0, width))
        if width < self.lanes and is_float(r.code):
            registers.append(b.const(f"i{itemsize(r.code)}", 0, width))
        return registers

    def _place_code(self, r: Running) -> str:
        """The dtype of places inside a walk, of lanes as wide as the values: of elements, or of steps if narrow."""
        width = itemsize(r.code)
        if width < 4 and r.code != "b1" and self.lanes >= _FEW_LANES:
            return f"u{width}"
        return "i8" if width == 8 else "i4"

    def _block(self, r: Running) -> int:
        """How many elements have places of that dtype."""
        code = self._place_code(r)
        return self.lanes << 8 * itemsize(code) if code[0] == "u" else _BLOCK

    def _folded(
        self, r: Running, first: Value, end: Value, before: list[Value], registers: list[Value]
    ) -> list[Register]:
        """The best of the lanes, joined with the best of the blocks before."""
        frame, b, (best, place, *noted) = self.frame, self.frame.b, registers
        if itemsize(place.code) < 4:
            # The first step that has the best, and there the first lane.
            best, same = ops.best_lanes(b, r.op, best)
            step = ops.least_of(b, same, place)
            here = b.and_(same, b.compare("eq", place, b.splat(step, place.lanes)))
            lane = first_bit(frame, mask_bits(frame, here))
            place = b.add(b.mul(b.convert("zext", step, "i8"), frame.number(self.lanes)), lane)
        elif place.lanes > 1:
            place = b.add(place, b.vector(place.code, range(place.lanes)))
            best, place = ops.fold_best(b, r.op, best, place)
        if noted:
            (bits,) = ops.parts(ops.fold(b, "bor", noted[0]))
            any_nan = b.compare("ne", bits, b.const(bits.code, 0, 1))
            found = frame.when(any_nan, lambda: self._first_nan(r, first, end), [best, place])
            best, place = (one for one in found if isinstance(one, Value))
        if place.code != "i8":
            place = b.convert("sext", place, "i8")
        index = b.add(first if self.flat is None else b.add(first, self.flat), place)
        return list(ops.best_of(b, r.op, (before[0], before[1]), (best, index)))

    def walk_tree(self, start: Value, count: Value, cells: Cells) -> list[AnyValue]:
        """One run of every tree sum over [start, start + count): pairwise sums; running registers live in `cells`."""
        return Tree(self, cells).run(start, count)


_BLOCK = 1 << 30  # elements whose places are counted from the first one in 32 bits
_FEW_LANES = 16  # with fewer, a block whose steps are counted in 8 bits ends too soon


def _value(register: Register) -> Value:
    assert isinstance(register, Value)
    return register


def _all(b: Builder, masks: Sequence[Value]) -> Value | None:
    found: Value | None = None
    for mask in masks:
        found = mask if found is None else b.and_(found, mask)
    return found
