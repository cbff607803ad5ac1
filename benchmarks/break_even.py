"""Where recording begins to pay: `python -m benchmarks.break_even [--quick]`.

The same few lines on arrays of 10^3 to 10^5 elements, evaluated at once: under NumPy, with everything recorded and
compiled, with everything run at once, and as it comes: at once below `eager_below`, but for expressions that are joined
(`frontend/waiting.py`). All sides in one process.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

SIZES = (1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000)
ROUNDS, ELEMENTS = 9, 2_000_000
WARM = 12  # calls before the clock starts: what is known of evaluations is forgotten when settings change

Line = Callable[[Any, Any, Any], object]


def store(np: Any, x: Any, y: Any) -> object:
    y[1:-1] = x[1:-1] + 0.1 * (x[2:] - 2.0 * x[1:-1] + x[:-2]) * x[:-2]
    return y


LINES: dict[str, Line] = {
    "x + y": lambda np, x, y: x + y,
    "six operations": lambda np, x, y: ((x * 2.0 + y) * x - y) * 0.5 + x,
    "six on slices": lambda np, x, y: y[1:-1] + 0.1 * (x[2:] - 2.0 * x[1:-1] + x[:-2]) * y[:-2],
    "the same, stored": store,
    "three operations": lambda np, x, y: (x * 2.0 + y) * x,
    "exp(x) * 0.5 + y": lambda np, x, y: np.exp(x) * 0.5 + y,
    "(x * y).sum()": lambda np, x, y: (x * y).sum(),
}


def time_line(line: Line, np: Any, x: Any, y: Any, calls: int) -> float:
    """Microseconds of a call and of evaluating what it returns."""

    def once() -> None:
        found = line(np, x, y)
        if np is lazyarray:
            lazyarray.evaluate(found)

    harness.warm_up(once, WARM)
    start = time.perf_counter()
    for _ in range(calls):
        once()
    return 1e6 * (time.perf_counter() - start) / calls


def measure(line: Line, size: int, rounds: int) -> tuple[float, float, float, float]:
    """Medians in microseconds: NumPy, recorded, at once, as it comes."""
    x, y = numpy.linspace(0.0, 1.0, size), numpy.linspace(1.0, 2.0, size)
    sides: list[tuple[Any, Any, Any, int]] = [(numpy, x, y, 0)]
    for eager_below in (0, 1 << 40, lazyarray.config.eager_below):
        with lazyarray.config.set(eager_below=eager_below):
            lazy = lazyarray.array(x), lazyarray.array(y)
            lazyarray.evaluate(*lazy)
            sides.append((lazyarray, *lazy, eager_below))
    calls = max(10, ELEMENTS // size // 4)
    times: list[list[float]] = [[], [], [], []]
    for turn in range(rounds + 1):
        for (np, a, b, eager_below), found in zip(sides, times, strict=True):
            with lazyarray.config.set(eager_below=eager_below):
                spent = time_line(line, np, a, b, calls)
            if turn:  # the first turn compiles
                found.append(spent)
    plain, recorded, at_once, default = map(statistics.median, times)
    return plain, recorded, at_once, default


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.break_even", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three turns")
    rounds = 3 if parser.parse_args().quick else ROUNDS
    rows = []
    for name, line in LINES.items():
        for size in SIZES:
            plain, *ours = measure(line, size, rounds)
            cells = (f"{cell:.1f}" for cell in (plain, *ours))
            rows.append([name, str(size), *cells, *(f"{plain / cell:.2f}x" for cell in ours)])
    ways = ("recorded", "at once", "as it comes")
    header = ("line", "elements", *(f"{way} us" for way in ("NumPy", *ways)), *(f"NumPy / {way}" for way in ways))
    harness.print_table(header, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
