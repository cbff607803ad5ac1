"""NumPy's operations on arrays at cache lines, and where malloc puts them: `python -m benchmarks.placement`.

`import lazyarray` has NumPy place them (`runtime/heap.py`): arrays of middle size run in NumPy. Both sides in one
process, turn by turn: one in a context of its own, where NumPy has its own allocator.
"""

import argparse
import functools

import numpy

from benchmarks import harness

LINES = """
    a + b | a * 2.0 | a * b | a / b | numpy.sqrt(a) | numpy.maximum(a, b) | a > b | f + g | i + j
    numpy.dot(a, b) | a.sum() | a.max() | a.copy() | numpy.zeros(n) | numpy.cumsum(a) | numpy.exp(a) | a[1:] - a[:-1]
"""
SIZES = (100, 1_000, 10_000, 30_000, 60_000)
TURNS, TURN_SECONDS = 15, 2e-3


def names(size: int) -> dict[str, object]:
    random = numpy.random.default_rng(3)
    reals = {name: random.random(size) for name in "ab"}
    singles = {name: random.random(size, numpy.float32) for name in "fg"}
    integers = {name: random.integers(0, 100, size) for name in "ij"}
    return {"numpy": numpy, "n": size, **reals, **singles, **integers}


def measure(line: str, size: int) -> list[float]:
    """Microseconds: where malloc puts arrays, and at lines."""
    placed = harness.looped(line, names(size))
    alone = functools.partial(harness.as_alone, harness.looped(line, harness.as_alone(names, size)))
    calls = max(1, int(TURN_SECONDS / max(alone(10) / 10, placed(10) / 10)))
    return [1e6 * seconds / calls for seconds in harness.least_in_turn((alone, placed), calls, TURNS)]


def main() -> int:
    argparse.ArgumentParser(prog="python -m benchmarks.placement", description=__doc__).parse_args()
    rows, means = [], []
    for size in SIZES:
        ratios = []
        for line in harness.split_lines(LINES):
            alone, placed = measure(line, size)
            ratios.append(alone / placed)
            rows.append([line, str(size), f"{alone:.2f}", f"{placed:.2f}", f"{alone / placed:.2f}x"])
        means.append(f"{size} elements: {harness.find_mean(ratios):.2f}x, least {min(ratios):.2f}x")
    harness.print_table(("line", "elements", "malloc's us", "at lines us", "malloc's / at lines"), rows)
    print()
    print("\n".join(means))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
