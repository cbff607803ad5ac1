"""Owns handing NumPy memory whose arrays begin at cache lines: C's side stands in `placement.pxd`."""

from __future__ import annotations


def place_at_lines(huge: bool) -> bool:
    """Whether arrays that NumPy makes from now on, in this context, begin at cache lines: Python cannot do that.

    `huge`: large ones ask the system for large pages, as NumPy has them do.
    """
    return False
