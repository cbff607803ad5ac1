"""Places of the least and the greatest: the first of equal ones and the first NaN, wherever in a vector they stand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import lazyarray

CODES = ("f4", "f8", "i4", "i8", "u4", "u8")
LENGTHS = (1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129)


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    with lazyarray.config.set(compile_at=1, eager_below=0):
        yield


def check(table: numpy.ndarray, axis: int | None) -> None:
    """Both places of a table and of what a kernel computes of it."""
    lazy = lazyarray.array(table)
    for name in ("argmax", "argmin"):
        numpy.testing.assert_array_equal(numpy.asarray(getattr(lazy, name)(axis=axis)), getattr(table, name)(axis=axis))
        computed = getattr(lazy + lazy, name)(axis=axis)
        numpy.testing.assert_array_equal(numpy.asarray(computed), getattr(table + table, name)(axis=axis))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("length", LENGTHS)
def test_the_best_stands_at_any_place_of_a_row_and_again_later(code: str, length: int) -> None:
    table = numpy.ones((length, length), code)
    numpy.fill_diagonal(table, 2)
    check(table, 1)
    table[:, length // 2 :] = 2
    check(table, 1)
    numpy.fill_diagonal(table, 0)
    check(table, 1)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("length", LENGTHS)
def test_the_first_nan_stands_at_any_place_of_a_row(code: str, length: int) -> None:
    table = numpy.random.default_rng(length).random((length, length)).astype(code)
    numpy.fill_diagonal(table, numpy.nan)
    check(table, 1)
    table[:, length // 2 :] = numpy.nan
    check(table, 1)
    for number in (numpy.nan, numpy.inf, -numpy.inf, 0.0):
        table[:] = number
        check(table, 1)
    table[:, ::2] = -0.0
    check(table, 1)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("at", [0, 1, 77_777, 149_998])
def test_the_best_of_much_memory(code: str, at: int) -> None:
    table = (numpy.random.default_rng(at).random(150_000) * 1000).astype(code)
    for number in (2000, 0, numpy.nan, numpy.inf):
        if code[0] == "f" or 0 <= number <= 2000:
            table[at] = table[-1] = number
            check(table, None)
            check(table.reshape(300, 500), None)
            check(table.reshape(300, 500), 1)


def test_a_row_without_nan_raises_nothing_and_one_with_nan_warns_of_nothing() -> None:
    table = numpy.random.default_rng(3).random((50, 999))
    table[7, 5] = numpy.nan
    with numpy.errstate(all="raise"):
        check(table, 1)
        check(table, None)
