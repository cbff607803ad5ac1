"""Runs on a GPU all that can be run on one: `python -m tests.devices [--no-benchmarks] [pytest's options ...]`.

The suite with its arrays on the GPU, kernels there in place of the interpreter, then the benchmarks' tables.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUITE = "frontend runtime property schedule ecosystem examples".split()
BENCHMARKS = ("benchmarks.gpu", "benchmarks.gpu_programs")


def main(options: list[str]) -> int:
    """The first exit status that is not 0."""
    paths = [str(ROOT), str(ROOT / "backends"), *filter(None, [os.environ.get("PYTHONPATH")])]
    # Workers of pytest-xdist have to draw the same names.
    known = {"LAZYARRAY_TEST_DEVICE": "cuda", "PYTHONHASHSEED": "0"}
    settings = {**known, **os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    given = [option for option in options if option != "--no-benchmarks"]
    # pytest-benchmark warns where pytest-xdist is at work, and warnings are errors here.
    test = [sys.executable, "-m", "pytest", "-p", "no:benchmark", *given]
    commands = [
        [*test, "-p", "tests.devices.plugin", *[f"tests/{name}" for name in SUITE]],
        [*test, "tests/triton", "tests/devices"],
    ]
    if "--no-benchmarks" not in options:
        commands += [[sys.executable, "-m", name] for name in BENCHMARKS]
    worst = 0
    for command in commands:
        status = subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode
        worst = worst or status
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
