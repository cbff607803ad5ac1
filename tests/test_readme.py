"""Holds that README.md's program runs as printed, and that its two commands stand there as one line each."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SET_BY_TESTS = ("LAZYARRAY_EAGER_BELOW", "LAZYARRAY_COMPILE_AT")  # in `conftest.py`
ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run_program(source: str) -> float:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in SET_BY_TESTS},  # as users run it
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_the_program_runs_and_gives_numpys_result() -> None:
    match = re.search(r"```python\n(import lazyarray as np\n.*?)```", README, re.DOTALL)
    assert match is not None
    source = match.group(1)
    expected = run_program(source.replace("import lazyarray as np", "import numpy as np"))
    assert run_program(source) == pytest.approx(expected, rel=1e-12)


def test_the_two_commands_are_one_line_each() -> None:
    commands = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    assert len(commands) == 2
    run, test = commands
    script = run.split()[-1]
    assert "-m lazyarray --report" in run
    assert (ROOT / script).is_file()
    assert test.endswith("-m pytest -n auto")
