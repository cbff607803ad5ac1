"""Owns parts of arrays that are read, shown and written in C where they lie: at plain keys, few places and in strides.

As `primitives.py`: these functions in the hot modules' Python form, those of `parts.pxd` in the compiled one. What
these do not know is left to NumPy's functions, and nothing has happened then.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def read_at(_a: Any, _key: Any, missing: Any) -> Any:
    """The element or view of a NumPy array at a key of integers, slices, None and `...`; `missing` for other keys."""
    return missing


def pick_at(_a: Any, _index: Any, missing: Any) -> Any:
    """`a[index]` for a mask, or for few places in one axis, an array's or a list's; `missing` for others."""
    return missing


def put_at(_a: Any, _index: Any, _value: Any) -> int:
    """`a[index] = value` of a number, or as many of the same dtype, for such an index; 0: nothing has happened."""
    return 0


def write_at(_a: Any, _key: Any, _value: Any) -> int:
    """Writes a number or array of NumPy's to the view at such a key; 0: nothing has happened."""
    return 0


def show_at(a: Any, offset: int, shape: Any, strides: Any) -> Any:
    """A view of C-contiguous memory: its element v is element offset + sum(strides[j] * v[j])."""
    itemsize = a.itemsize
    return np.ndarray(shape, a.dtype, a, offset * itemsize, tuple([step * itemsize for step in strides]))
