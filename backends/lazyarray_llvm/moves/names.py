"""Owns the names of the functions that move elements, and for which sizes of elements there are some."""

from __future__ import annotations

from typing import Literal, TypeAlias

Way: TypeAlias = Literal["spread", "copy", "repeat", "turn"]
SIZES = (1, 2, 4, 8, 16)  # bytes of an element


def symbol(way: Way, size: int) -> str:
    """The name of a function. Distances are in bytes.

    spread(to, to.row, to.column, from, from.row, from.column, rows, columns): elements from anywhere to anywhere.
    copy, repeat(to, to.row, from, from.row, rows): rows of `to.row` bytes that follow each other in a line, of elements
    side by side or of one again and again; they may write up to 64 bytes behind it.
    turn(to, to.row, from, from.row, from.column, rows, columns): rows of elements side by side.
    """
    return f"lazyarray.{way}.{size}"


def module_name(size: int) -> str:
    """What the module of a size is called."""
    return f"moves.{size}"
