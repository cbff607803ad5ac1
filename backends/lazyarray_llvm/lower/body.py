"""Owns the evaluation of instructions: at which loop level a value is computed, and its register at a point.

Levels: 0 once per call, 1 once per point of the outer parallel axes, 2 once per point of the outer reduction axes too,
3 for every vector of the last axis.  Values below level 3 are one-lane registers; where a vector needs them they are
splatted once, before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from lazyarray.schedule.kernel import Instruction
from lazyarray_llvm.builder import COMPLEX_PARTS, AnyValue, Complex, Value, is_complex
from lazyarray_llvm.lower import elements, memory, ordered, packing
from lazyarray_llvm.lower.ahead import prefetch
from lazyarray_llvm.lower.dividing import by_products
from lazyarray_llvm.lower.facts import Levels
from lazyarray_llvm.lower.frame import Frame, Pointer, Scope
from lazyarray_llvm.lower.numpy_loops import Known, NumpyLoops, can_look_ahead
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.numpy_calls import is_numpy_loop


class Body:
    """Computes values of one kernel in one function; registers are kept by value number."""

    def __init__(self, frame: Frame, levels: Levels) -> None:
        self.frame = frame
        self.levels = levels
        self.registers: dict[int, AnyValue] = {}  # one-lane values, levels 0 to 2
        self.literals: dict[int, Instruction] = {}
        self.scopes: dict[str, Scope] = {}
        # Set by the nest before instructions are evaluated:
        self.rows: list[Pointer] = []  # per access: where the current row begins
        self.indices: dict[int, Value] = {}  # per outer axis
        self.counts: dict[int, Value] = {}  # per mask that `expand` counts: true lanes before the current vector
        self.packings: packing.Packings | None = None  # how packed stores are made, where the kernel counts
        self.additions: ordered.Additions | None = None  # None: additions are made where they stand
        self.recall: Callable[[int, Point], AnyValue] = _no_recall
        self.ahead: Callable[[int], Value | None] = not_ahead
        self.loops = NumpyLoops(self)
        self._by_products = by_products(frame.kernel, levels, frame.host)
        frame.looks_ahead = can_look_ahead(frame.kernel) and any(
            is_numpy_loop(i) for s in frame.kernel.stages for i in (*s.body, *s.after)
        )

    # -- one-lane values ------------------------------------------------------------------------------------
    def compute(self, instructions: Iterable[Instruction], level: int) -> None:
        """Evaluates the one-lane values of a level, at the current place."""
        for instruction in instructions:
            if self.levels.of(instruction.target) == level and level < 3:
                self.registers[instruction.target] = self._evaluate(instruction, self.registers, None)
                if instruction.op == "const":
                    self.literals[instruction.target] = instruction

    def settle(self) -> None:
        """Splats of the values known so far may be made at the place where the current scope begins."""
        for value in self.registers.values():
            for part in (value.re, value.im) if isinstance(value, Complex) else (value,):
                self.scopes.setdefault(part.ref, self.frame.open[-1])

    # -- vectors --------------------------------------------------------------------------------------------
    def vectors(
        self, instructions: Sequence[Instruction], point: Point, known: Known | None = None
    ) -> dict[int, AnyValue]:
        """Evaluates the values of level 3 at a point; `known`: values, or what finds them at any point of a walk."""
        ahead = self.loops.ahead(instructions, point, known)
        env: dict[int, AnyValue] = dict(known(point) if callable(known) else known or {})
        if ahead is not None:
            self.loops.results(ahead, point, env)
            instructions = ahead.rest
        self.straight(instructions, point, env)
        return env

    def straight(self, instructions: Iterable[Instruction], point: Point, env: dict[int, AnyValue]) -> None:
        """Evaluates the values of level 3 at a point, one after the other."""
        for instruction in instructions:
            if self.levels.of(instruction.target) == 3:
                env[instruction.target] = self._evaluate(instruction, env, point)
        self.frame.watch.settle(lambda masks: self._counting(masks, env, point))

    def value(self, number: int, env: Mapping[int, AnyValue], lanes: int) -> AnyValue:
        """A value as a register of `lanes` lanes."""
        found = env.get(number)
        if found is not None and found.lanes == lanes:
            return found
        literal = self.literals.get(number)
        if literal is not None:
            return constant(self.frame, literal, lanes)
        one = self.registers[number] if found is None else found
        if one.lanes == lanes:
            return one
        return self.frame.splat(one, lanes, self._scope(one))

    def _scope(self, one: AnyValue) -> Scope:
        refs = [one.re.ref, one.im.ref] if isinstance(one, Complex) else [one.ref]
        if all(self.frame.is_argument(ref) for ref in refs):
            return self.frame.entry
        found = self.scopes.get(refs[0])
        return found if found is not None and found in self.frame.open else self.frame.open[-1]

    def _evaluate(self, instruction: Instruction, env: Mapping[int, AnyValue], point: Point | None) -> AnyValue:
        frame, op, attr = self.frame, instruction.op, instruction.attr
        lanes = 1 if point is None else point.lanes
        if op == "const":
            return constant(frame, instruction, lanes)
        if op == "scalar":
            assert isinstance(attr, int)
            return frame.scalar(attr)
        if op == "load":
            assert isinstance(attr, int)
            if point is None:
                return elements.load_scalar(frame, frame.kernel.accesses[attr].code, self.rows[attr], f"in{attr}")
            later = self.ahead(attr)
            if later is not None:
                prefetch(frame, attr, frame.offset(self.rows[attr], later, hint="later"), point)
            return memory.load(frame, attr, self.rows[attr], point)
        if op == "index":
            assert isinstance(attr, int)
            return self.indices[attr] if point is None or attr != self.levels.last else lane_index(point)
        if op == "recall":
            assert isinstance(attr, int)
            assert point is not None
            return self.recall(attr, point)
        arguments = [self.value(a, env, lanes) for a in instruction.args]
        if op == "gather":
            assert isinstance(attr, int)
            return self.gather(attr, instruction.args[0], arguments[0], point or Point(frame, frame.number(0), 1))
        if op == "expand":
            assert isinstance(attr, int)
            assert isinstance(arguments[0], Value)
            before = self.counts[instruction.args[0]]
            at = point or Point(frame, frame.number(0), 1)
            return packing.expand(frame, instruction.code, self.rows[attr], at, arguments[0], before)
        if is_numpy_loop(instruction):
            covers = frame.watch.covers(instruction.target)
            inside = self._counting(covers, env, point) if covers else None
            return self.loops.alone(instruction, arguments, point, inside)
        frame.b.by_products = instruction.target in self._by_products
        return frame.watch.lower(
            instruction, arguments, lambda masks: self._counting(masks, env, point), settles=point is not None
        )

    def _counting(self, masks: Iterable[int], env: Mapping[int, AnyValue], point: Point | None) -> Value | None:
        """The lanes of a point that are elements of the nest and lie under all `masks`; None for all."""
        if point is None:
            return None
        found = None if point.whole or point.lanes == 1 else point.mask()
        for number in masks:
            mask = self.value(number, env, point.lanes)
            assert isinstance(mask, Value)
            found = mask if found is None else self.frame.b.and_(found, mask)
        return found

    def gather(self, access: int, number: int, offsets: AnyValue, point: Point) -> AnyValue:
        """Elements at byte offsets from an access; a row at once where the offset is the same along the last axis."""
        base = self.placed(access, number)
        if base is not None:
            return memory.load(self.frame, access, base, point)
        assert isinstance(offsets, Value)
        offsets = memory.along_lanes(self.frame, access, offsets, point)
        return memory.gather_bytes(self.frame, access, self.rows[access], offsets, point)

    def placed(self, access: int, number: int) -> Pointer | None:
        """Where the row begins that value `number`, an offset known once per row, leads to."""
        if self.levels.of(number) == 3 or self.frame.kernel.accesses[access].steps[-1] == "0":
            return None
        offset = self.registers[number]
        assert isinstance(offset, Value)
        return self.frame.offset(self.rows[access], offset, hint="placed")


def _no_recall(value: int, point: Point) -> AnyValue:
    raise ValueError(f"value {value} is recalled but no stage keeps it")


def not_ahead(access: int) -> None:
    """How many bytes ahead of a walk the lines of an access are asked for: not at all."""


def constant(frame: Frame, instruction: Instruction, lanes: int) -> AnyValue:
    """The literal of a const instruction in every lane."""
    number = instruction.attr if instruction.attr is not None else 0
    if is_complex(instruction.code):
        part = COMPLEX_PARTS[instruction.code]
        return Complex(frame.b.const(part, number, lanes), frame.b.const(part, 0.0, lanes))
    return frame.b.const(instruction.code, number, lanes)


def lane_index(point: Point) -> Value:
    """The loop index of every lane; lanes outside the row repeat lane 0's."""
    b = point.frame.b
    return b.add(b.splat(point.index, point.lanes), point.clamped()) if point.lanes > 1 else point.index


# -- what a stage needs ------------------------------------------------------------------------------------
