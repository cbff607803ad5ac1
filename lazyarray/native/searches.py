"""Owns searches of many values in sorted arrays, over ranges that several threads may take: in C alone.

As `lines.py`: these functions in the hot modules' Python form, where there are none such, those of `searches.pxd` in
the compiled one. A search is a record as those of `lines.py` are, which `runner` runs.
"""

from __future__ import annotations

from typing import Any


def are_sorted(keys: Any) -> bool:
    """Whether each key is at least the one before it, NaN behind all; False for dtypes that are not searched here."""
    return False


def search_of(keys: Any, values: Any, right: bool, out: Any) -> bytes | None:
    """`out[...] = numpy.searchsorted(keys, values)` of sorted keys; None where that cannot be said.

    All are C-contiguous.
    """
    return None


def interpolation_of(keys: Any, heights: Any, slopes: Any, values: Any, left: float, right: float, out: Any) -> bytes:
    """`out[...] = numpy.interp(values, keys, heights, left, right)` of sorted float64, all C-contiguous.

    `slopes`: of the heights between keys; None: each is computed where a value lies there.
    """
    raise NotImplementedError
