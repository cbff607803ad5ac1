"""Owns `lazyarray.evaluate`: the boundary that a program asks for itself."""

from __future__ import annotations

from typing import Any

from lazyarray.frontend.array import holder, ndarray
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.runtime.evaluate import ASKED

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.quick import Fields  # cimport
from lazyarray.ir.node import Node  # cimport
from lazyarray.runtime.evaluate import evaluate as make_present  # cimport


def evaluate_all(arrays: tuple[Any, ...]) -> Any:
    """Makes the values of all arrays and lazy scalars present, those in tuples and lists too; other arguments are let
    through.
    """
    nodes: list[Node] = []
    collect_nodes(arrays, nodes)
    pending: list[Node] = []
    node: Node
    for node in nodes:
        if node.data is None:
            pending.append(node)
    if pending:
        make_present(pending, ASKED, False, True)
    return arrays[0] if len(arrays) == 1 else arrays


def collect_nodes(items: Any, nodes: list[Any]) -> None:
    """Adds the nodes of the items, and of what tuples and lists among them hold, as functions return them."""
    for item in items:
        if type(item) is ndarray:
            array: Fields = item
            if array._np is None:
                node = array._node
                if node is None:
                    node = holder(item)
                if node is not None:
                    nodes.append(node)
        elif type(item) is LazyScalar:
            nodes.append(item._node)
        elif isinstance(item, tuple | list):
            collect_nodes(item, nodes)
