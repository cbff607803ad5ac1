"""Holds reductions, means, variances and running sums to NumPy's values, dtypes, scalars and errors."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, Program, agree

RNG = numpy.random.default_rng(5)
ARRAYS: dict[str, Any] = {
    "f8": RNG.normal(size=(4, 5, 3)),
    "f4": RNG.normal(size=(6, 7)).astype("f4"),
    "f2": RNG.normal(size=(3, 9)).astype("f2"),
    "i8": RNG.integers(-50, 50, (5, 4)),
    "u1": RNG.integers(0, 255, 12).astype("u1"),
    "b1": RNG.integers(0, 2, (4, 6)).astype(bool),
    "c16": RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3)),
    "c8": (RNG.normal(size=(4, 3)) + 1j * RNG.normal(size=(4, 3))).astype("c8"),
    "nan": numpy.where(RNG.random((5, 4)) < 0.3, numpy.nan, RNG.normal(size=(5, 4))),
    "scalar": numpy.array(2.5),
    "one": numpy.array([[3.0]]),
}
REDUCTIONS = [
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmin",
    "argmax",
    "ptp",
    "count_nonzero",
    "nansum",
    "nanprod",
    "nanmin",
    "nanmax",
    "nanmean",
    "nanvar",
    "nanstd",
    "amin",
    "average",
    "median",
    "cumsum",
    "cumprod",
    "nancumsum",
]


@MODES
@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_agree_with_numpy(name: str, kind: str, eager_below: int) -> None:
    values = ARRAYS[kind]
    for axis in (None, 0, -1):
        agree(lambda np, axis=axis: getattr(np, name)(np.data(values), axis=axis), eager_below)


METHODS = [
    "sum",
    "prod",
    "min",
    "max",
    "mean",
    "var",
    "std",
    "any",
    "all",
    "argmin",
    "argmax",
    "cumsum",
    "cumprod",
]


@MODES
@pytest.mark.parametrize("name", METHODS)
def test_methods_agree_with_numpy(name: str, eager_below: int) -> None:
    values = ARRAYS["f8"]
    agree(lambda np: getattr(np.data(values), name)(), eager_below)
    agree(lambda np: getattr(np.data(values), name)(1), eager_below)
    if not name.startswith("cum"):
        agree(lambda np: getattr(np.data(values), name)(axis=2, keepdims=True), eager_below)
    agree(lambda np: getattr(np.data(values), name)(axis=5), eager_below)


X = ARRAYS["f8"]
N = ARRAYS["i8"]
POSITIVE = X > 0
PROGRAMS: dict[str, Program] = {
    "axes": lambda np: (np.sum(np.data(X), (0, 2)), np.data(X).max((1, 2)), np.mean(np.data(X), (0, 1))),
    "keepdims": lambda np: (np.sum(np.data(X), keepdims=True), np.var(np.data(X), 1, keepdims=True)),
    "axes-repeated": lambda np: np.sum(np.data(X), (0, 0)),
    "axis-float": lambda np: np.sum(np.data(X), 1.5),
    "dtype": lambda np: (
        np.sum(np.data(N), dtype="f4"),
        np.data(N).prod(0, dtype="i4"),
        np.data(X).sum(dtype=int),
    ),
    "initial": lambda np: (
        np.sum(np.data(X), 0, initial=3),
        np.max(np.data(X), initial=100),
        np.data(N).min(initial=0),
    ),
    "where": lambda np: (
        np.sum(np.data(X), where=np.data(POSITIVE)),
        np.mean(np.data(X), 0, where=np.data(POSITIVE)),
    ),
    "where-std": lambda np: np.std(np.data(X), 1, where=np.data(POSITIVE)),
    "where-max": lambda np: np.max(np.data(X), 0, where=np.data(POSITIVE)),
    "where-max-initial": lambda np: np.max(np.data(X), 0, where=np.data(POSITIVE), initial=-9),
    "where-broadcast": lambda np: np.data(X).sum(0, where=np.data([True, False, True])),
    "where-any": lambda np: (np.any(np.data(N) > 40, 0, where=np.data(N) < 45), np.all(np.data(X) > -9)),
    "ddof": lambda np: (
        np.var(np.data(X), ddof=1),
        np.std(np.data(X), 0, correction=1),
        np.data(X).var(1, ddof=0.5),
    ),
    "ddof-twice": lambda np: np.var(np.data(X), ddof=1, correction=1),
    "ddof-large": lambda np: np.var(np.data(X)[:1], 0, ddof=2),
    "var-mean": lambda np: np.var(np.data(X), 1, mean=np.mean(np.data(X), 1, keepdims=True)),
    "var-int": lambda np: (np.var(np.data(N)), np.std(np.data(ARRAYS["b1"]), 1)),
    "empty": lambda np: (np.sum(np.data(X)[:0]), np.data(X)[:, :0].prod(1), np.mean(np.data(X)[:0], 1)),
    "empty-min": lambda np: np.min(np.data(X)[:0]),
    "empty-min-axis": lambda np: np.data(X)[:0].max(0),
    "empty-argmin": lambda np: np.argmin(np.data(X)[:0]),
    "empty-mean": lambda np: np.mean(np.data(X)[:0]),
    "out": lambda np: _out(np, "sum"),
    "out-mean": lambda np: _out(np, "mean"),
    "out-wrong": lambda np: np.sum(np.data(X), 0, out=np.data(X)),
    "scalar-kind": lambda np: (
        type(np.sum(np.data(N)).item()),
        isinstance(np.mean(np.data(X)), numpy.floating),
    ),
    "scalar-use": lambda np: np.data(X) - np.data(X).mean(),
    "argmax-keepdims": lambda np: (
        np.argmax(np.data(X), 1, keepdims=True),
        np.argmin(np.data(X), keepdims=True),
    ),
    "argmax-refused": lambda np: np.argmax(np.data(X), 4),
    "argmax-tuple": lambda np: np.argmax(np.data(X), (0, 1)),
    "nan-argmax": lambda np: (np.nanargmax(np.data(ARRAYS["nan"])), np.nanargmin(np.data(ARRAYS["nan"]), 1)),
    "nan-argmax-refused": lambda np: np.nanargmax(np.data([[numpy.nan, numpy.nan]]), 1),
    "average": lambda np: (
        np.average(np.data(X), 0, np.data([1.0, 2, 3, 4])),
        np.average(np.data(N), weights=np.data(N) + 60),
    ),
    "average-returned": lambda np: np.average(np.data(N), 1, returned=True),
    "cumulative": lambda np: (
        np.cumsum(np.data(N), dtype="f4"),
        np.cumulative_sum(np.data(N)[0], include_initial=True),
    ),
    "cumsum-refused": lambda np: np.cumsum(np.data(X), 3),
    "percentile": lambda np: (np.percentile(np.data(X), [25, 50]), np.quantile(np.data(X), 0.3, 1)),
    "cov": lambda np: (np.cov(np.data(ARRAYS["f4"])), np.corrcoef(np.data(N))),
    "trapezoid": lambda np: np.trapezoid(np.data(X)[0, 0]),
    "trace": lambda np: (np.trace(np.data(N)), np.data(X).trace(0, 1, 2), np.trace(np.data(X), 1)),
    "lists": lambda np: (np.sum([[1, 2], [3, 4]], 0), np.mean([1, 2]), np.max([3.0, 1.0])),
    "count": lambda np: (np.count_nonzero(np.data(N) > 0), np.count_nonzero(np.data(N), 1, keepdims=True)),
    "ufunc": lambda np: (
        np.add.reduce(np.data(X)),
        np.maximum.reduce(np.data(X), 1),
        np.add.accumulate(np.data(N), 1),
    ),
}


def _out(np: Any, name: str) -> Any:
    out = np.zeros((5, 3))
    returned = getattr(np, name)(np.data(X), 0, out=out)
    assert returned is out
    return out


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_options_agree_with_numpy(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


def test_a_reduction_of_pending_values_stays_pending() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.arange(10.0)
        for name in ("sum", "mean", "std", "max", "nansum"):
            assert "LazyScalar" in type.__repr__(type(getattr(lazyarray, name)(x * 2)))


def test_large_reductions_are_recorded() -> None:
    x = lazyarray.arange(50_000.0)
    with lazyarray.record_runs() as runs:
        total = (x * 2).sum()
        assert not runs.evaluations
        assert float(total) == numpy.sum(numpy.arange(50_000.0) * 2)
    assert not runs.fallbacks


def test_positions_in_few_rows_are_looked_up_where_they_lie() -> None:
    """NumPy finds them before an evaluation would begin; pending arrays and long ones take part in kernels."""
    x = numpy.random.default_rng(0).normal(size=(300, 400)).astype(numpy.float32)
    x[7, 3:5] = numpy.nan
    lazy = lazyarray.evaluate(lazyarray.array(x) * 1)
    for options in ({}, {"axis": 1}, {"axis": -1, "keepdims": True}):
        with lazyarray.config.set(eager_below=65536), lazyarray.record_runs() as r:
            got = [lazyarray.evaluate(lazyarray.argmax(lazy, **options)), lazyarray.evaluate(lazy.argmin(**options))]
        assert not r.kernels
        assert not r.fallbacks
        with lazyarray.record_runs() as r:
            later = [
                lazyarray.evaluate(lazyarray.argmax(lazy * 1, **options)),
                lazyarray.evaluate((lazy * 1).argmin(**options)),
            ]
        assert len(r.kernels) == 2
        for want, have, other in zip((numpy.argmax(x, **options), numpy.argmin(x, **options)), got, later, strict=True):
            assert have.dtype == other.dtype == numpy.intp
            numpy.testing.assert_array_equal(numpy.asarray(have), want)
            numpy.testing.assert_array_equal(numpy.asarray(other), want)


COMPLEX_NANS = [complex(numpy.nan, 1), complex(2, numpy.nan)]


@MODES
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda np: np.nanmax(np.array([COMPLEX_NANS, [1, 2]]), 1), "All-NaN slice"),
        (lambda np: np.nanmin(np.array(COMPLEX_NANS)), "All-NaN slice"),
        (lambda np: np.nanmax(np.array([numpy.nan]).max()), "All-NaN axis"),
    ],
)
def test_where_all_is_nan_the_first_is_given_with_numpys_warning(call: Program, message: str, eager_below: int) -> None:
    with pytest.warns(RuntimeWarning, match=message):
        want = call(numpy)
    with lazyarray.config.set(eager_below=eager_below), pytest.warns(RuntimeWarning, match=message):
        got = numpy.asarray(call(lazyarray))
    assert str(got) == str(numpy.asarray(want))  # which shows both parts of each NaN
