"""Owns NumPy's loops of transforms over ranges of lines, which several threads may take: in C alone.

As `primitives.py`: these functions in the hot modules' Python form, where there are none such, those of `lines.pxd` in
the compiled one. A line is what a transform reads along one axis at one place of the others.
"""

from __future__ import annotations

from typing import Any


def lines_of(loop: Any, a: Any, factor: float, out: Any, axis: int) -> bytes | None:
    """The lines of a transform `loop(a, factor, out=out)` along an axis, to be run; None where that cannot be said."""
    return None


def count_of(lines: bytes) -> int:
    """How many lines there are."""
    raise NotImplementedError


def address_of_lines(lines: bytes) -> int:
    """Where what the runner is given lies."""
    raise NotImplementedError


def runner_of_lines() -> int:
    """The address of `void run(lines, begin, end, worker)`, as kernels are called."""
    raise NotImplementedError


def raised_by(lines: bytes) -> int:
    """Whether any thread raised floating-point errors: NumPy's bits of them."""
    raise NotImplementedError
