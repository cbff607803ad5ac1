"""Holds that `benchmarks.annotated` runs a folder's programs on both sides and says where their results differ."""

from pathlib import Path

import numpy
import pytest

from benchmarks import annotated

PROGRAM = """#setup: import numpy as np ; n = 300 ; a = np.arange(n * 1.0)
#run: smooth(a, 2)
import numpy as np
def smooth(a, times):
    for _ in range(times):
        a = np.concatenate(([a[0]], (a[:-2] + a[2:]) * 0.5, [a[-1]]))
    yield a, int(a.size)
"""


def test_a_program_of_others_runs_on_both_sides(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "smooth.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("import numpy\n")
    assert [path.stem for path in annotated.programs_in(tmp_path)] == ["smooth"]
    assert annotated.main([str(tmp_path)]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "smooth" in line]
    assert "exact" in row


def test_a_folder_without_programs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert annotated.main([str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_the_swap_reaches_the_program_and_its_setup(tmp_path: Path) -> None:
    path = tmp_path / "kind.py"
    path.write_text(
        "#setup: import numpy\n#run: kind(numpy)\nimport numpy as np\ndef kind(m): return m.__name__, np.__name__\n"
    )
    assert annotated.read(path, "lazyarray")() == ("lazyarray", "lazyarray")
    assert annotated.read(path, "numpy")() == ("numpy", "numpy")


@pytest.mark.parametrize(
    ("want", "got", "said"),
    [
        (numpy.arange(3), numpy.arange(3), "exact"),
        (numpy.arange(3), numpy.arange(3.0), "int64"),
        ((1.0, 2.0), 1.0, "1 values where NumPy has 2"),
        (numpy.ones(3), numpy.zeros(3), "ulp"),
    ],
)
def test_what_differs_is_said(want: object, got: object, said: str) -> None:
    assert said in annotated.difference(want, got)
