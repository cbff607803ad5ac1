"""Owns what follows a run: nodes get their values, and what was raised is told of all nodes that say the same.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from lazyarray.ir.node import Node  # cimport
from lazyarray.runtime.along import is_pending  # cimport
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.recovery import complete, made_in, note_launched
from lazyarray.runtime.remote import Remote
from lazyarray.runtime.run import AnyRun  # cimport
from lazyarray.runtime.warned import line_of

# How many of an evaluation's outputs are asked for; and with those that are small and computed along; and with those
# that read what is written over; and with those that release memory. The rest is kept because the program names it.
Wanted: TypeAlias = tuple[int, int, int, int]


class Changes:
    """How many nodes have got their values: who collects nodes sees whether something ran in between."""

    __slots__ = ("count", "nbytes")

    def __init__(self) -> None:
        self.count = 0
        self.nbytes = 0  # of values, since `releasing` looked


changes: Final = Changes()
_changes: Final = changes  # in C


def sites_of(sources: list[Any]) -> tuple[Any, ...]:
    """The lines that recorded the nodes among the sources; None for numbers."""
    found: list[Any] = [None] * len(sources)
    for place in range(len(sources)):
        if type(sources[place]) is Node:
            node: Node = sources[place]
            found[place] = node.site
    return tuple(found)


# Runs under way in the thread that evaluates, the outermost first.
under_way: Final[list[AnyRun]] = []


def catch_up() -> None:
    """Settles what runs under way have written.

    A signal handler, or a finaliser, that evaluates in the middle of one would compute it of what is no longer there.
    """
    for run in under_way:
        run.caught_up = True
        note_launched(run)
        for slot in run.done.difference(run.taken.values()):
            node = made_in(run, slot)
            if node is not None and is_pending(node):
                settle(node, run.memory[slot])


def hand_out(run: AnyRun, outputs: list[Node], wanted: Wanted, finished: bool) -> None:
    """Settles a run's outputs, and of one that did not finish all nodes whose values are complete."""
    taken: list[Any] = []
    made = (run.plan, sites_of(run.sources), wanted)
    if not finished:
        note_launched(run)
    ledger.plan(made, run.sources)
    if run.caught_up:
        for slot in run.done:
            node = made_in(run, slot)
            if node is not None and not is_pending(node):
                taken.append(run.memory[slot])
    slots = run.outputs
    for place in range(len(outputs)):
        node = outputs[place]
        slot = slots[place]
        value = run.memory[slot] if finished or slot in run.done else None
        if value is not None and is_pending(node):
            node.made = made
            settle(node, unshared(value, taken))
    if not finished:
        for node, value in complete(run):
            settle(node, unshared(value, taken))


def unshared(value: Any, taken: list[Any]) -> Any:
    """A value, noted in `taken`; a copy of one that is there already: no two nodes share memory."""
    for other in taken:
        if other is value:
            return value.copy()
    taken.append(value)
    return value


def with_equals(raised: list[tuple[Node, int]], sources: list[Any]) -> list[tuple[Node, int]]:
    """What nodes raised, for all nodes in `sources` that say the same: plans compute it once, NumPy each time."""
    same: dict[int, int] = {}
    equals: dict[Any, list[Node]] = {}
    bits: dict[int, int] = {}
    for node, more in raised:
        bits[id(node)] = bits.get(id(node), 0) | more
    for node in sources:
        if type(node) is Node and is_pending(node):
            args = [same.get(id(a), id(a)) if type(a) is Node else a for a in node.args]
            group = equals.setdefault((node.key, *args), [])
            group.append(node)
            same[id(node)] = id(group[0])
    found = []
    for group in equals.values():
        together = 0
        for node in group:
            together |= bits.get(id(node), 0)
        found += [(node, together) for node in group if together]
    return found


def where(nodes: list[Node]) -> str:
    """Names the user's lines that recorded what was being evaluated."""
    from linecache import getline  # here, since importing it takes 5 ms

    sites: dict[str, None] = {}
    for node in nodes:
        if node.site is not None:
            file, number = node.site[0].co_filename, line_of(node.site)
            text = getline(file, number, node.site[2]).strip()
            sites[f"{file}:{number}" + (f"  {text}" if text else "")] = None
    return "lazyarray was evaluating what was recorded at " + ("\n  ".join(sites) or "an unknown line")


def settle(node: Node, value: Any) -> None:
    """The node is evaluated: it holds its value and lets go of its arguments."""
    if type(value) is Remote:
        node.remote = value
    else:
        node.data = value
        _changes.nbytes += node.key.spec.nbytes
    node.args = ()
    _changes.count += 1
