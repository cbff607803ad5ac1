"""Transforms of a device's arrays are nodes: steps of plans, queued as one where these come again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend.library_nodes import TRANSFORMS, wanted
from tests.devices.fake import FakeDevice

DATA = numpy.random.default_rng(5).random((6, 40, 60))
SPECTRUM = DATA + 1j * DATA[:, ::-1, ::-1]
PLACES: list[dict[str, Any]] = [
    {}, {"n": 60}, {"n": 40}, {"axis": 1}, {"axis": -2}, {"axis": 2}, {"s": (40, 60)}, {"s": [40, 118]},
    {"s": (40, 119)}, {"s": (20, 60)}, {"axes": (1, 2)}, {"axes": (-1,)}, {"axes": (2, 1)}, {"axes": (0, 1, 2)},
    {"axes": (0, 2)}, {"axes": [-2, -1], "s": (40, 60)}, {"axes": ()}, {"axes": (2, 2)}, {"axes": (5,)},
    {"n": 0}, {"n": numpy.int64(60)},
    {"norm": "ortho"}, {"norm": "forward"}, {"norm": "other"}, {"axis": None}, {"n": 118}, {"s": None, "axes": None},
]  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("code", ["f4", "f8", "c8", "c16", "i4", "u1", "?", "f2"])
def test_what_is_recorded_has_the_shape_and_dtype_that_numpy_gives(name: str, code: str) -> None:
    data = (SPECTRUM if code[0] == "c" else DATA).astype(code)
    for options in PLACES:
        found = wanted(name, data.shape, data.dtype, (), options)
        if found is None:
            continue
        made = getattr(numpy.fft, name[4:])(data, **options)
        assert (found.shape, found.dtype) == (made.shape, made.dtype), options
        again = found.library.function(data, **dict(found.library.options))
        numpy.testing.assert_array_equal(again, made, err_msg=str(options))


def test_usual_transforms_are_recorded() -> None:
    for name in TRANSFORMS:
        given = DATA.astype("c16") if "rfft" not in name or "irfft" in name else DATA
        assert wanted(name, given.shape, given.dtype, (), {}) is not None
    assert wanted("fft.irfft2", (40, 31), numpy.dtype("c16"), (), {"s": (40, 60)}) is not None
    assert wanted("fft.irfft", (40, 31), numpy.dtype("c8"), (61, -1), {}) is not None
    assert wanted("fft.hfft", (40, 31), numpy.dtype("c8"), (), {}) is None


def test_arguments_that_numpy_refuses_are_left_to_it(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA) * 2
        refused: list[Callable[[Any], Any]] = [
            lambda f: f.fft(x, 0), lambda f: f.fft(x, axis=7), lambda f: f.fft2(x, norm="most"),
            lambda f: f.rfft(x * 1j), lambda f: f.fft(x, bad=1), lambda f: f.fft(x, 60, -1, None, None, None),
        ]  # fmt: skip
        for call in refused:
            with pytest.raises((ValueError, TypeError, IndexError)):
                call(np.fft)


def test_transforms_are_steps_of_a_plan(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.record_runs() as runs:
        x = np.evaluate(np.array(DATA) * 2)
        devices[0].calls.clear()
        y = np.fft.irfft2(np.fft.rfft2(x) * 3, s=(40, 60)) + 1
        assert devices[0].calls == []
        np.evaluate(y)
        assert devices[0].calls == ["fft.rfft2", "fft.irfft2"]
    assert runs.fallbacks == {}
    assert [t.way for t in runs.transfers] == ["to fake:0"]
    numpy.testing.assert_allclose(numpy.asarray(y), DATA * 6 + 1)


def test_a_write_after_a_transform_was_recorded_does_not_change_it(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA) * 2
        y = np.fft.fft(x)
        x[0] = 0
        numpy.testing.assert_allclose(numpy.asarray(y), numpy.fft.fft(DATA * 2))
        assert not numpy.asarray(x)[0].any()


def test_transforms_of_arrays_that_were_put_on_a_device_run_there(devices: list[FakeDevice]) -> None:
    x = np.asarray(DATA, device="fake")
    y = np.fft.fft(x + 1)
    assert y.device == "fake:0"
    assert numpy.asarray(y).dtype == numpy.complex128
    assert devices[0].calls == ["fft.fft"]
    z = np.fft.fft(np.array(DATA) + 1)
    numpy.testing.assert_array_equal(numpy.asarray(y), numpy.asarray(z))
    assert devices[0].calls == ["fft.fft"]


def test_results_in_another_order_of_memory_are_called_at_once(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA) * 2
        for axes in ((2, 1, 0), (1, 0, 2), (0, 1, 2)):
            ours, theirs = np.fft.fft(x.transpose(axes)), numpy.fft.fft((DATA * 2).transpose(axes))
            assert ours.strides == theirs.strides
            numpy.testing.assert_allclose(numpy.asarray(ours), theirs)


FIELD = numpy.random.default_rng(6).random((120, 100))


def step(w: Any, np: Any) -> Any:
    """A turn of a spectral method."""
    u, v = np.fft.irfft2(w, s=(120, 100)), np.fft.irfft2(w * 1j, s=(120, 100))
    return w + np.fft.rfft2(u * v) * 1e-3 - w * 1e-2


def test_a_loop_of_transforms_is_queued_as_one(devices: list[FakeDevice]) -> None:
    start = numpy.fft.rfft2(FIELD)
    expected = start
    with np.device("fake"):
        w = np.evaluate(np.array(start) * 1)
        kept = None
        for turn in range(16):
            w = np.evaluate(step(w, np))
            expected = step(expected, numpy)
            if turn == 9:
                kept, then = w, expected
        assert len(devices[0].replays) >= 8
        numpy.testing.assert_allclose(numpy.asarray(w), expected, 1e-9)
        numpy.testing.assert_allclose(numpy.asarray(kept), then, 1e-9)


def test_transforms_are_replayed_by_jit(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        w = np.evaluate(np.array(numpy.fft.rfft2(FIELD)) * 1)
        expected = numpy.fft.rfft2(FIELD)
        run = np.jit(lambda w: step(w, np))
        for _ in range(8):
            w, expected = run(w), step(expected, numpy)
        numpy.testing.assert_allclose(numpy.asarray(w), expected, 1e-9)
        assert len(run.misses) == 1
