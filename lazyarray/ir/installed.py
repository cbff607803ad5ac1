"""Owns what releases of NumPy disagree about: each fact is asked of the installed one, once."""

from __future__ import annotations

from typing import Any, Final

import numpy as np


def _sums_in_buffers() -> bool:
    values = np.zeros(9216)
    values[0], values[5000], values[9000] = 2.0**53, 1.0, 1.0
    # One pairwise run adds the ones to each other first; buffers of 8192 elements lose one after the other.
    return bool(values.sum() == 2.0**53)


def _power_reads_scalars() -> bool:
    two: Any = np.array(2.0)
    return bool((np.ones(1, np.float32) ** two).dtype == np.float32)


def _power_has_shortcuts() -> bool:
    with np.errstate(invalid="ignore"):
        return bool(np.isnan(np.power(np.full(2, -np.inf), 0.5)[0]))


def _halves_keep_zero() -> bool:
    zero: Any = np.float16(0.0)
    return not np.signbit(np.nextafter(zero, -zero))


# `nextafter` of zeros of both signs is the first one, for half floats only (releases before 2.5); elsewhere the second.
HALVES_KEEP_ZERO: Final = _halves_keep_zero()

# A reduction walks its operand in buffers of 8192 elements, always (releases before 2.3) or only where it casts.
SUMS_IN_BUFFERS: Final = _sums_in_buffers()

# `**` looks at the value of any scalar or 0-d exponent and then forgets its dtype (releases before 2.3).
POWER_READS_SCALARS: Final = _power_reads_scalars()

# The loops of `power` for float32 and float64 multiply, divide or take a root where the exponent is one number, 2, -1
# or 0.5 (releases since 2.3), and -inf has no root. Source: NumPy's loops_umath_fp.dispatch.c.src.
POWER_HAS_SHORTCUTS: Final = _power_has_shortcuts()
