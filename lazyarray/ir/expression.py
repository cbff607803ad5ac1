"""Owns the expression record: a part of the DAG as plain, hashable data, from which plans are made and found again.

Capturing copies no values: entries name kinds, attributes, shapes and dtypes, and `sources` (kept apart) holds the
nodes and numbers that this particular evaluation feeds in. Two evaluations of the same program text give equal
expressions, whatever the scalars in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from lazyarray.ir.node import Node, Spec  # cimport
from lazyarray.records import NamedTuple


class Entry(NamedTuple):
    """One value of an expression; `args` are positions of earlier entries.

    Kinds are the nodes', with "leaf" for whatever is already evaluated and "scalar" for a number in dtype `code`.
    """

    kind: str
    attr: Any
    shape: tuple[int, ...]
    code: str
    args: tuple[int, ...]


class Expression(NamedTuple):
    """Entries in topological order, and the positions of those whose memory somebody asks for."""

    entries: tuple[Entry, ...]
    outputs: tuple[int, ...]


_passes = 0


def next_pass() -> int:
    """A mark that no node bears yet."""
    global _passes
    _passes += 1
    return _passes


def pending_closure(targets: Sequence[Node]) -> list[Node]:
    """All unevaluated nodes that the targets need, the targets included, in the order they were recorded."""
    mark = next_pass()
    found: list[Node] = []
    stack: list[Node] = []
    for node in targets:
        if node.data is None and node.remote is None and node.mark != mark:
            node.mark = mark
            stack.append(node)
    while stack:
        node = stack.pop()
        found.append(node)
        for arg in node.args:
            if type(arg) is Node:
                needed: Node = arg
                if needed.data is None and needed.remote is None and needed.mark != mark:
                    needed.mark = mark
                    stack.append(needed)
    if len(found) > 2:
        in_recorded_order(found)
    elif len(found) == 2 and found[0].sequence > found[1].sequence:
        found.reverse()
    return found


def in_recorded_order(found: list[Node]) -> None:
    """Sorts nodes that a walk from results to operands has found: nearly the reverse of the wanted order."""
    found.reverse()
    moves = 8 * len(found)
    for place in range(1, len(found)):
        node = found[place]
        to = place
        while to > 0:
            other = found[to - 1]
            if other.sequence < node.sequence:
                break
            found[to] = other
            to -= 1
            moves -= 1
        found[to] = node
        if moves < 0:
            found.sort(key=_sequence_of)
            return


def _sequence_of(node: Node) -> int:
    return node.sequence


# Items in the order of entries: a spec (a leaf), a dtype code (a scalar), or positions of arguments and then the key
# whose arguments they are.
Signature: TypeAlias = tuple[tuple[Any, ...], tuple[int, ...]]


def capture(nodes: Sequence[Node], outputs: Sequence[Node]) -> tuple[Signature, list[Any]]:
    """The signature of `nodes` (a closure in recorded order), and per entry its source: a node or a number.

    A signature is an expression in short. Keys and specs are one object each, so that finding a plan compares
    identities.
    """
    items: list[Any] = []
    sources: list[Any] = []
    floats: dict[int, int] = {}  # where numbers stand as float64 that are one object, such as a program's constant
    mark = next_pass()
    for node in nodes:
        key = node.key
        k = 0
        for arg in node.args:
            if type(arg) is Node:
                given: Node = arg
                if given.mark != mark:
                    given.mark = mark
                    given.place = len(sources)
                    items.append(given.key.spec)
                    sources.append(given)
                at = given.place
            else:
                at = -1
                code = key.attr[1][k] if key.kind == "map" else key.spec.code  # type: ignore[index]
                if type(arg) is float and code == "f8":
                    at = floats.setdefault(id(arg), len(sources))
                if at < 0 or at == len(sources):
                    at = len(sources)
                    items.append(code)
                    sources.append(arg)
            items.append(at)
            k += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        node.mark = mark
        node.place = len(sources)
        items.append(key)
        sources.append(node)
    return (tuple(items), tuple([node.place for node in outputs])), sources


def places_of(signature: Signature) -> list[tuple[Any, tuple[int, ...]]]:
    """By place of a source: a spec (a leaf), a dtype code (a scalar), or a key, and the places of its arguments."""
    found: list[tuple[Any, tuple[int, ...]]] = []
    args: list[int] = []
    for item in signature[0]:
        if type(item) is int:
            args.append(item)
        elif type(item) is Spec or type(item) is str:
            found.append((item, ()))
        else:
            found.append((item, tuple(args)))
            args = []
    return found


def expression_of(signature: Signature) -> Expression:
    """The expression that a signature stands for."""
    entries: list[Entry] = []
    for item, args in places_of(signature):
        if type(item) is Spec:
            entries.append(Entry("leaf", None, item.shape, item.code, ()))
        elif type(item) is str:
            entries.append(Entry("scalar", None, (), item, ()))
        else:
            entries.append(Entry(item.kind, item.attr, item.spec.shape, item.spec.code, args))
    return Expression(tuple(entries), signature[1])
