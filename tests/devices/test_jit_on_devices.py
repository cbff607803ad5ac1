"""`jit` of arrays on devices: results stay there, and calls are replayed where their arguments live."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np
from tests.devices.fake import FakeDevice

DATA = numpy.random.default_rng(0).random((100, 100))


def test_results_stay_on_the_device_of_the_arguments(devices: list[FakeDevice]) -> None:
    runs = []

    @np.jit
    def f(x: Any) -> Any:
        runs.append(1)
        y = x @ x
        return np.exp(-y) / (1 + y.sum(axis=0)), y.mean()

    x = np.asarray(DATA, device="fake:1")
    with np.record_runs() as recorded:
        found = [f(x) for _ in range(4)]
    assert recorded.transfers == []
    assert len(runs) == 1
    product = DATA @ DATA
    for y, mean in found:
        assert y.device == "fake:1"
        numpy.testing.assert_allclose(numpy.asarray(y), numpy.exp(-product) / (1 + product.sum(axis=0)), 1e-12)
        assert float(mean) == numpy.asarray(mean) == found[0][1]


def test_the_place_of_an_argument_is_part_of_its_kind(devices: list[FakeDevice]) -> None:
    f = np.jit(lambda x, y: np.sqrt(x) + y)
    host, there = np.array(DATA), np.asarray(DATA, device="fake:1")
    places = [(host, host, "cpu"), (there, host, "fake:1"), (there, there, "fake:1"), (host, host, "cpu")]
    for x, y, wanted in places * 2:
        got = f(x, y)
        assert got.device == wanted
        numpy.testing.assert_array_equal(numpy.asarray(got), numpy.sqrt(DATA) + DATA)
    with np.device("fake:0"):
        assert f(host, host).device == "fake:0"
    assert len(f.misses) == 4


def test_calls_on_small_arrays_of_a_device_are_replayed_as_one(devices: list[FakeDevice]) -> None:
    x = np.asarray(DATA[:10, :10], device="fake")
    f = np.jit(lambda x: np.tanh(x @ x) / (x @ x).max(axis=1, keepdims=True))
    for _ in range(8):
        y = f(x)
    assert len(devices[0].replays) >= 4
    small = DATA[:10, :10] @ DATA[:10, :10]
    numpy.testing.assert_allclose(numpy.asarray(y), numpy.tanh(small) / small.max(axis=1, keepdims=True), 1e-12)


def test_calls_that_were_queued_before_make_no_run(devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.asarray(DATA, device="fake")
    f = np.jit(lambda x: (x @ x, x.sum()))
    for _ in range(8):
        product, total = f(x)
    monkeypatch.setattr("lazyarray.frontend.jit.DeviceRun", None)
    replays = len(devices[0].replays)
    for _ in range(4):
        product, total = f(x)
    assert len(devices[0].replays) == replays + 4
    numpy.testing.assert_allclose(numpy.asarray(product), DATA @ DATA, 1e-12)
    assert float(total) == pytest.approx(DATA.sum())


def test_arrays_that_were_put_on_a_device_stay_there_however_small(devices: list[FakeDevice]) -> None:
    x = np.zeros(3, device="fake")
    y = (x + 1)[1:] * 2
    assert (x.device, y.device, np.evaluate(y).device) == ("fake:0",) * 3
    with np.device("fake:1"):
        assert np.zeros(3).device == "cpu"
        assert (np.ones(3) + x).device == "fake:0"
        assert np.zeros(1 << 17).device == "fake:1"
    numpy.testing.assert_array_equal(numpy.asarray(y), [2, 2])


def test_arrays_like_one_on_a_device_are_made_there(devices: list[FakeDevice]) -> None:
    x = np.asarray(DATA[0], device="fake:1")
    for make in (np.zeros_like, np.ones_like, np.empty_like, lambda a: np.full_like(a, 7)):
        assert make(x).device == "fake:1"
    assert np.zeros_like(x, device="cpu").device == "cpu"
    numpy.testing.assert_array_equal(numpy.asarray(np.full_like(x, 7)), numpy.full_like(DATA[0], 7))


def test_errors_of_replayed_calls_are_told_at_the_line_of_each_function(devices: list[FakeDevice]) -> None:
    fine, odd = np.asarray(DATA + 1, device="fake"), np.asarray(DATA - DATA, device="fake")
    functions = [np.jit(lambda x: 1 / x + x @ x), np.jit(lambda x: 1 / x + x @ x)]  # two places of one plan
    for f in functions:
        for _ in range(6):
            float(f(fine)[1, 1])
    for turn in range(8):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            results = [functions[turn % 2](x) for x in (odd, fine, odd)]
            for y in results:
                float(y[2, 3])
        assert [str(w.message) for w in told] == ["divide by zero encountered in divide"] * 2
    assert len(devices[0].replays) >= 16


def test_an_error_is_told_at_its_own_line_among_lines_of_one_operation(devices: list[FakeDevice]) -> None:
    @np.jit
    def f(x: Any, y: Any) -> Any:
        a = x + x
        b = y + y
        return a, b, a * 0.5

    first = f.__wrapped__.__code__.co_firstlineno
    large, small = np.asarray(numpy.full(100, 1.5e308), device="fake"), np.asarray(numpy.ones(100), device="fake")
    for _ in range(5):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for result in f(large, small):
                numpy.asarray(result)
        assert [(str(t.message), t.lineno - first) for t in told] == [("overflow encountered in add", 2)]


def test_an_error_in_what_is_written_twice_is_told_at_both_lines(devices: list[FakeDevice]) -> None:
    @np.jit
    def f(x: Any) -> Any:
        a = x * x
        b = x * x
        return a - 1.0, b + 1.0

    first = f.__wrapped__.__code__.co_firstlineno
    x = np.asarray(numpy.full(90, 1e200), device="fake")
    for _ in range(5):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for result in f(x):
                numpy.asarray(result)
        assert [(str(t.message), t.lineno - first) for t in told] == [
            ("overflow encountered in multiply", 2),
            ("overflow encountered in multiply", 3),
        ]
