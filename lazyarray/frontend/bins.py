"""Owns equal bins: NumPy's edges between two ends, and the bin of each element as NumPy finds it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.record import cast_, gather_, map_
from lazyarray.ir.node import Node
from lazyarray.records import NamedTuple

_RAISED: Final = 2.0**-4  # of a bin: far more than rounding moves an element where bins are wide
_INT: Final = np.dtype(np.int64)
_SHORT: Final = np.dtype(np.int32)
_FLOAT: Final = np.dtype(np.float64)


class Numbers(NamedTuple):
    """What the bin of an element is computed with: numbers, or nodes of no axes that hold them."""

    low: Any  # the first edge
    high: Any  # the last
    start: Any  # what is taken from an element,
    scale: Any  # what the rest is multiplied by, or divided by where bins are not wide,
    step: Any  # and edge i is i * step + low, unless edges are looked up


class Bins(NamedTuple):
    """`total` bins with edges of dtype `code`; `table`: the edges as float64, where they have to be looked up.

    `wide`: rounding moves no element by more than one bin, however its bin is computed; see `is_wide`.
    """

    numbers: Numbers
    table: Any
    total: int
    code: str
    wide: bool

    def places_of(self, x: Node) -> Node:
        """Each element's bin, from 1 on; 0 for what is outside."""
        # All that takes part lies between two edges: nothing overflows, and NumPy has nothing to report.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self._places_of(cast_(x, _FLOAT))

    def _places_of(self, x: Node) -> Node:
        """As NumPy finds it, which corrects a quotient by the edges.

        Bins are whole numbers up to 2**53 here, exact as float64 and cheaper to compare and choose in vectors.
        """
        numbers = self.numbers
        inside = map_("logical_and", (map_("greater_equal", (x, numbers.low)), map_("less_equal", (x, numbers.high))))
        if self.table is not None:
            # What is outside has no place in the table of edges.
            x = map_("where", (inside, x, numbers.low))
        if self.wide:
            # Somewhat too high, so that it is the bin or the next one: one edge decides.
            place = map_("trunc", (map_("multiply", (map_("subtract", (x, numbers.start)), numbers.scale)),))
            if self.table is not None:
                place = _up_to(place, self.total)
            place = map_("where", (map_("less", (x, self._edge(place))), place, map_("add", (place, 1.0))))
        else:
            place = self._corrected(x)
        # The last edge belongs to the last bin.
        return map_("minimum", (_whole(map_("where", (inside, place, 0.0)), self.total), self.total))

    def _corrected(self, x: Node) -> Node:
        """NumPy's own way: its quotient, and a look at both edges; bins from 1 on."""
        quotient = map_("divide", (map_("subtract", (x, self.numbers.start)), self.numbers.scale))
        place = _up_to(map_("trunc", (map_("multiply", (quotient, float(self.total))),)), self.total - 1)
        following = map_("add", (place, 1.0))
        before = map_("less", (x, self._edge(place)))
        beyond = map_("greater_equal", (x, self._edge(following)))
        return map_("where", (before, place, map_("where", (beyond, map_("add", (following, 1.0)), following))))

    def _edge(self, place: Node) -> Node:
        """The edges where these bins begin."""
        if self.table is not None:
            return gather_(self.table, (cast_(_whole(place, self.total), _INT),), (0,), 0)
        edge = map_("add", (map_("multiply", (place, self.numbers.step)), self.numbers.low))
        return cast_(cast_(edge, np.dtype(self.code)), _FLOAT)


def _whole(place: Node, most: int) -> Node:
    """Places of at most so many as integers. AVX2 has vectors of int32 for a conversion, and none of int64."""
    return cast_(place, _SHORT if most < (1 << 31) - 1 else _INT)


def _up_to(place: Node, most: int) -> Node:
    return map_("where", (map_("less", (place, float(most))), place, float(most)))


def bins_between(edges: np.ndarray[Any, Any], step: float | None) -> Bins:
    """The bins that these edges part (`step`: see `edges_of`), with numbers, and a table in memory."""
    wide, count = is_wide(edges), len(edges) - 1
    if not wide and edges.dtype == np.float32:
        raise Uncompiled  # the rounding of NumPy's float32 quotients shows
    low, high = float(edges[0]), float(edges[-1])
    scale = count / (high - low) if wide else high - low
    start = low - _RAISED / scale if wide else low
    numbers = Numbers(low, high, start, scale, 0.0 if step is None else step)
    return Bins(numbers, edges.astype(_FLOAT) if step is None else None, count, edges.dtype.char, wide)


@lru_cache(maxsize=64, typed=True)
def edges_of(count: int, low: Any, high: Any, dtype: np.dtype[Any]) -> tuple[np.ndarray[Any, Any], float | None]:
    """NumPy's edges, with its errors, which it makes of the range and the dtype alone.

    And the step if edge i is i * step + low, in float64 and then in the dtype of the edges.
    """
    edges = np.histogram_bin_edges(np.empty(0, dtype), count, (low, high))
    first, last = float(low), float(high)
    if first == last:
        first, last = first - 0.5, last + 0.5
    width = (last - first) / count
    # The last edge is NumPy's own, and no element is compared with it.
    even = np.array_equal((np.arange(count) * width + first).astype(edges.dtype), edges[:-1])
    return edges, width if even and first == edges[0] else None


def is_wide(edges: np.ndarray[Any, Any]) -> bool:
    """Whether bins are so wide that rounding moves no element by more than one, however its bin is computed.

    The edges then decide which of the neighbours it is, and a product in float64 does for NumPy's quotient.
    """
    count, bits = len(edges) - 1, 18 if edges.dtype == np.float32 else 40
    step = (float(edges[-1]) - float(edges[0])) / count
    return count < 1 << (bits - 8) and step > max(abs(float(edges[0])), abs(float(edges[-1]))) * 2.0**-bits
