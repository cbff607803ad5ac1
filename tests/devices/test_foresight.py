"""Before a plan's first run its device is told of all kernels, as they will be launched."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray as np
from tests.devices import fake

Told = tuple[int, list[int], list[int], list[Any], bool]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Told], list[Told]]:
    """What the device is told, and what is launched: the kernel, which pointers share memory, alignments, scalars,
    whether errors are looked for."""
    foreseen: list[Told] = []
    started: list[Told] = []

    def told_of(launcher: Any, pointers: list[int], scalars: list[Any], bases: list[int], flags: int) -> Told:
        alignments = [pointer & 63 for pointer in pointers]
        return id(launcher), [bases.index(base) for base in bases], alignments, list(scalars), flags != 0

    def foresee(launcher: Any, *given: Any) -> None:
        foreseen.append(told_of(launcher, *given))

    start = fake.FakeLauncher.start

    def noted(launcher: Any, pointers: Any, scalars: Any, bases: Any, flags: int = 0, run: Any = None) -> None:
        started.append(told_of(launcher, pointers, scalars, bases, flags))
        start(launcher, pointers, scalars, bases, flags, run)

    monkeypatch.setattr(fake.FakeLauncher, "foresee", foresee, raising=False)
    monkeypatch.setattr(fake.FakeLauncher, "start", noted)
    return foreseen, started


def several(x: Any) -> Any:
    y = np.exp(x * 0.5)
    z = (y - y.sum(axis=0)) / 3.0
    return z.cumsum(axis=1), z.max(axis=0) * 2.0


def written(x: Any) -> Any:
    y = np.exp(x * 0.5)
    y[1:] = y[:-1] * 0.25
    y[0] = 7.0
    y[:, 3:] -= y.sum(axis=0)[3:]
    return y, y.max(axis=0)


@pytest.mark.parametrize("run", [several, written])
@pytest.mark.parametrize("errors", ["warn", "ignore"])
def test_kernels_are_launched_as_they_were_foreseen(told: Any, errors: Any, run: Any) -> None:
    foreseen, started = told
    rows = 50 if errors == "warn" else 60  # plans are kept: what ran in another test is not foreseen again
    data = numpy.random.default_rng(3).standard_normal((rows, 40))
    with np.device("fake"), numpy.errstate(over=errors, divide=errors, invalid=errors), np.config.set(eager_below=0):
        np.evaluate(*run(np.asarray(data)))
    assert len(foreseen) > 1
    several_at_once = {launcher for launcher, *_ in foreseen}
    assert foreseen == [one for one in started if one[0] in several_at_once]
    assert any(one[-1] for one in foreseen) == (errors == "warn")


def test_a_plan_that_comes_again_is_not_told_again(told: Any) -> None:
    foreseen, started = told
    data = numpy.random.default_rng(3).standard_normal((31, 40))
    with np.device("fake"), np.config.set(eager_below=0):
        for _ in range(2):
            np.evaluate(*several(np.asarray(data)))
    several_at_once = {launcher for launcher, *_ in foreseen}
    assert [one for one in started if one[0] in several_at_once] == 2 * foreseen


def test_one_kernel_alone_is_not_foreseen(told: Any) -> None:
    foreseen, started = told
    with np.device("fake"), np.config.set(eager_below=0):
        np.evaluate(np.asarray(numpy.arange(77.0)) * 2.5 + 1.0)
    assert (len(foreseen), len(started)) == (0, 1)
