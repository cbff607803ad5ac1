"""The main job's figures, one table: `python -m benchmarks.main_job [--quick] [--only TEXT] [--json]`.

NumPy and lazyarray run the same functions on the same data in one process, turn by turn; each time is a
median and, for lazyarray, holds recording, scheduling and `evaluate`. Compiling is a figure of its own.
"""

import argparse
import gc
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import lazyarray
from benchmarks import harness, overheads
from benchmarks.workloads import WORKLOADS, Workload

# Results further than this from NumPy's (in epsilons of the dtype, of the largest value) count as wrong.
TOLERANCE = 64
QUICK_SHRINK = 16


@dataclass(frozen=True, slots=True)
class Row:
    """One workload as measured."""

    name: str
    numpy_ms: float
    lazyarray_ms: float
    ratio: float
    target: float | None
    results: str
    equal: bool
    bandwidth_share: float | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure that is no workload."""

    name: str
    value: float
    unit: str
    limit: float | None
    note: str = ""
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def measure(workload: Workload, shrink: int) -> Row:
    """Times one workload on both sides and compares the results of the last turn."""
    inputs = list(workload.make_inputs(np.random.default_rng(1), shrink))
    lazy_inputs = [lazyarray.asarray(array.copy()) for array in inputs]
    lazyarray.evaluate(*lazy_inputs)
    # The results of the turn before are freed inside the time, on both sides, as in a program's loop.
    kept: dict[str, Any] = {}

    def run_numpy() -> None:
        kept["numpy"] = workload.run(np, *inputs)

    def run_lazyarray() -> None:
        results = workload.run(lazyarray, *lazy_inputs)
        lazyarray.evaluate(*results)
        kept["lazyarray"] = results

    sides: list[Callable[[], object]] = [run_numpy, run_lazyarray]
    if workload.bandwidth_bytes:
        sides.append(harness.measure_copy_bandwidth(inputs[0].size))
    seconds = harness.time_in_turn(*sides)
    share = None
    if workload.bandwidth_bytes:
        share = (workload.bandwidth_bytes / seconds[1]) / (16 / seconds[2])
    try:
        difference = harness.compare(kept["numpy"], kept["lazyarray"])
        results, equal = str(difference), is_close(difference, inputs[0])
    except ValueError as error:
        results, equal = f"DIFFERENT: {error}", False
    numpy_ms, lazyarray_ms = (1e3 * s / workload.calls for s in seconds[:2])
    ratio = numpy_ms / lazyarray_ms
    return Row(workload.name, numpy_ms, lazyarray_ms, ratio, workload.target, results, equal, share)


def is_close(difference: harness.Difference, like: np.ndarray[Any, Any]) -> bool:
    kind = like.dtype if like.dtype.kind == "f" else np.dtype("f8")
    return difference.exact or difference.of_largest <= TOLERANCE * float(np.finfo(kind).eps)


def measure_figures(rows: list[Row], quick: bool) -> list[Figure]:
    """The figures beside the workloads."""
    rounds = 3 if quick else 9
    small = overheads.measure_small_arrays(lazyarray, 200 if quick else 2000)
    mean = harness.find_mean(small.values())
    worst = max(small, key=lambda name: small[name])
    figures = [
        Figure("copy bandwidth reached by (a*b+c)*d - a/(b+1)", 100 * row.bandwidth_share, "%", 80, "", True)
        for row in rows
        if row.bandwidth_share is not None
    ]
    return [
        *figures,
        Figure("first kernel emitted and compiled", overheads.measure_first_kernel(rounds, loaded=True), "ms", 30),
        Figure(
            "the same with loading LLVM and making threads",
            overheads.measure_first_kernel(rounds, loaded=False),
            "ms",
            None,
            "once a process",
        ),
        Figure("import lazyarray over import numpy", overheads.measure_import(rounds), "ms", 60),
        Figure("recording one operation", overheads.measure_recording(lazyarray, 30 * rounds), "us", 1.2),
        Figure("ten elements: time over NumPy's, mean", mean, "x", 2.5, f"of {len(small)} calls"),
        Figure("ten elements: time over NumPy's, worst", small[worst], "x", 2.5, worst),
    ]


def format_met(met: bool | None) -> str:
    return "-" if met is None else "yes" if met else "NO"


def print_tables(rows: list[Row], figures: list[Figure], judged: bool) -> None:
    print(", ".join(f"{key} {value}" for key, value in harness.describe_machine().items()))
    if not judged:
        print(f"quick: sizes divided by {QUICK_SHRINK}, targets not judged")
    print()
    header = ["workload", "NumPy ms", "lazyarray ms", "ratio", "target", "met", "results against NumPy's"]
    table = []
    for row in rows:
        target = "-" if row.target is None else f"{row.target:g}x"
        met = format_met(row.ratio >= row.target if row.target is not None and judged else None)
        times = [f"{row.numpy_ms:.2f}", f"{row.lazyarray_ms:.2f}", f"{row.ratio:.2f}x"]
        table.append([row.name, *times, target, met, row.results])
    print(harness.format_table(header, table))
    print()
    header = ["figure", "measured", "bound", "met", "note"]
    table = []
    for figure in figures:
        sign = ">=" if figure.at_least else "<="
        bound = "-" if figure.limit is None else f"{sign} {figure.limit:g} {figure.unit}"
        met = format_met(figure.met if judged else None)
        table.append([figure.name, f"{figure.value:.2f} {figure.unit}", bound, met, figure.note])
    print(harness.format_table(header, table))


def main() -> int:
    """Runs the benchmarks; the exit status is 1 if any result is not NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.main_job", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes: checks results, judges no target")
    parser.add_argument("--only", metavar="TEXT", default="", help="only workloads whose name holds TEXT")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    rows = []
    for workload in WORKLOADS:
        if options.only in workload.name:
            print(f"measuring {workload.name} ...", file=sys.stderr, flush=True)
            rows.append(measure(workload, QUICK_SHRINK if options.quick else 1))
            gc.collect()
    figures = [] if options.only else measure_figures(rows, options.quick)
    if options.json:
        record = {
            "machine": harness.describe_machine(),
            "quick": options.quick,
            "workloads": [asdict(row) for row in rows],
            "figures": [asdict(figure) for figure in figures],
        }
        print(json.dumps(record, indent=2))
    else:
        print_tables(rows, figures, judged=not options.quick)
    return 0 if all(row.equal for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
