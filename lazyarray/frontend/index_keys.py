"""Owns index keys: what a key means for an array's shape, as an index map or as index arrays, with NumPy's errors."""

from __future__ import annotations

import operator
import sys
from itertools import pairwise
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.counting import COUNTED, look
from lazyarray.frontend.foreign import forward
from lazyarray.frontend.record import broadcast_shape, cast_, map_, reduce_
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir import index_map
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node, Shape, leaf
from lazyarray.records import NamedTuple
from lazyarray.runtime.device import in_use
from lazyarray.runtime.evaluate import evaluate

_nparray: Final = np.ndarray
_INT: Final = np.dtype(np.int64)
_BOOL: Final = np.dtype(bool)
CHECKED: Final = "indices are checked against the extents of what they index"
AS_INDEX: Final = "it says which elements are meant"
_ELLIPSIS: Final = type(Ellipsis)


class Advanced(NamedTuple):
    """A parsed advanced key."""

    view: IndexMap  # the basic part, with the axes of index arrays still whole
    axes: tuple[int, ...]  # axes of the view that index arrays address
    indices: tuple[Any, ...]  # one NumPy int array per axis, unchecked; or None with `mask`
    mask: Any  # the single boolean array of the key (an ndarray of ours or NumPy's), if that is all there is
    position: int  # where the index axes come in the result
    named: tuple[int, ...]  # the array's own axes behind `axes`: what errors say


class Located(NamedTuple):
    """A basic key's region; `element` when the key is integers for all axes and nothing else."""

    view: IndexMap
    element: bool
    copied: bool = False  # an array without axes stood for an integer: NumPy then reads a copy


def locate(own: IndexMap, key: Any) -> Located | None:
    """Where a basic key lies in the array's root; None for an advanced key."""
    if type(key) is ndarray and key.shape:
        return None
    items = key if type(key) is tuple else (key,)
    offset, shape, steps = own
    rank = len(shape)
    axis = 0
    out_shape: list[int] = []
    out_steps: list[int] = []
    whole = True
    for item in items:
        kind = type(item)
        if kind is slice:
            if axis >= rank:
                break
            extent, step = shape[axis], steps[axis]
            try:
                start, stop, stride = item.indices(extent)
            except TypeError:
                return _locate_slowly(own, key)
            if stride == 1:
                count = stop - start if stop > start else 0
            else:
                count = len(range(start, stop, stride))
            if count:
                offset += start * step
            out_shape.append(count)
            out_steps.append(step * stride)
            axis += 1
            whole = False
        elif kind is int:
            if axis >= rank:
                break
            extent = shape[axis]
            if item < 0:
                item += extent
            if not 0 <= item < extent:
                return _locate_slowly(own, key)
            offset += item * steps[axis]
            axis += 1
        else:
            return _locate_slowly(own, key)
    else:
        if axis < rank:
            whole = False
            out_shape += shape[axis:]
            out_steps += steps[axis:]
        return Located(IndexMap(offset, tuple(out_shape), tuple(out_steps)), whole)
    return _locate_slowly(own, key)


def _locate_slowly(own: IndexMap, key: Any) -> Located | None:
    items = key if type(key) is tuple else (key,)
    copied = any(_is_integer_array(item) for item in items)
    if copied:
        items = tuple([operator.index(item) if _is_integer_array(item) else item for item in items])
    parsed = _parse_basic(items, own.shape)
    if parsed is None:
        return None
    full, exact = parsed
    found = index_map.index(own, full)
    return Located(found, exact and not found.shape and None not in full, copied)


def _is_integer_array(item: Any) -> bool:
    return type(item) in (ndarray, _nparray) and not item.shape and item.dtype.kind in "iu"


def memory_key(key: Any) -> Any:
    """The key as NumPy takes it."""
    kind = type(key)
    if kind is int or (kind is slice and type(key.start) is not LazyScalar and type(key.stop) is not LazyScalar):
        return key
    if kind is ndarray:
        return read_only(key, COUNTED if key.dtype == _BOOL else AS_INDEX)
    if kind is LazyScalar:
        return key._now(AS_INDEX)
    if kind is tuple:
        return tuple([memory_key(item) for item in key])
    if kind is list:
        return [memory_key(item) for item in key]
    return forward(key)


def _parse_basic(key: Any, shape: Shape) -> tuple[tuple[Any, ...], bool] | None:
    """The key with integers in bounds and the ellipsis expanded; None for an advanced key.

    The flag is False when the key has an ellipsis: then NumPy gives an array even for one element.
    """
    items = key if type(key) is tuple else (key,)
    if len(items) > 2 * index_map.MOST_AXES:  # as `unpack_tuple` in numpy/_core/src/multiarray/mapping.c
        raise IndexError("too many indices for array")
    consumed = 0
    dots = -1
    result: list[Any] = []
    for item in items:
        kind = type(item)
        if kind is slice:
            consumed += 1
            result.append(item)
        elif item is None:
            result.append(None)
        elif kind is _ELLIPSIS:
            if dots >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            dots = len(result)
        else:
            if kind is not int:
                if not _is_integer(item):
                    return None
                item = operator.index(item)
            consumed += 1
            result.append(item)
    rank = len(shape)
    if consumed > rank:
        _refuse_count(rank, consumed)
    if dots >= 0:
        result[dots:dots] = [slice(None)] * (rank - consumed)
    axis = 0
    for place, item in enumerate(result):
        if item is None:
            continue
        if type(item) is int:
            result[place] = _in_bounds(item, axis, shape[axis])
        elif type(item.start) is LazyScalar or type(item.stop) is LazyScalar:
            result[place] = slice(*map(_evaluated, (item.start, item.stop, item.step)))
        axis += 1
    return tuple(result), dots < 0


def _evaluated(bound: Any) -> Any:
    return operator.index(bound) if type(bound) is LazyScalar else bound


def _is_integer(item: Any) -> bool:
    """True for what NumPy takes as an integer index; arrays without axes are advanced keys."""
    kind = type(item)
    if kind is bool or kind is np.bool_:
        return False
    if kind is LazyScalar:
        return bool(item.dtype.kind in "iu")
    if kind is ndarray or isinstance(item, _nparray | list | tuple | str):
        return False
    return isinstance(item, np.integer | int) or (not isinstance(item, np.generic) and hasattr(kind, "__index__"))


def _refuse_count(rank: int, count: int) -> NoReturn:
    raise IndexError(f"too many indices for array: array is {rank}-dimensional, but {count} were indexed")


def _in_bounds(item: int, axis: int, extent: int) -> int:
    if -extent <= item < extent:
        return item + extent if item < 0 else item
    if not -sys.maxsize - 1 <= item <= sys.maxsize:
        np.empty(0)[item]  # NumPy's error
    raise IndexError(f"index {item} is out of bounds for axis {axis} with size {extent}")


# ---- advanced keys


def _is_mask(item: Any) -> bool:
    return bool(item.dtype == np.bool_)


def _as_index(item: Any) -> Any:
    """An index array (ours or NumPy's), with NumPy's error for what cannot index."""
    if type(item) is ndarray:
        found: Any = item
    elif type(item) is LazyScalar:
        found = np.asarray(item._now())
    else:
        found = np.asarray(memory_key(item))
        if found.size == 0 and not isinstance(item, _nparray | ndarray):
            found = found.astype(np.intp)
    if found.dtype.kind not in "iub":
        if isinstance(item, _nparray | ndarray):
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
            "arrays are valid indices"
        )
    return found


MOST_ITEMS: Final = 32  # items of a key from which on the limits of NumPy's iterators may refuse it


def parse_advanced(array: ndarray, key: Any) -> Advanced | None:
    """The parts of an advanced key; None for the rare ones that NumPy is asked to do (masks without axes, very
    many items)."""
    if type(key) is ndarray:
        alone = _parse_alone(array, key)
        if alone is not None:
            return alone
    shape = array.shape
    items: list[Any] = list(key) if type(key) is tuple else [key]
    if len(items) > MOST_ITEMS:
        return None
    consumed, dots = 0, -1
    for place, item in enumerate(items):
        kind = type(item)
        if item is None:
            continue
        if kind is _ELLIPSIS:
            if dots >= 0:
                raise IndexError("an index can only have a single ellipsis ('...')")
            dots = place
        elif kind is slice:
            consumed += 1
        elif kind is int or _is_integer(item):
            items[place] = operator.index(item)
            consumed += 1
        else:
            found = items[place] = _as_index(item)
            if _is_mask(found):
                if len(found.shape) == 0:
                    return None
                consumed += len(found.shape)
            else:
                consumed += 1
    if consumed > len(shape):
        _refuse_count(len(shape), consumed)
    if dots >= 0:
        items[dots : dots + 1] = [slice(None)] * (len(shape) - consumed)
    else:
        items += [slice(None)] * (len(shape) - consumed)
    return _place(array, shape, items, dots, len(shape) - consumed)


def _parse_alone(array: ndarray, key: ndarray) -> Advanced | None:
    """`parse_advanced` of one array of integers, or of a mask of the array's own shape; None of all else."""
    own, shape = array.shape, key.shape
    kind = key.dtype.kind
    if not own or not shape:
        return None
    if kind in "iu":
        return Advanced(map_of(array), (0,), (key,), None, 0, (0,))
    if kind == "b" and shape == own:
        axes = tuple(range(len(own)))
        return Advanced(map_of(array), axes, (), key, 0, axes)
    return None


def _place(array: ndarray, shape: Shape, items: list[Any], dots: int, dotted: int) -> Advanced:
    basic: list[Any] = []
    axes: list[int] = []
    named: list[int] = []
    indices: list[Any] = []
    masks: list[Any] = []
    fitting = True
    runs: list[int] = []  # places (in the expanded key) of everything that NumPy counts as advanced
    axis = at = out = 0
    position = -1
    for place, item in enumerate(items):
        if item is None or type(item) is slice:
            basic.append(item)
            axis += item is not None
            at += 1
            out += 1
            continue
        # An ellipsis that stands for no axes still separates.
        separated = dots >= 0 and dotted == 0 and place >= dots
        runs.append(place + separated)
        if position < 0:
            position = out
        if type(item) is int:
            basic.append(_in_bounds(item, axis, shape[axis]))
            axis += 1
            continue
        if _is_mask(item):
            masks.append(item)
            for k, extent in enumerate(item.shape):
                if extent != shape[axis + k]:
                    if not extent:
                        fitting = False  # NumPy lets it select nothing
                        continue
                    raise IndexError(
                        f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                        f"{shape[axis + k]} but size of corresponding boolean axis is {extent}"
                    )
            count = len(item.shape)
        else:
            indices.append(item)
            count = 1
        basic += [slice(None)] * count
        axes += range(at, at + count)
        named += range(axis, axis + count)
        at += count
        axis += count
    adjacent = all(b - a == 1 for a, b in pairwise(runs))
    if not adjacent:
        position = 0
    view = index_map.index(map_of(array), tuple(basic))
    mask = masks[0] if len(masks) == 1 and not indices and fitting else None
    found: tuple[Any, ...] = ()
    if mask is None:
        arrays: list[Any] = []
        for item in items:
            if item is None or type(item) in (slice, int):
                continue
            arrays += np.nonzero(read_only(item) if type(item) is ndarray else item) if _is_mask(item) else [item]
        found = tuple(arrays)
    return Advanced(view, tuple(axes), found, mask, position, tuple(named))


def index_nodes(parsed: Advanced) -> list[Node]:
    """The indices as int64 nodes, checked against their axes, negative ones counted from the end."""
    look(CHECKED)
    shapes = [i.shape for i in parsed.indices]
    if len(shapes) > 1 and broadcast_shape(shapes) is None:
        text = " ".join("(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in shapes)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} ")
    found = [_recorded(item) for item in parsed.indices]
    pending = [n for n in dict.fromkeys(found) if n is not None and n.data is None and n.key.spec.size]
    if len(pending) > 1:
        _find_bounds([n for n in pending if n not in _BOUNDS])
    nodes: list[Node] = []
    for item, node, axis, named in zip(parsed.indices, found, parsed.axes, parsed.named, strict=True):
        extent = parsed.view.shape[axis]
        data = item if type(item) is not ndarray else read_only(item) if node is None else node
        low, high = bounds_of(data)
        if low < -extent or high >= extent:
            data = read_only(item) if type(item) is ndarray else item
            wrong = data[(data < -extent) | (data >= extent)].flat[0]
            raise IndexError(f"index {wrong} is out of bounds for axis {named} with size {extent}")
        if node is None:
            node = leaf(np.array(data, _INT, order="C"))
        node = cast_(node, _INT)
        if low < 0:
            node = map_("where", (map_("less", (node, 0)), map_("add", (node, extent)), node))
        nodes.append(node)
    return nodes


def _recorded(item: Any) -> Node | None:
    """The node of an index array of ours that is recorded, or is large."""
    if type(item) is not ndarray:
        return None
    if item.size >= config.eager_below:
        take_over(item)
    return value(item) if item._np is None else None


_BOUNDS: Final[WeakKeyDictionary[Node, tuple[int, int]]] = WeakKeyDictionary()
_LARGE: Final = 1 << 17  # elements from which both bounds are found by one compiled pass


def bounds_of(indices: Any) -> tuple[int, int]:
    """The least and the greatest index of a node or of memory; a node's are remembered."""
    if type(indices) is not Node:
        return (int(indices.min()), int(indices.max())) if indices.size else (0, -1)
    found = _BOUNDS.get(indices)
    if found is None:
        spec = indices.key.spec
        if indices.data is not None and spec.size < _LARGE:
            found = bounds_of(indices.data)
        elif spec.size == 0:
            found = (0, -1)
        else:
            _find_bounds([indices])
            return _BOUNDS[indices]
        _BOUNDS[indices] = found
    return found


def _find_bounds(indices: list[Node]) -> None:
    """Notes the bounds of nodes that have elements, in one evaluation: what they select by one mask is one kernel."""
    if not in_use() and all([n.key.spec.size < config.eager_below for n in indices]):
        # Looking at few in memory takes less time than a reduction's launch.
        evaluate([n for n in indices if n.data is None], "indices are checked")
        for node in indices:
            _BOUNDS[node] = bounds_of(node.data)
        return
    ends = [reduce_(name, n, tuple(range(n.key.spec.ndim))) for n in indices for name in ("min", "max")]
    evaluate([*[n for n in indices if n.data is None], *ends], stay=True)
    evaluate(ends, "indices are checked")
    for place, node in enumerate(indices):
        low, high = (end.data[()] for end in ends[2 * place : 2 * place + 2] if end.data is not None)
        _BOUNDS[node] = (int(low), int(high))


# Last: either module may be imported first.
from lazyarray.frontend.array import map_of, ndarray, read_only, take_over, value  # noqa: E402
