"""Owns maps that keys and transposes make of maps: where the elements of a view lie, for `frontend/slices.py`.

As `primitives.py`: these in the hot modules' Python form, those of `maps.pxd` in the compiled one. A map is an
`ir.index_map.IndexMap`, whose class is given; None stands for that of a whole array in C order.
"""

from __future__ import annotations

from typing import Any


def _parts(view: Any, shape: tuple[int, ...]) -> tuple[int, tuple[int, ...], list[int]]:
    if view is not None:
        return view[0], view[1], list(view[2])
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return 0, shape, strides


def map_at(cls: Any, view: Any, shape: tuple[int, ...], key: Any, most: int) -> Any:
    """What a key of integers, slices, None and `...` shows of a map, of at most so many axes.

    `shape`: the whole array's. None for other keys, for those that name an element, and for what is out of bounds.
    """
    offset, extents, strides = _parts(view, shape)
    rank = len(extents)
    items = key if type(key) is tuple else (key,)
    given = sum([item is not None and item is not Ellipsis for item in items])
    rest = -1
    left: list[int] = []
    steps: list[int] = []
    axis = 0
    if given > rank:
        return None
    for item in items:
        if item is None:
            left.append(1)
            steps.append(0)
        elif item is Ellipsis:
            if rest >= 0:
                return None
            rest = rank - given
            left.extend(extents[axis : axis + rest])
            steps.extend(strides[axis : axis + rest])
            axis += rest
        elif type(item) is int:
            extent = extents[axis]
            if not -extent <= item < extent:
                return None
            offset += (item + extent if item < 0 else item) * strides[axis]
            axis += 1
        elif type(item) is slice:
            try:
                start, stop, step = item.indices(extents[axis])
            except TypeError:
                return None
            count = len(range(start, stop, step))
            if count:
                offset += start * strides[axis]
            left.append(count)
            steps.append(step * strides[axis])
            axis += 1
        else:
            return None
    left.extend(extents[axis:])
    steps.extend(strides[axis:])
    if not left or len(left) > most:
        return None
    return tuple.__new__(cls, (offset, tuple(left), tuple(steps)))


def map_turned(cls: Any, view: Any, shape: tuple[int, ...]) -> Any:
    """The map with its axes in reverse. `shape`: the whole array's."""
    offset, extents, strides = _parts(view, shape)
    return tuple.__new__(cls, (offset, extents[::-1], tuple(strides[::-1])))
