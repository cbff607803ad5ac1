"""Holds when a result is written over a value that ends with it, and that nobody sees a difference."""

from __future__ import annotations

import gc
import signal
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.runtime.execute import Run

COUNT = 1 << 18
RUNS_COMPILED = not isinstance(Run.launch, FunctionType)
GIVEN = np.linspace(0.5, 1.5, COUNT)


def array() -> Any:
    """An array in memory that nobody else has."""
    return la.evaluate(la.linspace(0.5, 1.5, COUNT))


def scaled(x: Any, y: Any) -> Any:
    x *= 0.75
    return x


def added(x: Any, y: Any) -> Any:
    x += y
    return x


def replaced(x: Any, y: Any) -> Any:
    return x * x + y


def rooted(x: Any, y: Any) -> Any:
    return np.sqrt(x)


def clipped(x: Any, y: Any) -> Any:
    return np.where(x > y, x, 0.25)


STEPS = (scaled, added, replaced, rooted, clipped)


@pytest.mark.parametrize("step", STEPS)
def test_what_takes_the_place_of_a_value_takes_its_memory(step: Callable[[Any, Any], Any], memory: Any) -> None:
    x, y, want = array(), array(), GIVEN.copy()
    for _ in range(5):
        x, want = step(x, y), step(want, GIVEN)
        before = memory.stats().allocations
        la.evaluate(x)
        assert memory.stats().allocations == before
    np.testing.assert_array_equal(np.asarray(x), want, strict=True)
    np.testing.assert_array_equal(np.asarray(y), GIVEN, strict=True)


def test_two_results_take_the_memory_of_two_values(memory: Any) -> None:
    x, y = array(), array()
    for _ in range(3):
        x, y = x + y, x - y
        before = memory.stats().allocations
        la.evaluate(x, y)
        assert memory.stats().allocations == before
    a, b = GIVEN, GIVEN
    for _ in range(3):
        a, b = a + b, a - b
    np.testing.assert_array_equal(np.asarray(x), a)
    np.testing.assert_array_equal(np.asarray(y), b)


def test_a_total_that_is_known_is_no_reason_to_keep_a_value(memory: Any) -> None:
    x, want = array(), GIVEN.copy()
    for _ in range(3):
        x -= x.mean()
        la.evaluate(x)
        want -= np.asarray(la.asarray(want).mean())
    assert memory.stats().bytes_peak == 8 * COUNT
    np.testing.assert_array_equal(np.asarray(x), want)


class Watched:
    """A name for a value that somebody else has."""

    def __init__(self, kept: Any) -> None:
        self.kept = kept


HOLDS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: [x],
    lambda x: x[3:],
    lambda x: x[::-2],
    lambda x: x.reshape(512, 512),
    lambda x: x * 2.0,
    lambda x: x[100:200] + 1.0,
    lambda x: x.sum(),
    np.asarray,
    lambda x: np.asarray(x)[5:],
    memoryview,
    np.from_dlpack,
    lambda x: iter(x),
    lambda x: x.flat,
]


@pytest.mark.parametrize("hold", HOLDS)
@pytest.mark.parametrize("step", STEPS[2:])
def test_a_value_that_somebody_has_is_as_it_was(
    hold: Callable[[Any], Any], step: Callable[[Any, Any], Any], memory: Any
) -> None:
    x, y = array(), array()
    held = Watched(hold(x))
    x = step(x, y)
    la.evaluate(x)
    np.testing.assert_array_equal(np.asarray(x), step(GIVEN, GIVEN))
    plain = Watched(hold(GIVEN))
    if hasattr(held.kept, "__next__") or hasattr(held.kept, "coords"):
        assert [next(held.kept) for _ in range(10)] == [next(plain.kept) for _ in range(10)]
    else:
        np.testing.assert_array_equal(np.asarray(held.kept), np.asarray(plain.kept))


@pytest.mark.parametrize("hold", [lambda x: x, lambda x: x[3:], np.asarray, memoryview, lambda x: x.reshape(512, 512)])
@pytest.mark.parametrize("step", STEPS[:2])
def test_an_update_is_seen_by_all_who_have_the_array(
    hold: Callable[[Any], Any], step: Callable[[Any, Any], Any]
) -> None:
    x, y, want = array(), array(), GIVEN.copy()
    held, plain = hold(x), hold(want)
    for _ in range(3):
        step(x, y)
        step(want, GIVEN)
        la.evaluate(x)
        np.testing.assert_array_equal(np.asarray(x), want)
        np.testing.assert_array_equal(np.asarray(held), np.asarray(plain))


def test_an_operand_of_numpys_stays_as_it_is() -> None:
    given = GIVEN.copy()
    for _ in range(3):
        x = la.asarray(given)
        x = x * 2.0 + 1.0
        la.evaluate(x)
        np.testing.assert_array_equal(given, GIVEN)
        np.testing.assert_array_equal(np.asarray(x), GIVEN * 2.0 + 1.0)


def test_arguments_of_compiled_functions_stay_as_they_are() -> None:
    doubled = la.jit(lambda x: x * 2.0 + 1.0)
    for given in (array(), la.asarray(GIVEN.copy())):
        for _ in range(4):
            np.testing.assert_array_equal(np.asarray(doubled(given)), GIVEN * 2.0 + 1.0)
        np.testing.assert_array_equal(np.asarray(given), GIVEN)


@pytest.mark.parametrize(
    "step",
    [
        lambda np, x: x[::-1] * 2.0,
        lambda np, x: x + np.roll(x, 1),
        lambda np, x: (x.reshape(512, 512).T + x.reshape(512, 512)).reshape(-1),
        lambda np, x: x + x.reshape(512, 512)[3].repeat(512),
        lambda np, x: np.concatenate((x[1:], x[:1])) * 0.5,
        lambda np, x: x / x.max(),
        lambda np, x: np.cumsum(x),
        lambda np, x: x[np.arange(x.size)[::-1]] + x,
        lambda np, x: np.sort(x)[::-1] * x,
        lambda np, x: (x * 1e3).astype("i8"),
        lambda np, x: (x * 1e3).astype("i8").view("f8"),
        lambda np, x: np.where(x > 1.0, x, x[::-1]),
    ],
)
def test_results_that_read_other_elements_are_numpys(step: Callable[[Any, Any], Any]) -> None:
    for _ in range(3):
        x = step(la, array())
        want = step(np, GIVEN)
        np.testing.assert_array_equal(np.asarray(la.evaluate(x)), want, strict=True)


@pytest.mark.parametrize("mode", ["raise", "warn"])
def test_an_error_that_is_raised_leaves_the_array_as_numpy_does(mode: Any) -> None:
    x = array()
    x[7] = 0.0
    la.evaluate(x)
    want = np.asarray(x).copy()
    with la.errstate(divide=mode):
        if mode == "raise":
            with pytest.raises(FloatingPointError, match="divide by zero"):
                la.evaluate(1.0 / x)
            np.testing.assert_array_equal(np.asarray(x), want)
            y = x * 1.0
            del x
            with pytest.raises(FloatingPointError, match="divide by zero"):
                la.evaluate(1.0 / y)
            np.testing.assert_array_equal(np.asarray(y), want)
        else:
            held = [x]
            del x
            with pytest.warns(RuntimeWarning, match="divide by zero"):
                x = la.evaluate(1.0 / held.pop())
            with np.errstate(divide="ignore"):
                np.testing.assert_array_equal(np.asarray(x), 1.0 / want)


@pytest.mark.skipif(not RUNS_COMPILED, reason="Python may run a handler between any two of its own instructions")
def test_an_interrupted_program_has_the_value_before_or_after() -> None:
    class Stop(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    old = signal.signal(signal.SIGALRM, stop)
    try:
        for attempt in range(60):
            x, times = la.evaluate(array() * 1.0), 0
            x *= 1.0
            la.evaluate(x)
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4 + attempt * 3e-5)
                while True:
                    x *= 2.0
                    la.evaluate(x)
                    times += 1
            except Stop:
                pass
            ratio = np.asarray(x) / GIVEN
            assert (ratio == ratio[0]).all()
            assert ratio[0] in (2.0**times, 2.0 ** (times + 1))
            del x
            gc.collect()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


UPDATES: list[Callable[[Any], Any]] = [
    lambda x: np.sqrt(x * x) + 1.0,
    lambda x: x.__iadd__(1.0),
    lambda x: (x.__setitem__(slice(1, None), x[1:] + 1.0), x)[1],
]
LOOKS: list[Callable[[Any], Any]] = [la.evaluate, lambda x: float(x[5]), lambda x: float(x.sum()), np.asarray]


@pytest.mark.parametrize("look", LOOKS, ids=["evaluate", "element", "sum", "array"])
@pytest.mark.parametrize("update", UPDATES, ids=["new", "whole", "part"])
def test_a_handler_that_evaluates_meanwhile_computes_nothing_twice(
    update: Callable[[Any], Any], look: Callable[[Any], Any]
) -> None:
    count = 1 << 20
    x = la.evaluate(la.zeros(count))
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(look(x)))
    try:
        for times in range(1, 80):
            seen: list[Any] = []
            x = update(x)
            signal.setitimer(signal.ITIMER_REAL, 2e-5 + times % 20 * 5e-5)
            la.evaluate(x)
            signal.setitimer(signal.ITIMER_REAL, 0)
            got = float(x[7])
            assert got == times
            for found in seen:
                if type(found) is float:
                    assert found in (times, times - 1.0, times * count, (times - 1.0) * count, times * (count - 1.0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_a_weak_reference_to_a_value_shows_no_other() -> None:
    given = GIVEN.copy()
    watch = weakref.ref(given)
    x = la.asarray(given)
    del given
    y = x * 2.0 + 1.0
    del x
    for _ in range(3):
        la.evaluate(y)
    seen = watch()
    if seen is not None:
        np.testing.assert_array_equal(seen, GIVEN)
