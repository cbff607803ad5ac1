"""Owns sliding products of long arrays: convolve and correlate, whose results all cores share.

NumPy's functions check and convert their arguments and call one loop, which makes a result after the other: for no more
than 11 weights in a loop of its own, that adds in their order, for more by a dot product each. Here a thread makes a
range of results; of few weights several results at a time. Results are NumPy's to the bit.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from lazyarray.frontend.renamed import with_names
from lazyarray.frontend.shares import run_parts

# The build reads such imports by the line.
# isort: split
from lazyarray.native.correlations import correlation_of  # cimport

# isort: split
from lazyarray.runtime.pool import allocate

Array = np.ndarray[Any, Any]
LEAST: Final = 1 << 16  # products, below which sharing them out is not worth a look at them
# Weights, for which NumPy has a loop of its own; for more than `_MOST` a library may use all cores for each result.
_FEW: Final = 11
_MOST: Final = 10_000
# Where compilers make no fused multiply-add of that loop, unless told.
_ROUNDS_TWICE: Final = platform.machine() in ("x86_64", "AMD64")
_KNOWN: Final = frozenset(map(np.dtype, ("f8", "f4", "c16", "c8", "i8", "u8", "i4", "u4")))

NAMES: Final = frozenset({"convolve", "correlate"})
_functions: dict[str, Any] = {}


def correlating(loop: Callable[..., Any], conjugates: bool) -> Callable[..., Any]:
    """`loop`, NumPy's `correlate` or `correlate2` of C, the one that conjugates what slides, over long arrays."""

    def correlate(a: Any, v: Any, mode: Any = "valid") -> Any:
        found = _correlated(a, v, mode, conjugates)
        return loop(a, v, mode) if found is None else found

    return correlate


def _correlated(a: Any, v: Any, mode: Any, conjugates: bool) -> Array | None:
    if not (type(a) is type(v) is np.ndarray and a.ndim == v.ndim == 1 and a.size >= v.size > 0):
        return None
    if (
        a.size * v.size < LEAST
        or v.size > _MOST
        or type(mode) is not str
        or a.dtype.kind not in "fiubc"
        or v.dtype.kind not in "fiubc"
    ):
        return None
    dtype = a.dtype if a.dtype == v.dtype else np.result_type(a.dtype, v.dtype)
    if dtype not in _KNOWN or (v.size <= _FEW and dtype.kind == "f" and not _ROUNDS_TWICE):
        return None
    left, right = {"valid": (0, 0), "same": (v.size // 2, (v.size - 1) // 2), "full": (v.size - 1, v.size - 1)}.get(
        mode, (-1, 0)
    )
    if left < 0:
        return None  # NumPy's error
    long, weights = np.ascontiguousarray(a, dtype), np.ascontiguousarray(v, dtype)
    if conjugates and dtype.kind == "c":
        weights = weights.conj()
    out = allocate(a.size - v.size + 1 + left + right, dtype)
    record = correlation_of(long, weights, left, out)
    if record is None:
        return None
    run_parts(record, out.size * v.size // 8)
    return out


def function_of(name: str) -> Any:
    """NumPy's function of the name with its results shared out; None where NumPy is written otherwise."""
    if not _functions:
        space = getattr(getattr(np.convolve, "_implementation", None), "__globals__", {}).get("multiarray")
        loops: list[Any] = [getattr(space, known, None) for known in ("correlate", "correlate2")]
        if None not in loops:
            own = SimpleNamespace(correlate=correlating(loops[0], False), correlate2=correlating(loops[1], True))
            for source in (np.convolve, np.correlate):
                _functions[source.__name__] = with_names(source, {"multiarray": own})
    return _functions.get(name)
