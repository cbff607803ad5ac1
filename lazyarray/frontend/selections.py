"""Owns the values that would be at some places of lines if those were sorted, on all cores, without a sort.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from lazyarray.frontend.shares import SHARED_FROM, run_parts

# The build reads such imports by the line.
# isort: split
from lazyarray.native.selections import selection_of, settle  # cimport

# isort: split
from lazyarray.runtime.backend import workers

Array = np.ndarray[Any, Any]
MOST_PLACES: Final = 16
_STEPS: Final = 2  # that a thread takes for an element, beside one of those of `run_parts`


def select(a: Array, axis: int, places: list[int]) -> Array | None:
    """`numpy.sort(a, axis)` at these rising places of the axis, which come first; None where NumPy is to tell.

    That is where a value is a zero, or NaN, of which its line has several kinds: which comes first depends on how NumPy
    goes about it. Also for other dtypes and layouts, for more than `MOST_PLACES`, and in the hot modules' Python form.
    """
    if len(places) > MOST_PLACES:
        return None
    if not a.flags.c_contiguous:
        if not a.flags.f_contiguous:
            a = np.ascontiguousarray(a)
        else:
            found = select(a.T, a.ndim - 1 - axis, places)
            return None if found is None else np.moveaxis(found.T, -1, 0)
    outer, inner = math.prod(a.shape[:axis]), math.prod(a.shape[axis + 1 :])
    found = np.empty((len(places), *a.shape[:axis], *a.shape[axis + 1 :]), a.dtype)
    shared = a.size >= SHARED_FROM and workers() is not None
    record = selection_of(a, found, (outer, a.shape[axis], inner), tuple(places), shared)
    if record is None:
        return None
    run_parts(record, _STEPS * a.size)
    return found if settle(record) else None
