"""Owns a program of `benchmarks/programs/` as NumPy's users run it and with its imports swapped, and one run of it.

A program is a module with `prepare(*size)`, which makes the arguments of `run`; `run(...)`, which may write into them
and returns results nested in tuples and lists; the sizes `SMALL` and `LARGE`; and, if its numerics ask for it,
`TOLERANCE`, the largest distance from NumPy's results as a share of the largest value.
"""

import contextvars
import copy
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "programs"
TOLERANCE = 1e-10
SIDES = ("numpy", "lazyarray")


def list_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def load(name: str, side: str) -> ModuleType:
    """The program's module, in which `import numpy` means `side`."""
    path = FOLDER / f"{name}.py"
    source = path.read_bytes()
    module = ModuleType(f"{name}_on_{side}")
    module.__file__ = str(path)
    if side == "numpy":
        code = compile(source, path, "exec", dont_inherit=True)
    else:
        from lazyarray.runner.swap import compile_swapped

        code = compile_swapped(source, str(path), side)
    exec(code, vars(module))
    return module


def find_leaves(value: Any) -> Iterator[Any]:
    """What is nested in tuples, lists and dictionaries, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for part in value:
            yield from find_leaves(part)
    else:
        yield value


@dataclass(frozen=True, slots=True)
class Side:
    """A program on one side at one size, with arguments that each run takes a copy of."""

    name: str
    module: ModuleType
    arguments: tuple[Any, ...]

    def copy_arguments(self) -> tuple[Any, ...]:
        arguments: tuple[Any, ...] = self.call(copy.deepcopy, self.arguments)
        self.finish(arguments)
        return arguments

    def run(self, arguments: tuple[Any, ...]) -> Any:
        """Runs the program; every result is a value at the end."""
        results = self.call(self.module.run, *arguments)
        self.finish(results)
        return results

    def call(self, function: Any, *arguments: Any) -> Any:
        """What a function returns; NumPy's arrays lie where they do without lazyarray (as `harness.as_alone`)."""
        return contextvars.Context().run(function, *arguments) if self.name == "numpy" else function(*arguments)

    def finish(self, value: Any) -> None:
        if self.name != "numpy":
            evaluate = sys.modules[self.name].evaluate
            evaluate(*find_leaves(value))

    def time_run(self) -> float:
        """Seconds of one run; copying the arguments and freeing the results are left out."""
        arguments = self.copy_arguments()
        start = time.perf_counter()
        results = self.run(arguments)
        seconds = time.perf_counter() - start
        del results
        return seconds


def prepare(name: str, side: str, size: str) -> Side:
    """Loads a program and makes its arguments; `size` is "small" or "large"."""
    module = load(name, side)
    found = Side(side, module, ())
    found = replace(found, arguments=found.call(module.prepare, *getattr(module, size.upper())))
    found.finish(found.arguments)
    return found


def find_difference(expected: Any, got: Any, tolerance: float) -> str:
    """Says how results differ from NumPy's: nothing if they are equal (integers) or close (the others)."""
    wanted, had = list(find_leaves(expected)), list(find_leaves(got))
    if len(wanted) != len(had):
        return f"{len(had)} results where NumPy has {len(wanted)}"
    for place, (want, have) in enumerate(zip(map(np.asarray, wanted), map(np.asarray, had), strict=True)):
        if want.dtype != have.dtype or want.shape != have.shape:
            return f"result {place}: {have.dtype}{have.shape} where NumPy has {want.dtype}{want.shape}"
        if want.dtype.kind not in "fc":
            count = np.count_nonzero(want != have)
            if count:
                return f"result {place}: {count} of {want.size} values of {want.dtype} differ"
            continue
        if not np.array_equal(np.isfinite(want), np.isfinite(have)):
            return f"result {place}: infinities or NaNs differ"
        want, have = np.where(np.isfinite(want), want, 0), np.where(np.isfinite(have), have, 0)
        distance = float(np.abs(want - have).max(initial=0.0))
        largest = float(np.abs(want).max(initial=0.0))
        if distance > tolerance * largest:
            return f"result {place}: {distance:.2e} from NumPy's, whose largest value is {largest:.2e}"
    return ""


def check(name: str, size: str) -> str:
    """Runs a program on both sides; says how the results differ, or nothing."""
    expected, got = (side.run(side.copy_arguments()) for side in (prepare(name, side, size) for side in SIDES))
    return find_difference(expected, got, getattr(load(name, "numpy"), "TOLERANCE", TOLERANCE))


def read_peak_memory() -> int:
    """The most bytes that this process has had in memory."""
    try:
        with open("/proc/self/status", encoding="utf-8") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    # Counts what the parent had before this program was loaded, which /proc does not.
    from resource import RUSAGE_SELF, getrusage

    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """`python -m benchmarks.program NAME SIDE SIZE`: loads and runs a program once, prints seconds and peak bytes."""
    start = time.perf_counter()
    name, side, size = sys.argv[1:]
    one = prepare(name, side, size)
    one.run(one.arguments)
    print(time.perf_counter() - start, read_peak_memory())


if __name__ == "__main__":
    main()
