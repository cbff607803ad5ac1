"""What C does for small arrays in the place of NumPy's loops has NumPy's bits, types, warnings and errors."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np

TYPES = [*"?bBhHiIlLfd"]
OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.and_, operator.lshift),
]
FUNCTIONS = "maximum fmin arctan2 hypot copysign logical_and ldexp nextafter heaviside fmod".split()
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod]


def told(function: Any, *args: Any) -> Any:
    """Type, shape, bits and warnings of a result, or the error; NaNs are all alike."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = function(*args)
        except (TypeError, ValueError, FloatingPointError) as error:
            return type(error), str(error).replace("lazyarray", "numpy")
    found = numpy.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found)
    if found.dtype.kind == "f":
        found = numpy.where(numpy.isnan(found), numpy.array(numpy.nan, found.dtype), found)
    return found.dtype, found.shape, found.tobytes(), sorted({str(w.message) for w in caught})


def values(code: str, shape: Any = 1500, seed: int = 1) -> Any:
    """Extremes, then numbers of all sizes."""
    draw, dtype = numpy.random.default_rng(seed), numpy.dtype(code)
    if code == "?":
        return draw.random(shape) > 0.5
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        found = draw.integers(info.min, info.max, shape, dtype, endpoint=True)
        found >>= draw.integers(0, 8 * dtype.itemsize - 1, shape).astype(dtype)
        extremes: Any = [0, 1, info.max, info.min, info.max - 1, (1 << 53) + 1]
        extremes = [v for v in extremes if v <= info.max]
    else:
        found = numpy.ldexp(draw.standard_normal(shape), draw.integers(-30, 30, shape)).astype(dtype)
        extremes = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, numpy.finfo(dtype).max]
    found.flat[: len(extremes)] = extremes[: found.size]
    return found


@pytest.mark.parametrize("function", [*OPERATORS, *FUNCTIONS], ids=lambda f: getattr(f, "__name__", f))
@pytest.mark.parametrize("code", TYPES)
def test_operands_of_two_types(function: Any, code: str) -> None:
    floats, others = values("d"), values(code, seed=2)
    mine, theirs = (function, function) if callable(function) else (getattr(np, function), getattr(numpy, function))
    for given in ((floats, others), (others, floats), (floats[:6], others[:6]), (others, 2.5), (0.0, others)):
        ours = [np.array(arg) if isinstance(arg, numpy.ndarray) else arg for arg in given]
        if isinstance(given[0], float) and callable(function) and function in (operator.and_, operator.lshift):
            continue
        if function is operator.pow or function in ("arctan2", "hypot"):  # these are not NumPy's bits (C6)
            found, expected = told(mine, *ours), told(theirs, *given)
            assert found[:2] == expected[:2]
            continue
        assert told(mine, *ours) == told(theirs, *given)


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("code", TYPES)
def test_augmented_assignments_of_another_type(function: Any, code: str) -> None:
    floats, others = values("d", (30, 50)), values(code, (30, 50), seed=2)
    mine, theirs = np.array(floats), floats.copy()
    assert told(function, mine, np.array(others)) == told(function, theirs, others)
    assert told(lambda: mine) == told(lambda: theirs)
    assert told(function, np.array(others), mine) == told(function, others.copy(), theirs)


def test_operands_of_two_types_that_are_no_lines() -> None:
    floats, whole = values("d", (20, 30)), values("l", (20, 30))
    for cut in (lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1], lambda a: a[:, :1], lambda a: a[3]):
        for x, k in ((cut, cut), (lambda a: a, cut), (cut, lambda a: a)):
            assert told(lambda x=x, k=k: x(np.array(floats)) * k(np.array(whole))) == (
                told(lambda x=x, k=k: x(floats) * k(whole))
            )


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "std", "var"])
@pytest.mark.parametrize("code", [*TYPES, "e", "F"])
def test_running_results_and_spreads(name: str, code: str) -> None:
    for shape in ((0,), (1,), (7,), (1500,), (40, 50), (5, 1, 6), (3, 4, 5), ()):
        if code in "eF":
            given = numpy.random.default_rng(3).standard_normal(shape).astype(code)
        else:
            given = values(code, shape, seed=4) if shape else values(code)[7:8].reshape(())
        for cut in (lambda a: a, lambda a: a.T, lambda a: a[::-1] if a.ndim else a):
            mine, theirs = cut(np.array(given)), cut(given)
            for axis in ({}, {"axis": None}, {"axis": 0}, {"axis": -1}, {"axis": 1}, {"axis": 9}):
                expected = told(lambda a=theirs, k=axis: getattr(a, name)(**k))
                assert told(lambda a=mine, k=axis: getattr(a, name)(**k)) == expected
                assert told(lambda a=mine, k=axis: getattr(np, name)(a, **k)) == expected


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "var", "std"])
@pytest.mark.parametrize("code", "fd")
@pytest.mark.parametrize("special", [None, numpy.nan, -0.0, 0.0])
def test_short_lines(name: str, code: str, special: float | None) -> None:
    draw = numpy.random.default_rng(6)
    for extent in (*range(1, 36), 64, 100):
        given = numpy.ldexp(draw.standard_normal((90, extent)), draw.integers(-30, 30, (90, extent))).astype(code)
        if special is not None:
            given.flat[::7] = special
            given[3] = special
        for a in (given, given.reshape(9, 10, extent)):
            with numpy.errstate(all="ignore"):
                found, expected = getattr(np.array(a), name)(axis=-1), getattr(a, name)(axis=-1)
            assert found.to_numpy().tobytes() == expected.tobytes(), extent


def test_running_results_obey_the_error_state() -> None:
    large = numpy.full(600, 1e308)
    with numpy.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in accumulate"):
        np.array(large).cumsum()
    with pytest.warns(RuntimeWarning, match="overflow encountered in accumulate"):
        np.cumsum(np.array(large))
    with numpy.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow encountered in accumulate"):
        np.array(numpy.full(600, 0.1)).cumprod()
