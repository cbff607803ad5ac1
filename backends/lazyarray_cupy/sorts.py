"""Owns the sorts of plans on a GPU: by Thrust, as CuPy has it, in the memory that a run wants.

CuPy's own functions make memory for each result. Thrust also allocates by itself, which is why a record that is being
made has a pool of its own (`work.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from cupy.cuda import thrust

from lazyarray_cupy.nans import sorts_bits, with_nan
from lazyarray_cupy.work import Work

RECORDED_BYTES: Final = 4 << 20  # the GPU takes longer for larger ones than the host does to queue them
_PLACE: Final = np.dtype(np.intp)


def sort(array: Any, out: Any, work: Work, *, axis: int, kind: Any) -> Any:
    """out[...] = NumPy's sort, which is stable whatever `kind` says."""
    if axis == array.ndim - 1:
        _take(out, array, work)
        _sort_rows(out, work)
        return out
    moved = work.scratch(_moved(array.shape, axis), array.dtype)
    _take(moved, _rolled(array, axis), work)
    _sort_rows(moved, work)
    _rolled(out, axis)[...] = moved
    return out


def argsort(array: Any, out: Any, work: Work, *, axis: int, kind: Any) -> Any:
    """out[...] = NumPy's argsort, which is stable whatever `kind` says."""
    shape = _moved(array.shape, axis)
    values = work.scratch(shape, array.dtype)  # Thrust sorts them too
    last = axis == array.ndim - 1
    places = out if last else work.scratch(shape, _PLACE)
    _take(values, array if last else _rolled(array, axis), work)
    rows, numbers = _rows(values, work)
    with work.allocating():
        thrust.argsort(array.dtype, places.data.ptr, values.data.ptr, numbers.data.ptr, rows)
    if not last:
        _rolled(out, axis)[...] = places
    return out


def _take(target: Any, array: Any, work: Work) -> None:
    """target[...] = array, as it is to be sorted."""
    if sorts_bits(array):
        with_nan(array, target)
    else:
        work.copy(target, array)


def _sort_rows(array: Any, work: Work) -> None:
    rows, numbers = _rows(array, work)
    with work.allocating():
        thrust.sort(array.dtype, array.data.ptr, numbers.data.ptr, rows)


def _rows(array: Any, work: Work) -> tuple[tuple[int, ...], Any]:
    """An array's shape as Thrust takes it, and memory for a number of its row with each element, if there are several.

    That memory has to be held while Thrust runs, which takes more from the same pool.
    """
    if array.size == array.shape[-1]:
        return array.shape[-1:], work.scratch((0,), _PLACE)
    return array.shape, work.scratch(array.shape, _PLACE, 1)


def _moved(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :], shape[axis])


def _rolled(array: Any, axis: int) -> Any:
    """A view whose last axis is that one."""
    return array.transpose(*[k for k in range(array.ndim) if k != axis], axis)


def fits(shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool:
    """True for sorts that are recorded: so short that queueing them takes as long."""
    return math.prod(shapes[0]) * int(codes[0][1:]) <= RECORDED_BYTES


SORTS: Final = {"sort": sort, "argsort": argsort}

__all__ = ["SORTS", "fits"]
