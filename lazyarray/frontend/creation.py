"""Owns new arrays: constants, ranges and patterns, recorded so that they take no memory until needed."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import (
    as_array,
    from_node,
    map_of,
    ndarray,
    plain,
    take_over,
    to_numpy,
    value,
    view_of,
    wrap,
)
from lazyarray.frontend.callables import extent_of
from lazyarray.frontend.dispatch import run_numpy
from lazyarray.frontend.exchange import export
from lazyarray.frontend.foreign import make_like, retried, serves
from lazyarray.frontend.handle import Handle
from lazyarray.frontend.layout import ordered, strides_of
from lazyarray.frontend.loops import MEMO_LIMIT
from lazyarray.frontend.manipulation import broadcast_arrays, extent_from, fill_parts
from lazyarray.frontend.overrides import is_foreign
from lazyarray.frontend.quick import limits, managed, record_node, wrapped  # cimport
from lazyarray.frontend.rebase import rebase
from lazyarray.frontend.recipes import Recipes
from lazyarray.frontend.record import broadcast_, cast_, copy_, empty_, fill_, iota_, is_compiled, map_, update_
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.index_map import IndexMap, size_of
from lazyarray.ir.node import Key, Node, Shape, Spec, spec_of
from lazyarray.native.primitives import site_outside  # cimport

DType = np.dtype[Any]

_new: Final = Handle.__new__
HUGE: Final = 1 << 46  # bytes: NumPy says what happens to arrays beyond any memory
_NUMBERS: Final = frozenset({int, float, complex, bool})
_KINDS: Final = _NUMBERS | frozenset([np.dtype(code).type for code in "?bhilqBHILQefdFD"])


def shape_from(shape: Any) -> Shape | None:
    """The shape as a tuple; None where it is not one that NumPy takes without complaint."""
    if type(shape) is int:
        return (shape,) if shape >= 0 else None
    try:
        if isinstance(shape, tuple | list):
            result = tuple([extent_from(extent) for extent in shape])
        elif isinstance(shape, ndarray | np.ndarray):
            result = tuple(operator.index(extent) for extent in shape.tolist())
        else:
            result = (extent_from(shape),)
    except TypeError:
        return None
    return result if all(extent >= 0 for extent in result) and len(result) <= 64 else None


def dtype_from(dtype: Any) -> DType | None:
    """The dtype where values of it are recorded, else None."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        return None
    return np.dtype(found.str) if is_compiled(found) else None


def recorded_size(shape: Shape, dtype: DType) -> bool:
    """Whether a new array of this shape is recorded rather than made."""
    size = size_of(shape)
    return size >= config.eager_below and size * dtype.itemsize < HUGE


_OPTIONS: Final = frozenset({"order", "device", "like"})


def _plan(shape: Any, dtype: Any, options: dict[str, Any]) -> tuple[Shape, DType] | None:
    """Shape and dtype of a new array that is to be recorded; None where NumPy makes it at once."""
    if options.get("device") is not None or not serves(options.get("like")) or not _OPTIONS.issuperset(options):
        return None
    extents = shape_from(shape)
    found = dtype_from(dtype)
    if extents is None or found is None or not recorded_size(extents, found):
        return None
    return (extents, found) if options.get("order", "C") in ("C", "F") else None


def make_now(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if "like" in options:
        like = options["like"]
        options = {key: option for key, option in options.items() if key != "like"}
        if not serves(like):
            return make_like(name, like, args, options)
    return wrap(retried(getattr(np, name), [export(a) for a in args], {k: export(v) for k, v in options.items()}))


_DEFAULTS: Final = (None, None, "C")


class _Made:
    """What was recorded of new arrays, to be recorded again for what is asked alike."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known: dict[Any, tuple[Key, tuple[Any, ...]]] = {}
        config.followers.append(self.known.clear)

    def again(self, asked: Any) -> Any:
        """A new array as it was made for what is `asked`; None where none was, or `asked` is None."""
        known = self.known.get(asked)
        return None if known is None else managed(record_node(known[0], known[1], site_outside(0)))

    def note(self, asked: Any, result: Any) -> None:
        """Notes what was made for what was `asked`, if all of it is one node."""
        if asked is None or type(result) is not ndarray or result._np is not None or result._node is None:
            return
        if len(self.known) >= MEMO_LIMIT:
            self.known.clear()
        self.known[asked] = result._node.key, result._node.args


def _constant(name: str, number: int | None) -> Callable[..., Any]:
    function = getattr(np, name)

    def create_long(*args: Any, **options: Any) -> Any:
        given: list[Any] = [*args, *_DEFAULTS[len(args) :]]
        shape, dtype, order, *rest = given
        shape, dtype = options.pop("shape", shape), options.pop("dtype", dtype)
        order = options.setdefault("order", order)
        if rest or shape is None:
            return wrap(function(*args))  # NumPy's error
        plan = _plan(shape, dtype, options)
        if plan is None:
            return make_now(name, (shape, dtype), options)
        extents, found = plan
        if number is None:
            return ordered(lambda shape: empty_(shape, found), extents, order)
        return ordered(lambda shape: fill_(number, shape, found), extents, order)

    recorded = Recipes(create_long, 0)
    made = _Made()  # by the arguments

    def create(*args: Any, **options: Any) -> Any:
        if not args or "like" in options:
            return recorded.call(args, options)
        extents = args[0]
        size = extents if type(extents) is int else extent_of(extents)
        if 0 <= size < limits.eager:
            if len(args) == 1 and not options:
                return wrapped(function(extents))
            return plain(function(*args, **options))
        asked = _asked(args, options) if size > 0 else None
        result = made.again(asked)
        if result is None:
            result = recorded.call(args, options)
            made.note(asked, result)
        return result

    return create


def _asked(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A plain shape, with a dtype perhaps: what a new array follows from. None where more is said."""
    if len(args) + len(options) > 2:
        return None
    dtype = args[1] if len(args) == 2 else None
    if options:
        if "dtype" not in options:
            return None
        dtype = options["dtype"]
    kind = type(dtype)
    usual = dtype is None or kind is type or kind is str or isinstance(dtype, np.dtype)
    return (args[0], kind, dtype) if usual and type(args[0]) is not list else None


zeros = _constant("zeros", 0)
ones = _constant("ones", 1)
empty = _constant("empty", None)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **options: Any) -> Any:
    if not options and type(fill_value) in _NUMBERS and 0 <= extent_of(shape) < config.eager_below:
        return wrap(np.full(shape, fill_value, dtype, order))
    return _filled.call((shape, fill_value, dtype, order), options)


def _long_full(shape: Any, fill_value: Any, dtype: Any, order: Any, **options: Any) -> Any:
    options["order"] = order
    if dtype is None:
        dtype = getattr(fill_value, "dtype", None)
        if dtype is None:
            fill_value = as_array(fill_value)
            dtype = fill_value.dtype
    plan = _plan(shape, dtype, options)
    if plan is None:
        return make_now("full", (shape, fill_value, dtype), options)
    extents, found = plan
    if np.ndim(fill_value) == 0 and type(fill_value) is not LazyScalar:
        number = np.full((), to_numpy(fill_value) if type(fill_value) is ndarray else fill_value, found)[()]
        return ordered(lambda shape: fill_(number, shape, found), extents, order)
    result = ordered(lambda shape: empty_(shape, found), extents, order)
    result[...] = cast_array(as_array(fill_value), found)
    return result


_filled: Final = Recipes(_long_full, 0)


def cast_array(x: ndarray, dtype: DType) -> ndarray:
    """The array in another dtype, converted as `astype` does."""
    result: ndarray = x.astype(dtype, copy=False)
    return result


def _spec_like(a: ndarray) -> Spec | None:
    """What a new array like a large one is, where that takes no thought: both are in C order."""
    data = a._np
    if data is None:
        if a._node is not None:
            spec: Spec = a._node.key.spec
            return spec
        return a._base.spec if a._map is None and a._part is None else None
    return spec_of(data.shape, data.dtype) if data.flags.c_contiguous else None


def _like(name: str, number: int | None) -> Callable[..., Any]:
    function = getattr(np, name)
    made = _Made()  # by what arrays are: for ones like them

    def create(
        a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **options: Any
    ) -> Any:
        spec = None
        if type(a) is ndarray and shape is None and not options:
            data = a._np
            if data is not None and data.size < config.eager_below:
                return wrap(function(data, dtype, order, subok))
            del data
            if dtype is None and order == "K" and subok is True:
                spec = _spec_like(a)
                found = made.again(spec)
                if found is not None:
                    return found
        fill = (lambda s, d: empty_(s, d)) if number is None else (lambda s, d: fill_(number, s, d))
        result = _create_like(name, fill, (), a, dtype, order, shape, subok=subok, **options)
        made.note(spec, result)
        return result

    return create


_LIKE_OPTIONS: Final = frozenset({"subok", "device"})


def _create_like(
    name: str, fill: Any, extra: tuple[Any, ...], a: Any, dtype: Any, order: Any, shape: Any, **options: Any
) -> Any:
    known = type(a) is ndarray or type(a) is np.ndarray or type(a) is LazyScalar
    if (not known and is_foreign(a)) or any([is_foreign(item) for item in extra]):
        named = {"dtype": dtype, "order": order, "shape": shape, **options}
        usual = {"dtype": None, "order": "K", "shape": None, "subok": True}
        said = {key: item for key, item in named.items() if item is not usual.get(key)}
        return run_numpy(getattr(np, name), (a, *extra), said)
    found = dtype_from(a.dtype if dtype is None and known else dtype) if known or dtype is not None else None
    extents = None if not known else a.shape if shape is None else shape_from(shape)
    if (
        extents is None
        or found is None
        or options.get("device") is not None
        or type(options.get("subok", True)) is not bool
        or not _LIKE_OPTIONS.issuperset(options)
        or not recorded_size(extents, found)
        or order not in ("C", "F", "K", "A")
    ):
        given = a if type(a) is not ndarray or a._np is not None else _stand_in(a)
        return make_now(name, (given, *extra, dtype), {"order": order, "shape": shape, **options})
    axes = _memory_axes(a, extents, order)
    if axes is None:
        return from_node(fill(extents, found))
    return view_of_axes(from_node(fill(tuple(extents[axis] for axis in axes), found)), axes)


def _stand_in(a: ndarray) -> np.ndarray[Any, Any]:
    """An array of the shape, dtype and order of strides of `a`, over one element of memory."""
    item = np.zeros((), a.dtype)
    return np.lib.stride_tricks.as_strided(item, a.shape, strides_of(a), writeable=False)


def _memory_axes(a: Any, extents: Shape, order: str) -> tuple[int, ...] | None:
    """The axes of a new array like `a`, outermost in memory first; None for C order."""
    ndim = len(extents)
    if order == "C" or ndim < 2:
        return None
    if order == "F" or (order == "A" and a.flags.fnc):
        return tuple(range(ndim))[::-1]
    if order == "A" or len(a.shape) != ndim:
        return None
    strides = strides_of(a)
    # NumPy's K order: axes by decreasing stride, ties and extent 1 as in C order.
    axes = tuple(sorted(range(ndim), key=lambda axis: -abs(strides[axis])))
    return None if axes == tuple(range(ndim)) else axes


def view_of_axes(root: ndarray, axes: tuple[int, ...]) -> ndarray:
    """The array whose axes in memory order are `root`'s: its axis `axes[j]` is axis j of the root."""
    origin = map_of(root)
    shape = [0] * len(axes)
    strides = [0] * len(axes)
    for j, axis in enumerate(axes):
        shape[axis] = origin.shape[j]
        strides[axis] = origin.strides[j]
    return view_of(root, IndexMap(origin.offset, tuple(shape), tuple(strides)))


zeros_like = _like("zeros_like", 0)
ones_like = _like("ones_like", 1)
_empty_like: Final = _like("empty_like", None)


def empty_like(
    prototype: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, **options: Any
) -> Any:
    return _empty_like(prototype, dtype, order, subok, shape, **options)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **options: Any,
) -> Any:
    if type(a) is ndarray:
        take_over(a)  # of what is managed there are recipes
    return _filled_like.call((a, fill_value, dtype, order, subok, shape), options)


def _long_full_like(a: Any, fill_value: Any, dtype: Any, order: Any, subok: bool, shape: Any, **options: Any) -> Any:
    foreign = is_foreign(a) or is_foreign(fill_value)
    if not foreign and (np.ndim(fill_value) != 0 or type(fill_value) in (ndarray, LazyScalar)):
        result = empty_like(a, dtype, order, subok, shape, **options)
        if result._np is not None:
            np.copyto(result._np, export(fill_value), casting="unsafe")
        else:
            result[...] = cast_array(as_array(fill_value), result.dtype)
        return result

    def fill(extents: Shape, found: DType) -> Node:
        return fill_(np.full((), fill_value, found)[()], extents, found)

    return _create_like("full_like", fill, (fill_value,), a, dtype, order, shape, subok=subok, **options)


_filled_like: Final = Recipes(_long_full_like, 1)


# ---- patterns


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C", **options: Any) -> Any:
    if type(N) is int and M is None and not options and 0 <= N * N < config.eager_below:
        return wrap(np.eye(N, None, k, dtype, order))
    options["order"] = order
    rows = shape_from(N)
    columns = rows if M is None else shape_from(M)
    plan = None
    if rows is not None and columns is not None and len(rows) == len(columns) == 1:
        plan = _plan((rows[0], columns[0]), dtype, options)
    if plan is None or order != "C":
        return make_now("eye", (N, M, k, dtype), options)
    (n, m), found = plan
    return from_node(cast_(compare_diagonals("equal", n, m, operator.index(k)), found))


def compare_diagonals(comparison: str, n: int, m: int, k: int) -> Node:
    """A mask of (n, m): the row's index plus k compared with the column's."""
    row: Node = iota_((n, 1), 0)
    if k:
        row = map_("add", (row, k))
    return map_(comparison, (row, iota_((1, m), 1)))


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    return eye(n, dtype=float if dtype is None else dtype, like=like)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    plan = None
    if type(k) is int and type(N) is int and (M is None or type(M) is int):
        plan = _plan((N, N if M is None else M), dtype, {"like": like})
    if plan is None:
        return make_now("tri", (N, M, k, dtype), {} if like is None else {"like": like})
    (n, m), found = plan
    return from_node(cast_(compare_diagonals("greater_equal", n, m, k), found))


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    usual = type(dimensions) is tuple and dtype is int and sparse is False
    if usual and 0 <= extent_of(dimensions) * len(dimensions) < config.eager_below:
        return wrap(np.indices(dimensions))
    extents = shape_from(dimensions) if isinstance(dimensions, tuple | list) else None
    found = dtype_from(dtype)
    if extents is None or found is None or sparse or not recorded_size((len(extents), *extents), found):
        make: Any = np.indices
        result = make(export(dimensions), dtype, sparse)
        return tuple(wrap(r) for r in result) if sparse else wrap(result)
    node = empty_((len(extents), *extents), found)
    parts = [cast_(iota_((1,) * a + (n,) + (1,) * (len(extents) - a - 1), a), found) for a, n in enumerate(extents)]
    return from_node(fill_parts(node, parts, 0, stacked=True))


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    arrays = [as_array(x) for x in xi]
    extents = [x.size for x in arrays]
    swapped = indexing == "xy" and len(arrays) > 1
    places = [1 - k if swapped and k < 2 else k for k in range(len(arrays))]
    shape = tuple(extents[places.index(k)] for k in range(len(arrays)))
    managed = any(x._np is None for x in arrays) or size_of(shape) >= config.eager_below
    if not managed or indexing not in ("xy", "ij") or not all(is_compiled(x.dtype) for x in arrays):
        make: Any = np.meshgrid
        made = make(*[to_numpy(x) for x in arrays], copy=copy, sparse=sparse, indexing=indexing)
        return type(made)([wrap(r) for r in made])
    outer = tuple([1] * len(arrays))
    thin = [x.reshape((*outer[:k], -1, *outer[k + 1 :])) for k, x in zip(places, arrays, strict=True)]
    if sparse:
        return tuple([x.copy() for x in thin]) if copy else thin
    if not copy:
        return broadcast_arrays(*thin)
    # Recorded: nothing is repeated in memory until the memory itself is asked for.
    return tuple([from_node(copy_(broadcast_(value(x), shape))) for x in thin])


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    if not serves(like):
        said = {} if dtype is float else {"dtype": dtype}
        return make_like("fromfunction", like, (function, shape), {**said, **kwargs})
    return function(*indices(shape, dtype=dtype), **kwargs)


def diagflat(v: Any, k: Any = 0) -> Any:
    return diag(as_array(v).ravel(), k)


def diag(v: Any, k: Any = 0) -> Any:
    v = as_array(v)
    if v.ndim != 1:
        return rebase(np.diag)(v, k)
    if type(k) is not int:
        if not isinstance(k, np.integer):
            return wrap(np.diag(to_numpy(v), export(k)))
        k = int(k)
    n = v.shape[0] + abs(k)
    if v._np is not None and (n * n < config.eager_below or not is_compiled(v.dtype)):
        return wrap(np.diag(v._np, k))
    if n * n * v.dtype.itemsize >= HUGE:
        return wrap(np.diag(to_numpy(v), k))  # NumPy's error
    node = value(v)
    offset = k if k >= 0 else -k * n
    return from_node(update_(fill_(0, (n, n), v.dtype), IndexMap(offset, v.shape, (n + 1,)), node))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (
        full_like,
        full,
        eye,
        identity,
        tri,
        indices,
        meshgrid,
        fromfunction,
        diagflat,
        diag,
    )
} | {
    "zeros": zeros,
    "empty": empty,
    "ones": ones,
    "zeros_like": zeros_like,
    "ones_like": ones_like,
    "empty_like": empty_like,
}
