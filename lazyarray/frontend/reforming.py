"""Owns what changes an array itself and not its elements: setting its shape, strides and dtype."""

from __future__ import annotations

import sys
from typing import Any, Final
from weakref import ref

import numpy as np

from lazyarray.frontend import array as core
from lazyarray.frontend.record import view_
from lazyarray.frontend.views import map_from, virtual
from lazyarray.runtime.buffer import ALONE_HERE, Base

Array = np.ndarray[Any, Any]
_SHAPE_IS_SET: Final = (
    "Setting the shape on a NumPy array has been deprecated in NumPy 2.5.\n"
    "As an alternative, you can create a new view using np.reshape (with copy=False if needed)."
)


def set_shape(array: Any, shape: Any) -> None:
    """`array.shape = shape`: NumPy says what fits, on memory that is never read."""
    data = array._np
    shape = core.to_numpy(shape) if type(shape) is core.ndarray else shape
    if data is not None:
        _reshape_in_place(data, shape)
        return
    _unshare(array)
    origin = core.map_of(array)
    stand_in: Any = virtual(origin)
    _reshape_in_place(stand_in, shape)
    view = map_from(stand_in, origin)
    if array._node is not None:
        array._node = view_(array._node, view)
    else:
        if array._map is None and array._part is None:
            array._base.owner = ref(array)
        array._map = view


def _reshape_in_place(data: Any, shape: Any) -> None:
    """NumPy's own setting of a shape, with its warning at the user's line."""
    setter = getattr(data, "_set_shape", None)
    if setter is None:  # NumPy before 2.5, which does not warn
        data.shape = shape
        return
    from lazyarray.frontend.rebase import Warnings

    Warnings.warn(_SHAPE_IS_SET, DeprecationWarning)
    setter(shape)


def set_strides(array: Any, strides: Any) -> None:
    """`array.strides = strides`."""
    data: Any = make_plain(array)
    data.strides = strides


def set_dtype(array: Any, dtype: Any) -> None:
    """`array.dtype = dtype`."""
    data: Any = array._np
    if data is None:
        stand_in: Any = np.lib.stride_tricks.as_strided(np.empty(1, array.dtype), array.shape, array.strides)
        try:
            stand_in.view(dtype)
        except (TypeError, ValueError):
            stand_in.dtype = dtype  # NumPy's errors, after what NumPy 2.5 warns of
            raise
        data = make_plain(array)
    data.dtype = dtype


def _unshare(array: Any) -> None:
    """Makes an array that is all of its base OWNED again where nothing else refers to the base."""
    if array._node is not None or array._map is not None or array._part is not None or array._fixed:
        return
    base: Base = array._base
    if sys.getrefcount(base) > ALONE_HERE:
        return
    node = base.reclaim()
    if node is not None:
        array._node = node


def make_plain(array: Any) -> Array:
    """The array's memory, which it is plain over from now on; views of it see what is done to it."""
    data: Array | None = array._np
    if data is not None:
        return data
    _unshare(array)
    alone = array._node is not None
    made = core.share(array).export() if alone else core.to_numpy(array)
    array._np = made
    return made
