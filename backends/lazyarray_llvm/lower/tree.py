"""Owns NumPy's pairwise tree along the last axis: leaves in lanes side by side, joined in tree order by a stack.

A leaf has at most 128 elements, added in eight lanes (complex: 64 and four).  The sums of a stage never leave
registers; its other reductions ride along, leaf by leaf, in stack memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lazyarray.schedule.kernel import Reduction
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import COMPLEX_PARTS, AnyValue, Value, is_complex, llvm_type
from lazyarray_llvm.lower.body import Body
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.nest import Span
from lazyarray_llvm.lower.pairs import order
from lazyarray_llvm.lower.point import Point, Reach, reach_of

_STACK = 64  # levels of the pairwise tree


class Cells:
    """Stack memory for registers that live from one span to the next."""

    def __init__(self, frame: Frame, shape: Sequence[tuple[str, int]]) -> None:
        self.frame = frame
        self.like = [Value("", code, lanes) for code, lanes in shape]
        self.kept = [one._replace(code=frame.carried_code(one.code, one.lanes)) for one in self.like]
        self.places = [frame.alloca(one.type, "cell", 64) for one in self.kept]

    def store(self, registers: Sequence[Register]) -> None:
        for place, register in zip(self.places, map(self.frame.carry, registers), strict=True):
            self.frame.b.line(f"store {register.type} {register.ref}, ptr {place.ref}")

    def load(self) -> list[Register]:
        b = self.frame.b
        found = []
        for like, one, place in zip(self.like, self.kept, self.places, strict=True):
            loaded = b.emit(f"load {one.type}, ptr {place.ref}", one.code, one.lanes, "state")
            found.append(self.frame.resume(like, loaded))
        return found


class Walk(Protocol):
    """What the tree needs of a pass (`rowpass.Pass`)."""

    body: Body
    frame: Frame
    span: Span
    trees: list[Reduction]

    @property
    def lanes(self) -> int: ...

    def step(self, point: Point, carried: Sequence[Register]) -> tuple[list[Register], dict[int, AnyValue]]:
        """The body at a point and the running reductions after it."""
        ...


class Tree:
    """The pairwise tree of one run."""

    def __init__(self, pass_: Walk, cells: Cells) -> None:
        self.pass_ = pass_
        self.frame = frame = pass_.frame
        self.cells = cells
        self.codes = [ops.sum_code(r.code) for r in pass_.trees]
        self.unit = ops.unit_elements(self.codes[0])
        self.leaf = ops.leaf_elements(self.codes[0])
        self.parts = [
            p for code in self.codes for p in [COMPLEX_PARTS.get(code, code)] * (2 if is_complex(code) else 1)
        ]
        self.targets = [
            r.target
            for r, code in zip(pass_.trees, self.codes, strict=True)
            for _ in range(2 if is_complex(code) else 1)
        ]
        self.reach: Reach | None = None
        self.readable = frame.number(0)
        # Per level: the size of the right half to come (0: it is under way), and the sums of the left half.
        self.pending = frame.alloca(f"[{_STACK} x i64]", "pending")
        self.lefts = [frame.alloca(f"[{_STACK} x {llvm_type(p, 1)}]", "left.sums") for p in self.parts]

    def _values(self, registers: Sequence[Register]) -> list[AnyValue]:
        values, at = [], 0
        for code in self.codes:
            width = 2 if is_complex(code) else 1
            values.append(ops.whole([v for v in registers[at : at + width] if isinstance(v, Value)]))
            at += width
        return values

    def run(self, start: Value, count: Value) -> list[AnyValue]:
        """The sums of [start, start + count): descends to a leaf, adds it, ascends while halves are finished."""
        frame, b = self.frame, self.frame.b
        names = {n: b.fresh(n) for n in ("descend", "split", "leaf", "ascend", "parent", "right", "join", "tree.done")}
        end = b.add(start, count)
        self.reach = reach_of(frame, start, end)
        # Vectors of elements apart read up to where the one after their last would be.
        self.readable = b.sub(end, frame.number(1)) if self.pass_.span.strict else end
        before = b.block
        b.jump(names["descend"])
        b.start(names["descend"])
        size, depth, position = (Value("%" + b.fresh(n), "i8", 1) for n in ("size", "depth", "position"))
        descents = len(b.lines)
        b.lines.append("")
        b.branch(b.compare("sgt", size, frame.number(self.leaf)), names["split"], names["leaf"])
        left, deeper = self._split(names, size, depth)
        b.start(names["leaf"])
        sums = self._leaf(position, size)
        following, leaf_end = b.add(position, size), b.block
        b.jump(names["ascend"])
        b.start(names["ascend"])
        level = Value("%" + b.fresh("level"), "i8", 1)
        finished = [Value("%" + b.fresh("sum"), p, 1) for p in self.parts]
        ascents = len(b.lines)
        b.lines.append("")
        b.branch(b.compare("eq", level, frame.number(0)), names["tree.done"], names["parent"])
        above, waiting, joined = self._ascend(names, level, finished)
        sources = [before, names["split"], names["right"]]
        b.lines[descents] = "\n".join(
            _phi(register, values, sources)
            for register, values in (
                (size, [count, left, waiting]),
                (depth, [frame.number(0), deeper, level]),
                (position, [start, position, following]),
            )
        )
        merged = zip([level, *finished], [depth, *sums], [above, *joined], strict=True)
        b.lines[ascents] = "\n".join(_phi(r, [x, y], [leaf_end, names["join"]]) for r, x, y in merged)
        b.start(names["tree.done"])
        return self._values(finished)

    def _split(self, names: dict[str, str], size: Value, depth: Value) -> tuple[Value, Value]:
        """Leaves the right half for later: the left half's size, a whole number of units, and its depth."""
        frame, b = self.frame, self.frame.b
        b.start(names["split"])
        left = b.and_(b.binary("lshr", size, frame.number(1)), frame.number(-self.unit))
        self._store(b.sub(size, left), self.pending, depth)
        deeper = b.add(depth, frame.number(1))
        b.jump(names["descend"])
        return left, deeper

    def _ascend(
        self, names: dict[str, str], level: Value, finished: Sequence[Value]
    ) -> tuple[Value, Value, list[Value]]:
        """From a finished half to its right sibling, or joined with its left one to the parent."""
        frame, b = self.frame, self.frame.b
        b.start(names["parent"])
        above = b.sub(level, frame.number(1))
        waiting = self._load(self.pending, above, "i8")
        b.branch(b.compare("eq", waiting, frame.number(0)), names["join"], names["right"])
        b.start(names["right"])
        for place, value in zip(self.lefts, finished, strict=True):
            self._store(value, place, above)
        self._store(frame.number(0), self.pending, above)
        b.jump(names["descend"])
        b.start(names["join"])
        lefts = [self._load(place, above, p) for place, p in zip(self.lefts, self.parts, strict=True)]
        joined = [b.add(a, c) for a, c in zip(lefts, finished, strict=True)]
        self._watch(lefts, finished, joined)
        b.jump(names["ascend"])
        return above, waiting, joined

    def _watch(self, before: Sequence[Value], operands: Sequence[Value], after: Sequence[Value]) -> None:
        for target, *step in zip(self.targets, before, operands, after, strict=True):
            self.frame.watch.combined(target, *step)

    def _store(self, value: Value, base: Pointer, at: Value) -> None:
        place = self.frame.pointer(f"getelementptr {value.type}, ptr {base.ref}, i64 {at.ref}", "slot")
        self.frame.b.line(f"store {value}, ptr {place.ref}")

    def _load(self, base: Pointer, at: Value, code: str) -> Value:
        type_ = llvm_type(code, 1)
        place = self.frame.pointer(f"getelementptr {type_}, ptr {base.ref}, i64 {at.ref}", "slot")
        return self.frame.b.emit(f"load {type_}, ptr {place.ref}", code, 1, "waiting")

    # -- leaves ---------------------------------------------------------------------------------------------
    def _leaf(self, start: Value, count: Value) -> list[Value]:
        """The sums of one leaf: `unit` lanes side by side, folded, then the rest one by one."""
        frame, b, p = self.frame, self.frame.b, self.pass_
        stop = b.add(start, count)
        whole_stop = b.add(start, b.and_(count, frame.number(-self.unit)))
        zeros: list[Register] = [b.const(code, -0.0, self.unit) for code in self.parts]
        running = self.cells.load()
        carried: list[Register] = [*running, *zeros]
        state: list[Register] = [start, *carried]
        lanes = p.span.narrow

        def walk(state: Sequence[Register], width: int) -> list[Register]:
            """Whole vectors of so many lanes, as many as there are."""

            def inside(j: Value, inner: list[Register]) -> list[Register]:
                after, env = p.step(Point(frame, j, width, None, self.reach), inner[: len(running)])
                return [*after, *self._add_groups(env, inner[len(running) :], None, width)]

            first, *before = state
            assert isinstance(first, Value)
            last = frame.minimum(whole_stop, self.readable) if p.span.strict else whole_stop
            return frame.walk(first, b.binary("sub nsw", last, frame.number(width - 1), "limit"), width, before, inside)

        def cut(j: Value, inner: list[Register]) -> list[Register]:
            left = b.binary("sub nsw", stop, j, "left")
            active = frame.minimum(left, frame.number(lanes)) if p.span.single else left
            after, env = p.step(Point(frame, j, lanes, active, self.reach), inner[: len(running)])
            groups = b.sub(whole_stop, j)
            at = len(running) + len(zeros)
            sums = self._add_groups(env, inner[len(running) : at], groups, lanes)
            return [*after, *sums, *self._rest(env, inner[at:], groups, lanes)]

        if p.span.single:
            state = frame.loop(start, stop, lanes, [*carried, *zeros], cut)
        else:
            for width in sorted({p.lanes, lanes}, reverse=True):
                state = walk(state, width)
            first = state[0]
            assert isinstance(first, Value)
            last = [*state[1:], *zeros]
            state[1:] = frame.when(b.compare("slt", first, stop), lambda: cut(first, last), last)
        registers = state[1:]
        self.cells.store(registers[: len(running)])
        sums = registers[len(running) : len(running) + len(zeros)]
        rest = registers[len(running) + len(zeros) :]
        watches = [frame.watch.combining(r.target) for r in p.trees]
        folded = [
            part
            for value, seen in zip(self._values(sums), watches, strict=True)
            for part in ops.parts(ops.fold_pairwise(b, self._turned(value), seen))
        ]
        return self._add_rest(folded, rest, b.and_(count, frame.number(self.unit - 1)))

    def _turned(self, group: AnyValue) -> AnyValue:
        """A group from the order of memory to that of the sums (`lower/pairs.py`), or back."""
        return ops.pick(self.frame.b, group, order(self.codes[0], self.unit)) if self.frame.in_halves else group

    def _groups(self, env: dict[int, AnyValue], lanes: int) -> list[list[Value]]:
        """Per part of every sum: its vector in groups of `unit` lanes."""
        grouped = []
        for r, code in zip(self.pass_.trees, self.codes, strict=True):
            value = self.pass_.body.value(r.value, env, lanes)
            if value.code != code:
                value = self.frame.watch.cast(r.target, value, code)
            for part in ops.parts(value):
                picks = [range(i, i + self.unit) for i in range(0, lanes, self.unit)]
                grouped.append([v for pick in picks for v in ops.parts(ops.pick(self.frame.b, part, pick))])
        return grouped

    def _add_groups(
        self, env: dict[int, AnyValue], sums: Sequence[Register], left: Value | None, lanes: int
    ) -> list[Register]:
        b = self.frame.b
        after: list[Register] = []
        for target, groups, total in zip(self.targets, self._groups(env, lanes), sums, strict=True):
            assert isinstance(total, Value)
            for i, group in enumerate(groups):
                if left is not None:
                    (group,) = ops.parts(self._turned(group))
                added = b.add(total, group)
                if left is not None:
                    taken = b.compare("sgt", left, self.frame.number(i * self.unit))
                    added = b.emit(f"select {taken}, {added}, {total}", added.code, added.lanes, "sel")
                self.frame.watch.combined(target, total, group, added)
                total = added
            after.append(total)
        return after

    def _rest(self, env: dict[int, AnyValue], before: Sequence[Register], left: Value, lanes: int) -> list[Register]:
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
            for target, total, group in zip(self.targets, sums, rest, strict=True):
                assert isinstance(group, Value)
                taken = b.select(inside.mask(group.code), group, b.like(group, -0.0))
                for k in range(self.unit - 1):
                    before, one = total, b.extract(taken, k)
                    total = b.add(before, one)
                    frame.watch.combined(target, before, one, total)
                after.append(total)
            return after

        found = frame.when(b.compare("sgt", count, frame.number(0)), add, sums)
        return [v for v in found if isinstance(v, Value)]


def _phi(register: Value, values: Sequence[Value], sources: Sequence[str]) -> str:
    pairs = ", ".join(f"[ {value.ref}, %{source} ]" for value, source in zip(values, sources, strict=True))
    return f"  {register.ref} = phi {register.type} {pairs}"
