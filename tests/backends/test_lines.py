"""Short rows are walked in lines: values of every kind of operand and result, and what is read at ends of memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.schedule.kernel import Access, Instruction
from lazyarray_llvm import engine
from lazyarray_llvm.launch import form_of
from lazyarray_llvm.lower.emit import emit
from lazyarray_llvm.lower.kernel import cutter
from lazyarray_llvm.lower.tiling import line_elements
from lazyarray_llvm.moves.names import symbol
from tests.backends.test_short_rows import pages, rows_of
from tests.backends.test_tiles import COLUMN, FAR, NEAR, kernel_of

I = Instruction  # noqa: E741
DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "u1", "b1", "c8", "c16")
ROWS = (86, 100, 129, 700, 1025)
Line = Callable[[Any, Any, Any, Any, Any], Any]
# x, y: rows; c: a column; r: a row; w: a wider array.
LINES: dict[str, Line] = {
    "a row for all": lambda x, y, c, r, w: x == r,
    "a column": lambda x, y, c, r, w: x != c,
    "a column and a row alone": lambda x, y, c, r, w: c == r,
    "rows that lie apart": lambda x, y, c, r, w: w[:, : x.shape[1]] == y,
    "rows backwards": lambda x, y, c, r, w: x[::-1] == w[::-1, -x.shape[1] :],
    "elements backwards": lambda x, y, c, r, w: x[:, ::-1] == y,
    "every other row, and element": lambda x, y, c, r, w: x[::2, ::2] == w[: x[::2].shape[0], : x[:, ::2].shape[1]],
    "columns of a wider array": lambda x, y, c, r, w: (x == w[:, 1:2]) | (y != w[:, :1]),
    "a transposed array": lambda x, y, c, r, w: y == x.T.copy().T,
    "all of it": lambda x, y, c, r, w: ((x != c) & (y == r)) | (x == x[:1, :1]),
}


def arrays(code: str, rows: int, columns: int) -> list[Any]:
    """What a line is computed of: two of rows, a column, a row, a wider one."""
    shapes = ((rows, columns), (rows, columns), (rows, 1), (1, columns), (rows, columns + 3))
    return [np.nan_to_num(rows_of(code, *shape)) for shape in shapes]


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("name", LINES)
def test_short_rows_have_numpys_values(name: str, code: str) -> None:
    for rows in ROWS:
        for columns in (2, 3, 4, 5, 7, 15, 16):
            given = arrays(code, rows, columns)
            with la.config.set(eager_below=0):
                found = LINES[name](*map(la.array, given))
                np.testing.assert_array_equal(np.asarray(found), LINES[name](*given))


def added(x: Any) -> Any:
    """What is written in place: bools have no sum."""
    return x == x if x.dtype == bool else x + x


@pytest.mark.parametrize("code", DTYPES)
def test_rows_that_lie_apart_are_written_where_they_lie(code: str) -> None:
    for columns in (2, 3, 5, 16):
        given = arrays(code, 300, columns)
        with la.config.set(eager_below=0):
            lazy = [la.array(a) for a in given]
            for x, _, c, r, w in (given, lazy):
                w[:, :columns] = added(w[:, :columns])
                w[:, 1 : columns + 1][(x == r) | (x != c)] = given[3][0, 0]
                w[::-2, 2 : columns + 2] = x[::2]
                x[1:] = w[1:, -columns:]
            for one, wanted in zip(lazy, given, strict=True):
                np.testing.assert_array_equal(np.asarray(one), wanted)


def test_an_axis_before_the_rows_repeats_them_anew() -> None:
    x, r, c = (np.random.default_rng(1).random(shape) for shape in ((5, 400, 3), (5, 1, 3), (1, 400, 1)))
    with la.config.set(eager_below=0):
        found = (la.array(x) - la.array(r)) * la.array(c) + la.array(r[:, :, :1])
        np.testing.assert_array_equal(np.asarray(found), (x - r) * c + r[:, :, :1])
        found = la.array(x)[:, 1:-1] / la.array(c)[:, 1:-1] - la.array(x)[:, :-2]
        np.testing.assert_array_equal(np.asarray(found), x[:, 1:-1] / c[:, 1:-1] - x[:, :-2])


@pytest.mark.filterwarnings("error")
def test_errors_are_those_of_elements_of_rows() -> None:
    x = np.ones((1000, 3))
    with la.config.set(eager_below=0):
        lazy, row = la.array(x), la.array(np.array([1.0, 2.0, 4.0]))
        np.testing.assert_array_equal(np.asarray(1.0 / lazy / row), 1.0 / x / np.asarray(row))
        row[1] = 0.0
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            la.evaluate(lazy / row)
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            la.evaluate(lazy / row)


# An `eager_below` of 0 would have what others can write copied.
@pytest.mark.parametrize("code", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("guarded", [0, 1])
def test_nothing_is_read_or_written_where_rows_do_not_lie(code: str, guarded: int) -> None:
    for columns in (2, 3, 4, 5):
        for apart in (columns, columns + 1, columns + 9):
            values = rows_of(code, 1, (4096 // int(code[1:]) // apart - 1) * apart + columns)
            for (rows,) in zip(pages(guarded), strict=True):
                x = (rows[: values.nbytes] if guarded == 0 else rows[-values.nbytes :]).view(code)
                x[...] = values
                shape, strides = (-(-len(x) // apart), columns), (apart * x.itemsize, x.itemsize)
                walk = np.lib.stride_tricks.as_strided(x, shape, strides)
                before = x.copy()
                row, column = rows_of(code, 1, columns), rows_of(code, shape[0], 1)
                with la.config.set(eager_below=1), np.errstate(all="ignore"):
                    lazy = la.asarray(walk)
                    for view in (slice(None), slice(None, None, -1)):
                        found = (lazy[view] == la.array(row)) | (lazy[:, :1] != la.array(column))
                        np.testing.assert_array_equal(np.asarray(found), (walk[view] == row) | (walk[:, :1] != column))
                    la.add(lazy, la.array(row), out=lazy)
                    la.evaluate(lazy)
                written = np.lib.stride_tricks.as_strided(before, shape, strides)
                with np.errstate(all="ignore"):
                    written += row
                np.testing.assert_array_equal(x, before)


ROW = Access("f8", ("0", "1"))


def test_lines_are_for_results_whose_elements_lie_side_by_side() -> None:
    assert line_elements(kernel_of(NEAR, COLUMN, ROW, NEAR)) == 1024
    assert line_elements(kernel_of(NEAR, FAR)) == 0
    assert line_elements(kernel_of(*[NEAR] * 12)) == 512
    assert line_elements(kernel_of(*[NEAR] * 80)) == 0
    kernel = kernel_of(NEAR, COLUMN, NEAR)
    assert line_elements(kernel._replace(roles=("p", "r"))) == 0
    (stage,) = kernel.stages
    for axis in (0, 1):
        index = (*stage.body, I(3, "index", (), "i8", axis))
        assert line_elements(kernel._replace(stages=(stage._replace(body=index),))) == 0


@pytest.mark.parametrize(
    ("extents", "form"),
    [((1000, 3), "lines"), ((1000, 5), "lines"), ((1000, 6), "whole"), ((80, 3), "whole"), ((9, 80, 3), "whole")],
)
def test_lines_are_for_many_short_rows(extents: tuple[int, ...], form: str) -> None:
    kernel = kernel_of(NEAR, COLUMN, NEAR)
    if len(extents) == 3:
        accesses = tuple(a._replace(steps=("s", *a.steps)) for a in kernel.accesses)
        kernel = kernel._replace(roles=("p", *kernel.roles), accesses=accesses)
    assert form_of(cutter(kernel)(extents)) == form
    assert form_of(cutter(kernel)(extents), watched=True) == f"{form} watched"


def test_a_line_is_walked_in_whole_vectors_of_what_lies_side_by_side() -> None:
    text = emit(kernel_of(NEAR, COLUMN, ROW, NEAR), engine.host()._replace(vector_bytes=64), "lines")
    main = text[text.index("define void @kernel") :]
    assert main.count(f"call void @{symbol('repeat', 8)}(") == 1  # the column
    assert main.count(f"call void @{symbol('copy', 8)}(") == 1  # rows, should they lie apart
    assert len(re.findall("load <16 x double>", main)) == 3
