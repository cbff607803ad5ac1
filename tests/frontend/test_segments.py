"""`reduceat` of long vectors has NumPy's bits, errors and warnings, on any number of threads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.frontend import segments
from lazyarray.runtime.backend import current, workers

SIZE = 100_000


@pytest.fixture(autouse=True, params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    current()  # the workers of a backend that is not loaded are not waited for
    with la.config.set(num_threads=request.param, device="cpu"):
        yield request.param


def vector(code: str) -> Any:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(SIZE) * 100
    return (x + 1j * x[::-1]).astype(code) if code in "FD" else x.astype(code)


STARTS = {
    "sorted": np.sort(np.random.default_rng(2).integers(0, SIZE, 3000)),
    "in any order": np.random.default_rng(3).integers(0, SIZE, 3000),
    "some are empty": np.repeat(np.arange(0, SIZE, 500), 2),
    "short ones": np.arange(0, SIZE, 3),
    "few": np.array([0, 7, 50_000]),
    "none": np.array([], int),
    "the last element": np.full(20, SIZE - 1),
    "every second of more": np.arange(0, SIZE, 50)[::2],
}


@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize("code", ["d", "f", "D", "F", "l", "L", "i", "b", "?", "e"])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "logical_or", "subtract"])
def test_results_are_those_of_numpy(name: str, code: str, starts: str) -> None:
    x, at = vector(code), STARTS[starts]
    with np.errstate(all="ignore"):
        want, got = (outcome(module, name, x, at) for module in (np, la))
    assert got == want


def outcome(module: Any, name: str, x: Any, at: Any) -> Any:
    try:
        found = np.asarray(getattr(module, name).reduceat(module.asarray(x), module.asarray(at)))
    except TypeError as error:
        return str(error)
    return found.dtype, found.shape, found.tobytes()


@pytest.mark.parametrize("cut", [np.s_[::2], np.s_[::-1], np.s_[10:-10]], ids=str)
def test_vectors_of_any_step(cut: Any) -> None:
    x = vector("d")
    at = np.arange(0, len(x[cut]), 40)
    got = la.add.reduceat(la.asarray(x)[cut], la.asarray(at))
    assert np.asarray(got).tobytes() == np.add.reduceat(x[cut], at).tobytes()


@pytest.mark.parametrize("wrong", [-1, SIZE])
def test_places_out_of_bounds_are_numpys_error(wrong: int) -> None:
    x, at = vector("d"), np.append(np.arange(0, SIZE, 100), wrong)
    with pytest.raises(IndexError) as want:
        np.add.reduceat(x, at)
    with pytest.raises(IndexError) as got:
        la.add.reduceat(la.asarray(x), la.asarray(at))
    assert str(got.value) == str(want.value)


def test_what_overflows_warns_as_in_numpy() -> None:
    x, at = np.full(SIZE, 1e308), np.arange(0, SIZE, 100)
    told = []
    for module in (np, la):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            assert np.isinf(np.asarray(module.add.reduceat(module.asarray(x), module.asarray(at)))).all()
        told.append([(w.category, str(w.message)) for w in said])
    assert told[0] == told[1]


def test_keywords_are_numpys() -> None:
    x, at = vector("d"), np.arange(0, SIZE, 100)
    out = la.zeros(len(at))
    assert la.add.reduceat(la.asarray(x), at, out=out) is out
    assert np.asarray(out).tobytes() == np.add.reduceat(x, at).tobytes()
    got = la.add.reduceat(la.asarray(x), at, dtype="f4")
    assert np.asarray(got).tobytes() == np.add.reduceat(x, at, dtype="f4").tobytes()


def test_workers_of_the_backend_take_the_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    if hasattr(segments, "segments_of"):
        pytest.skip("the modules run as Python")
    asked: list[int] = []
    current().warm()  # type: ignore[attr-defined]
    share = workers()
    monkeypatch.setattr(current(), "share", lambda *task: asked.append(task[2]) or share(*task), raising=False)
    la.add.reduceat(la.asarray(vector("d")), la.asarray(STARTS["sorted"]))
    assert asked == [3000]
