"""Rows of every length up to some vectors: reductions and stores, also where memory ends with the row."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import lazyarray as la

LENGTHS = (*range(1, 36), 47, 48, 49, 63, 64, 65, 66, 96, 127, 128, 129, 160, 193)
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "u1", "b1", "c16")
Results = Callable[[Any, Any], tuple[Any, ...]]
REDUCED: dict[str, Results] = {
    "extremes": lambda np, x: (x.min(axis=1), x.max(axis=1)),
    "sum and extremes": lambda np, x: (x.sum(axis=1), x.min(axis=1), x.max(axis=1)),
    "places": lambda np, x: (x.argmin(axis=1), x.argmax(axis=1)),
    "places of what is made": lambda np, x: ((x == x[:1, :1]).argmax(axis=1), (x != x[:1, :1]).argmin(axis=1)),
    "sum and place": lambda np, x: (x.sum(axis=1), x.argmax(axis=1)),
    "truths": lambda np, x: ((x > x[:1, :1]).any(axis=1), (x == x).all(axis=1), np.count_nonzero(x, axis=1)),
    "standard deviation": lambda np, x: (x.std(axis=1),),
    "kept, with extremes": lambda np, x: (x + x, x.max(axis=1)),
    "backwards": lambda np, x: (x[:, ::-1] | x if x.dtype == bool else x[:, ::-1] + x, x[:, ::-1].max(axis=1)),
    "turned": lambda np, x: (np.ascontiguousarray(x.T), x.T.max(axis=1)),
    "all of it": lambda np, x: (x.max(), (x > x[:1, :1]).any()),
}


def rows_of(code: str, rows: int, length: int) -> Any:
    rng = np.random.default_rng(rows * length)
    if code == "b1":
        return rng.random((rows, length)) < 3 / (length + 3)
    values = rng.integers(-40, 40, (rows, length)) / (4 if code[0] in "fc" else 1)
    if code == "u1":
        values = abs(values)
    x = values.astype(code)
    if code[0] in "fc":
        x[rng.random(x.shape) < 0.02] = np.nan
        x[rng.random(x.shape) < 0.05] = -0.0
    return x


def check(results: Results, x: Any, lazy: Any) -> None:
    with np.errstate(all="ignore"):
        found, expected = results(la, lazy), results(np, x)
        la.evaluate(*found)
    for one, wanted in zip(found, expected, strict=True):
        assert one.dtype == wanted.dtype
        np.testing.assert_array_equal(np.asarray(one), wanted)


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("name", REDUCED)
def test_rows_of_every_length_reduce_as_numpys(name: str, code: str) -> None:
    for length in LENGTHS:
        with la.config.set(eager_below=0):
            x = rows_of(code, 7, length)
            check(REDUCED[name], x, la.array(x))


@pytest.mark.parametrize("form", ["f8", "u1"])
def test_the_first_true_of_a_long_line_is_found_by_many_tasks(form: str) -> None:
    values = np.zeros(300_000, form)
    for place in (0, 5, 63, 64, 299_999, None):
        x = values.copy()
        if place is not None:
            x[place] = 1
        lazy = la.array(x)
        for found, wanted in (((lazy > 0).argmax(), (x > 0).argmax()), ((lazy == 0).argmin(), (x == 0).argmin())):
            assert int(found) == int(wanted)


def pages(guarded: int) -> Iterator[Any]:
    """The bytes of one of two neighbouring pages; the other, `guarded`, may not be touched."""
    if sys.platform != "linux":
        pytest.skip("memory is protected by a call of Linux's C library")
    memory = np.frombuffer(mmap.mmap(-1, 2 * mmap.PAGESIZE), np.uint8)
    libc, size = ctypes.CDLL(None), ctypes.c_size_t(mmap.PAGESIZE)
    guard = ctypes.c_void_p(memory.ctypes.data + guarded * mmap.PAGESIZE)
    assert libc.mprotect(guard, size, 0) == 0
    yield np.split(memory, 2)[1 - guarded]
    assert libc.mprotect(guard, size, 3) == 0


@pytest.fixture
def page() -> Iterator[Any]:
    """The bytes of a page behind which nothing may be read."""
    yield from pages(1)


@pytest.fixture
def later_page() -> Iterator[Any]:
    """The bytes of a page before which nothing may be read."""
    yield from pages(0)


# An `eager_below` of 0 would have what others can write copied.
@pytest.mark.parametrize("code", ["u1", "i2", "b1", "f2", "f4"])
def test_nothing_is_read_or_written_beyond_the_memory_that_there_is(code: str, page: Any) -> None:
    for length in (1, 2, 3, 7, 13, 31, 33, 63, 65, 100):
        values = rows_of(code, 5, length)
        x = page[-values.nbytes :].view(code).reshape(values.shape)
        x[...] = values
        before = bytes(page[: -values.nbytes])
        with la.config.set(eager_below=1):
            lazy = la.asarray(x)
            check(REDUCED["truths"], values, lazy)
            check(REDUCED["extremes"], values, lazy)
            la.add(lazy, lazy, out=lazy)
            la.evaluate(lazy)
        np.testing.assert_array_equal(x, values + values)
        assert bytes(page[: -values.nbytes]) == before


@pytest.mark.parametrize("code", ["u1", "i2", "f4", "f8", "c16"])
def test_nothing_is_read_before_the_memory_that_there_is(code: str, later_page: Any) -> None:
    for length in (1, 2, 3, 7, 13, 31, 33, 63, 65, 100):
        values = rows_of(code, 2, length)
        x = later_page[: values.nbytes].view(code).reshape(values.shape)
        x[...] = values
        with la.config.set(eager_below=1):
            check(REDUCED["backwards"], values, la.asarray(x))


@pytest.mark.parametrize("code", ["u1", "i2", "f4", "f8", "c8"])
@pytest.mark.parametrize("step", [2, 3, 4])
def test_elements_apart_are_read_up_to_the_last(code: str, step: int, page: Any) -> None:
    for length in (8, 16, 64, 65, 128):
        values = rows_of(code, 1, length)[0]
        x = page[-((length - 1) * step + 1) * values.itemsize :].view(code)[::step]
        x[...] = values
        with la.config.set(eager_below=1), np.errstate(all="ignore"):
            lazy = la.asarray(x)
            for function in (lambda v: v + v, lambda v: v.max(), lambda v: v.std(), lambda v: v.sum()):
                np.testing.assert_array_equal(np.asarray(function(lazy)), function(values))
