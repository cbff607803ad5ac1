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

DRAW = numpy.random.default_rng(6)
NAN, INF = numpy.nan, numpy.inf
SIZES = (4096, 4097, 70_000, 70_001)

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
}


def agree(call: Callable[..., Any], values: Any) -> None:
    """That the call gives the same of NumPy's array and of ours, in memory and pending, with the same warnings."""

    def told(np: Any, a: Any) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            return numpy.asarray(call(np, a)), [str(one.message) for one in seen]

    expected, words = told(numpy, values)
    for given in (lazyarray.array(values), lazyarray.array(values) * values.dtype.type(1)):
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
    for size in DRAW.integers(4096, 20_000, 4):
        agree(lambda np, a: np.quantile(a, q), VALUES["any"](size))
        agree(lambda np, a: np.percentile(a, 100 * q), VALUES["any"](size))


def test_scalars_are_numpys() -> None:
    a = lazyarray.array(DRAW.random(5000))
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
    values = DRAW.random(5000)
    with pytest.raises(Exception) as expected:  # noqa: PT011
        call(numpy, values)
    with pytest.raises(type(expected.value)) as found:
        call(lazyarray, lazyarray.array(values))
    assert str(found.value) == str(expected.value)


def test_places_are_found_here() -> None:
    for name in quantiles.NAMES:
        assert quantiles.function_of(name) not in (None, getattr(numpy, name))
