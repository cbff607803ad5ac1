"""A signal handler, or a finaliser, that evaluates while a device is given work computes nothing twice there."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime import device_graphs
from lazyarray.runtime.recovery import Queued
from tests.devices.fake import FakeDevice

SIZES = itertools.count(5000)  # a plan of its own for each test: none is recorded yet
WHEN = ["before", "after"]
LOOKS: dict[str, Callable[[Any], Any]] = {
    "evaluate": np.evaluate,
    "element": lambda x: float(x[5]),
    "sum": lambda x: float(x.sum()),
    "more": lambda x: np.evaluate(x * 2.0),
}


def new() -> tuple[Any, Any]:
    """An array on the device, and what NumPy has."""
    data = numpy.arange(float(next(SIZES)))
    return np.evaluate(np.array(data) * 1.0), data


def update(x: Any) -> None:
    x[1:] = x[1:] + 1.0


def looked(x: Any, look: Callable[[Any], Any], told: list[str]) -> Callable[[], None]:
    def handler() -> None:
        told.append("seen")
        look(x)

    return handler


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("when", WHEN)
def test_a_write_over_its_operand_is_done_once(devices: list[FakeDevice], when: str, look: str) -> None:
    with np.device("fake"):
        (x, expected), told = new(), list[str]()
        update(x)
        devices[0].meanwhile[when] = looked(x, LOOKS[look], told)
        np.evaluate(x)
        update(expected)
        assert told == ["seen"]
        numpy.testing.assert_array_equal(numpy.asarray(x), expected)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("when", WHEN)
def test_a_recorded_run_that_writes_over_its_operand_is_done_once(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch, when: str, look: str
) -> None:
    meanwhile: dict[str, Callable[[], None]] = {}

    class Watched(Queued):
        __slots__ = ()

        def call(self, function: Callable[..., Any], *args: Any) -> None:
            for moment in WHEN:
                if moment in meanwhile:
                    meanwhile.pop(moment)()
                if moment == "before":
                    super().call(function, *args)

    monkeypatch.setattr(device_graphs, "Queued", Watched)
    with np.device("fake"):
        (x, expected), told = new(), list[str]()
        for turn in range(12):
            update(x)
            if turn > 7:
                meanwhile[when] = looked(x, LOOKS[look], told)
            np.evaluate(x)
            update(expected)
            numpy.testing.assert_array_equal(numpy.asarray(x[3:9]), expected[3:9])
        assert devices[0].replays
        assert told
        numpy.testing.assert_array_equal(numpy.asarray(x), expected)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("when", ["begun", "ended"])
@pytest.mark.parametrize("step", [update, lambda x: x.__iadd__(1.0), lambda x: numpy.multiply(x, 2.0, out=x)])
def test_what_is_evaluated_while_a_run_is_put_on_record_is_no_part_of_that(
    devices: list[FakeDevice], step: Callable[[Any], Any], when: str, look: str
) -> None:
    with np.device("fake"):
        (x, expected), told = new(), list[str]()
        devices[0].meanwhile[when] = looked(x, LOOKS[look], told)
        for _ in range(40):
            step(x)
            np.evaluate(x)
            step(expected)
            if len(told) < 2:
                devices[0].meanwhile[when] = looked(x, LOOKS[look], told)
            numpy.testing.assert_array_equal(numpy.asarray(x), expected)
        assert told
        assert devices[0].replays


def test_an_error_of_a_handler_while_a_run_is_put_on_record_is_the_programs(devices: list[FakeDevice]) -> None:
    def stop() -> None:
        raise TimeoutError

    with np.device("fake"):
        x, expected = new()

        def repeat(times: int) -> None:
            for _ in range(times):
                update(x)
                update(expected)
                np.evaluate(x)

        devices[0].meanwhile["begun"] = stop
        with pytest.raises(TimeoutError):
            repeat(40)
        numpy.testing.assert_array_equal(numpy.asarray(x), expected)
        repeat(10)
        assert devices[0].replays
        numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_an_error_after_a_write_over_its_operand_leaves_it_done_once(devices: list[FakeDevice]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    for when in WHEN:
        with np.device("fake"):
            x, expected = new()
            update(x)
            devices[0].meanwhile[when] = interrupt
            with pytest.raises(KeyboardInterrupt):
                np.evaluate(x)
            update(expected)
            numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_a_handler_sees_a_call_done_and_noted_or_neither() -> None:
    found: list[bool] = []
    now: tuple[Queued, list[int]] = (Queued(), [])

    def handler(*_: Any) -> None:
        queued, called = now
        found.append(queued.ran() == bool(called))

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 2e-5, 2e-5)
        while len(found) < 500:
            now = (Queued(), [])
            now[0].call(now[1].append, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(0.05)  # the last one may come to another thread: it is not for the handler before this one
        signal.signal(signal.SIGALRM, old)
    assert all(found)


def test_a_launch_of_several_functions_is_noted_with_the_last() -> None:
    queued, called = Queued(2), list[int]()
    for number in range(2):
        assert not queued.ran()
        queued.call(called.append, number)
    assert queued.ran()
    assert called == [0, 1]
