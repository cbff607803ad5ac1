"""What searches of many values cost: `python -m benchmarks.searches [--quick]`.

searchsorted, interp and digitize of values at random and of values that rise, among few sorted ones and among many, and
what is found of the values alone, under NumPy and lazyarray turn by turn in one process. Figures are the least of all
turns.
"""

import argparse
import sys

import numpy

import lazyarray
from benchmarks import harness

LINES = harness.lines_of("np.searchsorted(keys, x) | np.interp(x, keys, heights) | np.digitize(x, keys)")
OF_VALUES = harness.lines_of("np.histogram2d(x, x[::-1])[0] | np.unique(k) | np.median(x) | np.percentile(x, 30)")
KEYS = (11, 1000, 1_000_000)
SIZES = (3000, 30_000, 1_000_000)


def figure(line: str, arrays: dict[str, numpy.ndarray], turns: int) -> tuple[str, float]:
    """What the line takes under NumPy and lazyarray, and the ratio."""
    work = f"done({line})"  # NumPy's side asks for that too, and is let through
    sides = [
        harness.looped(
            work, {"np": module, "done": lazyarray.evaluate, **{k: module.array(v) for k, v in arrays.items()}}
        )
        for module in (numpy, lazyarray)
    ]
    plain, ours = [1e6 * seconds for seconds in harness.least_in_turn(sides, 1, turns)]
    return f"{plain:.0f} / {ours:.0f} us, {plain / ours:.2f}x", plain / ours


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.searches", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    turns = 3 if parser.parse_args().quick else 12
    draw = numpy.random.default_rng(1)
    rows, ratios = [], []
    for many, lines in [*((many, LINES) for many in KEYS), (1, OF_VALUES)]:
        keys, heights = numpy.sort(draw.random(many)), draw.random(many)
        for line in lines:
            for order in ("at random", "rising"):
                cells = []
                for size in SIZES:
                    x = draw.random(size)
                    if order == "rising":
                        x.sort()
                    arrays = {"keys": keys, "heights": heights, "x": x, "k": (x * size).astype(int)}
                    cell, ratio = figure(line, arrays, turns)
                    cells.append(cell)
                    ratios.append(ratio)
                rows.append([line, str(many) if lines is LINES else "", order, *cells])
    harness.print_table(("line", "keys", "values", *[f"{size} values" for size in SIZES]), rows)
    print(f"\ngeometric mean {harness.find_mean(ratios):.2f}x, the least {min(ratios):.2f}x, of {len(ratios)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
