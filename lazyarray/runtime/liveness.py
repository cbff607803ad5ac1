"""Owns what an evaluation keeps: which nodes are named outside of what is evaluated, and which of those to store now.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.ir.node import Key, Node  # cimport
from lazyarray.ir.ops import EXPENSIVE as _EXPENSIVE
from lazyarray.ir.ops import OPS
from lazyarray.native.primitives import count  # cimport
from lazyarray.runtime.recalled import forget

EXPENSIVE: Final = _EXPENSIVE
LARGE: Final = 1 << 18  # bytes from which reading other values again takes as long as reading this one
CACHED: Final = 1 << 22  # bytes of a value that caches hold: it is sooner written than computed again
SITES_LIMIT: Final = 4096  # lines of which it is known that their values are needed again
_NONE: Final[set[int]] = set()
_NO_USES: Final[dict[int, int]] = {}
# What is used twice costs twice as much with each step of `x = f(x, x)`: in C the sum would wrap around.
MOST: Final = 1 << 20
ALWAYS_KEPT: Final = frozenset({"reduce", "scan", "call", "update", "scatter", "gather", "compress"})


# Lines that recorded values which the evaluation after the next needed, too: by code and instruction, and the code.
needed_again: Final[dict[tuple[int, int], Any]] = {}


def _count_of_item(closure: list[Any], place: int) -> int:
    return count(closure[place])


# What counting shows of a node to which only the list of the closure refers (arguments of other nodes of the closure
# come on top): measured, since calls add other numbers in other versions of Python, and in C.
NAMELESS: Final = _count_of_item([object()], 0)


def own_cost(key: Key) -> int:
    """What an operation costs for one element, without what it needs; -1 where its value is always kept."""
    if key.cost == -2:
        attr: Any = key.attr
        known = key.kind == "map" and attr[0] in OPS
        key.cost = -1 if key.kind in ALWAYS_KEPT else OPS[attr[0]].cost if known else 0
    return key.cost


def reduces(closure: list[Node]) -> bool:
    """True when a node of the closure is a reduction."""
    for node in closure:  # noqa: SIM110  (a generator costs more than what it checks)
        if node.key.reads_all:
            return True
    return False


def writes(closure: list[Node]) -> bool:
    """True when a node of the closure writes over a value."""
    for node in closure:  # noqa: SIM110  (as above)
        if node.key.writes:
            return True
    return False


def overwritten(closure: list[Node]) -> set[int]:
    """The ids of evaluated values that nodes of the closure write over."""
    olds: set[int] = set()
    for node in closure:
        if node.key.writes and type(node.args[0]) is Node:
            old: Node = node.args[0]
            if old.data is not None or old.remote is not None:
                olds.add(id(old))
    return olds


def held_by(nodes: list[Node]) -> dict[int, int]:
    """The bytes of evaluated values, by id, that only arguments of the nodes refer to: all pending ones there are."""
    values: list[Node] = []
    for node in nodes:
        for arg in node.args:
            if type(arg) is Node:
                given: Node = arg
                given.uses = 0
    for node in nodes:
        for arg in node.args:
            if type(arg) is Node:
                given = arg
                if given.data is not None or given.remote is not None:
                    if given.uses == 0:
                        values.append(given)
                    given.uses += 1
    # No variable may still refer to a value when references to it are counted.
    node = arg = given = None  # type: ignore[assignment]
    held: dict[int, int] = {}
    for place in range(len(values)):
        if count(values[place]) <= NAMELESS + values[place].uses:
            held[id(values[place])] = values[place].key.spec.nbytes
    return held


def named_and_dear(closure: list[Node], targets: list[Node]) -> tuple[list[Node], dict[int, int]]:
    """Nodes of the closure that somebody outside it still names and that should be kept now; and for each node that
    is written over how many references to it end with this evaluation.

    Kept the first time: what is dear to compute again from memory (reductions, library calls, transcendental chains)
    and updates, whose old memory is gone afterwards; and what reads memory that is written over, which would have to be
    copied for it. Cheap ones are kept the second time, so that nothing is computed more than twice; and from then on
    the first time, if that reads less memory: a loop carries its state from step to step.
    """
    writing = writes(closure)
    olds = overwritten(closure) if writing else _NONE
    # No variable may still refer to a node when references to it are counted.
    count_uses(closure)
    for target in targets:
        target.mark = -1  # asked for
    target = None  # type: ignore[assignment]
    kept: list[Node] = []
    surviving = False
    for place in range(len(closure)):
        named = count(closure[place]) > NAMELESS + closure[place].uses
        node = closure[place]
        asked = node.mark == -1
        node.mark = 0
        again = 0 if asked else cost_again(node)
        if node.visits and node.key.spec.nbytes >= LARGE:
            learn(node)
        if node.visits and not asked and node.key.kind == "roll":
            again = EXPENSIVE  # what is computed of it is cut into pieces in memory, which would be made a third time
        if not asked and named:
            if again >= EXPENSIVE or node.visits or (olds and saves_a_copy(node, olds)) or is_carried(node):
                kept.append(node)
                again = 0
                asked = True
            else:
                surviving = True
        node.place = 2 if asked else 1 if named else 0  # settled, named, or neither
        node.cost = again
        node = None  # type: ignore[assignment]
    if surviving:
        leave_uses(closure)
    return kept, uses_of_old(closure) if writing else _NO_USES


def learn(node: Node) -> None:
    """Notes of a node that is computed again that values of its line are to be kept, if that costs less.

    It does if caches hold the value, or if two values or more are read for it. What is computed of one value in memory
    is as soon computed as read.
    """
    site = node.site
    if (
        site is not None
        and (id(site[0]), site[1]) not in needed_again
        and (node.key.spec.nbytes <= CACHED or reads_several(node))
    ):
        if len(needed_again) >= SITES_LIMIT:
            needed_again.clear()
        needed_again[id(site[0]), site[1]] = site[0]
        forget()  # evaluations that did not keep them


def is_carried(node: Node) -> bool:
    """True for a large value of a line whose values were computed again before."""
    site = node.site
    return site is not None and node.key.spec.nbytes >= LARGE and (id(site[0]), site[1]) in needed_again


def reads_several(node: Node) -> bool:
    """True if a pending node is computed from two values in memory, or more, that are as large as its own."""
    found: Any = None
    seen: set[int] = set()
    waiting: list[Any] = [node]
    while waiting:
        reader: Node = waiting.pop()
        for arg in reader.args:
            if type(arg) is not Node or id(arg) in seen:
                continue
            given: Node = arg
            seen.add(id(given))
            if given.data is None and given.remote is None:
                waiting.append(given)
            elif given.key.spec.nbytes >= node.key.spec.nbytes:
                if found is not None:
                    return True
                found = given
    return False


def saves_a_copy(node: Node, olds: set[int]) -> bool:
    """True for what is computed right of a value that is written over, and takes no more memory than a copy of that."""
    if node.key.kind != "map":
        return False
    for arg in node.args:
        if type(arg) is Node and id(arg) in olds:
            given: Node = arg
            if node.key.spec.nbytes <= given.key.spec.nbytes:
                return True
    return False


def count_uses(closure: list[Node]) -> None:
    """Sets `uses` of all nodes and their arguments: how often nodes of the closure have them for an argument."""
    for node in closure:
        node.uses = 0
        node.mark = 0
        for arg in node.args:
            if type(arg) is Node:
                given: Node = arg
                given.uses = 0
                given.cost = 0
    for node in closure:
        for arg in node.args:
            if type(arg) is Node:
                given = arg
                given.uses += 1


def leave_uses(closure: list[Node]) -> None:
    """Takes out of `uses` what is held by nodes that stay expressions: the named ones, and what they are made of."""
    held: set[int] = set()
    for place in range(len(closure) - 1, -1, -1):
        node = closure[place]
        if node.place != 2 and (node.place == 1 or id(node) in held):
            node.visits = 1
            for arg in node.args:
                if type(arg) is Node:
                    given: Node = arg
                    given.uses -= 1
                    held.add(id(given))


def uses_of_old(closure: list[Node]) -> dict[int, int]:
    """By id of a value that is written over: how many references to it end with the evaluation."""
    found: dict[int, int] = {}
    for node in closure:
        if node.key.writes and type(node.args[0]) is Node:
            old: Node = node.args[0]
            found[id(old)] = old.uses
    return found


def uses_of_ending(closure: list[Node], uses: dict[int, int]) -> dict[int, int]:
    """`uses`, and the same of large values that a result as large may be written over: all of it is computed of them.

    `count_uses` was just called for this closure.
    """
    found: dict[int, int] = {}
    for node in closure:
        if node.key.spec.nbytes >= LARGE and node.key.kind == "map":
            for arg in node.args:
                if type(arg) is Node:
                    given: Node = arg
                    if given.data is not None and given.key.spec.nbytes == node.key.spec.nbytes:
                        found[id(given)] = given.uses
    return {**uses, **found} if found else uses


def cost_again(node: Node) -> int:
    """What computing a node costs for one element, with all that it needs and that is not in memory; at most `MOST`."""
    total = own_cost(node.key)
    if total < 0:
        return EXPENSIVE
    for arg in node.args:
        if type(arg) is Node:
            given: Node = arg
            total += given.cost
    return min(total, MOST)
