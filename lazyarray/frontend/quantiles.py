"""Owns medians and quantiles of many values: NumPy's code, over arrays of which the places that it asks for are known.

NumPy's partition has no vector code for several places at once, and runs on one thread. What its code makes of the
values at those places is NumPy's own, all methods and errors too.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.lib import _function_base_impl, _nanfunctions_impl, _utils_impl

from lazyarray.frontend.renamed import in_module, with_names
from lazyarray.frontend.selections import MOST_PLACES, select
from lazyarray.frontend.sorts import sort

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset({"median", "nanmedian", "percentile", "quantile", "nanpercentile", "nanquantile"})
_SELECTED: Final = frozenset(map(np.dtype, ("f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1")))
_LEAST: Final = 1 << 13  # elements, from which finding places saves more than it costs
_SORTED: Final = 1 << 12  # elements of a line that is sorted for many places; a median of what is no NaN is quicker
# NumPy's functions that have no public names.
numpys: Final[Any] = _function_base_impl
numpys_of_nan: Final[Any] = _nanfunctions_impl
numpys_of_all: Final[Any] = _utils_impl
_functions: dict[str, Any] = {}


class Placed(np.ndarray[Any, Any]):
    """An array that gets the values of another one's axis, which is its first, at the places that it is partitioned by.

    The others hold anything.
    """

    source: Array
    along: int

    @classmethod
    def of(cls, source: Array, axis: int) -> Placed:
        made = cls(_with_axis_first(source.shape, axis), source.dtype)
        made.source, made.along = source, axis
        return made

    def partition(self, kth: Any, axis: Any = 0, *_: Any, **__: Any) -> None:
        """NumPy's, along the first axis."""
        _place(self.source, self.along, np.ravel(kth).tolist(), self.view(np.ndarray))


def _with_axis_first(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (shape[axis], *shape[:axis], *shape[axis + 1 :])


def _place(source: Array, axis: int, kth: list[int], into: Array) -> None:
    """The values of the source's axis into the first one's places, at least those `kth` of them."""
    places = sorted({place % len(into) for place in kth})
    found = _at_places(source, axis, places)
    if found is None:
        into[...] = np.moveaxis(source, axis, 0)
        into.partition(kth, axis=0)
        return
    for place, values in zip(places, found, strict=True):
        into[place] = values


def _at_places(a: Array, axis: int, places: list[int]) -> Array | None:
    """The values at these places of the sorted axis, which come first; None where NumPy is to tell."""
    if len(places) <= MOST_PLACES:
        return select(a, axis, places)
    found: Array = sort(a, axis).take(places, axis)
    if found.dtype.kind == "f" and not (found.all() and found.max() == found.max()):
        return None  # zeros and NaN of several kinds may be among them
    return np.moveaxis(found, axis, 0)


def partition(a: Any, kth: list[int], axis: Any = -1) -> Any:
    """What NumPy's has at these places; anything elsewhere."""
    if not _is_large(a) or (axis is not None and type(axis) is not int):
        return np.partition(a, kth, axis=axis)
    if axis is None:
        a, axis = a.ravel(), 0
    if a.ndim > 1 and a.flags.f_contiguous:  # NumPy keeps the layout
        return partition(a.T, kth, a.ndim - 1 - axis % a.ndim).T
    axis %= a.ndim
    made = np.empty(_with_axis_first(a.shape, axis), a.dtype)
    _place(a, axis, kth, made)
    return np.moveaxis(made, 0, axis) if axis else made


def _is_large(a: Any) -> bool:
    return type(a) is np.ndarray and a.size >= _LEAST and a.dtype in _SELECTED


def _with_nan(data: Any, result: Any, axis: int) -> Any:
    """NumPy's `_median_nancheck`, which takes the last ones of an axis: a copy of all if that is not the first one."""
    return numpys_of_all._median_nancheck(np.moveaxis(data, axis, 0), result, 0)


def _quantiles(
    a: Any, q: Any, weights: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, **options: Any
) -> Any:
    """NumPy's `_quantile_ureduce_func`."""
    if weights is not None or out is not None or overwrite_input or not _is_large(a):
        return numpys._quantile_ureduce_func(a, q, weights, axis, out, overwrite_input, **options)
    placed = Placed.of(a.reshape(-1), 0) if axis is None else Placed.of(a, axis % a.ndim)
    found = numpys._quantile(placed, quantiles=q, axis=0, **options)
    if not isinstance(found, Placed):
        return found
    return np.array(found) if found.ndim else found.view(np.ndarray)[()]


def _quantiles_of_rest(a: Any, q: Any, overwrite_input: bool = False, **options: Any) -> Any:
    """NumPy's `_quantile_unchecked` of what is no NaN, a copy that may be written and is not."""
    return _functions["_quantile_unchecked"](a, q, **options)


def function_of(name: str) -> Any:
    """NumPy's function of the name with its places found here; None where NumPy is written otherwise."""
    if not _functions:
        _functions.update(_made())
    return _functions.get(name)


def _nanmedian(median: Any) -> Any:
    """NumPy's, over medians of these; along an axis it has a short way and a long one, of lines of 600 numbers on."""
    own: dict[str, Any] = {"np": in_module(np, median=lambda a, overwrite_input=False: median(a))}
    one = with_names(getattr(numpys_of_nan, "_nanmedian1d", None), own)
    own = {"np": in_module(np, ma=in_module(np.ma, masked_array=lambda a, mask: (a, mask), median=_masked_median))}
    short = with_names(getattr(numpys_of_nan, "_nanmedian_small", None), own)
    if one is None or short is None:
        return None
    own = {"_nanmedian1d": one, "_nanmedian_small": short, "np": in_module(np, apply_along_axis=_medians_along)}
    return _through(np.nanmedian, numpys_of_nan, ("_nanmedian",), own)


def _masked_median(masked: tuple[Any, Any], axis: int, overwrite_input: bool) -> Any:
    """NumPy's `np.ma.median` of an array with its NaN masked."""
    middles = _find_middles(masked[0], axis, masked[1])
    if middles is None:
        median: Any = np.ma.median
        return median(np.ma.masked_array(*masked), axis=axis, overwrite_input=overwrite_input)
    counts, *both = middles
    half = np.array(both).sum(axis=0)
    np.true_divide(half, 2.0, casting="unsafe", out=half)
    return np.ma.masked_array(half, counts == 0)


def _medians_along(median: Any, axis: int, a: Any, overwrite_input: bool) -> Any:
    """NumPy's `apply_along_axis` of `_nanmedian1d`, which is `median`."""
    middles = _find_middles(a, axis)
    if middles is not None and middles[0].all():
        counts, low, high = middles
        odd = counts % 2 == 1
        np.copyto(low, 0, where=odd)
        with np.errstate(all="ignore"):
            found: Array = np.where(odd, high, (low + high) / 2)
        if np.isfinite(found).all():  # else NumPy's warnings are of each line
            return found
    return np.apply_along_axis(median, axis, a, overwrite_input)


def _find_middles(a: Any, axis: int, mask: Any = None) -> tuple[Array, Array, Array] | None:
    """How many numbers lines of the axis have but NaN, and the two in their middle; None where NumPy is to tell.

    Of an odd number the two are the same; of none, zeros. `mask`: where NaN are, if that is known.
    """
    if not _is_large(a) or a.dtype.kind != "f":
        return None
    if mask is None:
        mask = np.isnan(a)
    axis %= a.ndim
    counts = a.shape[axis] - np.count_nonzero(mask, axis=axis)
    known = np.flatnonzero(np.bincount(counts.ravel())).tolist()
    places = sorted({place for count in known if count for place in ((count - 1) // 2, count // 2)})
    if counts.min() < a.shape[axis]:
        a = np.where(mask, np.inf, a)  # behind all others, too, and of one kind
    found = select(a, axis, places) if places else None
    if found is None:
        if not places or a.shape[axis] > _SORTED:
            return None
        found = np.moveaxis(sort(a, axis).take(places, axis), axis, 0)
        if not found.all():  # zeros, of which there may be two kinds
            return None
    low, high = np.zeros((2, *counts.shape), a.dtype)
    for count in known:
        if count:
            np.copyto(low, found[places.index((count - 1) // 2)], where=counts == count)
            np.copyto(high, found[places.index(count // 2)], where=counts == count)
    return counts, low, high


def _made() -> dict[str, Any]:
    """All of `NAMES` that can be made, and what those of them that look over NaN call."""
    lib = in_module(np.lib, _utils_impl=in_module(numpys_of_all, _median_nancheck=_with_nan))
    own: dict[str, Any] = {"partition": partition, "np": in_module(np, lib=lib)}
    made = {"median": _through(np.median, numpys, ("_median",), own)}
    if made["median"] is not None:
        made["nanmedian"] = _nanmedian(made["median"])
    own = {"_quantile_ureduce_func": _quantiles}
    made["_quantile_unchecked"] = unchecked = with_names(getattr(numpys, "_quantile_unchecked", None), own)
    if unchecked is not None:
        for name in ("percentile", "quantile"):
            made[name] = with_names(getattr(np, name), {"_quantile_unchecked": unchecked})
        own = {"fnb": in_module(numpys, _quantile_unchecked=_quantiles_of_rest)}
        inner = ("_nanquantile_unchecked", "_nanquantile_ureduce_func", "_nanquantile_1d")
        for name in ("nanpercentile", "nanquantile"):
            made[name] = _through(getattr(np, name), numpys_of_nan, inner, own)
    return made


def _through(source: Any, module: Any, inner: tuple[str, ...], names: dict[str, Any]) -> Any:
    """NumPy's function over others of its module, each of which the one before calls; the last one has the names."""
    made = None
    for known in reversed(inner):
        made = with_names(getattr(module, known, None), names)
        if made is None:
            return None
        names = {known: made}
    return with_names(source, names)
