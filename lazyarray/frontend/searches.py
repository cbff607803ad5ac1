"""Owns searches of many values in sorted arrays: searchsorted, digitize, interp and histograms of several dimensions.

NumPy's functions check and convert their arguments and call one loop, which searches for a value at a time: where the
sorted array does not lie in a core's cache, it waits for memory at each step. Many values are searched for here, 16 at
a time, on all cores. Results are NumPy's to the bit, also of an array that is not sorted, which it does not check.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import FEW_SEARCHED
from lazyarray.frontend.renamed import in_module, with_names
from lazyarray.frontend.shares import run_parts

# The build reads such imports by the line.
# isort: split
from lazyarray.native.searches import are_sorted, interpolation_of, search_of  # cimport

# isort: split
from lazyarray.runtime.pool import allocate

Array = np.ndarray[Any, Any]
# Values in order, of which NumPy's interp, which begins where it found the last one, is as quick as two threads here;
# how many are looked at to see whether they are.
RISING: Final = 1 << 17
_SEEN: Final = 128
_KEYS_PER_VALUE: Final = 16  # of the sorted array: more of them are not looked at for so few values
_INTP: Final = np.dtype(np.intp)
_DOUBLE: Final = np.dtype(float)
_SEARCHED: Final = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4")))
_SIDES: Final = ("left", "right")
# Where compilers make no fused multiply-add of NumPy's C, unless told.
_INTERPOLATES: Final = platform.machine() in ("x86_64", "AMD64")

NAMES: Final = frozenset({"searchsorted", "digitize", "interp", "histogramdd", "histogram2d"})
_functions: dict[str, Any] = {}


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """NumPy's."""
    if sorter is None and type(side) is str and side in _SIDES and _are_many(a, v):
        common = np.result_type(a.dtype, v.dtype)
        keys = np.ascontiguousarray(a, common) if common in _SEARCHED else None
        if keys is not None and are_sorted(keys):
            values, out = np.ascontiguousarray(v, common), allocate(v.shape, _INTP)
            record = search_of(keys, values, side == "right", out)
            if record is not None:
                run_parts(record, v.size * _steps(keys))
                return out
    return np.searchsorted(a, v, side, sorter)


def _steps(keys: Array) -> int:
    """The time that looking for one value takes, beside one step of those of `run_parts`."""
    return max(keys.size.bit_length() // 4, 1)


def _are_many(a: Any, v: Any) -> bool:
    return (
        type(a) is type(v) is np.ndarray
        and a.ndim == 1
        and v.size >= FEW_SEARCHED
        and 0 < a.size <= _KEYS_PER_VALUE * v.size
        and a.dtype.kind in "fiub"
        and v.dtype.kind in "fiub"
    )


def interpolating(loop: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's `compiled_interp`, which is `loop`, for many values."""

    def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
        if _are_many(xp, x) and type(fp) is np.ndarray and fp.shape == xp.shape and fp.dtype.kind in "fiub":
            keys, values = np.ascontiguousarray(xp, _DOUBLE), np.ascontiguousarray(x, _DOUBLE)
            if _interpolates(keys, values) and _are_floats(left, right):
                heights = np.ascontiguousarray(fp, _DOUBLE)
                slopes = None
                if keys.size <= values.size:
                    with np.errstate(all="ignore"):
                        slopes = np.diff(heights) / np.diff(keys)
                ends = [heights[0] if left is None else left, heights[-1] if right is None else right]
                out = allocate(x.shape, _DOUBLE)
                record = interpolation_of(keys, heights, slopes, values, float(ends[0]), float(ends[1]), out)
                run_parts(record, x.size * _steps(keys))
                return out
        return loop(x, xp, fp, left, right)

    return interp


def _interpolates(keys: Array, values: Array) -> bool:
    if values.size < RISING and are_sorted(values.reshape(-1)[:_SEEN]):
        return False
    return keys.size > 1 and bool(keys[-1] == keys[-1]) and are_sorted(keys)


def _are_floats(*ends: Any) -> bool:
    return all([end is None or isinstance(end, float | int) for end in ends])


def function_of(name: str) -> Any:
    """NumPy's function of the name with its searches made here; None where NumPy is written otherwise."""
    if not _functions:
        _functions.update(_find())
    return _functions.get(name)


def _find() -> dict[str, Any]:
    found: dict[str, Any] = {"searchsorted": searchsorted}
    own = in_module(np, searchsorted=searchsorted)
    loop = getattr(getattr(np.interp, "_implementation", None), "__globals__", {}).get("compiled_interp")
    for source, names in (
        (np.digitize, {"_nx": own}),
        (np.interp, {} if loop is None or not _INTERPOLATES else {"compiled_interp": interpolating(loop)}),
        (np.histogramdd, {"np": own}),
    ):
        made = with_names(source, names) if names else None
        if made is not None:
            found[source.__name__] = made
    if "histogramdd" in found:
        found["histogram2d"] = _histogram2d
    return found


def _histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """NumPy's (numpy/lib/_twodim_base_impl.py), which imports what it calls."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    try:
        number = len(bins)
    except TypeError:
        number = 1
    if number not in {1, 2}:
        edges = np.asarray(bins)
        bins = [edges, edges]
    found, (across, along) = _functions["histogramdd"]([x, y], bins, range, density, weights)
    return found, across, along
