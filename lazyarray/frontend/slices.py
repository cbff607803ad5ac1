"""Owns the usual keys, integers and slices: elements that are there, and views of large managed arrays."""

from __future__ import annotations

from typing import Any, Final

from lazyarray.frontend.quick import Fields, known, limits  # cimport
from lazyarray.frontend.unusual import serve
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.maps import map_at, map_turned  # cimport
from lazyarray.ir.node import Node  # cimport
from lazyarray.native.recycled import reused  # cimport
from lazyarray.runtime.root import Root  # cimport

_make: Final = tuple.__new__
_map: Final = IndexMap


def element(array: Any, index: int) -> Any:
    """`array[index]` of a managed array, if that is a row, or an element whose value is there; else None."""
    node = array._node
    if node is not None:
        data = node.data
        view = None
        if data is None and wakes(node):
            data = node.data
        if data is None or data.ndim != 1:
            return slice_at(array, index)
        extent = data.shape[0]
    else:
        base = array._base
        if base.node is not None and base.node.data is None:
            wakes(base.node)
        view = array._map
        if view is None:
            if len(base.spec.shape) != 1:
                return slice_at(array, index)
            extent = base.spec.shape[0]
        else:
            offset, shape, strides = view
            if len(shape) != 1:
                return slice_at(array, index)
            extent = shape[0]
        node = base.node
        data = base.memory if node is None else node.data
        if data is None or array._part is not None:
            return None
    if index < 0:
        index += extent
    if not 0 <= index < extent:
        return None
    if view is None:
        return data[index]
    return data.reshape(-1)[offset + index * strides[0]]


def slice_at(array: Fields, key: Any) -> Any:
    """`array[key]` for a key that shows a view of a large managed array, as `map_at` takes it; else None."""
    node: Node | None = array._node
    view = None
    if node is not None:
        spec = node.key.spec
    else:
        base: Root = array._base
        spec = base.spec
        view = array._map
    if spec.size < limits.eager:
        return None
    found = map_at(_map, view, spec.shape, key)
    return None if found is None else _show(array, found)


def _show(array: Fields, view: IndexMap) -> Any:
    """What a map shows of the array's root."""
    return shown(base_of(array), view, array._part, array._fixed)


def base_of(array: Fields) -> Root:
    """The base that a managed array shares with its views, made where it has none."""
    base: Root = array._base if array._node is None else core.share(array)  # type: ignore[arg-type]
    return base


def view_at(array: Fields, key: tuple[Any, ...]) -> Any:
    """`array[key]` for integers, slices, None and `...`: a view of a large managed array, or an element that is there.

    None for all else.
    """
    found = slice_at(array, key)
    return _element_at(array, key) if found is None else found


def _element_at(array: Fields, key: tuple[Any, ...]) -> Any:
    """The element that integers name in a large array whose value is there, or all but there; else None."""
    node: Node | None = array._node
    data: Any
    if node is None:
        base: Root = array._base
        if array._map is not None or array._part is not None:
            return None
        spec = base.spec
        node = base.node
        data = base.memory if node is None else node.data
    else:
        spec = node.key.spec
        data = node.data
    if spec.size < limits.eager or len(key) != len(spec.shape):
        return None
    for item in key:
        if type(item) is not int:
            return None
    if data is None and node is not None and wakes(node):
        data = node.data
    if data is None:
        return None
    try:
        return data[key]
    except IndexError:
        return None


def turned(array: Fields) -> Any:
    """`array.T` of a managed array."""
    node: Node | None = array._node
    if node is not None:
        return _show(array, map_turned(_map, None, node.key.spec.shape))
    base: Root = array._base
    return _show(array, map_turned(_map, array._map, base.spec.shape))


def shown(base: Root, view: IndexMap, part: Any, fixed: Any) -> Any:
    """What a map shows of a base."""
    result: Fields = reused(known.array)
    result._np = None
    result._node = None
    result._base = base
    result._map = view
    result._part = part
    result._fixed = fixed
    return result


def rows(array: Any) -> Any:
    """The rows of a managed array of several axes, as views."""
    base = core.share(array)
    offset, shape, strides = core.map_of(array)
    part, fixed = array._part, array._fixed
    count, stride = shape[0], strides[0]
    shape, strides = shape[1:], strides[1:]
    for row in range(count):
        yield shown(base, _make(IndexMap, (offset + row * stride, shape, strides)), part, fixed)


serve(element=element, slice_at=slice_at, turned=turned, view_at=view_at)

from lazyarray.frontend import array as core  # noqa: E402  (any of these modules may be imported first)
from lazyarray.frontend.regions import wakes  # noqa: E402
