"""Owns what an array answers in all of its states: extents, dtype and number of elements, its transpose and its copy.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyarray.frontend.quick import Fields, limits, wrapped  # cimport
from lazyarray.frontend.unusual import keys  # cimport
from lazyarray.native.primitives import size_of_memory  # cimport


def shape_of(array: Fields) -> Any:
    """The extents of an array."""
    data = array._np
    if data is not None:
        return data.shape
    node = array._node
    if node is not None:
        return node.key.spec.shape
    view = array._map
    return array._base.spec.shape if view is None else view.shape


def dtype_of_array(array: Fields) -> Any:
    """The dtype of an array."""
    data = array._np
    if data is not None:
        return data.dtype
    node = array._node
    if node is not None:
        return node.key.spec.dtype
    dtype = array._base.spec.dtype
    return dtype if array._part is None else np.dtype(f"f{dtype.itemsize // 2}")


def ndim_of(array: Fields) -> int:
    """How many axes an array has."""
    data = array._np
    return len(shape_of(array)) if data is None else data.ndim


def elements_of(array: Fields) -> int:
    """How many elements an array has."""
    data = array._np
    if data is not None:
        return size_of_memory(data)
    size = 1
    for extent in shape_of(array):
        size *= extent
    return size


def transposed(array: Fields) -> Any:
    """The array with its axes in reverse."""
    data = array._np
    if data is None:
        return keys.turned(array)
    if size_of_memory(data) < limits.eager:
        return wrapped(data.T)
    data = None
    return keys.transpose(array)


def copied(array: Fields, order: Any = "C") -> Any:
    """The array in memory of its own."""
    data = array._np
    if data is not None and size_of_memory(data) < limits.eager:
        return wrapped(data.copy(order))
    data = None
    return keys.copy(array, order)
