"""Holds that each program of docs/examples prints the same under plain NumPy and under the runner."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))
PACKAGES = {"kmeans_digits": ("sklearn",), "photo_filters": ("sklearn", "PIL")}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), str(ROOT / "backends")]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={
            **os.environ,
            "LAZYARRAY_EAGER_BELOW": "65536",
            "LAZYARRAY_COMPILE_AT": "3",
            "PYTHONPATH": os.pathsep.join(paths),
        },
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_prints_the_same_both_ways(path: Path) -> None:
    for package in PACKAGES.get(path.stem, ()):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}")
    plain = run(str(path))
    assert plain.returncode == 0, plain.stderr
    lazy = run("-m", "lazyarray", str(path))
    assert lazy.returncode == 0, lazy.stderr
    assert lazy.stdout == plain.stdout
    assert lazy.stderr == plain.stderr


def test_the_examples_import_numpy_and_not_us() -> None:
    assert len(EXAMPLES) == 7
    for path in EXAMPLES:
        source = path.read_text(encoding="utf-8")
        assert "import numpy as np" in source
        assert "lazyarray" not in source
