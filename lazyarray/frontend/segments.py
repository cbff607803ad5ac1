"""Owns `reduceat` of long vectors: NumPy's own loop over each segment, segments shared out to the backend's workers.

One of the modules that may run compiled (see `lazyarray/native`); only there are they shared out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

# The build reads such imports by the line.
# isort: split
from lazyarray.native.lines import address_in, count_in, raised_in, runner, segments_of  # cimport
from lazyarray.runtime.backend import workers

# isort: split
from lazyarray.runtime.floating import tells
from lazyarray.runtime.pool import allocate

LEAST: Final = 1 << 15  # elements from which sharing out saves more than it costs
_FEWEST: Final = 16  # segments, for as many threads to have some each
# Dtypes in which NumPy reduces as they are: it adds and multiplies integers shorter than these in their dtype.
_KEPT: Final = frozenset(np.dtype(kind) for kind in ("f4", "f8", "c8", "c16", "i8", "u8"))
_NAMES: Final = frozenset({"add", "multiply", "maximum", "minimum"})
_INDEX: Final = np.dtype(np.intp)


def shared_out(ufunc: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's `run`, a `reduceat` of the ufunc, on several threads where there is much to do."""
    if ufunc.__name__ not in _NAMES:
        return run

    def reduceat(a: Any, indices: Any, **options: Any) -> Any:
        plain = all(
            [type(item) is int and item == 0 if name == "axis" else item is None for name, item in options.items()]
        )
        found = _by_backend(ufunc, a, indices) if plain else None
        return run(a, indices, **options) if found is None else found

    return reduceat


def _by_backend(ufunc: Any, a: Any, indices: Any) -> Any:
    """The result; None where NumPy is to find it: it is short, raises, or told of floating-point errors."""
    if type(a) is not np.ndarray or a.ndim != 1 or a.size < LEAST or a.dtype not in _KEPT:
        return None
    if type(indices) is not np.ndarray or indices.ndim != 1 or indices.size < _FEWEST or indices.dtype != _INDEX:
        return None
    share = workers()
    if share is None or indices.min() < 0 or indices.max() >= a.size:
        return None
    starts = np.ascontiguousarray(indices)
    out = allocate(starts.shape, a.dtype)
    segments = segments_of(ufunc, a, starts, out)
    if segments is None:
        return None
    share(runner(), address_in(segments), count_in(segments))
    return None if raised_in(segments) and tells() else out
