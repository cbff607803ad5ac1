"""Owns the usual keys, integers and slices: elements that are there, and views of large managed arrays."""

from __future__ import annotations

from typing import Any, Final

from lazyarray.frontend.quick import Fields, known, limits  # cimport
from lazyarray.frontend.regions import wakes
from lazyarray.frontend.unusual import serve
from lazyarray.ir.index_map import MOST_AXES, IndexMap, c_strides
from lazyarray.ir.node import Node  # cimport
from lazyarray.native.primitives import bounds_of  # cimport
from lazyarray.native.recycled import reused  # cimport
from lazyarray.runtime.root import Root  # cimport

_make: Final = tuple.__new__
_MOST_AXES: Final = MOST_AXES


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
    """`array[key]` for an integer or slice that leaves a view of a large managed array; else None."""
    node: Node | None = array._node
    base: Root = None  # type: ignore[assignment]
    view: Any = None
    if node is None:
        base = array._base
        spec = base.spec
        view = array._map
    else:
        spec = node.key.spec
    if spec.size < limits.eager:
        return None
    shape: tuple[int, ...] = spec.shape if view is None else view.shape
    if not shape:
        return None
    strides: tuple[int, ...] = c_strides(shape) if view is None else view.strides
    offset = 0 if view is None else view.offset
    extent = shape[0]
    stride = strides[0]
    if type(key) is int:
        if len(shape) == 1 or not -extent <= key < extent:
            return None
        start = key
        offset += (start + extent if start < 0 else start) * stride
        view = _make(IndexMap, (offset, shape[1:], strides[1:]))
    else:
        try:
            start, step, count = bounds_of(key, extent)
        except TypeError:
            return None
        if count:
            offset += start * stride
        if len(shape) == 1:
            view = _make(IndexMap, (offset, (count,), (step * stride,)))
        else:
            view = _make(IndexMap, (offset, (count, *shape[1:]), (step * stride, *strides[1:])))
    if base is None:
        return _shown(core.share(array), view, None, False)
    return _shown(base, view, array._part, array._fixed)


def view_at(array: Fields, key: tuple[Any, ...]) -> Any:
    """`array[key]` for integers, slices, None and `...`: a view of a large managed array, or an element that is there.

    None for all else.
    """
    node: Node | None = array._node
    base: Root = None  # type: ignore[assignment]
    view: Any = None
    data: Any
    if node is None:
        base = array._base
        spec = base.spec
        view = array._map
        node = base.node
        data = None if view is not None or array._part is not None else base.memory if node is None else node.data
    else:
        spec = node.key.spec
        data = node.data
    shape: tuple[int, ...] = spec.shape if view is None else view.shape
    rank = len(shape)
    if spec.size < limits.eager:
        return None
    given = 0  # axes that the key names
    rest = -1  # axes that an ellipsis stands for
    for item in key:
        if item is Ellipsis:
            if rest >= 0:
                return None
            rest = 0
        elif item is not None:
            given += 1
    if given > rank:
        return None
    if rest == 0:
        rest = rank - given
    there = data is not None or (node is not None and node.data is None)
    if there and view is None and given == rank == len(key):
        for item in key:
            if type(item) is not int:
                break
        else:
            if data is None and node is not None and wakes(node):
                data = node.data
            if data is not None:
                try:
                    return data[key]
                except IndexError:
                    return None
    strides: tuple[int, ...] = c_strides(shape) if view is None else view.strides
    offset = 0 if view is None else view.offset
    left: list[int] = []
    steps: list[int] = []
    place = 0
    for item in key:
        if item is None:
            left.append(1)
            steps.append(0)
            continue
        if item is Ellipsis:
            left.extend(shape[place : place + rest])
            steps.extend(strides[place : place + rest])
            place += rest
            continue
        extent = shape[place]
        stride = strides[place]
        place += 1
        if type(item) is int:
            if not -extent <= item < extent:
                return None
            start = item
            offset += (start + extent if start < 0 else start) * stride
        elif type(item) is slice:
            try:
                start, step, count = bounds_of(item, extent)
            except TypeError:
                return None
            if count:
                offset += start * stride
            left.append(count)
            steps.append(step * stride)
        else:
            return None
    if len(left) + rank - place > _MOST_AXES:
        return None
    if place == rank:
        if not left:
            return None
        found = _make(IndexMap, (offset, tuple(left), tuple(steps)))
    else:
        found = _make(IndexMap, (offset, (*left, *shape[place:]), (*steps, *strides[place:])))
    if array._node is not None:
        return _shown(core.share(array), found, None, False)  # type: ignore[arg-type]
    return _shown(base, found, array._part, array._fixed)


def turned(array: Fields) -> Any:
    """`array.T` of a managed array."""
    node: Node | None = array._node
    view: Any = None
    if node is None:
        spec = array._base.spec
        view = array._map
    else:
        spec = node.key.spec
    shape: tuple[int, ...] = spec.shape if view is None else view.shape
    strides: tuple[int, ...] = c_strides(shape) if view is None else view.strides
    found = _make(IndexMap, (0 if view is None else view.offset, shape[::-1], strides[::-1]))
    if node is not None:
        return _shown(core.share(array), found, None, False)  # type: ignore[arg-type]
    return _shown(array._base, found, array._part, array._fixed)


def _shown(base: Root, view: IndexMap, part: Any, fixed: Any) -> Any:
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
        yield _shown(base, _make(IndexMap, (offset + row * stride, shape, strides)), part, fixed)


serve(element=element, slice_at=slice_at, turned=turned, view_at=view_at)

from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
