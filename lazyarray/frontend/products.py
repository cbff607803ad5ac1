"""Owns `@` of our arrays: short products of memory are computed at once, others recorded as one such was before.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import spec_of_array, value
from lazyarray.frontend.quick import Fields, known, limits, managed, operand_of, record_node, wrapped  # cimport
from lazyarray.frontend.regions import is_short
from lazyarray.frontend.unusual import serve
from lazyarray.ir.node import Key, Node, Spec  # cimport
from lazyarray.native.primitives import site_outside, size_of_memory  # cimport
from lazyarray.native.products import run_product  # cimport
from lazyarray.runtime.along import is_pending
from lazyarray.runtime.remote import stays_home  # cimport
from lazyarray.runtime.resting import LONG_CALL

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.regions import short_product  # cimport
from lazyarray.runtime.resting import rest  # cimport

_nparray: Final = np.ndarray
_matmul: Final = np.matmul
_LONG_CALL: Final = LONG_CALL
_LIMIT: Final = 4096
_OF_MATRICES: Final = frozenset({(2, 2), (2, 1), (1, 2)})
_keys: dict[tuple[Spec, Spec], tuple[Key, bool]] = {}  # whether it is short, too
config.followers.append(_keys.clear)


def keep(node: Node, operands: tuple[Node, ...]) -> None:
    """Takes note of a recorded product with a matrix, unless a device is set: products there have recipes.

    A recording that has reached its budget is evaluated at once: the node may have let go of its operands.
    """
    left, right = [operand.key.spec for operand in operands]
    ranks = len(left.shape), len(right.shape)
    if ranks in _OF_MATRICES and stays_home():
        if len(_keys) >= _LIMIT:
            _keys.clear()
        rows = left.shape[0] if ranks[0] == 2 else 1
        columns = right.shape[1] if ranks[1] == 2 else 1
        _keys[left, right] = node.key, is_short(rows, right.shape[0], columns)


def multiply(x: Fields, y: Fields) -> Any:
    """`x @ y` of two arrays: computed, or recorded; None where that takes thought."""
    a = known.window(x) if x._np is None and x._node is None else x._np
    b = None
    if a is not None and size_of_memory(a) < limits.eager:
        b = known.window(y) if y._np is None and y._node is None else y._np
    if b is None or size_of_memory(b) >= limits.eager:
        short = short_product(x, y)
        if short is None:
            return again(x, y)
        a, b = short
    if size_of_memory(a) + size_of_memory(b) >= _LONG_CALL:
        rest()
    found = run_product(_matmul, a, b)
    return wrapped(found) if type(found) is _nparray else found


serve(product=multiply)


def again(x: Fields, y: Fields) -> Any:
    """`x @ y` recorded as a product of such operands was before; None if none was, or these may lie in memory."""
    if not _keys or not stays_home():
        return None
    found = _keys.get((spec_of_array(x), spec_of_array(y)))  # type: ignore[arg-type]
    if found is None or _is_large_memory(x) or _is_large_memory(y):
        return None
    key, short = found
    if short and not _lies_nowhere(x) and not _lies_nowhere(y):
        return None
    site = site_outside(0)
    left = _operand(x, site)
    right = None if left is None else _operand(y, site)
    return None if right is None else managed(record_node(key, (left, right), site))


def _is_large_memory(array: Fields) -> bool:
    """True for memory that is read as it lies, or becomes a value without a copy."""
    data = array._np
    return data is not None and size_of_memory(data) >= limits.eager


def _lies_nowhere(array: Fields) -> bool:
    """True for an array that certainly lies in no memory yet."""
    return array._np is None and array._node is not None and is_pending(array._node)


def _operand(array: Fields, site: Any) -> Node | None:
    """The array's value; None where others see its memory, or may."""
    if array._np is not None:
        return operand_of(array, site)
    node: Node | None = array._node
    if node is None and array._base.node is not None:
        # Whatever the order: a product's own does not follow from it.
        return value(array)  # type: ignore[arg-type]
    return node
