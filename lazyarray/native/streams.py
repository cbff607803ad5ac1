"""Owns NumPy's streams of random numbers, computed from any place on, which several threads may do: in C alone.

As `lines.py`: a record of C's in a bytes object, whose parts `lines.runner` runs.
"""

from __future__ import annotations

from typing import Any


def draws_of(
    out: Any, state: tuple[int, int], step: tuple[int, int], low: float, width: float, scaled: bool
) -> bytes | None:
    """The next numbers of a PCG64 as float64, `low + width * u` if `scaled`, else `u`, 0 <= u < 1; None where C cannot.

    `out`: new, float64, in C order. `state`, `step`: the generator's state and increment, the upper 64 bits first.
    """
    return None
