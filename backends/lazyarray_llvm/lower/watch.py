"""Owns the finding of floating-point errors by looking at values: which value of a kernel raised what, exactly.

A watched kernel looks at everything that can raise; a normal one, whose errors the CPU's status register tells, only
at what leaves no mark there.  What is found is collected in stack memory and told at the end of each call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lazyarray.ir.raises import reduction_raises
from lazyarray.schedule.kernel import Instruction, Kernel
from lazyarray_llvm import elementwise
from lazyarray_llvm import reduce_library as ops
from lazyarray_llvm.builder import AnyValue, Value
from lazyarray_llvm.elementwise.errors import (
    carried,
    has_suspects,
    observed,
    result_errors,
    suspects,
    zero_divisor,
)
from lazyarray_llvm.lower import status
from lazyarray_llvm.lower.facts import instruction_raises, watchable
from lazyarray_llvm.lower.values import value_codes

if TYPE_CHECKING:
    from lazyarray_llvm.lower.frame import Frame, Pointer

_WORD_BYTES = 8


def fixed_values(kernel: Kernel) -> set[int]:
    """Values that follow from constants alone: LLVM computes them, and no CPU sees their errors."""
    fixed: set[int] = set()
    for stage in kernel.stages:
        for i in (*stage.body, *stage.after):
            if i.op == "const" or (i.args and fixed.issuperset(i.args) and i.op not in ("gather", "expand")):
                fixed.add(i.target)
    return fixed


def unmarked(kernel: Kernel, *, halves: bool) -> set[int]:
    """Values that can raise errors which leave no mark in the CPU's status register.

    `halves`: whether the CPU rounds to float16 itself; what a library does for it marks nothing.
    """
    codes, fixed = value_codes(kernel), fixed_values(kernel)
    found = set()
    for stage in kernel.stages:
        for i in (*stage.body, *stage.after):
            sources = [codes[a] for a in i.args]
            if instruction_raises(i, codes) and (
                i.target in fixed
                or elementwise.leaves_no_mark(i.op, sources)
                or (not halves and "f2" in (*sources, i.code))
            ):
                found.add(i.target)
        if not halves:
            found |= {r.target for r in stage.reductions if r.code == "f2" and reduction_raises(r.op, r.code)}
            if stage.scan is not None and stage.scan.code == "f2":
                found.add(stage.scan.target)
    return found


def sheltered(kernel: Kernel, body: Sequence[Instruction], guard: int) -> bool:
    """Whether no instruction of `body` can raise anything where the mask `guard` is false in all lanes."""
    codes, fixed = value_codes(kernel), fixed_values(kernel)
    by = {i.target: i for i in body}

    def is_safe(value: int) -> bool:
        made = by.get(value)
        return value in fixed or (made is not None and made.op in ("where", "expand") and made.args[0] == guard)

    return all(all(is_safe(a) for a in i.args) for i in body if instruction_raises(i, codes))


class Watch:
    """What is watched in one function."""

    def __init__(self, frame: Frame, *, everything: bool) -> None:
        self.frame = frame
        kernel = frame.kernel
        self.everything = everything
        self.words = {target: number for number, target in enumerate(watchable(kernel))}
        # On x86 the conversions to float16 come with those CPUs that have FMA.
        halves = frame.host.has_fma or not frame.host.triple.startswith(("x86", "amd64", "i686"))
        self.wanted: set[int] = set(self.words) if everything else unmarked(kernel, halves=halves)
        self._cells: dict[int, Pointer] = {}  # by word; ~word for a loop of NumPy's in a normal kernel
        self._covers = _covers(kernel)
        self._deferred: list[tuple[Instruction, Sequence[AnyValue], AnyValue]] = []

    def covers(self, target: int) -> set[int]:
        """The masks of `expand` that a value comes from."""
        return self._covers.get(target, set())

    # -- what raises ----------------------------------------------------------------------------------------
    def lower(
        self,
        instruction: Instruction,
        arguments: Sequence[AnyValue],
        inside: Callable[[set[int]], Value | None],
        *,
        settles: bool,
    ) -> AnyValue:
        """The instruction's result; `inside`: the lanes that count, for the masks of `expand` that they come from.

        With `settles` the caller calls `settle` after this and other instructions: then most are looked at closely only
        if some lane of some of them is suspect.
        """
        b, op, code = self.frame.b, instruction.op, instruction.code
        if instruction.target not in self.wanted:
            return elementwise.lower(b, op, arguments, code)
        if settles and has_suspects(op, code) and not elementwise.raises_by_status(op, [a.code for a in arguments]):
            result = elementwise.lower(b, op, arguments, code)
            self._deferred.append((instruction, arguments, result))
            return result
        return self._close_look(instruction, arguments, None, inside(self._covers.get(instruction.target, set())))

    def settle(self, inside: Callable[[set[int]], Value | None]) -> None:
        """Looks closely at the instructions left so far if any lane is suspect."""
        deferred, self._deferred = self._deferred, []
        if not deferred:
            return
        b = self.frame.b
        # What is not finite makes sums, differences, products of it so: these are looked at alone.
        shown = {a for i, arguments, _ in deferred for a in i.args[: carried(i.op, arguments, i.code)]}
        found = [suspects(b, i.op, arguments, result) for i, arguments, result in deferred if i.target not in shown]
        suspect = functools.reduce(b.or_, found)
        # Before the branch: masks made for these are kept and used after it too.
        counting = [inside(self._covers.get(instruction.target, set())) for instruction, _, _ in deferred]

        def look() -> list[Value]:
            for (instruction, arguments, result), lanes in zip(deferred, counting, strict=True):
                self._close_look(instruction, arguments, result, lanes)
            return []

        self.frame.when(b.any(suspect), look)

    def _close_look(
        self,
        instruction: Instruction,
        arguments: Sequence[AnyValue],
        result: AnyValue | None,
        counting: Value | None,
    ) -> AnyValue:
        """Notes what each lane raised; the result is computed if it is not given, or if its parts must be seen."""
        b, op, code = self.frame.b, instruction.op, instruction.code

        def note(bit: int, mask: Value) -> None:
            self.note(instruction.target, bit, mask, counting)

        if elementwise.raises_by_parts(op, [a.code for a in arguments]):
            special = zero_divisor(b, op, arguments)
            if special is not None:
                for bit, mask in special[1]:
                    note(bit, mask)
                usual = b.not_(special[0])
                counting = usual if counting is None else b.and_(counting, usual)
            with self.observing(instruction.target, counting):
                return elementwise.lower(b, op, arguments, code)
        if elementwise.raises_by_status(op, [a.code for a in arguments]):
            return self.by_status(instruction.target, lambda: elementwise.lower(b, op, arguments, code))
        result = elementwise.lower(b, op, arguments, code) if result is None else result
        for bit, mask in result_errors(b, op, arguments, result):
            note(bit, mask)
        return result

    def by_status(self, target: int, compute: Callable[[], AnyValue]) -> AnyValue:
        """What `compute` emits, in blocks of its own between two looks at the CPU's status.

        Its result is stored there, so that nothing of it moves behind the second look.
        """
        b, triple = self.frame.b, self.frame.host.triple
        kind = status.status_of(triple)
        if kind is None or target not in self.wanted or not self.everything:
            return compute()
        clean, work, look, after = (b.fresh(f"status.{name}") for name in ("clean", "work", "look", "after"))
        b.jump(clean)
        b.start(clean)
        b.lines += status.observed_lines(b.module, triple, b.fresh("status.before"), begins=True)
        b.jump(work)
        b.start(work)
        result = compute()
        for part in ops.parts(result):
            place = self.frame.alloca(part.type, "computed", 64)
            b.line(f"store volatile {part}, ptr {place.ref}, align 1")
        b.jump(look)
        b.start(look)
        name = b.fresh("status.after")
        b.lines += status.observed_lines(b.module, triple, name, begins=False)
        b.jump(after)
        b.start(after)
        errors = Value(f"%{name}.errors", "i4", 1)
        for mark, bit in kind.meanings:
            raised = b.compare("ne", b.and_(errors, b.const("i4", mark, 1)), b.const("i4", 0, 1))
            self.note(target, bit, raised)
        return result

    def around(self, target: int, call: Callable[[], None]) -> None:
        """Emits a call of foreign code, in blocks of its own: it may raise anything, and clear the CPU's status.

        What it raises is noted for `target`, also in a normal kernel, where the status then tells of everything else.
        """
        b, triple = self.frame.b, self.frame.host.triple
        kind = status.status_of(triple)
        if kind is None or not self.words:
            call()
            return
        before, look, after = (b.fresh(f"foreign.{name}") for name in ("call", "look", "after"))
        b.jump(before)
        b.start(before)
        found, name = b.fresh("foreign.found"), b.fresh("foreign.left")
        b.lines += status.observed_lines(b.module, triple, found, begins=True)
        call()
        b.jump(look)
        b.start(look)
        b.lines += status.observed_lines(b.module, triple, name, begins=False)
        if not self.everything:
            b.lines += status.restored_lines(b.module, triple, found, name)
        b.jump(after)
        b.start(after)
        if target in self.words:
            word = self.words[target]
            self._note_status(Value(f"%{name}.errors", "i4", 1), kind, word if self.everything else ~word)

    def _note_status(self, errors: Value, kind: status.Status, word: int) -> None:
        b = self.frame.b
        cell = self._cell(word)
        for mark, bit in kind.meanings:
            raised = b.compare("ne", b.and_(errors, b.const("i4", mark, 1)), b.const("i4", 0, 1))
            bits = b.select(raised, b.const("i8", bit, 1), b.const("i8", 0, 1))
            seen = b.emit(f"load i64, ptr {cell.ref}, align 8", "i8", 1, "seen")
            b.line(f"store {b.or_(seen, bits)}, ptr {cell.ref}, align 8")

    @contextmanager
    def observing(self, target: int, inside: Value | None = None) -> Iterator[None]:
        """Whatever is emitted meanwhile raises for `target`, in the lanes `inside`."""
        if target not in self.wanted:
            yield
            return
        with observed(self.frame.b, lambda bit, mask: self.note(target, bit, mask, inside)):
            yield

    def combined(self, target: int, before: AnyValue, operand: AnyValue, after: AnyValue) -> None:
        """One step of a sum: an accumulator, what is added to it, and the accumulator then; unchanged where not."""
        if target in self.wanted:
            for bit, mask in result_errors(self.frame.b, "add", (before, operand), after):
                self.note(target, bit, mask)

    def combining(self, target: int) -> Callable[[AnyValue, AnyValue, AnyValue], None] | None:
        """`combined` of a target for those who combine; None if nothing is wanted."""
        if target not in self.wanted:
            return None
        return lambda before, operand, after: self.combined(target, before, operand, after)

    def cast(self, target: int, value: AnyValue, code: str, inside: Value | None = None) -> AnyValue:
        """A conversion that reduction `target` makes of what it reduces."""
        b = self.frame.b
        if target not in self.wanted or value.code == code:
            return elementwise.cast(b, value, code)
        with self.observing(target, inside):
            return elementwise.cast(b, value, code)

    # -- collecting -----------------------------------------------------------------------------------------
    def note(self, target: int, bit: int, mask: Value, inside: Value | None = None) -> None:
        """Adds an error where `mask` is true in a lane that counts."""
        b = self.frame.b
        if inside is not None and inside.lanes == mask.lanes:
            mask = b.and_(mask, inside)
        cell = self._cell(self.words[target] if self.everything else 0)
        bits = b.select(b.any(mask), b.const("i8", bit, 1), b.const("i8", 0, 1))
        seen = b.emit(f"load i64, ptr {cell.ref}, align 8", "i8", 1, "seen")
        b.line(f"store {b.or_(seen, bits)}, ptr {cell.ref}, align 8")

    def _cell(self, word: int) -> Pointer:
        found = self._cells.get(word)
        if found is None:
            found = self._cells[word] = self._zeroed("seen.cell")
        return found

    def _zeroed(self, hint: str) -> Pointer:
        made = self.frame.alloca("i64", hint)
        with self.frame.hoisted(self.frame.entry):
            self.frame.b.line(f"store i64 0, ptr {made.ref}, align 8")
        return made

    def tell(self) -> None:
        """At the end of the function: what was seen goes to the launch."""
        frame, b = self.frame, self.frame.b
        for word, cell in self._cells.items():
            seen = b.emit(f"load i64, ptr {cell.ref}, align 8", "i8", 1, "seen")

            def put(seen: Value = seen, word: int = word) -> list[Value]:
                own = word < 0  # of a loop of NumPy's in a normal kernel
                if self.everything or own:
                    place = frame.number(~word if own else word)
                    at = frame.offset(frame.address("flags"), place, _WORD_BYTES, "flags.at")
                    b.emit(f"atomicrmw or ptr {at.ref}, {seen} monotonic, align 8", "i8", 1, "told")
                slot = frame.signature.slots["raised"]
                at = frame.pointer(f"getelementptr i64, ptr %args, i64 {slot}", "raised.at")
                soft = b.binary("shl", seen, frame.number(status.LOOP_SHIFT if own else status.SOFT_SHIFT))
                b.emit(f"atomicrmw or ptr {at.ref}, {soft} monotonic, align 8", "i8", 1, "told")
                return []

            frame.when(b.compare("ne", seen, frame.number(0)), put)


def _covers(kernel: Kernel) -> dict[int, set[int]]:
    """Per value the masks of `expand` that it comes from: its other lanes hold what nobody computed in NumPy."""
    covers: dict[int, set[int]] = {}
    for stage in kernel.stages:
        for i in (*stage.body, *stage.after):
            found = {mask for a in i.args for mask in covers.get(a, ())}
            if i.op == "expand":
                found = {*found, i.args[0]}
            if found:
                covers[i.target] = found
    return covers
