"""`np.roll` moves no data of its own: nests that read rolled arrays run piece by piece, each piece affine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la

PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one axis": lambda np, a, b: np.roll(a, 1, 0),
    "backwards": lambda np, a, b: np.roll(a, -2, 1),
    "flattened": lambda np, a, b: np.roll(a, 3),
    "two axes": lambda np, a, b: np.roll(a, (1, -1), (0, 1)),
    "laplacian": lambda np, a, b: np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a,
    "roll of a roll": lambda np, a, b: np.roll(np.roll(a, 1, 0), 2, 1) * 2 - np.roll(a, 5, 0),
    "of an expression, reversed": lambda np, a, b: np.roll(a * 2 + b, 1, 0)[::-1],
    "transposed": lambda np, a, b: np.roll(a, 1, 0).T + np.roll(b, 1, 1).T,
    "under a row sum": lambda np, a, b: (np.roll(a, 1, 1) - a).sum(axis=1),
    "under a full sum": lambda np, a, b: (np.roll(a, 1, 0) - a).sum(),
    "of a slice": lambda np, a, b: np.roll(a[1:-1], 1, 0) * a[0],
    "broadcast": lambda np, a, b: np.roll(a[:, None, :], (1, 2), (0, 2)) + b[None, :1, :],
    "into a product": lambda np, a, b: np.matmul(np.roll(a, 1, 0), np.roll(b, 1, 1).T),
    "all the way round": lambda np, a, b: np.roll(a, a.shape[0], 0),
    "of nothing": lambda np, a, b: np.roll(a[:0], 1, 0),
    "under a running sum": lambda np, a, b: np.cumsum(np.roll(a, 1, 1), axis=1),
    "a part of it": lambda np, a, b: np.roll(a, 1, 0)[:, :3],
}


def in_place(np: Any, a: Any, b: Any) -> Any:
    c = a.copy()
    c += 0.1 * (np.roll(c, 1, 0) - c)
    c[2:5] = np.roll(c, 1, 1)[1:4]
    c[:, :] = np.roll(c, 1, 0) * 2
    return c


@pytest.mark.parametrize("eager_below", [0, None])
@pytest.mark.parametrize("shape", [(13, 17), (40, 300)])
@pytest.mark.parametrize("program", [*PROGRAMS.values(), in_place], ids=[*PROGRAMS, "in place"])
def test_rolls_agree_with_numpy(
    program: Callable[[Any, Any, Any], Any], shape: tuple[int, int], eager_below: int | None
) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(shape), rng.random(shape)
    with la.config.set(**({} if eager_below is None else {"eager_below": eager_below})):
        result = np.asarray(la.evaluate(program(la, la.array(a), la.array(b))))
    np.testing.assert_allclose(result, program(np, a, b), rtol=1e-12, atol=1e-14, strict=True)


def test_a_periodic_stencil_reads_its_array_and_writes_its_result() -> None:
    a = la.array(np.random.default_rng(0).random((300, 400)))
    la.evaluate(a)
    with la.record_runs() as r:
        la.evaluate(PROGRAMS["laplacian"](la, a, None))
    assert r.bytes_allocated == a.nbytes, "no rolled copies"
    assert r.bytes_written == a.nbytes
    assert len(r.kernels) == 9, "the inside, four edges, four corners"


def test_a_long_periodic_loop_plans_a_bounded_number_of_times() -> None:
    a = la.array(np.random.default_rng(0).random((120, 120)))
    expected = np.asarray(a).copy()
    for _ in range(60):
        a = a + 0.1 * PROGRAMS["laplacian"](la, a, None)
        expected = expected + 0.1 * PROGRAMS["laplacian"](np, expected, None)
    np.testing.assert_array_equal(np.asarray(a), expected)


def test_a_loop_of_rolls_that_is_looked_at_computes_no_step_a_third_time() -> None:
    a = la.array(np.random.default_rng(0).random((300, 400)))
    expected = np.asarray(a).copy()
    most = 0
    for _ in range(12):
        a = np.roll(a, 1, axis=0) * 0.5
        expected = np.roll(expected, 1, axis=0) * 0.5
        with la.record_runs() as r:
            np.testing.assert_array_equal(np.asarray(a.sum()), expected.sum())
        most = max(most, len(r.kernels))
    assert most <= 5, "two steps of two pieces, and the sum"
    np.testing.assert_array_equal(np.asarray(a), expected)
