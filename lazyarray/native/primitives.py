"""Owns what Python and C spell differently: these functions in the hot modules' Python form, C's in the compiled one.

The build (`build.py`) has the hot modules take these names from `primitives.pxd`, whose definitions are inline C.
"""

from __future__ import annotations

import sys
from typing import Any, Final

create: Final[Any] = object.__new__
"""An instance of a class whose `__new__` and `__init__` do not run. `create(cls)`"""

count: Final = sys.getrefcount
"""How many references there are to an object, the caller's own included: compare only with a count taken alike."""


def site_here(plain: int, compiled: int) -> tuple[Any, int, Any]:
    """The code, instruction and globals of the frame that is `plain` frames above the caller's.

    `compiled` is the number that counts where the hot modules have no frames; here it means nothing.
    """
    frame = sys._getframe(plain + 1)
    return frame.f_code, frame.f_lasti, frame.f_globals


def size_of_memory(a: Any) -> int:
    """How many elements a NumPy array has."""
    size: int = a.size
    return size


def frame_here(plain: int) -> Any:
    """The frame that is `plain` frames above the caller's; Python's innermost where the hot modules have no frames."""
    return sys._getframe(plain + 1)


def same_shape(a: Any, b: Any) -> bool:
    """True when two NumPy arrays have one shape."""
    return bool(a.shape == b.shape)


def holds_numbers(a: Any) -> bool:
    """True when a NumPy array's elements are numbers, not objects or records."""
    return bool(a.dtype.num < 17 or a.dtype.num == 23)  # NPY_OBJECT, NPY_HALF


def holds_in_c_order(a: Any) -> bool:
    """True when a NumPy array is C-contiguous."""
    return bool(a.flags.c_contiguous)


def item_of(a: Any, key: Any, missing: Any) -> Any:
    """`a[key]`, or `missing` where that is an IndexError or ValueError."""
    try:
        return a[key]
    except (IndexError, ValueError):
        return missing


def put_item(a: Any, key: Any, value: Any) -> bool:
    """`a[key] = value`; False where that is an IndexError."""
    try:
        a[key] = value
    except IndexError:
        return False
    return True


def address_of(data: Any) -> int:
    """Where a NumPy array's first element is."""
    address: int = data.__array_interface__["data"][0]
    return address


def wrap_slots(_cls: type, _source: type) -> None:
    """Gives a class in C wrappers of its slots, as `source` has them: derived classes then take the slots over."""
