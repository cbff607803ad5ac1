"""Owns the expression record: a part of the DAG as plain, hashable data, from which plans are made and found again.

Capturing copies no values: entries name kinds, attributes, shapes and dtypes, and `sources` (kept apart) holds the
nodes and numbers that this particular evaluation feeds in. Two evaluations of the same program text give equal
expressions, whatever the scalars in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from lazyarray.ir.node import Node, Shape, Spec


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
    stack = [t for t in targets if t.data is None and t.remote is None]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        for arg in node.args:
            if type(arg) is Node and arg.data is None and arg.remote is None and id(arg) not in seen:
                stack.append(arg)
    found.sort(key=_sequence_of)
    return found


def _sequence_of(node: Node) -> int:
    return node.sequence


Signature: TypeAlias = tuple[tuple[Any, ...], tuple[int, ...]]


def capture(nodes: Sequence[Node], outputs: Sequence[Node]) -> tuple[Signature, list[Any]]:
    """The signature of `nodes` (a closure in recorded order), and per entry its source: a node or a number.

    A signature is an expression in short: per entry a spec (a leaf), a dtype code (a scalar) or a key and argument
    positions. Keys and specs are one object each, so that finding a plan compares identities.
    """
    entries: list[Any] = []
    sources: list[Any] = []
    position: dict[int, int] = {}
    for node in nodes:
        args: list[Any] = [node.key]
        for k, arg in enumerate(node.args):
            at = position.get(id(arg))
            if at is None or (type(arg) is not Node and type(arg) is not float):
                at = len(entries)
                if type(arg) is Node:
                    entries.append(arg.key.spec)
                    position[id(arg)] = at
                else:
                    entries.append(scalar_code(node, k))
                    if type(arg) is float and entries[at] == "f8":
                        position[id(arg)] = at
                sources.append(arg)
            elif type(arg) is float and scalar_code(node, k) != entries[at]:
                at = len(entries)
                entries.append(scalar_code(node, k))
                sources.append(arg)
            args.append(at)
        position[id(node)] = len(entries)
        entries.append(tuple(args))
        sources.append(node)
    return (tuple(entries), tuple([position[id(node)] for node in outputs])), sources


def scalar_code(node: Node, position: int) -> str:
    """The dtype code in which a number standing as argument `position` of `node` takes part."""
    key = node.key
    if key.kind == "map":
        attr: Any = key.attr
        return attr[1][position]  # type: ignore[no-any-return]
    return key.spec.code


def expression_of(signature: Signature) -> Expression:
    """The expression that a signature stands for."""
    entries: list[Entry] = []
    for item in signature[0]:
        if type(item) is Spec:
            entries.append(Entry("leaf", None, item.shape, item.code, ()))
        elif type(item) is str:
            entries.append(Entry("scalar", None, (), item, ()))
        else:
            key, *args = item
            entries.append(Entry(key.kind, key.attr, key.spec.shape, key.spec.code, tuple(args)))
    return Expression(tuple(entries), signature[1])
