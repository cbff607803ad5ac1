"""Owns the distinct elements of many numbers, and the functions on sets that begin by finding them.

Integers of a narrow range, such as labels and bytes of images, are counted in a table; other numbers are sorted, or
ranked, and then compared with their neighbours. NumPy puts integers into a hash table and sorts what that holds (since
2.3): a million different ones take it half a second, where sorting all of them takes ten milliseconds. What else these
functions do is NumPy's own code, over vectors whose sorts are those from here (`Ordered`).

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.lib import _arraysetops_impl

from lazyarray.frontend.callables import FEW_SEARCHED
from lazyarray.frontend.rankings import rank
from lazyarray.frontend.renamed import in_module, with_names
from lazyarray.frontend.sorts import sort

# The build reads such imports by the line.
# isort: split
from lazyarray.native.distinct import are_read, distinct_of, has_odd, tallied, whole_of  # cimport

# isort: split
from lazyarray.runtime.pool import allocate

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset(
    "unique unique_all unique_counts unique_inverse unique_values union1d intersect1d setdiff1d setxor1d isin".split()
)
# Of fewer bytes the table is small and quick.
_INTEGERS: Final = frozenset(map(np.dtype, ("i4", "u4", "i8", "u8")))
_ORDERED: Final = _INTEGERS | {np.dtype("f4"), np.dtype("f8")}
_COUNTED: Final = _INTEGERS | frozenset(map(np.dtype, ("?", "i1", "u1", "i2", "u2")))
_FOUND: Final = _COUNTED | _ORDERED
_LEAST: Final = 1 << 10  # numbers of a range that is narrow whatever is counted,
_MOST: Final = 1 << 20  # and of one that never is, which has its table in no cache
_INTP: Final = np.dtype(np.intp)
_STABLE: Final = ("mergesort", "stable")
# NumPy's functions that have no public names.
numpys: Final[Any] = _arraysetops_impl
_functions: dict[str, Any] = {}


class Ordered(np.ndarray[Any, Any]):
    """A vector that is sorted, and ranked, as large ones are here; parts of it are plain arrays."""

    @classmethod
    def of(cls, a: Any) -> Any:
        """The array as such a vector; as it is where sorts of it are NumPy's."""
        return a.view(cls) if type(a) is np.ndarray and a.size >= FEW_SEARCHED and a.dtype in _ORDERED else a

    def sort(self, axis: Any = -1, kind: Any = None, **_: Any) -> None:  # type: ignore[override]
        """NumPy's, along the only axis."""
        plain = self.view(np.ndarray)
        plain[...] = sort(plain, -1, kind)

    def argsort(self, axis: Any = -1, kind: Any = None, **_: Any) -> Array:  # type: ignore[override]
        """NumPy's, along the only axis."""
        return _ranked(self.view(np.ndarray), kind in _STABLE)

    def __getitem__(self, key: Any) -> Any:
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
    found = find(ar)
    if found is not None:
        return found[0]
    rising = sort(ar.reshape(-1))
    first = np.empty(rising.shape, bool)
    first[0] = True
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return rising[first]


def find(
    ar: Any,
    index: Any = False,
    inverse: Any = False,
    counts: Any = False,
    *,
    equal_nan: Any = True,
    inverse_shape: Any = None,
    axis: Any = None,
    sorted: Any = True,
) -> tuple[Any, ...] | None:
    """What NumPy's `_unique1d` returns: the distinct numbers, and each of what else is wanted. None where it is to."""
    if type(ar) is not np.ndarray or ar.size < FEW_SEARCHED or ar.dtype not in _FOUND:
        return None
    line = ar.reshape(-1)
    numbers = allocate(line.shape, _INTP) if inverse else None
    found = _tally(line, numbers, index, counts)
    if found is None and are_read(line):
        found = _find_in_order(line, bool(equal_nan), numbers, index, counts)
    if found is None:
        return None
    made = [found[0]]
    if index:
        made.append(found[1])
    if numbers is not None:
        made.append(numbers if inverse_shape is None else numbers.reshape(inverse_shape))
    if counts:
        made.append(found[2])
    return tuple(made)


def _tally(line: Array, numbers: Array | None, index: Any, counts: Any) -> tuple[Any, ...] | None:
    """Of integers, whatever dtype they have; None where they lie far apart, or are none."""
    kind, line = line.dtype.kind, np.ascontiguousarray(line)
    whole = line.view(np.uint8) if kind == "b" else whole_of(line) if kind == "f" else line
    if whole is None:
        return None
    found = tallied(whole, max(_LEAST, min(line.size // 2, _MOST)), numbers, bool(index), bool(counts))
    # Bytes that were made truth values by a view may be others than 0 and 1.
    if found is None or (kind == "b" and found[0][-1] > 1):
        return None
    return found if whole is line else (found[0].astype(line.dtype), *found[1:])


def _find_in_order(
    line: Array, same_nans: bool, numbers: Array | None, index: Any, counts: Any
) -> tuple[Any, ...] | None:
    """Of numbers that are sorted; ranked, where it is asked which ones are equal."""
    if numbers is None and not index:
        return distinct_of(sort(line), None, same_nans, None, False, bool(counts))
    line = np.ascontiguousarray(line)
    return distinct_of(line, _ranked(line, bool(index)), same_nans, numbers, bool(index), bool(counts))


def _ranked(line: Array, stable: bool) -> Array:
    """A stable sort's places. Where NumPy's need not be, and equal numbers have different bits, NumPy's."""
    places = rank(line, True)
    if places is None or (not stable and has_odd(line) and _has_different_equals(line[places])):
        return line.argsort(kind="stable" if stable else None)
    return places


def _unique_of_all(ar: Any, *wanted: Any, **options: Any) -> Any:
    """NumPy's `_unique1d`, which has a table for numbers of which nothing else is wanted."""
    found = find(ar, *wanted, **options)
    if found is not None:
        return found
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
