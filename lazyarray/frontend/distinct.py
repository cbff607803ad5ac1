"""Owns the distinct elements of many numbers, and the functions on sets that begin by finding them.

NumPy's own code runs, over vectors whose sorts are those from here (`Ordered`). It puts integers into a hash table and
sorts what that holds (since 2.3): a million different ones take it half a second, where sorting all of them takes ten
milliseconds. What is returned is the same.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.lib import _arraysetops_impl

from lazyarray.frontend.callables import FEW_SEARCHED
from lazyarray.frontend.rankings import rank
from lazyarray.frontend.renamed import in_module, with_names
from lazyarray.frontend.sorts import sort

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset(
    "unique unique_all unique_counts unique_inverse unique_values union1d intersect1d setdiff1d setxor1d isin".split()
)
# Of fewer bytes the table is small and quick.
_INTEGERS: Final = frozenset(map(np.dtype, ("i4", "u4", "i8", "u8")))
_ORDERED: Final = _INTEGERS | {np.dtype("f4"), np.dtype("f8")}
_STABLE: Final = ("mergesort", "stable")
# NumPy's functions that have no public names.
numpys: Final[Any] = _arraysetops_impl
_functions: dict[str, Any] = {}


class Ordered(np.ndarray[Any, Any]):
    """A vector that is sorted, and ranked, as large ones are here; parts of it are plain arrays."""

    _places: Array | None = None
    _rising: Array | None = None  # what it has at these places

    @classmethod
    def of(cls, a: Any) -> Any:
        """The array as such a vector; as it is where sorts of it are NumPy's."""
        return a.view(cls) if type(a) is np.ndarray and a.size >= FEW_SEARCHED and a.dtype in _ORDERED else a

    def sort(self, axis: Any = -1, kind: Any = None, **_: Any) -> None:  # type: ignore[override]
        """NumPy's, along the only axis."""
        plain = self.view(np.ndarray)
        plain[...] = sort(plain, -1, kind)

    def argsort(self, axis: Any = -1, kind: Any = None, **_: Any) -> Array:  # type: ignore[override]
        """A stable sort's. Where NumPy's is not, and equal numbers have different bits, NumPy's."""
        plain = self.view(np.ndarray)
        found = rank(plain, True)
        if found is not None:
            rising = plain[found]
            if kind in _STABLE or not _has_different_equals(rising):
                self._places, self._rising = found, rising
                return found
        return plain.argsort(kind=kind)

    def __getitem__(self, key: Any) -> Any:
        if key is self._places and key is not None:
            return self._rising
        return self.view(np.ndarray)[key]


def _has_different_equals(rising: Array) -> bool:
    """Whether sorted numbers have zeros of both signs, or NaN of two kinds."""
    if rising.dtype.kind != "f":
        return False
    zeros = np.signbit(rising[np.searchsorted(rising, 0.0) : np.searchsorted(rising, 0.0, "right")])
    nans = rising[np.searchsorted(rising, np.nan) :].view(f"i{rising.itemsize}")
    return bool((zeros.any() and not zeros.all()) or (nans != nans[:1]).any())


def unique(ar: Any, *args: Any, **options: Any) -> Any:
    """NumPy's; of integers alone their sorted distinct ones."""
    if args or options or type(ar) is not np.ndarray or ar.size < FEW_SEARCHED or ar.dtype not in _INTEGERS:
        return _functions["unique"](ar, *args, **options)
    rising = sort(ar.reshape(-1))
    first = np.empty(rising.shape, bool)
    first[0] = True
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return rising[first]


def _unique_of_all(ar: Any, *wanted: Any, **options: Any) -> Any:
    """NumPy's `_unique1d`, which has a table for integers of which nothing else is wanted."""
    if any(wanted) or ar.dtype.kind == "f":
        ar = Ordered.of(ar)
    return numpys._unique1d(ar, *wanted, **options)


def _join(arrays: Any, *args: Any, **options: Any) -> Any:
    return Ordered.of(np.concatenate(arrays, *args, **options))


def function_of(name: str) -> Any:
    """NumPy's function of the name over vectors of this module's; None where NumPy is written otherwise."""
    if not _functions:
        _functions.update(_made())
    return unique if name == "unique" else _functions.get(name)


def _made() -> dict[str, Any]:
    """NumPy's functions with other names, `unique` without the way of integers."""
    made = {"unique": with_names(np.unique, {"_unique1d": _unique_of_all}) or np.unique}
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d"):
        made[name] = with_names(getattr(np, name), {"unique": unique})
    space = in_module(np, unique=unique, concatenate=_join)
    for name in ("intersect1d", "setxor1d"):
        made[name] = with_names(getattr(np, name), {"unique": unique, "np": space})
    # Called `_in1d` before NumPy 2.4.
    inner = "_isin" if hasattr(numpys, "_isin") else "_in1d"
    within = with_names(getattr(numpys, inner, None), {"np": space})
    if within is not None:
        made["setdiff1d"] = with_names(np.setdiff1d, {"unique": unique, inner: within})
        made["isin"] = with_names(np.isin, {inner: within})
    return made
