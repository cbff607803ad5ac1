"""Holds that the first runs that are timed are those of the programs as users write them."""

import subprocess
import sys
from pathlib import Path

from benchmarks import cold_start, program


def test_the_scripts_differ_in_the_import_alone(tmp_path: Path) -> None:
    plain, lazy = (cold_start.write_script("adi", side, tmp_path).read_text("utf-8") for side in program.SIDES)
    assert plain.replace("import numpy as np", "import lazyarray as np", 1) == lazy != plain


def test_a_script_prints_what_the_program_computes(tmp_path: Path) -> None:
    plain, lazy = (cold_start.write_script("adi", side, tmp_path) for side in program.SIDES)
    printed = [subprocess.run([sys.executable, str(s)], capture_output=True, check=True).stdout for s in (plain, lazy)]
    assert printed[0] == printed[1] != b""


def judge(empty: float, warm: float) -> str:
    times = cold_start.Times(1.0, empty, warm)
    return cold_start.format_row(cold_start.Row("a", times, times))[-1]


def test_bounds_are_judged_apart() -> None:
    assert judge(1.25, 1.05) == "both"
    assert judge(1.25, 1.15) == "empty"
    assert judge(1.5, 1.05) == "warm"
    assert judge(1.5, 1.15) == "none"
