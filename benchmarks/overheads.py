"""Owns the figures that are no workload: import, first compile, recording, and arrays of ten elements."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

# With a first use, so that nothing is hidden by importing it later.
IMPORT = "import time; t = time.perf_counter(); import {} as np; np.zeros(3) + 1; print(time.perf_counter() - t)"
LOADED = "backend.current().warm()"
FIRST_KERNEL = """
import time
import numpy
import lazyarray as np
from lazyarray.runtime import backend
{}
x, y = np.asarray(numpy.linspace(0.0, 1.0, 1 << 18)), np.asarray(numpy.linspace(1.0, 2.0, 1 << 18))
np.evaluate(x, y)
def run():
    z = np.maximum((np.sin(x) * np.cos(y) + x) * y, 0)
    start = time.perf_counter()
    np.evaluate(z)
    return time.perf_counter() - start
first = run()
print(first - min(run() for _ in range(5)))
"""
RECORDED_OPS = 60


def run_fresh(source: str, **environment: str) -> float:
    """The number that a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={**{k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def measure_import(rounds: int) -> float:
    """Milliseconds that importing and first using lazyarray takes over NumPy, in fresh processes turn by turn."""
    times: dict[str, list[float]] = {"numpy": [], "lazyarray": []}
    for turn in range(rounds + 1):
        for name, seconds in times.items():
            value = run_fresh(IMPORT.format(name))
            if turn > 0:  # the first turn fills the system's file cache
                seconds.append(value)
    return 1e3 * (statistics.median(times["lazyarray"]) - statistics.median(times["numpy"]))


def measure_first_kernel(rounds: int, *, loaded: bool) -> float:
    """Milliseconds that the first kernel takes over the same kernel once compiled; empty disk cache.

    `loaded`: LLVM is loaded and the threads are made before the clock starts.
    """
    times = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            source = FIRST_KERNEL.format(LOADED if loaded else "")
            times.append(run_fresh(source, LAZYARRAY_CACHE_DIR=folder, LAZYARRAY_COMPILE_AT="1"))
    return 1e3 * statistics.median(times)


def measure_recording(lazy: Any, rounds: int) -> float:
    """Microseconds per recorded operation, on arrays that are large enough to be recorded."""
    x, y = lazy.asarray(np.ones(1 << 20)), lazy.asarray(np.ones(1 << 20))
    lazy.evaluate(x, y)
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        z = x
        for _ in range(RECORDED_OPS // 3):
            z = (z + y) * x - y
        times.append((time.perf_counter() - start) / RECORDED_OPS)
        del z
    return 1e6 * statistics.median(times)


SMALL_CALLS: tuple[tuple[str, Callable[[Any, Any, Any], object]], ...] = (
    ("a + b", lambda np, a, b: a + b),
    ("a * 2.0", lambda np, a, b: a * 2.0),
    ("a < b", lambda np, a, b: a < b),
    ("np.add(a, b)", lambda np, a, b: np.add(a, b)),
    ("np.sqrt(a)", lambda np, a, b: np.sqrt(a)),
    ("np.exp(a)", lambda np, a, b: np.exp(a)),
    ("np.where(True, a, b)", lambda np, a, b: np.where(True, a, b)),
    ("a.sum()", lambda np, a, b: a.sum()),
    ("a.max()", lambda np, a, b: a.max()),
    ("a[2:8]", lambda np, a, b: a[2:8]),
    ("a[3]", lambda np, a, b: a[3]),
    ("a.reshape(2, 5)", lambda np, a, b: a.reshape(2, 5)),
    ("np.zeros(10)", lambda np, a, b: np.zeros(10)),
)


def measure_small_arrays(lazy: Any, repeats: int) -> dict[str, float]:
    """Time over NumPy's of single calls on ten elements."""
    left, right = np.linspace(0.5, 1.5, 10), np.linspace(1.0, 2.0, 10)
    lazy_left, lazy_right = lazy.asarray(left), lazy.asarray(right)
    ratios = {}
    for name, call in SMALL_CALLS:
        plain, ours = [], []
        for _ in range(9):
            plain.append(time_loop(call, np, left, right, repeats))
            ours.append(time_loop(call, lazy, lazy_left, lazy_right, repeats))
        ratios[name] = statistics.median(ours) / statistics.median(plain)
    return ratios


def time_loop(call: Callable[[Any, Any, Any], object], np: Any, a: Any, b: Any, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call(np, a, b)
    return time.perf_counter() - start
