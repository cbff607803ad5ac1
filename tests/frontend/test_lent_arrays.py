"""NumPy's functions in C that copy read-only arguments get lazyarray's memory as it is, and leave it as it was."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la

N = 1 << 18


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (lambda m, x, i: m.bincount(i), 8 * 64),
        (lambda m, x, i: m.bincount(i, weights=x), 8 * 64),
        (lambda m, x, i: m.interp(0.25, xp=x, fp=x), 8),
        (lambda m, x, i: m.correlate(x, [1.0]), 8 * N),
        (lambda m, x, i: m.convolve(x, [1.0]), 8 * N),
    ],
    ids=["bincount", "weighted", "interp", "correlate", "convolve"],
)
def test_arguments_are_not_copied(call: Callable[[Any, Any, Any], Any], result: int) -> None:
    x, i = np.linspace(0.0, 1.0, N), np.arange(N) % 64
    lazy_x, lazy_i = la.array(x), la.array(i)
    la.evaluate(lazy_x, lazy_i)
    call(la, lazy_x, lazy_i)
    tracemalloc.start()
    got = call(la, lazy_x, lazy_i)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < result + 8 * N // 2
    np.testing.assert_array_equal(np.asarray(got), call(np, x, i))
    np.testing.assert_array_equal(np.asarray(lazy_x), x)
