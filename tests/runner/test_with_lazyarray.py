"""The runner with lazyarray itself: an uncaught error shows what Python and NumPy show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [
    "x = np.ones((100, 100))\ny = x * 2\ny + np.ones(7)\n",
    "x = np.ones((100, 100)) + 1\nx[:, 0] = 1, 2\n",
    "x = np.arange(10_000)\nx[[3, 10_000]]\n",
    "def f(x):\n    return x.reshape(3, 7)\n\nf(np.ones(20))\n",
    "x = np.arange(3)\nx += 0.5\n",
]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends"), *sys.path])}
    environment.pop("LAZYARRAY_DEBUG", None)
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env=environment, timeout=60, check=False
    )


@pytest.mark.parametrize("source", PROGRAMS)
def test_an_uncaught_error_looks_like_numpys(tmp_path: Path, source: str) -> None:
    script = tmp_path / "program.py"
    script.write_text("import numpy as np\n\n" + source)
    plain, lazy = run(str(script)), run("-m", "lazyarray", str(script))
    assert plain.returncode == lazy.returncode == 1
    assert lazy.stderr == plain.stderr
