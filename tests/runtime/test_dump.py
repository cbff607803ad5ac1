"""`LAZYARRAY_DEBUG` and `LAZYARRAY_DUMP` show each stage as readable text, and nothing that was not asked for."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import lazyarray as np
from lazyarray.runtime import running


def run(offset: float) -> None:
    running.plans.clear()
    x = np.asarray(numpy.arange(6000.0).reshape(60, 100))
    np.evaluate((x + offset).reshape(-1) * 2.0)


def test_nothing_is_written_unasked(capsys: pytest.CaptureFixture[str]) -> None:
    run(1.0)
    assert capsys.readouterr() == ("", "")


def test_debug_writes_the_stages_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    with np.config.set(debug="graph,plan"):
        run(1.0)
    text = capsys.readouterr().err
    assert "--- graph: recorded\ne0: f8 60x100 = leaf\n" in text
    assert "--- plan: " in text
    assert "--- kernels" not in text


def test_a_dump_holds_every_stage_from_graph_to_assembly(tmp_path: Path) -> None:
    with np.config.set(dump=str(tmp_path)):
        run(2.0)
        np.evaluate(np.asarray(numpy.arange(6000)) * 3 // 7 + 1 - 5 % 4)  # a kernel that no test before compiled
    files = {file.name.split("-", 2)[2]: file.read_text() for file in tmp_path.iterdir() if file.is_file()}
    kinds = {name.split("-")[0] for name in files}
    assert {"graph", "passes", "plan", "kernels", "asm", "cache"} <= kinds
    assert any(name.startswith("kernels-llvm") and "define void @kernel" in text for name, text in files.items())
    assert any(name.startswith("asm") and "ret" in text for name, text in files.items())


def test_debug_chooses_what_a_dump_holds(tmp_path: Path) -> None:
    with np.config.set(dump=str(tmp_path), debug="plan"):
        run(3.0)
    (file,) = tmp_path.iterdir()
    assert file.read_text().startswith("plan of ")
