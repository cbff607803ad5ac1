"""Owns calls that NumPy makes of large values in memory at once, since recording them would take longer.

What NumPy's Python code does by a copy or a product or two gains nothing from being recorded where its operands are
there already: each of its steps becomes a node, a plan and a launch, and nothing fuses. Expressions that are still
pending are recorded all the same. Results share no memory with operands, and have the bits of what would be recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import lies_apart, map_of, ndarray, plain, view_of
from lazyarray.frontend.callables import FEW_COUNTED, FEW_RANGED
from lazyarray.frontend.contractions import Plan, plan_of, run_in_order
from lazyarray.frontend.exchange import adopt
from lazyarray.frontend.linalg import sum_here
from lazyarray.frontend.loops import MEMO_LIMIT
from lazyarray.frontend.regions import SHORT_PRODUCT, at_hand, picked, source_of
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.small import INERT, REFUSED, small_call  # cimport
from lazyarray.ir.contractions import labels_of
from lazyarray.ir.index_map import IndexMap, is_contiguous, size_of
from lazyarray.runtime.remote import stays_home  # cimport
from lazyarray.runtime.resting import rest, rest_for

Array = np.ndarray[Any, Any]
# Operands of so many times `eager_below` elements, all together: beyond, what is recorded runs on all cores, into
# memory that is mapped already, and gains more than it costs (`python -m benchmarks.single_calls`).
MOST: Final = 4
CALLED: Final = 16  # the same for what is recorded as a call of NumPy's: that runs on one core, into its own memory
_BLAS: Final = frozenset(map(np.dtype, "fdFD"))
_flat: Final[dict[IndexMap, IndexMap]] = {}
LEAD: Final = 1 << 12  # truth values that are looked at before all are
_BOOL: Final = np.dtype(bool)
_DOUBLE: Final = np.dtype(float)
# The fewest elements of a small array whose histogram is worth a kernel, once it comes again: in a given range, and in
# the array's own, whose ends are two reductions more (`python -m benchmarks.single_calls`).
COUNTED: Final = (FEW_COUNTED, FEW_RANGED)
_OPTIONS: Final = ("bins", "range", "density", "weights")
# What compiling it takes, in elements that NumPy counts meanwhile (8 ms for each call of `compile_at` but one), and
# what NumPy's call takes beside counting.
COMPILING: Final = 1 << 21
_CALL: Final = 1 << 12
_KINDS: Final = 256
_counted: Final[dict[Any, int]] = {}
# NumPy's functions in Python that copy pieces into new memory, or make a product.
REBASED: Final = frozenset("append block corrcoef cov delete insert tensordot linalg.tensordot".split())


class _Elsewhere(Exception):
    """An operand that is pending, on a device, or of a kind that others look at."""


def _taken(item: Any, sizes: list[int]) -> Any:
    """An argument as NumPy takes it, to be read now and not kept; `sizes` gets those of its arrays."""
    kind = type(item)
    if kind is ndarray:
        data: Array | None = source_of(item)
        # In another order what is recorded may add in another one, too.
        if data is None or not data.flags.c_contiguous:
            raise _Elsewhere
        sizes.append(data.size)
        return data
    if kind in INERT:
        return item
    if kind is list or kind is tuple:
        return kind([_taken(part, sizes) for part in item])
    raise _Elsewhere


def _in_memory(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], int] | None:
    """The arguments of a call as NumPy takes them, and how many elements they have; None: some are not in memory."""
    if not config.eager_below or not stays_home():
        return None
    sizes: list[int] = []
    try:
        passed = [_taken(arg, sizes) for arg in args]
        named = {name: _taken(arg, sizes) for name, arg in kwargs.items()}
        return passed, named, sum(sizes)
    except _Elsewhere:
        return None


def ahead_of(name: str, source: Callable[..., Any]) -> Callable[[Any, Any], Any] | None:
    """What is asked before NumPy's `source` is recorded: its result, or REFUSED; None for functions of other names.

    These return new memory alone.
    """
    if name not in REBASED:
        return None

    def call(args: Any, kwargs: Any) -> Any:
        found = _in_memory(args, kwargs)
        if found is None:
            return REFUSED
        passed, named, size = found
        if size >= MOST * config.eager_below:
            return REFUSED
        rest()
        return adopt(source(*passed, **named))

    return call


def einsum(args: Any, kwargs: Any) -> Any:
    """The same for `numpy.einsum`, but for what gives a view, and for what is recorded as products and sums.

    Small operands that are no products of matrices are NumPy's.
    """
    arrays = args[1:]
    usual = type(args[0]) is str and not kwargs and all([type(array) is ndarray for array in arrays])
    contraction = plan_of(args[0], *arrays) if usual else None
    if contraction is not None:
        return _contracted(contraction, args[0], arrays)
    found = small_call(np.einsum, args, kwargs)
    if found is not REFUSED:
        return found
    if usual and arrays and sum_here(args[0], arrays) is not None:
        return REFUSED
    if type(args[0]) is not str or not kwargs.keys() <= {"optimize"}:
        return REFUSED
    labels = labels_of(args[0])
    if labels is None or len(labels[0]) != len(arrays) or (len(arrays) == 1 and {*labels[0][0]} <= {*labels[1]}):
        return REFUSED
    known = _in_memory(args, kwargs)
    if known is None or known[2] >= CALLED * config.eager_below or not _is_short(labels[0], known[0][1:]):
        return REFUSED
    rest()
    return adopt(np.einsum(*known[0], **known[1]))


def _contracted(contraction: Plan, subscripts: str, arrays: tuple[ndarray, ...]) -> Any:
    """An `einsum` that is products of matrices: those of what is in memory, in C order, that are no long ones."""
    few = contraction.places <= SHORT_PRODUCT and sum([x.size for x in arrays]) < CALLED * config.eager_below
    if not few or not stays_home():
        return REFUSED
    operands = [source_of(x) for x in arrays]
    if any([x is None or not x.flags.c_contiguous for x in operands]):
        return REFUSED
    rest()
    made = run_in_order(contraction, subscripts, operands)
    return adopt(made if made.ndim else made[()])


def _is_short(terms: list[str], arrays: list[Any]) -> bool:
    """True if an einsum visits no more places than a short product; not of labels that do not fit."""
    extents: dict[str, int] = {}
    for term, array in zip(terms, arrays, strict=True):
        if type(array) is not np.ndarray or len(term) != array.ndim:
            return False
        for label, extent in zip(term, array.shape, strict=True):
            extents[label] = max(extents.get(label, 1), extent)
    return math.prod(extents.values()) <= SHORT_PRODUCT


def take(args: Any, kwargs: Any) -> Any:
    """The same for `take` of an array in memory at small arrays of places."""
    if len(args) == 2 and kwargs.keys() <= {"axis"}:
        axis = kwargs.get("axis")
    elif len(args) == 3 and not kwargs:
        axis = args[2]
    else:
        return REFUSED
    array = args[0]
    # A tuple of places is an array of them here, and a key of several axes for `picked`.
    if type(array) is not ndarray or type(args[1]) is tuple:
        return REFUSED
    whole = at_hand(array)
    if whole is None or not (axis is None or type(axis) is int):
        return REFUSED
    if axis is None and whole.ndim == 1:
        axis = 0
    if axis is None or not 0 <= axis < whole.ndim:
        return REFUSED
    key = picked((slice(None),) * axis + (args[1],) if axis else args[1], whole)
    index = key[axis] if type(key) is tuple else key
    if type(index) is not np.ndarray or index.dtype.kind not in "iu":
        return REFUSED
    try:
        found = whole.take(index, axis)
    except IndexError:
        return REFUSED  # said elsewhere
    return plain(found) if type(found) is np.ndarray else found


def _product(name: str) -> Callable[[Any, Any], Any]:
    """The same for the product of two vectors, which BLAS makes of what lies in memory: nothing fuses with that."""
    source = getattr(np, name)

    def call(args: Any, kwargs: Any) -> Any:
        if len(args) != 2 or kwargs or type(args[0]) is not ndarray or type(args[1]) is not ndarray:
            return REFUSED
        x, y = at_hand(args[0]), at_hand(args[1])
        if x is None or y is None or x.dtype is not y.dtype or x.dtype not in _BLAS or not (x.ndim == y.ndim == 1):
            return REFUSED
        if x.size + y.size >= CALLED * config.eager_below or x.size != y.size:
            return REFUSED
        rest_for(x, y)
        return source(x, y)

    return call


def put(args: Any, kwargs: Any) -> Any:
    """The same for `put` of one number at places of a vector: `a[places] = number`."""
    if len(args) != 3 or kwargs or type(args[0]) is not ndarray or type(args[2]) is not float:
        return REFUSED
    array, places = args[0], args[1]
    if type(places) is not ndarray or array.ndim != 1 or array.dtype is not _DOUBLE or places.dtype.kind != "i":
        return REFUSED
    try:
        array[places] = args[2]
    except (IndexError, ValueError):
        return REFUSED  # said elsewhere; nothing is written
    return None


def ravel(args: Any, kwargs: Any) -> Any:
    """The same for the flat view of what lies in C order."""
    if len(args) != 1 or kwargs or type(args[0]) is not ndarray or args[0]._np is not None:
        return REFUSED
    if lies_apart(args[0]):
        return REFUSED
    view = map_of(args[0])
    found = _flat.get(view)
    if found is None:
        size = size_of(view.shape)
        if not size or not is_contiguous(view):
            return REFUSED
        if len(_flat) >= MEMO_LIMIT:
            _flat.clear()
        found = _flat[view] = IndexMap(view.offset, (size,), (1,))
    return view_of(args[0], found)


def histogram(args: Any, kwargs: Any) -> Any:
    """NumPy's own counts of a small array, unless those of its kind took as long as compiling a kernel does."""
    if _has_cost_more(args, kwargs):
        return REFUSED
    found = small_call(np.histogram, args, kwargs)
    if found is not REFUSED:
        return found
    found = _in_memory(args, kwargs)
    if found is None or found[2] >= config.eager_below:
        return REFUSED
    return adopt(np.histogram(*found[0], **found[1]))


def _has_cost_more(args: Any, kwargs: Any) -> bool:
    """True once NumPy has counted so much for arrays of one shape, dtype and number of bins that a kernel had paid.

    What waits for that loses at most as much again: a program of a few histograms compiles nothing.
    """
    array = args[0]
    if type(array) is not ndarray or array._np is None or array._np.size < COUNTED[0]:
        return False
    data: Array = array._np
    named = dict(zip(_OPTIONS, args[1:], strict=False)) | kwargs
    bins = named.get("bins", 10)
    within = named.get("range")
    if type(bins) is not int or data.size < COUNTED[within is None] or not named.keys() <= {"bins", "range"}:
        return False
    kind = data.shape, data.dtype, bins, within is None
    counted = _counted.get(kind, 0)
    if counted >= (config.compile_at - 1) * COMPILING:
        return True
    _counted[kind] = counted + data.size + _CALL
    if len(_counted) > _KINDS:
        del _counted[next(iter(_counted))]
    return False


def _mask(args: Any, kwargs: Any) -> Any:
    """The truth values that a reduction of all of them is asked of, as memory; None where it is another reduction."""
    if len(args) != 1 or kwargs or type(args[0]) is not ndarray:
        return None
    data = at_hand(args[0])
    return data if data is not None and data.dtype is _BOOL and data.flags.c_contiguous else None


def _truth(name: str) -> Callable[[Any, Any], Any]:
    """The same for `any` and `all` of a mask: NumPy stops where the answer is known, mostly at the beginning."""
    decide: Any = getattr(np.ndarray, name)
    decided = name == "any"

    def call(args: Any, kwargs: Any) -> Any:
        data = _mask(args, kwargs)
        if data is None:
            single = len(args) == 1 and not kwargs and type(args[0]) is LazyScalar and args[0].dtype is _BOOL
            return args[0] if single else REFUSED  # of one truth value both are that value
        if data.size < MOST * config.eager_below:
            return decide(data)
        found = decide(data.reshape(-1)[:LEAD])
        return found if bool(found) == decided else REFUSED

    return call


def count_nonzero(args: Any, kwargs: Any) -> Any:
    """The same for a mask."""
    data = _mask(args, kwargs)
    return REFUSED if data is None or data.size >= MOST * config.eager_below else np.count_nonzero(data)


AHEAD: Final = {
    "all": _truth("all"),
    "any": _truth("any"),
    "count_nonzero": count_nonzero,
    "dot": _product("dot"),
    "einsum": einsum,
    "histogram": histogram,
    "inner": _product("inner"),
    "put": put,
    "ravel": ravel,
    "take": take,
    "vdot": _product("vdot"),
}


def decided(name: str, array: Any) -> Any:
    """`any` or `all` of an array, `name` says which, if that takes no evaluation; else None."""
    found = AHEAD[name]((array,), {})
    return None if found is REFUSED else found
