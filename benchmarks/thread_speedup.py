"""What the second thread and the others bring: `python -m benchmarks.thread_speedup [--elements A:B] [--only TEXT]`.

The programs of `peer_workloads.py` on one thread and on all, turn by turn in one process, and the share of the copy's
speed that all threads reach: where that is low, arithmetic binds, and threads should multiply it.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy

import lazyarray
from benchmarks.harness import measure_copy_bandwidth, print_table, time_in_turn
from benchmarks.peer_sides import MAKERS
from benchmarks.peer_workloads import CASES, Case

COPY_COUNT = 10_000_000


def on_threads(side: Callable[[], Any], count: int | None) -> Callable[[], Any]:
    def run() -> Any:
        with lazyarray.config.set(num_threads=count):
            return side()

    return run


def measure(case: Case, bandwidth: float) -> list[str]:
    """A row of the table: milliseconds on one thread and on all, the speed-up, the share of a copy's speed."""
    inputs = case.make_inputs(numpy.random.default_rng(1))
    side = MAKERS["lazyarray"](case, inputs)
    nbytes = case.count_bytes(inputs, [numpy.asarray(part) for part in side()])
    one, several = time_in_turn(on_threads(side, 1), on_threads(side, None))
    share = nbytes / several / bandwidth
    return [case.name, case.size, f"{1e3 * one:.3f}", f"{1e3 * several:.3f}", f"{one / several:.2f}x", f"{share:.0%}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thread_speedup", description=__doc__)
    parser.add_argument("--elements", metavar="A:B", default="1e6:1e8", help="only programs of so many elements")
    parser.add_argument("--only", metavar="TEXT", default="", help="only programs whose name holds TEXT")
    options = parser.parse_args()
    low, high = map(float, options.elements.split(":"))
    copy = measure_copy_bandwidth(COPY_COUNT)
    bandwidth = 16 * COPY_COUNT / time_in_turn(copy)[0]
    chosen = [case for case in CASES if options.only in case.name and low <= case.elements <= high]
    rows = [measure(case, bandwidth) for case in chosen]
    print_table(("program", "size", "one thread ms", "all ms", "speed-up", "of copy"), rows)


if __name__ == "__main__":
    main()
