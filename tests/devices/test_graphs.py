"""Plans that come again with the same memory are recorded and queued as one; results are those of ordinary runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.config import config
from lazyarray.runtime import device_graphs
from tests.devices.fake import FakeDevice

DATA = numpy.random.default_rng(0).random((100, 100))


def softmax(x: Any, np: Any = np) -> Any:
    y = x @ x
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def repeat(run: Callable[[], Any], times: int) -> Any:
    for _ in range(times):
        last = np.evaluate(run())
    return last


def test_a_plan_that_comes_again_is_queued_as_one(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.errstate(all="ignore"):
        x = np.evaluate(np.array(DATA) * 2)
        last = repeat(lambda: softmax(x), 12)
        assert devices[0].replays == [2] * len(devices[0].replays)  # the product and a kernel
        assert len(devices[0].replays) >= 6
        assert len(devices[0].calls) == 12
        numpy.testing.assert_allclose(numpy.asarray(last), softmax(DATA * 2, numpy), 1e-12)


def test_results_that_are_kept_are_not_written_again(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        repeat(lambda: softmax(x), 6)
        kept = [np.evaluate(softmax(x)) for _ in range(5)]
        y = np.evaluate(np.array(DATA) * 3)
        other = repeat(lambda: softmax(y), 6)
        for result in kept:
            numpy.testing.assert_allclose(numpy.asarray(result), softmax(DATA * 2, numpy), 1e-12)
        numpy.testing.assert_allclose(numpy.asarray(other), softmax(DATA * 3, numpy), 1e-12)


def test_values_that_come_and_go_are_read_where_they_are(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 1)
        expected = DATA * 1
        for _ in range(12):
            x = np.evaluate(softmax(x))
            expected = softmax(expected, numpy)
        assert devices[0].replays
        numpy.testing.assert_allclose(numpy.asarray(x), expected, 1e-12)


@pytest.mark.parametrize("numbers", [[1.0, 2.0, 3.0, 2.0, 1.0] * 3, [0.0, -0.0] * 6, [1, 1.0, True] * 4])
def test_other_numbers_are_other_records(devices: list[FakeDevice], numbers: list[Any]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for number in numbers:
            got = np.evaluate(np.copysign(1, number * (x @ x)))
            numpy.testing.assert_array_equal(numpy.asarray(got), numpy.copysign(1, number * ((DATA * 2) @ (DATA * 2))))


@pytest.mark.parametrize("kept", [False, True])
def test_writes_take_memory_over_or_copy_it(devices: list[FakeDevice], kept: bool) -> None:
    old: Any = None
    with np.device("fake"):
        x, expected = np.evaluate(np.array(DATA) * 2), DATA * 2
        for _ in range(12):
            old = x.copy() if kept else None
            before = expected.copy()
            y = x @ x
            x[1:50] = y[1:50] / (1 + y[1:50].sum())
            np.evaluate(x)
            product = expected @ expected
            expected[1:50] = product[1:50] / (1 + product[1:50].sum())
            if kept:
                numpy.testing.assert_array_equal(numpy.asarray(old), before)
        assert devices[0].replays
        numpy.testing.assert_allclose(numpy.asarray(x), expected, 1e-9)


def test_errors_of_each_run_are_told(devices: list[FakeDevice]) -> None:
    data = DATA.copy()
    data[3, 4] = 0
    with np.device("fake"):
        fine, odd = np.evaluate(np.array(DATA) * 1), np.evaluate(np.array(data) * 1)
        for x, told in [(fine, 0)] * 6 + [(odd, 1)] * 6 + [(fine, 0)] * 6:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                y = np.evaluate((1 / x) @ x + 1)
                float(y[5, 5])
            assert [str(w.message) for w in found] == ["divide by zero encountered in divide"] * told
        assert len(devices[0].replays) >= 6


def test_a_run_is_recorded_when_that_would_have_paid(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_graphs, "AWAITED", 4)
    monkeypatch.setattr(device_graphs, "SHORT", 24)
    data = numpy.random.default_rng(3).random((77, 78))  # plans are kept by shape
    with np.device("fake"):
        x = np.evaluate(np.array(data) * 2)
        repeat(lambda: x * 3, 24)
        assert not devices[0].replays  # one launch
        repeat(lambda: x * 3, 40)
        assert devices[0].replays


def test_what_a_device_cannot_record_runs_step_by_step(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: FakeDevice, queue: Callable[[], None]) -> Callable[[], None]:
        raise RuntimeError("this cannot be captured")

    monkeypatch.setattr(FakeDevice, "record", refuse)
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        last = repeat(lambda: softmax(x), 6)
        numpy.testing.assert_allclose(numpy.asarray(last), softmax(DATA * 2, numpy), 1e-12)


def test_small_arrays_that_are_sent_again_and_again_are_sent_twice(devices: list[FakeDevice]) -> None:
    weights = numpy.arange(100.0)
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        devices[0].transfers.clear()
        for _ in range(6):
            y = np.evaluate(x * np.array(weights)[np.newaxis])
            numpy.testing.assert_array_equal(numpy.asarray(y), DATA * 2 * weights)
        assert devices[0].transfers.count(weights.nbytes) == 2


def test_small_arrays_of_other_values_have_the_memory_of_the_last(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for turn in range(12):
            weights = numpy.arange(100.0) + turn
            y = np.evaluate(x * np.array(weights))
            numpy.testing.assert_array_equal(numpy.asarray(y), DATA * 2 * weights)
        assert len(devices[0].replays) >= 6


def test_what_is_kept_of_small_arrays_is_not_written(devices: list[FakeDevice]) -> None:
    start = numpy.arange(64.0)
    with np.device("fake"):
        x = np.asarray(DATA[0, :64] * 2, device="fake")
        for turn in range(6):
            y = np.array(start) + 0  # another node of the same values
            z = np.array(start)
            z[1:] = x[1:] * turn
            np.evaluate(z)
            expected = start.copy()
            expected[1:] = DATA[0, 1:64] * 2 * turn
            numpy.testing.assert_array_equal(numpy.asarray(z), expected)
            numpy.testing.assert_array_equal(numpy.asarray(np.evaluate(y * x)), start * DATA[0, :64] * 2)


@pytest.mark.parametrize("size", [64, 10_000])
@pytest.mark.parametrize("named", [False, True])
def test_what_was_sent_is_written_over_by_nobody_else(devices: list[FakeDevice], size: int, named: bool) -> None:
    """Small arrays of the same values share memory there, and what is pending may read an old value yet."""
    start = numpy.arange(float(size))
    with np.device("fake"), np.errstate(all="ignore"), config.set(eager_below=0):
        for _ in range(12):
            x = np.array(start)
            later = x * 3 if named else None
            x[1:] = x[:-1] * 2
            np.evaluate(x)
            expected = start.copy()
            expected[1:] = start[:-1] * 2
            numpy.testing.assert_array_equal(numpy.asarray(x), expected)
            again = np.evaluate(np.array(start) + 1)
            numpy.testing.assert_array_equal(numpy.asarray(again), start + 1)
            if later is not None:
                numpy.testing.assert_array_equal(numpy.asarray(later), start * 3)
        assert devices[0].replays


def test_values_between_the_steps_share_memory_where_they_are_not_needed_at_once(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = numpy.random.default_rng(8).random((90, 90)) / 90
    monkeypatch.setattr(device_graphs, "OWN_BYTES", 4 * data.nbytes)

    def chain(x: Any, np: Any) -> Any:
        y = x
        for _ in range(8):
            y = np.sin(y @ x) + x
        return y, y @ y

    with np.device("fake"):
        for scale in (1, 2):
            x = np.evaluate(np.array(data) * scale)
            kept = [np.evaluate(*chain(x, np)) for _ in range(9)]
            for got in kept:
                for ours, theirs in zip(got, chain(data * scale, numpy), strict=True):
                    numpy.testing.assert_allclose(numpy.asarray(ours), theirs, 1e-12)
            del kept, got, ours
            for _ in range(9):
                got = np.evaluate(*chain(x, np))
            numpy.testing.assert_allclose(numpy.asarray(got[1]), chain(data * scale, numpy)[1], 1e-12)
        assert len(devices[0].replays) >= 12
