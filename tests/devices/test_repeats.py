"""Evaluations on a device that are recorded as before are queued as before; all that differs goes the general way."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.config import config
from lazyarray.runtime import device_errors
from tests.devices.fake import FakeDevice

DATA = numpy.random.default_rng(0).random((100, 100))
TURNS = 8


def how(result: Any) -> Any:
    """What an evaluation was worked out to be: one object for all that were queued as one before."""
    return result._node.made


def step(x: Any, np: Any = np) -> Any:
    y = np.exp(x * 0.5) + 1
    return y / y.sum(axis=1, keepdims=True)


def inverse(x: Any) -> Any:
    return 1 / x


LINE = inverse.__code__.co_firstlineno + 1


def both(x: Any) -> tuple[Any, Any]:
    y = x + 1
    return y * 2, y * 3


def test_what_is_recorded_as_before_is_worked_out_once(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        results = []
        for _ in range(TURNS):
            y = np.evaluate(step(x))
            results.append(how(y))
            numpy.testing.assert_allclose(numpy.asarray(y), step(DATA * 2, numpy), 1e-12)
        assert results[-1] is results[-2] is results[-3]
        assert results[0] is not results[1]


def test_values_that_change_are_read(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x, expected = np.evaluate(np.array(DATA) * 2), DATA * 2
        for _ in range(3 * TURNS):
            x, expected = np.evaluate(step(x)), step(expected, numpy)
        numpy.testing.assert_allclose(numpy.asarray(x), expected, 1e-12)


def test_two_results_are_one_evaluation(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        found = []
        for _ in range(2 * TURNS):
            a = b = None  # their memory comes again
            a, b = np.evaluate(*both(x))
            found.append(how(a))
            assert how(a) is how(b)
            numpy.testing.assert_array_equal(numpy.asarray(a), (DATA * 2 + 1) * 2)
            numpy.testing.assert_array_equal(numpy.asarray(b), (DATA * 2 + 1) * 3)
        assert found[-1] is found[-2]


def test_a_value_that_the_program_names_is_kept_and_one_that_it_no_longer_names_is_not(
    devices: list[FakeDevice],
) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for names in [True] * TURNS + [False] * TURNS + [True] * TURNS:
            total = (x * 2).sum(axis=0)
            y = total + 1
            if not names:
                del total
            np.evaluate(y)
            numpy.testing.assert_allclose(numpy.asarray(y), (DATA * 4).sum(axis=0) + 1, 1e-12)
            if names:
                assert total._node.remote is not None
                numpy.testing.assert_allclose(numpy.asarray(total), (DATA * 4).sum(axis=0), 1e-12)


def test_a_named_value_that_is_cheap_stays_an_expression(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for _ in range(TURNS):
            cheap = x + 1
            y = np.evaluate(cheap * 2)
            assert cheap._node.remote is None
            numpy.testing.assert_array_equal(numpy.asarray(y), (DATA * 2 + 1) * 2)
            numpy.testing.assert_array_equal(numpy.asarray(cheap * 3), (DATA * 2 + 1) * 3)


@pytest.mark.parametrize("numbers", [[2.0, 3.0], [0.0, -0.0], [1, 1.0], [float("nan"), 1.0]])
def test_other_numbers_are_other_evaluations(devices: list[FakeDevice], numbers: list[float]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for number in numbers * TURNS + [n for n in numbers for _ in range(TURNS)]:
            y = np.evaluate(np.copysign(1, (x + 1) * number))
            numpy.testing.assert_array_equal(numpy.asarray(y), numpy.copysign(1, (DATA * 2 + 1) * number))


def test_operands_that_are_one_array_are_not_those_that_are_two(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x, y = np.evaluate(np.array(DATA) * 2), np.evaluate(np.array(DATA) * 3)
        for a, b, expected in [(x, x, DATA * 4), (x, y, DATA * 5), (y, x, DATA * 5)] * TURNS:
            numpy.testing.assert_allclose(numpy.asarray(np.evaluate((a + b) * 1)), expected, 1e-12)


def test_the_line_and_the_error_state_of_each_run_are_told(devices: list[FakeDevice]) -> None:
    data = DATA.copy()
    data[3, 4] = 0
    with np.device("fake"):
        x = np.evaluate(np.array(data) * 1)
        for quiet in [False] * TURNS + [True] * TURNS + [False] * TURNS:
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                with np.errstate(divide="ignore" if quiet else "warn"):
                    y = np.evaluate(1 / x + 1)
                float(y[5, 5])
            assert [str(w.message) for w in found] == ["divide by zero encountered in divide"] * (not quiet)
        for lines in range(2 * TURNS):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                y = inverse(x) if lines % 2 else 1 / x
                float(np.evaluate(y + 1)[5, 5])
            (told,) = found
            assert told.filename == __file__
            assert told.lineno == LINE if lines % 2 else told.lineno > LINE


def test_the_errors_of_many_runs_that_nobody_waits_for_are_told(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_errors, "_WORDS", 12)  # those of three runs
    data = DATA.copy()
    data[3, 4] = 0
    with np.device("fake"):
        fine, odd = np.evaluate(np.array(DATA) * 1), np.evaluate(np.array(data) * 1)
        for last in range(1, 5 * TURNS):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                for turn in range(1, last + 1):
                    y = np.evaluate(1 / (odd if turn == last else fine) + 1)
                float(y[5, 5])
            assert [str(w.message) for w in found] == ["divide by zero encountered in divide"]


def test_what_is_pending_beside_it_is_computed_along_as_ever(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for along in [False] * TURNS + [True] * TURNS:
            low = x.min() if along else None
            high = np.evaluate(x.max())
            assert float(high) == (DATA * 2).max()
            if low is not None:
                assert low._node.remote is not None or low._node.data is not None
                assert float(low) == (DATA * 2).min()


def test_settings_that_change_are_heeded(devices: list[FakeDevice]) -> None:
    from lazyarray.runtime.repeated import repeats

    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for _ in range(TURNS):
            np.evaluate(step(x))
        assert repeats
        with config.set(numerics="numpy"):
            assert not repeats


def test_recordings_list_every_evaluation(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for _ in range(TURNS):
            np.evaluate(step(x))
        before = np.counters()
        np.evaluate(step(x))
        after = np.counters()
        assert after["evaluations"] == before["evaluations"] + 1
        assert after["launches"] > before["launches"]
        with np.record_runs() as runs:
            np.evaluate(step(x))
        assert len(runs.evaluations) == 1
        assert runs.kernels


def test_memory_that_ends_leaves_everything_usable(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        for _ in range(TURNS):
            np.evaluate(step(x))
        y = step(x)
        devices[0].room = 0
        try:
            with pytest.raises(MemoryError):
                np.evaluate(y)
        finally:
            devices[0].room = None
        numpy.testing.assert_allclose(numpy.asarray(np.evaluate(y)), step(DATA * 2, numpy), 1e-12)
