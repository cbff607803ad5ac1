"""Owns the runner's test bed: a target package whose every name is NumPy's but which can be told from it."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import lazyarray.runner

ROOT = Path(lazyarray.runner.__file__).parents[2]

TARGET_INIT = """
import numpy
from numpy import *
from numpy import __all__
SWAPPED = True
marker = "the target"

def __getattr__(name):
    return getattr(numpy, name)

def counters():
    by_name = {"sort": 1, "unique": 3}
    return {"launches": 3, "fallbacks": 4, "fallbacks_by_name": by_name, "bytes_read": 2048, "unknown": 5}
"""
TARGET_MAIN = """
import sys
from lazyarray.runner.command import main
sys.exit(main(sys.argv[1:], "swaptarget"))
"""
TARGET_LINALG = "from numpy.linalg import *\nSWAPPED = True\n"

Result = subprocess.CompletedProcess[str]
RunPython = Callable[..., Result]


@pytest.fixture
def program_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "program"
    folder.mkdir()
    return folder


@pytest.fixture
def run_python(tmp_path: Path, program_folder: Path) -> RunPython:
    """Runs Python in the program's folder; with `swapped` under the runner, else plain."""
    package = tmp_path / "installed" / "swaptarget"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(TARGET_INIT)
    (package / "__main__.py").write_text(TARGET_MAIN)
    (package / "linalg.py").write_text(TARGET_LINALG)
    paths = [str(package.parent), str(ROOT), str(ROOT / "backends")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": ""}

    def run(
        *arguments: str,
        swapped: bool = True,
        options: Sequence[str] = (),
        stdin: int | None = subprocess.DEVNULL,
    ) -> Result:
        runner = [*options, *(["-m", "swaptarget"] if swapped else [])]
        return subprocess.run(
            [sys.executable, *runner, *arguments],
            cwd=program_folder,
            env=environment,
            capture_output=True,
            text=True,
            stdin=stdin,
            timeout=60,
            check=False,
        )

    return run
