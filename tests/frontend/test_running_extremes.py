"""`maximum.accumulate` and `minimum.accumulate` of recorded arrays are compiled, and have NumPy's bits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyarray as la

SPECIAL = np.array([0.0, -0.0, np.nan, -np.nan, 1.0, -1.0, np.inf, -np.inf, 2.5])
SHAPES = [
    (1,),
    (7,),
    (333,),
    (5, 9),
    (300, 7),
    (7, 300),
    (4, 5, 6),
    (3, 1, 70),
    (0, 4),
    (4, 0),
    (3, 20_001),
    (20_001, 3),
]


@pytest.fixture(autouse=True)
def everything_is_recorded() -> Iterator[None]:
    with la.config.set(eager_below=0):
        yield


def data(code: str, shape: tuple[int, ...]) -> Any:
    draw = np.random.default_rng(3)
    drawn = draw.choice(SPECIAL, size=shape) if code[0] == "f" else draw.integers(-100, 100, shape)
    return drawn.astype(code)


def bits(array: Any) -> bytes:
    found = np.ascontiguousarray(np.asarray(array))
    if found.dtype.kind == "f" and "LAZYARRAY_TEST_DEVICE" in os.environ:
        found[np.isnan(found)] = np.nan  # a GPU keeps that it is none, and no bits
    return found.tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("code", ["f8", "f4", "f2", "i1", "i2", "i4", "i8", "u4", "u8"])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_bits_are_numpys(name: str, code: str, shape: tuple[int, ...]) -> None:
    given = data(code, shape)
    for axis in range(given.ndim):
        for turn in (lambda a: a, lambda a: a[::-1], lambda a: a.T):
            want = getattr(np, name).accumulate(turn(given), axis=axis)
            with la.record_runs() as runs:
                got = getattr(la, name).accumulate(turn(la.asarray(given)), axis=axis)
                assert bits(got) == bits(want)
            assert got.dtype == want.dtype
            assert not runs.fallbacks


def test_what_follows_from_one_is_computed_where_it_is_needed() -> None:
    prices = la.evaluate(la.asarray(np.random.default_rng(1).random((400, 50))))
    with la.config.set(device="cpu"), la.record_runs() as runs:
        worst = (prices - la.maximum.accumulate(prices, axis=1)).min(axis=1)
        la.evaluate(worst)
    expected = np.asarray(prices)
    assert bits(worst) == bits((expected - np.maximum.accumulate(expected, axis=1)).min(axis=1))
    assert [kernel.ops for kernel in runs.kernels] == [("max",), ("subtract", "min")]


@pytest.mark.parametrize(
    "call",
    [
        lambda np: np.maximum.accumulate(np.array([True, False, True])),
        lambda np: np.maximum.accumulate(np.array([1 + 2j, 3.0, np.nan])),
        lambda np: np.minimum.accumulate(np.array([3, 1, 2]), dtype="f4"),
        lambda np: np.minimum.accumulate(np.array([3.5, 1, 2]), dtype="i4"),
        lambda np: np.maximum.accumulate(np.array([[3, 1, 2]]), axis=2),
        lambda np: np.maximum.accumulate(np.array(3.0)),
        lambda np: np.maximum.accumulate(np.array([1, 5, 3]), 0, None, np.empty(3, int)),
        lambda np: np.maximum.accumulate(np.array([1, 5, 3]), out=np.empty(3)),
        lambda np: np.maximum.accumulate(np.array([1, 5, 3]), out=np.empty(2, int)),
        lambda np: np.fmax.accumulate(np.array([1, np.nan, 3])),
    ],
)
def test_all_else_is_numpys(call: Any) -> None:
    def told(module: Any) -> Any:
        try:
            return np.asarray(call(module))
        except Exception as error:
            return type(error), str(error)

    got, want = told(la), told(np)
    if isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want
