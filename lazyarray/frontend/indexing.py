"""Owns indexing: NumPy's whole meaning of `x[key]` and `x[key] = value`, over index maps, gathers and masks.

Basic indexing moves only the index map.  An advanced read is a gather from the basic part's view; an advanced write
a scatter into it, or an update under a mask.  Index values are checked when the operation is recorded, so they are
evaluated there.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import (
    from_node,
    map_of,
    ndarray,
    plain,
    read_only,
    settle,
    take_over,
    to_numpy,
    value,
    view_of,
    wrap,
)
from lazyarray.frontend.record import (
    NUMBERS,
    broadcast_,
    broadcast_shape,
    cast_,
    gather_,
    reshape_,
    scatter_,
    update_,
    view_,
)
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.frontend.writing import (
    as_operand,
    check_fits,
    refuse_write,
    to_memory,
    warn_complex,
    write,
)
from lazyarray.ir import index_map
from lazyarray.ir.index_map import IndexMap, size_of
from lazyarray.ir.node import Node, Shape, leaf
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.ledger import ledger

_nparray: Final = np.ndarray
_INT: Final = np.dtype(np.int64)
_ELLIPSIS: Final = type(Ellipsis)


class _Advanced(NamedTuple):
    """A parsed advanced key."""

    view: IndexMap  # the basic part, with the axes of index arrays still whole
    axes: tuple[int, ...]  # axes of the view that index arrays address
    indices: tuple[Any, ...]  # one NumPy int array per axis, unchecked; or None with `mask`
    mask: Any  # the single boolean array of the key (an ndarray of ours or NumPy's), if that is all there is
    position: int  # where the index axes come in the result


# ---- reading


def get(array: ndarray, key: Any) -> Any:
    """`array[key]`."""
    kind = type(key)
    data = array._np
    if data is None:
        node = array._node
        if node is not None:
            if node.data is not None:
                if kind is int and len(node.data.shape) == 1:
                    return node.data[key]
                data = settle(array)
        elif array._base.node is None or array._base.node.data is not None:
            data = settle(array)
    elif data.size >= config.eager_below:
        del data
        take_over(array)
        data = array._np
    if data is not None:
        return _get_plain(data, key)
    node = array._node
    if node is None:
        own = array._map
        if own is None:
            own = index_map.identity(array._base.spec.shape)
    else:
        own = index_map.identity(node.key.spec.shape)
    found = _locate(own, key)
    if found is None:
        return _get_advanced(array, key)
    if found.element:
        return _element(array, found.view)
    view = view_of(array, found.view)
    return view.copy() if found.copied else view


class _Located(NamedTuple):
    """A basic key's region; `element` when the key is integers for all axes and nothing else."""

    view: IndexMap
    element: bool
    copied: bool = False  # an array without axes stood for an integer: NumPy then reads a copy


def _locate(own: IndexMap, key: Any) -> _Located | None:
    """Where a basic key lies in the array's root; None for an advanced key."""
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
        return _Located(IndexMap(offset, tuple(out_shape), tuple(out_steps)), whole)
    return _locate_slowly(own, key)


def _locate_slowly(own: IndexMap, key: Any) -> _Located | None:
    items = key if type(key) is tuple else (key,)
    copied = any(_is_integer_array(item) for item in items)
    if copied:
        items = tuple([operator.index(item) if _is_integer_array(item) else item for item in items])
    parsed = _parse_basic(items, own.shape)
    if parsed is None:
        return None
    full, exact = parsed
    found = index_map.index(own, full)
    return _Located(found, exact and not found.shape and None not in full, copied)


def _is_integer_array(item: Any) -> bool:
    return type(item) in (ndarray, _nparray) and not item.shape and item.dtype.kind in "iu"


def _get_plain(data: Any, key: Any) -> Any:
    found = data[memory_key(key)]
    return plain(found) if type(found) is _nparray else found


def memory_key(key: Any) -> Any:
    """The key as NumPy takes it."""
    kind = type(key)
    if kind is int or (kind is slice and type(key.start) is not LazyScalar and type(key.stop) is not LazyScalar):
        return key
    if kind is ndarray:
        return read_only(key)
    if kind is LazyScalar:
        return key.evaluate()
    if kind is tuple:
        return tuple([memory_key(item) for item in key])
    if kind is list:
        return [memory_key(item) for item in key]
    return key


def _element(array: ndarray, at: IndexMap) -> Any:
    """One element as a scalar: NumPy's where the value is there, else lazy."""
    node = array._node
    if node is None:
        base = array._base
        node = base.node
        if node is None:
            memory = base.memory
            assert memory is not None
            return _part(array, memory.reshape(-1)[at.offset])
    if node.data is not None:
        found = node.data.reshape(-1)[at.offset]
        return found if array._node is not None else _part(array, found)
    lazy = scalar_from_node(view_(node, IndexMap(at.offset, (), ())))
    return lazy if array._node is not None else _part(array, lazy)


def _part(array: ndarray, element: Any) -> Any:
    part = array._part
    return element if part is None else element.real if part == "real" else element.imag


def _parse_basic(key: Any, shape: Shape) -> tuple[tuple[Any, ...], bool] | None:
    """The key with integers in bounds and the ellipsis expanded; None for an advanced key.

    The flag is False when the key has an ellipsis: then NumPy gives an array even for one element.
    """
    items = key if type(key) is tuple else (key,)
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
    raise IndexError(f"index {item} is out of bounds for axis {axis} with size {extent}")


# ---- advanced keys


def _is_mask(item: Any) -> bool:
    return bool(item.dtype == np.bool_)


def _as_index(item: Any) -> Any:
    """An index array (ours or NumPy's), with NumPy's error for what cannot index."""
    if type(item) is ndarray:
        found: Any = item
    elif type(item) is LazyScalar:
        found = np.asarray(item.evaluate())
    else:
        found = np.asarray(memory_key(item))
        if found.size == 0 and not isinstance(item, _nparray | ndarray):
            found = found.astype(np.intp)
    if found.dtype.kind not in "iub":
        if isinstance(item, _nparray | ndarray | list | tuple):
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
            "arrays are valid indices"
        )
    return found


def _parse_advanced(array: ndarray, key: Any) -> _Advanced | None:
    """The parts of an advanced key; None for the rare ones that NumPy is asked to do (masks without axes)."""
    shape = array.shape
    items: list[Any] = list(key) if type(key) is tuple else [key]
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


def _place(array: ndarray, shape: Shape, items: list[Any], dots: int, dotted: int) -> _Advanced:
    basic: list[Any] = []
    axes: list[int] = []
    indices: list[Any] = []
    masks: list[Any] = []
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
        at += count
        axis += count
    adjacent = all(b - a == 1 for a, b in pairwise(runs))
    if not adjacent:
        position = 0
    view = index_map.index(map_of(array), tuple(basic))
    mask = masks[0] if len(masks) == 1 and not indices else None
    found: tuple[Any, ...] = ()
    if mask is None:
        arrays: list[Any] = []
        for item in items:
            if item is None or type(item) in (slice, int):
                continue
            arrays += np.nonzero(read_only(item) if type(item) is ndarray else item) if _is_mask(item) else [item]
        found = tuple(arrays)
    return _Advanced(view, tuple(axes), found, mask, position)


def _index_nodes(parsed: _Advanced) -> list[Node]:
    """The indices as int64 nodes, checked against their axes, negative ones counted from the end."""
    shapes = [i.shape for i in parsed.indices]
    if broadcast_shape(shapes) is None:
        text = " ".join("(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in shapes)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {text} ")
    nodes: list[Node] = []
    for item, axis in zip(parsed.indices, parsed.axes, strict=True):
        extent = parsed.view.shape[axis]
        data = read_only(item) if type(item) is ndarray else item
        negative = False
        if data.size:
            low, high = int(data.min()), int(data.max())
            if low < -extent or high >= extent:
                wrong = data[(data < -extent) | (data >= extent)].flat[0]
                raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {extent}")
            negative = low < 0
        if negative:
            nodes.append(leaf(np.ascontiguousarray(np.where(data < 0, data + extent, data), _INT).reshape(data.shape)))
        elif type(item) is ndarray and item._np is None:
            nodes.append(cast_(value(item), _INT))
        else:
            nodes.append(leaf(np.array(data, _INT, order="C")))
    return nodes


def _get_advanced(array: ndarray, key: Any) -> Any:
    parsed = _parse_advanced(array, key)
    if parsed is None:
        ledger.fallback("index by a boolean without axes")
        return wrap(read_only(array)[memory_key(key)])
    if parsed.mask is not None:
        return _get_masked(array, parsed)
    nodes = _index_nodes(parsed)
    source = value(view_of(array, parsed.view))
    node = gather_(source, nodes, parsed.axes, parsed.position)
    if not node.key.spec.shape and type(key) is not tuple:
        return scalar_from_node(node)
    if not node.key.spec.shape and not any(item is Ellipsis for item in key):
        return scalar_from_node(node)
    return from_node(node)


def _get_masked(array: ndarray, parsed: _Advanced) -> Any:
    """A read under a mask: its size depends on the data, so this is a boundary; NumPy's selection does the rest."""
    mask = parsed.mask
    view = view_of(array, parsed.view)
    wanted = [value(view)] if view._np is None else []
    if type(mask) is ndarray and mask._np is None:
        wanted.append(value(mask))
    pending = [node for node in wanted if node.data is None]
    if pending:
        boundary.evaluate(pending)
    data: Any = wanted[0].data if view._np is None else view._np
    assert data is not None
    chosen: Any = wanted[-1].data if type(mask) is ndarray and mask._np is None else memory_key(mask)
    key = (slice(None),) * parsed.axes[0] + (chosen,)
    result = data[key]
    if parsed.position != parsed.axes[0]:
        result = np.moveaxis(result, parsed.axes[0], parsed.position)
    ledger.library_call("boolean index", data.nbytes + chosen.nbytes, result.nbytes)
    return plain(result)


# ---- writing


def put(array: ndarray, key: Any, new: Any) -> None:
    """`array[key] = new`."""
    if array._np is not None:
        take_over(array)  # the write is then recorded
    data = settle(array)
    if data is not None:
        data[memory_key(key)] = to_memory(new)
        return
    if array._node is None and array._fixed:
        refuse_write()
    found = _locate(map_of(array), key)
    if found is None:
        _put_advanced(array, key, new)
        return
    region = found.view
    if not region.shape and _is_immediate(array, new):
        to_numpy(array)[memory_key(key)] = new
        return
    if found.element and type(new) not in NUMBERS and type(new) is not LazyScalar:
        if np.ndim(new) if type(new) is not ndarray else new.shape:
            to_numpy(array)[memory_key(key)] = to_memory(new)  # NumPy's rules for arrays put into one element
            return
    operand = as_operand(new)
    if operand is None or (type(operand) is not Node and array.dtype.kind != "c" and np.iscomplexobj(operand)):
        to_numpy(array)[memory_key(key)] = to_memory(new)
        return
    put_region(array, region, operand)


_CHAIN: Final = 8


def _is_immediate(array: ndarray, new: Any) -> bool:
    """True when writing one element is done in memory: values are there, or elements are being written one by one.

    Element writes into a pending array are recorded like all others, but for a loop over elements that would be one
    node each.
    """
    if (type(new) is LazyScalar and new._node.data is None) or type(new) is ndarray:
        return False
    node = array._node
    if node is None:
        node = array._base.node
        if node is None:
            return True
    for _ in range(_CHAIN):
        if node.data is not None:
            return True
        if node.key.kind != "update" or index_map.size_of(node.key.attr[1]) != 1:  # type: ignore[index]
            return False
        node = node.args[0]
    return True


def put_region(array: ndarray, region: IndexMap, new: Any, mask: Node | None = None) -> None:
    """Writes a region (a map against the array's root) of a managed array by a node or a number."""
    node = array._node
    if node is None:
        write(view_of(array, region), new, mask)
        return
    spec = node.key.spec
    if region.shape == spec.shape and index_map.is_identity(region, spec.shape):
        write(array, new, mask)
        return
    if type(new) is Node:
        check_fits(new.key.spec.shape, region.shape)
        if new.key.spec.dtype.kind == "c" and spec.dtype.kind != "c":
            warn_complex()
    array._node = update_(node, region, new, mask)


def _put_advanced(array: ndarray, key: Any, new: Any) -> None:
    parsed = _parse_advanced(array, key)
    operand = None if parsed is None else as_operand(new)
    if parsed is None or operand is None:
        to_numpy(array)[memory_key(key)] = to_memory(new)
        return
    if parsed.mask is not None:
        _put_masked(array, key, parsed, operand)
        return
    common = broadcast_shape([i.shape for i in parsed.indices])
    if common is None:
        _index_nodes(parsed)  # raises
        return
    shape = _indexed_shape(parsed, common)
    if 0 in parsed.view.shape or 0 in shape or not _fits(operand, shape):
        to_numpy(array)[memory_key(key)] = to_memory(new)  # nothing to write, or NumPy's error
        return
    _scatter(array, parsed, _index_nodes(parsed), operand, shape)


def _indexed_shape(parsed: _Advanced, common: Shape) -> Shape:
    rest = [n for axis, n in enumerate(parsed.view.shape) if axis not in parsed.axes]
    return (*rest[: parsed.position], *common, *rest[parsed.position :])


def _trimmed(own: Shape, shape: Shape) -> Shape:
    """Values' shape without leading axes of extent 1 that the target does not have."""
    extra = len(own) - len(shape)
    return own[extra:] if extra > 0 and all(n == 1 for n in own[:extra]) else own


def _fits(operand: Any, shape: Shape) -> bool:
    return type(operand) is not Node or broadcast_shape((_trimmed(operand.key.spec.shape, shape), shape)) == shape


def _scatter(array: ndarray, parsed: _Advanced, nodes: list[Node], operand: Any, shape: Shape) -> None:
    target = view_of(array, parsed.view)
    if type(operand) is Node:
        operand = broadcast_(operand, shape)
    write(target, scatter_(value(target), operand, nodes, parsed.axes, parsed.position))


def _put_masked(array: ndarray, key: Any, parsed: _Advanced, operand: Any) -> None:
    mask = as_operand(parsed.mask)
    if type(mask) is not Node or 0 in parsed.view.shape:
        to_numpy(array)[memory_key(key)] = operand if type(operand) is not Node else read_only(from_node(operand))
        return
    first, count = parsed.axes[0], len(parsed.axes)
    rest = parsed.view.shape[first + count :]
    own = () if type(operand) is not Node else operand.key.spec.shape
    if first == 0 and len(own) == len(rest) + 1 and own[0] == 1 and rest:
        own = own[1:]
    # Values that do not vary along the masked axes; others need to know how many places there are.
    if size_of(own) == 1 and len(own) < 2:
        own = ()
    if own == () or (first == 0 and len(own) <= len(rest) and broadcast_shape((own, rest)) == rest):
        if type(operand) is Node:
            operand = reshape_(operand, own)
        rank = len(parsed.view.shape)
        wide = reshape_(mask, (*(1,) * first, *mask.key.spec.shape, *(1,) * (rank - first - count)))
        put_region(array, parsed.view, operand, broadcast_(wide, parsed.view.shape))
        return
    places = np.nonzero(read_only(parsed.mask) if type(parsed.mask) is ndarray else parsed.mask)
    shape = _indexed_shape(parsed, (len(places[0]),))
    if 0 in shape or len(own) > len(shape) or not _fits(operand, shape):
        to_numpy(array)[memory_key(key)] = read_only(from_node(operand))  # nothing to write, or NumPy's error
        return
    nodes = [leaf(np.ascontiguousarray(place, _INT)) for place in places]
    _scatter(array, parsed._replace(indices=places, mask=None), nodes, operand, shape)
