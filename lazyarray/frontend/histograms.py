"""Owns `histogram` with equal bins and `bincount`: NumPy's places, and a scatter that adds, in pieces side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import from_node, ndarray, value, wrap
from lazyarray.frontend.bins import Bins, Numbers, bins_between, edges_of, is_wide
from lazyarray.frontend.devices import device_of, run_there
from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.reading import lent
from lazyarray.frontend.record import (
    cast_,
    fill_,
    iota_,
    map_,
    reduce_,
    reshape_,
    scatter_,
    view_,
)
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.along import is_pending
from lazyarray.runtime.device import in_use
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.remote import stays_home

_PIECE: Final = 1 << 13  # fewest elements that are counted in a table of their own
RANGED: Final = "the bins lie between the least and the greatest element"
COUNTED_TO: Final = "how many counts there are follows from the greatest element"
_PIECES: Final = 16  # the most tables; counts are whole numbers, so that how many there are never shows
# Tables that elements one after another take turns in: adding at a place that is just being added to takes longer.
_SIDE: Final = 4
_EXACT: Final = 1 << 53  # whole numbers up to it are exact as float64
_INT: Final = np.dtype(np.int64)
_SHORT: Final = np.dtype(np.int32)
_FLOAT: Final = np.dtype(np.float64)
# What `histogram` takes: integers that are exact as float64, in which NumPy counts them too.
_COUNTED: Final = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i1", "i2", "i4", "u1", "u2", "u4"))
_jitted: dict[Callable[..., ndarray], Callable[..., ndarray]] = {}
_calls: Final[Counter[Callable[..., ndarray]]] = Counter()  # of functions before they are jitted
_extremes: WeakKeyDictionary[Node, tuple[int, int]] = WeakKeyDictionary()  # of values, which never change


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[ndarray, ndarray]:
    """NumPy's counts and edges for real numbers and a number of bins; Uncompiled for all else."""
    if in_use():
        options = {"bins": bins, "range": range, "density": density, "weights": weights}
        result = run_there("histogram", (a,), {key: option for key, option in options.items() if option is not None})
        if result is not NotImplemented:
            return result  # type: ignore[no-any-return]
    if type(a) is not ndarray or a.dtype not in _COUNTED or weights is not None:
        raise Uncompiled
    if type(bins) is not int and not isinstance(bins, np.integer):
        raise Uncompiled
    count = int(bins)
    low, high = _outer_edges(a, range)
    edges, step = edges_of(count, low, high, a.dtype)
    edges = edges.copy()
    if low < high == 0:
        edges[-1] = high  # -0.0 and 0.0 have the same edges in the memo, and NumPy's last one is what was given
    flat = a if a.ndim == 1 else a.reshape(-1)
    if _is_elsewhere(flat):
        counts = _count_there(flat, edges, step)
    else:
        counts = _replayed(_count_bins, flat)(flat, *_bins_given(count, low, high, a.dtype))
    if density:
        return counts / wrap(np.array(np.diff(edges), float)) / counts.sum(), wrap(edges)
    return counts, wrap(edges)


@lru_cache(maxsize=64, typed=True)
def _bins_given(count: int, low: Any, high: Any, dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """What `_count_bins` is given beside the elements: numbers in an array, so that one program serves all ranges."""
    numbers, table, *kind = bins_between(*edges_of(count, low, high, dtype))
    return wrap(np.array(numbers)), None if table is None else wrap(table), *kind


def _is_elsewhere(array: Any) -> bool:
    """Whether an array's values are on a device, or will be computed there."""
    return type(array) is ndarray and in_use() and (not stays_home() or device_of(value(array)) is not None)


def _count_bins(a: ndarray, numbers: ndarray, table: ndarray | None, count: int, code: str, wide: bool) -> ndarray:
    given = value(numbers)
    ends = Numbers(*[view_(given, IndexMap(place, (), ())) for place in range(len(Numbers._fields))])
    bins = Bins(ends, None if table is None else value(table), count, code, wide)
    return from_node(_count(value(a), bins.places_of, count, before=1))  # the place before is for what is outside


def _count_there(a: ndarray, edges: np.ndarray[Any, Any], step: float | None) -> ndarray:
    """The counts on the device where the elements are, whose library counts places."""
    if edges.dtype == a.dtype and is_wide(edges):
        # The edges alone decide, and are looked up: nothing is computed for each element.
        found = run_there("count_between", (a, edges), {})
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    bins = bins_between(edges, step)
    if bins.table is not None:
        bins = bins._replace(table=value(wrap(bins.table)))
    places = cast_(bins.places_of(value(a)), _INT)
    if device_of(places) is None:
        raise Uncompiled
    counted = run_there("bincount", (from_node(places),), {"minlength": bins.total + 1})
    if counted is NotImplemented:
        raise Uncompiled
    return counted[1 : bins.total + 1]  # type: ignore[no-any-return]


def _count_places(x: ndarray, count: int) -> ndarray:
    return from_node(_count(value(x), lambda part: part, count))


def _add_weights(x: ndarray, weights: ndarray, count: int) -> ndarray:
    # Sums of floats are added up one after another: their order shows.
    added = cast_(value(weights), _FLOAT)
    places = [cast_(value(x), _INT)]
    return from_node(scatter_(fill_(0.0, (count,), _FLOAT), added, places, (0,), 0, "add"))


def _replayed(function: Callable[..., ndarray], *arrays: ndarray) -> Callable[..., ndarray]:
    """The function as `jit` has it, where its arguments are in memory: recording takes as long as 1e5 elements."""
    if (
        not config.eager_below
        or ledger.refusing
        or any(array._np is None and is_pending(value(array)) for array in arrays)
    ):
        return function
    found = _jitted.get(function)
    if found is None:
        _calls[function] += 1
        if _calls[function] < config.compile_at:
            return function
        from lazyarray.frontend.jit import jit  # loads the scheduler, which small programs do without

        found = _jitted[function] = jit(function)
    return found


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> ndarray:
    """NumPy's counts of an array of integers, or its sums of weights in the order of the array."""
    if in_use():
        result = run_there("bincount", (x,), {"weights": weights, "minlength": minlength})
        if result is not NotImplemented:
            return result  # type: ignore[no-any-return]
        if any(_is_elsewhere(array) for array in (x, weights)):
            raise Uncompiled
    if (
        type(x) is not ndarray
        or x.ndim != 1
        or not x.size
        or not np.can_cast(x.dtype, _INT)
        or x.dtype.kind not in "iu"
    ):
        raise Uncompiled
    if (type(minlength) is not int and not isinstance(minlength, np.integer)) or minlength < 0:
        raise Uncompiled
    if lent(x) is not None or lent(weights) is not None:
        raise Uncompiled  # it would be copied first
    places = value(x)
    lowest, highest = _extremes_of(places)
    if lowest < 0:
        raise Uncompiled  # NumPy says so
    count = max(highest + 1, int(minlength))
    if weights is None:
        return _replayed(_count_places, x)(x, count)
    if type(weights) is not ndarray or weights.shape != x.shape or weights.dtype.kind not in "biuf":
        raise Uncompiled
    return _replayed(_add_weights, x, weights)(x, weights, count)


def _count(elements: Node, places_of: Callable[[Node], Node], count: int, before: int = 0) -> Node:
    """How many elements have each of `count` places: pieces of them in tables side by side, which are added up.

    `before`: places before these, which do not matter.
    """
    size = elements.key.spec.size
    width = before + count
    pieces = _pieces_of(size, width)
    length = size // pieces
    whole = view_(elements, IndexMap(0, (pieces, length), (length, 1)))
    side = _SIDE if pieces > 1 else 1
    tables = fill_(0, (pieces, width * side), _INT)
    own = reshape_(iota_((pieces,)), (pieces, 1))
    tables = scatter_(tables, 1, [own, _in_turns(places_of(whole), side, width)], (0, 1), 0, "add")
    rest = size - pieces * length
    if rest:
        last = view_(elements, IndexMap(pieces * length, (1, rest), (rest, 1)))
        zero = fill_(0, (1, 1), _INT)
        tables = scatter_(tables, 1, [zero, _in_turns(places_of(last), side, width)], (0, 1), 0, "add")
    return reduce_(
        "sum", view_(tables, IndexMap(before * side, (pieces, count, side), (width * side, side, 1))), (0, 2)
    )


def _in_turns(places: Node, side: int, width: int) -> Node:
    """Each of `width` places of a row among `side` (a power of two) for it: elements one after another take turns.

    By a shift: vectors of AVX2 have no products of 64 bits. And in int32 where that holds them, half as long.
    """
    if side > 1:
        short = places.key.spec.dtype.itemsize <= _SHORT.itemsize and width * side < 1 << 31
        kind = _SHORT if short else _INT
        turn = map_("bitwise_and", (cast_(iota_(places.key.spec.shape, 1), kind), side - 1))
        places = map_("bitwise_or", (map_("left_shift", (cast_(places, kind), side.bit_length() - 1)), turn))
    return cast_(places, _INT)


def _pieces_of(size: int, count: int) -> int:
    """Into how many pieces so many elements are cut, preferably equal ones; tables cost less than counting."""
    most = min(_PIECES, size // _PIECE, size // (4 * _SIDE * count))
    equal = [pieces for pieces in range(most, most // 2, -1) if size % pieces == 0]
    return max(1, equal[0] if equal else most)


def _extremes_of(node: Node) -> tuple[int, int]:
    found = _extremes.get(node)
    if found is None:
        every = tuple(range(len(node.key.spec.shape)))
        ends = [reduce_(op, node, every) for op in ("min", "max")]
        boundary.evaluate(ends, COUNTED_TO)
        lowest, highest = (int(from_node(end)) for end in ends)
        found = _extremes[node] = lowest, highest
    return found


def _outer_edges(a: ndarray, range: Any) -> tuple[Any, Any]:
    """The first and the last edge as NumPy is given them."""
    if range is None:
        if not a.size:
            raise Uncompiled
        lowest, highest = a.min(), a.max()
        boundary.evaluate([end._node for end in (lowest, highest) if type(end) is LazyScalar], RANGED)
        kind = np.float32 if a.dtype == np.float32 else float  # NumPy makes float32 edges of them in float32
        low, high = kind(float(lowest)), kind(float(highest))
        if not np.isfinite(float(high) - float(low)):
            raise Uncompiled  # NumPy says so
        return low, high
    if type(range) not in (tuple, list) or len(range) != 2:
        raise Uncompiled
    for edge in range:
        if type(edge) not in (int, float, np.float64) or not abs(edge) <= _EXACT:
            raise Uncompiled
    if a.dtype == np.float64:
        return float(range[0]), float(range[1])
    return range[0], range[1]


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"bincount": bincount, "histogram": histogram}
