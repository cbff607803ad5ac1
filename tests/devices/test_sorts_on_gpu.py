"""On a GPU: sorts have NumPy's values and order, NaN at the end, equal ones as they were, also from CUDA graphs."""

from __future__ import annotations

import os
from typing import Any

import numpy
import pytest

if os.environ.get("LAZYARRAY_TEST_DEVICE") != "cuda":
    pytest.skip("needs a GPU, and LAZYARRAY_TEST_DEVICE=cuda", allow_module_level=True)

import lazyarray as np

RANDOM = numpy.random.default_rng(7)
WHOLE = RANDOM.integers(-60, 60, (7, 90, 33))
CODES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]


def given(code: str) -> Any:
    data = WHOLE.astype(code)
    if code[0] == "f":
        data[WHOLE % 7 == 0] = numpy.nan
        data[WHOLE % 11 == 0] = numpy.inf
        data[WHOLE % 13 == 0] = -numpy.inf
    return data


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_sorts_give_numpys_values(code: str, axis: int) -> None:
    data = given(code)
    x = np.asarray(data, device="cuda")
    with np.record_runs() as runs:
        for view in (lambda a: a, lambda a: a[1:, ::2], lambda a: a[2:3], lambda a: a[:, :, 4:20:3]):
            numpy.testing.assert_array_equal(numpy.asarray(np.sort(view(x), axis)), numpy.sort(view(data), axis))
            ours = np.argsort(view(x), axis, "stable")
            assert ours.device == "cuda:0"
            numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.argsort(view(data), axis, "stable"))
    assert runs.fallbacks == {}


@pytest.mark.parametrize("count", [1, 2, 33, 5000, 300_000])
@pytest.mark.parametrize("code", ["f4", "i8"])
def test_long_rows(code: str, count: int) -> None:
    data = (RANDOM.standard_normal(count) * 1000).astype(code)
    x = np.asarray(data, device="cuda")
    numpy.testing.assert_array_equal(numpy.asarray(np.sort(x)), numpy.sort(data))
    numpy.testing.assert_array_equal(numpy.asarray(np.argsort(x, kind="stable")), numpy.argsort(data, kind="stable"))


@pytest.mark.parametrize("call", ["sort", "argsort"])
@pytest.mark.parametrize("shape", [(5000,), (1, 5000), (5000, 1), (50, 100)])
@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_nan_of_either_sign_are_at_the_end(code: str, shape: tuple[int, ...], call: str) -> None:
    data = RANDOM.standard_normal(shape).astype(code)
    data.flat[::3], data.flat[1::7] = -numpy.nan, numpy.nan
    x = np.asarray(data, device="cuda")
    options = {"kind": "stable"} if call == "argsort" else {}
    for axis in (0, -1, None):
        found = getattr(np, call)(x, axis, **options)
        numpy.testing.assert_array_equal(numpy.asarray(found), getattr(numpy, call)(data, axis, **options))


def test_nan_that_are_computed_are_at_the_end() -> None:
    data = RANDOM.standard_normal(5000)
    with numpy.errstate(invalid="ignore"):
        found, expected = np.sort(np.sqrt(np.asarray(data, device="cuda"))), numpy.sort(numpy.sqrt(data))
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)


def step(x: Any, np: Any) -> Any:
    rows = np.sort(x, axis=1)
    columns = np.sort(x * 2.0, axis=0)
    return (x * 0.75 + rows[:, ::-1] * 0.125) - columns * 0.0625 + np.argsort(x, axis=1, kind="stable") % 3


@pytest.mark.parametrize("jit", [False, True])
def test_graphs_of_sorts_give_numpys_values(jit: bool) -> None:
    start = RANDOM.standard_normal((64, 50))
    run = np.jit(lambda x: step(x, np)) if jit else lambda x: np.evaluate(step(x, np))
    x, expected, others = np.asarray(start, device="cuda"), start, []
    with np.config.set(eager_below=0):
        for turn in range(40):
            x, expected = run(x), step(expected, numpy)
            others.append(np.evaluate(np.asarray(numpy.full(50 * turn + 1, 7.0), device="cuda") * 2))  # takes memory
            if turn % 8 == 7:
                numpy.testing.assert_allclose(numpy.asarray(x), expected, 1e-12)
