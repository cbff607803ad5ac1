"""Whole programs, NumPy beside lazyarray, one table: `python -m benchmarks.run_programs [--only TEXT] [--quick]`.

Each program of `benchmarks/programs/` runs on both sides in one process, turn by turn, at two sizes; a time is a median
and, for lazyarray, holds recording, scheduling and evaluating every result. The first run and the peak memory are those
of fresh processes, with an empty cache on disk and then with the one that it left: only the first loads LLVM.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import lazyarray
from benchmarks import harness, program

SIDE_SECONDS, MIN_ROUNDS, MAX_ROUNDS = 2.0, 3, 25
QUICK_ROUNDS = 3
FRESH_ROUNDS = 3
LOWEST_RATIO, MEAN_SMALL, MEAN_LARGE, MOST_MEMORY = 0.95, 1.5, 3.0, 64.0


@dataclass(frozen=True, slots=True)
class Times:
    """A program at one size: medians of both sides, and what lazyarray ran."""

    numpy_ms: float
    lazyarray_ms: float
    kernels: int
    fallbacks: int
    evaluations: int
    fallen: dict[str, int]

    @property
    def ratio(self) -> float:
        return self.numpy_ms / self.lazyarray_ms


@dataclass(frozen=True, slots=True)
class Row:
    """One program as measured. First runs (small size) are over NumPy's; peak memory (large size) is of both sides."""

    name: str
    small: Times
    large: Times | None
    cold_ms: float | None
    warm_ms: float | None
    numpy_mib: float | None
    cold_mib: float | None
    lazyarray_mib: float | None
    difference: str

    @property
    def over_mib(self) -> float | None:
        """Peak memory over NumPy's, with a filled cache."""
        if self.numpy_mib is None or self.lazyarray_mib is None:
            return None
        return self.lazyarray_mib - self.numpy_mib


def time_program(name: str, size: str, quick: bool) -> tuple[Times, str]:
    """Times a program at one size on both sides and compares the results of a further run."""
    plain, lazy = (program.prepare(name, side, size) for side in program.SIDES)
    tolerance = getattr(plain.module, "TOLERANCE", program.TOLERANCE)
    expected, got = (side.run(side.copy_arguments()) for side in (plain, lazy))
    difference = program.find_difference(expected, got, tolerance)
    del expected, got
    slowest = max(side.time_run() for side in (plain, lazy))
    harness.warm_up(lazy.time_run, 1)
    rounds = QUICK_ROUNDS if quick else max(MIN_ROUNDS, min(MAX_ROUNDS, int(SIDE_SECONDS / slowest)))
    turns = [(plain.time_run(), lazy.time_run()) for _ in range(rounds)]
    numpy_ms, lazyarray_ms = (1e3 * statistics.median(times) for times in zip(*turns, strict=True))
    arguments = lazy.copy_arguments()
    with lazyarray.record_runs() as runs:
        lazy.run(arguments)
    fallbacks = sum(runs.fallbacks.values())
    times = Times(numpy_ms, lazyarray_ms, len(runs.kernels), fallbacks, len(runs.evaluations), dict(runs.fallbacks))
    return times, difference


def run_fresh(name: str, side: str, size: str, cache: str) -> tuple[float, int]:
    """Seconds and peak bytes of a program in a process of its own, from before its imports to its results."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.program", name, side, size],
        env={**os.environ, "LAZYARRAY_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, peak = done.stdout.split()
    return float(seconds), int(peak)


def measure_first_runs(name: str, rounds: int) -> tuple[float, float]:
    """Milliseconds of the first run over NumPy's first run: with an empty disk cache, and with a filled one."""
    plain, cold, warm = [], [], []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            plain.append(run_fresh(name, "numpy", "small", cache)[0])
            cold.append(run_fresh(name, "lazyarray", "small", cache)[0])
            warm.append(run_fresh(name, "lazyarray", "small", cache)[0])
    numpys = statistics.median(plain)
    return 1e3 * (statistics.median(cold) - numpys), 1e3 * (statistics.median(warm) - numpys)


def measure_memory(name: str) -> tuple[float, float, float]:
    """Mebibytes of the peak memory at the large size: NumPy's, with an empty disk cache, and with a filled one."""
    sides = ("numpy", "lazyarray", "lazyarray")
    with tempfile.TemporaryDirectory() as cache:
        plain, cold, warm = (run_fresh(name, side, "large", cache)[1] / 2**20 for side in sides)
    return plain, cold, warm


def measure(name: str, quick: bool) -> Row:
    small, difference = time_program(name, "small", quick)
    if quick:
        return Row(name, small, None, None, None, None, None, None, difference)
    gc.collect()
    large, of_large = time_program(name, "large", quick)
    gc.collect()
    cold, warm = measure_first_runs(name, FRESH_ROUNDS)
    return Row(name, small, large, cold, warm, *measure_memory(name), difference or of_large)


def format_optional(value: float | None, digits: int = 0) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def format_row(row: Row) -> list[str]:
    shown = row.large or row.small
    return [
        row.name,
        f"{row.small.numpy_ms:.2f}",
        f"{row.small.lazyarray_ms:.2f}",
        f"{row.small.ratio:.2f}x",
        format_optional(row.large.numpy_ms if row.large else None),
        format_optional(row.large.lazyarray_ms if row.large else None),
        f"{row.large.ratio:.2f}x" if row.large else "-",
        format_optional(row.cold_ms),
        format_optional(row.warm_ms),
        format_optional(row.numpy_mib),
        format_optional(row.cold_mib),
        format_optional(row.lazyarray_mib),
        format_optional(row.over_mib),
        str(shown.kernels),
        str(shown.fallbacks),
        str(shown.evaluations),
        row.difference or "equal",
    ]


HEADER = (
    "program",
    "small: NumPy ms",
    "lazyarray ms",
    "ratio",
    "large: NumPy ms",
    "lazyarray ms",
    "ratio",
    "first run +ms",
    "with cache +ms",
    "peak: NumPy MiB",
    "first run MiB",
    "with cache MiB",
    "over MiB",
    "kernels",
    "fallbacks",
    "evaluations",
    "results",
)


def print_table(rows: Sequence[Row]) -> None:
    harness.print_table(HEADER, [format_row(row) for row in rows])
    print()
    for size, ratios, bound in (
        ("small", [row.small.ratio for row in rows], MEAN_SMALL),
        ("large", [row.large.ratio for row in rows if row.large], MEAN_LARGE),
    ):
        if ratios:
            slower = sum(ratio < LOWEST_RATIO for ratio in ratios)
            mean = f"geometric mean {harness.find_mean(ratios):.2f}x (bound {bound:g}x)"
            print(f"{size}: {mean}, {slower} of {len(ratios)} below {LOWEST_RATIO:g}x")
    memory = [row.over_mib for row in rows if row.over_mib is not None]
    if memory:
        over = sum(mib > MOST_MEMORY for mib in memory)
        print(f"memory: {over} of {len(memory)} more than {MOST_MEMORY:g} MiB over NumPy's")


def main() -> int:
    """Runs the programs; the exit status is 1 if any result is not NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run_programs", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only programs whose name holds TEXT")
    parser.add_argument("--quick", action="store_true", help="only small sizes, three turns, no fresh processes")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    rows = []
    for name in program.list_names():
        if options.only in name:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows.append(measure(name, options.quick))
            gc.collect()
    if options.json:
        record = {"machine": harness.describe_machine(), "programs": [asdict(row) for row in rows]}
        print(json.dumps(record, indent=2))
    else:
        print_table(rows)
    return 0 if not any(row.difference for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
