"""Owns the maps that keys and transposes of arrays make: `index_map.py`'s, for keys as programs write them.

These in the hot modules' Python form, those of `maps.pxd` in the compiled one, which are told the class of maps. None
stands for the map of a whole array in C order.
"""

from __future__ import annotations

from typing import Any

from lazyarray.ir.index_map import IndexMap, Shape, identity, index, transpose


def map_at(_cls: Any, view: IndexMap | None, shape: Shape, key: Any) -> IndexMap | None:
    """What a key of integers, slices, None and `...` shows of a map. `shape`: the whole array's.

    None for other keys, for those that name an element, and for what is out of bounds or has too many axes.
    """
    view = identity(shape) if view is None else view
    items = list(key) if type(key) is tuple else [key]
    named = sum([item is not None and item is not ... for item in items])
    if named > len(view.shape):
        return None
    for place in [at for at, item in enumerate(items) if item is ...][:1]:
        items[place : place + 1] = [slice(None)] * (len(view.shape) - named)
    extents = iter(view.shape)
    for place, item in enumerate(items):
        extent = 1 if item is None else next(extents, 0)
        if type(item) is int:
            if not -extent <= item < extent:
                return None
            items[place] = item % extent
        elif item is not None and type(item) is not slice:
            return None
    try:
        found = index(view, tuple(items))
    except (IndexError, TypeError):
        return None
    return found if found.shape else None


def map_turned(_cls: Any, view: IndexMap | None, shape: Shape) -> IndexMap:
    """The map with its axes in reverse. `shape`: the whole array's."""
    view = identity(shape) if view is None else view
    return transpose(view, tuple(range(len(view.shape)))[::-1])
