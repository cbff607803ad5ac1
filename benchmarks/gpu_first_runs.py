"""Owns first runs of programs on a GPU, each in processes of their own: with empty caches, and with what that left.

python -m benchmarks.gpu_first_runs [--programs NAME,NAME...] [--rounds N] [--json FILE]

A time is that of preparing and running the program once, until the GPU is done, in a process that has imported
lazyarray; beside it stands the second run of the same process, and the whole process, from its start to its end.
Empty are the folders of lazyarray, of Triton, and of CuPy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks import harness

FOLDERS = ("LAZYARRAY_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR")
HEADER = ("program", "empty s", "warm s", "second run s", "process, empty s", "process, warm s", "compiled")


def run_here(name: str, size: str) -> dict[str, float]:
    """Seconds of the first and the second run of a program in this process, and what was compiled."""
    import lazyarray
    from benchmarks import program

    warnings.simplefilter("ignore")
    lazyarray.set_device("cuda")
    found: dict[str, float] = {}
    for turn in ("first", "second"):
        start = time.perf_counter()
        side = program.prepare(name, "lazyarray", size)
        side.run(side.copy_arguments())
        _wait()
        found[turn] = time.perf_counter() - start
    return {**found, "compiled": lazyarray.counters()["compiles"]}


def _wait() -> None:
    import cupy

    cupy.cuda.Device().synchronize()


def run_apart(name: str, size: str, folder: Path) -> dict[str, float]:
    """The same in a new process whose caches lie in a folder."""
    places = {variable: str(folder / variable.lower()) for variable in FOLDERS}
    environment = {**os.environ, **places, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "benchmarks.gpu_first_runs", "--here", name, "--size", size]
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    seconds = time.perf_counter() - start
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "process": seconds}


def measure(name: str, size: str, rounds: int) -> dict[str, Any]:
    """Medians over the rounds, each with folders of its own."""
    turns = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            turns.append([run_apart(name, size, Path(folder)) for _ in range(2)])

    def middle(state: int, what: str) -> float:
        return statistics.median(turn[state][what] for turn in turns)

    row = {"empty": middle(0, "first"), "warm": middle(1, "first"), "second": middle(1, "second")}
    row |= {"process_empty": middle(0, "process"), "process_warm": middle(1, "process")}
    return {"name": name, **row, "compiled": middle(0, "compiled"), "compiled_warm": middle(1, "compiled")}


def format_row(row: dict[str, Any]) -> list[str]:
    seconds = [f"{row[what]:.2f}" for what in ("empty", "warm", "second", "process_empty", "process_warm")]
    return [row["name"], *seconds, f"{row['compiled']:.0f}, {row['compiled_warm']:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_first_runs", description=__doc__)
    parser.add_argument("--programs", help="which of benchmarks/programs (usually those of benchmarks.gpu_programs)")
    parser.add_argument("--size", default="large", choices=("small", "large"))
    parser.add_argument("--rounds", type=int, default=1, help="pairs of processes for each program (usually 1)")
    parser.add_argument("--json", metavar="FILE", help="also written there")
    parser.add_argument("--here", metavar="NAME", help="run one program in this process, and print its seconds")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(run_here(options.here, options.size)))
        return
    names = (options.programs or "").split(",")
    if not options.programs:
        from benchmarks.gpu_programs import PROGRAMS

        names = list(PROGRAMS)
    rows = []
    for name in names:
        rows.append(measure(name, options.size, options.rounds))
        print(rows[-1], file=sys.stderr, flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    print(harness.format_table(HEADER, [format_row(row) for row in rows]))


if __name__ == "__main__":
    main()
