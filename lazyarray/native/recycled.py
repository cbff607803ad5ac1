"""Owns the memory of arrays' handles, and what C reads of it: some is kept for the next, attributes are found at once.

As `primitives.py`: these functions in the hot modules' Python form, those of `recycled.pxd` in the compiled one.
"""

from __future__ import annotations

from typing import Any, Final

reused: Final[Any] = object.__new__
"""An instance of the class that `recycle` was told of, whose `__new__` and `__init__` do not run. `reused(cls)`"""


def recycle(_cls: type) -> None:
    """Keeps memory of the class's instances for new ones. Its fields are objects alone."""


def quicken(_cls: type, _memory: type, _names: tuple[tuple[str, ...], ...]) -> None:
    """Has NumPy's getters answer attributes of arrays over NumPy's memory; properties of that name serve all else.

    Their names: those that answer a value; that make arrays, of small ones there; an iterator (`quicken_flat`); what
    only an array says that can be written to; and the array whose memory a view shows.
    """


def recent() -> list[Any]:
    """Arrays in use, most of the last ones among them."""
    return []


def quicken_below(_limit: int) -> None:
    """How many elements arrays have at least whose views are recorded."""


def quicken_flat(_cls: type) -> None:
    """Tells the class of what the attribute `flat` is: made as attributes of arrays are, in memory of earlier ones."""
