"""Owns `lazyarray.evaluate`: the boundary that a program asks for itself."""

from __future__ import annotations

from typing import Any

from lazyarray.frontend.array import ndarray, value
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.runtime import evaluate as boundary


def evaluate_all(arrays: tuple[Any, ...]) -> Any:
    """Makes the values of all arrays and lazy scalars present; other arguments are let through."""
    nodes = []
    for array in arrays:
        if type(array) is ndarray and array._np is None:
            node = array._node
            nodes.append(value(array) if node is None else node)
        elif type(array) is LazyScalar:
            nodes.append(array._node)
    pending = [node for node in nodes if node.data is None]
    if pending:
        boundary.evaluate(pending, boundary.ASKED, stay=True)
    return arrays[0] if len(arrays) == 1 else arrays
