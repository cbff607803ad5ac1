"""Owns finding the plan of an expression that was not met before, on disk or among those of other sizes, or making it.

What is found dumps no stages; who wants them has the plan made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazyarray.config import config
from lazyarray.ir.expression import Expression
from lazyarray.ir.sizes import Drawn, Sizes, Structure
from lazyarray.runtime.kept_plans import keep_families, keep_plan, key_of, load_families, load_plan

if TYPE_CHECKING:
    from lazyarray.schedule.family import Family, Sample
    from lazyarray.schedule.plan import Plan

STRUCTURES_LIMIT: Final = 1024  # structures that are remembered
MOST_FAMILIES: Final = 4  # of one structure: one for each size of a problem, say
MOST_TRIES: Final = 3  # times that the plans of a structure may turn out not to follow from each other


class Known:
    """What is known of a structure's plans at other sizes."""

    __slots__ = ("families", "kept", "samples", "tries")

    def __init__(self, families: list[Family] | None) -> None:
        self.families = families or []
        self.kept = families is not None  # by a process before this one, or by this one
        self.samples: list[Sample] = []  # plans that are of no family
        self.tries = MOST_TRIES

    def plan(self, sizes: Sizes) -> Plan | None:
        """The plan at these sizes, if a family has it."""
        for family in self.families:
            plan = family.plan(sizes)
            if plan is not None:
                return plan
        return None

    def keep(self, structure: Structure) -> None:
        """Leaves what is known for later processes."""
        keep_families(structure, self.families)
        self.kept = True


_known: dict[Structure, Known] = {}


def new_plan(drawn: Drawn) -> Plan:
    """The plan of an expression not met before in this process."""
    expression, structure, sizes = drawn
    if config.debug or config.dump is not None:
        return made_and_shown(expression)
    known = _known.get(structure) or known_of(structure)
    plan = known.plan(sizes)
    if plan is not None:
        return plan
    key = key_of(expression)
    plan = None if key is None else load_plan(key)
    if plan is None:
        from lazyarray.schedule.schedule import schedule

        plan = schedule(expression)
        if key is not None:
            keep_plan(key, plan)
            if not known.kept:
                known.keep(structure)
    if known.tries:
        note(structure, known, sizes, plan)
    return plan


def known_of(structure: Structure) -> Known:
    """What is known of a structure that this process has not met, from the disk."""
    if len(_known) >= STRUCTURES_LIMIT:
        _known.clear()
    known = _known[structure] = Known(load_families(structure))
    return known


def note(structure: Structure, known: Known, sizes: Sizes, plan: Plan) -> None:
    """Takes a plan for a sample; a family is made of some."""
    from lazyarray.schedule.family import SAMPLES, Sample, family_of

    known.samples.append(Sample(sizes, plan))
    if len(known.samples) < SAMPLES:
        return
    from lazyarray.schedule.schedule import schedule

    family = family_of(structure, known.samples, schedule)
    known.samples = []
    if family is None:
        known.tries -= 1
        return
    known.families = [family, *known.families][:MOST_FAMILIES]
    known.keep(structure)


def is_on_disk(structure: Structure) -> bool:
    """True where a process before this one has planned, and compiled, a structure: kernels serve all sizes."""
    return (_known.get(structure) or known_of(structure)).kept


def forget() -> None:
    """No structure counts as met."""
    _known.clear()


def made_and_shown(expression: Expression) -> Plan:
    """The plan of an expression, made now; its stages are dumped if wanted."""
    from functools import partial

    from lazyarray.runtime.dump import show
    from lazyarray.schedule.printer import format_expression, format_kernel, format_plan
    from lazyarray.schedule.schedule import schedule

    show("graph", "recorded", lambda: format_expression(expression))
    plan = schedule(expression, lambda name, after: show("passes", name, lambda: format_expression(after)))
    show("plan", f"{len(plan.steps)} steps", lambda: format_plan(plan))
    for kernel in plan.kernels:
        show("kernels", "nest", partial(format_kernel, kernel))
    return plan
