"""Owns the expression record: a part of the DAG as plain, hashable data, from which plans are made and found again.

Capturing copies no values: entries name kinds, attributes, shapes and dtypes, and `sources` (kept apart) holds the
nodes and numbers that this particular evaluation feeds in. Two evaluations of the same program text give equal
expressions, whatever the scalars in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lazyarray.ir.node import Node, Shape


class Entry(NamedTuple):
    """One value of an expression; `args` are positions of earlier entries.

    Kinds are the nodes', with "leaf" for whatever is already evaluated and "scalar" for a number in dtype `code`.
    """

    kind: str
    attr: Any
    shape: Shape
    code: str
    args: tuple[int, ...]


class Expression(NamedTuple):
    """Entries in topological order, and the positions of those whose memory somebody asks for."""

    entries: tuple[Entry, ...]
    outputs: tuple[int, ...]


def pending_closure(targets: Sequence[Node]) -> list[Node]:
    """All unevaluated nodes that the targets need, the targets included, in the order they were recorded."""
    seen: set[int] = set()
    found: list[Node] = []
    stack = [t for t in targets if t.data is None]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        for arg in node.args:
            if type(arg) is Node and arg.data is None and id(arg) not in seen:
                stack.append(arg)
    found.sort(key=_sequence_of)
    return found


def _sequence_of(node: Node) -> int:
    return node.sequence


def scalar_code(node: Node, position: int) -> str:
    """The dtype code in which a number standing as argument `position` of `node` takes part."""
    if node.key.kind == "map":
        attr: Any = node.key.attr
        return str(attr[1][position])
    return node.key.spec.code


def capture(nodes: Sequence[Node], outputs: Sequence[Node]) -> tuple[Expression, list[Any]]:
    """The expression of `nodes` (a closure in recorded order), and per entry its source: a node or a number."""
    entries: list[Entry] = []
    sources: list[Any] = []
    position: dict[int, int] = {}
    for node in nodes:
        args: list[int] = []
        for k, arg in enumerate(node.args):
            if type(arg) is Node:
                at = position.get(id(arg))
                if at is None:
                    spec = arg.key.spec
                    at = position[id(arg)] = len(entries)
                    entries.append(Entry("leaf", None, spec.shape, spec.code, ()))
                    sources.append(arg)
            else:
                at = len(entries)
                entries.append(Entry("scalar", None, (), scalar_code(node, k), ()))
                sources.append(arg)
            args.append(at)
        position[id(node)] = len(entries)
        kind, attr, shape, code = node.key.entry
        entries.append(Entry(kind, attr, shape, code, tuple(args)))
        sources.append(node)
    return Expression(tuple(entries), tuple(position[id(node)] for node in outputs)), sources
