"""Owns NaN without a sign: where Thrust sorts by bits, others come before all numbers.

A GPU makes NaN with a sign itself: the square root of -1.0 is one.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import cupy
import numpy as np


def sorts_bits(array: Any) -> bool:
    """Whether Thrust sorts the array by its bits: one row of floats."""
    return array.dtype.char in "fd" and array.size == array.shape[-1]


def with_nan(array: Any, out: Any = None) -> Any:
    """The array with NaN that have no sign."""
    return _kernel()(array, array.dtype.type(np.nan), *(() if out is None else (out,)))


@cache
def _kernel() -> Any:
    return cupy.ElementwiseKernel("T x, T nan", "T y", "y = x == x ? x : nan", "lazyarray_with_nan")
