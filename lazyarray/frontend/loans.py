"""Owns writes under masks to large memory that others can write, too, and reads at many places: made where it lies.

NumPy's own loops for them go from element to element, with a branch for each. What is recorded of an array's own memory
writes over it once nothing else needs the value before; the same is recorded of memory on loan, and evaluated at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyarray.frontend.reading import lent
from lazyarray.frontend.recipes import ANY, Shown, at_once
from lazyarray.frontend.regions import at_hand
from lazyarray.ir.node import leaf
from lazyarray.native.primitives import is_open, site_outside
from lazyarray.runtime import evaluate as boundary

Array = np.ndarray[Any, Any]


def write(array: core.ndarray, given: tuple[Any, ...], record: Callable[..., Any]) -> bool:
    """`record(array, *given)`, which writes an array, where that is large memory that others can write, at once.

    False: nothing has happened. What is `given` (values, masks) is read where it lies, and lies elsewhere.
    """
    data = lent(array)
    if data is None or not is_open(data) or any([_overlaps(data, item) for item in given]):
        return False
    taken = Shown().of_all(given, {}, site_outside(0), ANY)
    target = core.from_node(leaf(data))
    record(target, *(given if taken is None else taken[0]))
    made = _made(target)
    if made.ctypes.data != data.ctypes.data:
        data[...] = made
    return True


def _made(target: core.ndarray) -> Array:
    """The memory of an array that has been written."""
    node = target._node or target._base.node
    if node is None:
        written: Array = target._base.memory  # by NumPy
        return written
    if node.data is None:
        boundary.evaluate([node], INTO_MEMORY, alone=True)
    assert node.data is not None
    return node.data


def pick(array: core.ndarray, key: Any, get: Callable[[Any, Any], Any]) -> Any:
    """`get(array, key)`, which makes something new, of large memory that others can write; None of other memory."""
    shown = Shown()
    others = shown.of_all((array, key), {}, site_outside(0), ANY)
    if others is None or others[0][0] is array:
        return None
    return at_once(shown, get(*others[0]), get, (array, key), {})


def read(outs: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """What is given to a call that writes `outs` at once, large memory that others can write in it as it lies.

    Nothing is changed that is part of `outs`, nor anything where one of them is other memory.
    """
    targets = [None if out is None else lent(out) for out in outs]
    if any([target is None for target in targets]):
        return given
    apart = [not any([_overlaps(target, item) for target in targets]) for item in given]
    taken = Shown().of_all(
        tuple([item for item, far in zip(given, apart, strict=True) if far]), {}, site_outside(0), ANY
    )
    if taken is None:
        return given
    found = iter(taken[0])
    return tuple([next(found) if far else item for item, far in zip(given, apart, strict=True)])


def _overlaps(data: Array | None, item: Any) -> bool:
    memory = item if isinstance(item, np.ndarray) else at_hand(item) if type(item) is core.ndarray else None
    return memory is not None and np.may_share_memory(data, memory)


# Last: either module may be imported first.
from lazyarray.frontend import array as core  # noqa: E402
from lazyarray.frontend.writing import INTO_MEMORY  # noqa: E402
