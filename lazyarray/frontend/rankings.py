"""Owns the places of sorted numbers, `argsort` and `lexsort` of large arrays: keys sorted with their places below them.

A number's bits make an integer with the same order. Above its place it is one word, which sorts take at once, where
NumPy's look numbers up by their places. Which of equal numbers comes first is known where a sort is stable; else NumPy
ranks what has any.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import FEW_RANKED
from lazyarray.frontend.shares import run_parts
from lazyarray.frontend.sorts import KINDS, MOST, STEPS, lanes_along, merge_parts, rounds_for, takes

# The build reads such imports by the line.
# isort: split
from lazyarray.native.rankings import are_ranked, is_counted, places_of, ranked_lanes_of, ranked_of  # cimport
from lazyarray.native.sorts import has_failed  # cimport

# isort: split
from lazyarray.runtime.pool import allocate

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset({"argsort", "lexsort"})
_INTP: Final = np.dtype(np.intp)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
    """NumPy's."""
    if order is None and not options and takes(a, kind) and a.size >= FEW_RANKED:
        stable = KINDS[kind] > 0
        if axis is None:
            a, axis = a.ravel(), 0
        found = rank(a, stable) if a.ndim == 1 and type(axis) is int and axis in (0, -1) else _by_lanes(a, axis, stable)
        if found is not None:
            return found
    return np.argsort(a, axis, kind, order, **options)


def lexsort(keys: Any, axis: Any = -1, **options: Any) -> Any:
    """NumPy's; of vectors."""
    if options or not (type(axis) is int and axis in (0, -1) and _are_vectors(keys)):
        return np.lexsort(keys, axis, **options)
    found: Array | None = None
    for key in keys:
        places = rank(key if found is None else key[found], True)
        if places is None:
            return np.lexsort(keys, axis)
        found = places if found is None else found[places]
    return found


def _are_vectors(keys: Any) -> bool:
    """True for several large vectors of numbers, of one length."""
    if type(keys) not in (tuple, list) or not keys:
        return False
    return all(
        takes(key, None) and key.shape == keys[0].shape and key.size >= FEW_RANKED and key.ndim == 1 for key in keys
    )


def rank(a: Array, stable: bool) -> Array | None:
    """The places of a vector; None where NumPy is to find them: of other dtypes, or of equal numbers if not stable."""
    if a.nbytes > MOST:
        return None
    given = np.ascontiguousarray(a)
    rounds = rounds_for(given)
    keys = allocate(a.shape, _INTP)  # of as many bytes
    record = ranked_of(given, keys, 1 << rounds, stable)
    if record is None:
        return None
    free: Array | None = None
    if not is_counted(record):
        run_parts(record, STEPS * a.size)
        if not are_ranked(record):
            return None
        keys, free = merge_parts(record, keys, rounds)
    out = allocate(a.shape, _INTP) if free is None else free
    record = places_of(record, keys, out)
    run_parts(record, a.size)
    return out if are_ranked(record) else None


def _by_lanes(a: Array, axis: Any, stable: bool) -> Array | None:
    """The places along each line of the axis; None where NumPy is to find them."""
    lanes = lanes_along(a, axis)
    if lanes is None or not a.flags.c_contiguous:  # places lie in C's order, whatever the array does
        return None
    out = allocate(a.shape, _INTP)
    record = ranked_lanes_of(a, out, lanes, stable)
    if record is None:
        return None
    run_parts(record, STEPS * a.size)
    return None if has_failed(record) else out


_FUNCTIONS: Final = {"argsort": argsort, "lexsort": lexsort}


def function_of(name: str) -> Any:
    """NumPy's function of the name, for large arrays."""
    return _FUNCTIONS[name]
