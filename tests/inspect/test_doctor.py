"""`python -m lazyarray doctor` tells the state of an installation; with a script, where its time went."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lazyarray.inspect import doctor


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lazyarray", "doctor", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_working_installation_passes() -> None:
    text, works = doctor.diagnose()
    assert works
    for words in ("llvmlite", "llvm (in use): CPU", "eager_below = 4096", "softmax: equal"):
        assert words in text


def test_a_backend_that_does_not_load_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.config.__class__, "backend", "missing", raising=False)
    assert any("missing (in use) does not load: BackendError: no backend called" in line for line in doctor.backends())


def test_a_difference_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_programs", lambda: {"wrong": lambda np: np.__name__ == "numpy"})
    text, works = doctor.diagnose()
    assert not works
    assert "wrong: DIFFERS" in text


def test_a_script_is_run_and_profiled(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import numpy as np\nx = np.arange(10000.0) * 2\nprint(np.median(np.sin(x)) < 1)\n")
    done = run(str(script))
    assert done.stdout == "True\n"
    assert "script.py:3" in done.stderr
    assert "kernels and calls" in done.stderr
