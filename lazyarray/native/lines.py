"""Owns NumPy's loops over ranges of lines and segments, which several threads may take: in C alone.

As `primitives.py`: these functions in the hot modules' Python form, where there are none such, those of `lines.pxd` in
the compiled one. A line is what a transform reads along one axis at one place of the others, a segment what
`reduceat` makes one element of. What is to be run is a record of C's in a bytes object; a runner has the signature of a
kernel, `void run(record, begin, end, worker)`.
"""

from __future__ import annotations

from typing import Any


def lines_of(loop: Any, a: Any, factor: float, out: Any, axis: int) -> bytes | None:
    """The lines of a transform `loop(a, factor, out=out)` along an axis; None where that cannot be said."""
    return None


def segments_of(ufunc: Any, a: Any, starts: Any, out: Any) -> bytes | None:
    """The segments of `ufunc.reduceat(a, starts)` of a vector; None where that cannot be said.

    `starts`: in bounds, C-contiguous, of NumPy's intp; `out`: new, one element for each, of the vector's dtype.
    """
    return None


def count_of(lines: bytes) -> int:
    """How many lines there are."""
    raise NotImplementedError


def address_in(made: bytes) -> int:
    """Where the record lies."""
    raise NotImplementedError


def runner_of_lines() -> int:
    """The address of what runs lines."""
    raise NotImplementedError


def runner_of_segments() -> int:
    """The address of what runs segments."""
    raise NotImplementedError


def raised_in_lines(lines: bytes) -> int:
    """Which floating-point errors any thread raised: NumPy's bits."""
    raise NotImplementedError


def raised_in_segments(segments: bytes) -> int:
    """Which floating-point errors any thread raised: NumPy's bits."""
    raise NotImplementedError
