"""Owns foresight: the plan that evaluating pending arrays would run, found without changing what it will be."""

from __future__ import annotations

from typing import Any, TypeAlias

from lazyarray.ir.expression import Signature, pending_closure
from lazyarray.ir.node import Node, Site
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.along import pending
from lazyarray.runtime.device import placement
from lazyarray.runtime.device_run import plan_there
from lazyarray.runtime.evaluate import expression_for
from lazyarray.runtime.liveness import needed_again
from lazyarray.runtime.running import plan_of
from lazyarray.runtime.settling import Wanted, changes, sites_of
from lazyarray.schedule.plan import Plan

Sites: TypeAlias = tuple[Site | None, ...]
Made: TypeAlias = tuple[Plan, Sites, Wanted]


def foresee(targets: list[Node]) -> tuple[Made, Signature, list[Any]]:
    """What evaluating pending nodes will run, with the signature and its sources.

    An evaluation keeps values that the program names, remembers which it saw without keeping them, whose lines made
    such that were needed again, and when it last looked for memory to release: who looks ahead holds no reference to
    nodes but the targets, and has that forgotten.
    """
    with boundary.lock:
        before, unseen, lines = seen_before(), changes.nbytes, dict(needed_again)
        outputs, _uses, signature, sources, wanted = expression_for(targets, False)
        changes.nbytes = unseen
        needed_again.clear()
        needed_again.update(lines)
        for node in pending_closure(outputs):
            node.visits = int(node.sequence in before)
        device = placement(sources)
        plan = plan_of(signature, device=device is not None)
        if device is not None:
            plan = plan_there(plan, device)
    return (plan, sites_of(sources), wanted), signature, sources


def seen_before() -> set[int]:
    """The pending nodes that an evaluation has left pending, by number."""
    return {node.sequence for node in pending() if node.visits}
