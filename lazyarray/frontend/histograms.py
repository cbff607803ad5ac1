"""Owns `histogram` with equal bins: NumPy's search for each element's bin as one kernel, then `numpy.bincount`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import from_node, ndarray, read_only, value, wrap
from lazyarray.frontend.devices import device_of, run_there
from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.record import cast_, gather_, map_
from lazyarray.ir.node import Node
from lazyarray.runtime.device import in_use

# Elements whose bins are found before they are counted: 8 MiB of them stay in the last cache.
_BLOCK: Final = 1 << 20
_EXACT: Final = 1 << 53  # whole numbers up to it are exact as float64


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[ndarray, ndarray]:
    """NumPy's counts and edges for float64 and a number of bins; Uncompiled for all else."""
    if in_use():
        options = {"bins": bins, "range": range, "density": density, "weights": weights}
        result = run_there("histogram", (a,), {key: option for key, option in options.items() if option is not None})
        if result is not NotImplemented:
            return result  # type: ignore[no-any-return]
    if type(a) is not ndarray or a.dtype != np.float64 or weights is not None:
        raise Uncompiled
    if type(bins) is not int and not isinstance(bins, np.integer):
        raise Uncompiled
    count = int(bins)
    low, high = _outer_edges(a, range)
    # NumPy makes the edges, and the errors about them, of the range alone.
    edges = np.histogram_bin_edges(np.empty(0), count, (low, high))
    low, high = float(edges[0]), float(edges[-1])
    lazy_edges = value(wrap(edges))
    flat = a.reshape(-1)
    counted = _count_there(flat, lazy_edges, count, low, high)
    if counted is not None:
        return (counted / wrap(np.diff(edges)) / counted.sum() if density else counted), wrap(edges)
    found = np.zeros(count + 1, np.intp)
    for start in np.arange(0, flat.size, _BLOCK).tolist():
        places = _bins_of(value(flat[start : start + _BLOCK]), lazy_edges, count, low, high)
        found += np.bincount(read_only(from_node(places)), minlength=count + 1)
    counts = found[:count].copy()
    if density:
        return wrap(counts / np.diff(edges) / counts.sum()), wrap(edges)
    return wrap(counts), wrap(edges)


def _count_there(flat: ndarray, edges: Node, count: int, low: float, high: float) -> ndarray | None:
    """The counts of all elements at once on the device where they are; None where the host counts."""
    if not in_use():
        return None
    places = _bins_of(value(flat), edges, count, low, high)
    if device_of(places) is None:
        return None
    counted = run_there("bincount", (from_node(places),), {"minlength": count + 1})
    return None if counted is NotImplemented else counted[:count]


def _outer_edges(a: ndarray, range: Any) -> tuple[float, float]:
    """The first and the last edge, as far as they are known to be exact as Python's floats."""
    if range is None:
        if not a.size:
            raise Uncompiled
        lowest, highest = a.min(), a.max()  # both are named when the first is evaluated: one pass
        low, high = float(lowest), float(highest)
        if not np.isfinite(high - low):
            raise Uncompiled  # NumPy says so
        return low, high
    if type(range) not in (tuple, list) or len(range) != 2:
        raise Uncompiled
    for edge in range:
        if type(edge) not in (int, float, np.float64) or not abs(edge) <= _EXACT:
            raise Uncompiled
    return float(range[0]), float(range[1])


def _bins_of(x: Node, edges: Node, count: int, low: float, high: float) -> Node:
    """Each element's bin as NumPy finds it: by division, corrected by the edges; `count` for what is outside."""
    inside = map_("logical_and", (map_("greater_equal", (x, low)), map_("less_equal", (x, high))))
    # What is outside takes part as the first edge, which raises no errors.
    x = map_("where", (inside, x, low))
    scaled = map_("multiply", (map_("divide", (map_("subtract", (x, low)), high - low)), float(count)))
    place = cast_(scaled, np.dtype(np.int64))
    place = map_("where", (map_("equal", (place, count)), count - 1, place))
    before = map_("less", (x, gather_(edges, (place,), (0,), 0)))
    place = map_("where", (before, map_("subtract", (place, 1)), place))
    following = gather_(edges, (map_("add", (place, 1)),), (0,), 0)
    inner = map_("not_equal", (place, count - 1))
    beyond = map_("logical_and", (map_("greater_equal", (x, following)), inner))
    place = map_("where", (beyond, map_("add", (place, 1)), place))
    return map_("where", (inside, place, count))


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"histogram": histogram}
