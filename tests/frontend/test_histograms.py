"""Histograms with equal bins and `bincount`: NumPy's counts, edges and errors, out of kernels that add in place."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.frontend import at_once, histograms

DATA = np.random.default_rng(1).normal(size=100_003)
ODD = DATA.copy()
ODD[:4] = np.nan, np.inf, -np.inf, -0.0
GRID = np.linspace(0.0, 1.0, 100_001)  # many elements on edges, where dividing alone finds the wrong bin


USUAL = pytest.mark.parametrize(
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


@USUAL
def test_histograms_are_numpys(a: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
    got = la.histogram(la.array(a), **options)
    for want, have in zip(np.histogram(a, **options), got, strict=True):
        assert type(have) is la.ndarray
        assert have.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(have), want)


@USUAL
def test_a_histogram_is_one_pass_over_its_elements(a: np.ndarray[Any, Any], options: dict[str, Any]) -> None:
    lazy = la.array(a)
    with la.record_runs() as r:
        got = la.histogram(lazy, **options)
        la.evaluate(*got)
    assert not r.fallbacks
    passes = [k for k in r.kernels if k.elements > a.size // 2]
    copies = not a.flags.c_contiguous
    assert len(passes) == 1 + ("range" not in options) + copies, "the counts, and the extremes where they are asked for"
    assert "scatter" in passes[-1].ops


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


@pytest.mark.parametrize("size", [*range(1, 40), 511, 512, 513, 575, 1023, 1025, 8191, 33_333, 131_071])
def test_counts_are_numpys_at_every_length(size: int) -> None:
    places = np.random.default_rng(size).integers(0, 5, size)
    x = la.array(places)
    with la.config.set(eager_below=0):
        np.testing.assert_array_equal(np.asarray(la.bincount(x)), np.bincount(places))
        found = la.histogram(x.astype(float), bins=7, range=(0.5, 4.5))[0]
        np.testing.assert_array_equal(np.asarray(found), np.histogram(places, bins=7, range=(0.5, 4.5))[0])


@pytest.mark.parametrize("kind", ["f4", "u1", "i1", "u2", "i4", "u4"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": 256, "range": (0, 256)},
        {"bins": 100, "range": (-0.1, 60.7), "density": True},
        {"bins": 33, "range": (np.float64(0.1), 77.7)},
        {"bins": 5000},
        {"bins": 70_000},
    ],
)
def test_histograms_of_other_numbers_are_numpys(kind: str, options: dict[str, Any]) -> None:
    draw = np.random.default_rng(5)
    a = (draw.normal(size=100_000) * 40).astype(kind) if kind[0] != "u" else draw.integers(0, 200, 100_000).astype(kind)
    if kind == "f4":
        edges = np.histogram_bin_edges(a, options.get("bins", 10), options.get("range"))[:10_000].astype("f4")
        a[: 3 * len(edges)] = np.concatenate([edges, np.nextafter(edges, np.float32(9)), np.nextafter(edges, -9)])
    got = la.histogram(la.array(a), **options)
    for want, have in zip(np.histogram(a, **options), got, strict=True):
        assert have.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(have), want)


PLACES = np.random.default_rng(2).integers(0, 300, 100_003)


@pytest.mark.parametrize("kind", ["i1", "u1", "i4", "u4", "i8"])
@pytest.mark.parametrize("minlength", [0, 200, 400])
def test_bincount_is_numpys(kind: str, minlength: int) -> None:
    places = (PLACES % 100).astype(kind)
    with la.record_runs() as r:
        got = la.bincount(la.array(places), minlength=minlength)
        again = la.bincount(la.array(places) + 1 - 1, minlength=np.int64(minlength))
        la.evaluate(got, again)
    assert not r.fallbacks
    for have in (got, again):
        assert have.dtype == np.intp
        np.testing.assert_array_equal(np.asarray(have), np.bincount(places, minlength=minlength))


@pytest.mark.parametrize("kind", ["f8", "f4", "i4", "b1"])
def test_weights_are_added_in_numpys_order(kind: str) -> None:
    weights = (np.random.default_rng(3).normal(size=PLACES.size) * 10).astype("?" if kind == "b1" else kind)
    with la.record_runs() as r:
        got = la.bincount(la.array(PLACES), weights=la.array(weights), minlength=310)
        la.evaluate(got)
    assert not r.fallbacks
    np.testing.assert_array_equal(np.asarray(got), np.bincount(PLACES, weights=weights, minlength=310))


def test_a_count_that_is_used_twice_is_not_added_to_twice() -> None:
    places = la.array(PLACES)
    counts = la.bincount(places)
    both = counts + la.bincount(places)
    la.evaluate(both)
    counts[0] += 1
    want = np.bincount(PLACES)
    np.testing.assert_array_equal(np.asarray(both), 2 * want)
    want[0] += 1
    np.testing.assert_array_equal(np.asarray(counts), want)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, k: m.bincount(m.array(k - 5)),
        lambda m, k: m.bincount(m.array((k - 5).astype("i1"))),
        lambda m, k: m.bincount(m.array(k), minlength=-1),
        lambda m, k: m.bincount(m.array(k * 1.0)),
        lambda m, k: m.bincount(m.array(k.reshape(1, -1))),
        lambda m, k: m.bincount(m.array(k), weights=m.array(k[1:])),
        lambda m, k: m.bincount(m.array(k), weights=m.array(k * 1j)),
    ],
)
def test_what_bincount_refuses_is_refused(call: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as wanted:
        call(np, PLACES)
    with pytest.raises(wanted.type) as got:
        call(la, PLACES)
    assert str(got.value) == str(wanted.value)


@pytest.mark.parametrize("low", [0.0, 1.0, 1e6, 1e9, -3.0])
@pytest.mark.parametrize("width", [1.0, 1e-3, 7.3])
def test_elements_beside_edges_are_in_numpys_bins(low: float, width: float) -> None:
    """Narrow bins on large values, where edges are rounded, and elements one step of float64 beside each edge."""
    for bins in (1, 3, 64, 1000):
        edges = np.linspace(low, low + width, bins + 1)
        beside = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
        want, at = np.histogram(beside, bins=bins, range=(low, low + width))
        with la.config.set(eager_below=0):
            got, edges_got = la.histogram(la.array(beside), bins=bins, range=(low, low + width))
            np.testing.assert_array_equal(np.asarray(got), want)
            np.testing.assert_array_equal(np.asarray(edges_got), at)


def test_memory_that_others_refer_to_is_not_copied_to_see_that_it_is_there() -> None:
    with la.config.set(eager_below=65536):
        shared = la.asarray(DATA)
        histograms._replayed(histograms._count_bins, shared)  # what is imported takes memory, too
        tracemalloc.start()
        histograms._replayed(histograms._count_bins, shared)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < DATA.nbytes // 2


def test_the_last_edge_keeps_the_sign_of_zero() -> None:
    values = -np.random.default_rng(1).random(100_000)
    for high in (0.0, -0.0, 0.0):
        edges = np.asarray(la.histogram(la.array(values), 10, (-1.0, high))[1])
        assert np.signbit(edges[-1]) == np.signbit(np.histogram(values, 10, (-1.0, high))[1][-1])


@pytest.mark.parametrize("options", [{"bins": 20, "range": (-2.0, 2.0)}, {"bins": 7}, {}])
def test_small_histograms_that_come_again_are_compiled(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    a = DATA[:20_000]
    monkeypatch.setattr(at_once, "COMPILING", a.size)
    with la.config.set(eager_below=65_536, compile_at=3), la.record_runs() as r:
        for _ in range(5):
            got = la.histogram(la.array(a), **options)
            la.evaluate(*got)
            for want, have in zip(np.histogram(a, **options), got, strict=True):
                assert have.dtype == want.dtype
                np.testing.assert_array_equal(np.asarray(have), want)
    assert sum(["scatter" in kernel.ops for kernel in r.kernels]) == 3, "but for the first two"


def test_a_few_small_histograms_compile_nothing() -> None:
    a = DATA[:30_000]
    with la.config.set(eager_below=65_536, compile_at=3), la.record_runs() as r:
        for _ in range(20):
            la.histogram(la.array(a), bins=21, range=(-1.0, 1.0))
    assert not r.kernels
    assert not r.fallbacks


def test_few_numbers_are_counted_by_numpy_however_often() -> None:
    a = DATA[:200]
    with la.config.set(eager_below=65_536, compile_at=3), la.record_runs() as r:
        for _ in range(5):
            for want, have in zip(np.histogram(a, 9, (-1, 1)), la.histogram(la.array(a), 9, (-1, 1)), strict=True):
                np.testing.assert_array_equal(np.asarray(have), want)
    assert not r.kernels
    assert not r.fallbacks
