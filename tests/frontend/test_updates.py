"""A number under a mask is recorded where the array is, and what it gives is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend.updates import CHAIN
from lazyarray.runtime.ledger import record_runs

NUMBERS = [0, 1, -5, 127, -128, 128, 10**6, 0.5, -0.0, float("nan"), True, numpy.float64(2.5), numpy.int64(3)]


def clipped(x: Any, low: Any, high: Any) -> Any:
    y = x * 2
    y[x < 1] = low
    y[x > 3] = high
    return y


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_a_number_under_a_mask_is_numpys(dtype: str, number: Any) -> None:
    given = numpy.arange(6).astype(dtype)
    if dtype == "i8" and number != number:
        number = 7  # NumPy has no integer for it
    with np.config.set(eager_below=0):
        found = clipped(np.array(given), number, 2)
        numpy.testing.assert_array_equal(numpy.asarray(found), clipped(given, number, 2))
        assert numpy.asarray(found).tobytes() == clipped(given, number, 2).tobytes()


def test_writes_under_masks_wait_for_the_evaluation() -> None:
    x = np.array(numpy.linspace(0.0, 4.0, 100_000))
    np.evaluate(x)
    with record_runs() as runs:
        y = clipped(x, 0, 1.5)
        assert not runs.evaluations
        np.evaluate(y)
    assert len(runs.kernels) == 1


def test_an_array_that_is_written_time_and_again_is_looked_at() -> None:
    given = numpy.linspace(0.0, 4.0, 100_000)
    x, want = np.array(given), given * 1.0
    y = x * 1.0
    for step in range(3 * CHAIN):
        y[x > step / CHAIN] = step
        want[given > step / CHAIN] = step
    numpy.testing.assert_array_equal(numpy.asarray(y), want)


def test_indices_in_memory_go_the_general_way() -> None:
    y, want = np.array(numpy.zeros(100_000)) * 2.0, numpy.zeros(100_000)
    y[np.array([3, 5])] = 1
    y[numpy.array([7, 5])] = 2.0
    want[[3, 5]] = 1
    want[[7, 5]] = 2.0
    numpy.testing.assert_array_equal(numpy.asarray(y), want)


def test_masks_of_another_shape_and_views_go_the_general_way() -> None:
    given = numpy.arange(12.0).reshape(3, 4)
    with np.config.set(eager_below=0):
        for rows in (numpy.array([True, False, True]), numpy.array([False] * 3)):
            y, want = np.array(given) + 1.0, given + 1.0
            y[np.array(rows) & np.array(rows)] = 0
            want[rows] = 0
            numpy.testing.assert_array_equal(numpy.asarray(y), want)
        y, want = np.array(given) + 1.0, given + 1.0
        part, wanted = y[1:], want[1:]
        part[part > 7] = 1
        wanted[wanted > 7] = 1
        numpy.testing.assert_array_equal(numpy.asarray(y), want)
        with pytest.raises(IndexError, match="boolean index did not match"):
            y[np.array(given)[:2] * 2.0 > 1.0] = 0
