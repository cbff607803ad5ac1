"""Owns sums about a number of the row that one pass can find beside other reductions, and the joining of their kernels.

`x.mean(), x.std()` of a long array are two kernels, since a row of it does not stay in a cache: the second reads the
array again. A backend that finds squares of deviations, and exponentials, in one pass (`joins_moments`) is given one
kernel of both: the stages of the first, then those of the second, which it need not run (`deviations_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Access, Instruction, Kernel, Reduction, Stage
from lazyarray.schedule.plan import ClaimStep, KernelStep, Plan, Scalar, Step, Walk

Kind: TypeAlias = Literal["squares", "exponentials"]


class Deviations(NamedTuple):
    """Squares, or exponentials, of what is left of values after the subtraction of a number of their row, added up."""

    kind: Kind
    before: int  # a stage at level "full" that has the values
    value: int  # there
    stage: int  # the stage that adds up, and does nothing else
    centre: int  # the number that is subtracted: of the row
    sum: Reduction


def deviations_of(kernel: Kernel) -> Deviations | None:
    """The first of such sums that an earlier stage could find along; None without."""
    made = {i.target: (number, i) for number, s in enumerate(kernel.stages) if s.level == "full" for i in s.body}
    for number, stage in enumerate(kernel.stages):
        found = _deviation(stage, made, number)
        if found is None:
            continue
        kind, value, centre, added = found
        for before in range(number - 1, -1, -1):
            earlier = kernel.stages[before]
            if earlier.level == "full" and earlier.stores:
                break  # what is read afterwards may be another value
            for i in earlier.body if earlier.level == "full" else ():
                if _same(made, value, i.target):
                    return Deviations(kind, before, i.target, number, centre, added)
    return None


def _deviation(
    stage: Stage, made: dict[int, tuple[int, Instruction]], number: int
) -> tuple[Kind, int, int, Reduction] | None:
    """What a stage adds up, the value, the number that is subtracted from it, and the sum."""
    if stage.level != "full" or stage.stores or stage.scan is not None or len(stage.reductions) != 1:
        return None
    (added,) = stage.reductions
    plain = added.op in ("sum", "buffered_sum") and added.where is None and added.start is None
    term = made.get(added.value, (-1, None))[1]
    if not plain or added.code not in ("f4", "f8") or term is None or term.code != added.code:
        return None
    squared = term.op == "square" or (term.op == "multiply" and term.args[0] == term.args[1])
    if not squared and term.op != "exp":
        return None
    apart = made.get(term.args[0], (-1, None))[1]
    if apart is None or apart.op != "subtract" or apart.code != added.code:
        return None
    value, centre = apart.args
    if centre in made or value not in made or made[value][0] != number:
        return None
    return "squares" if squared else "exponentials", value, centre, added


def _same(made: dict[int, tuple[int, Instruction]], one: int, other: int) -> bool:
    """Whether two values of stages are the same at every point."""
    one, other = _kept(made, one), _kept(made, other)
    if one == other:
        return True
    if one not in made or other not in made:
        return False
    a, b = made[one][1], made[other][1]
    if (a.op, a.code, a.attr, len(a.args)) != (b.op, b.code, b.attr, len(b.args)):
        return False
    return all(_same(made, x, y) for x, y in zip(a.args, b.args, strict=True))


def _kept(made: dict[int, tuple[int, Instruction]], value: int) -> int:
    """The value that a `recall` stands for."""
    while value in made and made[value][1].op == "recall":
        value = int(made[value][1].attr or 0)
    return value


def join_moments(plan: Plan) -> Plan:
    """The plan with the kernels of variances in those that read the same values before; the same one without."""
    steps, frees = list(plan.steps), [list(f) for f in plan.frees]
    place = 1
    while place < len(steps):
        earlier = _partner(steps, place)
        if earlier is None:
            place += 1
            continue
        number, joined = earlier
        steps[number] = joined
        del steps[place]
        frees[place - 1] += frees.pop(place)
    if len(steps) == len(plan.steps):
        return plan
    return Plan(
        tuple(steps), tuple(tuple(f) for f in frees), plan.outputs, plan.origins, plan.shapes, plan.codes, plan.why,
        plan.again, scheduled=plan.scheduled,
    )  # fmt: skip


def _partner(steps: Sequence[Step], place: int) -> tuple[int, KernelStep] | None:
    """The earlier step that takes a step in, and what becomes of it."""
    later = steps[place]
    if not isinstance(later, KernelStep) or later.rewrites or sum(s.level == "full" for s in later.kernel.stages) != 1:
        return None
    for number in range(place - 1, -1, -1):
        earlier = steps[number]
        if isinstance(earlier, KernelStep) and not earlier.rewrites and _fits(earlier, later):
            joined = _joined(earlier, later)
            if joined is not None and deviations_of(joined.kernel) is not None:
                return number, joined
        # What comes between must make nothing that the later one needs, and take no memory that it reads.
        if _touches(earlier) & {w.slot for w in later.walks} or isinstance(earlier, ClaimStep):
            return None
    return None


def _touches(step: Step) -> set[int]:
    """The slots that a step makes."""
    return set(step.writes) if isinstance(step, KernelStep) else {step.result}


def _fits(earlier: KernelStep, later: KernelStep) -> bool:
    """Whether two steps have the same loops, and the later one reads what the earlier one makes."""
    same = earlier.kernel.roles == later.kernel.roles and earlier.extents == later.extents
    return same and earlier.kernel.reduces and bool(set(earlier.writes) & {w.slot for w in later.walks})


class _Joining:
    """The later kernel in the numbers of the earlier one."""

    def __init__(self, earlier: KernelStep, later: KernelStep) -> None:
        self.later = later
        self.walks: list[Walk] = list(earlier.walks)
        self.accesses: list[Access] = list(earlier.kernel.accesses)
        self.scalars: list[Scalar] = list(earlier.scalars)
        self.codes: list[str] = list(earlier.kernel.scalars)
        stages = earlier.kernel.stages
        targets = [i.target for s in stages for i in (*s.body, *s.after)]
        targets += [r.target for s in stages for r in s.reductions]
        self.first = max(targets, default=-1) + 1
        self.writes = set(earlier.writes)
        rows = [(t.access, t.value) for s in stages if s.level == "row" for t in s.stores if t.mask is None]
        self.stored = {self._key(access): value for access, value in rows}
        self.known: dict[int, int] = {}  # values of the later kernel that the earlier one has

    def _key(self, access: int) -> tuple[Access, Walk]:
        return self.accesses[access], self.walks[access]

    def value(self, number: int) -> int:
        return self.known.get(number, number + self.first)

    def access(self, number: int) -> int:
        key = (self.later.kernel.accesses[number], self.later.walks[number])
        for k in range(len(self.walks)):
            if self._key(k) == key:
                return k
        self.accesses.append(key[0])
        self.walks.append(key[1])
        return len(self.walks) - 1

    def instruction(self, i: Instruction, *, row: bool) -> Instruction | None:
        """The instruction, None where its value is known; ValueError where it cannot be had."""
        attr = i.attr
        if i.op == "load":
            number = int(attr or 0)
            walk = self.later.walks[number]
            if walk.slot in self.writes:
                known = self.stored.get((self.later.kernel.accesses[number], walk))
                if known is None or not row:
                    raise ValueError
                self.known[i.target] = known
                return None
            attr = self.access(number)
        elif i.op == "scalar":
            number = int(attr or 0)
            self.scalars.append(self.later.scalars[number])
            self.codes.append(self.later.kernel.scalars[number])
            attr = len(self.codes) - 1
        elif i.op in ("gather", "expand", "recall"):
            raise ValueError
        return Instruction(self.value(i.target), i.op, tuple([self.value(a) for a in i.args]), i.code, attr)

    def stage(self, stage: Stage) -> Stage:
        if stage.scan is not None or stage.after or stage.kept:
            raise ValueError
        row = stage.level == "row"
        body = [made for i in stage.body if (made := self.instruction(i, row=row)) is not None]
        if any(r.where is not None or r.start is not None for r in stage.reductions):
            raise ValueError
        if any(t.mask is not None or t.offset is not None for t in stage.stores):
            raise ValueError
        folds = [Reduction(self.value(r.target), r.op, self.value(r.value), r.code) for r in stage.reductions]
        stores = [t._replace(access=self.access(t.access), value=self.value(t.value)) for t in stage.stores]
        return Stage(stage.level, tuple(body), tuple(folds), stores=tuple(stores))


def _joined(earlier: KernelStep, later: KernelStep) -> KernelStep | None:
    """One step of both; None where the later one needs more than rows of the earlier one."""
    joining = _Joining(earlier, later)
    try:
        stages = [joining.stage(s) for s in later.kernel.stages]
    except ValueError:
        return None
    kernel = Kernel(
        earlier.kernel.roles,
        tuple(joining.accesses),
        tuple(joining.codes),
        (*earlier.kernel.stages, *stages),
    )
    raising = [*earlier.raising, *[(joining.value(v), slot) for v, slot in later.raising]]
    again = [w for w in later.walks if w in earlier.walks or w.slot in earlier.writes]
    return KernelStep(
        kernel,
        earlier.extents,
        tuple(joining.walks),
        tuple([w.strides for w in joining.walks]),
        tuple(joining.scalars),
        (*earlier.writes, *later.writes),
        earlier.what,
        earlier.domain,
        (*earlier.ops, *later.ops),
        earlier.loaded if len(again) + len(later.writes) == len(later.walks) else earlier.loaded + later.loaded,
        earlier.stored + later.stored,
        tuple(raising),
        False,
        (*earlier.computes, *later.computes),
        earlier.unfused + later.unfused,
    )
