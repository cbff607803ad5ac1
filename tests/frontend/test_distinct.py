"""Holds that distinct elements of many numbers, and functions on sets of them, are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import distinct

COMPILED = type(distinct.find).__name__ == "cython_function_or_method"
DRAW = numpy.random.default_rng(4)
MANY = 70_000
NAN = numpy.nan
OTHER_NAN = numpy.array([0x7FF8000000000001], "u8").view("f8")[0]


def ends_of(dtype: str) -> tuple[Any, Any]:
    known = numpy.finfo(dtype) if numpy.dtype(dtype).kind == "f" else numpy.iinfo(dtype)
    return known.min, known.max


VALUES: dict[str, Callable[[str], Any]] = {
    "few": lambda dtype: DRAW.integers(0, 100, MANY).astype(dtype),
    "many": lambda dtype: DRAW.integers(0, 1 << 30, MANY).astype(dtype),
    "some": lambda dtype: DRAW.integers(0, MANY, MANY).astype(dtype),
    "runs": lambda dtype: numpy.repeat(DRAW.integers(0, 1 << 30, MANY // 1000), 1000).astype(dtype),
    "mostly different": lambda dtype: numpy.append(DRAW.permutation(MANY - 100) * 199, numpy.full(100, 1 << 24)).astype(
        dtype
    ),
    "below zero": lambda dtype: (DRAW.integers(0, 100, MANY) - 50).astype(dtype),
    "equal": lambda dtype: numpy.full(MANY, 7).astype(dtype),
    "both ends": lambda dtype: numpy.resize(numpy.array([*ends_of(dtype), 5], dtype), MANY),
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
    "isin": lambda np, a, b: np.isin(a, b),
    "isin, sorted": lambda np, a, b: np.isin(a, b, kind="sort", invert=True),
    "isin, distinct": lambda np, a, b: np.isin(np.unique(a), np.unique(b), assume_unique=True, kind="sort"),
    "unique_all": lambda np, a, b: np.unique_all(a).indices,
    "unique_counts": lambda np, a, b: np.unique_counts(a).counts,
    "unique_inverse": lambda np, a, b: np.unique_inverse(a).inverse_indices,
    "unique_values": lambda np, a, b: np.sort(np.unique_values(a)),  # in any order
    "unique, all": lambda np, a, b: np.unique(a, True, True, True)[0],
}


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("dtype", ["i8", "i4", "u8", "u4", "i2", "u2", "i1", "u1", "f8", "f4"])
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


@pytest.mark.parametrize("values", ["few", "below zero", "a matrix", "a view"])
@pytest.mark.parametrize("wanted", [(), (True,), (False, True), (False, False, True), (True, True, True)], ids=str)
def test_distinct_truth_values_are_numpys(wanted: tuple[bool, ...], values: str) -> None:
    a = VALUES[values]("i8") % 3 == 1
    for given in (a, numpy.zeros_like(a), numpy.ones_like(a)):
        expected = numpy.unique(given, *wanted)
        found = lazyarray.unique(lazyarray.array(given), *wanted)
        for one, other in zip(*([x] if not wanted else x for x in (expected, found)), strict=True):
            assert numpy.asarray(other).dtype == one.dtype
            assert numpy.array_equal(numpy.asarray(other), one)


@pytest.mark.skipif(not COMPILED, reason="numbers are counted in C")
@pytest.mark.parametrize("dtype", ["i8", "i4", "u8", "u4", "i2", "u2", "i1", "u1", "?", "f8", "f4"])
def test_labels_are_counted_and_not_sorted(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_ones = []
    for name in ("sort", "rank"):
        monkeypatch.setattr(distinct, name, lambda *args: sorted_ones.append(args))
    a = VALUES["few"](dtype)
    found = distinct.find(a, True, True, True, inverse_shape=a.shape)
    assert found is not None
    for one, other in zip(numpy.unique(a, True, True, True), found, strict=True):
        assert other.dtype == one.dtype
        assert other.tobytes() == one.tobytes()
    assert not sorted_ones


@pytest.mark.parametrize("odd", [0.5, -0.0, NAN, numpy.inf, -numpy.inf, 2.0**31, -(2.0**31), 1e300], ids=str)
@pytest.mark.parametrize("place", [0, 40, 5000, MANY - 1])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_one_number_that_is_no_integer_is_found(dtype: str, place: int, odd: float) -> None:
    a = VALUES["few"](dtype)
    with numpy.errstate(over="ignore"):
        a[place] = odd
    for wanted in ((True, True, True), (False, False, True)):
        for one, other in zip(numpy.unique(a, *wanted), lazyarray.unique(lazyarray.array(a), *wanted), strict=True):
            assert numpy.asarray(other).tobytes() == one.tobytes()


@pytest.mark.parametrize("dtype", ["i8", "i4", "u8", "u4", "i2"])
@pytest.mark.parametrize("span", [1, 2, 1023, 1024, 1025, MANY // 2 - 1, MANY // 2, MANY // 2 + 1])
@pytest.mark.parametrize("end", ["least", "greatest"])
def test_ranges_at_the_ends_of_a_dtype(dtype: str, span: int, end: str) -> None:
    least, most = ends_of(dtype)
    start = int(least) if end == "least" else int(most) - span + 1
    a = numpy.array([start + int(k) for k in DRAW.integers(0, span, MANY)], dtype)
    a[:2] = start, start + span - 1
    for one, other in zip(
        numpy.unique(a, True, True, True), lazyarray.unique(lazyarray.array(a), True, True, True), strict=True
    ):
        assert numpy.array_equal(numpy.asarray(other), one)


def test_bytes_that_are_no_truth_values_are_numpys() -> None:
    a = DRAW.integers(0, 3, MANY).astype("u1").view(bool)
    expected = numpy.unique(a, return_counts=True)
    for one, other in zip(expected, lazyarray.unique(lazyarray.array(a), return_counts=True), strict=True):
        assert numpy.asarray(other).tobytes() == one.tobytes()


@pytest.mark.parametrize("dtype", ["?", "c16", ">i8", ">f8", "f2", "M8[s]", "S3"])
def test_other_dtypes_are_numpys_own(dtype: str) -> None:
    a = DRAW.integers(0, 9, MANY).astype(dtype)
    numpy.testing.assert_array_equal(numpy.asarray(lazyarray.unique(lazyarray.array(a))), numpy.unique(a))


def test_axes_are_numpys_own() -> None:
    a = DRAW.integers(0, 3, (MANY // 10, 10))
    numpy.testing.assert_array_equal(
        numpy.asarray(lazyarray.unique(lazyarray.array(a), axis=0)), numpy.unique(a, axis=0)
    )


@pytest.mark.parametrize("equal_nan", [True, False])
@pytest.mark.parametrize("put", [[0.0, -0.0], [NAN], [NAN, OTHER_NAN], [NAN, -0.0, -NAN, 0.0], [-0.0, NAN]], ids=str)
@pytest.mark.parametrize("share", [2, 1000, 100_000])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_zeros_and_nan_are_numpys_to_the_bit(dtype: str, share: int, put: list[float], equal_nan: bool) -> None:
    draw = numpy.random.default_rng(share)
    a = draw.standard_normal(MANY).round(2).astype(dtype)
    a[a == 0] = 5
    for k, value in enumerate(put):
        a[k :: share * len(put)] = numpy.array(value, dtype)
    a = draw.permutation(a)
    for wanted in ((), (True,), (False, True), (False, False, True), (True, True, True)):
        expected = numpy.unique(a, *wanted, equal_nan=equal_nan)
        found = lazyarray.unique(lazyarray.array(a), *wanted, equal_nan=equal_nan)
        for one, other in zip(*([x] if not wanted else x for x in (expected, found)), strict=True):
            assert numpy.asarray(other).tobytes() == one.tobytes()
    for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d", "isin"):
        expected = getattr(numpy, name)(a, a[: MANY // 3])
        found = getattr(lazyarray, name)(lazyarray.array(a), lazyarray.array(a[: MANY // 3]))
        assert numpy.asarray(found).tobytes() == expected.tobytes()


def test_distinct_numbers_are_found_here() -> None:
    for name in distinct.NAMES:
        assert distinct.function_of(name) not in (None, getattr(numpy, name))
