"""While NumPy is to compute a span, its operators run as they come: it is asked for now and then only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend import pauses, spans
from lazyarray.runtime import first, planning, prices

N = 20_000
TURNS = 400


@pytest.fixture(autouse=True)
def compiling_never_pays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And no process before this one has compiled."""
    first.forget()
    pauses.PAUSES.clear()
    monkeypatch.setattr(planning, "is_on_disk", lambda structure: False)
    monkeypatch.setattr(prices, "_PLAN", 10**12)
    with np.config.set(eager_below=65536, compile_at=3), warnings.catch_warnings():
        warnings.simplefilter("default")  # as for programs: else nothing is stored where it is computed
        yield
    first.forget()
    pauses.PAUSES.clear()


def vectors(np: Any, count: int) -> list[Any]:
    random = numpy.random.default_rng(3)
    return [np.array(random.standard_normal(N)) for _ in range(count)]


def interpreted() -> int:
    return int(np.counters()["interpreted"])


def combined(np: Any) -> Any:
    a, b, c = vectors(np, 3)
    for _ in range(TURNS):
        c = (a * c + b) * 0.5 - a
    return c


def stored(np: Any) -> Any:
    a, b = vectors(np, 2)
    for _ in range(TURNS):
        b[1:-1] = 0.25 * (a[2:] + a[:-2]) + 0.5 * a[1:-1]
        a, b = b, a
    return a


@pytest.mark.parametrize("run", [combined, stored])
def test_a_span_is_seldom_interpreted(run: Callable[[Any], Any]) -> None:
    before = interpreted()
    got = run(np)
    assert 3 <= interpreted() - before <= 3 + TURNS // first._AHEAD + 1
    numpy.testing.assert_array_equal(numpy.asarray(got), run(numpy))


def test_spans_pause_one_by_one() -> None:
    a, b, c = vectors(np, 3)

    def run(both: bool) -> None:
        _ = (a * b + c) * 0.5 - a
        if both:
            _ = (a + b) * (a - c) + 1.0

    for turn in range(60):
        run(turn % 5 == 0)
    paused = list({id(pause): pause for pause in pauses.PAUSES.values()}.values())
    assert len(paused) == 2
    before = [pause.left for pause in paused]
    for _ in range(5):
        run(False)
    assert sorted(one - pause.left for one, pause in zip(before, paused, strict=True)) == [0, 5]


def test_a_pause_ends() -> None:
    code = test_a_pause_ends.__code__
    site = (code, 10)
    assert spans.members_of(code, 10) == {10}
    pauses.pause(site, 2)
    assert [pauses.is_paused(site) for _ in range(4)] == [True, True, False, False]
    assert not pauses.PAUSES


def triangle(np: Any, turns: int) -> Any:
    """Each turn's arrays have a row less."""
    a, found = np.array(numpy.random.default_rng(3).standard_normal((4_000, 7))), []
    for k in range(turns):
        found.append(((a[k + 1 :] - a[k]) * 0.5 + a[k + 1 :]).sum())
    return [float(one) for one in found]


def compiled_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling always pays."""
    for name in ("_PLAN", "_PLANNED", "_KERNEL", "_OPERATION"):
        monkeypatch.setattr(prices, name, 0)
    monkeypatch.setattr(first, "_LOADING", 0)


def test_a_span_of_ever_new_sizes_runs_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_for(monkeypatch)
    triangle(np, 20)
    before = np.counters()["launches"]
    assert triangle(np, TURNS) == triangle(numpy, TURNS)
    assert np.counters()["launches"] - before <= 20 + TURNS // 50


def test_a_span_whose_sizes_come_again_does_not_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_for(monkeypatch)
    for _ in range(60):
        triangle(np, 2)
    pauses.PAUSES.clear()
    before = np.counters()["launches"]
    triangle(np, 2)
    assert np.counters()["launches"] - before >= 2
    assert not pauses.PAUSES


def test_what_is_compiled_does_not_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled_for(monkeypatch)
    a, b, c = vectors(np, 3)
    for _ in range(60):
        _ = (a * b + c) * 0.5 - a
    before = np.counters()["launches"]
    for _ in range(10):
        _ = (a * b + c) * 0.5 - a
    assert np.counters()["launches"] == before + 10
    assert not pauses.PAUSES
