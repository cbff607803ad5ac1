"""Owns the values at given places in the order of many lines, over ranges that several threads may take: in C alone.

As `lines.py`: these functions in the hot modules' Python form, where there are none such, those of `selections.pxd` in
the compiled one. A selection is a record as those of `lines.py` are, which `runner` runs.
"""

from __future__ import annotations

from typing import Any


def selection_of(
    a: Any, found: Any, lanes: tuple[int, int, int], places: tuple[int, ...], shared: bool
) -> bytes | None:
    """`found[k] = numpy.sort(a, 1)[:, places[k]]` of C-contiguous arrays of three axes `lanes`; places rise.

    `shared`: threads take parts of the line, which is one, else lines. None for dtypes that are not known here.
    """
    return None


def settle(record: bytes) -> bool:
    """Finishes what threads began; whether the values are sure.

    False where one is a zero and its line has such of both signs, or NaN and that has NaN of two kinds: which of them
    comes first is for NumPy's way to go about it to say. Also where there was no memory.
    """
    raise NotImplementedError
