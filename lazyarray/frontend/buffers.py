"""Owns the buffer protocol of arrays and lazy scalars: what `memoryview`, `bytes`, files and sockets read and write."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from lazyarray.frontend import buffer_slot
from lazyarray.frontend.scalar import LazyScalar


def install(own: type, to_numpy: Callable[[Any], Any]) -> None:
    """Lets arrays (of class `own`) and lazy scalars export buffers.

    Python before 3.12 has only the C slot; after, `__buffer__` answers where the slot cannot.
    """

    def export(owner: Any) -> Any:
        # NumPy's object that holds the memory: references to it show for how long that is in use.
        return owner._now() if type(owner) is LazyScalar else to_numpy(owner)

    def __buffer__(self: Any, flags: int, /) -> memoryview:
        """Return a buffer object that exposes the underlying memory of the object."""
        view: memoryview = export(self).__buffer__(flags)
        return view

    classes: tuple[Any, ...] = (own, LazyScalar)
    if sys.version_info >= (3, 12):
        for cls in classes:
            cls.__buffer__ = __buffer__
    buffer_slot.install(classes, export)
