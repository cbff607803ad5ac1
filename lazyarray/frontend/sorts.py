"""Owns sorts of large arrays: NumPy's own loops, lines shared out to all cores, a long one in parts that are merged.

Results are NumPy's to the bit. Of equal numbers with different bits, zeros of two signs and NaN of two kinds, NumPy's
order depends on how it goes about it: a vector with such is sorted by NumPy.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import FEW_RANKED, FEW_SORTED
from lazyarray.frontend.shares import run_parts
from lazyarray.frontend.transforms import threads

# The build reads such imports by the line.
# isort: split
from lazyarray.native.sorts import are_mergeable, chunks_of, has_failed, in_pieces, lanes_of, merge_of  # cimport

# isort: split
from lazyarray.runtime.backend import miss_workers, workers
from lazyarray.runtime.pool import allocate

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset({"sort"})
FEW: Final = FEW_RANKED if in_pieces() else FEW_SORTED
LEAST: Final = 1 << 16  # elements of a vector, from which sorting parts of it and merging them saves more than it costs
MOST: Final = 1 << 28  # bytes of a vector: parts of it are sorted in as many more
KINDS: Final = {None: 0, "quicksort": 0, "mergesort": 2, "stable": 2}  # NumPy's numbers of those that it has
STEPS: Final = 8  # that a thread takes for an element, beside one of those of `run_parts`


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
    """NumPy's."""
    if order is None and not options and takes(a, kind) and are_many(a):
        if axis is None:
            a, axis = a.ravel(), 0
        found = _sorted_vector(a) if a.ndim == 1 and type(axis) is int and axis in (0, -1) else None
        if found is None:
            found = _by_lanes(a, axis, kind)
        if found is not None:
            return found
    return np.sort(a, axis, kind, order, **options)


def are_many(a: Any) -> bool:
    """Whether so many numbers are not NumPy's to sort: of a vector, or of lines, which are shared out."""
    return bool(a.size >= (FEW if a.ndim == 1 else FEW_SORTED))


def takes(a: Any, kind: Any) -> bool:
    """True for arrays of numbers, and kinds of sorts, that may be known here."""
    return type(a) is np.ndarray and a.dtype.kind in "fiuc" and (kind is None or type(kind) is str) and kind in KINDS


def lanes_along(a: Array, axis: Any) -> tuple[int, int, int] | None:
    """Its three axes in effect, of which the second one is sorted; None where it has no such axis."""
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return None
    axis %= a.ndim
    return math.prod(a.shape[:axis]), a.shape[axis], math.prod(a.shape[axis + 1 :])


def _by_lanes(a: Array, axis: Any, kind: Any) -> Array | None:
    """Each line of the axis sorted; None where NumPy is to do that."""
    lanes = lanes_along(a, axis)
    if lanes is None:
        return None
    if not a.flags.c_contiguous:
        turned = _by_lanes(a.T, a.ndim - 1 - axis % a.ndim, kind) if a.flags.f_contiguous else None
        return None if turned is None else turned.T
    if lanes[0] * lanes[2] < 2 and not in_pieces():
        return None
    out = allocate(a.shape, a.dtype)
    record = lanes_of(a, out, lanes, KINDS[kind])
    if record is None:
        return None
    run_parts(record, STEPS * a.size)
    return None if has_failed(record) else out


def rounds_for(a: Array) -> int:
    """In how many rounds sorted parts of a vector are merged; none where threads are missing, or it is no large one."""
    count = threads()
    if a.size < LEAST or a.nbytes > MOST or count < 2:
        return 0
    if workers() is None:
        miss_workers(STEPS * a.size)
        return 0
    return min((count - 1).bit_length(), 4)


def merge_parts(record: Any, filled: Array, rounds: int) -> tuple[Array, Array | None]:
    """What the record's sorted parts are merged to, and memory of as much that is free now."""
    free: Array | None = None
    for _ in range(rounds):
        out = allocate(filled.shape, filled.dtype) if free is None else free
        record = merge_of(record, out)
        run_parts(record, filled.size)
        filled, free = out, filled
    return filled, free


def _sorted_vector(a: Array) -> Array | None:
    """None where NumPy is to sort it: on one thread, of other dtypes, or where equal numbers have different bits."""
    rounds = rounds_for(a)
    if not rounds:
        return None
    given = np.ascontiguousarray(a)
    spare = allocate(a.shape, a.dtype)
    record = chunks_of(given, spare, 1 << rounds)
    if record is None:
        return None
    run_parts(record, STEPS * a.size)
    return merge_parts(record, spare, rounds)[0] if are_mergeable(record) else None


def function_of(name: str) -> Any:
    """NumPy's function of the name, for large arrays."""
    return sort
