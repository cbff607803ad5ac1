"""Owns sorts of large arrays: NumPy's own loops, lines shared out to all cores, a long one in parts that are merged.

Results are NumPy's to the bit. Of equal numbers with different bits, zeros of two signs and NaN of two kinds, NumPy's
order depends on how it goes about it: a vector with such is sorted by NumPy. So are places, of one line (`argsort`).

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import FEW_SORTED
from lazyarray.frontend.shares import run_parts
from lazyarray.frontend.transforms import threads

# The build reads such imports by the line.
# isort: split
from lazyarray.native.sorts import are_mergeable, chunks_of, has_failed, in_pieces, lanes_of, merge_of  # cimport

# isort: split
from lazyarray.runtime.backend import miss_workers, workers
from lazyarray.runtime.pool import allocate

Array = np.ndarray[Any, Any]
NAMES: Final = frozenset({"sort", "argsort"})
LEAST: Final = 1 << 16  # elements of a vector, from which sorting parts of it and merging them saves more than it costs
_MOST: Final = 1 << 28  # bytes of a vector: parts of it are sorted in as many more
_KINDS: Final = {None: 0, "quicksort": 0, "mergesort": 2, "stable": 2}  # NumPy's numbers of those that it has
_INTP: Final = np.dtype(np.intp)
_STEPS: Final = 8  # that a thread takes for an element, beside one of those of `run_parts`


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
    """NumPy's."""
    if order is None and not options and _is_large(a, kind):
        if axis is None:
            a, axis = a.ravel(), 0
        found = _sorted_vector(a) if a.ndim == 1 and type(axis) is int and axis in (0, -1) else None
        if found is None:
            found = _by_lanes(a, axis, kind, False)
        if found is not None:
            return found
    return np.sort(a, axis, kind, order, **options)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **options: Any) -> Any:
    """NumPy's."""
    found = _by_lanes(a, axis, kind, True) if order is None and not options and _is_large(a, kind) else None
    return np.argsort(a, axis, kind, order, **options) if found is None else found


def _is_large(a: Any, kind: Any) -> bool:
    return (
        type(a) is np.ndarray
        and a.size >= FEW_SORTED
        and a.dtype.kind in "fiuc"
        and (kind is None or type(kind) is str)
        and kind in _KINDS
    )


def _by_lanes(a: Array, axis: Any, kind: Any, places: bool) -> Array | None:
    """Each line of the axis sorted, or its places; None where NumPy is to do that."""
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return None
    axis %= a.ndim
    if not a.flags.c_contiguous:
        if places or not a.flags.f_contiguous:  # places lie in C's order, whatever the array does
            return None
        turned = _by_lanes(a.T, a.ndim - 1 - axis, kind, False)
        return None if turned is None else turned.T
    outer, inner = math.prod(a.shape[:axis]), math.prod(a.shape[axis + 1 :])
    if outer * inner < 2 and (places or not in_pieces()):
        return None
    out = allocate(a.shape, _INTP if places else a.dtype)
    record = lanes_of(a, out, (outer, a.shape[axis], inner), _KINDS[kind], places)
    if record is None:
        return None
    run_parts(record, _STEPS * a.size)
    return None if has_failed(record) else out


def _sorted_vector(a: Array) -> Array | None:
    """None where NumPy is to sort it: on one thread, of other dtypes, or where equal numbers have different bits."""
    count = threads()
    if a.size < LEAST or a.nbytes > _MOST or count < 2:
        return None
    if workers() is None:
        miss_workers(_STEPS * a.size)
        return None
    rounds = min((count - 1).bit_length(), 4)
    given = np.ascontiguousarray(a)
    spare = allocate(a.shape, a.dtype)
    record = chunks_of(given, spare, 1 << rounds)
    if record is None:
        return None
    run_parts(record, _STEPS * a.size)
    if not are_mergeable(record):
        return None
    filled, free = spare, None
    for _ in range(rounds):
        out = allocate(a.shape, a.dtype) if free is None else free
        record = merge_of(record, out)
        run_parts(record, a.size)
        filled, free = out, filled
    return filled


_FUNCTIONS: Final = {"sort": sort, "argsort": argsort}


def function_of(name: str) -> Any:
    """NumPy's function of the name, for large arrays."""
    return _FUNCTIONS[name]
