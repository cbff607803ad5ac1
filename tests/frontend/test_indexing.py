"""Holds indexing to NumPy's: every kind of key, read and written, with NumPy's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import lazyarray
from lazyarray.frontend.array import ndarray
from tests.frontend.agreement import MODES, agree
from tests.frontend.interpreter import interpreted  # noqa: F401

SHAPE = (4, 3, 5)
VALUES = numpy.arange(60.0).reshape(SHAPE)
MASK3 = VALUES % 7 < 3
KEYS: dict[str, Any] = {
    "integer": 2,
    "negative": -1,
    "np integer": numpy.int64(1),
    "0-d array": numpy.array(1),
    "full": (1, 2, 3),
    "full negative": (-1, -1, -1),
    "with ellipsis": (1, 2, 3, ...),
    "ellipsis": ...,
    "empty tuple": (),
    "slice": slice(1, 3),
    "steps": (slice(None, None, -1), slice(None, None, 2), slice(3, 0, -2)),
    "far slices": (slice(-100, 100), slice(5, 1)),
    "none": (None, slice(None), None, 1),
    "ellipsis between": (0, ..., slice(1, 3)),
    "none only": None,
    "list": [0, 2, -1],
    "empty list": [],
    "array": numpy.array([[0, 1], [3, 3]]),
    "pair": ([0, 1, 2], [2, 1, 0]),
    "pair with slice": ([0, 1], slice(None), [1, 0]),
    "adjacent after slice": (slice(None), [0, 1], [1, 0]),
    "integer and array": (0, slice(None), [1, 2]),
    "array and integer": (slice(None), 1, [1, 2]),
    "array, ellipsis, array": ([0, 1], ..., [2, 3]),
    "none between": ([0, 1], None, [2, 1]),
    "broadcast": (numpy.array([[0], [1]]), numpy.array([0, 2])),
    "unsigned": numpy.array([1, 2], "u1"),
    "mask": MASK3,
    "mask of rows": numpy.array([True, False, True, True]),
    "mask of two axes": MASK3[:, :, 0],
    "mask in the middle": (slice(None), numpy.array([True, False, True])),
    "mask and integer": (numpy.array([True, False, True, True]), 1),
    "mask and array": (numpy.array([True, False, True, False]), [1, 0]),
    "mask of nothing": numpy.zeros(4, bool),
    "list of bools": [True, False, True, False],
    "true": True,
    "false and slice": (False, slice(1, 3)),
}
REFUSED: dict[str, Any] = {
    "out of bounds": 4,
    "below": (0, -4),
    "array out of bounds": [0, 7],
    "array below": (slice(None), [0, -5]),
    "too many": (0, 0, 0, 0),
    "float": 1.5,
    "float array": numpy.array([1.0]),
    "text": "a",
    "two ellipses": (..., ...),
    "short mask": numpy.array([True, False]),
    "mask of a wrong axis": (slice(None), numpy.ones(4, bool)),
    "no broadcast": ([0, 1], [0, 1, 2]),
    "too many with array": ([0], [0], [0], [0]),
    "zero step": slice(None, None, 0),
}


@MODES
@pytest.mark.parametrize("lazy_key", [False, True], ids=["numpy key", "our key"])
@pytest.mark.parametrize("name", [*KEYS, *REFUSED])
def test_reads_agree(name: str, lazy_key: bool, eager_below: int) -> None:
    key = (KEYS | REFUSED)[name]

    def program(np: Any) -> Any:
        x = np.data(VALUES) + 0
        used = np.data(key) if lazy_key and isinstance(key, numpy.ndarray) else key
        return x[used], (x.T + 0).T[used]

    agree(program, eager_below)


NEW: dict[str, Any] = {
    "number": 9.5,
    "integer": 3,
    "one": numpy.array([7.0]),
    "row": numpy.arange(5.0),
    "whole": numpy.arange(60.0).reshape(SHAPE)[::-1],
    "three": numpy.arange(3.0),
}


@MODES
@pytest.mark.parametrize("new", NEW)
@pytest.mark.parametrize("name", [*KEYS, *REFUSED])
def test_writes_agree(name: str, new: str, eager_below: int) -> None:
    key, values = (KEYS | REFUSED)[name], NEW[new]

    def program(np: Any) -> Any:
        x = np.data(VALUES) + 0
        before = x + 0
        y = x[:, ::-1]
        z = np.data(values) + 0 if isinstance(values, numpy.ndarray) else values
        try:
            x[key] = z
        except Exception as error:
            return str(error), type(error), x, y
        return x, y, before

    agree(program, eager_below)


@MODES
def test_duplicate_indices_leave_the_last_value(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x = np.data(numpy.zeros(4)) + 0
        x[[1, 1, 2, 1]] = np.data([1.0, 2.0, 3.0, 4.0])
        x[[1, 1, 0]] += 1
        return x

    agree(program, eager_below)


@MODES
def test_results_of_advanced_reads_are_copies(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x = np.data(numpy.arange(6.0)) + 0
        a, b, c = x[[1, 2]], x[x > 3], x[...]
        a[0] = b[0] = 50
        c[5] = 70
        x[2] = -1
        return x, a, b, c

    agree(program, eager_below)


def test_a_masked_write_is_recorded_and_a_masked_read_evaluates() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.asarray(numpy.arange(6.0)) * 2
        with lazyarray.record_runs() as runs:
            x[x > 5] = 0
            x[[0, 1]] = 3
        assert not runs.evaluations
        assert x._np is None
        with lazyarray.record_runs() as runs:
            found = x[x > 2]
        assert len(runs.evaluations) == 1
        assert type(found) is ndarray
        assert found.tolist() == [3.0, 3.0, 4.0]


@MODES
@settings(max_examples=60, deadline=None, database=None)
@given(data=st.data())
def test_drawn_keys_agree(eager_below: int, data: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4))
    values = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    basic = hnp.basic_indices(shape, allow_newaxis=True)
    integer = hnp.integer_array_indices(shape) if 0 not in shape else basic
    key = data.draw(st.one_of(basic, integer, hnp.arrays(bool, shape)))

    def program(np: Any) -> Any:
        x = np.data(values) + 0
        read = x[key]
        x[key] = -1.0
        x.T[...] += 1
        return read, x

    agree(program, eager_below)


@MODES
@pytest.mark.parametrize(
    "key",
    [
        lambda np: np.zeros(0, bool),
        lambda np: (np.zeros(0, bool), 3),
        lambda np: (slice(2), np.zeros(0, bool)),
        lambda np: (np.zeros(0, bool), np.arange(2)),
        lambda np: np.zeros((0, 70), bool),
        lambda np: np.zeros(3, bool),
        lambda np: 1 << 70,
        lambda np: -(1 << 70),
        lambda np: (0, 1 << 70),
    ],
)
def test_keys_that_select_nothing_and_those_beyond_all_indices(key: Callable[[Any], Any], eager_below: int) -> None:
    def read(np: Any) -> Any:
        return np.data(numpy.arange(6300.0).reshape(90, 70))[key(np)]

    def write(np: Any) -> Any:
        x = np.data(numpy.arange(6300.0).reshape(90, 70))
        x[key(np)] = 7.0
        return x

    agree(read, eager_below)
    agree(write, eager_below)


@pytest.mark.parametrize("limit", [0, 4096])
@pytest.mark.parametrize(
    "key",
    [
        lambda m: (0, ..., m),
        lambda m: (0, slice(None), slice(None), m),
        lambda m: (slice(None), 1, slice(None), m),
        lambda m: (slice(None), slice(None), 0, m),
        lambda m: (m[:2], slice(None), 3),
    ],
)
def test_a_mask_apart_from_an_integer_is_written_as_it_is_read(key: Any, limit: int) -> None:
    data = numpy.arange(2 * 30 * 4 * 300.0).reshape(2, 30, 4, 300)
    place = key(numpy.arange(300) % 3 == 0)
    x = lazyarray.array(data) * 1.0
    with lazyarray.config.set(eager_below=limit):
        w = x[place]
        numpy.testing.assert_array_equal(numpy.asarray(w), data[place])
        x[place] = w + 1
        x[place] = lazyarray.array(-data[place][..., :1])
        data[place] += 1
        data[place] = 1 - data[place][..., :1]
        numpy.testing.assert_array_equal(numpy.asarray(x), data)
