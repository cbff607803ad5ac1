"""lazyarray beside other compilers of NumPy code: `python -m benchmarks.peers [--only TEXT] [--json] [--load FILES]`.

NumPy, lazyarray, `lazyarray.jit`, numexpr, Numba (parallel), jax.jit and torch.compile run the same programs on the
same data in one process, turn by turn, on all cores. The peers are the extra `peers`; what is not installed is left
out, by name. `lazyarray.jit` is a decorator, as most of the peers are; without it programs run as they are.
"""

import argparse
import fcntl
import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.peer_sides import MAKERS, Missing, Side, list_versions, use_all_cores
from benchmarks.peer_workloads import CASES, Case

OURS = ("lazyarray", "lazyarray.jit")
PEERS = tuple(name for name in MAKERS if name not in ("NumPy", *OURS))
COPY_COUNT = 10_000_000  # float64: far more than caches hold
TURNS, SIDE_SECONDS, SAMPLE_SECONDS = 9, 0.4, 0.002
# Workers of one compiler that spin for more work would slow the next one down.
SETTLE_SECONDS = 0.003
# Calls shorter than this run before they are timed, for as long: the side before left its own data in the caches, and a
# core that had nothing to do asleep.
SHORT = 0.005
TOLERANCES = {"float16": 4e-3, "float32": 1e-4, "float64": 1e-10}


@dataclass(slots=True)
class Row:
    """One program at one size as measured."""

    name: str
    size: str
    elements: int
    floor_ms: float
    ms: dict[str, float]
    first_ms: dict[str, float]
    fastest_ms: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    results: str = ""
    equal: bool = True

    @property
    def best(self) -> str | None:
        """The fastest peer."""
        peers = [name for name in self.ms if name in PEERS]
        return min(peers, key=lambda name: self.ms[name]) if peers else None

    def over_best(self, ours: str = "lazyarray") -> float | None:
        """The fastest peer's time over one of ours; None without either."""
        return None if self.best is None or ours not in self.ms else self.ms[self.best] / self.ms[ours]

    @property
    def over_numpy(self) -> float:
        return self.ms["NumPy"] / self.ms["lazyarray"]

    @property
    def of_bandwidth(self) -> float:
        return self.floor_ms / self.ms["lazyarray"]


def measure_copy() -> float:
    """Bytes a second that a copy reads and writes, on all cores."""
    copy = harness.measure_copy_bandwidth(COPY_COUNT)
    return 16 * COPY_COUNT / harness.time_in_turn(copy)[0]


def start_sides(case: Case, row: Row) -> dict[str, Side]:
    """The sides that run this program and get NumPy's results; the others are noted in the row, with the reason."""
    inputs = case.make_inputs(np.random.default_rng(1))
    sides: dict[str, Side] = {}
    expected: Sequence[Any] = ()
    for name, make in MAKERS.items():
        # Programs may write into their inputs: each side has its own.
        try:
            side = make(case, [array.copy() for array in inputs])
            start = time.perf_counter()
            results = side()
            row.first_ms[name] = 1e3 * (time.perf_counter() - start)
        except Missing as missing:
            row.missing[name] = str(missing)
            continue
        except Exception as error:
            if name in ("NumPy", "lazyarray"):
                raise
            row.missing[name] = shorten(f"{type(error).__name__}: {error}")
            continue
        if name == "NumPy":
            expected = [np.array(result) for result in results]
            row.floor_ms = case.count_bytes(inputs, expected)
        elif name == "lazyarray":
            judge(row, expected, results)
        elif reason := find_difference(expected, results):
            row.missing[name] = f"other results: {reason}"
            continue
        sides[name] = side
    return sides


def judge(row: Row, expected: Sequence[Any], results: Sequence[Any]) -> None:
    try:
        difference = harness.compare(expected, results)
        row.results = str(difference)
        row.equal = find_difference(expected, results) is None
    except ValueError as error:
        row.results, row.equal = f"DIFFERENT: {error}", False


def find_difference(expected: Sequence[Any], results: Sequence[Any]) -> str | None:
    """How results are unlike NumPy's beyond rounding, if they are; a peer's integers may have another width."""
    for want, result in zip(expected, results, strict=True):
        have = np.asarray(result)
        if want.shape != have.shape or want.dtype.kind not in (have.dtype.kind, "u" if have.dtype.kind == "i" else ""):
            return f"{have.dtype}{have.shape} where NumPy has {want.dtype}{want.shape}"
        if want.dtype.kind == "f" and want.dtype == have.dtype:
            bound = TOLERANCES[want.dtype.name] * float(np.abs(want).max())
            if not np.allclose(want, have, rtol=0.0, atol=bound, equal_nan=True):
                return f"further apart than {bound:.1e}"
        elif want.dtype != have.dtype and want.dtype.kind == "f":
            return f"{have.dtype} where NumPy has {want.dtype}"
        elif share := np.count_nonzero(want != have) / max(want.size, 1):
            # Another order of sums moves values across the edge between two integers.
            largest = int(np.abs(want.astype(np.int64) - have.astype(np.int64)).max())
            if largest > 1 or share > 1e-3:
                return f"{share:.1%} of {want.dtype} differ"
    return None


def shorten(text: str) -> str:
    """The line of a compiler's message that says what it does not take."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "support" in line.lower() or "unexpected keyword" in line]
    return (telling or lines or ["?"])[0][:120]


def time_sides(sides: dict[str, Side]) -> dict[str, list[float]]:
    """Seconds of a call of each side, turn by turn. Results are freed inside the time.

    Turns have their own orders: no side always finds what the same other one left in caches and memory.
    """
    guess = {name: harness.warm_up(side, 1) for name, side in sides.items()}
    times: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(TURNS):
        for name, side in random.Random(turn).sample(list(sides.items()), len(sides)):
            if turn >= 3 and sum(times[name]) > SIDE_SECONDS:
                continue
            time.sleep(SETTLE_SECONDS)
            if guess[name] < SHORT:
                time_block(side, max(1, int(SHORT / guess[name])))
            times[name].append(time_block(side, max(1, int(SAMPLE_SECONDS / guess[name]))))
            guess[name] = min(guess[name], times[name][-1])
    return times


def time_block(side: Side, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        results = side()
    del results
    return (time.perf_counter() - start) / calls


def prepare(case: Case) -> tuple[Row, dict[str, Side]]:
    """A row without times, and what there is to time: compiled, run once and compared."""
    print(f"compiling {case.name} {case.size} ...", file=sys.stderr, flush=True)
    row = Row(case.name, case.size, case.elements, 0.0, {}, {})
    return row, start_sides(case, row)


def measure(row: Row, sides: dict[str, Side], bandwidth: float) -> Row:
    print(f"measuring {row.name} {row.size} ...", file=sys.stderr, flush=True)
    row.floor_ms *= 1e3 / bandwidth
    for name, seconds in time_sides(sides).items():
        row.ms[name], row.fastest_ms[name] = 1e3 * statistics.median(seconds), 1e3 * min(seconds)
    sides.clear()
    gc.collect()
    return row


@contextmanager
def hold(file: str) -> Iterator[None]:
    """The machine for this process alone, among those that lock the file."""
    with open(file, "a", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def format_ms(ms: float | None) -> str:
    return "-" if ms is None else f"{ms:.4f}" if ms < 0.1 else f"{ms:.3f}" if ms < 10 else f"{ms:.1f}"


def print_table(record: dict[str, Any], rows: list[Row]) -> None:
    print(", ".join(f"{key} {value}" for key, value in record.items()))
    print()
    header = ["program", "size", "floor ms", "NumPy", *OURS, *PEERS]
    header += ["over the best", "with jit", "over NumPy", "of copy", "results"]
    table = []
    for row in rows:
        times = [format_ms(row.ms.get(name)) for name in ("NumPy", *OURS, *PEERS)]
        best = ["-" if ratio is None else f"{ratio:.2f}x" for ratio in map(row.over_best, OURS)]
        share = f"{100 * row.of_bandwidth:.0f}%"
        cells = [row.name, row.size, format_ms(row.floor_ms), *times, *best, f"{row.over_numpy:.2f}x", share]
        table.append([*cells, row.results])
    print(harness.format_table(header, table))
    print()
    large = [row for row in rows if row.elements >= 90_000]
    for ours in OURS:
        ratios = {f"{row.name} {row.size}": ratio for row in large if (ratio := row.over_best(ours)) is not None}
        if ratios:
            mean = harness.find_mean(list(ratios.values()))
            behind = [name for name, ratio in ratios.items() if ratio < 1]
            print(f"{ours} at 1e5 elements and more, over the best peer: ", end="")
            print(f"{mean:.2f}x in the geometric mean of {len(ratios)} rows")
            print(f"{ours} behind the best peer: {'; '.join(behind) or 'none'}")
    slower = [f"{row.name} {row.size}" for row in rows if row.over_numpy < 1]
    print(f"behind NumPy: {'; '.join(slower) or 'none'}")
    print()
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, reason in row.missing.items():
            reasons.setdefault((name, reason), []).append(row.name)
    for (name, reason), names in sorted(reasons.items()):
        print(f"{name}: {', '.join(dict.fromkeys(names))}: {reason}")


def read_rows(files: Sequence[str]) -> tuple[dict[str, Any], list[Row]]:
    """What earlier runs printed with `--json`; a later file's rows replace an earlier one's."""
    machine: dict[str, Any] = {}
    rows: dict[tuple[str, str], Row] = {}
    for file in files:
        record = json.loads(Path(file).read_text(encoding="utf-8"))
        machine = record["machine"]
        for entry in record["rows"]:
            rows[entry["name"], entry["size"]] = Row(**entry)
    order = [(case.name, case.size) for case in CASES]
    return machine, sorted(rows.values(), key=lambda row: order.index((row.name, row.size)))


def main() -> int:
    """Runs the benchmark; the exit status is 1 if a result of lazyarray is not NumPy's."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only programs whose name and size hold TEXT")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="only every N-th program, from the K-th on")
    parser.add_argument("--elements", metavar="LOW:HIGH", default="0:1e99", help="only programs of so many elements")
    parser.add_argument("--lock", metavar="FILE", help="compile everything, then wait for a lock of FILE to measure")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--load", metavar="FILE", nargs="+", help="the table of what --json printed; measures nothing")
    parser.add_argument("--fastest", action="store_true", help="each side's fastest turn instead of the median")
    parser.add_argument("--sides", metavar="NAMES", help="only these, by commas; NumPy and lazyarray always run")
    options = parser.parse_args()
    if options.load:
        machine, rows = read_rows(options.load)
    else:
        use_all_cores()
        if options.sides:
            wanted = {"NumPy", *OURS, *options.sides.split(",")}
            for name in [name for name in MAKERS if name not in wanted]:
                del MAKERS[name]
        machine, rows = {**harness.describe_machine(), **list_versions()}, []
        part, parts = map(int, options.part.split("/"))
        low, high = map(float, options.elements.split(":"))
        wanted_cases = [case for case in CASES if low <= case.elements <= high][part - 1 :: parts]
        prepared = (prepare(case) for case in wanted_cases if options.only in f"{case.name} {case.size}")
        ready = list(prepared) if options.lock else prepared
        with hold(options.lock) if options.lock else nullcontext():
            bandwidth = measure_copy()
            machine["copy GB/s"] = f"{bandwidth / 1e9:.1f}"
            rows = [measure(row, sides, bandwidth) for row, sides in ready]
    if options.fastest:
        for row in rows:
            row.ms = row.fastest_ms or row.ms
    if options.json:
        print(json.dumps({"machine": machine, "rows": [asdict(row) for row in rows]}, indent=2))
    else:
        print_table(machine, rows)
    return 0 if all(row.equal for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
