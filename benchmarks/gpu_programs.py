"""Owns the benchmark of whole programs on a GPU: NumPy's text through lazyarray, beside CuPy and the host.

python -m benchmarks.gpu_programs [--only NAME] [--programs NAME,NAME...]

Unlike `benchmarks.gpu`, which prepares kernels by hand, everything is in a time here: recording, plans, launches.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import cupy
import numpy

import lazyarray
from benchmarks import program
from benchmarks.gpu import Clock, copy_bandwidth, make_sets, wall_time
from benchmarks.gpu_workloads import LIBRARY, TINY, WORKLOADS, GpuWorkload
from benchmarks.harness import format_table
from lazyarray.config import config

PROGRAMS = (
    "gray_scott", "shallow_water", "lattice_boltzmann", "horizontal_diffusion", "heat_3d", "lenet", "k_means", "pca",
    "transformer_layer", "monte_carlo_paths", "nbody", "spectral_turbulence",
)  # fmt: skip
CALLS = 1000
AHEAD = 200  # calls after which plans that come again, with several sets of memory in turn, are queued as graphs


def on_device(workload: GpuWorkload, arrays: list[Any]) -> None:
    """Evaluates what the program gives; results stay on the device."""
    lazyarray.evaluate(*workload.run(lazyarray, *arrays))


def measure(workload: GpuWorkload, clock: Clock, bandwidth: float) -> list[str]:
    """One row: time on the GPU with and without a look at floating-point errors, and CuPy's."""
    sets = make_sets(workload)
    given = [[lazyarray.asarray(array, copy=True) for array in arrays] for arrays in sets]
    count = len(sets)
    with numpy.errstate(all="ignore"):
        quiet = clock.device_time(lambda turn: on_device(workload, given[turn % count]), ahead=AHEAD)
    watched = clock.device_time(lambda turn: on_device(workload, given[turn % count]), ahead=AHEAD)
    eager = clock.device_time(lambda turn: workload.run(cupy, *sets[turn % count]), 3)
    floor = workload.moved / bandwidth
    times = [f"{seconds * 1e6:.1f}" for seconds in (floor, quiet, watched, eager)]
    return [workload.name, *times, f"{floor / quiet:.0%}"]


def host_time(call: Callable[[], Any]) -> float:
    """Seconds of host time of a call in a row of asynchronous ones."""
    for _ in range(100):
        call()
    cupy.cuda.Device().synchronize()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS)
        cupy.cuda.Device().synchronize()
    return statistics.median(times)


def measure_host() -> list[list[str]]:
    """Host time of small programs."""

    def product_softmax(np: Any, x: Any) -> Any:
        y = x @ x
        e = np.exp(y - y.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def chain(np: Any, x: Any, y: Any) -> Any:
        return TINY.run(np, x, y)[0]

    rows = []
    for size in (1024, 8192):
        arrays = [cupy.random.random(size).astype(numpy.float32) for _ in range(2)]
        given = [lazyarray.asarray(array, copy=True) for array in arrays]
        rows.append([f"10 operations on {size} float32", *host_times(chain, given, arrays)])
    square = cupy.random.random((100, 100)).astype(numpy.float32)
    given = [lazyarray.asarray(square, copy=True)]
    rows.append(["matmul and softmax, 100 x 100", *host_times(product_softmax, given, [square])])
    return rows


def host_times(run: Callable[..., Any], given: list[Any], arrays: list[Any]) -> list[str]:
    """Host microseconds of one call: under `jit`, recorded each time, and both without a look at errors; CuPy's."""
    times = []
    for errors in ("warn", "ignore"):
        with numpy.errstate(all=errors, under="ignore"):
            replayed = lazyarray.jit(lambda *given: run(lazyarray, *given))
            times.append(host_time(lambda: replayed(*given)))  # noqa: B023
            times.append(host_time(lambda: lazyarray.evaluate(run(lazyarray, *given))))
    times.append(host_time(lambda: run(cupy, *arrays)))
    try:
        jax = import_module("jax")
        inputs = [jax.dlpack.from_dlpack(array) for array in arrays]
        jitted = jax.jit(lambda *inputs: run(jax.numpy, *inputs))
        times.append(host_time(lambda: jitted(*inputs)))
    except Exception:
        times.append(0.0)
    return [f"{1e6 * seconds:.1f}" if seconds else "" for seconds in times]


def measure_library(workload: GpuWorkload, clock: Clock, bandwidth: float) -> list[str]:
    """One row of library calls: lazyarray, CuPy, jax.jit."""
    sets = make_sets(workload)
    given = [[lazyarray.asarray(array, copy=True) for array in arrays] for arrays in sets]
    count = len(sets)
    ours = clock.device_time(lambda turn: on_device(workload, given[turn % count]), 3, AHEAD)
    eager = clock.device_time(lambda turn: workload.run(cupy, *sets[turn % count]), 3)
    row = [workload.name, *[f"{seconds * 1e6:.1f}" for seconds in (workload.moved / bandwidth, ours, eager)]]
    try:
        if not workload.jax:
            return [*row, ""]
        jax = import_module("jax")
        inputs = [[jax.dlpack.from_dlpack(array) for array in arrays] for arrays in sets]
        options = {"length": 1024} if workload.run.__name__ == "counts" else {}
        jitted = jax.jit(lambda *arrays: workload.run(jax.numpy, *arrays))
        if options:
            jitted = jax.jit(lambda x: (jax.numpy.bincount(x, **options),))
        seconds = wall_time(lambda turn: jitted(*inputs[turn % count]), jax.block_until_ready)
        return [*row, f"{seconds * 1e6:.1f}"]
    except Exception:
        return [*row, ""]


def time_side(side: program.Side) -> float:
    """Median milliseconds of a run."""
    side.run(side.copy_arguments())
    times = []
    for _ in range(5):
        arguments = side.copy_arguments()
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        results = side.run(arguments)
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
        del results
    return 1000 * statistics.median(times)


def measure_program(name: str, size: str) -> list[str]:
    """One of `benchmarks/programs`, unmodified: NumPy, lazyarray on the CPU, and on the GPU."""
    plain = program.prepare(name, "numpy", size)
    tolerance = max(getattr(plain.module, "TOLERANCE", program.TOLERANCE), 1e-9)
    row = [name, f"{time_side(plain):.2f}"]
    expected = plain.run(plain.copy_arguments())
    for device in ("cpu", "cuda"):
        lazyarray.set_device(device)
        side = program.prepare(name, "lazyarray", size)
        row.append(f"{time_side(side):.2f}")
    with lazyarray.record_runs() as runs:
        got = side.run(side.copy_arguments())
    travelled = sum(t.nbytes for t in runs.transfers) / 2**20
    difference = program.find_difference(expected, got, tolerance)
    return [*row, str(len(runs.kernels)), str(sum(runs.fallbacks.values())), f"{travelled:.1f}", difference or "equal"]


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_programs", description=__doc__)
    parser.add_argument("--only", default="", help="only workloads whose name holds this; - for none")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="which of benchmarks/programs; - for none")
    parser.add_argument("--size", default="large", choices=("small", "large"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    config.device = "cuda"
    if options.only != "-":
        clock = Clock()
        bandwidth = copy_bandwidth(clock)
        print(f"copy {bandwidth / 1e12:.2f} TB/s", flush=True)
        head = ["workload", "floor us", "lazyarray us", "errors looked for us", "CuPy us", "of a copy"]
        rows = []
        for workload in WORKLOADS:
            if options.only in workload.name:
                rows.append(measure(workload, clock, bandwidth))
                print(rows[-1], flush=True)
                cupy.get_default_memory_pool().free_all_blocks()
        print(format_table(head, rows))
        rows = []
        for workload in LIBRARY:
            if options.only in workload.name:
                rows.append(measure_library(workload, clock, bandwidth))
                cupy.get_default_memory_pool().free_all_blocks()
        print(format_table(["workload", "floor us", "lazyarray us", "CuPy us", "jax.jit us"], rows), flush=True)
        head = ["host us of a call", "jit", "evaluate", "jit, quiet", "evaluate, quiet", "CuPy", "jax.jit"]
        print(format_table(head, measure_host()), flush=True)
    if options.programs != "-":
        rows = []
        for name in options.programs.split(","):
            try:
                rows.append(measure_program(name, options.size))
            except Exception as error:
                rows.append([name, f"{type(error).__name__}: {error}"[:200], *[""] * 6])
            print(rows[-1], flush=True)
        head = ["program", "NumPy ms", "CPU ms", "GPU ms", "kernels", "fallbacks", "MiB moved", "results"]
        print(format_table(head, rows))


if __name__ == "__main__":
    main()
