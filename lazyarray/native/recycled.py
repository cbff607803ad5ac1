"""Owns the memory of arrays' handles, made and dropped at every operation: in C some of it is kept for the next.

As `primitives.py`: these functions in the hot modules' Python form, those of `recycled.pxd` in the compiled one.
"""

from __future__ import annotations

from typing import Any, Final

reused: Final[Any] = object.__new__
"""An instance of the class that `recycle` was told of, whose `__new__` and `__init__` do not run. `reused(cls)`"""


def recycle(_cls: type) -> None:
    """Keeps memory of the class's instances for new ones. Its fields are objects alone."""
