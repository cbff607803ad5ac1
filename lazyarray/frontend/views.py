"""Owns views of managed arrays: NumPy says which elements a view shows, viewing memory that is never read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import map_of, ndarray, view_of
from lazyarray.ir.index_map import IndexMap, size_of

# Where stand-in arrays begin. They are looked at, never read; their first bytes are real all the same, so that a
# release of NumPy that looks at an element finds one.
_GROUND: Final = np.zeros(1 << 16, np.int8)
ADDRESS: Final[int] = _GROUND.__array_interface__["data"][0]

Viewer = Callable[..., Any]

_memo: dict[Any, Any] = {}
_MEMO_LIMIT: Final = 16384


class _Interface:
    """Carries `__array_interface__`."""

    __array_interface__: dict[str, Any]


def virtual(view: IndexMap) -> np.ndarray[Any, Any]:
    """An array of one-byte elements with the strides of the map, over no memory."""
    holder = _Interface()
    holder.__array_interface__ = {
        "version": 3,
        "shape": view.shape,
        "strides": view.strides,
        "typestr": "|i1",
        "data": (ADDRESS + view.offset, False),
    }
    return np.asarray(holder)


def map_from(stand_in: np.ndarray[Any, Any], origin: IndexMap) -> IndexMap:
    """The map that a view of the stand-in of `origin` shows."""
    if size_of(stand_in.shape) == 0:
        return IndexMap(origin.offset, stand_in.shape, stand_in.strides)
    address = stand_in.__array_interface__["data"][0]
    return IndexMap(address - ADDRESS, stand_in.shape, stand_in.strides)


def derive(origin: IndexMap, viewer: Viewer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's `viewer` shows of an array laid out as `origin`: a map, or a list or tuple of maps.

    Errors are NumPy's. Viewers only make views: what copies would read the stand-in.
    """
    try:
        key = (viewer, origin, args, tuple(kwargs.items()) if kwargs else None)
        found = _memo.get(key)
    except TypeError:  # lists among the arguments
        return _maps(viewer(virtual(origin), *args, **kwargs), origin)
    if found is not None and not (_is_exact(args) and _is_exact(kwargs.values())):
        found = None
    if found is None:
        found = _maps(viewer(virtual(origin), *args, **kwargs), origin)
        if len(_memo) >= _MEMO_LIMIT:
            _memo.clear()
        _memo[key] = found
    return found


def _is_exact(items: Iterable[Any]) -> bool:
    """Whether no item equals an integer that it is not: NumPy refuses `reshape(2.0)`, and looks at truth values."""
    return not any([isinstance(item, _LOOSE) or (type(item) is tuple and not _is_exact(item)) for item in items])


_LOOSE: Final = (float, complex, bool, np.inexact, np.bool_)


def _maps(result: Any, origin: IndexMap) -> Any:
    if isinstance(result, np.ndarray):
        return map_from(result, origin)
    return type(result)([_maps(item, origin) for item in result])


def view_by(x: ndarray, viewer: Viewer, *args: Any, **kwargs: Any) -> Any:
    """The view (or list, or tuple of views) of a managed array that NumPy's `viewer` makes."""
    found = derive(map_of(x), viewer, args, kwargs)
    if type(found) is IndexMap:
        return view_of(x, found)
    return type(found)([view_of(x, one) for one in found])
