"""Reasons that `explain` tells are told of programs that give cause for them, and their edits remove them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np

Program = Callable[[Any], Any]


def source(rows: int = 400) -> np.ndarray:
    return np.evaluate(np.asarray(numpy.random.default_rng(0).random((rows, 200))) + 0.0)


def two_values(x: Any) -> Any:
    return float(x.sum()) + float(x.max())


def two_values_at_once(x: Any) -> Any:
    total, most = np.evaluate(x.sum(), x.max())
    return float(total) + float(most)


def selected(x: Any) -> Any:
    return (x[x > 0.5] * 2.0).max()


def chosen(x: Any) -> Any:
    return np.where(x > 0.5, x * 2.0, 0.0).max()


def in_a_block(x: Any) -> Any:
    y = 1.0 / (x + 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.sqrt(y)


def under_errstate(x: Any) -> Any:
    y = 1.0 / (x + 1.0)
    with np.errstate(all="ignore"):
        return np.sqrt(y)


def obeyed_at_once(x: Any) -> Any:
    with np.errstate(divide="raise"):
        return 1.0 / (x + 1.0)


def ignored(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return 1.0 / (x + 1.0)


def named(x: Any) -> Any:
    e = np.exp(x)
    return np.evaluate(e / e.sum(axis=1, keepdims=True)) + 0.0 * len(e)


def dropped(x: Any) -> Any:
    e = np.exp(x)
    result = e / e.sum(axis=1, keepdims=True)
    del e
    return np.evaluate(result) + 0.0 * len(x)


def binned(x: Any) -> Any:
    return np.histogram(x * 2.0, 50)[0].sum()


def binned_between(x: Any) -> Any:
    return np.histogram(x * 2.0, 50, range=(0.0, 2.0))[0].sum()


def put_into_a_small_array(x: Any) -> Any:
    totals = np.zeros(3)
    for k in range(3):
        totals[k] = (x * k).sum()
    return totals


def collected(x: Any) -> Any:
    return np.stack([(x * k).sum() for k in range(3)])


def shifted_into_itself(x: Any) -> Any:
    a = np.evaluate(x + 0.0)
    a[1:] = a[:-1] * 0.5
    return a


def shifted_into_another(x: Any) -> Any:
    a, b = np.evaluate(x + 0.0, x + 0.0)
    b[1:] = a[:-1] * 0.5
    return b


def written_while_needed(x: Any) -> Any:
    x = np.evaluate(x + 0.0)
    products = x @ x.T
    x[3] = 7.0
    np.evaluate(x)
    return products


def written_after_use(x: Any) -> Any:
    x = np.evaluate(x + 0.0)
    products = np.evaluate(x @ x.T)
    x[3] = 7.0
    np.evaluate(x)
    return products


def needed_twice(x: Any) -> Any:
    y = x * 2.0 + 1.0
    return y - float(y.sum())


def evaluated_first(x: Any) -> Any:
    y = np.evaluate(x * 2.0 + 1.0)
    return y - float(y.sum())


def differences(x: Any) -> Any:
    y = x * 2.0 + 1.0
    return y[1:] - y[:-1]


def differences_of_memory(x: Any) -> Any:
    y = np.evaluate(x * 2.0 + 1.0)
    return y[1:] - y[:-1]


def row_by_row(x: Any) -> Any:
    return np.apply_along_axis(lambda row: row / row.max(), 1, x)


def all_rows(x: Any) -> Any:
    return x / x.max(axis=1, keepdims=True)


def rolled_after(x: Any) -> Any:
    return np.roll(np.sqrt(x), 3, axis=1) * 2.0


def rolled_before(x: Any) -> Any:
    return np.sqrt(np.roll(x, 3, axis=1)) * 2.0


EDITED: dict[str, tuple[Program, Program]] = {
    "asked for": (two_values, two_values_at_once),
    "a shape follows from the number of true elements": (selected, chosen),
    "a catch_warnings block begins": (in_a_block, under_errstate),
    "the error state is to be obeyed at once": (obeyed_at_once, ignored),
    "the program still names it": (named, dropped),
    "the bins lie between the least and the greatest element": (binned, binned_between),
    "it is written into an array that is in memory": (put_into_a_small_array, collected),
    "the write would change elements that it still reads": (shifted_into_itself, shifted_into_another),
    "the value before a write is still needed": (written_while_needed, written_after_use),
    "an evaluation before needed it too": (needed_twice, evaluated_first),
    "that costs less than putting it into memory": (differences, differences_of_memory),
    "it is not compiled": (row_by_row, all_rows),
    "it is rolled, so it is read at several places": (rolled_after, rolled_before),
}


@pytest.mark.parametrize("why", EDITED)
def test_the_edit_of_a_reason_removes_it_and_changes_no_result(why: str) -> None:
    program, edited = EDITED[why]
    x = source()
    told = [reason for reason in np.explain(program, x).reasons if why in reason.why]
    assert told
    assert all(reason.edit and reason.line is not None for reason in told)
    assert not [reason for reason in np.explain(edited, x).reasons if why in reason.why]
    numpy.testing.assert_allclose(program(x), edited(x), rtol=1e-13)


TOLD: dict[str, Program] = {
    "the library call matmul reads it": lambda x: (x + 1.0) @ (x - 1.0).T,
    "a write into an array needs it in memory": lambda x: np.pad(x * 2.0, 2)[1:] + 1.0,
    "a write into an array runs in a nest of its own": lambda x: np.pad(x * 2.0, 2),
    "its loops have other extents": lambda x: (x.sum(axis=0), x[1:] * 2.0),
    "it reduces other axes": lambda x: (x.sum(axis=0), x.sum(axis=1)),
    "its axes are split or merged": lambda x: (x.T * 2.0).reshape(-1) + 1.0,
    "a loop around it would compute the same elements": lambda x: np.evaluate(np.zeros((8, 1, 1))) + np.exp(x)[None],
    "a read at index arrays needs it in memory": lambda x: np.exp(x)[np.arange(399, -1, -1) % 7],
    "several nests would compute it again": lambda x: ((e := np.exp(x)).sum(axis=0), (e[1:] - e[:-1]).sum(axis=0)),
    "how many counts there are follows": lambda x: np.bincount((x * 9.0).astype(int).ravel()),
    "the size or the elements of an array follow": lambda x: np.arange(x.max() * 1e5),
    "it says which elements are meant": lambda x: np.ones(50)[(x[:30].sum(axis=1) * 0.1).astype(int)],
    "it is small, and needs nothing but what is read anyway": lambda x: (m := x.max(), x.sum().evaluate(), m)[2],
    "the recording reached its budget": lambda x: sum((x[k % 7 :] * k).sum() for k in range(300)),
}


@pytest.mark.parametrize("why", TOLD)
def test_a_reason_without_an_edit_is_told_with_its_line(why: str) -> None:
    told = [reason for reason in np.explain(TOLD[why], source()).reasons if why in reason.why]
    assert told
    assert all(reason.line is not None and __file__ == reason.line.file for reason in told)
