"""Owns what is kept of a run that an error ended: values that are complete, when what they were made of may be gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from lazyarray.ir.node import Node
from lazyarray.runtime.along import is_pending
from lazyarray.runtime.run import AnyRun
from lazyarray.schedule.plan import ClaimStep
from lazyarray.schedule.schedule import slots_of


class _Uninterrupted(threading.local):
    """Whether this thread launches a kernel that must not be left half done: it writes over what it reads."""

    depth = 0


uninterrupted: Final = _Uninterrupted()


def forget_old(run: AnyRun, written: Sequence[int]) -> None:
    """Slots were written: those whose memory they took over have no values any more."""
    for slot in written:
        old = run.taken.pop(slot, None)
        if old is not None:
            run.done.discard(old)


def equals_of(sources: Sequence[Any]) -> dict[int, int]:
    """By id of each pending node: the id of the first one that computes the same of the same. Plans compute it once.

    Numbers are not compared: a plan serves all.
    """
    first: dict[Any, int] = {}
    same: dict[int, int] = {}
    for node in sources:
        if type(node) is Node and is_pending(node):
            args = [same.get(id(a), id(a)) if type(a) is Node else id(node) for a in node.args]
            same[id(node)] = first.setdefault((node.key, *args), id(node))
    return same


def is_over_with(run: AnyRun, slot: int, number: int) -> bool:
    """True if no error in the steps after this one could leave nodes that are computed of the slot's value again.

    What is complete by then is settled (`complete`). From the outputs that are not, and through the arguments as they
    were recorded, nothing else may lead to the value: passes may have put other entries in the place of nodes.
    """
    plan, sources = run.plan, run.sources
    origins, same = plan.origins, equals_of(run.sources)
    if any(type(step) is ClaimStep for step in plan.steps):
        return False  # a value that is written over is complete no more

    def node_at(place: int) -> int:
        return same.get(id(sources[place]), id(sources[place]))

    nodes = {node_at(place): source for place, source in enumerate(sources) if type(source) is Node}
    value = id(sources[origins[slot]])
    there: set[int] = set()
    for step, frees in enumerate(plan.frees):
        there |= slots_of(plan.steps[step])
        there -= set(frees)
        if step < number:
            continue
        settled = {node_at(origin) for made in there if (origin := origins[made]) is not None}
        waiting = [node_at(origin) for made in plan.outputs if (origin := origins[made]) is not None]
        if len(waiting) < len(plan.outputs):
            return False
        seen: set[int] = set()
        while waiting:
            found = waiting.pop()
            if found == value:
                return False
            if found not in settled and found not in seen:
                seen.add(found)
                waiting += [same.get(id(arg), id(arg)) for arg in nodes[found].args if type(arg) is Node]
    return True


def complete(run: AnyRun) -> list[tuple[Node, Any]]:
    """The pending nodes whose values are there.

    A later evaluation must not compute them again: an update in place may have written over what they read. Equal nodes
    have one slot.
    """
    for slot, old in run.taken.items():
        if old in run.done:
            run.memory[old] = run.memory[slot]  # taken over and not written yet
    found = []
    for slot in run.done:
        origin, value = run.plan.origins[slot], run.memory[slot]
        node = None if origin is None else run.sources[origin]
        if type(node) is Node and node.data is None and node.remote is None and value is not None:
            found.append((node, value))
    same = equals_of(run.sources)
    values = {same[id(node)]: value for node, value in found}
    settled = {id(node) for node, _ in found}
    found += [
        (node, values[same[id(node)]])
        for node in run.sources
        if id(node) in same and id(node) not in settled and same[id(node)] in values
    ]
    return found
