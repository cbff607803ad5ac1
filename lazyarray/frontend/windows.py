"""Owns windows: the memory that an array with gaps lies in, such as a field of records, as elements of its own dtype.

Such an array is a view of its window, as the slices of an array are views of it, so that kernels read it where it lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyarray.native.primitives import address_of, part_of

Array = np.ndarray[Any, Any]


def window_of(data: Array) -> Array | None:
    """The memory of the array that `data` is a view of, in one dimension and of the dtype of `data`.

    None where that memory is not in one piece, holds objects, or `data` does not lie at whole elements of it.
    """
    base = data.base
    if type(base) is not np.ndarray or not base.flags.c_contiguous or base.dtype.hasobject:
        return None
    size = data.itemsize
    if not size or address_of(base) % data.dtype.alignment or not data.flags.aligned:
        return None
    # By way of bytes: elements may be of another size than records are a multiple of.
    window: Array = base.reshape(-1).view(np.uint8)[: base.nbytes // size * size].view(data.dtype)
    return None if part_of(data, window) is None else window
