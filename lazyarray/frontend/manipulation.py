"""Owns rearranging: views as index maps, and joins, repeats and rolls as new memory written part by part."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from lazyarray.config import config
from lazyarray.frontend.array import (
    FOR_GOOD,
    as_array,
    copied_order,
    duplicate,
    from_node,
    from_node_as,
    lies_apart,
    map_of,
    ndarray,
    order_of,
    plain,
    take_over,
    to_numpy,
    value,
    view_of,
    wrap,
)
from lazyarray.frontend.callables import ANY, AS_IS
from lazyarray.frontend.dispatch import Function, Uncompiled, compiled, describe, fall_back, run_numpy
from lazyarray.frontend.exchange import adopt
from lazyarray.frontend.handle import Handle
from lazyarray.frontend.loops import NUMBERS
from lazyarray.frontend.reading import Reading
from lazyarray.frontend.record import copy_, empty_, is_compiled, map_, roll_, update_, view_
from lazyarray.frontend.regions import memory_at, window
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.frontend.vectors import serving  # cimport
from lazyarray.frontend.views import derive, view_by
from lazyarray.ir.index_map import MOST_AXES, IndexMap, broadcast, c_strides, identity, is_contiguous, transpose
from lazyarray.ir.node import Node, Shape
from lazyarray.runtime.remote import stays_home  # cimport

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_new: Final = Handle.__new__

# Functions whose result is a view (or a list of views) of their first argument, and nothing else.
VIEWING: Final = (
    "transpose",
    "permute_dims",
    "matrix_transpose",
    "swapaxes",
    "moveaxis",
    "rollaxis",
    "squeeze",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "rot90",
    "diagonal",
    "split",
    "array_split",
    "hsplit",
    "vsplit",
    "dsplit",
)
WINDOWS: Final = "lib.stride_tricks.sliding_window_view"
READ_ONLY: Final = frozenset({"diagonal", "broadcast_to", WINDOWS})


def viewing(name: str, source: Function, method: Function | None = None) -> Function:
    """The public function `name` that shows its first argument another way; NumPy says how."""
    # What `as_strided` makes has a base that is no array, so that NumPy never takes it for writeable again.
    fixed = FOR_GOOD if name == WINDOWS else name in READ_ONLY
    run = source if method is None else method

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is ndarray:
            x = args[0]
            if x._np is not None and x.size >= config.eager_below:
                take_over(x)  # while nothing shows its memory
            data = x._np
            rest = tuple([to_numpy(a) if type(a) is ndarray else a for a in args[1:]])
            if data is not None:
                found = run(data, *rest, **kwargs)
                if found is data:
                    return x
                return wrap(found) if type(found) is np.ndarray else adopt(found)
            if not x.shape:
                return fall_back(name, run, args, kwargs)
            result = view_by(x, source, *rest, **kwargs)
            if name == "squeeze" and result.shape == x.shape:
                return x  # as NumPy: the array itself
            if fixed:
                result._fixed = fixed
            return result
        return fall_back(name, run, args, kwargs)

    return describe(serving(call, run, ANY), run, name)


def windows(source: Function, general: Function) -> Function:
    """`sliding_window_view`, which shows its argument so that nobody writes through it; all else is `general`'s."""
    show = viewing(WINDOWS, source)

    def call(*args: Any, **kwargs: Any) -> Any:
        return (show if kwargs.keys() <= {"axis"} else general)(*args, **kwargs)

    return describe(call, source, WINDOWS)


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    if subok and _is_subclass(array):
        return np.broadcast_to(array, to_numpy(shape) if type(shape) is ndarray else shape, subok)
    x = as_array(array)
    try:
        wanted = (extent_from(shape),) if isinstance(shape, int | np.integer) else tuple(map(extent_from, shape))
    except TypeError:
        given = to_numpy(shape) if type(shape) is ndarray else shape
        wanted = np.broadcast_to(np.broadcast_to(np.int8(0), x.shape), given).shape
    if x._np is not None:
        return wrap(np.broadcast_to(x._np, wanted))
    derive(identity(x.shape), _broadcast_stand_in, (wanted,), {})
    return view_of(x, broadcast(map_of(x), wanted), False)


def extent_from(item: Any) -> int:
    """An item of a shape as an integer; TypeError also for truth values, which NumPy refuses there."""
    if isinstance(item, bool | np.bool_):
        raise TypeError("an integer is required")
    return operator.index(item)


def _broadcast_stand_in(stand_in: Any, shape: Shape) -> Any:
    # A real element: broadcast_to goes through nditer, which may look at what it shows.
    return np.broadcast_to(np.broadcast_to(np.zeros((), "i1"), stand_in.shape), shape)


def _is_subclass(obj: Any) -> bool:
    return isinstance(obj, np.ndarray) and type(obj) not in (ndarray, np.ndarray)


def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    if subok and any(_is_subclass(a) for a in args):
        given = [to_numpy(a) if type(a) is ndarray else a for a in args]
        return tuple([wrap(shown) for shown in np.broadcast_arrays(*given, subok=True)])
    arrays = [as_array(a) for a in args]
    if all(x._np is not None for x in arrays):
        shown = np.broadcast_arrays(*[to_numpy(x) for x in arrays], subok=subok)
        return tuple([x if r is x._np else wrap(r) for x, r in zip(arrays, shown, strict=True)])
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple(
        [
            x
            if x.shape == shape
            else view_of(x, broadcast(map_of(x), shape))
            if x._np is None
            else wrap(np.broadcast_to(x._np, shape))
            for x in arrays
        ]
    )


# ---- reshape


def _reshape_viewer(stand_in: Any, shape: Any, order: Any) -> Any:
    return stand_in.reshape(shape, order=order, copy=False)


def _is_copy_refused(error: ValueError) -> bool:
    return str(error).startswith("Unable to avoid creating a copy")


def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    x = as_array(a)
    if type(shape) is ndarray:
        shape = to_numpy(shape)
    if x._np is not None:
        return wrap(x._np.reshape(shape, order=order, copy=copy))
    if type(shape) is list:
        shape = tuple(shape)
    if order in ("A", "a"):  # as NumPy sees it: what is read of complex numbers may lie without gaps here
        order = "F" if x.flags.fnc else "C"
    elif order in ("c", "f", None):
        order = "F" if order == "f" else "C"
    if copy is not True:
        try:
            return view_of(x, derive(map_of(x), _reshape_viewer, (shape, order), {}))
        except ValueError as error:
            if copy is False or not _is_copy_refused(error):
                raise
    if order == "C":
        target = derive(identity(x.shape), _reshape_viewer, (shape, "C"), {})
        return from_node(view_(copy_(value(x)), target))
    flipped = tuple(range(x.ndim))[::-1]
    root = copy_(value(view_of(x, transpose(map_of(x), flipped))))
    origin = transpose(identity(root.shape), flipped)
    return view_of(from_node(root), derive(origin, _reshape_viewer, (shape, "F"), {}))


def reshape_method(self: ndarray, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
    """`ndarray.reshape`: extents one by one, or in a tuple."""
    data = self._np
    if data is not None and data.size >= config.eager_below:
        del data
        take_over(self)
        data = self._np
    if data is not None:
        if copy is None:
            result = _new(ndarray)
            result._np = data.reshape(*shape) if order == "C" else data.reshape(*shape, order=order)
            return result
        return plain(data.reshape(*shape, order=order, copy=copy))
    if not shape:
        np.empty(0).reshape()  # type: ignore[call-overload]  # NumPy's error
    return reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def ravel(a: Any, order: Any = "C") -> Any:
    x = as_array(a)
    if x._np is not None:
        if x._np.size >= config.eager_below and order in ("C", "c") and not x._np.flags.c_contiguous:
            return x.flatten()  # a copy, which all cores make
        return wrap(x._np.ravel(order))
    return _flat(x, order, copy=False)


def flatten(a: Any, order: Any = "C") -> Any:
    return _flat(as_array(a), order, copy=True)


def _flat(x: ndarray, order: Any, copy: bool) -> Any:
    if order in ("F", "f") or (order in ("A", "a") and x.flags.fnc):
        x = view_of(x, transpose(map_of(x), tuple(range(x.ndim))[::-1]))
    elif order in ("K", "k"):
        view = map_of(x)
        if any(stride < 0 for stride in view.strides):
            raise Uncompiled
        perm = order_of(x)
        if perm is not None:
            x = view_of(x, transpose(view, perm))
    elif order not in ("C", "c", "A", "a"):
        np.empty(0).ravel(order)
        raise Uncompiled
    view = map_of(x)
    size = x.size
    if not copy and (not size or (is_contiguous(view) and (size == 1 or not lies_apart(x)))):
        return view_of(x, IndexMap(view.offset, (size,), (1,)))
    if size < config.eager_below and x._np is None and stays_home():
        data = memory_at(x)
        if data is not None:
            return wrap(data.flatten())
    reading = Reading()
    return from_node(reading.made(view_(copy_(reading.node_of(x)), IndexMap(0, (size,), (1,)))))


# ---- joins


def concatenate_small(*arguments: Any, **options: Any) -> Any:
    """`concatenate` ahead of the general look at its operands: small plain arrays in a list or tuple."""
    if not arguments:
        return _concatenate_any(**options)
    arrays, *args = arguments
    if (type(arrays) is list or type(arrays) is tuple) and "out" not in options and len(args) < 2:
        parts = _small_parts(arrays)
        if parts is not None:
            return wrap(np.concatenate(parts, *args, **options))
    return _concatenate_any(arrays, *args, **options)


def _small_parts(arrays: Sequence[Any]) -> list[Array] | None:
    """The memory of arrays that are small; None if one is not.

    Nobody holds any of it then: who takes memory over counts who refers to it.
    """
    limit = config.eager_below
    parts = []
    for part in arrays:
        if type(part) is not ndarray:
            return None
        data = window(part) if part._np is None and part._node is None else part._np
        if data is None or data.size >= limit:
            return None
        parts.append(data)
    return parts


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    if out is not None:
        raise Uncompiled
    parts = [as_array(a) for a in arrays]
    if axis is None:
        parts = [ravel(p) for p in parts]
        axis = 0
    axis = operator.index(axis)
    shape, found = _joined(parts, axis, dtype, casting)
    if not is_compiled(found):
        raise Uncompiled
    axis %= len(shape)
    perm = _joined_order(parts, len(shape))
    reading = Reading()
    nodes = [reading.node_of(part, perm) for part in parts]
    if perm is None:
        return from_node(reading.made(fill_parts(empty_(shape, found), nodes, axis)))
    root = empty_(tuple([shape[a] for a in perm]), found)
    return from_node_as(reading.made(fill_parts(root, nodes, perm.index(axis))), perm)


def _is_in_c_order(array: ndarray) -> bool:
    data = array._np
    if data is not None:
        return data.flags.c_contiguous
    return array._node is not None or array._map is None


def _joined_order(parts: Sequence[ndarray], rank: int) -> tuple[int, ...] | None:
    """The axes from slowest to fastest in a join; None for C order.

    `PyArray_CreateMultiSortedStridePerm` (numpy/_core/src/multiarray/ctors.c): an insertion sort, in which axes of
    extent 1 decide nothing, and C order wins where the parts disagree.
    """
    if rank < 2 or all([_is_in_c_order(part) for part in parts]):
        return None
    maps = [map_of(part) for part in parts]
    perm = list(range(rank))
    for i in range(1, rank):
        place, axis = i, perm[i]
        for k in range(i - 1, -1, -1):
            other = perm[k]
            longer = [m for m in maps if m.shape[axis] != 1 and m.shape[other] != 1]
            if all([abs(m.strides[axis]) > abs(m.strides[other]) for m in longer]):
                if longer:
                    place = k
            else:
                break
        perm.insert(place, perm.pop(i))
    return None if perm == sorted(perm) else tuple(perm)


def _joined(parts: Sequence[ndarray], axis: int, dtype: Any, casting: Any) -> tuple[Shape, DType]:
    """Shape and dtype of a join; NumPy checks arrays that are empty along the axis."""
    dummies = []
    total = 0
    for part in parts:
        shape = list(part.shape)
        if -len(shape) <= axis < len(shape):
            total += shape[axis]
            shape[axis] = 0
        else:
            shape = [0] * len(shape)
        dummies.append(np.empty(shape, part.dtype))
    made = np.concatenate(dummies, axis, dtype=dtype, casting=casting)
    result = list(made.shape)
    result[axis] = total
    return tuple(result), np.dtype(made.dtype.str) if is_compiled(made.dtype) else made.dtype


def fill_parts(node: Node, parts: Sequence[Node], axis: int, stacked: bool = False) -> Node:
    """`node` with `parts` written one after another along `axis` (each one index deep when `stacked`)."""
    whole = identity(node.shape)
    start = 0
    for part in parts:
        extent = 1 if stacked else part.shape[axis]
        if extent == 0 or 0 in part.shape:
            continue
        shape = (*node.shape[:axis], extent, *node.shape[axis + 1 :])
        region = IndexMap(start * whole.strides[axis], shape, whole.strides)
        if stacked:
            region = IndexMap(
                region.offset,
                (*shape[:axis], *shape[axis + 1 :]),
                (*region.strides[:axis], *region.strides[axis + 1 :]),
            )
        node = update_(node, region, part)
        start += extent
    return node


# ---- repeats


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    x = as_array(a)
    if not is_compiled(x.dtype):
        raise Uncompiled
    counts = to_numpy(as_array(repeats))
    if axis is None:
        x, axis = ravel(x), 0
    axis = operator.index(axis)
    if x.ndim == 0 or not -x.ndim <= axis < x.ndim or counts.dtype.kind not in "iub" or counts.ndim > 1:
        raise Uncompiled
    axis %= x.ndim
    if counts.size != 1:
        index = np.repeat(np.arange(x.shape[axis]), counts)
        return x[(slice(None),) * axis + (wrap(index),)]
    count = int(counts.reshape(())[()])
    if count < 0:
        raise ValueError("negative dimensions are not allowed")
    reading = Reading()
    node = reading.node_of(x)
    shape = x.shape
    strides = c_strides(shape)
    spread = IndexMap(
        0, (*shape[: axis + 1], count, *shape[axis + 1 :]), (*strides[: axis + 1], 0, *strides[axis + 1 :])
    )
    result = (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])
    return from_node(reading.made(view_(copy_(view_(node, spread)), identity(result))))


def tile(A: Any, reps: Any) -> Any:
    x = as_array(A)
    if not is_compiled(x.dtype):
        raise Uncompiled
    try:
        counts = tuple([operator.index(count) for count in reps] if np.iterable(reps) else [operator.index(reps)])
    except TypeError:
        raise Uncompiled from None
    if (counts and min(counts) < 0) or len(counts) > MOST_AXES // 2 or x.ndim > MOST_AXES // 2:
        raise Uncompiled
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + x.shape
    repeated = [axis for axis in range(rank) if counts[axis] != 1]
    if not repeated:
        copied = duplicate(x, "K")
        return copied if rank == x.ndim else copied.reshape(shape)
    spread = IndexMap(
        0,
        tuple([extent for pair in zip(counts, shape, strict=True) for extent in pair]),
        tuple([step for own in c_strides(shape) for step in (0, own)]),
    )
    result = tuple([count * extent for count, extent in zip(counts, shape, strict=True)])
    # NumPy's is a view, too, of lines that were repeated last.
    line = prod(shape[repeated[-1] :])
    lines = (prod(result) // line if line else 0, line)
    reading = Reading()
    repeats = view_(copy_(view_(reading.node_of(x), spread)), identity(lines))
    return from_node(reading.made(repeats)).reshape(result)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if not isinstance(x, ndarray | np.generic) or device not in (None, "cpu"):
        raise Uncompiled
    return as_array(x).astype(dtype, copy=copy)


def clip(a: Any, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    """NumPy's `_clip` (numpy/_core/_methods.py); its clip loop is minimum(max, maximum(min, a))."""
    from lazyarray.frontend.ufunc import UFUNCS

    x = as_array(a)
    if options or not is_compiled(x.dtype) or x.dtype.kind == "b":
        raise Uncompiled
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        if type(min) is int and min <= info.min:
            min = None
        if type(max) is int and max >= info.max:
            max = None
    target = {} if out is None else {"out": out}
    if min is None and max is None:
        return UFUNCS["positive"](x, **target)
    if x.dtype == np.float16:
        raise Uncompiled  # of equal zeros the clip loop takes the other one than maximum does
    if min is None:
        return UFUNCS["minimum"](x, max, **target)
    if max is None:
        return UFUNCS["maximum"](x, min, **target)
    if out is not None and out.dtype != x.dtype:
        raise Uncompiled
    # Of equal zeros, the second operand is what both give, and of complex ones the first. NumPy's loop for bounds that
    # do not move gives the array's; the others, and that for complex numbers, give a bound.
    if (_is_one(min) and _is_one(max)) or any([np.iscomplexobj(item) for item in (x, min, max)]):
        return UFUNCS["minimum"](max, UFUNCS["maximum"](min, x), **target)
    return UFUNCS["minimum"](UFUNCS["maximum"](x, min), max, **target)


def _is_one(bound: Any) -> bool:
    size = 1 if type(bound) in NUMBERS else getattr(bound, "size", None)
    return (as_array(bound).size if size is None else size) == 1


def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """NumPy's PyArray_Round (numpy/_core/src/multiarray/calculation.c)."""
    from lazyarray.frontend.ufunc import UFUNCS

    x = as_array(a)
    decimals = operator.index(decimals)
    if not is_compiled(x.dtype) or x.dtype.kind in "bc" or out is not None:
        raise Uncompiled
    if decimals >= 0 and x.dtype.kind in "iu":
        return duplicate(x, "K") if x.ndim else scalar_from_node(value(x))
    if decimals == 0:
        return UFUNCS["rint"](x)
    if x.dtype.kind != "f" or abs(decimals) > 22 or x.dtype.itemsize == 2:
        raise Uncompiled
    factor = 10.0 ** abs(decimals)
    first, second = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    scaled = map_(first, (value(x), factor))
    rounded = map_(second, (map_("rint", (scaled,)), factor))
    return from_node(rounded) if x.ndim else scalar_from_node(rounded)


_SHAPED: Final = frozenset({ndarray, LazyScalar})


def size(a: Any, axis: Any = None) -> int:
    if type(a) not in _SHAPED:
        return run_numpy(np.size, (a, axis), {})  # type: ignore[no-any-return]
    shape = a.shape
    if axis is None:
        return prod(shape)
    if type(axis) is not int or not -len(shape) <= axis < len(shape):
        return int(np.size(np.broadcast_to(np.int8(0), shape), axis))
    return int(shape[axis])


def shape(a: Any) -> Shape:
    return a.shape if type(a) in _SHAPED else run_numpy(np.shape, (a,), {})  # type: ignore[no-any-return]


def ndim(a: Any) -> int:
    return len(a.shape) if type(a) in _SHAPED else run_numpy(np.ndim, (a,), {})


_concatenate_any: Final = compiled("concatenate", np.concatenate, concatenate)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    x = as_array(a)
    if not is_compiled(x.dtype):
        raise Uncompiled
    if axis is None and x.ndim != 1:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    axes = normalize_axis_tuple(0 if axis is None else axis, x.ndim, allow_duplicate=True)
    pairs = np.broadcast(to_numpy(as_array(shift)), axes)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    shifts = [0] * x.ndim
    for distance, along in pairs:
        shifts[along] += int(distance)
    perm = copied_order(x)
    reading = Reading()
    node = reading.node_of(x, perm)
    if perm is None:
        return from_node(reading.made(roll_(node, shifts)))
    return from_node_as(reading.made(roll_(node, [shifts[along] for along in perm])), perm)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "roll": roll,
    "reshape": reshape,
    "ravel": ravel,
    "repeat": repeat,
    "tile": tile,
    "astype": astype,
    "round": round_,
    "around": round_,
}
UNCONDITIONAL: Final[dict[str, Callable[..., Any]]] = {
    "broadcast_to": broadcast_to,
    "concatenate": concatenate_small,
    "concat": concatenate_small,
    "broadcast_arrays": broadcast_arrays,
    "shape": shape,
    "ndim": ndim,
    "size": size,
}
# Of these, those that NumPy's function does for small arguments.
DIRECT: Final = {"concatenate": ANY, "broadcast_to": ANY, **dict.fromkeys(("shape", "ndim", "size"), AS_IS)}
METHODS: Final[dict[str, Callable[..., Any]]] = {
    "ravel": ravel,
    "flatten": flatten,
    "clip": clip,
    "round": round_,
}
