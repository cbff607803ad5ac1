"""What masks, choices and folds of small arrays cost: `python -m benchmarks.small_masks [--quick]`.

`x[mask]`, `x[mask] = number` and `x[mask] = values` on 180 x 180 elements under NumPy and lazyarray, turn by turn in
one process, for masks of several kinds, elements without gaps or inside a border; then `LINES` on arrays of several
sizes. Figures are the least of all turns.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

SIDE, CALLS = 180, 10
SIZES = (10, 1000, 32_400)
LINES = """
np.where(mask, x, y) | np.where(mask, x, 0) | np.where(mask, 1.0, 0.0) | np.nonzero(mask) | mask.sum() | mask.any()
x.sum() | x.mean() | x.max() | np.sum(x) | k.sum() | k.mean() | np.add.outer(x[:100], x[:100])
"""
DTYPES = ("uint8", "float64", "complex128")
MASKS: dict[str, Callable[[Any], Any]] = {
    "none": lambda at: at < 0.0,
    "5 % at random": lambda at: at < 0.05,
    "half at random": lambda at: at < 0.5,
    "runs of 700": lambda at: numpy.arange(at.size).reshape(at.shape) // 700 % 2 == 0,
    "all": lambda at: at < 2.0,
}


def least(turns: int, *steps: Callable[[], object]) -> list[float]:
    """Microseconds of each step, by turns."""
    times: list[list[float]] = [[] for _ in steps]
    for _ in range(turns):
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                step()
            found.append(time.perf_counter() - start)
    return [1e6 * min(found) / CALLS for found in times]


def steps_of(module: Any, dtype: str, mask: Any, bordered: bool) -> list[Callable[[], object]]:
    """Reading, filling and writing, on one side."""
    whole = module.zeros((SIDE + 2, SIDE + 2), dtype) if bordered else module.zeros((SIDE, SIDE), dtype)
    x = whole[1:-1, 1:-1] if bordered else whole
    own = module.array(mask)
    values = x[own]

    def fill() -> None:
        x[own] = 1

    def put() -> None:
        x[own] = values

    return [lambda: x[own], fill, put]


def table_of_masks(turns: int) -> list[float]:
    """Prints the reads and writes, and returns their ratios."""
    at = numpy.random.default_rng(1).random((SIDE, SIDE))
    rows, ratios = [], []
    for dtype in DTYPES:
        for name, make in MASKS.items():
            for bordered in (False, True):
                sides = [steps_of(module, dtype, make(at), bordered) for module in (numpy, lazyarray)]
                figures = [least(turns, *both) for both in zip(*sides, strict=True)]
                found = [plain / ours for plain, ours in figures]
                ratios += found
                cells = [f"{plain:.1f} / {ours:.1f} us, {plain / ours:.2f}x" for plain, ours in figures]
                rows.append([dtype, name, "inside" if bordered else "whole", *cells])
    harness.print_table(("dtype", "mask", "elements", "x[mask]", "x[mask] = 1", "x[mask] = values"), rows)
    return ratios


def table_of_lines(turns: int) -> list[float]:
    """Prints the lines, and returns their ratios."""
    rng = numpy.random.default_rng(2)
    rows, ratios = [], []
    for line in harness.lines_of(LINES):
        cells = []
        for size in SIZES:
            x, y, k = rng.random(size), rng.random(size), rng.integers(0, 100, size, dtype="u1")
            made = [{"x": x, "y": y, "k": k, "mask": x < 0.5}, {}]
            made[1] = {name: lazyarray.array(item) for name, item in made[0].items()}
            steps = [
                eval(f"lambda: {line}", {"np": module, **names})
                for module, names in zip((numpy, lazyarray), made, strict=True)
            ]
            plain, ours = least(turns, *steps)
            ratios.append(plain / ours)
            cells.append(f"{plain:.2f} / {ours:.2f} us, {plain / ours:.1f}x")
        rows.append([line, *cells])
    harness.print_table(("line", *[f"{size} elements" for size in SIZES]), rows)
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.small_masks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 5 if parser.parse_args().quick else 60
    for table in (table_of_masks, table_of_lines):
        ratios = table(turns)
        print(f"geometric mean {harness.find_mean(ratios):.2f}x, the least {min(ratios):.2f}x, of {len(ratios)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
