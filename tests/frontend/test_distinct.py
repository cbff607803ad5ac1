"""Holds that distinct elements of many integers, and functions on sets of them, are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import distinct

DRAW = numpy.random.default_rng(4)
MANY = 70_000

VALUES: dict[str, Callable[[str], Any]] = {
    "few": lambda dtype: DRAW.integers(0, 100, MANY).astype(dtype),
    "many": lambda dtype: DRAW.integers(0, 1 << 30, MANY).astype(dtype),
    "some": lambda dtype: DRAW.integers(0, MANY, MANY).astype(dtype),
    "equal": lambda dtype: numpy.full(MANY, 7).astype(dtype),
    "both ends": lambda dtype: numpy.resize(
        numpy.array([numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, 5], dtype), MANY
    ),
    "a matrix": lambda dtype: DRAW.integers(0, 500, (MANY // 100, 100)).astype(dtype),
    "a view": lambda dtype: DRAW.integers(0, 500, (100, MANY // 50)).astype(dtype)[:, ::2].T,
}
CALLS: dict[str, Callable[..., Any]] = {
    "unique": lambda np, a, b: np.unique(a),
    "unique, inverse": lambda np, a, b: np.unique(a, return_inverse=True)[1],
    "unique, counts": lambda np, a, b: np.unique(a, return_counts=True)[1],
    "unique, index": lambda np, a, b: np.unique(a, True)[1],
    "union1d": lambda np, a, b: np.union1d(a, b),
    "intersect1d": lambda np, a, b: np.intersect1d(a, b),
    "intersect1d, indices": lambda np, a, b: np.intersect1d(a, b, return_indices=True)[2],
    "setdiff1d": lambda np, a, b: np.setdiff1d(a, b),
    "setxor1d": lambda np, a, b: np.setxor1d(a, b),
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("dtype", ["i8", "i4", "u8", "u4", "u2", "i1"])
@pytest.mark.parametrize("call", CALLS)
def test_sets_are_numpys(call: str, dtype: str, values: str) -> None:
    a, b = VALUES[values](dtype), VALUES["some"](dtype)[: MANY // 2]
    expected = CALLS[call](numpy, a, b)
    for given in ([lazyarray.array(x) for x in (a, b)], [lazyarray.array(x) + x.dtype.type(0) for x in (a, b)]):
        found = CALLS[call](lazyarray, *given)
        assert type(found) is lazyarray.ndarray
        assert found.dtype == expected.dtype
        assert found.flags.owndata == expected.flags.owndata
        assert numpy.array_equal(numpy.asarray(found), expected)
        assert numpy.array_equal(numpy.asarray(given[0]), a)


@pytest.mark.parametrize("dtype", ["f8", "?", "c16", ">i8", "M8[s]", "S3"])
def test_other_dtypes_are_numpys_own(dtype: str) -> None:
    a = DRAW.integers(0, 9, MANY).astype(dtype)
    numpy.testing.assert_array_equal(numpy.asarray(lazyarray.unique(lazyarray.array(a))), numpy.unique(a))


def test_axes_are_numpys_own() -> None:
    a = DRAW.integers(0, 3, (MANY // 10, 10))
    numpy.testing.assert_array_equal(
        numpy.asarray(lazyarray.unique(lazyarray.array(a), axis=0)), numpy.unique(a, axis=0)
    )


def test_distinct_integers_are_found_here() -> None:
    for name in distinct.NAMES:
        assert distinct.function_of(name) not in (None, getattr(numpy, name))
