"""What a loop costs over its kernels: `python -m benchmarks.loops [--quick]`.

A body of 20 operations on two 100x100 arrays, evaluated in each turn: recorded each time, and under `jit`; then a `jit`
of two operations on two elements, which is all cost of the call. Kernels' own time is the least that `record_runs` saw.
Figures are the least of all rounds: whatever else the machine does only adds.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import lazyarray as np
from benchmarks import harness

SIDE, OPERATIONS = 100, 20
TURNS, ROUNDS = 20, 400


def body(u: Any, v: Any) -> tuple[Any, Any]:
    """Twenty operations that fuse into one kernel."""
    a = u * 0.9 + v * 0.1
    b = a - v * 0.3
    c = b * b + a
    d = (c - u) * 0.5
    e = d * 0.1 + a * 0.2
    f = e - b * 0.25
    g = f * 0.5 + u * 0.3
    return (g - f * 0.1) * 0.5, g * 0.5


def recorded(u: Any, v: Any) -> tuple[Any, Any]:
    found = body(u, v)
    np.evaluate(*found)
    return found


def least(step: Callable[[], object], rounds: int) -> float:
    """Microseconds of a turn."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(TURNS):
            step()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times) / TURNS


def kernel_time(step: Callable[[], object], rounds: int) -> float:
    """Microseconds of the kernels of a turn."""
    seconds = []
    for _ in range(rounds):
        with np.record_runs() as runs:
            step()
        seconds.append(sum(run.seconds for run in runs.kernels))
    return 1e6 * min(seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 100 if parser.parse_args().quick else ROUNDS
    replayed, tiny = np.jit(body), np.jit(lambda x: x * 2.0 + 1.0)
    rows = []
    with np.config.set(eager_below=0):
        u, v = np.full((SIDE, SIDE), 0.5), np.full((SIDE, SIDE), 0.2)
        x = np.array([1.0, 2.0])
        np.evaluate(u, v, x)
        steps: dict[str, Callable[[], object]] = {
            f"{OPERATIONS} operations, recorded each turn": lambda: recorded(u, v),
            f"{OPERATIONS} operations under jit": lambda: replayed(u, v),
            "2 operations on 2 elements under jit": lambda: tiny(x),
        }
        for name, step in steps.items():
            step()
            step()
            turn, kernels = least(step, rounds), kernel_time(step, rounds)
            rows.append([name, f"{turn:.1f}", f"{kernels:.1f}", f"{turn - kernels:.1f}"])
        recording = least(lambda: body(u, v), rounds)
    rows.append([f"of the first: recording {OPERATIONS} operations", f"{recording:.1f}", "", ""])
    harness.print_table(("turn", "us", "kernels us", "over us"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
