"""Owns what an evaluation computes along with what is asked for: pending nodes outside of what it needs.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Final

from lazyarray.ir.expression import next_pass, pending_closure  # cimport
from lazyarray.ir.node import TAPE

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.node import Node  # cimport
from lazyarray.native.primitives import referent  # cimport
from lazyarray.runtime.liveness import held_by, overwritten  # cimport

SMALL_RESULT: Final = 4096  # elements up to which a pending result may be computed along with others


def is_pending(node: Node) -> bool:
    """True when the node's value is nowhere yet."""
    return node.data is None and node.remote is None


def pending() -> list[Node]:
    """Recorded nodes that are alive and not evaluated, oldest first."""
    found: list[Node] = []
    for entry in TAPE:
        node = referent(entry)
        if node is not None and is_pending(node):
            found.append(node)
    return found


def unused(nodes: list[Node]) -> list[Node]:
    """Those of the nodes that no other one of them needs.

    `nodes`: in the order they were recorded, and none missing in between.
    """
    found: list[Node] = []
    mark = next_pass()  # of what a later one needs
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        if node.mark != mark:
            found.append(node)
        for arg in node.args:
            if type(arg) is Node:
                needed: Node = arg
                needed.mark = mark
    found.reverse()
    return found


def stands_apart(closure: list[Node]) -> bool:
    """True if no node outside of a closure, which has just been collected, is pending."""
    node = closure[0]
    mark = node.mark
    for entry in TAPE:
        node = referent(entry)
        if node is not None and node.mark != mark and is_pending(node):
            return False
    return True


def others(closure: list[Node]) -> list[Node]:
    """Pending nodes outside of a closure, which has just been collected: its nodes bear the last mark."""
    node = closure[0]
    mark = node.mark
    found: list[Node] = []
    for entry in TAPE:
        node = referent(entry)
        if node is not None and node.mark != mark and is_pending(node):
            found.append(node)
    return found


def companions(closure: list[Node], outside: list[Node]) -> list[Node]:
    """Small pending results that reductions yield from inputs that a closure with reductions reads anyway."""
    leaves = {id(arg) for node in closure for arg in node.args if type(arg) is Node and not is_pending(arg)}
    used = {id(arg) for node in outside for arg in node.args}
    found = []
    for node in outside:
        if id(node) in used or node.key.spec.size > SMALL_RESULT:
            continue
        needs = pending_closure([node])
        if any(n.key.kind == "reduce" for n in needs) and all(
            n.key.kind in ("map", "view", "reduce", "fill", "iota")
            and all(type(a) is not Node or is_pending(a) or id(a) in leaves for a in n.args)
            for n in needs
        ):
            found.append(node)
    return found


def readers_first(closure: list[Node], outside: list[Node]) -> list[Node]:
    """Pending nodes that read memory which the closure overwrites: evaluated along, they save a copy of it.

    Not where that would run a library call that nobody has asked for.
    """
    olds = overwritten(closure)
    if not olds:
        return []
    reading: dict[int, Node] = {}
    for node in outside:
        if any(id(arg) in olds or id(arg) in reading for arg in node.args):
            reading[id(node)] = node
    if not reading or any(node.key.kind == "call" for node in pending_closure(list(reading.values()))):
        return []
    return unused(list(reading.values()))


def releasing(closure: list[Node], outside: list[Node]) -> list[Node]:
    """Pending results that hold more memory, which nobody else refers to, than they take: evaluated, they release it.

    A loop that adds to an array what each step makes would else hold what all steps made.
    """
    if not outside:
        return []
    held = held_by(closure + outside)
    if not held:
        return []
    found = []
    for node in unused(outside):
        needs = pending_closure([node])
        values = {id(arg) for needed in needs for arg in needed.args}
        nbytes = sum([held[value] for value in values if value in held])
        if nbytes > node.key.spec.nbytes and all(n.key.kind != "call" for n in needs):
            found.append(node)
    return [node for node in found if node.key.kind != "view"]
