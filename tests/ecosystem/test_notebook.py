"""A notebook runs, and shows arrays as NumPy's are shown and reports as tables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = [
    "import lazyarray as np\nx = np.arange(100000.0)",
    "np.arange(3.0)",
    "y = np.sin(x) * 2\ny",
    "y.sum() > 0",
    "np.explain(np.exp(x) + 1)",
    "with np.profile() as p:\n    (x * 3).evaluate()\np",
    "x.reshape(3, 5)",
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_executed_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).resolve().parents[2]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(root), str(root / "backends")]))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=120, allow_errors=True, resources={"metadata": {"path": tmp_path}}).execute()
    assert plain(book.cells[1]) == "array([0., 1., 2.])"
    assert plain(book.cells[2]).startswith("array([0.        , 1.68294197, 1.81859485, ...")
    assert plain(book.cells[3]) == "np.True_"
    for cell in book.cells[4:6]:
        assert "elementwise 100000" in cell.outputs[0].data["text/html"]
    (error,) = book.cells[6].outputs
    assert (error.ename, error.evalue) == ("ValueError", "cannot reshape array of size 100000 into shape (3,5)")


def plain(cell: Any) -> str:
    (shown,) = cell.outputs
    return str(shown.data["text/plain"])
