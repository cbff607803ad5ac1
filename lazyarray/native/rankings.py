"""Owns the places of sorted numbers, over ranges that several threads may take: in C alone.

As `lines.py`: these functions in the hot modules' Python form, where there are none such, those of `rankings.pxd`
in the compiled one. A ranking is a record as those of `lines.py` are, which `runner` runs.
"""

from __future__ import annotations

from typing import Any


def ranked_lanes_of(a: Any, out: Any, lanes: tuple[int, int, int], stable: bool) -> bytes | None:
    """`out[...] = numpy.argsort(a, 1)` of C-contiguous arrays of three axes `lanes`.

    Of lines with equal numbers, too: where they are not to be `stable`, by NumPy's own loop. None where it has none.
    """
    return None


def ranked_of(a: Any, spare: Any, chunks: int, stable: bool) -> bytes | None:
    """Sorts of so many equal parts of a vector's keys, with their places, into `spare` of 8 bytes each.

    None for dtypes that have no keys, and where equal numbers are likely that need not be `stable`: they are NumPy's.
    """
    return None


def is_counted(record: bytes) -> bool:
    """Whether the vector rises or falls: nothing is to be sorted."""
    raise NotImplementedError


def places_of(record: bytes, keys: Any, out: Any) -> bytes:
    """The places that sorted keys have, into `out`."""
    raise NotImplementedError


def are_ranked(record: bytes) -> bool:
    """Whether all places are found: False where equal numbers are, of which NumPy is to say which comes first."""
    raise NotImplementedError
