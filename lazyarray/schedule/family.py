"""Owns plans for all sizes: what plans of one structure have in common, from which that of other sizes follows.

Arrays whose sizes follow from data (`a[a > 0]`, what is left of a search) have new sizes at every step of a program,
and scheduling takes milliseconds for each. Between expressions that differ in leading extents alone, all numbers of a
plan (extents, offsets, bytes) are affine in these extents, and so are the conditions under which it is right: which
element is read where, what stays in bounds, what writes and reads meet. So plans are made at the corners of a wide
simplex of sizes. Where they differ in numbers only, what is right at each corner is right for all sizes between: an
affine equation that holds at the corners holds everywhere, and an affine inequality between them. That the numbers
are affine is checked against the plans of expressions that a program has evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from math import gcd, lcm
from typing import Any, Final, TypeAlias

from lazyarray.ir.expression import Expression
from lazyarray.ir.sizes import GEOMETRY, Sizes, Structure, with_sizes
from lazyarray.records import NamedTuple
from lazyarray.schedule.plan import Plan

SAMPLES: Final = 3  # expressions of one structure from which its family is made
MOST_FREE: Final = 8  # sizes that may vary independently
LOWEST: Final = 16  # the smallest size that is tried
LEAST: Final = LOWEST // 2  # the smallest that may follow from others
REACH: Final = 1 << 40  # how far sizes go beyond it, in steps, where none of them falls meanwhile

Planner: TypeAlias = Callable[[Expression], Plan]


class Sample(NamedTuple):
    """The sizes of an expression and its plan."""

    sizes: Sizes
    plan: Plan


class Varying(NamedTuple):
    """A size that follows from the free one number `free`: `at + (free - start) * rise // run`, without a rest."""

    place: int  # among the sizes
    free: int
    at: int
    start: int
    rise: int
    run: int


class Free(NamedTuple):
    """A size that varies by itself: `lowest` and whole steps from there, as many as `most`.

    So many steps, if no other size varies, or fewer if some do, are not beyond the far corner, which is `reach` steps
    away.
    """

    place: int
    lowest: int
    step: int
    reach: int
    most: int


class Number(NamedTuple):
    """A number of a plan: `at` with all free sizes at their lowest, and what each step of them adds."""

    at: int | float
    rises: tuple[int, ...]


class Record(NamedTuple):
    """A tuple or record of a plan, with what is made anew in it: places and what comes there."""

    make: Any  # from a list of its items
    items: tuple[Any, ...]
    parts: tuple[tuple[int, Any], ...]


class Apart(Exception):
    """Plans differ in more than numbers, or the numbers are not affine."""


class Family:
    """The plans of a structure at all sizes between the corners."""

    def __init__(self, fixed: Sizes, free: tuple[Free, ...], varying: tuple[Varying, ...], plans: list[Plan]) -> None:
        """`fixed`: a sample's sizes, those that vary set to -1. `plans`: at the lowest corner and at each far one."""
        self.fixed, self.free, self.varying = fixed, free, varying
        self.holes = tuple([f.place for f in free]) + tuple([v.place for v in varying])
        reaches = [size.reach for size in free]
        self.items = tuple([merged([getattr(plan, name) for plan in plans], reaches) for name in GIVEN])
        # What is scheduled is read by reports alone.
        self.entries = merged([plan.entries for plan in plans], reaches)
        self.parts = tuple([(at, part) for at, part in enumerate(self.items) if type(part) in (Record, Number)])
        self.kin: Plan | None = None  # the last plan that was made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kin": None}

    def plan(self, sizes: Sizes) -> Plan | None:
        """The plan of the structure at these sizes; None where they are none of the family's."""
        steps = self.steps_to(sizes)
        if steps is None:
            return None
        items = list(self.items)
        for place, part in self.parts:
            items[place] = filled(part, steps)
        kin = self.kin if self.kin is not None and self.kin.layout is not None else None
        made = Plan(*items)
        made.scheduled, made.kin = partial(filled, self.entries, steps), kin
        if kin is None:
            self.kin = made
        return made

    def steps_to(self, sizes: Sizes) -> list[int] | None:
        """How far each free size is from its lowest; None where the sizes are none of the family's."""
        rest = list(sizes)
        for place in self.holes:
            rest[place] = -1
        if tuple(rest) != self.fixed:
            return None
        steps: list[int] = []
        for place, lowest, step, _reach, most in self.free:
            count, over = divmod(sizes[place] - lowest, step)
            if over or not 0 <= count <= most:
                return None
            steps.append(count)
        for place, free, at, start, rise, run in self.varying:
            if (sizes[place] - at) * run != (sizes[self.free[free].place] - start) * rise:
                return None
        return steps


GIVEN: Final = [field.name for field in fields(Plan)]
del GIVEN[GIVEN.index("scheduled") :]  # what follows is the runtime's, but for the entries


def are_equal(one: Plan, other: Plan) -> bool:
    """True for plans that do and tell the same."""
    return one.entries == other.entries and all([getattr(one, name) == getattr(other, name) for name in GIVEN])


def family_of(structure: Structure, samples: list[Sample], plan: Planner) -> Family | None:
    """The family of which the samples are; None where their plans do not follow from each other."""
    varying = [
        place for place, sizes in enumerate(zip(*[s.sizes for s in samples], strict=True)) if len(set(sizes)) > 1
    ]
    if not varying or not set(varying) <= leading(structure, samples[0].sizes):
        return None
    free, following = relations([s.sizes for s in samples], varying)
    if len(free) > MOST_FREE:
        return None
    smallest = [min([s.sizes[place] for s in samples]) for place in free]
    for lowest in ([LOWEST + number for number in range(len(free))], smallest):
        try:
            return between(structure, samples, free, following, lowest, plan)
        except Apart:
            continue
    return None


def between(
    structure: Structure, samples: list[Sample], free: list[int], varying: list[Varying], lowest: list[int],
    plan: Planner,
) -> Family:  # fmt: skip
    """The family from the sizes `lowest` on. Raises Apart."""
    first = samples[0].sizes
    bounds = []
    for number, place in enumerate(free):
        following = [v for v in varying if v.free == number]
        step = lcm(*[v.run // gcd(v.rise, v.run) for v in following])
        start = first[place] - (first[place] - lowest[number]) // step * step
        reach = reach_from(start, step, following)
        bounds.append(Free(place, start, step, reach, reach // (len(free) if reach < REACH else MOST_FREE)))
    corners = [corner(first, bounds, varying, far) for far in (-1, *range(len(free)))]
    if any([sizes[v.place] < LEAST for sizes in corners for v in varying]):
        raise Apart
    fixed = list(first)
    for place in (*free, *[v.place for v in varying]):
        fixed[place] = -1
    plans = [plan(with_sizes(structure, sizes)) for sizes in corners]
    family = Family(tuple(fixed), tuple(bounds), tuple(varying), plans)
    for sample in samples:
        found = family.plan(sample.sizes)
        if found is None or not are_equal(found, sample.plan):
            raise Apart
    family.kin = None
    return family


def reach_from(lowest: int, step: int, varying: list[Varying]) -> int:
    """The steps to the far corner, to which nothing falls below `LEAST`, as what rows are left out by does."""
    reach = REACH
    for v in varying:
        if v.rise < 0:
            most = v.start + (v.at - LEAST) * v.run // -v.rise
            reach = min(reach, (most - lowest) // step)
    if reach < 1:
        raise Apart
    return reach


def corner(first: Sizes, free: list[Free], varying: list[Varying], far: int) -> Sizes:
    """The sizes with all free ones at their lowest, but number `far` at its farthest."""
    sizes = list(first)
    for number, (place, lowest, step, reach, _most) in enumerate(free):
        sizes[place] = lowest + (step * reach if number == far else 0)
    for v in varying:
        sizes[v.place] = v.at + (sizes[free[v.free].place] - v.start) * v.rise // v.run
    return tuple(sizes)


def leading(structure: Structure, sizes: Sizes) -> frozenset[int]:
    """The places of sizes that may vary: leading extents, and offsets. All strides then stay, those of C order as well.

    Whether a write meets a read is more than an inequality: one may lie before the other or behind it, or between its
    elements. Where something is written, offsets stay, and strides go upwards: larger extents then never part what
    meets, so that what is apart at the far corners is apart everywhere.
    """
    writes = any([entry[0] in ("update", "scatter") for entry in structure[:-1]])
    found: list[int] = []
    place = 0
    for kind, attr, axes, _code, _args in structure[:-1]:
        if axes:
            found.append(place)
        place += axes
        if kind not in GEOMETRY:
            continue
        after = place + count(attr)
        if kind in ("view", "update"):
            strides = sizes[after - len(attr[1]) : after]
            if not writes:
                found.append(place)
            elif any([stride < 0 for stride in strides]):
                return frozenset()
        if kind == "update" and attr[1]:
            found.append(place + 1)
        elif kind == "compress" and attr:
            found.append(place)
        elif kind == "roll" and writes:
            return frozenset()
        place = after
    return frozenset(found)


def count(attr: Any) -> int:
    """How many sizes an attribute has."""
    return sum([count(item) for item in attr]) if type(attr) is tuple else attr is None


def relations(samples: list[Sizes], places: list[int]) -> tuple[list[int], list[Varying]]:
    """Which of these sizes are free, the first ones, and how all others follow from one of them each."""
    free: list[int] = []
    varying: list[Varying] = []
    for place in places:
        values = [sizes[place] for sizes in samples]
        for number, base in enumerate(free):
            bases = [sizes[base] for sizes in samples]
            known = line(bases, values)
            if known is not None:
                varying.append(Varying(place, number, values[0], bases[0], *known))
                break
        else:
            free.append(place)
    return free, varying


def line(bases: list[int], values: list[int]) -> tuple[int, int] | None:
    """Rise and run of the line through all (base, value); None where there is none."""
    for base, value in zip(bases, values, strict=True):
        if base != bases[0]:
            rise, run = value - values[0], base - bases[0]
            break
    else:
        return None
    if all([(v - values[0]) * run == (b - bases[0]) * rise for b, v in zip(bases, values, strict=True)]):
        return (rise, run) if run > 0 else (-rise, -run)
    return None


def merged(given: list[Any], reaches: list[int]) -> Any:
    """What plans have in one place: itself where all have the same, else a Number or a Record. Raises Apart.

    `reaches`: the steps to each corner but the first one.
    """
    first = given[0]
    kind = type(first)
    if any([type(other) is not kind for other in given]):
        raise Apart
    if kind is int or kind is float:
        return number(given, reaches)
    if isinstance(first, tuple):
        if any([len(other) != len(first) for other in given]):
            raise Apart
        items = tuple([merged(list(each), reaches) for each in zip(*given, strict=True)])
        parts = tuple([(place, item) for place, item in enumerate(items) if type(item) in (Number, Record)])
        return Record(getattr(kind, "_make", tuple), items, parts) if parts else first
    if any([other != first for other in given]):
        raise Apart
    return first


def number(given: list[Any], reaches: list[int]) -> Any:
    """One number of plans; a whole one where it varies."""
    first = given[0]
    if all([other == first for other in given]):
        return first
    rises = []
    for far, reach in zip(given[1:], reaches, strict=True):
        rise, over = divmod(far - first, reach)
        if over:
            raise Apart
        rises.append(int(rise))
    return Number(first, tuple(rises))


def filled(part: Any, steps: list[int]) -> Any:
    """What `merged` was given, at other sizes."""
    if type(part) is Number:
        value, rises = part
        at = 0
        for rise in rises:
            value += rise * steps[at]
            at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        return value
    if type(part) is not Record:
        return part
    make, items, parts = part
    made = list(items)
    for place, inner in parts:
        made[place] = filled(inner, steps)
    return make(made)
