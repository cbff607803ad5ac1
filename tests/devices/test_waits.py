"""How often the host waits for a device, and what it copies then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.config import config
from tests.devices.fake import FakeDevice

WORDS = 4 << 14  # bytes of a device's words


@pytest.fixture
def device(devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The first fake device, which counts how often it is waited for."""
    found: Any = devices[0]
    found.waits = 0
    download = found.download

    def counted(*args: Any) -> None:
        found.waits += 1
        download(*args)

    monkeypatch.setattr(found, "download", counted)
    with config.set(eager_below=0):
        yield found


def test_a_value_and_what_is_told_of_it_are_waited_for_once(device: Any) -> None:
    x = np.asarray(numpy.arange(100.0), device="fake")
    for turn in range(1, 12):
        device.waits = 0
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert float((1.0 / x).max()) == numpy.inf
        assert device.waits == 1, turn


def test_several_runs_are_told_by_their_own_lines_with_one_wait(device: Any) -> None:
    x = np.asarray(numpy.arange(100.0), device="fake")

    def read() -> float:
        first, second = np.log(x), 1.0 / x
        np.evaluate(first)
        np.evaluate(second)
        device.waits = 0
        return float(second[3])

    for _ in range(6):
        with pytest.warns(RuntimeWarning) as told:
            assert read() == 1.0 / 3.0
        assert sorted(str(w.message) for w in told) == [
            "divide by zero encountered in divide",
            "divide by zero encountered in log",
        ]
        assert device.waits == 1


def test_words_in_which_nothing_was_left_are_handed_out_again(device: Any) -> None:
    x = np.asarray(numpy.arange(1.0, 101.0), device="fake")
    device.transfers.clear()
    for turn in range(40):
        scale = numpy.arange(float(turn + 1))  # another shape and plan each time
        y = np.asarray(scale + 1.0, device="fake")
        for _ in range(20):
            assert float((x[0] / y).max()) == 1.0
    assert device.transfers.count(WORDS) <= 1
    assert [size for size in device.transfers if size < -64] == []


def test_a_read_by_mask_evaluates_the_mask_and_its_length_together(device: Any) -> None:
    x = np.asarray(numpy.arange(100.0), device="fake")
    np.evaluate(x)
    for _ in range(4):
        device.waits = 0
        with np.record_runs() as runs:
            taken = x[x > 30.0]
        assert len(runs.evaluations) == 1
        assert len(taken) == 69
        assert device.waits == 1
    numpy.testing.assert_array_equal(numpy.asarray(taken), numpy.arange(31.0, 100.0))
