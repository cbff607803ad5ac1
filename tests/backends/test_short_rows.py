"""Rows of every length up to some vectors: reductions and stores, also where memory ends with the row."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable
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
    "sum and place": lambda np, x: (x.sum(axis=1), x.argmax(axis=1)),
    "truths": lambda np, x: ((x > x[:1, :1]).any(axis=1), (x == x).all(axis=1), np.count_nonzero(x, axis=1)),
    "standard deviation": lambda np, x: (x.std(axis=1),),
    "kept, with extremes": lambda np, x: (x + x, x.max(axis=1)),
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


@pytest.mark.skipif(sys.platform != "linux", reason="memory is protected by a call of Linux's C library")
@pytest.mark.parametrize("code", ["u1", "i2", "b1", "f2", "f4"])
def test_nothing_is_read_or_written_beyond_the_memory_that_there_is(code: str) -> None:
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    memory = np.frombuffer(pages, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    end = memory.ctypes.data + mmap.PAGESIZE
    assert libc.mprotect(ctypes.c_void_p(end), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    try:
        for length in (1, 2, 3, 7, 13, 31, 33, 63, 65, 100):
            values = rows_of(code, 5, length)
            x = memory[mmap.PAGESIZE - values.nbytes : mmap.PAGESIZE].view(code).reshape(values.shape)
            x[...] = values
            with la.config.set(eager_below=0):
                lazy = la.asarray(x)
                check(REDUCED["truths"], values, lazy)
                check(REDUCED["extremes"], values, lazy)
                before = bytes(memory[: mmap.PAGESIZE - values.nbytes])
                la.add(lazy, lazy, out=lazy)
                la.evaluate(lazy)
            np.testing.assert_array_equal(x, values + values)
            assert bytes(memory[: mmap.PAGESIZE - values.nbytes]) == before
    finally:
        assert libc.mprotect(ctypes.c_void_p(end), ctypes.c_size_t(mmap.PAGESIZE), 3) == 0
