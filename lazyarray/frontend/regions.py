"""Owns small regions of large arrays whose values are there: read and written by NumPy in memory, at once.

Recording a view of three elements costs a hundred times what NumPy needs for it. What is seen in memory here is used
and dropped before anything else happens: no node is made, and nobody is left who could see a later write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.index_keys import locate
from lazyarray.frontend.record import IMMEDIATE
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.index_map import IndexMap, identity, size_of
from lazyarray.ir.node import Node
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.buffer import ALONE_HERE, Base, owns_alone

Array = np.ndarray[Any, Any]
_nparray: Final = np.ndarray
_new: Final[Any] = object.__new__
_make: Final = tuple.__new__
_count: Final[Callable[[object], int]] = sys.getrefcount

FILL_LIMIT: Final = 1 << 20  # elements up to which a number is written into a region at once: a fraction of a ms
CHAIN: Final = 8  # recorded small writes after which an array is taken to be written piece by piece


# ---- seeing


def window(array: Any) -> Array | None:
    """A small view of a large base as memory, to be read now and not kept; None where it is recorded.

    `array` is SHARED.
    """
    view = array._map
    if view is None:
        return None
    shape = view.shape
    size = shape[0] if len(shape) == 1 else size_of(shape)
    if size >= config.eager_below:
        return None
    base = array._base
    node = base.node
    data = base.memory if node is None else node.data
    if data is None:
        return None
    found = show(view, data)
    part = array._part
    return found if part is None else found.real if part == "real" else found.imag


def show(view: IndexMap, data: Array) -> Array:
    """NumPy's view of C-contiguous memory that the map describes, as `ir.index_map.apply`, for small views."""
    offset, shape, strides = view
    itemsize = data.itemsize
    if len(shape) == 1:
        count = shape[0]
        if strides[0] == 1 and count:
            if data.ndim != 1:
                data = data.reshape(-1)
            return data[offset : offset + count]
        return _nparray(shape, data.dtype, data, offset * itemsize if count else 0, (strides[0] * itemsize,))
    if 0 in shape:
        return np.empty(shape, data.dtype)
    return _nparray(shape, data.dtype, data, offset * itemsize, tuple([step * itemsize for step in strides]))


def memory_at(array: Any) -> Array | None:
    """The whole of a managed array as memory, if its values are there; to be looked at now and not kept."""
    node = array._node
    if node is not None:
        data: Array | None = node.data
        return data
    base = array._base
    node = base.node
    data = base.memory if node is None else node.data
    if data is None:
        return None
    view = array._map
    if view is not None:
        data = show(view, data)
    part = array._part
    return data if part is None else data.real if part == "real" else data.imag


# ---- writing


def take(base: Base) -> bool:
    """Turns an evaluated base into memory that is written at once, if nobody else can still read its value."""
    node = base.node
    if node is None:
        return True
    data = node.data
    if data is None or _count(node) > ALONE_HERE or not owns_alone(data) or not data.flags.writeable:
        return False
    base.node = None
    base.memory = data
    return True


def claim(array: Any) -> Array | None:
    """A small view of a large base as memory to be written now; None where the write is recorded. `array` is SHARED."""
    view = array._map
    if view is None or array._fixed or size_of(view.shape) >= config.eager_below or not take(array._base):
        return None
    return memory_at(array)


def source_of(new: Any) -> Any:
    """What is written, as NumPy takes it, if it is there; else None."""
    kind = type(new)
    if kind in IMMEDIATE or kind is _nparray:
        return new
    if kind is core.ndarray:
        data = new._np
        if data is not None:
            return data
        return core.settle(new) if new._node is not None else window(new)
    if kind is LazyScalar:
        return None if new._node.data is None else new.evaluate()
    return None


def put(array: Any, key: Any, new: Any) -> bool:
    """`array[key] = new` for a managed array and a basic key: done, or False and nothing has happened."""
    limit = config.eager_below
    if not limit or not _is_basic(key):
        return False
    owned = array._node
    if owned is None:
        if type(new) is core.ndarray and new._np is None and new._node is None and _is_itself(array, key, new):
            return True  # `a[1:] *= 2` writes through the view and then assigns the view to itself
        if array._fixed:
            return False
        root = array._base.node
    else:
        root = owned
    if root is not None and root.data is None and not _settle_chain(root, array, key, new):
        return False
    whole = memory_at(array)
    if whole is None:
        return False
    try:
        region = whole[key]
    except IndexError:
        return False
    size = region.size
    shape = region.shape if type(region) is _nparray else None
    total = whole.size
    del region
    if size >= limit and (type(new) not in IMMEDIATE or size > FILL_LIMIT or 2 * size > total):
        return False
    if shape is None and type(new) not in IMMEDIATE:
        return False
    source = source_of(new)
    if source is None or (type(source) is _nparray and source.size > size):
        return False
    del whole, root, owned
    if not take(core.share(array)):
        return False
    target = memory_at(array)
    assert target is not None
    target[key] = source
    return True


def _is_basic(key: Any) -> bool:
    kind = type(key)
    if kind is slice or kind is int:
        return True
    if kind is not tuple:
        return False
    for item in key:  # noqa: SIM110  (a generator costs more than what it checks)
        if type(item) is not slice and type(item) is not int:
            return False
    return True


def _is_itself(array: Any, key: Any, new: Any) -> bool:
    if new._base is not array._base or new._part != array._part or array._fixed:
        return False
    found = locate(identity(array._base.spec.shape) if array._map is None else array._map, key)
    return found is not None and found.view == new._map


def _settle_chain(root: Node, array: Any, key: Any, new: Any) -> bool:
    """Evaluates a base that is being written piece by piece, so that the pieces to come are written at once.

    The first writes are recorded like all others: boundary values that are set before the first step of a solver are
    part of its first kernel.
    """
    node: Any = root
    for _ in range(CHAIN):
        if type(node) is not Node or node.data is not None or node.key.kind != "update":
            return False
        attr: Any = node.key.attr
        if type(node.args[1]) is Node and size_of(attr[1]) >= config.eager_below:
            return False
        node = node.args[0]
    boundary.evaluate((root,))
    return True


# ---- views


def view_at(array: Any, key: slice) -> Any:
    """`array[key]` for a managed array with one axis."""
    node = array._node
    if node is None:
        base = array._base
        view = array._map
        part, fixed = array._part, array._fixed
        if view is None:
            offset, extent, stride = 0, base.spec.shape[0], 1
        else:
            offset, extent, stride = view.offset, view.shape[0], view.strides[0]
    else:
        base = core.share(array)
        part, fixed = None, False
        offset, extent, stride = 0, base.spec.shape[0], 1
    start, stop, step = key.indices(extent)
    if step == 1:
        count = stop - start if stop > start else 0
    else:
        count = len(range(start, stop, step))
        step *= stride
    if count:
        offset += start * stride
    result: Any = _new(core.ndarray)
    result._np = None
    result._node = None
    result._base = base
    result._map = _make(IndexMap, (offset, (count,), (stride if step == 1 else step,)))
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
        result: Any = _new(core.ndarray)
        result._np = None
        result._node = None
        result._base = base
        result._map = _make(IndexMap, (offset + row * stride, shape, strides))
        result._part = part
        result._fixed = fixed
        yield result


from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
