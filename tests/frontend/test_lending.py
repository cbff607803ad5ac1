"""Lent parts of large arrays: plain arrays over the base's memory, and views of it whatever happens to the base."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.frontend.lending import REMEMBERED
from lazyarray.frontend.regions import PEEKS

ROWS, COLUMNS = 100, 200


def made(space: Any) -> Any:
    array = (space.arange(ROWS * COLUMNS) + 0.5).reshape(ROWS, COLUMNS).copy()
    return array if space is np else la.evaluate(array)


def agree(program: Callable[[Any, Any], Any]) -> None:
    """Fails unless the program gives NumPy's values on an array whose parts are lent."""
    ours, theirs = program(la, made(la)), program(np, made(np))
    for a, b in zip(ours, theirs, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_walking_through_an_array_evaluates_nothing() -> None:
    x = made(la)
    with la.record_runs() as runs:
        total = 0.0
        for i in range(ROWS):
            row = x[i]
            row[3] = row[2] + float(row[:5].sum())
            total += x[i, 3] + row[-1]
        assert not runs.kernels
        assert not runs.evaluations
        assert not runs.materialisations
    want = made(np)
    for i in range(ROWS):
        want[i, 3] = want[i, 2] + want[i, :5].sum()
    np.testing.assert_array_equal(np.asarray(x), want)
    assert total == (want[:, 3] + want[:, -1]).sum()


def test_a_lent_part_shows_writes_of_the_whole_and_the_whole_those_of_the_part() -> None:
    def program(_space: Any, x: Any) -> Any:
        row = x[5]
        x *= 2.0  # all of it, recorded where it is large
        row[1] = -1.0
        x[5, 2] = -2.0
        x += 1.0
        return row, x, x.sum(axis=1)

    agree(program)


def test_values_that_were_asked_for_before_a_write_through_a_lent_part_stay() -> None:
    def program(_space: Any, x: Any) -> Any:
        row = x[5]
        before = x * 2.0
        row[:] = 0.0
        after = x * 2.0
        part = before[5]
        x[5] = 9.0
        return before, after, part, row

    agree(program)


def test_more_lent_parts_than_a_base_remembers_are_all_its_views() -> None:
    def program(_space: Any, x: Any) -> Any:
        rows = [x[i] for i in range(3 * REMEMBERED)]
        x *= 3.0
        for i, row in enumerate(rows):
            row[i] = -float(i)
        x -= 1.0
        return [*rows, x]

    agree(program)


def test_parts_of_lent_parts_and_of_views_are_views() -> None:
    def program(_space: Any, x: Any) -> Any:
        row = x.T[:, 7]
        some = row[10:20][::-2]
        some += 100.0
        x *= 0.5
        some[0] = 1.0
        turned = x[3:5, 2:4].T
        turned[1, 0] = 8.0
        x -= 2.0
        return row, some, turned, x

    agree(program)


def test_memory_of_a_lent_part_that_numpy_holds_stays_shared() -> None:
    x, want = made(la), made(np)
    ours, theirs = np.asarray(x[4]), want[4]
    for array in (x, want):
        array *= 2.0
        array[4, 1] = -5.0
    np.testing.assert_array_equal(np.asarray(x), want)
    np.testing.assert_array_equal(ours, theirs)
    ours[2] = theirs[2] = 77.0
    assert float((x + 0.0)[4, 2]) == 77.0


def test_the_base_of_a_lent_part_is_the_array() -> None:
    x = made(la)
    row = x[3]
    assert row.base is x
    assert row[1:3].base is x
    x *= 2.0
    la.evaluate(x)
    assert row.base is x


def test_a_lent_part_of_an_array_that_refuses_writes_refuses_them() -> None:
    x = made(la)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        x[3][1] = 2.0
    assert not x[3].flags.writeable


def test_lent_parts_hold_the_memory_and_nothing_else_does() -> None:
    x = made(la)
    row = x[3]
    gone = weakref.ref(x)
    del x
    assert gone() is None
    np.testing.assert_array_equal(np.asarray(row), made(np)[3])


def test_a_pending_array_is_evaluated_for_its_parts_once_they_are_read_one_by_one() -> None:
    x, plain = made(la), made(np)
    pending = x * 2.0
    view = pending[1:]
    with la.record_runs() as runs:
        read = [float(view[i, 3]) for i in range(4 * PEEKS)]
        assert len(runs.evaluations) <= PEEKS + 2
    np.testing.assert_array_equal(read, (plain * 2.0)[1:, 3][: 4 * PEEKS])


def test_errors_of_lent_parts_are_numpys() -> None:
    x, want = made(la), made(np)
    for key in (ROWS, (0, COLUMNS), (0, 0, 0), "a", 1.5, slice(0, 1.5)):
        with pytest.raises((IndexError, TypeError)) as theirs:
            want[key]
        with pytest.raises(theirs.type) as ours:
            x[key]
        assert str(ours.value) == str(theirs.value)
        with pytest.raises((IndexError, TypeError)) as theirs:
            want[key] = 0
        with pytest.raises(theirs.type) as ours:
            x[key] = 0
        assert str(ours.value) == str(theirs.value)
    np.testing.assert_array_equal(np.asarray(x), want)
