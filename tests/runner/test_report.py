"""Holds the report: output printed once, compared exactly, times and counts said."""

import re
from pathlib import Path

from lazyarray.runner import report

from .conftest import RunPython


def test_report_of_equal_outputs(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "script.py").write_text("import sys, numpy as np\nprint(np.arange(3), sys.argv)\n")
    result = run_python("--report", "script.py", "--x")
    assert result.returncode == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "[0 1 2] ['script.py', '--x']"
    assert lines[1] == "--- lazyarray report: script.py --x"
    assert lines[2] == "output     equal to NumPy's (1 line)"
    assert re.fullmatch(r"NumPy      \d+\.\d{3} s \(whole process\)", lines[3])
    assert re.fullmatch(r"lazyarray  \d+\.\d{3} s, \d+\.\d\d times (as fast as|SLOWER than) NumPy", lines[4])
    assert lines[5:] == [
        "kernels    3 launched",
        "fallbacks  4 to NumPy: unique 3, sort 1",
        "memory     2.0 KiB read",
    ]


def test_report_of_different_outputs(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "script.py").write_text(
        "import numpy as np\nprint('same')\nprint(getattr(np, 'marker', 'NumPy'), end='')\n"
    )
    result = run_python("--report", "--repeat", "2", "script.py")
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[:3] == ["same", "the target", "--- lazyarray report: script.py"]
    assert lines[3:6] == [
        "output     NOT equal to NumPy's: line 2 differs",
        "           NumPy      'NumPy'",
        "           lazyarray  'the target'",
    ]
    assert "medians of 2 runs" in lines[6]
    assert re.fullmatch(r"lazyarray  \d+\.\d{3} s", lines[7])


def test_report_of_a_program_that_fails(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "script.py").write_text("print('before')\nraise SystemExit('the end')\n")
    result = run_python("--report", "script.py")
    assert result.returncode == 1
    assert result.stderr == "the end\n"
    assert "equal to NumPy's (1 line)" in result.stdout


def test_report_of_different_exit_statuses(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "script.py").write_text("import numpy as np\nnp.marker\n")
    result = run_python("--report", "script.py")
    assert result.returncode == 1
    assert "NOT equal to NumPy's: exit status 0, under NumPy 1" in result.stdout
    assert "NumPy said: AttributeError" in result.stdout


def test_report_gives_both_sides_a_file_on_stdin(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "script.py").write_text("print(input())\n")
    (program_folder / "given.txt").write_text("from the file\n")
    with open(program_folder / "given.txt") as file:
        result = run_python("--report", "script.py", stdin=file.fileno())
    assert result.stdout.startswith("from the file\n--- lazyarray report")
    assert "equal to NumPy's (1 line)" in result.stdout


def test_report_passes_on_the_interpreters_options(run_python: RunPython, program_folder: Path) -> None:
    (program_folder / "script.py").write_text("import sys\nprint(sys.flags.optimize, sys.flags.utf8_mode)\n")
    result = run_python("--report", "script.py", "-m", options=["-O", "-X", "utf8"])
    assert result.stdout.startswith("1 1\n--- lazyarray report: script.py -m\n")


def test_report_of_a_missing_script_says_it_once(run_python: RunPython) -> None:
    result = run_python("--report", "nope.py")
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("can't open file") == 1


def test_missing_counters_are_not_printed() -> None:
    assert report.format_counts({}) == []
    assert report.format_counts({"launches": 0, "library_calls": 0}) == ["kernels    0 launched"]
    assert report.format_counts({"bytes_written": 3 * 2**30}) == ["memory     3.0 GiB written"]
