"""Owns operands in large memory that others can write, too: read where it lies by what is evaluated at once.

What is recorded would need a copy of it, which takes as long as one operation. `lent.py` has operators' short way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.record import COMPILED, view_
from lazyarray.frontend.windows import window_of
from lazyarray.ir.index_map import IndexMap, identity, transpose
from lazyarray.ir.node import Node, leaf
from lazyarray.native.primitives import is_open, part_of  # cimport
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.ledger import ledger

Array = np.ndarray[Any, Any]


def lent(values: Any) -> Array | None:
    """The memory of a large array that others can write, too; None for all else, and where nothing may be evaluated."""
    if not config.eager_below or ledger.refusing:
        return None
    kind = type(values)
    if kind is core.ndarray:
        core.take_over(values)
        data = values._np
        if data is None and values._node is None and values._base.reclaim() is None:
            data = core.to_numpy(values)  # handed out
    else:
        data = values if kind is np.ndarray else None
    return None if data is None or data.size < config.eager_below or data.dtype not in COMPILED else data


def as_it_lies(values: Any, perm: tuple[int, ...] | None = None) -> Node | None:
    """Large memory that others can write, too, for an operation that is evaluated at once; None: its value is recorded.

    A recorded operation would need a copy of it, which takes as long as the operation. `perm`: the axes in the order in
    which they lie in memory, as the node has them.
    """
    data = lent(values)
    if data is None:
        return None
    if perm is not None:
        data = data[(None,) * (len(perm) - data.ndim)].transpose(perm)
    if is_open(data):
        return leaf(data)
    flags = data.flags
    if flags.c_contiguous or not flags.aligned or not flags.writeable:
        return None
    window = window_of(data)
    return None if window is None else view_(leaf(window), IndexMap(*part_of(data, window)))


class Reading:
    """The operands of one operation, `node_of` each, and then what it makes of them, `made`.

    What others can write is read as it lies, and the operation is made before they do.
    """

    __slots__ = ("_is_lent",)

    def __init__(self) -> None:
        self._is_lent = False

    def node_of(self, array: core.ndarray, perm: tuple[int, ...] | None = None) -> Node:
        """The values of an array, with its axes in the order of `perm`."""
        return self.kept(as_it_lies(array, perm)) or (core.value(array) if perm is None else core.in_order(array, perm))

    def kept(self, lies: Node | None) -> Node | None:
        """What it is given, noted if it is memory that others can write."""
        self._is_lent |= lies is not None
        return lies

    def made(self, node: Node) -> Node:
        """The node of the operation, evaluated if it reads such memory."""
        if self._is_lent:
            boundary.evaluate([node], boundary.SHARED, alone=True, stay=True)
        return node


def product_operand_as_it_lies(values: Any) -> Node | None:
    """The same for a matrix product, which takes transposed memory as well."""
    found = as_it_lies(values)
    if found is not None or values.ndim != 2:
        return found
    turned = as_it_lies(values, (1, 0))
    return None if turned is None else view_(turned, transpose(identity(turned.key.spec.shape), (1, 0)))


from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
