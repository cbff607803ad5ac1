"""Owns the one evaluation boundary: makes the values of nodes present in memory.

What is evaluated: the nodes asked for; with them, named nodes that are dear to compute again; and small pending
results (the other statistics of one array, say) that need nothing but what is read anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from lazyarray.ir.expression import Expression, capture, pending_closure
from lazyarray.ir.node import TAPE, Node
from lazyarray.ir.ops import OPS
from lazyarray.runtime.backend import current
from lazyarray.runtime.execute import Run
from lazyarray.runtime.interpret import interpret
from lazyarray.runtime.ledger import ledger
from lazyarray.schedule.fusion import EXPENSIVE
from lazyarray.schedule.plan import Plan
from lazyarray.schedule.schedule import schedule

TAPE_LIMIT: Final = 256  # recorded nodes after which everything pending is evaluated (contract C9)
PLANS_LIMIT: Final = 2048
SMALL_RESULT: Final = 4096  # elements up to which a pending result may be computed along with others
ALWAYS_KEPT: Final = frozenset({"reduce", "scan", "call", "update", "scatter", "gather"})

# What getrefcount says of a node that only the list of the closure, a loop variable and its own argument refer to.
UNNAMED: Final = 3

_plans: dict[Expression, Plan] = {}


def evaluate(nodes: Sequence[Node], reason: str = "asked for") -> None:
    """Gives every node its data. On an error the nodes not reached keep their expressions and stay usable."""
    targets = [node for node in dict.fromkeys(nodes) if node.data is None]
    if not targets:
        return
    targets += companions(targets)
    closure = pending_closure(targets)
    outputs = [*targets, *named_and_dear(closure, targets)]
    expression, sources = capture(closure, outputs)
    backend = current()
    ledger.evaluation(reason)
    if backend.name == "numpy":
        for node, value in zip(outputs, interpret(expression, sources), strict=True):
            settle(node, value)
    else:
        run_plan(plan_of(expression), sources, outputs)
    TAPE[:] = [entry for entry in TAPE if (node := entry()) is not None and node.data is None]


def run_plan(plan: Plan, sources: list[Any], outputs: list[Node]) -> None:
    """Runs the plan and settles its outputs, those reached before an error included."""
    run = Run(plan, sources, current())
    try:
        run.run()
    finally:
        taken: set[int] = set()
        for node, slot in zip(outputs, plan.outputs, strict=True):
            value = run.memory[slot] if slot in run.done else None
            if value is not None:
                settle(node, value.copy() if id(value) in taken else value)
                taken.add(id(value))


def settle(node: Node, value: Any) -> None:
    """The node is evaluated: it holds its value and lets go of its arguments."""
    node.data = value
    node.args = ()


def plan_of(expression: Expression) -> Plan:
    """The plan of an expression, made once."""
    plan = _plans.get(expression)
    if plan is None:
        if len(_plans) >= PLANS_LIMIT:
            for old in list(_plans)[: PLANS_LIMIT // 4]:
                del _plans[old]
        plan = _plans[expression] = schedule(expression)
    return plan


def named_and_dear(closure: list[Node], targets: list[Node]) -> list[Node]:
    """Nodes of the closure that somebody outside it still names and that should be kept now.

    Kept the first time: reductions, library calls, updates (their old memory is gone afterwards), expensive
    elementwise nodes. Cheap ones are kept the second time, so that nothing is computed more than twice.
    """
    uses: dict[int, int] = {}
    for node in closure:
        for arg in node.args:
            uses[id(arg)] = uses.get(id(arg), 0) + 1
    chosen = {id(t) for t in targets}
    kept: list[Node] = []
    for node in closure:
        if id(node) in chosen or sys.getrefcount(node) - uses.get(id(node), 0) <= UNNAMED:
            continue
        if node.visits or is_dear(node):
            kept.append(node)
        else:
            node.visits = 1
    return kept


def is_dear(node: Node) -> bool:
    """True for what is kept the first time it is computed."""
    kind = node.key.kind
    if kind in ALWAYS_KEPT:
        return True
    attr: Any = node.key.attr
    return kind == "map" and attr[0] in OPS and OPS[attr[0]].cost >= EXPENSIVE


def companions(targets: list[Node]) -> list[Node]:
    """Small pending results that reductions yield from inputs that the targets read anyway."""
    closure = pending_closure(targets)
    if not any(node.key.kind == "reduce" for node in closure):
        return []
    inside = {id(node) for node in closure}
    leaves = {id(arg) for node in closure for arg in node.args if type(arg) is Node and arg.data is not None}
    alive = [node for node in (entry() for entry in TAPE) if node is not None and node.data is None]
    used = {id(arg) for node in alive for arg in node.args}
    found = []
    for node in alive:
        if id(node) in inside or id(node) in used or node.key.spec.size > SMALL_RESULT:
            continue
        needs = pending_closure([node])
        if any(n.key.kind == "reduce" for n in needs) and all(
            n.key.kind in ("map", "view", "reduce", "fill", "iota")
            and all(type(a) is not Node or a.data is None or id(a) in leaves for a in n.args)
            for n in needs
        ):
            found.append(node)
    return found


def flush(reason: str = "the recording reached its budget") -> None:
    """Evaluates every pending node that a live array or pending expression still names, and empties the tape."""
    alive = [node for node in (entry() for entry in TAPE) if node is not None and node.data is None]
    TAPE.clear()
    used = {id(arg) for node in alive for arg in node.args}
    evaluate([node for node in alive if id(node) not in used], reason)
