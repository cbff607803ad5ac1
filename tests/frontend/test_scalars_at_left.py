"""NumPy's scalars, and its arrays without axes, on the left of an operator: our arrays answer as NumPy's do."""

from __future__ import annotations

import operator
import warnings
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


@pytest.mark.parametrize("dtype", ["i8", "f4", "f8", "c16"])
def test_operators_on_large_memory_that_is_the_arrays_alone_are_recorded(dtype: str) -> None:
    array = lazyarray.asarray(numpy.abs(whole_numbers(200_000)).astype(dtype))
    number = numpy.dtype(dtype).type(2)
    with lazyarray.record_runs() as runs:
        results = [number * array, number + array, number == array, lazyarray.maximum(number, array)]
    assert not runs.evaluations
    assert all(result.shape == array.shape for result in results)


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


CODES = ("?", "b", "B", "h", "i", "I", "l", "L", "q", "e", "f", "d", "g", "F", "D")
NUMBERS = (3, -2, 0.5, 2.5, 1 << 40, 2j, True)
OPERATORS = (
    *COMPARISONS,
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.and_,
    operator.lshift,
    numpy.maximum,
    numpy.arctan2,
    numpy.power,
    numpy.divmod,
)


def told(call: Any) -> Any:
    """The result, or the error's class and text, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = call()
        except Exception as error:
            found = (type(error), str(error))
    return found, [(one.category, str(one.message)) for one in caught]


def agree(found: Any, expected: Any, exact: bool) -> None:
    if isinstance(expected[0], tuple) and isinstance(expected[0][0], type):
        assert found == expected
        return
    assert found[1] == expected[1]
    both = (found[0], expected[0]) if type(expected[0]) is tuple else ((found[0],), (expected[0],))
    for got, wanted in zip(*both, strict=True):
        assert type(got) is (lazyarray.ndarray if type(wanted) is numpy.ndarray else type(wanted))
        plain = numpy.asarray(got)
        assert plain.dtype == wanted.dtype
        assert plain.shape == wanted.shape
        if exact or wanted.dtype.kind not in "fc":
            numpy.testing.assert_array_equal(plain, wanted)
            if wanted.dtype.kind == "f":
                numpy.testing.assert_array_equal(numpy.signbit(plain), numpy.signbit(wanted))
        else:
            numpy.testing.assert_allclose(plain, wanted, rtol=8 * numpy.finfo(wanted.dtype).eps)


@pytest.mark.parametrize("operate", OPERATORS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("code", CODES)
def test_numbers_of_every_class_beside_small_arrays_are_numpys(code: str, operate: Any) -> None:
    """On both sides: scalars of NumPy's, Python's, and arrays without axes."""
    values = numpy.array([[1, 0, 2], [3, 1, 5]]).astype(code)
    exact = operate not in (operator.pow, numpy.power, numpy.arctan2)
    scalars = [numpy.dtype(one).type(two) for one in CODES for two in (0, 3)]
    scalars += [numpy.float64(numpy.inf), numpy.int64(1 << 60), numpy.complex128(1 - 2j)]
    for number in (*NUMBERS, *scalars, *map(numpy.asarray, scalars)):
        for turned in (False, True):
            for part in (slice(None), (slice(None), slice(None, None, 2)), (0, 1, ...)):
                mine = lazyarray.asarray(values.copy())[part]
                pair = (number, values[part])
                ours = (number, mine)
                if turned:
                    pair, ours = pair[::-1], ours[::-1]
                agree(told(lambda: operate(*ours)), told(lambda: operate(*pair)), exact)  # noqa: B023


class Foreign:
    """An array of somebody's who answers NumPy's functions."""

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function, types


def test_numpys_functions_of_our_arrays_are_ours_unless_somebody_else_answers() -> None:
    array = lazyarray.arange(5.0)
    for _ in range(3):
        assert type(numpy.concatenate((array, numpy.ones(2)))) is lazyarray.ndarray
        assert type(numpy.cumsum(array)) is lazyarray.ndarray
        numpy.testing.assert_array_equal(numpy.concatenate((array, array)), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4])
        with pytest.raises(ValueError, match="need at least one array"):
            numpy.concatenate(())
        function, types = numpy.concatenate((array, Foreign()))
        assert function is numpy.concatenate
        assert set(types) == {lazyarray.ndarray, Foreign}
        with pytest.raises(AttributeError):
            array.__array_function__([], (lazyarray.ndarray,), (), {})
        assert array.__array_function__(numpy.sum, (lazyarray.ndarray,), (array,), {"axis": 0}) == 10.0


def test_numpys_ufuncs_of_our_small_arrays_are_ours() -> None:
    array = lazyarray.arange(1.0, 4.0)
    for call in (numpy.exp, numpy.sqrt, lambda x: numpy.add(x, 1.0), lambda x: numpy.matmul(numpy.eye(3), x)):
        found = call(array)
        assert type(found) is lazyarray.ndarray
        numpy.testing.assert_allclose(numpy.asarray(found), call(numpy.arange(1.0, 4.0)), rtol=1e-15)
    for asked in (array, lazyarray.arange(70_000.0)):
        with pytest.raises(AttributeError):
            asked.__array_ufunc__([], "__call__", asked)
