"""Holds that medians and quantiles of many values are NumPy's to the bit."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import quantiles
from lazyarray.frontend.selections import MOST_PLACES, select

DRAW = numpy.random.default_rng(6)
NAN, INF = numpy.nan, numpy.inf
SIZES = (8192, 8193, 70_000, 70_001)


def quantiles_are_compiled() -> bool:
    return select(numpy.arange(3.0), 0, [1]) is not None


VALUES: dict[str, Callable[[int], Any]] = {
    "any": lambda size: DRAW.standard_normal(size) * 10.0 ** DRAW.integers(-9, 9, size),
    "few": lambda size: DRAW.integers(-3, 4, size).astype(float),
    "equal": lambda size: numpy.full(size, 2.5),
    "zeros of two signs": lambda size: numpy.resize([0.0, -0.0, 1.0, -1.0, -0.0], size),
    "zeros": lambda size: numpy.resize([0.0, 0.0, 1.0, -1.0], size),
    "rising": lambda size: numpy.arange(size) / 7,
    "falling": lambda size: -numpy.arange(size) / 7,
    "with NaN": lambda size: numpy.where(numpy.arange(size) == 77, NAN, DRAW.random(size)),
    "NaN alone": lambda size: numpy.full(size, NAN),
    "NaN here and there": lambda size: numpy.where(DRAW.random(size) < 0.3, NAN, DRAW.random(size)),
    "infinite ones": lambda size: numpy.resize([INF, -INF, 1.0, INF, -INF], size),
    "huge ones": lambda size: numpy.resize([1.7e308, -1.7e308], size),
    "a matrix": lambda size: DRAW.random((2, size // 2)),
    "a view": lambda size: DRAW.random(2 * size)[::-2],
}
CALLS: dict[str, Callable[..., Any]] = {
    "median": lambda np, a: np.median(a),
    "median, last axis": lambda np, a: np.median(a, axis=-1),
    "median, keepdims": lambda np, a: np.median(a, keepdims=True),
    "nanmedian": lambda np, a: np.nanmedian(a),
    "nanmedian, first axis": lambda np, a: np.nanmedian(a, axis=0),
    "percentile": lambda np, a: np.percentile(a, 30),
    "percentiles": lambda np, a: np.percentile(a, [25, 50.0, 75]),
    "ends": lambda np, a: np.percentile(a, (0, 100, 99.99, 1e-9)),
    "quantile": lambda np, a: np.quantile(a, 0.123456789),
    "quantiles": lambda np, a: np.quantile(a, [0.9, 0.1, 0.5, 0.9]),
    "quantiles, an array": lambda np, a: np.quantile(a, numpy.linspace(0, 1, 7)),
    "quantile, lower": lambda np, a: np.quantile(a, 0.3, method="lower"),
    "quantile, along an axis": lambda np, a: np.quantile(a, 0.3, axis=0),
    "quantiles, along an axis": lambda np, a: np.quantile(a, [[0.3, 0.1], [1.0, 0.0]], axis=-1, keepdims=True),
    "more than are looked for": lambda np, a: np.percentile(a, numpy.arange(0, 101, 5)),
    "nanpercentile": lambda np, a: np.nanpercentile(a, [30, 60.5]),
    "nanquantile, first axis": lambda np, a: np.nanquantile(a[..., :4], 0.3, axis=0),
    "no interpolation": lambda np, a: np.quantile(a, [0.3, 0.6], method="inverted_cdf"),
    "another interpolation": lambda np, a: np.quantile(a, [0.3, 0.6], method="hazen"),
}


def agree(call: Callable[..., Any], values: Any) -> None:
    """That the call gives the same of NumPy's array and of ours, in memory and pending, with the same warnings."""

    def told(np: Any, a: Any) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            return numpy.asarray(call(np, a)), [str(one.message) for one in seen]

    one = values.dtype.type(1)
    for plain, given in ((values, lazyarray.array(values)), (values * one, lazyarray.array(values) * one)):
        expected, words = told(numpy, plain)
        kept = numpy.array(given)
        found, ours = told(lazyarray, given)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()
        assert ours == words
        assert numpy.asarray(given).tobytes() == kept.tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize(
    "shape", [(300, 200), (201, 303), (9, 70, 80), (4, 20_000), (20_000, 5), (3, 600, 40)], ids=str
)
@pytest.mark.parametrize("values", VALUES)
def test_medians_of_lines_are_numpys(values: str, shape: tuple[int, ...], dtype: str) -> None:
    size = math.prod(shape)
    made = VALUES[values](size + size % 2).reshape(-1)[:size].reshape(shape)
    if dtype != "f8" and not (numpy.isfinite(made).all() and abs(made).max() < 2e9):
        return
    for axis in (*range(len(shape)), -1, (0, 1)):
        agree(lambda np, a, axis=axis: np.median(a, axis), made.astype(dtype))
    agree(lambda np, a: np.median(a, axis=0, keepdims=True), made.astype(dtype).T)


def some_nan(a: Any, share: float) -> Any:
    draw = numpy.random.default_rng(a.size)
    return numpy.where(draw.random(a.shape) < share, NAN, a)


HOLED: dict[str, Callable[[Any], Any]] = {
    "no NaN": lambda a: a,
    "few NaN": lambda a: some_nan(a, 0.01),
    "many NaN": lambda a: some_nan(a, 0.6),
    "lines of NaN": lambda a: numpy.where(numpy.arange(a.shape[-1]) % 7 == 3, NAN, some_nan(a, 0.1)),
    "NaN alone": lambda a: numpy.full_like(a, NAN),
    "NaN of two signs": lambda a: numpy.where(a > 1, -NAN, some_nan(a, 0.3)),
    "zeros of two signs": lambda a: numpy.where(abs(a) < 0.5, a * 0, some_nan(a, 0.1)),
    "infinite ones": lambda a: numpy.where(abs(a) > 0.3, a / 0.0, some_nan(a, 0.1)),
    "huge ones": lambda a: numpy.where(a > 0, numpy.finfo(a.dtype).max, some_nan(a, 0.1)),
    "equal ones": lambda a: some_nan(a.round(), 0.1) + 100,
}


@pytest.mark.filterwarnings("ignore")  # of NumPy, which is asked what it warns of
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("shape", [(20, 30, 40), (700, 40), (40, 700), (3, 90, 90), (5000, 4)], ids=str)
@pytest.mark.parametrize("values", HOLED)
def test_medians_of_lines_without_their_nan_are_numpys(values: str, shape: tuple[int, ...], dtype: str) -> None:
    with numpy.errstate(all="ignore"):
        made = HOLED[values](numpy.random.default_rng(3).standard_normal(shape)).astype(dtype)
    for axis in range(len(shape)):
        agree(lambda np, a, axis=axis: np.nanmedian(a, axis), made)
    agree(lambda np, a: np.nanmedian(a, axis=(0, 1), keepdims=True), made)
    agree(lambda np, a: np.nanmedian(a.T, axis=0), made)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("call", CALLS)
def test_quantiles_are_numpys(call: str, values: str, size: int) -> None:
    agree(CALLS[call], VALUES[values](size))


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "i4", "u1", "?", ">f8"])
@pytest.mark.parametrize("call", CALLS)
def test_quantiles_of_other_dtypes(call: str, dtype: str) -> None:
    values = (DRAW.integers(0, 2 if dtype == "?" else 100, 20_001)).astype(dtype)
    try:
        CALLS[call](numpy, values)
    except TypeError:
        return  # NumPy subtracts no truth values
    agree(CALLS[call], values)


@pytest.mark.parametrize("q", [DRAW.random() for _ in range(12)])
def test_any_quantile_of_any_size(q: float) -> None:
    for size in DRAW.integers(8192, 40_000, 4):
        agree(lambda np, a: np.quantile(a, q), VALUES["any"](size))
        agree(lambda np, a: np.percentile(a, 100 * q), VALUES["any"](size))


def test_scalars_are_numpys() -> None:
    a = lazyarray.array(DRAW.random(9000))
    for found in (lazyarray.median(a), lazyarray.percentile(a, 3), lazyarray.quantile(a, 0.5)):
        assert type(found) is numpy.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda np, a: np.percentile(a, 101),
        lambda np, a: np.quantile(a, [0.5, -0.1]),
        lambda np, a: np.quantile(a, NAN),
        lambda np, a: np.quantile(a, "x"),
        lambda np, a: np.median(a, axis=3),
        lambda np, a: np.quantile(a, 0.5, method="none such"),
    ],
)
def test_errors_are_numpys(call: Callable[..., Any]) -> None:
    values = DRAW.random(9000)
    with pytest.raises(Exception) as expected:  # noqa: PT011
        call(numpy, values)
    with pytest.raises(type(expected.value)) as found:
        call(lazyarray, lazyarray.array(values))
    assert str(found.value) == str(expected.value)


def test_places_are_found_here() -> None:
    for name in quantiles.NAMES:
        assert quantiles.function_of(name) not in (None, getattr(numpy, name))


LINES = (1, 2, 3, 5, 16, 17, 63, 64, 65, 100, 1000, 4097, 40_001)
KINDS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "any": lambda draw, shape: draw.standard_normal(shape) * 1000,
    "few": lambda draw, shape: draw.integers(-2, 3, shape),
    "mostly one": lambda draw, shape: numpy.where(draw.random(shape) < 0.9, 7, draw.integers(0, 100, shape)),
    "saws": lambda draw, shape: numpy.resize(numpy.arange(97.0), shape),
    "rising": lambda draw, shape: numpy.sort(draw.standard_normal(shape) * 50, axis=1),
    "ends": lambda draw, shape: numpy.resize([numpy.inf, -numpy.inf, 5.0, numpy.inf], shape),
    "with NaN": lambda draw, shape: numpy.where(draw.random(shape) < 0.1, NAN, draw.random(shape)),
    "NaN mostly": lambda draw, shape: numpy.where(draw.random(shape) < 0.9, NAN, draw.random(shape)),
}


@pytest.mark.skipif(not quantiles_are_compiled(), reason="values at places are found by C")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4", "u4", "i2", "u2", "i1", "u1"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", LINES)
def test_values_at_places_are_those_of_a_sort(length: int, kind: str, dtype: str) -> None:
    draw = numpy.random.default_rng(length)
    if kind in ("ends", "with NaN", "NaN mostly") and dtype[0] != "f":
        return
    for outer, inner in ((1, 1), (3, 1), (70, 1), (2, 3), (1, 130)):
        if outer * inner * length > 2_000_000:
            continue
        values = KINDS[kind](draw, (outer, length, inner)).astype(dtype)
        places = sorted({int(place) for place in draw.integers(0, length, 4)} | {length - 1, length // 2})
        for asked in (places, [0, length - 1] if length > 1 else [0], [length // 2]):
            expected = numpy.moveaxis(numpy.sort(values, axis=1).take(asked, axis=1), 1, 0)
            if dtype[0] == "f" and ((expected == 0).any() and numpy.signbit(values[values == 0]).any()):
                continue
            for given, axis in ((values, 1), (values.transpose(2, 1, 0), 1), (values[:, ::-1], 1)):
                found = select(given, axis, asked)
                assert found is not None
                if given.base is values and given.shape != values.shape:
                    found = found.transpose(0, 2, 1)
                assert found.tobytes() == expected.tobytes()
    assert select(numpy.zeros(length), 0, [*range(MOST_PLACES + 1)]) is None


@pytest.mark.skipif(not quantiles_are_compiled(), reason="values at places are found by C")
@pytest.mark.parametrize("length", LINES[1:])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_equal_values_of_several_bits_are_left_to_numpy(dtype: str, length: int) -> None:
    zeros = numpy.zeros((length, 70), dtype)
    zeros[0] = -0.0
    assert select(zeros, 0, [length // 2]) is None
    assert select(zeros[:, 0].copy(), 0, [length - 1]) is None
    nans = numpy.full(length, NAN, dtype)
    assert numpy.isnan(select(nans, 0, [length - 1])).all()
    nans[0] = -nans[0]
    assert select(nans, 0, [length - 1]) is None
    other = numpy.ones((length, 70), dtype)
    other[0] = -0.0
    assert (select(other, 0, [length - 1]) == 1).all()
