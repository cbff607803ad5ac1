"""What sorts, ranks, medians and convolutions of large arrays cost: `python -m benchmarks.sorts [--quick]`.

Vectors of random numbers and of rising ones, lines along both axes, windows of few and of many weights, under NumPy and
lazyarray turn by turn in one process. Figures are the least of all turns.
"""

import argparse
import sys

import numpy

from benchmarks import harness
from benchmarks.searches import figure

VECTORS = harness.lines_of("np.sort(x) | np.sort(r) | np.convolve(x, w, 'same') | np.convolve(x, v, 'same')")
RANKS = harness.lines_of(
    """
    np.argsort(x) | np.argsort(x, kind='stable') | np.argsort(r) | np.argsort(r, kind='stable') | np.lexsort((x, l))
    np.argsort(l, kind='stable') | np.unique(x) | np.unique(x, return_inverse=True) | np.unique(l, return_counts=True)
    np.unique(l, return_inverse=True)
    """
)
MATRICES = harness.lines_of("np.sort(m) | np.sort(m, axis=0) | np.argsort(m) | np.argsort(m, axis=0)")
PLACES = harness.lines_of(
    "np.median(m, axis=0) | np.median(m, axis=1) | np.percentile(m, 30, axis=0) | np.median(s, axis=0)"
)
DTYPES = ("f8", "f4", "i8", "i4")
SIZES = (10_000, 100_000, 1_000_000)
WEIGHTS = (5, 100)


def arrays_for(size: int, dtype: str) -> dict[str, numpy.ndarray]:
    """A vector `x`, it rising, `r`, one of 100 labels `l`, windows `w` and `v`, rows of 100 `m`, 20 rows `s`."""
    draw = numpy.random.default_rng(1)
    x, *windows = [(draw.standard_normal(count) * 1e4).astype(dtype) for count in (size, *WEIGHTS)]
    return {
        "x": x,
        "r": numpy.sort(x),
        "l": draw.integers(0, 100, size).astype(dtype),
        "w": windows[0],
        "v": windows[1],
        "m": x.reshape(-1, 100),
        "s": x.reshape(20, -1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sorts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 3 if parser.parse_args().quick else 9
    rows, ratios = [], []
    for dtype in DTYPES:
        for line in (*VECTORS, *RANKS, *MATRICES, *PLACES):
            cells = []
            for size in SIZES:
                cell, ratio = figure(line, arrays_for(size, dtype), turns)
                cells.append(cell)
                ratios.append(ratio)
            rows.append([line, dtype, *cells])
    harness.print_table(("line", "dtype", *[f"{size} elements" for size in SIZES]), rows)
    print(f"\ngeometric mean {harness.find_mean(ratios):.2f}x, the least {min(ratios):.2f}x, of {len(ratios)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
