"""Owns what `array.base` answers: the array whose memory a view shows.

Views refer to memory, as NumPy's do, and not to the array that they were taken of: keeping that too would cost every
view. Programs ask for it seldom, so the array is looked for then, among the objects that the garbage collector knows.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, Final
from weakref import ref

import numpy as np

from lazyarray.frontend import array as core
from lazyarray.frontend.quick import recent_handles
from lazyarray.runtime.buffer import Base
from lazyarray.runtime.pool import is_lease

_nparray: Final = np.ndarray

# What was found, or made, for memory that views show; gone with the memory. A search goes through all objects.
_FOUND: Final[dict[int, tuple[ref[Any], ref[Any]]]] = {}


def base_of(array: core.ndarray) -> Any:
    """`array.base`."""
    data = array._np
    if data is None:
        return None if array._node is not None or _is_whole(array, array._base) else _array_of(array._base)
    base = getattr(array, "_base", None)
    if type(base) is Base and base.memory is not None and any([item() is array for item in base.lent]):
        return _array_of(base)
    memory: Any = data.base
    if memory is None or is_lease(memory):
        return None
    if type(memory) is core._Window:
        memory = memory.owner
        if type(memory.base) is _nparray:
            memory = memory.base
    if type(memory) is not _nparray:
        return memory
    if type(base) is Base and base.memory is memory:
        # A small array that was managed (see `settle`).
        return None if _is_whole(array, base) else _array_of(base)
    return array_over(memory)


def array_over(memory: Any) -> Any:
    """The array that has this memory of NumPy's."""
    known = _FOUND.get(id(memory))
    found = None
    if known is not None:
        found = known[1]()
    elif sys.getrefcount(memory) > _ONE_VIEW or type(memory.base) is _nparray:
        found = _search(memory, lambda item: item._np is memory)
        base = None if found is not None else _base_over(memory)
        if base is not None:
            return _array_of(base)
    if found is None or found._np is not memory:
        found = core.plain(memory)
    key = id(memory)
    _FOUND[key] = (ref(memory, lambda _: _FOUND.pop(key, None)), ref(found))
    return found


def _base_over(memory: Any) -> Base | None:
    """The base that has handed this memory out, or all of it as a view."""
    whole = memory.base
    owners = (memory, whole) if type(whole) is _nparray and whole.size == memory.size else (memory,)
    for owner in owners:
        for item in gc.get_referrers(owner):
            if type(item) is Base and item.memory is owner:
                return item
    return None


def _array_of(base: Base) -> Any:
    """The array that was made with the base, or one that stands for it."""
    found = _search(base, lambda item: _is_whole(item, base)) if base.owner is None else base.owner()
    if found is None or not _is_whole(found, base):
        found = core._shared(base, None)
    base.owner = ref(found)
    return found


def _is_whole(item: Any, base: Base) -> bool:
    """True of the array that the base was made for."""
    if getattr(item, "_base", None) is not base or item._part is not None:
        return False
    if item.size != base.spec.size:
        return False  # a part that the base has lent
    return item._map is None or (base.owner is not None and base.owner() is item)


def _search(owned: Any, fits: Callable[[Any], bool]) -> Any:
    """The array that refers to `owned` and fits; recent arrays and young objects are few, and looked through first."""
    own = core.ndarray
    for item in recent_handles():
        if fits(item):
            return item
    for generation in (0, 1):
        for item in gc.get_objects(generation):
            if type(item) is own and fits(item):
                return item
    for item in gc.get_referrers(owned):
        if type(item) is own and fits(item):
            return item
    return None


def _seen_in_view() -> int:
    # As `array_over` sees memory that only a view refers to, whose caller has it in a local.
    view = np.empty(2)[:1]
    memory = view.base
    return _counted(memory)


def _counted(memory: Any) -> int:
    return sys.getrefcount(memory)


_ONE_VIEW: Final = _seen_in_view()
