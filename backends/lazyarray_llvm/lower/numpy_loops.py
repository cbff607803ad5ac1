"""Owns the running of NumPy's inner loops inside kernels: blocks of operands in stack memory, calls, results read back.

A walk along the last axis computes the operands of a whole block ahead, a strip of memory each, calls the loops on the
strips, and then goes on vector by vector with their results.  Where values cannot be computed ahead (they follow from a
scan, or from counted lanes), and for values known once per row, a loop runs on one vector or number alone.  NumPy's
loops give an element the same bits wherever it stands in a call; on steps they do depend (`ir/numpy_loops.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lazyarray.ir.ops import OPS
from lazyarray.ir.raises import harmless
from lazyarray.schedule.kernel import Instruction, Kernel
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import COMPLEX_PARTS, AnyValue, Complex, Value, is_complex, itemsize, llvm_type
from lazyarray_llvm.elementwise.comparison import choose
from lazyarray_llvm.lower import elements, memory
from lazyarray_llvm.lower.frame import Frame, Pointer, Register
from lazyarray_llvm.lower.nest import Span
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.lower.values import used_values, value_codes
from lazyarray_llvm.numpy_calls import is_numpy_loop, provide

if TYPE_CHECKING:
    from lazyarray_llvm.lower.body import Body

_SLACK = 128  # elements behind a strip that vectors cut short may touch: the widest vector
_STRIPS_BYTES = 16 << 10  # of all strips together: half of a usual first-level cache
_LEAST, _MOST = 128, 1024  # elements of a block

Known = Mapping[int, AnyValue] | Callable[[Point], Mapping[int, AnyValue]]


def can_look_ahead(kernel: Kernel) -> bool:
    """Whether values at later points of a walk can be computed before their turn."""
    return not kernel.packs and not any(stage.scan is not None for stage in kernel.stages)


@dataclass(frozen=True, slots=True)
class Phase:
    """Operands to be written to strips, then the loops that take them."""

    writes: tuple[int, ...]
    computes: tuple[Instruction, ...]
    loops: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class Ahead:
    """How the loops of some instructions are run ahead; `rest`: what is left to compute vector by vector."""

    phases: tuple[Phase, ...]
    strips: frozenset[int]
    rest: tuple[Instruction, ...]
    strict: bool
    single: bool
    lanes: int


class NumpyLoops:
    """The loops of one function under construction."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.frame: Frame = body.frame
        self.codes = value_codes(self.frame.kernel)
        self._made: dict[tuple[int, ...], Ahead | None] = {}
        self._strips: dict[int, Pointer] = {}  # of values
        self._slots: dict[tuple[str, int], Pointer] = {}  # by type of element and number
        self._base: Pointer | None = None
        self._block = 0

    # -- ahead ----------------------------------------------------------------------------------------------
    def ahead(self, instructions: Sequence[Instruction], point: Point, known: Known | None) -> Ahead | None:
        """Runs the loops of a block ahead if the point is the first of one; None where that is not to be done."""
        if point.reach is None or (known is not None and not callable(known)):
            return None
        key = tuple(i.target for i in instructions)
        if key not in self._made:
            self._made[key] = self._analyse(instructions)
        found = self._made[key]
        if found is None:
            return None
        frame, b, reach = self.frame, self.frame.b, point.reach
        base = self._base_cell()
        filled = b.emit(f"load i64, ptr {reach.filled.ref}, align 8", "i8", 1, "filled")
        end = b.add(point.index, point.count())

        def fill() -> list[Register]:
            count = frame.minimum(frame.number(self._block), b.sub(reach.stop, point.index))
            b.line(f"store {point.index}, ptr {base.ref}, align 8")
            after = b.add(point.index, count)
            b.line(f"store {after}, ptr {reach.filled.ref}, align 8")
            for phase in found.phases:
                self._run(found, phase, point.index, count, known)
            return []

        frame.when(b.compare("sgt", end, filled), fill)
        return found

    def results(self, ahead: Ahead, point: Point, env: dict[int, AnyValue]) -> None:
        """Adds what lies in strips at a point."""
        base = self.frame.b.emit(f"load i64, ptr {self._base_cell().ref}, align 8", "i8", 1, "base")
        index = self.frame.b.sub(point.index, base)
        needed = {a for i in ahead.rest for a in i.args} | self._outside({i.target for i in ahead.rest})
        for number in sorted(ahead.strips & (needed | self._roots)):
            env[number] = self._read(number, index, point)

    def _run(self, ahead: Ahead, phase: Phase, start: Value, count: Value, known: Known | None) -> None:
        frame, b = self.frame, self.frame.b
        ready = {a for i in phase.computes for a in i.args} & ahead.strips

        def vector(point: Point, _: list[Register]) -> list[Register]:
            env: dict[int, AnyValue] = dict(known(point)) if callable(known) else {}
            index = b.sub(point.index, start)
            for number in sorted(ready - {i.target for i in phase.computes}):
                env[number] = self._read(number, index, point)
            self.body.straight(phase.computes, point, env)
            for number in phase.writes:
                self._write(self._strips[number], index, self.body.value(number, env, point.lanes))
            return []

        if phase.writes:
            span = Span(ahead.lanes, ahead.lanes, single=ahead.single, strict=ahead.strict)
            with frame.scope():
                self.body.settle()
                span.walk(frame, start, b.add(start, count), [], vector)
        for loop in phase.loops:
            places = [self._place(ahead, a, start) for a in loop.args]
            self._call(loop, places, self._strips[loop.target], count, self._block)

    def _place(self, ahead: Ahead, number: int, start: Value) -> Pointer:
        """Where an operand lies for a block."""
        if number in ahead.strips:
            return self._strips[number]
        if self.body.levels.of(number) < 3:
            return self._one_number(number)
        access = self._direct(number)
        assert access is not None
        return memory.element(self.frame, access, self.body.rows[access], start)

    def _one_number(self, number: int) -> Pointer:
        place = self.frame.alloca(self._element_type(self.codes[number]), "operand", 16)
        self._write(place, self.frame.number(0), self.body.value(number, {}, 1))
        return place

    def _direct(self, number: int) -> int | None:
        """The access that holds an operand just as a loop takes it."""
        load = self._loads.get(number)
        if load is None or not isinstance(load.attr, int):
            return None
        access = self.frame.kernel.accesses[load.attr]
        return load.attr if access.code == self.codes[number] and access.steps[-1] == "1" else None

    # -- what is to be done ---------------------------------------------------------------------------------
    @property
    def _loads(self) -> dict[int, Instruction]:
        return {i.target: i for s in self.frame.kernel.stages for i in (*s.body, *s.after) if i.op == "load"}

    @property
    def _roots(self) -> set[int]:
        """Values that something else than an instruction reads."""
        found: set[int] = set()
        for stage in self.frame.kernel.stages:
            bare = stage.__class__(stage.level, (), stage.reductions, stage.scan, (), stage.stores, stage.kept)
            found |= used_values(bare) | {t.offset for t in stage.stores if t.offset is not None}
        return found

    def _outside(self, targets: set[int]) -> set[int]:
        """Values that instructions read which are not among `targets`."""
        return {
            a for s in self.frame.kernel.stages for i in (*s.body, *s.after) if i.target not in targets for a in i.args
        }

    def _analyse(self, instructions: Sequence[Instruction]) -> Ahead | None:
        levels = self.body.levels
        vectors = [i for i in instructions if levels.of(i.target) == 3]
        made = {i.target: i for i in vectors}
        loops = [i for i in vectors if is_numpy_loop(i)]
        if not loops:
            return None
        turn: dict[int, int] = {}  # in which phase a value can be computed first
        for i in vectors:
            first = max((turn.get(a, 0) for a in i.args), default=0)
            turn[i.target] = first + 1 if is_numpy_loop(i) else first
        phases: list[Phase] = []
        strips: set[int] = set()
        for number in sorted({turn[i.target] for i in loops}):
            now = [i for i in loops if turn[i.target] == number]
            wanted = dict.fromkeys(
                a
                for i in now
                for a, letter in zip(i.args, _letters(i), strict=False)
                if a not in strips and (levels.of(a) == 3 or letter != "0") and self._direct(a) is None
            )
            phases.append(Phase(tuple(wanted), _closure(wanted, made, strips), tuple(now)))
            strips |= {*wanted, *(i.target for i in now)}
        ends = (self._roots | self._outside(set(made))) & set(made)
        rest = _closure(dict.fromkeys(ends), made, strips)
        self._assign(phases, {*ends, *(a for i in rest for a in i.args)})
        steps = [
            memory.fixed_step(self.frame.kernel.accesses[i.attr])
            for i in vectors
            if i.op in ("load", "gather") and isinstance(i.attr, int)
        ]
        sizes = [itemsize(COMPLEX_PARTS.get(i.code, i.code)) for i in vectors]
        width = self.frame.host.vector_bytes
        return Ahead(
            tuple(phases),
            frozenset(strips),
            rest,
            strict=any(step is not None and step > 1 for step in steps),
            single=width == 64 and all(step in (0, 1) for step in steps),
            lanes=max(1, min(64, width // max(sizes))),
        )

    # -- strips ---------------------------------------------------------------------------------------------
    def _assign(self, phases: Sequence[Phase], kept: set[int]) -> None:
        """Gives every strip memory, which others take over when nobody reads it any more; `kept`: read to the end."""
        last: dict[int, int] = {}
        for turn, phase in enumerate(phases):
            for i in (*phase.computes, *phase.loops):
                last.update(dict.fromkeys(i.args, turn))
        slots: list[str] = []  # their types
        slot_of: dict[int, int] = {}
        free: list[int] = []
        for turn, phase in enumerate(phases):
            for number in (*phase.writes, *(i.target for i in phase.loops)):
                element = self._element_type(self.codes[number])
                slot = next((slot for slot in free if slots[slot] == element), None)
                if slot is None:
                    slot = len(slots)
                    slots.append(element)
                else:
                    free.remove(slot)
                slot_of[number] = slot
            done = [n for n in slot_of if n not in kept and last.get(n, -1) == turn]
            free += [slot_of[n] for n in done]
        if not self._block:
            widths = {slot_of[number]: itemsize(self.codes[number]) for number in slot_of}
            fits = _STRIPS_BYTES // max(1, sum(widths.values())) // 64 * 64
            self._block = max(_LEAST, min(_MOST, fits))
        for number, slot in slot_of.items():
            seen = sum(1 for earlier in slots[:slot] if earlier == slots[slot])
            self._strips[number] = self._slot(slots[slot], seen)

    def _slot(self, element: str, number: int) -> Pointer:
        found = self._slots.get((element, number))
        if found is None:
            place = self.frame.alloca(f"[{self._block + _SLACK} x {element}]", "strip", 64)
            found = self._slots[element, number] = place
        return found

    # -- one vector -----------------------------------------------------------------------------------------
    def alone(
        self, instruction: Instruction, arguments: Sequence[AnyValue], point: Point | None, inside: Value | None
    ) -> AnyValue:
        """The result of a loop that runs on one vector, or one number; `inside`: the lanes that count, if not all."""
        frame = self.frame
        lanes = 1 if point is None else point.lanes
        places = []
        for number, argument, letter in zip(instruction.args, arguments, _letters(instruction), strict=False):
            if inside is not None and inside.lanes == argument.lanes:
                argument = choose(frame.b, inside, argument, _constant(frame, argument, harmless(instruction.op)))
            if letter == "0" and (point is None or self.body.levels.of(number) < 3):
                argument = ops.pick(frame.b, argument, [0]) if lanes > 1 else argument
            place = frame.alloca(f"[{lanes} x {self._element_type(argument.code)}]", "operand", 64)
            self._write(place, frame.number(0), argument)
            places.append(place)
        result = frame.alloca(f"[{lanes} x {self._element_type(instruction.code)}]", "result", 64)
        at = point or Point(frame, frame.number(0), 1)
        self._call(instruction, places, result, at.count(), lanes)
        return self._load(result, instruction.code, at)

    def _element_type(self, code: str) -> str:
        part = llvm_type(COMPLEX_PARTS.get(code, code), 1)
        return f"[2 x {part}]" if is_complex(code) else part

    def _base_cell(self) -> Pointer:
        if self._base is None:
            self._base = self.frame.alloca("i64", "block.base")
        return self._base

    def _write(self, strip: Pointer, index: Value, value: AnyValue) -> None:
        """Writes all lanes; those beyond the row's end are written again, or slack."""
        at = self.frame.offset(strip, index, itemsize(value.code), "strip.at")
        wide = memory.interleave(self.frame, ops.parts(value))
        self.frame.b.line(f"store {wide}, ptr {at.ref}, align {itemsize(wide.code)}")

    def _read(self, number: int, index: Value, point: Point) -> AnyValue:
        code = self.codes[number]
        return self._load(self.frame.offset(self._strips[number], index, itemsize(code), "strip.at"), code, point)

    def _load(self, at: Pointer, code: str, point: Point) -> AnyValue:
        """A vector of memory; lanes outside the row repeat lane 0."""
        b, lanes = self.frame.b, point.lanes
        part = COMPLEX_PARTS.get(code, code)
        width = 2 if is_complex(code) else 1
        wide = b.emit(
            f"load {llvm_type(part, width * lanes)}, ptr {at.ref}, align {itemsize(part)}", part, width * lanes, "strip"
        )
        pieces = [wide]
        if width == 2:
            picks = [range(k, 2 * lanes, 2) for k in range(2)]
            pieces = [b.extract(wide, k) for k in range(2)] if lanes == 1 else [b.shuffle(wide, None, p) for p in picks]
        if not point.whole and lanes > 1:
            pieces = [b.select(point.mask(part), p, b.shuffle(p, None, [0] * lanes)) for p in pieces]
        return ops.whole(pieces)

    # -- calls ----------------------------------------------------------------------------------------------
    def _call(
        self, loop: Instruction, operands: Sequence[Pointer], result: Pointer, count: Value, capacity: int
    ) -> None:
        """Runs a loop over `count` elements that lie side by side, in the steps that NumPy would take."""
        frame = self.frame
        letters = _letters(loop)
        codes = [*(self.codes[a] for a in loop.args), loop.code]
        levels = [*(self.body.levels.of(a) for a in loop.args), 3]
        apart = any(letter == "0" and level == 3 for letter, level in zip(letters, levels, strict=True))
        places = [
            self._spaced(place, code, letter, count, capacity, copies=k < len(operands))
            for k, (place, code, letter) in enumerate(zip([*operands, result], codes, letters, strict=True))
        ]

        def run() -> None:
            if not apart:
                self._emit(loop, codes, letters, places, count)
                return

            def one(k: Value, _: list[Register]) -> list[Register]:
                here = [
                    place if letter == "0" and level < 3 else frame.offset(place, k, _step(code, letter))
                    for place, code, letter, level in zip(places, codes, letters, levels, strict=True)
                ]
                self._emit(loop, codes, letters, here, frame.number(1))
                return []

            frame.loop(frame.number(0), count, 1, [], one, "element")

        frame.watch.around(loop.target, run)
        if letters[-1] in "sn":
            size = itemsize(loop.code)
            step = frame.number(_step(loop.code, letters[-1]))
            elements.call_copy(frame, size, result, frame.number(size), places[-1], step, count)

    def _spaced(self, place: Pointer, code: str, letter: str, count: Value, capacity: int, *, copies: bool) -> Pointer:
        """An operand in steps that are not from one element to the next, in memory of its own."""
        if letter not in "sn":
            return place
        frame, b, size = self.frame, self.frame.b, itemsize(code)
        made = frame.alloca(f"[{2 * (capacity + _SLACK)} x {self._element_type(code)}]", "spaced", 64)
        if letter == "n":
            made = frame.offset(made, b.sub(count, frame.number(1)), size, "last")
        if copies:
            elements.call_copy(frame, size, made, frame.number(_step(code, letter)), place, frame.number(size), count)
        return made

    def _emit(
        self, loop: Instruction, codes: Sequence[str], letters: str, places: Sequence[Pointer], count: Value
    ) -> None:
        frame, b = self.frame, self.frame.b
        symbol = provide(loop.op, tuple(codes))
        b.module.define(symbol, f"@{symbol} = external global [2 x ptr]")
        steps = [_step(code, letter) for code, letter in zip(codes, letters, strict=True)]
        name = "steps." + ".".join(str(step).replace("-", "n") for step in steps)
        values = ", ".join(f"i64 {step}" for step in steps)
        b.module.define(name, f"@{name} = private unnamed_addr constant [{len(steps)} x i64] [{values}]")
        arguments = frame.alloca(f"[{len(places)} x ptr]", "loop.args")
        size = frame.alloca("i64", "loop.size")
        for k, place in enumerate(places):
            at = frame.offset(arguments, frame.number(k), 8, "loop.arg")
            b.line(f"store ptr {place.ref}, ptr {at.ref}, align 8")
        b.line(f"store {count}, ptr {size.ref}, align 8")
        function = frame.pointer(f"load ptr, ptr @{symbol}, align 8", "loop")
        at = frame.pointer(f"getelementptr ptr, ptr @{symbol}, i64 1", "loop.data.at")
        data = frame.pointer(f"load ptr, ptr {at.ref}, align 8", "loop.data")
        b.line(f"call void {function.ref}(ptr {arguments.ref}, ptr {size.ref}, ptr @{name}, ptr {data.ref})")


def _letters(loop: Instruction) -> str:
    return OPS[loop.op].steps


def _step(code: str, letter: str) -> int:
    size = itemsize(code)
    return {"x": size, "0": 0, "s": 2 * size, "n": -size}[letter]


def _constant(frame: Frame, like: AnyValue, number: float) -> AnyValue:
    if isinstance(like, Complex):
        return Complex(frame.b.like(like.re, number), frame.b.like(like.im, 0.0))
    return frame.b.like(like, number)


def _closure(wanted: Mapping[int, None], made: Mapping[int, Instruction], strips: set[int]) -> tuple[Instruction, ...]:
    """The instructions that lead from strips and memory to the wanted values, in order."""
    found: set[int] = set()
    stack = [number for number in wanted if number in made and number not in strips]
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            stack += [a for a in made[number].args if a in made and a not in strips]
    return tuple(i for target, i in made.items() if target in found)
