"""Owns arrays over blocks of the pool's memory, which go back to it when the last array over them dies.

As `primitives.py`: these in the hot modules' Python form, those of `leases.pxd` in the compiled one.
"""

from __future__ import annotations

from typing import Any
from weakref import getweakrefcount

import numpy as np

_BYTE = np.dtype(np.uint8)


class _Lease(np.ndarray[Any, Any]):
    """The base of an array over a block and of all its views; gives the block back when the last of them dies.

    NumPy shortens a view's chain of bases only through plain arrays, so it stops at this subclass.
    """

    block: Any = None  # an instance has it; views taken of a lease itself do not

    def __del__(self) -> None:
        block = self.block
        if block is not None:
            block.give_back()


def lend(block: Any, shape: tuple[int, ...], dtype: np.dtype[Any], strides: Any) -> Any:
    """An array over a block (`runtime/blocks.py`), whose `give_back` is called once nothing shows that memory.

    `strides`: in bytes; None: C's order. No dtype of objects.
    """
    lease = _Lease((block.size,), _BYTE, block.memory, block.offset)
    made = np.ndarray(shape, dtype, lease, 0, strides)
    lease.block = block
    return made


def leased(owner: Any) -> bool:
    """True for what arrays of `lend` have for their base."""
    return type(owner) is _Lease


def stands_alone(data: Any) -> bool:
    """True for an array that takes writes, whose memory is its own or a lease, and to which nobody refers weakly.

    Who else refers to it is for the caller to count.
    """
    if not data.flags.writeable or getweakrefcount(data):
        return False
    owner = data.base
    return bool(data.flags.owndata) if owner is None else leased(owner)
