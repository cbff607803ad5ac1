"""A recording that nobody asks a value of is cut at the same place of a loop each time, and loses nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.runtime import budget, evaluate, planning

Step = Callable[[Any, Any, Any], tuple[Any, Any]]


def oscillate(space: Any, x: Any, v: Any) -> tuple[Any, Any]:
    half = v - 0.005 * x
    x = x + 0.01 * half
    return x, half - 0.005 * x


def relax(space: Any, x: Any, v: Any) -> tuple[Any, Any]:
    y = x.copy()
    y[1:-1] += 0.1 * (x[2:] - 2.0 * x[1:-1] + x[:-2])
    v = v * 0.9 + 0.1 * y
    return y, v


def branch(space: Any, x: Any, v: Any) -> tuple[Any, Any]:
    x, v = oscillate(space, x, v)
    return space.where(x > v, x * 0.5, v), v + x


@pytest.mark.parametrize("step", [oscillate, relax, branch])
def test_the_pieces_of_a_loop_have_few_plans(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    new_plan = planning.new_plan
    monkeypatch.setattr(planning, "new_plan", lambda expression: made.append(expression) or new_plan(expression))
    start = np.linspace(0.0, 1.0, 1000)
    x, v = start, start[::-1]
    with la.config.set(eager_below=0):
        a, b = la.evaluate(la.array(x), la.array(v))
        with la.record_runs() as runs:
            for _ in range(400):
                a, b = step(la, a, b)
    assert runs.evaluations.count(evaluate.BUDGET) > 5
    assert len(made) <= 4
    for _ in range(400):
        x, v = step(np, x, v)
    np.testing.assert_array_equal(np.asarray(a), x)
    np.testing.assert_array_equal(np.asarray(b), v)


def test_no_recording_becomes_longer_than_its_bound() -> None:
    # Each turn differs from the others, so that no place is met again.
    x = la.evaluate(la.linspace(0.0, 1.0, 100_000))
    kept = []
    for turn in range(1500):
        x = x + turn if turn % 7 else la.sqrt(la.abs(x))
        if turn % 11 == 0:
            kept.append(x)
        assert len(budget.TAPE) <= budget.TAPE_MOST
    want = np.linspace(0.0, 1.0, 100_000)
    for turn in range(1500):
        want = want + turn if turn % 7 else np.sqrt(np.abs(want))
    np.testing.assert_array_equal(np.asarray(x), want)


def test_what_nobody_names_any_more_is_neither_computed_nor_counted() -> None:
    x = la.evaluate(la.linspace(0.0, 1.0, 100_000))
    kept = x + 0.25
    with la.record_runs() as runs:
        for _ in range(2000):
            x * 2.0 + 1.0
            assert len(budget.TAPE) <= budget.TAPE_MOST
    assert not runs.evaluations
    np.testing.assert_array_equal(np.asarray(kept), np.linspace(0.0, 1.0, 100_000) + 0.25)
