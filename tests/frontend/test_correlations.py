"""Holds that convolve and correlate of long arrays are NumPy's to the bit, whatever slides over what."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import correlations

DRAW = numpy.random.default_rng(12)
NAMES = ["convolve", "correlate"]
MODES = ["valid", "same", "full"]


def values_of(dtype: str, count: int) -> Any:
    """Numbers of very different sizes: sums of them depend on their order."""
    kind = numpy.dtype(dtype).kind
    if kind in "iu":
        top = numpy.iinfo(dtype)
        return DRAW.integers(top.min, top.max, count, dtype, endpoint=True)
    if kind == "b":
        return DRAW.random(count) < 0.5
    made = DRAW.standard_normal(count) * 10.0 ** DRAW.integers(-6, 4 if dtype == "f2" else 6, count)
    return (made + 1j * DRAW.permutation(made)).astype(dtype) if kind == "c" else made.astype(dtype)


def agree(name: str, a: Any, v: Any, *mode: Any) -> None:
    """That both give the same, of arrays in memory and of pending ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that overflow, which are told of elsewhere
        expected = getattr(numpy, name)(a, v, *mode)
        for ours in (lazyarray.array(a), lazyarray.array(a) * a.dtype.type(1)):
            found = getattr(lazyarray, name)(ours, lazyarray.array(v), *mode)
            assert type(found) is lazyarray.ndarray
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            assert numpy.asarray(found).tobytes() == expected.tobytes()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("taps", [*range(1, 13), 37, 400])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "i8", "u4", "i4", "u8"])
@pytest.mark.parametrize("name", NAMES)
def test_each_number_of_weights_gives_numpys_bits(name: str, dtype: str, taps: int, mode: str) -> None:
    agree(name, values_of(dtype, 70_001 if taps < 30 else 6001), values_of(dtype, taps), mode)


@pytest.mark.parametrize("kinds", ["f8 i8", "i4 f4", "f4 f8", "? f8", "i2 i4", "c8 f8", "f2 f2", "i1 i1", "? ?"])
@pytest.mark.parametrize("name", NAMES)
def test_two_dtypes_are_one_first(name: str, kinds: str) -> None:
    first, second = kinds.split()
    agree(name, values_of(first, 30_000), values_of(second, 7), "same")


@pytest.mark.parametrize("name", NAMES)
def test_views_the_shorter_first_and_defaults(name: str) -> None:
    a, v = values_of("f8", 90_000), values_of("f8", 60)
    agree(name, a[::-3], v[::2])
    agree(name, v, a)
    agree(name, v, a, "same")
    agree(name, a[:8000], a[1000:9000], "full")
    agree(name, a.astype(">f8"), v, "same")
    agree(name, numpy.where(a > 1, numpy.nan, a), numpy.array([numpy.inf, -0.0, 0.0]), "full")


@pytest.mark.parametrize("name", NAMES)
def test_errors_are_numpys(name: str) -> None:
    a = values_of("f8", 90_000)
    for rest in ((a[:0],), (a[:5], "vali"), (a[:5], 7), (a[:6].reshape(2, 3),)):
        errors = []
        for module in (numpy, lazyarray):
            given = [module.array(item) if isinstance(item, numpy.ndarray) else item for item in (a, *rest)]
            with pytest.raises(Exception) as caught:  # noqa: PT011  (it is compared)
                getattr(module, name)(*given)
            errors.append((type(caught.value), str(caught.value)))
        assert errors[0] == errors[1]


def test_few_products_and_very_many_weights_are_left_to_numpy() -> None:
    assert correlations._correlated(numpy.ones(200), numpy.ones(3), "same", False) is None
    long = numpy.ones(20_000)
    assert correlations._correlated(long, long[: correlations._MOST + 1], "valid", False) is None
