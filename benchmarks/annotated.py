"""Programs of others that say how they are run: `python -m benchmarks.annotated FOLDER [--only TEXT]`.

A program is a Python file with two comments: `#setup:` makes arguments, `#run:` is the call. The collection
https://github.com/serge-sans-paille/numpy-benchmarks has some thirty, written for compilers of NumPy code. Each runs as
it stands and with `import lazyarray as np` for its `import numpy as np`, turn by turn in one process, all results
evaluated; what differs from NumPy's is said.
"""

import argparse
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy

import lazyarray
from benchmarks import harness

BARE = re.compile(r"\bimport numpy\b(?! as)")
NAMED = re.compile(r"\b(import|from) numpy\b")
WARM_RUNS = 5


def programs_in(folder: Path, only: str = "") -> list[Path]:
    """The files with both comments, by name."""
    found = [path for path in sorted(folder.glob("*.py")) if only in path.stem]
    return [path for path in found if {"#setup:", "#run:"} <= set(re.findall(r"^#\w+:", path.read_text(), re.M))]


def read(path: Path, package: str) -> Callable[[], Any]:
    """The program's call, with `package` in the place of NumPy; lists of what it yields, values evaluated."""
    text = path.read_text()

    def part(name: str) -> str:
        return "".join(re.findall(rf"^#{name}:(.*)$", text, re.MULTILINE)[:1]).strip()

    def swap(source: str) -> str:
        return NAMED.sub(rf"\1 {package}", BARE.sub("import numpy as numpy", source))

    names: dict[str, Any] = {}
    exec(compile(swap(text), str(path), "exec"), names)
    exec(swap(part("setup")), names)
    call = compile(part("run"), f"{path.name}: #run", "eval")

    def run() -> Any:
        found = eval(call, names)
        found = list(found) if hasattr(found, "__next__") else found
        if package == "lazyarray":
            lazyarray.evaluate(*[value for value in flat(found) if isinstance(value, lazyarray.ndarray)])
        return found

    return run


def flat(found: Any) -> list[Any]:
    """The values in nested tuples and lists."""
    return [value for part in found for value in flat(part)] if isinstance(found, tuple | list) else [found]


def difference(want: Any, got: Any) -> str:
    """How far the results are from NumPy's, in words."""
    expected, found = [[numpy.asarray(value) for value in flat(side)] for side in (want, got)]
    if len(expected) != len(found):
        return f"{len(found)} values where NumPy has {len(expected)}"
    try:
        return str(harness.compare(expected, found))
    except ValueError as error:
        return str(error)


def measure(path: Path) -> tuple[float, float, str]:
    """Seconds under NumPy and lazyarray, medians of turns, and how results differ."""
    sides = [read(path, package) for package in ("numpy", "lazyarray")]
    how = difference(*[side() for side in sides])
    harness.warm_up(sides[1], WARM_RUNS)
    before, after = harness.time_in_turn(*sides)
    return before, after, how


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the programs are")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name holds TEXT")
    arguments = parser.parse_args(given)
    rows: list[list[str]] = []
    ratios: list[float] = []
    for path in programs_in(arguments.folder, arguments.only):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before, after, how = measure(path)
        ratios.append(before / after)
        rows.append([path.stem, f"{before * 1e3:.3f}", f"{after * 1e3:.3f}", f"{ratios[-1]:.2f}x", how])
    if not rows:
        print(f"no programs with #setup: and #run: in {arguments.folder}", file=sys.stderr)
        return 1
    harness.print_table(["program", "NumPy ms", "lazyarray ms", "NumPy / lazyarray", "results"], rows)
    slower = sum(ratio < 0.95 for ratio in ratios)
    print(f"\ngeometric mean {harness.find_mean(ratios):.2f}x; {slower} of {len(ratios)} below 0.95x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
