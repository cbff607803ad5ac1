"""What others can write: `python -m benchmarks.shared_memory [--sizes N,N]`.

Lines on large memory that an array of NumPy refers to as well (`np.asarray(theirs)`, as from another package), on a
copy of it (`np.array(theirs)`), and under NumPy, turn by turn in one process; each evaluated.
"""

import argparse
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

SIZES = (100_000, 4_000_000)


@functools.cache
def places_in(np: Any, size: int) -> Any:
    return np.array(numpy.random.default_rng(3).permutation(size))


def places_of(np: Any, x: Any) -> Any:
    return places_in(np, x.size)


def under_mask(np: Any, x: Any) -> Any:
    x[x > 2.0] = 0.0
    return x


LINES: dict[str, Callable[[Any, Any], Any]] = {
    "x * 2": lambda np, x: x * 2.0,
    "1 - x": lambda np, x: 1.0 - x,
    "exp(x)": lambda np, x: np.exp(x),
    "(x * 2 + 1) * x": lambda np, x: (x * 2.0 + 1.0) * x,
    "x[1:] - x[:-1]": lambda np, x: x[1:] - x[:-1],
    "rows: m.T + 1": lambda np, x: x.reshape(100, -1).T + 1.0,
    "rows: m - m.mean(axis=0)": lambda np, x: x.reshape(-1, 100) - x.reshape(-1, 100).mean(axis=0),
    "(x * 2).sum()": lambda np, x: (x * 2.0).sum(),
    "(x > 0.5).sum()": lambda np, x: (x > 0.5).sum(),
    "x.sum()": lambda np, x: x.sum(),
    "x.max()": lambda np, x: x.max(),
    "x.std()": lambda np, x: x.std(),
    "cumsum(x)": lambda np, x: np.cumsum(x),
    "clip(x, 0.1, 0.9)": lambda np, x: np.clip(x, 0.1, 0.9),
    "x.copy()": lambda np, x: x.copy(),
    "x[x > 0.5]": lambda np, x: x[x > 0.5],
    "take(x, places)": lambda np, x: np.take(x, places_of(np, x)),
    "gradient(x)": lambda np, x: np.gradient(x),
    "isclose(x, x)": lambda np, x: np.isclose(x, x),
    "nonzero(x)": lambda np, x: np.nonzero(x),
    "pad(x, 3)": lambda np, x: np.pad(x, 3),
    "einsum('ij,ij->i')": lambda np, x: np.einsum("ij,ij->i", x.reshape(-1, 10), x.reshape(-1, 10)),
    "x[x > 2] = 0": under_mask,
    "multiply, where": lambda np, x: np.multiply(x, 1.0, out=x, where=x > 0.5),
}


def measure(line: Callable[[Any, Any], Any], theirs: Any) -> list[float]:
    """Seconds under NumPy, on shared memory, on a copy of our own."""
    shared, own = lazyarray.asarray(theirs), lazyarray.array(theirs)
    lazyarray.evaluate(own)
    return harness.time_in_turn(
        lambda: line(numpy, theirs),
        lambda: lazyarray.evaluate(line(lazyarray, shared)),
        lambda: lazyarray.evaluate(line(lazyarray, own)),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared_memory", description=__doc__)
    parser.add_argument("--sizes", metavar="N,N", default=",".join(map(str, SIZES)), help="numbers of elements")
    options = parser.parse_args()
    rows = []
    for size in map(int, options.sizes.split(",")):
        theirs = numpy.linspace(0.0, 1.0, size)
        for name, line in LINES.items():
            plain, shared, own = measure(line, theirs)
            times = [f"{1e6 * seconds:.1f}" for seconds in (plain, shared, own)]
            rows.append([name, str(size), *times, f"{plain / shared:.2f}x", f"{plain / own:.2f}x"])
    titles = ("line", "elements", "NumPy us", "shared us", "own us", "NumPy / shared", "NumPy / own")
    harness.print_table(titles, rows)
    print(", ".join(f"{name} {value}" for name, value in harness.describe_machine().items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
