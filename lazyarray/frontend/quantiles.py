"""Owns medians and quantiles of many values: by a partition for each place in the order that they need.

NumPy asks for all places at once, with which its vector code for partitions does not run; one at a time it does, ten
times as fast. The values are the same, and so is what NumPy's own code makes of them.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from numpy.lib import _function_base_impl as numpys
from numpy.lib import _nanfunctions_impl as numpys_of_nan

from lazyarray.frontend.callables import FEW_SEARCHED, FEW_SORTED
from lazyarray.frontend.renamed import with_names
from lazyarray.frontend.sorts import sort

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset({"median", "nanmedian", "percentile", "quantile"})
_PARTITIONED: Final = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "u8", "u4")))
_DOUBLE: Final = np.dtype(float)
# Numbers of a line, in which NumPy finds several places no sooner than it sorts them (AMD Zen 4, one thread: 500).
_SHORT: Final = 1 << 9
_MOST: Final = 8  # quantiles that are found one after the other
_functions: dict[str, Any] = {}


def partition(a: Any, kth: Any, axis: Any = -1) -> Any:
    """NumPy's, of all of an array or of a vector; of short lines, which are sorted as soon."""
    if type(a) is np.ndarray and a.size >= FEW_SEARCHED and a.dtype in _PARTITIONED:
        if axis is None or a.ndim == 1:
            made = a.flatten()
            if _arrange(made, sorted({place % made.size for place in kth}, reverse=True)):
                return made
        elif a.size >= FEW_SORTED and type(axis) is int and a.shape[axis] <= _SHORT:
            made = sort(a, axis)
            if _are_settled(made, kth, axis):
                return made
    return np.partition(a, kth, axis=axis)


def _are_settled(lines: Array, places: list[int], axis: int) -> bool:
    """Whether there are no NaN, and no zeros of two signs at these places of sorted lines: NumPy chooses among such."""
    if lines.dtype.kind != "f":
        return True
    if np.isnan(lines.take(-1, axis)).any():
        return False
    return all([lines.take(place, axis).all() for place in places]) or not np.signbit(lines[lines == 0]).any()


def _arrange(values: Array, places: list[int]) -> bool:
    """Has the values at these places, the last one first, be those that would be there in order.

    False where they may be zeros of two signs, between which NumPy's partition chooses in its own way.
    """
    end = values.size
    for place in places:
        rest = values[:end]
        if place == end - 1:
            last = int(rest.argmax())  # NaN, if there is one
            rest[last], rest[place] = rest[place], rest[last]
        else:
            rest.partition(place)
        end = place
    if values.dtype.kind != "f" or all([values[place] != 0 for place in places]):
        return True
    return not np.signbit(values[values == 0]).any()


def _quantiles(a: Any, fractions: list[float]) -> list[float] | None:
    """Quantiles of float64 by the method "linear"; None for what NumPy is to do."""
    last = a.size - 1
    if not all([0.0 <= fraction <= 1.0 for fraction in fractions]):
        return None
    virtual = [last * fraction for fraction in fractions]
    before = [min(math.floor(index), last) for index in virtual]
    values = a.flatten()
    if not _arrange(values, sorted({last, *before, *[min(place + 1, last) for place in before]}, reverse=True)):
        return None
    if math.isnan(values[last]):
        return None
    found = []
    for index, place in zip(virtual, before, strict=True):
        low, high = float(values[place]), float(values[min(place + 1, last)])
        if not math.isfinite(high - low):
            return None  # which NumPy tells, or makes NaN of
        found.append(_between(low, high, index - place))
    return found


def _between(low: float, high: float, part: float) -> float:
    """NumPy's `_lerp` (numpy/lib/_function_base_impl.py)."""
    apart = high - low
    return high - apart * (1 - part) if part >= 0.5 else low + apart * part


def _of_double(a: Any, q: Any) -> bool:
    return type(a) is np.ndarray and a.dtype is _DOUBLE and a.size >= FEW_SEARCHED and _are_few(q)


def _are_few(q: Any) -> bool:
    if type(q) in (list, tuple):
        return len(q) <= _MOST and all([type(item) in (int, float) for item in q])
    return type(q) in (int, float)


def _asked_in(source: Any, whole: float) -> Any:
    """NumPy's `percentile` or `quantile`, which is `source`: what it is asked for is parts of `whole`."""

    def call(a: Any, q: Any, *args: Any, **options: Any) -> Any:
        if not args and not options and _of_double(a, q):
            several = type(q) in (list, tuple)
            found = _quantiles(a, [item / whole for item in (q if several else (q,))])
            if found is not None:
                return np.array(found) if several else np.float64(found[0])
        return source(a, q, *args, **options)

    return call


def function_of(name: str) -> Any:
    """NumPy's function of the name with its places found here; None where NumPy is written otherwise."""
    if not _functions:
        _functions.update(percentile=_asked_in(np.percentile, 100.0), quantile=_asked_in(np.quantile, 1.0))
        _functions["median"] = median = _through(np.median, numpys, ("_median",), {"partition": partition})
        if median is not None:
            own = SimpleNamespace(**{**vars(np), "median": lambda a, overwrite_input=False: median(a)})
            inner = ("_nanmedian", "_nanmedian1d")
            _functions["nanmedian"] = _through(np.nanmedian, numpys_of_nan, inner, {"np": own})
    return _functions.get(name)


def _through(source: Any, module: Any, inner: tuple[str, ...], names: dict[str, Any]) -> Any:
    """NumPy's function over others of its module, each of which the one before calls; the last one has the names."""
    made = None
    for known in reversed(inner):
        made = with_names(getattr(module, known, None), names)
        if made is None:
            return None
        names = {known: made}
    return with_names(source, names)
