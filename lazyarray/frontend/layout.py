"""Owns memory order: arrays of a given order made of C-ordered roots, and the strides that arrays show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyarray.frontend.array import from_node, from_node_as, in_order, map_of, ndarray, value, wrap
from lazyarray.ir.node import Node, Shape


def ordered(make: Callable[[Shape], Node], shape: Shape, order: str) -> ndarray:
    """A new array of `shape`; in Fortran order the transposed view of a root made in the reversed shape."""
    if order != "F" or len(shape) < 2:
        return from_node(make(shape))
    return from_node_as(make(shape[::-1]), tuple(range(len(shape)))[::-1])


def strides_of(x: Any) -> tuple[int, ...]:
    """Strides in elements that order axes as the array's memory does (without evaluating it)."""
    if type(x) is ndarray and x._np is None:
        return map_of(x).strides
    strides: tuple[int, ...] = x.strides
    return strides


def value_in_order(x: ndarray, perm: tuple[int, ...]) -> Node:
    """The array's value with axes permuted to `perm`, in memory that has this order: sums depend on it."""
    if x._np is not None and x._np.flags.owndata and x._np.flags.f_contiguous:
        value(x)  # takes the memory over, in the order that it has, where nobody else can reach it
    if x._np is None:
        return in_order(x, perm)
    return value(wrap(x._np.transpose(perm)))
