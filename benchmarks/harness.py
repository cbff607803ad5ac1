"""Owns timing and comparing: two sides in one process on the same data, turn by turn, medians."""

import contextvars
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lazyarray

MIN_ROUNDS, MAX_ROUNDS, SIDE_SECONDS = 5, 25, 2.0
WARM_CALLS, WARM_SECONDS = 3, 3.0  # the third evaluation at the earliest is compiled; how long is waited for that


@dataclass(frozen=True, slots=True)
class Difference:
    """How far results are from NumPy's: the largest distance in ULP, and as a share of the largest value."""

    exact: bool
    ulp: int
    of_largest: float

    def __str__(self) -> str:
        return "exact" if self.exact else f"{self.ulp} ulp, {self.of_largest:.1e} of max"


def time_call(call: Callable[[], object]) -> tuple[float, object]:
    """Seconds of one call, and its result (so that freeing it stays out of the time)."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def as_alone(call: Callable[..., Any], *arguments: Any) -> Any:
    """Calls what NumPy does as in a process without lazyarray, which has NumPy's arrays begin at cache lines.

    In a context of its own, where that is not said; NumPy's error state is the present one.
    """

    def run() -> Any:
        with np.errstate(**state):
            return call(*arguments)

    state: Any = np.geterr()
    return contextvars.Context().run(run)


def warm_up(call: Callable[[], object], calls: int = WARM_CALLS) -> float:
    """Calls some times, and until nothing is interpreted any more; seconds of the fastest call."""
    fastest = min([time_call(call)[0] for _ in range(calls)])
    start = time.perf_counter()
    while time.perf_counter() - start < WARM_SECONDS:
        before = lazyarray.counters()["interpreted"]
        fastest = min(fastest, time_call(call)[0])
        if lazyarray.counters()["interpreted"] == before:
            break
    return fastest


def split_lines(rows: str) -> list[str]:
    """The lines to measure: those of one row stand apart by a bar that a blank is on either side of."""
    return [line.strip() for row in rows.strip().splitlines() for line in row.split(" | ")]


def looped(line: str, names: Mapping[str, Any]) -> Callable[[int], float]:
    """A function that runs the line so many times and returns the seconds; `names`: what the line refers to."""
    source = (
        f"def run(count, clock, {', '.join(names)}):\n"
        f"    turns = range(count)\n"
        f"    start = clock()\n"
        f"    for _ in turns:\n"
        f"        {line}\n"
        f"    return clock() - start\n"
    )
    space: dict[str, Any] = {}
    exec(source, space)
    run = space["run"]
    return lambda count: run(count, time.perf_counter, **names)


def least_in_turn(sides: Sequence[Callable[[int], float]], calls: int, turns: int) -> list[float]:
    """The least seconds of so many calls of each side of `looped`, the sides turn by turn: other work only adds."""
    least = [math.inf for _ in sides]
    for _ in range(turns):
        for place, side in enumerate(sides):
            least[place] = min(least[place], side(calls))
    return least


def save_figures(path: Path, figures: Sequence[Mapping[str, Any]]) -> None:
    """Writes figures, with what they depend on, as JSON."""
    path.write_text(json.dumps({"machine": describe_machine(), "figures": figures}, indent=1))


def count_rounds(first_seconds: float) -> int:
    return max(MIN_ROUNDS, min(MAX_ROUNDS, int(SIDE_SECONDS / max(first_seconds, 1e-9))))


def time_in_turn(*sides: Callable[[], object]) -> list[float]:
    """Median seconds of each side, the sides called turn by turn after a few calls each to warm up."""
    first = [warm_up(side) for side in sides]
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(count_rounds(max(first))):
        for side, seconds in zip(sides, times, strict=True):
            seconds.append(time_call(side)[0])
    return [statistics.median(seconds) for seconds in times]


def order_floats(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Integers in the order of the floats, neighbours one apart, both zeros 0."""
    bits = values.view(f"i{values.dtype.itemsize}")
    return np.where(bits < 0, np.iinfo(bits.dtype).min - bits, bits).astype(np.int64)


def compare(expected: Sequence[Any], got: Sequence[Any]) -> Difference:
    """Compares results pairwise; a difference of dtype, shape or NaN places raises ValueError."""
    exact, ulp, share = True, 0, 0.0
    for want, have in zip(expected, map(np.asarray, got), strict=True):
        want = np.asarray(want)
        if want.dtype != have.dtype or want.shape != have.shape:
            raise ValueError(f"{have.dtype}{have.shape} where NumPy has {want.dtype}{want.shape}")
        if np.array_equal(want, have, equal_nan=want.dtype.kind in "fc"):
            continue
        exact = False
        if want.dtype.kind != "f":
            raise ValueError(f"{np.count_nonzero(want != have)} of {want.size} values of {want.dtype} differ")
        if not np.array_equal(np.isfinite(want), np.isfinite(have)):
            raise ValueError("infinities or NaNs differ")
        finite = np.isfinite(want)
        want, have = want[finite], have[finite]
        # The distance fits an integer: only values near zero are expected to differ in sign.
        ulp = max(ulp, int(np.abs(order_floats(want) - order_floats(have)).max()))
        share = max(share, float(np.abs(want - have).max() / max(np.abs(want).max(), 1e-300)))
    return Difference(exact, ulp, share)


def measure_copy_bandwidth(count: int) -> Callable[[], object]:
    """A call that copies `count` float64 on all cores: reads and writes 8 bytes each into mapped memory."""
    source, destination = np.ones(count), np.zeros(count)
    threads = count_cores()
    bounds = [count * i // threads for i in range(threads + 1)]
    pool = ThreadPoolExecutor(threads)

    def copy_part(part: int) -> None:
        low, high = bounds[part], bounds[part + 1]
        np.copyto(destination[low:high], source[low:high])

    return lambda: list(pool.map(copy_part, range(threads)))


def count_cores() -> int:
    return len(os.sched_getaffinity(0))


def describe_machine() -> dict[str, str]:
    """What the figures depend on, as text; what the environment has NumPy's OpenBLAS do, too."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        model = names[0] if names else model
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": str(count_cores()),
        "python": platform.python_version(),
        "numpy": np.__version__,
        **{name: value for name, value in sorted(os.environ.items()) if name.startswith("OPENBLAS_")},
    }


def find_mean(ratios: Collection[float]) -> float:
    """The geometric mean."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with padded columns; all columns but the first and last are right-aligned."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    last = len(header) - 1

    def format_row(row: Sequence[str]) -> str:
        cells = [
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return f"| {' | '.join(cells)} |"

    rule = ["-" * width if i in (0, last) else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    return "\n".join(map(format_row, [header, rule, *rows]))


def lines_of(text: str) -> list[str]:
    """The lines of code that a benchmark lists, apart by `|` or line ends."""
    return [line.strip() for line in text.replace("\n", "|").split("|") if line.strip()]


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """What the figures depend on, and the table of them."""
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print()
    print(format_table(header, rows))
