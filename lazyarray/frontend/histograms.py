"""Owns `histogram` with equal bins and `bincount`: NumPy's places, and a scatter that adds, in pieces side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import from_node, ndarray, value, wrap
from lazyarray.frontend.devices import device_of, run_there
from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.record import (
    cast_,
    fill_,
    gather_,
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
from lazyarray.runtime.device import in_use, stays_home
from lazyarray.runtime.ledger import ledger

_PIECE: Final = 1 << 13  # fewest elements that are counted in a table of their own
RANGED: Final = "the bins lie between the least and the greatest element"
COUNTED_TO: Final = "how many counts there are follows from the greatest element"
_PIECES: Final = 16  # the most tables; counts are whole numbers, so that how many there are never shows
_RAISED: Final = 2.0**-4  # of a bin: far more than rounding moves an element where bins are wide
# Tables that elements one after another take turns in: adding at a place that is just being added to takes longer.
_SIDE: Final = 4
_EXACT: Final = 1 << 53  # whole numbers up to it are exact as float64
_MOST_EDGES: Final = 64  # sets of edges that are remembered
_INT: Final = np.dtype(np.int64)
_FLOAT: Final = np.dtype(np.float64)
# What `histogram` takes: integers that are exact as float64, in which NumPy counts them too.
_COUNTED: Final = frozenset(np.dtype(kind) for kind in ("f8", "f4", "i1", "i2", "i4", "u1", "u2", "u4"))
_edges: dict[Any, tuple[np.ndarray[Any, Any], float | None]] = {}
_jitted: dict[Callable[..., ndarray], Callable[..., ndarray]] = {}
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
    edges = _edges_of(count, low, high, a.dtype)[0].copy()
    flat = a if a.ndim == 1 else a.reshape(-1)
    if _is_elsewhere(flat):
        counts = _count_there(flat, count, low, high)
    else:
        # Ends that data have are others each time: nothing to replay.
        run = _count_bins if range is None else _replayed(_count_bins, flat)
        counts = run(flat, count, low, high)
    if density:
        return counts / wrap(np.array(np.diff(edges), float)) / counts.sum(), wrap(edges)
    return counts, wrap(edges)


def _is_elsewhere(array: Any) -> bool:
    """Whether an array's values are on a device, or will be computed there."""
    return type(array) is ndarray and in_use() and (not stays_home() or device_of(value(array)) is not None)


def _count_bins(a: ndarray, count: int, low: Any, high: Any) -> ndarray:
    places_of = _finder_of_bins(a, count, low, high)
    return from_node(_count(value(a), places_of, count, beyond=1))  # the place beyond is for what is outside


def _count_there(a: ndarray, count: int, low: Any, high: Any) -> ndarray:
    """The counts on the device where the elements are, whose library counts places."""
    edges, _ = _edges_of(count, low, high, a.dtype)
    if edges.dtype == a.dtype and _is_wide(edges):
        # The edges alone decide, and are looked up: nothing is computed for each element.
        found = run_there("count_between", (a, edges), {})
        if found is not NotImplemented:
            return found  # type: ignore[no-any-return]
    places = _finder_of_bins(a, count, low, high)(value(a))
    if device_of(places) is None:
        raise Uncompiled
    counted = run_there("bincount", (from_node(places),), {"minlength": count + 1})
    if counted is NotImplemented:
        raise Uncompiled
    return counted[:count]  # type: ignore[no-any-return]


def _finder_of_bins(a: ndarray, count: int, low: Any, high: Any) -> Callable[[Node], Node]:
    """What gives each element of `a`, or of a part of it, its bin, or `count`."""
    edges, step = _edges_of(count, low, high, a.dtype)
    wide = _is_wide(edges)
    if not wide and edges.dtype == np.float32:
        raise Uncompiled  # the rounding of NumPy's float32 quotients shows

    def places_of(x: Node) -> Node:
        # All that takes part lies between two edges: nothing overflows, and NumPy has nothing to report.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return _bins_of(cast_(x, _FLOAT), edges, step, wide)

    return places_of


def _count_places(x: ndarray, count: int) -> ndarray:
    return from_node(_count(value(x), lambda part: cast_(part, _INT), count))


def _add_weights(x: ndarray, weights: ndarray, count: int) -> ndarray:
    # Sums of floats are added up one after another: their order shows.
    added = cast_(value(weights), _FLOAT)
    places = [cast_(value(x), _INT)]
    return from_node(scatter_(fill_(0.0, (count,), _FLOAT), added, places, (0,), 0, "add"))


def _replayed(function: Callable[..., ndarray], *arrays: ndarray) -> Callable[..., ndarray]:
    """The function as `jit` has it, where its arguments are in memory: recording takes as long as 1e5 elements."""
    if not config.eager_below or ledger.refusing or any(is_pending(value(array)) for array in arrays):
        return function
    found = _jitted.get(function)
    if found is None:
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


def _count(elements: Node, places_of: Callable[[Node], Node], count: int, beyond: int = 0) -> Node:
    """How many elements have each place below `count`: pieces of them in tables side by side, which are added up.

    `beyond`: places after these, which do not matter.
    """
    size = elements.key.spec.size
    width = count + beyond
    pieces = _pieces_of(size, width)
    length = size // pieces
    whole = view_(elements, IndexMap(0, (pieces, length), (length, 1)))
    side = _SIDE if pieces > 1 else 1
    tables = fill_(0, (pieces, side, width), _INT)
    own = reshape_(iota_((pieces,)), (pieces, 1))
    turn = map_("bitwise_and", (iota_((pieces, length), 1), side - 1))
    tables = scatter_(tables, 1, [own, turn, places_of(whole)], (0, 1, 2), 0, "add")
    rest = size - pieces * length
    if rest:
        last = view_(elements, IndexMap(pieces * length, (1, rest), (rest, 1)))
        zero = fill_(0, (1, 1), _INT)
        tables = scatter_(tables, 1, [zero, zero, places_of(last)], (0, 1, 2), 0, "add")
    return reduce_("sum", view_(tables, IndexMap(0, (pieces * side, count), (width, 1))), (0,))


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


def _edges_of(count: int, low: Any, high: Any, dtype: np.dtype[Any]) -> tuple[np.ndarray[Any, Any], float | None]:
    """NumPy's edges, with its errors, which it makes of the range and the dtype alone.

    And the step if edge i is i * step + low, in float64 and then in the dtype of the edges.
    """
    key = (count, low, high, type(low), type(high), dtype)
    found = _edges.get(key)
    if found is None:
        edges = np.histogram_bin_edges(np.empty(0, dtype), count, (low, high))
        first, last = float(low), float(high)
        if first == last:
            first, last = first - 0.5, last + 0.5
        width = (last - first) / count
        # The last edge is NumPy's own, and no element is compared with it.
        even = np.array_equal((np.arange(count) * width + first).astype(edges.dtype), edges[:-1])
        if len(_edges) >= _MOST_EDGES:
            _edges.clear()
        found = _edges[key] = edges, width if even and first == edges[0] else None
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


def _is_wide(edges: np.ndarray[Any, Any]) -> bool:
    """Whether bins are so wide that rounding moves no element by more than one, however its bin is computed.

    The edges then decide which of the neighbours it is, and a product in float64 does for NumPy's quotient.
    """
    count, bits = len(edges) - 1, 18 if edges.dtype == np.float32 else 40
    step = (float(edges[-1]) - float(edges[0])) / count
    return count < 1 << (bits - 8) and step > max(abs(float(edges[0])), abs(float(edges[-1]))) * 2.0**-bits


def _bins_of(x: Node, edges: np.ndarray[Any, Any], step: float | None, wide: bool) -> Node:
    """Each element's bin as NumPy finds it, which corrects a quotient by the edges; `count` for what is outside.

    Bins are whole numbers up to 2**53 here, exact as float64 and cheaper to compare and choose in vectors.
    """
    count, low, high = len(edges) - 1, float(edges[0]), float(edges[-1])
    inside = map_("logical_and", (map_("greater_equal", (x, low)), map_("less_equal", (x, high))))
    if step is None:
        # What is outside has no place in the table of edges.
        x = map_("where", (inside, x, low))
    if wide:
        # Somewhat too high, so that it is the bin or the next one: one edge decides.
        scale = count / (high - low)
        place = map_("trunc", (map_("multiply", (map_("subtract", (x, low - _RAISED / scale)), scale)),))
        if step is None:
            place = _up_to(place, count)
        place = map_("where", (map_("less", (x, _edge(place, edges, step))), map_("subtract", (place, 1.0)), place))
    else:
        place = _corrected(x, edges, step)
    # The last edge belongs to the last bin.
    return cast_(map_("where", (inside, _up_to(place, count - 1), float(count))), _INT)


def _corrected(x: Node, edges: np.ndarray[Any, Any], step: float | None) -> Node:
    """NumPy's own way: its quotient, and a look at both edges."""
    count, low, high = len(edges) - 1, float(edges[0]), float(edges[-1])
    quotient = map_("divide", (map_("subtract", (x, low)), high - low))
    place = _up_to(map_("trunc", (map_("multiply", (quotient, float(count))),)), count - 1)
    following = map_("add", (place, 1.0))
    before = map_("less", (x, _edge(place, edges, step)))
    beyond = map_("greater_equal", (x, _edge(following, edges, step)))
    return map_("where", (before, map_("subtract", (place, 1.0)), map_("where", (beyond, following, place))))


def _up_to(place: Node, most: int) -> Node:
    return map_("where", (map_("less", (place, float(most))), place, float(most)))


def _edge(place: Node, edges: np.ndarray[Any, Any], step: float | None) -> Node:
    """The edges where these bins begin."""
    if step is None:
        return gather_(value(wrap(edges.astype(_FLOAT))), (cast_(place, _INT),), (0,), 0)
    edge = map_("add", (map_("multiply", (place, step)), float(edges[0])))
    return cast_(cast_(edge, edges.dtype), _FLOAT)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"bincount": bincount, "histogram": histogram}
