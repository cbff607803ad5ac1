"""Holds that the benchmarks' programs give NumPy's results, that they are plain NumPy, and that comparing can fail."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lazyarray
from benchmarks import program, run_programs

NAMES = program.list_names()


@pytest.mark.parametrize("name", NAMES)
def test_the_program_gives_numpys_results(name: str) -> None:
    assert program.check(name, "small") == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_program_is_plain_numpy_and_says_what_it_computes(name: str) -> None:
    source = (program.FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert "import numpy as np\n" in source
    assert "lazyarray" not in source
    module = program.load(name, "numpy")
    assert module.__doc__ is not None
    assert len(module.__doc__.split("\n\n")) == 2, "what it computes, and the source of the method"
    assert np.prod(module.SMALL) < np.prod(module.LARGE)


def test_there_are_thirty_programs() -> None:
    assert len(NAMES) >= 30


def test_the_swapped_program_computes_with_lazyarray() -> None:
    side = program.prepare("heat_3d", "lazyarray", "small")
    a, b, _ = side.arguments
    assert type(a) is type(b) is lazyarray.ndarray
    with lazyarray.record_runs() as runs:
        side.run(side.copy_arguments())
    assert runs.kernels


def test_a_run_leaves_the_arguments_for_the_next() -> None:
    side = program.prepare("cholesky", "lazyarray", "small")
    before = np.array(side.arguments[0])
    side.run(side.copy_arguments())
    assert np.array_equal(side.arguments[0], before)


def test_results_are_found_in_what_nests_them() -> None:
    assert list(program.find_leaves(((1, [2, 3]), {"a": 4}, 5))) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("want", "have", "told"),
    [
        (np.zeros(3), np.zeros(3, dtype=np.float32), "float32"),
        (np.zeros(3), np.zeros((3, 1)), r"\(3, 1\)"),
        (np.array([1, 2]), np.array([1, 3]), "1 of 2 values"),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), "NaNs"),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-8]), "from NumPy's"),
        ((1, 2), (1,), "1 results where NumPy has 2"),
    ],
)
def test_differences_are_found(want: object, have: object, told: str) -> None:
    difference = program.find_difference(want, have, 1e-10)
    assert told.replace("\\", "") in difference


def test_rounding_is_no_difference() -> None:
    assert program.find_difference(np.array([1.0, 2.0]), np.array([1.0 + 1e-12, 2.0]), 1e-10) == ""


def test_a_program_in_a_process_of_its_own_tells_time_and_memory(tmp_path: Path) -> None:
    seconds, peak = run_programs.run_fresh("adi", "lazyarray", "small", str(tmp_path))
    assert 0.0 < seconds < 120.0
    assert peak > 8 << 20


def test_the_command_prints_a_table() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.run_programs", "--quick", "--only", "kalman"],
        cwd=Path(__file__).resolve().parents[2],
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "| kalman_filter |" in done.stdout
    assert "geometric mean" in done.stdout


def test_the_table_holds_the_peak_memory_of_both_sides() -> None:
    times = run_programs.Times(1.0, 0.5, 1, 0, 1, {})
    row = run_programs.Row("a", times, times, 1.0, 1.0, 100.0, 190.0, 130.0, "")
    cells = dict(zip(run_programs.HEADER, run_programs.format_row(row), strict=True))
    assert (cells["peak: NumPy MiB"], cells["first run MiB"]) == ("100", "190")
    assert (cells["with cache MiB"], cells["over MiB"]) == ("130", "30")
    assert run_programs.Row("a", times, None, None, None, None, None, None, "").over_mib is None
