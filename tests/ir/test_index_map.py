"""Index maps say what NumPy's views say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lazyarray.ir import index_map as im

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def numbered(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(im.size_of(shape)).reshape(shape)


@st.composite
def shaped_key(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    shape = draw(SHAPES)
    key: list[Any] = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        if draw(st.booleans()):
            key.append(draw(st.integers(0, extent - 1)))
        else:
            ends = st.none() | st.integers(-extent - 1, extent + 1)
            step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
            key.append(slice(draw(ends), draw(ends), step))
        if draw(st.integers(0, 3)) == 0:
            key.append(None)
    return shape, tuple(key)


@given(shaped_key())
def test_basic_indexing_is_numpys(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, key = case
    data = numbered(shape)
    view = im.apply(im.index(im.identity(shape), key), data)
    np.testing.assert_array_equal(view, data[key])
    assert view.shape == data[key].shape


@given(shaped_key(), st.data())
def test_a_view_of_a_view_is_one_map(case: tuple[tuple[int, ...], tuple[Any, ...]], data: st.DataObject) -> None:
    shape, key = case
    base = numbered(shape)
    first = im.index(im.identity(shape), key)
    axes = tuple(data.draw(st.permutations(range(len(first.shape)))))
    both = im.transpose(first, axes)
    np.testing.assert_array_equal(im.apply(both, base), base[key].transpose(axes))


@given(shaped_key(), SHAPES)
def test_reshape_views_exactly_where_numpy_does(
    case: tuple[tuple[int, ...], tuple[Any, ...]], target: tuple[int, ...]
) -> None:
    shape, key = case
    data = numbered(shape)
    source = data[key]
    if im.size_of(target) != source.size or source.size == 0:
        target = (source.size,)
    mapped = im.reshape(im.index(im.identity(shape), key), target)
    try:
        expected = source.reshape(target, copy=False)
    except ValueError:
        assert mapped is None
    else:
        assert mapped is not None
        np.testing.assert_array_equal(im.apply(mapped, data), expected)


@given(shaped_key())
def test_split_finds_every_axis_of_a_sliced_walk(case: tuple[tuple[int, ...], tuple[Any, ...]]) -> None:
    shape, key = case
    view = im.index(im.identity(shape), key)
    forms = im.split(view.offset, view.strides, view.shape, shape)
    if forms is None:
        return
    for position in np.ndindex(*view.shape):
        where = tuple(f[0] + sum(c * p for c, p in zip(f[1], position, strict=True)) for f in forms)
        assert numbered(shape)[where] == im.apply(view, numbered(shape))[position]


def test_split_of_plain_slices_always_succeeds() -> None:
    shape = (7, 9)
    for key in (
        (slice(1, -1), slice(None, -2)),
        (slice(None, None, -1), slice(2, None, 3)),
        (3, slice(None)),
    ):
        view = im.index(im.identity(shape), key)
        assert im.split(view.offset, view.strides, view.shape, shape) is not None


@pytest.mark.parametrize("k", [-2, 0, 1, 5])
def test_diagonal_is_numpys(k: int) -> None:
    data = numbered((4, 3, 5))
    view = im.diagonal(im.identity((4, 3, 5)), k, 0, 2)
    np.testing.assert_array_equal(im.apply(view, data), data.diagonal(k, 0, 2))


def test_broadcast_and_flip() -> None:
    data = numbered((3, 1))
    view = im.flip(im.broadcast(im.identity((3, 1)), (2, 3, 4)), (1, 2))
    np.testing.assert_array_equal(im.apply(view, data), np.broadcast_to(data, (2, 3, 4))[:, ::-1, ::-1])
