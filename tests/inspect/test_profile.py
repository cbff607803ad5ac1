"""`profile` tells what ran in a block: counts, bytes and lines (times are there, and not judged here)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

import lazyarray as np


def run_some() -> None:
    x = np.asarray(numpy.random.default_rng(0).random((100, 200)))
    for _ in range(3):
        np.evaluate(np.tanh(x) + 1.0)
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
    for words in ("np.tanh(x) + 1.0", "matmul", "sort (fallback to NumPy)", "evaluated 4 times: evaluate() was called"):
        assert words in text
    assert found._repr_html_().startswith("<pre>")


def test_a_trace_holds_every_launch(tmp_path: Path) -> None:
    with np.profile() as found:
        run_some()
    found.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["cat"] for e in events].count("kernel") == 4
    assert all(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 for e in events)


def test_a_figure_has_a_bar_for_each_row() -> None:
    pytest.importorskip("matplotlib")
    with np.profile() as found:
        run_some()
    (axes,) = found.plot().axes
    assert len(axes.get_yticklabels()) == 3
