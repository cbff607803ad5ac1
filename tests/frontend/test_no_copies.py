"""Holds that views are evaluated where they lie, and that arrays that are joined or shown are read where they lie."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.runtime.remote import seen

N = 1 << 18
BYTES = 8 * N


def array() -> Any:
    """An array in memory that nobody else has."""
    return la.evaluate(la.linspace(0.5, 1.5, N))


VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[1:-1],
    lambda x: x[::-1],
    lambda x: x[::3],
    lambda x: x.reshape(512, 512).T,
    lambda x: x.reshape(2, -1)[1],
    lambda x: x.view(),
]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_what_is_computed_costs_nothing_to_evaluate(view: Callable[[Any], Any]) -> None:
    x = array()
    shown = view(x)
    with la.record_runs() as runs:
        la.evaluate(shown)
    assert not runs.kernels
    assert not runs.bytes_allocated
    x[5:-5] = 0.25
    np.testing.assert_array_equal(np.asarray(shown), np.asarray(view(np.asarray(x))))


@pytest.mark.parametrize("view", [VIEWS[1], VIEWS[3], VIEWS[5]])
def test_what_a_view_shows_all_of_is_computed_once(view: Callable[[Any], Any]) -> None:
    x = array()
    y = np.sqrt(x) + 0.25
    with la.record_runs() as runs:
        shown = la.evaluate(view(y))
        np.testing.assert_array_equal(np.asarray(y), np.sqrt(np.asarray(x)) + 0.25)
    assert len(runs.kernels) == 1
    np.testing.assert_array_equal(np.asarray(shown), np.asarray(view(np.asarray(y))))


def test_of_what_a_view_shows_a_part_of_only_that_is_computed() -> None:
    y = np.sqrt(array()) + 0.25
    with la.record_runs() as runs:
        la.evaluate(y[: N // 8])
    assert runs.bytes_allocated <= BYTES // 8


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (lambda m, x, y: m.concatenate((x, y)), 2 * BYTES),
        (lambda m, x, y: m.vstack((x, y)), 2 * BYTES),
        (lambda m, x, y: m.stack((x, y), 1), 2 * BYTES),
        (lambda m, x, y: m.append(x, y), 2 * BYTES),
        (lambda m, x, y: m.flipud(x), 0),
        (lambda m, x, y: m.flipud(x).copy(), BYTES),
        (lambda m, x, y: m.atleast_2d(x) + y, BYTES),
        (lambda m, x, y: m.moveaxis(x.reshape(64, 64, 64), 0, 2) + 1.0, BYTES),
    ],
    ids=["concatenate", "vstack", "stack", "append", "flipud", "flipped", "atleast_2d", "moveaxis"],
)
def test_arrays_that_are_joined_or_shown_are_not_copied(call: Callable[[Any, Any, Any], Any], result: int) -> None:
    x, y = np.linspace(0.0, 1.0, N), np.linspace(1.0, 2.0, N)
    lazy_x, lazy_y = la.array(x), la.array(y)
    la.evaluate(call(la, lazy_x, lazy_y))
    lazy_x, lazy_y = la.array(x), la.array(y)
    with la.record_runs() as runs:
        tracemalloc.start()
        got = la.evaluate(call(la, lazy_x, lazy_y))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert runs.bytes_allocated + peak < result + BYTES // 4
    np.testing.assert_array_equal(np.asarray(got), call(np, x, y))


@pytest.mark.parametrize("given", ["by position", "by name", "augmented"])
def test_an_operand_that_is_the_output_is_overwritten_in_its_memory(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen, "any", False)  # by tests of devices
    x, y = array(), array()
    expected = np.linspace(0.5, 1.5, N) ** 2
    with la.config.set(compile_at=1), la.record_runs() as runs:
        if given == "by position":
            assert la.multiply(x, y, x) is x
        elif given == "by name":
            la.multiply(x, y, out=x)
        else:
            x *= y
        assert not runs.evaluations
        x.evaluate()
    assert [kernel.ops for kernel in runs.kernels] == [("multiply",)]
    assert runs.bytes_allocated == 0
    np.testing.assert_allclose(np.asarray(x), expected, rtol=1e-15)
