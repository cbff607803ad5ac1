"""Owns sliding products of two arrays of one axis, over ranges of results that several threads may take: in C alone.

As `lines.py`: these functions in the hot modules' Python form, where there are none such, those of `correlations.pxd`
in the compiled one. A correlation is a record as those of `lines.py` are, which `runner` runs.
"""

from __future__ import annotations

from typing import Any


def correlation_of(a: Any, v: Any, left: int, out: Any) -> bytes | None:
    """`out[...] = sum(a[k + j - shift] * v[j])` over all `j` that are there; None for dtypes that are not known here.

    `a` has at least as many elements as `v`, and `left` results lie before the first that has all of `v`. All are
    C-contiguous and of one dtype. Bits are those of `_pyarray_correlate` (numpy/_core/src/multiarray).
    """
    return None
