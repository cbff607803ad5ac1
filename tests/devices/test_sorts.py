"""Sorts of a device's arrays are nodes: steps of plans, queued as one where these come again."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend.library_nodes import SORTS, wanted
from tests.devices.fake import FakeDevice

RANDOM = numpy.random.default_rng(5)
DATA = RANDOM.random((30, 40))
WHOLE = RANDOM.integers(0, 9, (6, 70, 30))
RECORDED: list[dict[str, Any]] = [
    {}, {"axis": 0}, {"axis": 1}, {"axis": -2}, {"axis": 2}, {"kind": "stable"}, {"kind": "mergesort", "axis": 1},
]  # fmt: skip
LEFT: list[dict[str, Any]] = [
    {"axis": None}, {"axis": 3}, {"axis": -4}, {"axis": 1.0}, {"kind": "other"}, {"order": "x"}, {"stable": True},
    {"axis": numpy.int64(1)},
]  # fmt: skip


@pytest.mark.parametrize("name", SORTS)
@pytest.mark.parametrize("code", ["f2", "f4", "f8", "i1", "u2", "i4", "u8", "?"])
def test_what_is_recorded_has_the_shape_dtype_and_values_that_numpy_gives(name: str, code: str) -> None:
    data = WHOLE.astype(code)
    for options in RECORDED:
        found = wanted(name, data.shape, data.dtype, (), options)
        assert found is not None
        made = getattr(numpy, name)(data, **options)
        assert (found.shape, found.dtype) == (made.shape, made.dtype), options
        into = numpy.empty(found.shape, found.dtype)
        for out in (None, into):
            again = found.library.function(data, out=out, **dict(found.library.options))
            numpy.testing.assert_array_equal(again, made, err_msg=str(options))
        assert again is into


@pytest.mark.parametrize("name", SORTS)
def test_what_means_something_else_is_left_to_numpy(name: str) -> None:
    for options in LEFT:
        assert wanted(name, WHOLE.shape, WHOLE.dtype, (), options) is None, options
    assert wanted(name, (5,), numpy.dtype("c16"), (), {}) is None
    assert wanted(name, (), numpy.dtype("f8"), (), {}) is None
    assert wanted(name, (0, 3), numpy.dtype("f8"), (), {}) is None
    assert wanted(name, (5,), numpy.dtype("f8"), (0, "stable", None), {}) is None


def test_sorts_are_steps_of_a_plan(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.record_runs() as runs, np.config.set(eager_below=0):
        x = np.evaluate(np.array(DATA) * 2)
        devices[0].calls.clear()
        y = np.sort(x, axis=0)[::2] + 1
        z = np.argsort(-x, kind="stable")[:, :3] * 2
        x.sort()
        assert devices[0].calls == []
        np.evaluate(x, y, z)
        assert sorted(devices[0].calls) == ["argsort", "sort", "sort"]
    assert runs.fallbacks == {}
    assert [t.way for t in runs.transfers] == ["to fake:0"]
    numpy.testing.assert_array_equal(numpy.asarray(y), numpy.sort(DATA * 2, axis=0)[::2] + 1)
    numpy.testing.assert_array_equal(numpy.asarray(z), numpy.argsort(DATA * -2, kind="stable")[:, :3] * 2)
    numpy.testing.assert_array_equal(numpy.asarray(x), numpy.sort(DATA * 2))


def test_methods_sort_as_functions_do(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.config.set(eager_below=0):
        x = np.array(DATA) * 2
        places = x.argsort(0)
        x.sort(axis=0)
        numpy.testing.assert_array_equal(numpy.asarray(places), (DATA * 2).argsort(0))
        numpy.testing.assert_array_equal(numpy.asarray(x), numpy.sort(DATA * 2, axis=0))
        with pytest.raises(numpy.exceptions.AxisError):
            np.sort(x, axis=2)


def test_what_cannot_be_sorted_where_it_is_has_numpys_errors(devices: list[FakeDevice]) -> None:
    calls: list[Any] = [
        lambda x: x.sort(axis=None),
        lambda x: x.sort(None),
        lambda x: x.sort(axis=2),
        lambda x: x.sort(kind="other"),
        lambda x: (x.setflags(write=False), x.sort()),
    ]
    with np.device("fake"), np.config.set(eager_below=0):
        for call in calls:
            said = []
            for x in (DATA * 2, np.array(DATA) * 2):
                with pytest.raises((TypeError, ValueError)) as caught:
                    call(x)
                said.append((type(caught.value), str(caught.value)))
            assert said[0] == said[1]


def test_a_loop_of_sorts_is_queued_as_one(devices: list[FakeDevice]) -> None:
    def step(x: Any, np: Any) -> Any:
        best = np.sort(x, axis=1)[:, -1:]
        return x * 0.5 + best - np.argsort(x, axis=1, kind="stable") * 0.01

    expected = DATA
    with np.device("fake"), np.config.set(eager_below=0):
        x = np.evaluate(np.array(DATA) * 1)
        for _ in range(16):
            x = np.evaluate(step(x, np))
            expected = step(expected, numpy)
        assert len(devices[0].replays) >= 8
        numpy.testing.assert_allclose(numpy.asarray(x), expected, 1e-12)


def test_sorts_are_replayed_by_jit(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.config.set(eager_below=0):
        x = np.evaluate(np.array(DATA) * 1)
        expected = DATA
        run = np.jit(lambda x: np.sort(x, axis=0) * 0.5 + x)
        for _ in range(8):
            x, expected = run(x), numpy.sort(expected, axis=0) * 0.5 + expected
        numpy.testing.assert_allclose(numpy.asarray(x), expected, 1e-12)
        assert len(run.misses) == 1
