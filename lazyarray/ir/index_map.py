"""Owns index maps: where the elements of a view lie in its base, as NumPy's (offset, shape, strides), in elements.

A base is always a C-ordered array; a map addresses its elements by their position in C order.  Basic indexing,
transposes, broadcasts, diagonals and the reshapes that NumPy does without a copy all stay inside this one form, and
compose: a view of a view is a map over the same base.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from lazyarray.records import NamedTuple

Shape = tuple[int, ...]


class IndexMap(NamedTuple):
    """Element v of the view is element offset + sum(strides[j] * v[j]) of the base, counted in C order."""

    offset: int
    shape: Shape
    strides: tuple[int, ...]


@lru_cache(maxsize=65536)
def c_strides(shape: Shape) -> tuple[int, ...]:
    """Strides in elements of a C-ordered array of `shape`."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def identity(shape: Shape) -> IndexMap:
    """The map of the whole base."""
    return IndexMap(0, shape, c_strides(shape))


def is_identity(view: IndexMap, base_shape: Shape) -> bool:
    """True when the view is all of the base, in its order and shape (strides of axes of extent 1 do not matter)."""
    if view.shape != base_shape or view.offset:
        return False
    plain = c_strides(base_shape)
    return all(a == b or extent <= 1 for a, b, extent in zip(view.strides, plain, base_shape, strict=True))


def is_contiguous(view: IndexMap) -> bool:
    """True when the view's elements lie one after another in C order (whatever the offset)."""
    expected = 1
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if extent == 0:
            return True
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def size_of(shape: Shape) -> int:
    """Number of elements."""
    size = 1
    for extent in shape:
        size *= extent
    return size


MOST_AXES: Final = 64  # of NumPy's arrays


def index(view: IndexMap, key: tuple[Any, ...]) -> IndexMap:
    """Basic indexing by integers, slices and None (Ellipsis already expanded, integers already in bounds)."""
    offset = view.offset
    shape: list[int] = []
    strides: list[int] = []
    axis = 0
    for item in key:
        if item is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = view.shape[axis], view.strides[axis]
        axis += 1
        if isinstance(item, slice):
            start, stop, step = item.indices(extent)
            count = len(range(start, stop, step))
            if count:
                offset += start * stride
            shape.append(count)
            strides.append(step * stride)
        else:
            offset += item * stride
    shape += view.shape[axis:]
    strides += view.strides[axis:]
    if len(shape) > MOST_AXES:
        raise IndexError(
            f"number of dimensions must be within [0, {MOST_AXES}], indexing result would have {len(shape)}"
        )
    return IndexMap(offset, tuple(shape), tuple(strides))


def transpose(view: IndexMap, axes: tuple[int, ...]) -> IndexMap:
    """Axes in another order."""
    return IndexMap(view.offset, tuple(view.shape[a] for a in axes), tuple(view.strides[a] for a in axes))


def inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes that undoes `perm`: axis `perm[k]` of what is restored is axis k."""
    return tuple([perm.index(axis) for axis in range(len(perm))])


def broadcast(view: IndexMap, shape: Shape) -> IndexMap:
    """The view repeated to `shape`, which must be one that it broadcasts to."""
    lead = len(shape) - len(view.shape)
    strides = [0] * lead
    for extent, stride, wanted in zip(view.shape, view.strides, shape[lead:], strict=True):
        strides.append(0 if extent == 1 and wanted != 1 else stride)
    return IndexMap(view.offset, shape, tuple(strides))


def flip(view: IndexMap, axes: tuple[int, ...]) -> IndexMap:
    """The view with the order of elements along `axes` reversed."""
    offset = view.offset
    strides = list(view.strides)
    for axis in axes:
        offset += strides[axis] * max(view.shape[axis] - 1, 0)
        strides[axis] = -strides[axis]
    return IndexMap(offset, view.shape, tuple(strides))


def diagonal(view: IndexMap, k: int, axis1: int, axis2: int) -> IndexMap:
    """NumPy's diagonal: the two axes replaced by one at the end."""
    n1, n2 = view.shape[axis1], view.shape[axis2]
    offset = view.offset
    if k >= 0:
        count = max(min(n1, n2 - k), 0)
        if count:
            offset += k * view.strides[axis2]
    else:
        count = max(min(n1 + k, n2), 0)
        if count:
            offset -= k * view.strides[axis1]
    rest = [a for a in range(len(view.shape)) if a not in (axis1, axis2)]
    return IndexMap(
        offset,
        (*(view.shape[a] for a in rest), count),
        (*(view.strides[a] for a in rest), view.strides[axis1] + view.strides[axis2]),
    )


def reshape(view: IndexMap, shape: Shape) -> IndexMap | None:
    """The same elements in C order as another shape, or None where only a copy can do it.

    NumPy's rule (`_attempt_nocopy_reshape`, numpy/_core/src/multiarray/shape.c): groups of axes of equal size must
    have strides that merge.
    """
    if size_of(view.shape) == 0:
        return IndexMap(view.offset, shape, c_strides(shape))
    old = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n != 1]
    strides = [0] * len(shape)
    i = j = 0
    while i < len(old) and j < len(shape):
        old_size, new_size = old[i][0], shape[j]
        i_end, j_end = i + 1, j + 1
        while old_size != new_size:
            if new_size < old_size:
                new_size *= shape[j_end]
                j_end += 1
            else:
                old_size *= old[i_end][0]
                i_end += 1
        for k in range(i, i_end - 1):
            if old[k][1] != old[k + 1][0] * old[k + 1][1]:
                return None
        strides[j_end - 1] = old[i_end - 1][1]
        for k in range(j_end - 1, j, -1):
            strides[k - 1] = strides[k] * shape[k]
        i, j = i_end, j_end
    last = strides[j - 1] if j else 1
    for k in range(j, len(shape)):
        strides[k] = last
    return IndexMap(view.offset, shape, tuple(strides))


def compose(outer: IndexMap, inner: IndexMap, middle_shape: Shape) -> IndexMap | None:
    """The map of a view `outer` of the C-ordered array of `middle_shape` that `inner` shows of its base.

    None where the composition is not one set of strides (a reshape that crosses axes of a strided view).
    """
    if is_identity(inner, middle_shape):
        return outer
    forms = split(outer.offset, outer.strides, outer.shape, middle_shape)
    if forms is None:
        return None
    offset = inner.offset + sum(f[0] * s for f, s in zip(forms, inner.strides, strict=True))
    strides = tuple(
        sum(f[1][j] * s for f, s in zip(forms, inner.strides, strict=True)) for j in range(len(outer.shape))
    )
    return IndexMap(offset, outer.shape, strides)


Form = tuple[int, tuple[int, ...]]  # constant, and coefficient of each loop axis: one axis' index


@lru_cache(1 << 14)
def split(offset: int, strides: tuple[int, ...], extents: Shape, shape: Shape) -> tuple[Form, ...] | None:
    """The flat position offset + sum(strides * loop index) as an index per axis of a C-ordered array of `shape`.

    Divides greedily, largest stride first, and then checks that each axis' index stays inside the axis for all loop
    indices: flat positions and in-range indices correspond one to one, so what passes the check is right. None where
    no affine index per axis exists (or where the greedy division misses it).
    """
    if size_of(extents) == 0:
        return tuple((0, (0,) * len(extents)) for _ in shape)
    constants: list[int] = []
    rest = offset
    base = c_strides(shape)
    for stride in base:
        quotient, rest = divmod(rest, stride)
        constants.append(quotient)
    coefficients = [[0] * len(extents) for _ in shape]
    for j, step in enumerate(strides):
        if extents[j] == 1:
            continue
        sign, left = (1, step) if step >= 0 else (-1, -step)
        for k, stride in enumerate(base):
            if shape[k] == 1:
                continue
            quotient, left = divmod(left, stride)
            coefficients[k][j] = sign * quotient
        if left:
            return None
    for k, extent in enumerate(shape):
        low = high = constants[k]
        for j, count in enumerate(extents):
            reach = coefficients[k][j] * (count - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        if low < 0 or high >= extent:
            return None
    return tuple((constants[k], tuple(coefficients[k])) for k in range(len(shape)))


def apply(view: IndexMap, data: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NumPy's view of C-contiguous `data` that the map describes, sharing its memory and write permission."""
    itemsize = data.itemsize
    if size_of(view.shape) == 0 or data.size == 0:
        return np.ndarray(view.shape, data.dtype, data.ravel()[:0] if data.size else data.ravel())
    result: np.ndarray[Any, Any] = np.ndarray(
        view.shape,
        data.dtype,
        data.reshape(-1),
        view.offset * itemsize,
        tuple(s * itemsize for s in view.strides),
    )
    if not data.flags.writeable:
        result.flags.writeable = False
    return result
