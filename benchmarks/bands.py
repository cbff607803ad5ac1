"""Kernels in bands of rows: `python -m benchmarks.bands [--only name]`.

Steps over arrays larger than the caches, under NumPy, with one kernel after the other, and with bands where they are
worth it (`schedule/bands.py`), turn by turn in one process; equal results are asked for first.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

import lazyarray
from benchmarks import harness
from lazyarray.runtime import recalled, running
from lazyarray.schedule import bands

Program = Callable[[Any, list[Any]], list[Any]]


def jacobi(np: Any, arrays: list[Any]) -> list[Any]:
    """Ten sweeps of the five-point stencil."""
    a, b = arrays
    for _ in range(5):
        b[1:-1, 1:-1] = 0.25 * (a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2])
        a[1:-1, 1:-1] = 0.25 * (b[2:, 1:-1] + b[:-2, 1:-1] + b[1:-1, 2:] + b[1:-1, :-2])
    return [a]


def waves(np: Any, arrays: list[Any]) -> list[Any]:
    """Five steps of finite differences in the time domain."""
    x, y, z = arrays
    for _ in range(5):
        y[1:, :] -= 0.5 * (z[1:, :] - z[:-1, :])
        x[:, 1:] -= 0.5 * (z[:, 1:] - z[:, :-1])
        z[:-1, :-1] -= 0.7 * (x[:-1, 1:] - x[:-1, :-1] + y[1:, :-1] - y[:-1, :-1])
    return [x, y, z]


def levels(np: Any, arrays: list[Any]) -> list[Any]:
    """A recurrence over the last axis, one slice after the other."""
    x, y = arrays
    for k in range(1, x.shape[2]):
        y[:, :, k] = x[:, :, k] * 0.5 + y[:, :, k - 1] * x[:, :, k - 1]
    return [y]


def smooth(np: Any, arrays: list[Any]) -> list[Any]:
    """Eight times three neighbours of one axis, each time into a new array."""
    (x,) = arrays
    for _ in range(8):
        y = np.empty(x.shape)
        y[0] = x[0]
        y[-1] = x[-1]
        y[1:-1] = 0.25 * x[2:] + 0.5 * x[1:-1] + 0.25 * x[:-2]
        x = y
    return [x]


PROGRAMS: dict[str, tuple[Program, int, tuple[int, ...]]] = {
    "Jacobi, 10 sweeps": (jacobi, 2, (2000, 2000)),
    "waves, 5 steps": (waves, 3, (1500, 1500)),
    "recurrence over slices": (levels, 2, (256, 256, 64)),
    "smoothing, 8 times": (smooth, 1, (4_000_000,)),
    "smoothing of rows, 8 times": (smooth, 1, (4000, 1000)),
}


@contextmanager
def without_bands() -> Iterator[None]:
    """Plans that are made here run one kernel after the other."""
    before = bands.WORTH_MOVED
    vars(bands)["WORTH_MOVED"] = sys.maxsize
    forget()
    try:
        yield
    finally:
        vars(bands)["WORTH_MOVED"] = before
        forget()


def forget() -> None:
    """Plans are made anew."""
    running.plans.clear()
    recalled.forget()


def prepare(count: int, shape: tuple[int, ...]) -> list[Any]:
    """Arrays of random numbers."""
    rng = numpy.random.default_rng(1)
    return [rng.random(shape) for _ in range(count)]


def measure(program: Program, count: int, shape: tuple[int, ...]) -> tuple[list[float], int]:
    """Seconds under NumPy, one kernel after the other, in bands; and how many kernels ran in bands."""
    theirs = prepare(count, shape)
    sides = [[lazyarray.evaluate(lazyarray.array(array)) for array in theirs] for _ in range(2)]
    before = lazyarray.counters()["in_bands"]
    found = program(lazyarray, [lazyarray.array(array) for array in theirs])
    for one, other in zip(found, program(numpy, [array.copy() for array in theirs]), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(one), other)
    used = lazyarray.counters()["in_bands"] - before
    plans: list[dict[Any, Any]] = [dict(running.plans), {}]

    def run(side: int) -> None:
        running.plans.clear()
        running.plans.update(plans[side])
        recalled.forget()
        lazyarray.evaluate(*program(lazyarray, sides[side]))
        plans[side] = dict(running.plans)

    with without_bands():
        run(1)
    return harness.time_in_turn(lambda: program(numpy, theirs), lambda: run(1), lambda: run(0)), used


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="programs whose names contain it")
    only = parser.parse_args().only
    rows = []
    for name, (program, count, shape) in PROGRAMS.items():
        if only in name:
            (plain, alone, banded), used = measure(program, count, shape)
            size = " x ".join(map(str, shape))
            times = [f"{1e3 * seconds:.2f}" for seconds in (plain, alone, banded)]
            rows.append([name, size, str(used), *times, f"{plain / banded:.2f}x", f"{alone / banded:.2f}x"])
    head = ("program", "size", "in bands", "NumPy ms", "one by one ms", "bands ms", "over NumPy", "over one by one")
    harness.print_table(head, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
