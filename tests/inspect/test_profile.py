"""`profile` tells what ran in a block: counts, bytes and lines (times are there, and not judged here)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.inspect.profile import Profile
from lazyarray.runtime.ledger import FallbackRun, Transfer


def run_some() -> None:
    x = np.asarray(numpy.random.default_rng(0).random((100, 200)))
    for _ in range(3):
        np.evaluate(np.tanh(x) + 1.0)
    with np.config.set(eager_below=1024):  # short products of memory are made at once, of up to four times as many
        np.evaluate(x @ x.T)
    np.sort(x + 1.0)


def test_launches_of_one_line_are_one_row() -> None:
    with np.profile() as found:
        run_some()
    rows = {row.name: row for row in found.kernels}
    loop = rows["elementwise 100x200 (2 ops)"]
    assert (loop.calls, loop.nbytes, loop.operations) == (3, 3 * 2 * 160_000, 3 * 2 * 20_000)
    assert loop.line is not None
    assert loop.line.text == "np.evaluate(np.tanh(x) + 1.0)"
    assert 0 < loop.seconds < found.seconds
    assert [row.name for row in found.library_calls] == ["matmul"]
    assert found.runs.fallbacks == {"sort": 1}
    assert found.peak_memory > 1 << 20


def test_the_table_names_all_of_it() -> None:
    with np.profile() as found:
        run_some()
    text = str(found)
    for words in ("np.tanh(x) + 1.0", "matmul", "sort (NumPy)", "evaluated 3 times: evaluate() was called"):
        assert words in text
    html = found._repr_html_()
    assert html.count("<table>") == 2
    assert "np.tanh(x) + 1.0" in html
    for tag in ("div", "table", "tr", "td", "p"):
        assert html.count(f"<{tag}>") + html.count(f"<{tag} ") == html.count(f"</{tag}>")


def test_the_table_is_ordered_by_time_lost() -> None:
    with np.profile() as found:
        run_some()
    lost = [row.lost for row in found.kernels]
    assert lost == sorted(lost, reverse=True)


def test_fallbacks_and_evaluations_are_told_by_line() -> None:
    with np.profile() as found:
        run_some()
        for _ in range(2):
            float((np.asarray(numpy.ones(5000)) + 1.0).sum())
    (sort,) = found.fallbacks
    assert (sort.what, sort.count, sort.nbytes) == ("sort", 1, 160_000)
    assert sort.line is not None
    assert sort.line.text == "np.sort(x + 1.0)"
    assert 0 < sort.seconds < found.seconds
    assert [row.calls for row in found.rows if row.name == "sort (NumPy)"] == [1]
    lines = {(e.what, e.line.text if e.line else ""): e.count for e in found.evaluations}
    assert lines["evaluate() was called", "np.evaluate(np.tanh(x) + 1.0)"] == 3
    assert lines["asked for", "float((np.asarray(numpy.ones(5000)) + 1.0).sum())"] == 2


def test_a_block_that_needs_more_memory_raises_the_peak() -> None:
    with np.profile() as found:
        np.evaluate(np.ones(200_000_000, dtype="u1") + np.uint8(1))
    with np.profile() as other:
        pass
    assert other.peak_rise == 0
    assert found.peak_memory >= 200_000_000 or found.peak_memory == 0


def saved(found: Profile, folder: Path) -> list[dict[str, Any]]:
    """The events of a trace, each held against what the trace event format asks of its phase."""
    found.save(folder / "trace.json")
    trace = json.loads((folder / "trace.json").read_text())
    assert trace["displayTimeUnit"] in ("ms", "ns")
    events: list[dict[str, Any]] = trace["traceEvents"]
    for event in events:
        assert isinstance(event["name"], str)
        assert isinstance(event["args"], dict)
        assert {type(event["pid"]), type(event["tid"])} == {int}
        assert event["ts"] >= 0
        if event["ph"] == "M":
            assert list(event["args"]) == [{"thread_sort_index": "sort_index"}.get(event["name"], "name")]
        elif event["ph"] == "i":
            assert event["s"] in ("t", "p", "g")
        else:
            assert event["ph"] == "X"
            assert event["dur"] >= 0
    times = [event["ts"] for event in events]
    assert times == sorted(times)
    for track in {event["tid"] for event in events}:
        ends: list[float] = []
        for span in (e for e in events if e["ph"] == "X" and e["tid"] == track):
            while ends and ends[-1] <= span["ts"]:
                ends.pop()
            assert not ends or span["ts"] + span["dur"] <= ends[-1], "spans of a track lie inside one another"
            ends.append(span["ts"] + span["dur"])
    return events


def test_a_trace_holds_every_launch(tmp_path: Path) -> None:
    with np.profile() as found:
        run_some()
        found.runs.transfers.append(Transfer("to cuda:0", 8, "an input", None, time.perf_counter()))
    events = saved(found, tmp_path)
    spans = [e for e in events if e["ph"] == "X"]
    assert [e["cat"] for e in spans].count("kernel") == 4
    assert [e["cat"] for e in spans].count("fallback") == 1
    assert [(e["cat"], e["name"]) for e in events if e["ph"] == "i"] == [
        *[("evaluation", "evaluate() was called")] * 4,
        ("evaluation", "sort runs in NumPy"),
        ("transfer", "to cuda:0: an input"),
    ]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert all(tracks[e["tid"]] == e["cat"] for e in events if e["ph"] != "M")
    assert any(e["args"].get("line", "").endswith("np.evaluate(x @ x.T)") for e in spans)
    (block,) = (e for e in spans if e["cat"] == "block")
    assert all(e["ts"] + e["dur"] <= block["ts"] + block["dur"] + 1 for e in spans)


def test_what_two_threads_did_at_once_is_on_two_tracks(tmp_path: Path) -> None:
    found = Profile()
    found.runs.fallback_runs += [FallbackRun("sort", 8, None, at, 0.0, 2.0, at + 2.0) for at in (0.0, 1.0, 4.0)]
    events = saved(found, tmp_path)
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert [names[e["tid"]] for e in events if e["name"] == "sort"] == ["fallback", "fallback 2", "fallback"]


def test_a_figure_has_a_bar_for_each_row() -> None:
    pytest.importorskip("matplotlib")
    with np.profile() as found:
        run_some()
    (axes,) = found.plot().axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 4
    assert any(label.startswith("sort (NumPy)  test_profile.py:") for label in labels)


def test_a_block_that_needs_no_kernel_says_why() -> None:
    with np.profile() as found:
        np.ones(3) + 1.0
    for text in (str(found), found._repr_html_()):
        assert "no kernel was needed: operations on arrays of fewer than" in text
