"""What rows of few elements and transposed reads cost: `python -m benchmarks.short_rows [--quick]`.

Reductions along rows of 3 to 100 elements, several of one array at once, and what is read transposed or backwards;
rows of 2 to 12 elements beside one row for all (r), a column (c) and rows of a wider array (w):
10^5 elements of several dtypes under NumPy and lazyarray, turn by turn in one process, compiled from the first
evaluation on. Figures are the least of all turns, microseconds; what a line names is evaluated together.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import numpy

import lazyarray
from benchmarks import harness

ELEMENTS = 100_000
DTYPES = ("float64", "float32", "int32", "uint8", "bool")
LENGTHS, SHORTEST = (3, 8, 33, 100), (2, 3, 4, 7, 12)
ROWS = """
x.sum(axis=1) | x.max(axis=1) | x.min(axis=1), x.max(axis=1) | x.sum(axis=1), x.max(axis=1) | x.argmax(axis=1)
x.std(axis=1) | (x > y).any(axis=1) | x[:, ::-1] == y
"""
BESIDE = """
x == r | x != c | (x != c) & (y == r) | c == r | w[:, 1:-1] == x | w[:, 1:-1] != w[:, :1] | np.where(c == c[0], x, r)
x[:, ::-1] == y | x.T.copy().T == y
"""
WHOLE = """
x.min(), x.max(), x.sum() | x.min(), x.max(), x.mean(), x.std() | x.sum(), y.sum() | x.T == y.reshape(x.T.shape)
np.ascontiguousarray(x.T) | np.ascontiguousarray(x.reshape(-1, 10, 20).transpose(2, 0, 1))
"""


def least(turns: int, steps: Sequence[Callable[[], object]]) -> list[float]:
    """Microseconds of each step, by turns."""
    times: list[list[float]] = [[] for _ in steps]
    for turn in range(turns + 3):
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            if turn >= 3:
                found.append(time.perf_counter() - start)
    return [1e6 * min(found) for found in times]


def compare(line: str, dtype: str, shape: tuple[int, int], turns: int) -> tuple[float, float]:
    """NumPy's time of a line and ours."""
    rng = numpy.random.default_rng(1)
    x = rng.random(shape) < 0.5 if dtype == "bool" else (rng.random(shape) * 100).astype(dtype)
    given = {
        "x": x,
        "y": x[::-1].copy(),
        "r": x[0].copy(),
        "c": x[:, :1].copy(),
        "w": numpy.hstack([x[:, :1], x, x[:, :1]]),
    }
    call = eval(f"lambda: ({line},)", {"np": numpy, **given})
    lazy = eval(f"lambda: ({line},)", {"np": lazyarray, **{name: lazyarray.array(one) for name, one in given.items()}})
    plain, own = least(turns, [call, lambda: lazyarray.evaluate(*lazy())])
    return plain, own


def table(lines: list[str], shapes: dict[str, tuple[int, int]], turns: int) -> list[float]:
    """Prints a line for each of `lines` and dtypes, a column for each shape, and returns the ratios."""
    rows, ratios = [], []
    for line in lines:
        for dtype in DTYPES:
            figures = [compare(line, dtype, shape, turns) for shape in shapes.values()]
            ratios += [plain / own for plain, own in figures]
            rows.append([line, dtype, *(f"{plain:.0f} / {own:.0f}, {plain / own:.1f}x" for plain, own in figures)])
    harness.print_table(("NumPy / lazyarray, us", "dtype", *shapes), rows)
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.short_rows", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 3 if parser.parse_args().quick else 30
    with lazyarray.config.set(compile_at=1):
        short = {f"rows of {n}": (ELEMENTS // n, n) for n in LENGTHS}
        shortest = {f"rows of {n}": (ELEMENTS // n, n) for n in SHORTEST}
        square = {"300 x 300": (300, 300), "1000 x 1000": (1000, 1000), "100 x 9000": (100, 9000)}
        for lines, shapes in ((ROWS, short), (BESIDE, shortest), (WHOLE, square)):
            ratios = table(harness.lines_of(lines), shapes, turns)
            behind = sum(ratio < 0.95 for ratio in ratios)
            print(f"geometric mean {harness.find_mean(ratios):.2f}x, {behind} of {len(ratios)} below 0.95x\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
