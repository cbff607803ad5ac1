"""Owns NumPy's loops over ranges of lines and segments, which several threads may take: in C alone.

As `primitives.py`: these functions in the hot modules' Python form, where there are none such, those of `lines.pxd` in
the compiled one. A line is what a transform reads along one axis at one place of the others, a segment what
`reduceat` makes one element of. What is to be run is a record of C's in a bytes object; its runner has the signature of
a kernel, `void run(record, begin, end, worker)`.
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


def count_in(record: bytes) -> int:
    """How many lines or segments there are."""
    raise NotImplementedError


def address_in(record: bytes) -> int:
    """Where what the runner is given lies."""
    raise NotImplementedError


def raised_in(record: bytes) -> bool:
    """Whether any thread raised floating-point errors."""
    raise NotImplementedError


def runner() -> int:
    """The address of what runs a record's parts, whatever they are."""
    raise NotImplementedError


def run_alone(record: bytes) -> None:
    """Runs all parts on this thread, which lets go of the interpreter's lock meanwhile."""
    raise NotImplementedError
