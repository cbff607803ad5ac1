"""An error in the middle of an evaluation leaves every array as it was: evaluated again, all values are right."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.runtime import execute, running
from lazyarray.runtime.backend import current
from lazyarray.schedule.plan import ClaimStep

DATA = numpy.random.default_rng(0).standard_normal((40, 50))


def stencil(np: Any, data: Any) -> tuple[Any, ...]:
    x = np.array(data)
    x += 1
    y = x.sum(axis=0)
    x[::2] *= 3
    x[1:] = x[:-1] * y
    z = np.exp(-x * x).sum()
    x -= z
    return x, y, z


def views(np: Any, data: Any) -> tuple[Any, ...]:
    x = np.array(data)
    v = x[5:10]
    v *= 2
    m = x.max()
    x[x > 0] = 0.5
    w = x.cumsum(axis=1)
    x[:, 3] = w[:, 4]
    x += m
    return x, v, w


def elimination(np: Any, data: Any) -> tuple[Any, ...]:
    x, total = np.array(data), np.array(data) * 2
    for k in range(1, 5):
        x[k:, k:] -= np.outer(x[k:, 0], x[0, k:])
        x[k] = x[k] / (1 + abs(x[k]).sum())
        total += x
    return x, total


def product(np: Any, data: Any) -> tuple[Any, ...]:
    x = np.array(data)
    for _ in range(3):
        x = x + np.roll(x, 1, axis=1) * 0.5
        x[0] = 0
        x[:, -1] = x[:, -2]
    b = x @ x.T
    b[3] += 1
    b[:, 3] -= 2
    return x, b


def indices(np: Any, data: Any) -> tuple[Any, ...]:
    x, i = np.array(data), np.array([1, 5, 7])
    x[i] += 1
    x[i, i] = 9
    t = x.T
    t[2:4] *= 2
    x /= x.std()
    return x, t


def failing(run: Callable[..., Any], count: int, error: type[BaseException]) -> Callable[..., Any]:
    calls = itertools.count()

    def call(*args: Any) -> Any:
        if next(calls) == count:
            raise error("here")
        return run(*args)

    return call


def memory_ends(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """From the allocation on: one that fails alone is made again without what nobody asked for."""
    allocate, calls = execute.reserve, itertools.count()

    def call(*args: Any) -> Any:
        if next(calls) >= count:
            raise MemoryError("here")
        return allocate(*args)

    monkeypatch.setattr(execute, "reserve", call)


def interrupted_before_a_write(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    run = failing(execute.Run.claim, count, KeyboardInterrupt)
    monkeypatch.setitem(execute.RULES, ClaimStep, run)


def interrupted_before_a_kernel(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Programs are asked for at the first run of a plan, each right before its kernel runs."""
    backend: Any = type(current())
    monkeypatch.setattr(backend, "compile", failing(backend.compile, count, KeyboardInterrupt))


@pytest.fixture(autouse=True)
def _recorded() -> Iterator[None]:
    with lazyarray.config.set(eager_below=0):
        yield


@pytest.mark.parametrize("fail", [memory_ends, interrupted_before_a_write, interrupted_before_a_kernel])
@pytest.mark.parametrize("program", [stencil, views, elimination, product, indices])
def test_what_an_error_ended_is_right_when_it_is_evaluated_again(
    program: Any, fail: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = program(numpy, DATA)
    for count in range(40):
        found = program(lazyarray, DATA)
        raised = False
        running.plans.clear()
        with monkeypatch.context() as patched:
            fail(patched, count)
            try:
                lazyarray.evaluate(*found)
            except (MemoryError, KeyboardInterrupt):
                raised = True
        running.plans.clear()
        for one, other in zip(found, expected, strict=True):
            numpy.testing.assert_allclose(numpy.asarray(one), other, rtol=1e-10)
        if not raised:
            break
    assert count > 0
