"""Owns copies and conversions of arrays, and the order of axes in memory that they keep (NumPy's K order)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.quick import known  # cimport
from lazyarray.frontend.record import COMPILED, MEMO_LIMIT, cast_, copy_, view_
from lazyarray.ir.index_map import IndexMap, identity, inverse, size_of, transpose
from lazyarray.ir.node import Node, Spec

DType = np.dtype[Any]


def cast_array(array: core.ndarray, dtype: DType, order: Any = "K") -> core.ndarray:
    """A new array of another dtype, in memory of the given order (`astype` without other options)."""
    data = core.settle(array)
    if data is not None and (data.size < config.eager_below or data.dtype not in COMPILED or dtype not in COMPILED):
        return core.plain(data.astype(dtype, order))
    if dtype not in COMPILED:
        return core.plain(core.read_only(array).astype(dtype, order))
    del data
    warn_complex(array.dtype, dtype)
    perm = order_for(array, order)
    reading = Reading()
    node = reading.node_of(array, perm)
    node = reading.made(copy_(node) if node.key.spec.dtype == dtype else cast_(node, dtype))
    return core.from_node(node) if perm is None else core.from_node_as(node, perm)


def duplicate(array: core.ndarray, order: Any = "C") -> core.ndarray:
    """A copy that shares nothing. Recorded for managed arrays: a node is a value, so nothing moves yet."""
    data = core.settle(array)
    if data is not None and (data.size < config.eager_below or data.dtype not in COMPILED):
        return core.plain(data.copy(order))
    perm = None
    if order not in ("C", "c", None):
        perm = order_for(array, order)
    del data
    reading = Reading()
    node = reading.made(copy_(reading.node_of(array, perm)))
    return core.from_node(node) if perm is None else core.from_node_as(node, perm)


def astype(
    array: core.ndarray, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Any:
    """`ndarray.astype`."""
    if isinstance(dtype, type) and issubclass(dtype, np.dtype):
        # A class of dtypes: which of them, NumPy may have to see the values to tell.
        found = np.empty(0, array.dtype).astype(dtype).dtype
        if found not in COMPILED:
            return core.plain(core.read_only(array).astype(dtype, order, casting, subok, copy))
        dtype = found
    wanted = np.dtype(dtype)
    if type(copy) is not bool:
        np.empty(0, wanted).astype(wanted, copy=copy)  # NumPy's error
    if not copy and array.dtype == wanted and wanted in COMPILED and is_ordered(array, order):
        return array
    # Whether the cast keeps all values is for the values to tell.
    by_value = casting == "same_value"
    if (
        by_value
        or array.dtype not in COMPILED
        or type(subok) is not bool
        or (casting != "unsafe" and not np.can_cast(array.dtype, wanted, casting))
    ):
        data = core.read_only(array)
        made = data.astype(wanted, order, casting, subok, copy)
        return array if made is data else core.plain(made)
    return cast_array(array, wanted, order)


def is_ordered(array: core.ndarray, order: Any) -> bool:
    """Whether an array lies in an order that is asked for."""
    if order in ("K", "k", "A", "a", None):
        return True
    flags = array.flags
    return bool((order in ("C", "c") and flags.c_contiguous) or (order in ("F", "f") and flags.f_contiguous))


def order_for(array: core.ndarray, order: Any) -> tuple[int, ...] | None:
    """The axes from slowest to fastest in a copy made with `order`; None for C order."""
    if order in ("F", "f"):
        return tuple(range(len(array.shape) - 1, -1, -1)) if len(array.shape) > 1 else None
    if order in ("A", "a"):
        flags = array.flags
        return order_for(array, "F") if flags.f_contiguous and not flags.c_contiguous else None
    if order in ("K", "k", None):
        return copied_order(array)
    np.empty(0).copy(order)  # NumPy's error
    return None


def copied_order(array: core.ndarray) -> tuple[int, ...] | None:
    """The axes from slowest to fastest in a copy that keeps the order; None for C order.

    `PyArray_CreateSortedStridePerm` (numpy/_core/src/multiarray/ctors.c): by stride alone, so that what is broadcast
    becomes the fastest axis. Iterators (`order_of`) leave such an axis where it is.
    """
    data = array._np
    if data is not None:
        if data.flags.c_contiguous:
            return None
        strides, shape = data.strides, data.shape
    elif array._node is not None or array._map is None:
        return None
    else:
        strides, shape = array._map.strides, array._map.shape
    perm = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    longer = [axis for axis in perm if shape[axis] != 1]
    return None if longer == sorted(longer) else tuple(perm)


def order_of(array: core.ndarray) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest in memory; None for C order, in which results are made anyway."""
    data = array._np
    if data is not None:
        if data.flags.c_contiguous:
            return None
        strides, shape = data.strides, data.shape
    elif array._node is not None or array._map is None:
        return None
    else:
        strides, shape = array._map.strides, array._map.shape
    axes = list(range(len(shape)))
    # NumPy's K order: a stable sort by stride, in which axes of stride 0 or extent 1 stay where they are.
    for i in range(1, len(axes)):
        place = i
        for j in range(i - 1, -1, -1):
            a, b = axes[j], axes[i]
            step_a, step_b = abs(strides[a]), abs(strides[b])
            if shape[a] == 1 or shape[b] == 1 or step_a == 0 or step_b == 0:
                continue
            if step_a < step_b:
                place = j
            else:
                break
        if place != i:
            axes.insert(place, axes.pop(i))
    perm = tuple(axes)
    return None if perm == tuple(range(len(shape))) else perm


def way_turned(spec: Spec, array: core.ndarray) -> Any:
    """Whether the array shows all of what has this spec, with axes of two elements and more in another order.

    Where it shows a reshaped view of it so, that view's key.
    """
    perm = order_of(array)
    view = array._map
    if perm is None or view is None:
        return False
    shape = tuple([view.shape[axis] for axis in perm])
    if 1 in shape or size_of(shape) != spec.size or view != transpose(identity(shape), inverse(perm)):
        return False
    return shape == spec.shape or known.view_key(spec, identity(shape))


def in_order(array: core.ndarray, perm: tuple[int, ...]) -> Node:
    """The array's value with its axes permuted to `perm`, so that the fastest axis comes last.

    An array with fewer axes than `perm` gets leading ones, as broadcasting gives them.
    """
    if array._np is not None:
        node = core.value(array)
        if array._np is not None:
            return view_(node, transpose(_widened(identity(node.key.spec.shape), len(perm)), perm))
    view = core.map_of(array)
    token = (view, perm)
    found = _IN_ORDER.get(token)
    if found is None:
        if len(_IN_ORDER) >= MEMO_LIMIT:
            _IN_ORDER.clear()
        found = _IN_ORDER[token] = transpose(_widened(view, len(perm)), perm)
    return core.value(core.view_of(array, found))


_IN_ORDER: Final[dict[tuple[IndexMap, tuple[int, ...]], IndexMap]] = {}


def _widened(view: IndexMap, rank: int) -> IndexMap:
    lead = rank - len(view.shape)
    return IndexMap(view.offset, (1,) * lead + view.shape, (0,) * lead + view.strides) if lead else view


from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
from lazyarray.frontend.reading import Reading  # noqa: E402
from lazyarray.frontend.writing import warn_complex  # noqa: E402
