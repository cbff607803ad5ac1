"""Owns writes under masks to large memory that others can write, too, and reads at many places: made where it lies.

NumPy's own loops for them go from element to element, with a branch for each. What is recorded of an array's own memory
writes over it once nothing else needs the value before; the same is recorded of memory on loan, and evaluated at once.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from lazyarray.frontend.reading import lent
from lazyarray.frontend.recipes import Shown, at_once
from lazyarray.frontend.regions import at_hand
from lazyarray.ir.node import leaf
from lazyarray.native.primitives import address_of, is_open, site_outside
from lazyarray.runtime import evaluate as boundary

Array = np.ndarray[Any, Any]


def write(array: core.ndarray, given: tuple[Any, ...], record: Callable[..., Any]) -> bool:
    """`record(array, *given)`, which writes an array, where that is large memory that others can write, at once.

    False: nothing has happened. What is `given` (values, masks) is read where it lies, and lies elsewhere.
    """
    data = _open(array)
    if data is None or any([_overlaps(data, item) for item in given]):
        return False
    shown, site = Shown(), site_outside(0)
    target = core.from_node(leaf(data))
    record(target, *[shown.of(item, site) for item in given])
    _settle(target, data)
    return True


def write_outs(outs: tuple[Any, ...], given: tuple[Any, ...], record: Callable[..., Any]) -> bool:
    """`record(targets, *given)`, which writes `outs`, where all of them are such memory; False: nothing has happened.

    What is `given` may be one of them, or a part of one: then it is read before it is written.
    """
    found = [None if out is None else _open(out) for out in outs]
    memory = [data for data in found if data is not None]
    if len(memory) != len(outs) or any([_overlaps(a, b) for a, b in combinations(memory, 2)]):
        return False
    targets = tuple([core.from_node(leaf(data)) for data in memory])
    shown, site = Shown(), site_outside(0)
    passed = []
    for item in given:
        same = [target for out, target in zip(outs, targets, strict=True) if out is item]
        apart = not any([_overlaps(data, item) for data in memory])
        passed.append(same[0] if same else shown.of(item, site) if apart else item)
    if record(targets, *passed) is NotImplemented:
        return False
    for target, data in zip(targets, memory, strict=True):
        _settle(target, data)
    return True


def _open(array: core.ndarray) -> Array | None:
    """Large memory of an array that others can write, in C order; None of other memory."""
    data = lent(array)
    return data if data is not None and is_open(data) else None


def _settle(target: core.ndarray, data: Array) -> None:
    """Has `data` what was written into the array that stood for it."""
    node = target._node or target._base.node
    if node is None:
        made: Any = target._base.memory  # by NumPy
    else:
        if node.data is None:
            boundary.evaluate([node], INTO_MEMORY, alone=True)
        made = node.data
    if made is not data and address_of(made) != address_of(data):
        data[...] = made


def pick(array: core.ndarray, key: Any, get: Callable[[Any, Any], Any]) -> Any:
    """`get(array, key)`, which makes something new, of large memory that others can write; None of other memory."""
    shown, site = Shown(), site_outside(0)
    other = shown.of(array, site)
    return None if other is array else at_once(shown, get(other, shown.of(key, site)), get, (array, key), {})


def _overlaps(data: Array, item: Any) -> bool:
    memory = item if isinstance(item, np.ndarray) else at_hand(item) if type(item) is core.ndarray else None
    return memory is not None and np.may_share_memory(data, memory)


# Last: either module may be imported first.
from lazyarray.frontend import array as core  # noqa: E402
from lazyarray.frontend.writing import INTO_MEMORY  # noqa: E402
