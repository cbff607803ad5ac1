"""Histograms with equal bins: NumPy's counts, edges and errors, out of one kernel and `numpy.bincount`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarray as la

DATA = np.random.default_rng(1).normal(size=100_003)
ODD = DATA.copy()
ODD[:4] = np.nan, np.inf, -np.inf, -0.0
GRID = np.linspace(0.0, 1.0, 100_001)  # many elements on edges, where dividing alone finds the wrong bin


@pytest.mark.parametrize(
    ("a", "options"),
    [
        (DATA, {}),
        (DATA, {"bins": 64}),
        (ODD, {"bins": 64, "range": (-1.0, 1.0)}),
        (DATA, {"bins": np.int64(7), "range": (-1, np.float64(2.0))}),
        (GRID, {"bins": 1000}),
        (GRID, {"bins": 37, "range": (0.1, 0.7)}),
        (DATA, {"bins": 20, "density": True}),
        (np.ones(100_000), {"bins": 3}),
        (DATA[:100_000].reshape(200, 500).T, {"bins": 11}),
    ],
)
def test_a_histogram_is_one_kernel_and_numpys(a: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
    lazy = la.array(a)
    with la.record_runs() as r:
        got = la.histogram(lazy, **options)
    assert not r.fallbacks
    copies = not a.flags.c_contiguous
    assert len(r.kernels) == 1 + ("range" not in options) + copies, (
        "the bins, and the extremes where they are asked for"
    )
    for want, have in zip(np.histogram(a, **options), got, strict=True):
        assert type(have) is la.ndarray
        assert have.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(have), want)


@pytest.mark.parametrize(
    "options",
    [{"bins": 0}, {"bins": 2.5}, {"bins": 3, "range": (2.0, 1.0)}, {"range": (0.0, np.inf)}, {"bins": "none"}],
)
def test_what_numpy_refuses_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as wanted:
        np.histogram(DATA, **options)
    with pytest.raises(wanted.type) as got:
        la.histogram(la.array(DATA), **options)
    assert str(got.value) == str(wanted.value)


def test_ranges_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="autodetected range"):
        la.histogram(la.array(ODD))


@pytest.mark.parametrize("options", [{"bins": "auto"}, {"weights": DATA}, {"bins": np.array([-1.0, 0.0, 2.0])}])
def test_other_histograms_run_in_numpy(options: dict[str, Any]) -> None:
    with la.record_runs() as r:
        got = la.histogram(la.array(DATA), **options)
    assert r.fallbacks == {"histogram": 1}
    for want, have in zip(np.histogram(DATA, **options), got, strict=True):
        np.testing.assert_array_equal(np.asarray(have), want)
