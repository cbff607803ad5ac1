"""Programs on devices: where values live, what travels and why, moving, and what has to run on the host."""

from __future__ import annotations

import os
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.config import config
from lazyarray.errors import BackendError, StrictError
from lazyarray.ir.node import UNSEEN_LIMIT
from tests.devices.fake import FakeCompiler, FakeDevice

DATA = numpy.random.default_rng(0).random((100, 200))


def test_an_unchanged_program_runs_on_the_device_that_is_set(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA)
        y = (np.sqrt(x) * 2 + x.mean(axis=0))[:, ::-1]
        result = numpy.asarray(y)
    numpy.testing.assert_array_equal(result, (numpy.sqrt(DATA) * 2 + DATA.mean(axis=0))[:, ::-1])
    assert devices[0].launched
    assert devices[1].launched == []


def test_an_input_travels_once_and_results_stay(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.record_runs() as runs:
        x = np.array(DATA)
        for _ in range(3):
            y = np.evaluate(x * 2 + 1)
            x = np.evaluate(np.sqrt(y))
        assert [(t.way, t.nbytes) for t in runs.transfers] == [("to fake:0", DATA.nbytes)]
        numpy.asarray(x)
        assert [(t.way, t.nbytes) for t in runs.transfers[1:]] == [("from fake:0", DATA.nbytes)]


def test_only_what_is_asked_for_comes_back(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.record_runs() as runs:
        x = np.array(DATA) * 2
        assert float(x.sum()) == pytest.approx(2 * DATA.sum())
        assert float(x[3, 4]) == 2 * DATA[3, 4]
    assert [t.nbytes for t in runs.transfers if t.way == "from fake:0"] == [8, 8]


@pytest.mark.parametrize("joins", [False, True])
def test_a_device_that_finds_variances_along_is_given_one_kernel(
    devices: list[FakeDevice], joins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeCompiler, "joins_moments", joins, raising=False)
    data = numpy.random.default_rng(1).random(
        90_000 + joins
    )  # plans are kept by shape, and what a device makes of them
    with np.device("fake"):
        x = np.array(data)
        found = [x.max(), x.mean(), x.std()]
        assert len(np.explain(*found).kernels) == (1 if joins else 2)
        np.evaluate(*found)
        made = [float(f) for f in found]
    assert len(devices[0].launched) == (1 if joins else 2)
    numpy.testing.assert_allclose(made, [data.max(), data.mean(), data.std()], 1e-12)


def test_a_write_is_done_in_the_memory_that_nobody_else_reads(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.record_runs() as runs:
        x = np.evaluate(np.array(DATA) * 2)
        x[1:50] = 0
        np.evaluate(x)
        assert runs.materialisations == []
        kept = x.copy()
        x[:, 3] = 1
        np.evaluate(x, kept)
    expected = DATA * 2
    expected[1:50] = 0
    numpy.testing.assert_array_equal(numpy.asarray(kept), expected)
    expected[:, 3] = 1
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_what_numpy_writes_into_handed_out_memory_is_seen_on_the_device(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.evaluate(np.array(DATA) * 2)
        seen = numpy.asarray(x)
        seen[5] = 7
        y = x + 1
        numpy.testing.assert_array_equal(numpy.asarray(y), seen + 1)


def test_arrays_live_where_they_were_made(devices: list[FakeDevice]) -> None:
    x = np.asarray(DATA, device="fake:1")
    assert x.device == "fake:1"
    y = x + 1
    assert y.device == "fake:1"
    assert np.array(DATA).device == "cpu"
    assert (np.array(DATA) + y).device == "fake:1"
    numpy.testing.assert_array_equal(numpy.asarray(y), DATA + 1)
    assert devices[0].launched == []
    assert np.zeros((100, 100), device="fake").device == "fake:0"


def test_arrays_of_two_devices_do_not_meet_unless_moved(devices: list[FakeDevice]) -> None:
    x, y = np.asarray(DATA, device="fake:0"), np.asarray(DATA, device="fake:1")
    with pytest.raises(ValueError, match=r"fake:0 and fake:1|fake:1 and fake:0"):
        np.evaluate(x + y)
    z = x + y.to_device("fake:0")
    assert z.device == "fake:0"
    numpy.testing.assert_array_equal(numpy.asarray(z), DATA + DATA)
    home = z.to_device("cpu")
    assert home.device == "cpu"
    numpy.testing.assert_array_equal(numpy.asarray(home), DATA + DATA)


def test_what_is_pending_is_evaluated_before_the_device_changes(devices: list[FakeDevice]) -> None:
    x = np.array(DATA)
    with np.device("fake:1"):
        y = np.sqrt(x)
    assert y.device == "fake:1"
    z = x * 3
    with np.device("fake:0"):
        assert z.device == "cpu"


def test_a_kernel_that_a_device_refuses_runs_on_the_host_and_is_counted(devices: list[FakeDevice]) -> None:
    half = DATA.astype(numpy.float16)
    with np.device("fake"), np.record_runs() as runs:
        x = np.evaluate(np.array(half) * np.float16(2))
        assert x.device == "fake:0"
    assert any("runs on the host: it has no float16" in t.reason for t in runs.transfers)
    numpy.testing.assert_array_equal(numpy.asarray(x), half * numpy.float16(2))


def test_library_calls_run_on_the_device_or_are_counted(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.record_runs() as runs:
        x = np.array(DATA)
        y = np.evaluate(x @ x.T)
        assert runs.transfers[1:] == []
        z = np.evaluate(np.einsum("ij,kj->ik", x, x))
    assert devices[0].calls == ["matmul"]
    assert {t.reason for t in runs.transfers[1:]} == {"einsum runs on the host: fake:0 has none that means the same"}
    numpy.testing.assert_array_equal(numpy.asarray(y), DATA @ DATA.T)
    numpy.testing.assert_allclose(numpy.asarray(z), DATA @ DATA.T)


def test_strict_refuses_to_bring_values_back(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA) * 2
        with np.strict(evaluate=False, transfer=True):
            np.evaluate(x)
            with pytest.raises(StrictError, match="would leave their device"):
                float(x[0, 0])
        assert float(x[0, 0]) == DATA[0, 0] * 2


def test_masks_are_counted_on_the_device(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA)
        y = np.evaluate(x[x > 0.5])
    assert [size for size in devices[0].transfers if size < 0] == [-8]
    numpy.testing.assert_array_equal(numpy.asarray(y), DATA[DATA > 0.5])


def test_indices_out_of_bounds_rise_where_they_are_used(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x, places = np.array(DATA), np.arange(90, 5090) % 130
        with pytest.raises(IndexError, match="is out of bounds for axis 0 with size 100"):
            x[places]
        assert x[np.arange(5000) % 100].shape == (5000, 200)


def test_the_function_of_a_device_serves_in_numpys_place(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sort(a: Any, axis: int = -1) -> Any:
        made = devices[0].empty(a.shape, a.dtype)
        made.view(numpy.ndarray)[...] = numpy.sort(a.view(numpy.ndarray), axis)
        return made

    monkeypatch.setattr(FakeDevice, "function", lambda self, name: {"sort": sort}.get(name), raising=False)
    monkeypatch.setattr(FakeDevice, "takes", lambda self, library: False)
    with np.device("fake"), np.record_runs() as runs:
        x = np.array(DATA) * 2
        y = np.sort(x, axis=0)
        x.sort()
        np.evaluate(x, y)
        assert runs.library_calls == ["sort", "sort"]
        assert runs.fallbacks == {}
        assert [t.way for t in runs.transfers] == ["to fake:0"]
        numpy.testing.assert_array_equal(numpy.asarray(y), numpy.sort(DATA * 2, axis=0))
        numpy.testing.assert_array_equal(numpy.asarray(x), numpy.sort(DATA * 2))
        assert numpy.argsort(DATA.ravel())[0] == np.argsort(np.array(DATA).ravel())[0]
    assert "argsort" in runs.fallbacks


def test_what_a_devices_function_gives_lies_in_memory_as_numpys_result_does(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None) -> Any:
        found = numpy.fft.fft(a.view(numpy.ndarray), n, axis, norm)
        made = devices[0].empty(found.shape, found.dtype)
        made.view(numpy.ndarray)[...] = found
        return made

    monkeypatch.setattr(FakeDevice, "function", lambda self, name: {"fft.fft": fft}.get(name), raising=False)
    monkeypatch.setattr(FakeDevice, "takes", lambda self, library: False)
    data = numpy.arange(6000.0).reshape(10, 20, 30)
    with np.device("fake"):
        for axes in ((2, 1, 0), (1, 0, 2), (0, 2, 1), (0, 1, 2)):
            x = np.array(data) * 2
            ours, theirs = np.fft.fft(x.transpose(axes)), numpy.fft.fft((data * 2).transpose(axes))
            assert ours.strides == theirs.strides
            assert ours.flags.f_contiguous == theirs.flags.f_contiguous
            numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


def test_a_sum_of_what_a_devices_function_returns_holds_little_of_it(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    def inverse(a: Any) -> Any:
        made = devices[0].empty(a.shape, a.dtype)
        made.view(numpy.ndarray)[...] = numpy.linalg.inv(a.view(numpy.ndarray))
        return made

    monkeypatch.setattr(FakeDevice, "function", lambda self, name: {"linalg.inv": inverse}.get(name), raising=False)
    data = numpy.random.default_rng(5).standard_normal((300, 300))
    alive: list[weakref.ref[Any]] = []
    with np.device("fake"), np.record_runs() as runs:
        matrix, total = np.evaluate(np.array(data) * 1, np.zeros(data.shape) + 0)
        for step in range(40):
            found = np.linalg.inv(matrix)
            total += found * (1.0 + step)
            alive.append(weakref.ref(found._node))
            assert sum([one() is not None for one in alive]) * found.nbytes <= 2 * UNSEEN_LIMIT
        numpy.testing.assert_allclose(numpy.asarray(total), numpy.linalg.inv(data) * 820.0, 1e-9)
    assert runs.fallbacks == {}


def test_a_function_that_the_devices_library_lacks_a_part_of_runs_on_the_host(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sort(a: Any, axis: int = -1) -> Any:
        raise NotImplementedError("of one axis only")

    monkeypatch.setattr(FakeDevice, "function", lambda self, name: {"sort": sort}.get(name), raising=False)
    monkeypatch.setattr(FakeDevice, "takes", lambda self, library: False)
    with np.device("fake"):
        numpy.testing.assert_array_equal(numpy.asarray(np.sort(np.array(DATA) * 2)), numpy.sort(DATA * 2))


@pytest.mark.parametrize("density", [False, True])
def test_a_histogram_is_counted_on_the_device(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch, density: bool
) -> None:
    def bincount(x: Any, minlength: int) -> Any:
        found = numpy.bincount(x.view(numpy.ndarray), minlength=minlength)
        made = devices[0].empty(found.shape, found.dtype)
        made.view(numpy.ndarray)[...] = found
        return made

    monkeypatch.setattr(FakeDevice, "function", lambda self, name: {"bincount": bincount}.get(name), raising=False)
    with np.device("fake"), np.record_runs() as runs:
        counts, edges = np.histogram(np.array(DATA.ravel()), 7, (0.1, 0.9), density=density)
        np.evaluate(counts)
        assert [t for t in runs.transfers if t.way == "from fake:0"] == []
        wanted = numpy.histogram(DATA, 7, (0.1, 0.9), density=density)
        numpy.testing.assert_array_equal(numpy.asarray(counts), wanted[0])
        numpy.testing.assert_array_equal(numpy.asarray(edges), wanted[1])
        assert counts.dtype == wanted[0].dtype


@pytest.mark.parametrize("code", ["f8", "f4", "i4"])
def test_a_histogram_of_wide_bins_is_counted_by_its_edges(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    called = []

    def made(found: Any) -> Any:
        array = devices[0].empty(found.shape, found.dtype)
        array.view(numpy.ndarray)[...] = found
        return array

    def count_between(x: Any, edges: Any) -> Any:
        called.append(edges.shape)
        return made(numpy.histogram(x.view(numpy.ndarray), edges.view(numpy.ndarray))[0])

    def bincount(x: Any, minlength: int) -> Any:
        return made(numpy.bincount(x.view(numpy.ndarray), minlength=minlength))

    functions = {"count_between": count_between, "bincount": bincount}
    monkeypatch.setattr(FakeDevice, "function", lambda self, name: functions.get(name), raising=False)
    data = (DATA * 10).astype(code)
    with np.device("fake"):
        counts = np.histogram(np.array(data), 7, (1, 9))[0]
        numpy.testing.assert_array_equal(numpy.asarray(counts), numpy.histogram(data, 7, (1, 9))[0])
    assert called == ([] if code == "i4" else [(8,)])  # edges of integers are float64


@pytest.mark.parametrize("room", range(4))
def test_memory_that_ends_within_a_plan_leaves_everything_usable(devices: list[FakeDevice], room: int) -> None:
    want = DATA * 2.0
    want[10:20] += 1.0
    with np.device("fake"):
        x = np.array(DATA)
        y = x * 2.0
        y[10:20] += 1.0
        z = (y - y.mean(axis=0)) @ y.T
        devices[0].room = room
        with pytest.raises(MemoryError, match=r"^Unable to allocate ") as raised:  # as NumPy says it
            np.evaluate(z)
        devices[0].room = None
        assert any("fake:0 is full" in note for note in raised.value.__notes__)
        with pytest.raises(MemoryError) as numpys:
            numpy.empty((1 << 40, 1 << 10))
        assert isinstance(raised.value, numpys.type)
        numpy.testing.assert_array_equal(numpy.asarray(y), want)
        numpy.testing.assert_allclose(numpy.asarray(z), (want - want.mean(axis=0)) @ want.T)
        numpy.testing.assert_array_equal(numpy.asarray(x), DATA)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_computes_on_the_host_and_knows_what_it_has_lost(
    devices: list[FakeDevice], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeDevice, "survives_fork", False)
    reader, writer = os.pipe()
    with np.device("fake"):
        host, lost = np.array(DATA), np.evaluate(np.array(DATA) * 2)
        brought = np.evaluate(np.array(DATA) * 3)
        numpy.asarray(brought)
        child = os.fork()
        if not child:
            told = [str(bool((numpy.asarray(host + brought) == DATA + DATA * 3).all())), (host + 1).device]
            try:
                np.evaluate(lost + 1)
            except BackendError as error:
                told.append(str(error))
            os.write(writer, "\n".join(told).encode())
            os._exit(0)
        os.waitpid(child, 0)
        told = os.read(reader, 1000).decode().split("\n")
        os.close(reader)
        os.close(writer)
        assert told[:2] == ["True", "cpu"]
        assert told[2].startswith("a value lies on fake:0, which a process that was forked cannot use")
        assert float(lost[0, 0]) == DATA[0, 0] * 2


def test_an_unknown_device_is_refused_by_name(devices: list[FakeDevice]) -> None:
    with pytest.raises(BackendError, match="no device called 'quantum'"):
        np.set_device("quantum")
    assert config.device == "cpu"


def test_errors_are_told_when_the_host_waits_and_name_the_line_that_raised_them(devices: list[FakeDevice]) -> None:
    x = np.linspace(-1, 1, 5001)
    with np.device("fake"):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            y = np.evaluate(1 / x)  # this line
            assert told == []
            assert y[1] == 1 / x[1]
        assert y[2] == 1 / x[2]
    assert [str(w.message) for w in told] == ["divide by zero encountered in divide"]
    with open(told[0].filename) as source:
        assert source.readlines()[told[0].lineno - 1].strip().endswith("# this line")


def test_a_launch_dumped_from_a_device_runs_again_there(devices: list[FakeDevice], tmp_path: Path) -> None:
    from lazyarray.inspect.replay import replay

    with np.device("fake"):
        x = np.array(DATA)
        with config.set(dump=str(tmp_path)):
            np.evaluate(np.sqrt(x) * 3.25 - x.max(axis=0))
        launched = len(devices[0].launched)
        lines, agree = replay(tmp_path)
    assert agree, lines
    assert any("on fake" in line for line in lines)
    assert len(devices[0].launched) > launched


def test_explain_tells_what_will_travel_and_what_did(devices: list[FakeDevice]) -> None:
    with np.device("fake"):
        x = np.array(DATA)
        (ahead,) = [r for r in np.explain(x * 2.0).reasons if r.kind == "transfer"]
        assert (ahead.what, ahead.nbytes) == ("156.2 KiB go to fake:0", DATA.nbytes)
        assert "device=" in ahead.edit
        assert devices[0].transfers == []

        def program(x: Any) -> Any:
            total = float((x + 1.0).sum())
            return x * total

        told = {r.what: r for r in np.explain(program, x).reasons if r.kind == "transfer"}
        assert set(told) == {"156.2 KiB to fake:0, 1 time", "8 B from fake:0, 1 time"}
        line = told["8 B from fake:0, 1 time"].line
        assert line is not None
        assert line.text == "total = float((x + 1.0).sum())"


def test_a_profile_tells_transfers_by_line(devices: list[FakeDevice]) -> None:
    with np.device("fake"), np.profile() as found:
        x = np.array(DATA)
        for _ in range(3):
            numpy.asarray(x * 2.0)
    sent, *back = found.transfers[::-1] if found.transfers[0].what.startswith("from") else found.transfers
    assert (sent.count, sent.nbytes) == (1, DATA.nbytes)
    (received,) = back
    assert (received.count, received.nbytes) == (3, 3 * DATA.nbytes)
    assert received.line is not None
    assert received.line.text == "numpy.asarray(x * 2.0)"
    assert "transfer from fake:0" in str(found)


def test_elements_are_copied_from_where_they_are(devices: list[FakeDevice]) -> None:
    data = numpy.random.default_rng(0).random((300, 1000))
    with np.errstate(all="ignore"):
        x = np.evaluate(np.asarray(data, device="fake") * 1)
    devices[0].transfers.clear()
    devices[0].launched.clear()
    for k in range(300):
        assert float(x[k, 7]) == data[k, 7]
    assert devices[0].launched == []
    assert devices[0].transfers == [-8] * 300


def test_parts_that_are_not_one_piece_or_not_evaluated_are_computed(devices: list[FakeDevice]) -> None:
    data = numpy.random.default_rng(0).random((300, 1000))
    x = np.asarray(data, device="fake") * 1
    np.evaluate(x)
    numpy.testing.assert_array_equal(numpy.asarray(x[:, 7]), data[:, 7])
    numpy.testing.assert_array_equal(numpy.asarray(x[5, ::-1]), data[5, ::-1])
    numpy.testing.assert_array_equal(numpy.asarray(np.broadcast_to(x[5, :3], (2, 3))), numpy.stack([data[5, :3]] * 2))
    assert float((x * 2)[5, 7]) == data[5, 7] * 2
    y = x[5, 7]
    x[5, 7] = 3
    assert (float(y), float(x[5, 7])) == (data[5, 7], 3)
