"""Programs in processes of their own, NumPy beside lazyarray: `python -m benchmarks.own_process [--only TEXT]`.

`run_programs` times both sides in one process, so that NumPy's arrays come from the heap as lazyarray keeps it
(`lazyarray/runtime/heap.py`). Here each side has a process, as in use: a process runs one program over and over for a
while and tells its median, and the sides' processes take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import harness, program

ROUNDS = 3
SECONDS, MOST_RUNS = 1.0, 200
WARM_RUNS = 3


def time_here(name: str, side: str, size: str) -> float:
    """Median seconds of a run in this process, after a few to warm up."""
    prepared = program.prepare(name, side, size)
    harness.warm_up(prepared.time_run, WARM_RUNS)
    seconds: list[float] = []
    start = time.perf_counter()
    while not seconds or (time.perf_counter() - start < SECONDS and len(seconds) < MOST_RUNS):
        seconds.append(prepared.time_run())
    return statistics.median(seconds)


def time_apart(name: str, side: str, size: str) -> float:
    """`time_here` of a new process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "benchmarks.own_process", "--run", name, side, size]
    done = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    return float(json.loads(done.stdout))


def measure(name: str, size: str) -> tuple[float, float]:
    """Median seconds of NumPy's processes and of lazyarray's."""
    rounds = [[time_apart(name, side, size) for side in program.SIDES] for _ in range(ROUNDS)]
    numpy_seconds, own_seconds = zip(*rounds, strict=True)
    return statistics.median(numpy_seconds), statistics.median(own_seconds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name holds TEXT")
    parser.add_argument("--large", action="store_true", help="their large sizes")
    parser.add_argument("--run", nargs=3, metavar=("NAME", "SIDE", "SIZE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(time_here(*options.run)))
        return 0
    size = "large" if options.large else "small"
    rows = [(name, *measure(name, size)) for name in program.list_names() if options.only in name]
    ratios = [numpy_seconds / own_seconds for _, numpy_seconds, own_seconds in rows]
    cells = [
        [name, f"{numpy_seconds * 1e3:.2f}", f"{own_seconds * 1e3:.2f}", f"{ratio:.2f}x"]
        for (name, numpy_seconds, own_seconds), ratio in zip(rows, ratios, strict=True)
    ]
    harness.print_table(["program", "NumPy ms", "lazyarray ms", "ratio"], cells)
    if ratios:
        held = sum(ratio >= 0.95 for ratio in ratios)
        print(f"\n{size}: geometric mean {harness.find_mean(ratios):.2f}x; {held} of {len(ratios)} at 0.95x or more")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
