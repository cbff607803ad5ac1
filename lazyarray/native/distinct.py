"""Owns the distinct ones of many numbers, counted in a table or found where sorted ones change: in C alone.

As `lines.py`: these functions in the hot modules' Python form, where there are none such, those of `distinct.pxd`
in the compiled one. Both return the distinct numbers, rising, the place where each is met first, and how often each
is there: of what is not wanted, None.
"""

from __future__ import annotations

from typing import Any


def tallied(a: Any, most: int, inverse: Any, first: bool, counts: bool) -> tuple[Any, Any, Any] | None:
    """Of a C-contiguous array of integers; None where its least and greatest are `most` or more apart.

    `inverse`: None, or of as many intp, for which of the distinct ones each is.
    """
    return None


def whole_of(a: Any) -> Any:
    """The integers, of 4 bytes each, that all of these floating-point numbers are; None where some are none."""
    return None


def distinct_of(
    a: Any, places: Any, same_nans: bool, inverse: Any, first: bool, counts: bool
) -> tuple[Any, Any, Any] | None:
    """Of a sorted vector of 4 or 8 bytes each, or of one whose `places` in order are known.

    `first` and `inverse`, as above, are of places alone, which are a stable sort's. Where no two numbers are equal,
    what is returned may be `a` and `places` themselves.
    """
    return None


def are_read(a: Any) -> bool:
    """Whether `distinct_of` takes numbers of this dtype."""
    return False


def has_odd(a: Any) -> bool:
    """Whether any of such numbers may be NaN, or a zero with a sign: equal ones may have different bits."""
    return True
