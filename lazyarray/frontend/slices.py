"""Owns the usual keys, integers and slices: elements that are there, and views of large managed arrays."""

from __future__ import annotations

from typing import Any, Final

from lazyarray.config import config
from lazyarray.frontend.handle import Handle, serve
from lazyarray.frontend.regions import wakes
from lazyarray.ir.index_map import IndexMap, c_strides

_new: Final = Handle.__new__
_make: Final = tuple.__new__


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


def slice_at(array: Any, key: Any) -> Any:
    """`array[key]` for an integer or slice that leaves a view of a large managed array; else None."""
    node = array._node
    fixed = False
    name = None
    if node is None:
        base = array._base
        spec = base.spec
        view = array._map
        name, fixed = array._part, array._fixed
    else:
        base = view = None
        spec = node.key.spec
    if spec.size < config.eager_below:
        return None
    if view is None:
        offset, shape = 0, spec.shape
        strides = (1,) if len(shape) == 1 else c_strides(shape)
    else:
        offset, shape, strides = view
    if not shape:
        return None
    if type(key) is int:
        extent = shape[0]
        if len(shape) == 1 or not -extent <= key < extent:
            return None
        if key < 0:
            key += extent
        view = _make(IndexMap, (offset + key * strides[0], shape[1:], strides[1:]))
    else:
        try:
            start, stop, step = key.indices(shape[0])
        except TypeError:
            return None
        count = len(range(start, stop, step)) if step != 1 else stop - start if stop > start else 0
        if count:
            offset += start * strides[0]
        if len(shape) == 1:
            view = _make(IndexMap, (offset, (count,), (step * strides[0],)))
        else:
            view = _make(IndexMap, (offset, (count, *shape[1:]), (step * strides[0], *strides[1:])))
    result: Any = _new(core.ndarray)
    result._np = None
    result._node = None
    result._base = core.share(array) if base is None else base
    result._map = view
    result._part = name
    result._fixed = fixed
    return result


def view_at(array: Any, key: tuple[Any, ...]) -> Any:
    """`array[key]` for integers and slices: a view of a large managed array, or an element that is there; else None."""
    node = array._node
    if node is None:
        base = array._base
        spec = base.spec
        view = array._map
        node = base.node
        data = None if view is not None or array._part is not None else base.memory if node is None else node.data
    else:
        spec = node.key.spec
        view = None
        data = node.data
    rank = len(spec.shape) if view is None else len(view.shape)
    if spec.size < config.eager_below:
        return None
    pending = data is None and view is None and node is not None and node.data is None
    if pending and len(key) == rank and all([type(item) is int for item in key]) and wakes(node):
        data = node.data
    if data is not None and len(key) == rank:
        for item in key:
            if type(item) is not int:
                break
        else:
            try:
                return data[key]
            except IndexError:
                return None
    if view is None:
        offset, shape = 0, spec.shape
        strides = c_strides(shape)
    else:
        offset, shape, strides = view
    if len(key) > rank:
        return None
    left: list[int] = []
    steps: list[int] = []
    for item, extent, stride in zip(key, shape, strides, strict=False):
        kind = type(item)
        if kind is int:
            if not -extent <= item < extent:
                return None
            offset += (item + extent if item < 0 else item) * stride
        elif kind is slice:
            try:
                start, stop, step = item.indices(extent)
            except TypeError:
                return None
            count = len(range(start, stop, step)) if step != 1 else stop - start if stop > start else 0
            if count:
                offset += start * stride
            left.append(count)
            steps.append(step * stride)
        else:
            return None
    used = len(key)
    if not left and used == rank:
        return None
    found = _make(IndexMap, (offset, (*left, *shape[used:]), (*steps, *strides[used:])))
    result: Any = _new(core.ndarray)
    result._np = None
    result._map = found
    if array._node is None:
        result._base = base
        result._part = array._part
        result._fixed = array._fixed
    else:
        result._base = core.share(array)
        result._part = None
        result._fixed = False
    result._node = None
    return result


def rows(array: Any) -> Any:
    """The rows of a managed array of several axes, as views."""
    base = core.share(array)
    offset, shape, strides = core.map_of(array)
    part, fixed = array._part, array._fixed
    count, stride = shape[0], strides[0]
    shape, strides = shape[1:], strides[1:]
    for row in range(count):
        result: Any = _new(core.ndarray)
        result._np = None
        result._node = None
        result._base = base
        result._map = _make(IndexMap, (offset + row * stride, shape, strides))
        result._part = part
        result._fixed = fixed
        yield result


serve(element=element, slice_at=slice_at, view_at=view_at)

from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
