"""What others can write: `python -m benchmarks.shared_memory`.

Lines on large memory that an array of NumPy refers to as well (`np.asarray(theirs)`, as from another package), on a
copy of it (`np.array(theirs)`), and under NumPy, turn by turn in one process; each evaluated.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

SIZE = 4_000_000

LINES: dict[str, Callable[[Any, Any], Any]] = {
    "x * 2": lambda np, x: x * 2.0,
    "exp(x)": lambda np, x: np.exp(x),
    "(x * 2 + 1) * x": lambda np, x: (x * 2.0 + 1.0) * x,
    "(x * 2).sum()": lambda np, x: (x * 2.0).sum(),
    "x.sum()": lambda np, x: x.sum(),
    "x.std()": lambda np, x: x.std(),
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
    theirs = numpy.linspace(0.0, 1.0, SIZE)
    rows = []
    for name, line in LINES.items():
        plain, shared, own = measure(line, theirs)
        times = [f"{1e3 * seconds:.2f}" for seconds in (plain, shared, own)]
        rows.append([name, *times, f"{plain / shared:.2f}x", f"{plain / own:.2f}x"])
    harness.print_table(("line", "NumPy ms", "shared ms", "own ms", "NumPy / shared", "NumPy / own"), rows)
    print(", ".join(f"{name} {value}" for name, value in harness.describe_machine().items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
