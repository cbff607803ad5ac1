"""Owns choosing elements: where, copyto, take, put and their kin."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import (
    as_array,
    assign,
    from_node,
    from_node_as,
    map_of,
    ndarray,
    order_of,
    to_numpy,
    value,
    view_of,
    wrap,
)
from lazyarray.frontend.copies import duplicate
from lazyarray.frontend.counting import count_true
from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.elementwise import common_order
from lazyarray.frontend.indexing import share_memory
from lazyarray.frontend.layout import value_in_order
from lazyarray.frontend.manipulation import ravel, reshape
from lazyarray.frontend.reading import Reading
from lazyarray.frontend.rebase import rebase
from lazyarray.frontend.record import WEAK, broadcast_shape, cast_, compress_, empty_, iota_, is_compiled, map_, update_
from lazyarray.frontend.reductions import operand
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node, Shape

BOOL: Final = np.dtype(bool)
INTP: Final = np.dtype(np.intp)


_ABSENT: Final = object()


def where(condition: Any, x: Any = _ABSENT, y: Any = _ABSENT, /) -> Any:
    if x is _ABSENT and y is _ABSENT:
        return nonzero(condition)
    if x is None or y is None or y is _ABSENT:
        raise Uncompiled
    operands = [operand(condition), *[c if type(c) in WEAK else operand(c) for c in (x, y)]]
    perm = common_order(tuple(operands))
    reading = Reading()
    nodes: list[Any] = [reading.node_of(o, perm if o.ndim else None) if type(o) is ndarray else o for o in operands]
    mask, choices = cast_(nodes[0], BOOL), nodes[1:]
    node = map_("where", (mask, *choices))
    if node.dtype.kind in "iu" and any(type(c) is int for c in choices):
        # NumPy casts the numbers to the result's dtype as `astype` does, or (from 2.5 on) refuses those out of range.
        like = np.zeros((), node.dtype)
        strong = [np.where(True, c, like)[()] if type(c) is int else c for c in choices]
        node = map_("where", (mask, *strong))
    elif node.dtype.char in "efF":
        for c in choices:
            if type(c) in WEAK and float(np.finfo(node.dtype).max) < abs(c) < np.inf:
                np.where(True, c, np.zeros((), node.dtype))  # NumPy's warning
    node = reading.made(node)
    return from_node(node) if perm is None else from_node_as(node, perm)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if type(dst) is not ndarray or (dst._np is None and dst._node is None and dst._fixed):
        raise Uncompiled  # NumPy refuses read-only arrays, but not what is copied to itself
    if where is True:
        assign(dst, src, None, casting)
        return
    mask = as_array(where)
    if mask.dtype != BOOL or share_memory(dst, mask):
        raise Uncompiled  # a mask within the memory that is written over is read while that happens
    chosen = _chosen(dst, src, casting, mask)
    if chosen is None:
        assign(dst, src, mask, casting)
    else:
        assign(dst, from_node(chosen))


def _chosen(dst: ndarray, src: Any, casting: Any, mask: ndarray) -> Node | None:
    """A masked write of a whole array nobody shares, as the choice that it is: a map, which fuses. Else None."""
    shape, dtype = dst.shape, dst.dtype
    if dst._np is not None or dst._node is None or broadcast_shape([shape, mask.shape]) != shape:
        return None
    if type(src) in _NUMBERS:
        box = np.empty((), dtype)
        np.copyto(box, src, casting=casting)
        new: Any = box[()]
    else:
        values = as_array(src)
        fits = is_compiled(values.dtype) and broadcast_shape([shape, values.shape]) == shape
        if not fits or not np.can_cast(values.dtype, dtype, casting) or (values.dtype.kind == "c" != dtype.kind):
            return None
        new = cast_(value(values), dtype)
    return map_("where", (value(mask), new, dst._node))


_NUMBERS: Final = frozenset({bool, int, float, complex, np.float64, np.int64, np.bool_})


def nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NumPy's writes of replacements where the original is NaN or infinite, as a chain of choices."""
    a = operand(x)
    plain = type(nan) in (int, float) and {type(posinf), type(neginf)} <= _REPLACEMENTS
    if not plain or copy is not True or a.dtype.kind != "f" or a.ndim == 0:
        return _nan_to_num_numpy(x, copy, nan, posinf, neginf)
    info = np.finfo(a.dtype)
    perm = order_of(a)
    node = value(a) if perm is None else value_in_order(a, perm)
    highest = info.max if posinf is None else a.dtype.type(posinf)
    lowest = info.min if neginf is None else a.dtype.type(neginf)
    result = map_("where", (map_("isnan", (node,)), a.dtype.type(nan), node))
    result = map_("where", (map_("equal", (node, np.inf)), highest, result))
    result = map_("where", (map_("equal", (node, -np.inf)), lowest, result))
    return from_node(result) if perm is None else from_node_as(result, perm)


_REPLACEMENTS: Final = frozenset({int, float, type(None)})


def _nan_to_num_numpy(*args: Any) -> Any:
    return rebase(np.nan_to_num)(*args)


def _indices(indices: Any) -> ndarray:
    index = as_array(indices)
    if index.dtype.kind not in "iub" or (index.dtype.kind == "u" and index.dtype.itemsize == 8):
        raise Uncompiled
    return index.astype(INTP) if index.dtype == BOOL else index


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    x = operand(a)
    index = _indices(indices)
    if out is not None or mode not in ("raise", "wrap", "clip") or isinstance(axis, bool):
        raise Uncompiled
    if axis is None:
        x, axis = x if x.ndim == 1 else ravel(x), 0
    axis = operator.index(axis)
    if not -x.ndim <= axis < x.ndim:
        raise Uncompiled
    axis %= x.ndim
    extent = x.shape[axis]
    if mode != "raise" or extent == 0:
        if extent == 0 or index._np is None or index.dtype.kind != "i":
            raise Uncompiled
        memory = to_numpy(index)
        index = wrap(memory % extent if mode == "wrap" else np.clip(memory, 0, extent - 1))
    found = x[index] if axis == 0 else x[(slice(None),) * axis + (index,)]
    return duplicate(found) if type(found) is ndarray and order_of(found) is not None else found


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    index = _indices(ind)
    if type(a) is not ndarray or a._np is not None or mode != "raise" or a.size == 0:
        raise Uncompiled
    view = reshape_in_place(a)
    values = as_array(v if isinstance(v, ndarray | np.ndarray | LazyScalar) else np.asarray(v, a.dtype))
    if index.size == 0:
        return
    if values.size != 1 and values.size < index.size:
        raise Uncompiled
    if not is_compiled(values.dtype) or (values.dtype.kind == "c" and a.dtype.kind != "c"):
        raise Uncompiled
    flat = ravel(values)
    view[ravel(index)] = flat if values.size == 1 else flat[: index.size]


def reshape_in_place(a: ndarray) -> ndarray:
    """The array in one dimension over its own memory; where that is no view, NumPy is asked."""
    if not a.flags.c_contiguous:
        raise Uncompiled
    result: ndarray = reshape(a, -1)
    return result


def putmask(a: Any, /, mask: Any, values: Any) -> None:
    chosen = as_array(mask)
    new = as_array(values)
    if type(a) is not ndarray or chosen.shape != a.shape or chosen.dtype.kind not in "biuf":
        raise Uncompiled
    if (new.ndim != 0 and new.shape != a.shape) or not is_compiled(new.dtype):
        raise Uncompiled
    if not np.can_cast(new.dtype, a.dtype, "safe"):
        raise Uncompiled
    if a._np is not None and not a._np.flags.writeable:
        raise Uncompiled  # NumPy refuses it, and `copyto` does not if it is copied to itself
    assign(a, new, _as_mask(chosen), "unsafe")


def _as_mask(chosen: ndarray) -> ndarray:
    """The array as truth values: itself where it has them, for a copy would be counted and read once more."""
    return chosen if chosen.dtype == BOOL else chosen.astype(BOOL)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    chosen = as_array(condition)
    if chosen.ndim != 1:
        raise Uncompiled
    x, at = (ravel(operand(a)), 0) if axis is None else (operand(a), operator.index(axis))
    if out is None and -x.ndim <= at < x.ndim and chosen.size == x.shape[at]:
        at %= x.ndim
        return x[(slice(None),) * at + (_as_mask(chosen),) if at else _as_mask(chosen)]
    return take(a, wrap(np.flatnonzero(to_numpy(chosen))), axis, out)


def compress_method(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis, out)


def extract(condition: Any, arr: Any) -> Any:
    chosen, x = as_array(condition), operand(arr)
    if chosen.size != x.size or not is_compiled(chosen.dtype):
        raise Uncompiled
    return ravel(x)[_as_mask(ravel(chosen))]


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """NumPy's fill_diagonal writes every (n + 1)-th element of `a.flat`; recorded for square matrices."""
    if type(a) is not ndarray or a._np is not None or a.ndim != 2 or a.shape[0] != a.shape[1] or np.ndim(val) != 0:
        raise Uncompiled
    from lazyarray.frontend.array import view_of
    from lazyarray.ir.index_map import diagonal

    assign(view_of(a, diagonal(map_of(a), 0, 0, 1)), val)


def nonzero(a: Any) -> Any:
    """For more axes than one NumPy's result is views of all indices together, an element's beside each other."""
    places, count = _places(a)
    rank = len(places)
    if rank == 1:
        return (from_node(places[0]),)
    columns = [IndexMap(axis, (count,), (rank,)) for axis in range(rank)]
    together = from_node(_joined((count, rank), columns, places))
    return tuple([view_of(together, column) for column in columns])


def flatnonzero(a: Any) -> Any:
    x = operand(a)
    return nonzero(x if x.ndim == 1 else ravel(x))[0]


def argwhere(a: Any) -> Any:
    """NumPy's result shows the indices of each axis, one axis after the other, transposed."""
    places, count = _places(a)
    rank = len(places)
    rows = [IndexMap(axis * count, (count,), (1,)) for axis in range(rank)]
    return view_of(from_node(_joined((rank, count), rows, places)), IndexMap(0, (count, rank), (1, count)))


def _places(a: Any) -> tuple[list[Node], int]:
    """The indices of what is not zero in a large array, by axis, and how many there are; the array is evaluated."""
    x = operand(a)
    if x.ndim == 0 or x._np is not None or x.size < config.eager_below:
        raise Uncompiled
    mask, shape = cast_(value(x), BOOL), x.shape
    count = count_true(mask)
    return [compress_(mask, iota_(shape, axis), shape, count) for axis in range(len(shape))], count


def _joined(shape: Shape, regions: list[IndexMap], parts: list[Node]) -> Node:
    """An array of indices made of its regions."""
    joined = empty_(shape, INTP)
    for region, part in zip(regions, parts, strict=True):
        joined = update_(joined, region, part)
    return joined


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "where": where,
    "copyto": copyto,
    "nan_to_num": nan_to_num,
    "take": take,
    "put": put,
    "putmask": putmask,
    "compress": compress,
    "extract": extract,
    "nonzero": nonzero,
    "argwhere": argwhere,
    "flatnonzero": flatnonzero,
    "fill_diagonal": fill_diagonal,
}
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "take": take,
    "put": put,
    "compress": compress_method,
    "nonzero": nonzero,
}
