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
    collect_absent(arrays, nodes)
    if nodes:
        make_present(nodes, ASKED, False, True)
    return arrays[0] if len(arrays) == 1 else arrays


def collect_absent(items: Any, nodes: list[Any]) -> None:
    """Adds the nodes without values of the items, and of what tuples and lists among them hold, as functions return
    them.
    """
    for item in items:
        node: Node | None = None
        if type(item) is ndarray:
            array: Fields = item
            if array._np is None:
                node = array._node
                if node is None:
                    node = holder(item)
        elif type(item) is LazyScalar:
            node = item._node
        elif isinstance(item, tuple | list):
            collect_absent(item, nodes)
        if node is not None and node.data is None:
            nodes.append(node)
