"""Owns which ufunc NumPy's `**` runs in the place of `power` for a scalar exponent (`fast_scalar_power`, number.c)."""

from __future__ import annotations

import operator
from typing import Any, Final

import numpy as np

from lazyarray.ir.installed import POWER_READS_SCALARS

DType = np.dtype[Any]
_OF_VALUE: Final = {1.0: "positive", -1.0: "reciprocal", 0.0: "ones_like", 0.5: "sqrt", 2.0: "square"}


def by_type(dtype: DType, exponent: Any) -> str | None:
    """As NumPy decides since 2.3: Python's own numbers only."""
    kind = type(exponent)
    if kind is int:
        if exponent == 2 and dtype.kind in "fciub":
            return "square"
        if exponent == -1 and dtype.kind in "fc":
            return "reciprocal"
    elif kind is float and exponent == 0.5 and dtype.kind in "fc":
        return "sqrt"
    return None


def by_value(dtype: DType, exponent: Any) -> str | None:
    """As NumPy decides before 2.3: any scalar or 0-d array, whose dtype then plays no part."""
    if dtype.kind == "O":
        return None
    value = _read(exponent)
    if value is None:
        return None
    if dtype.kind in "fc":
        return _OF_VALUE.get(float(value))
    if value != 2:
        return None
    return "float_square" if type(value) is float and dtype.kind in "iu" else "square"


def _read(exponent: Any) -> int | float | None:
    """The number that the exponent is, None for what is none."""
    if type(exponent) is scalar.LazyScalar:
        exponent = exponent._now()
    elif type(exponent) is core.ndarray:
        if exponent.ndim or exponent.dtype.kind not in "iuf":
            return None
        exponent = core.read_only(exponent)
    if isinstance(exponent, float | np.floating):
        return float(exponent)
    if isinstance(exponent, np.ndarray):
        if exponent.ndim or exponent.dtype.kind not in "iuf":
            return None
        return float(exponent) if exponent.dtype.kind == "f" else int(exponent)
    if not hasattr(type(exponent), "__index__"):
        return None
    try:
        value = operator.index(exponent)
    except Exception:  # whatever it raises, NumPy then takes it for no scalar
        return None
    return value if abs(value) < 2**53 else None  # the special ones are small


def warned(exponent: Any) -> Any:
    """The exponent in a form that NumPy does not warn about again, as it does of a `numpy.bool` taken for a number."""
    return np.asarray(exponent) if POWER_READS_SCALARS and type(exponent) is np.bool else exponent


shortcut_power: Final = by_value if POWER_READS_SCALARS else by_type

from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
from lazyarray.frontend import scalar  # noqa: E402
