"""Owns sorts of many lines, and of one that is long, over ranges that several threads may take: in C alone.

As `lines.py`: these functions in the hot modules' Python form, where there are none such, those of `sorts.pxd` in the
compiled one. A sort is a record as those of `lines.py` are, which `runner` runs.
"""

from __future__ import annotations

from typing import Any


def lanes_of(a: Any, out: Any, lanes: tuple[int, int, int], kind: int) -> bytes | None:
    """`out[...] = numpy.sort(a, 1, kind)` of C-contiguous arrays of three axes `lanes`.

    `kind`: NumPy's number of it. None for dtypes that NumPy has no loop for.
    """
    return None


def chunks_of(a: Any, spare: Any, chunks: int) -> bytes | None:
    """Sorts of so many equal parts of a vector, into `spare`; None for dtypes that are not merged here."""
    return None


def are_mergeable(record: bytes) -> bool:
    """Whether sorted parts have one result: no zeros of both signs are among them, and NaN of one kind alone.

    Which of two equal numbers comes first is for NumPy's way to sort to say. False where sorting failed, too.
    """
    raise NotImplementedError


def merge_of(record: bytes, out: Any) -> bytes:
    """Merges of each two parts, into `out`, which then has half as many; NaN goes behind all with the last merge."""
    raise NotImplementedError


def has_failed(record: bytes) -> bool:
    """Whether a thread had no memory."""
    raise NotImplementedError


def in_pieces() -> bool:
    """Whether lines are sorted in pieces: NumPy's sorts of more than a few numbers are slow on this CPU."""
    return False
