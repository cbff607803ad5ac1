"""NumPy's scalars, and its arrays without axes, on the left of an operator: our arrays answer as NumPy's do."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import lazyarray

COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
SCALARS = ("?", "i1", "u8", "f2", "f8", "g", "c16")


def whole_numbers(size: int) -> Any:
    return numpy.random.default_rng(3).integers(-3, 3, size).astype(float)


@pytest.mark.parametrize("size", [5, 20_000, 200_000])
@pytest.mark.parametrize("dtype", SCALARS)
def test_comparisons_are_numpys(size: int, dtype: str) -> None:
    values = whole_numbers(size)
    array = lazyarray.asarray(values.copy())
    number = numpy.dtype(dtype).type(1)
    for compare in COMPARISONS:
        expected = compare(number, values)
        for left in (number, numpy.array(number)):
            found = compare(left, array)
            assert type(found) is lazyarray.ndarray
            assert found.dtype == expected.dtype
            numpy.testing.assert_array_equal(numpy.asarray(found), expected)


@pytest.mark.parametrize("size", [5, 200_000])
def test_an_array_without_axes_is_read_when_it_is_given(size: int) -> None:
    values = whole_numbers(size)
    number = numpy.array(2.0)
    product = number * lazyarray.asarray(values.copy())
    number[...] = 5.0
    numpy.testing.assert_array_equal(numpy.asarray(product), 2.0 * values)


@pytest.mark.parametrize("size", [5, 200_000])
def test_the_dtype_of_an_array_without_axes_counts(size: int) -> None:
    values = whole_numbers(size).astype(numpy.float16)
    array = lazyarray.asarray(values.copy())
    for dtype in (numpy.float32, numpy.int64, object):
        number = numpy.array(2, dtype=dtype)
        assert (number * array).dtype == (number * values).dtype


def test_errors_name_the_dtype_of_an_array_without_axes() -> None:
    times = numpy.array([1, 2], "m8[s]")
    with pytest.raises(TypeError) as expected:
        numpy.add(numpy.array(2.0, ">f8"), times)
    with pytest.raises(TypeError) as found:
        numpy.add(numpy.array(2.0, ">f8"), lazyarray.asarray(times))
    assert str(found.value) == str(expected.value)
