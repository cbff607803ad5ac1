"""Writes of regions into a value that is computed anyway: each element is computed once, and is NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.passes.boxes import SMALLEST

SHAPE = (240, 200)


def given(*shape: int) -> tuple[Any, Any]:
    x = np.random.default_rng(1).standard_normal(shape or SHAPE)
    assert x.size >= SMALLEST
    with la.config.set(eager_below=0):
        lazy = la.array(x)
        la.evaluate(lazy + 0.0)
    return x, lazy


def run(program: Callable[[Any, Any], Any], *shape: int) -> Any:
    """The record of the program's run, whose results are NumPy's."""
    x, lazy = given(*shape)
    want = program(np, x)
    with la.config.set(eager_below=0), la.record_runs() as runs:
        got = la.evaluate(program(la, lazy))
    for a, b in zip(want if type(want) is tuple else (want,), got if type(got) is tuple else (got,), strict=True):
        assert (b.dtype, b.shape) == (a.dtype, a.shape)
        np.testing.assert_array_equal(np.asarray(b), a)
    return runs


def laplace(space: Any, x: Any) -> Any:
    y = 4.0 * x
    y[1:, :] -= x[:-1, :]
    y[:-1, :] -= x[1:, :]
    y[:, 1:] -= x[:, :-1]
    y[:, :-1] -= x[:, 1:]
    return y


def interior(space: Any, x: Any) -> Any:
    y = x.copy()
    y[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return y


def edges(space: Any, x: Any) -> Any:
    y = x.copy()
    y[1:-1, 1:-1] = x[1:-1, 1:-1] * 0.5
    y[0, :] = 1.0
    y[-1, :] = x[0, :]
    y[:, 0] = x[:, -1] + 2.0
    return y


@pytest.mark.parametrize("program", [laplace, interior, edges])
def test_an_array_is_written_once(program: Callable[[Any, Any], Any]) -> None:
    size = 8 * SHAPE[0] * SHAPE[1]
    runs = run(program)
    assert sum(k.bytes_written for k in runs.kernels) == size
    assert sum(k.bytes_read for k in runs.kernels) < 1.2 * size


def three(space: Any, x: Any) -> Any:
    y = x * 2.0
    y[1:-1, 1:-1, 1:-1] += x[2:, 1:-1, 1:-1] - x[:-2, 1:-1, 1:-1]
    return y


def broadcast(space: Any, x: Any) -> Any:
    y = x * 2.0
    y[:, 5:] += x[0, 5:]
    y[2:, :] *= x[2:, :1]
    y[:-2] = y[:-2] + 1.0
    return y


def elsewhere(space: Any, x: Any) -> Any:
    """Reads what was written, in other places: such writes stay apart."""
    y = x * 2.0
    y[1:, :] += x[:-1, :]
    y[:-1, :] += y[1:, :]
    y[:, 1:] -= y[:, :-1] * 0.5
    return y


def kept(space: Any, x: Any) -> Any:
    """Names the values in between."""
    y = x * 2.0
    before = y.copy()
    y[1:, :] += x[:-1, :]
    middle = y[1:, :] * 3.0
    y[:-1, :] += x[1:, :]
    return before, middle, y, y.sum(axis=1)


def steps(space: Any, x: Any) -> Any:
    y = x + 1.0
    y[::2, 1:] += x[::2, 1:]
    y[::-1] *= 0.5
    y[1:, 1:] -= x[1:, 1:]
    y[0, -1] = 7.0
    return y


def reshaped(space: Any, x: Any) -> Any:
    y = x + 1.0
    y.reshape(-1)[5:2000] += 3.0
    y[2:-2] += x[2:-2]
    return y


@pytest.mark.parametrize("program", [laplace, interior, edges, broadcast, elsewhere, kept, steps, reshaped])
@pytest.mark.parametrize("shape", [SHAPE, (6_000, 8), (8, 6_000)])
def test_writes_of_regions_are_numpys(program: Callable[[Any, Any], Any], shape: tuple[int, ...]) -> None:
    run(program, *shape)


@pytest.mark.parametrize("shape", [(1, 60_000), (60_000, 1)])
def test_axes_of_one_element(shape: tuple[int, ...]) -> None:
    run(laplace, *shape)


def test_three_axes() -> None:
    runs = run(three, 40, 40, 40)
    assert sum(k.bytes_written for k in runs.kernels) == 8 * 40**3


def test_random_chains_of_writes() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        moves = []
        for _ in range(rng.integers(1, 5)):
            box = []
            for extent in SHAPE:
                a, b = sorted(rng.integers(0, extent + 1, 2))
                box.append(slice(int(a), int(max(b, a + 1))))
            moves.append((tuple(box), int(rng.integers(0, 4)), float(rng.integers(1, 9))))

        def program(space: Any, x: Any, moves: Any = tuple(moves)) -> Any:
            y = x * 0.5
            for box, kind, number in moves:
                if kind == 0:
                    y[box] += x[box] * number
                elif kind == 1:
                    y[box] = y[box] * number - x[box]
                elif kind == 2:
                    y[box] *= number
                else:
                    y[box] = number
            return y

        run(program)


def test_what_a_write_replaces_still_warns() -> None:
    def program(space: Any, x: Any) -> Any:
        y = 1.0 / x
        y[1:-1, 1:-1] = 0.0
        y[0] = y[-1] = 0.0
        return y

    x = np.ones(SHAPE)
    x[5, 5] = 0.0
    with la.config.set(eager_below=0), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        la.evaluate(program(la, la.array(x)))
    assert [str(w.message) for w in told] == ["divide by zero encountered in divide"]
