"""First runs of whole programs, NumPy beside lazyarray, one table: `python -m benchmarks.cold_start [--only TEXT]`.

Each program of `benchmarks/programs/` becomes a script that runs it once at its small size and prints its results:
`python prog.py` as it stands, and with `import lazyarray as np` for its `import numpy as np`. A time is that of a whole
process, from its start to its end, as a median over rounds; in a round NumPy, lazyarray with an empty folder for
compiled kernels, and lazyarray with the folder that the run before filled take turns. Processor time is what a process
costs whatever else the machine does meanwhile; its threads count together.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks import harness, program

ROUNDS = 5
MOST_EMPTY, MOST_WARM = 0.3, 0.1  # seconds over NumPy's
IMPORT, SWAPPED = "import numpy as np\n", "import lazyarray as np\n"
LAST_LINE = "print(run(*prepare(*SMALL)))\n"


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of a process: under NumPy, with an empty cache on disk, with a filled one."""

    numpy: float
    empty: float
    warm: float

    @property
    def over_empty(self) -> float:
        return self.empty - self.numpy

    @property
    def over_warm(self) -> float:
        return self.warm - self.numpy


@dataclass(frozen=True, slots=True)
class Row:
    """One program: times by the clock on the wall, and of the processors (user and system, all threads)."""

    name: str
    wall: Times
    processor: Times


def write_script(name: str, side: str, folder: Path) -> Path:
    """The program as a script that imports NumPy or lazyarray."""
    source = (program.FOLDER / f"{name}.py").read_text(encoding="utf-8")
    if side != "numpy":
        source = source.replace(IMPORT, SWAPPED, 1)
    script = folder / f"{name}_on_{side}.py"
    script.write_text(f"{source}\n\n{LAST_LINE}", encoding="utf-8")
    return script


def time_process(script: Path, cache: Path) -> tuple[float, float]:
    """Seconds of `python script` with compiled kernels in the folder `cache`: by the clock, and of the processors."""
    environment = {
        **os.environ,
        "LAZYARRAY_CACHE_DIR": str(cache),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # modules come from bytecode files, as an installed package's do
    before, start = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, str(script)], env=environment, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure(name: str, rounds: int) -> Row:
    """Medians over the rounds, after one process of each side that brings the files into memory."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        plain, lazy = (write_script(name, side, folder) for side in program.SIDES)
        caches = [folder / f"cache{i}" for i in range(rounds + 1)]
        turns = [(time_process(plain, at), time_process(lazy, at), time_process(lazy, at)) for at in caches]
    wall, processor = (
        Times(*(statistics.median(turn[side][clock] for turn in turns[1:]) for side in range(3))) for clock in range(2)
    )
    return Row(name, wall, processor)


HEADER = (
    "program",
    "NumPy s",
    "empty cache s",
    "warm cache s",
    "empty over NumPy s",
    "warm over NumPy s",
    "the same, of the processors: empty",
    "warm",
    "within",
)


def format_row(row: Row) -> list[str]:
    wall, processor = row.wall, row.processor
    met = {"empty": wall.over_empty <= MOST_EMPTY, "warm": wall.over_warm <= MOST_WARM}
    within = "both" if all(met.values()) else " ".join(name for name, is_met in met.items() if is_met) or "none"
    times = [f"{t:.3f}" for t in (wall.numpy, wall.empty, wall.warm)]
    overs = (wall.over_empty, wall.over_warm, processor.over_empty, processor.over_warm)
    return [row.name, *times, *(f"{t:+.3f}" for t in overs), within]


def print_table(rows: Sequence[Row]) -> None:
    harness.print_table(HEADER, [format_row(row) for row in rows])
    print()
    for what, overs, bound in (
        ("empty cache", [row.wall.over_empty for row in rows], MOST_EMPTY),
        ("warm cache", [row.wall.over_warm for row in rows], MOST_WARM),
        ("empty cache, of the processors", [row.processor.over_empty for row in rows], MOST_EMPTY),
        ("warm cache, of the processors", [row.processor.over_warm for row in rows], MOST_WARM),
    ):
        within = sum(over <= bound for over in overs)
        middle = f"median {statistics.median(overs):+.3f} s, worst {max(overs):+.3f} s over NumPy's"
        print(f"{what}: {middle}; {within} of {len(overs)} within {bound:g} s")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only programs whose name holds TEXT")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"processes of each kind (usually {ROUNDS})")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args()
    rows = []
    for name in program.list_names():
        if options.only in name:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows.append(measure(name, options.rounds))
    if options.json:
        print(json.dumps({"machine": harness.describe_machine(), "programs": [asdict(row) for row in rows]}, indent=2))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
