"""Owns the GPU benchmark: kernels of recorded programs beside CuPy, torch.compile and jax.jit, on one device.

python -m benchmarks.gpu [--only NAME] [--skip NAME] [--no-peers] [--sweep] [--json FILE]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import cupy
import numpy

from benchmarks.gpu_plans import DevicePlan, Recorded
from benchmarks.gpu_workloads import JAX_FORMS, TINY, WORKLOADS, GpuWorkload, Input
from benchmarks.harness import format_table
from lazyarray.schedule.plan import KernelStep
from lazyarray_cupy.driver import CupyDriver
from lazyarray_triton import model, workers
from lazyarray_triton.cubins import Cubins
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.sources import Sources

ROTATED_BYTES = 1 << 30  # so much lies between two uses of the same memory: many times what caches hold
BATCH = 16  # launches that are queued before the first of them begins
CALLS = 2000
LOADS = 5

Call = Callable[[int], object]

# Keeps the GPU busy while the host queues launches, so that intervals between events hold no host time.
WAIT = r"""extern "C" __global__ void wait(long long cycles) {
    for (long long start = clock64(); clock64() - start < cycles;) { }
}"""


class Clock:
    """Times on the GPU."""

    def __init__(self) -> None:
        self._wait = cupy.RawKernel(WAIT, "wait")
        self._cycles_per_second = cupy.cuda.Device().attributes.get("ClockRate", 2_000_000) * 1000

    def device_time(self, call: Call, batches: int = 8, ahead: int = 3) -> float:
        """Median seconds of a call on the GPU, by events around each of many, after so many `ahead`."""
        for turn in range(ahead):
            call(turn)
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        for turn in range(BATCH):
            call(turn)
        queued = time.perf_counter() - start
        cupy.cuda.Device().synchronize()
        times: list[float] = []
        for _ in range(batches):
            events = [cupy.cuda.Event() for _ in range(BATCH + 1)]
            self._wait((1,), (1,), (int(min(2 * queued + 5e-4, 0.2) * self._cycles_per_second),))
            events[0].record()
            for turn in range(BATCH):
                call(turn)
                events[turn + 1].record()
            events[-1].synchronize()
            times += [cupy.cuda.get_elapsed_time(a, b) / 1000 for a, b in pairwise(events)]
        return statistics.median(times)


def wall_time(call: Call, finish: Callable[[object], object], calls: int = 40) -> float:
    """Median seconds of a call in a row of asynchronous ones, for libraries with streams of their own."""
    finish(call(0))
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for turn in range(calls):
            last = call(turn)
        finish(last)
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


def make_input(wanted: Input, seed: int) -> Any:
    draw = cupy.random.RandomState(seed)
    dtype = numpy.dtype(wanted.dtype)
    if dtype.kind == "i":
        return draw.randint(int(wanted.low), int(wanted.high), wanted.shape).astype(dtype)
    numbers = draw.random_sample(wanted.shape, numpy.float32 if dtype.itemsize <= 4 else numpy.float64)
    numbers = numbers * (wanted.high - wanted.low) + wanted.low
    if dtype.kind == "c":
        other = draw.random_sample(wanted.shape, numpy.float32) * (wanted.high - wanted.low) + wanted.low
        return (numbers + 1j * other).astype(dtype)
    return numbers.astype(dtype)


def make_sets(workload: GpuWorkload) -> list[list[Any]]:
    count = max(2, min(8, -(-ROTATED_BYTES // max(workload.moved, 1 << 20))))
    return [[make_input(i, 10 * n + k) for k, i in enumerate(workload.inputs)] for n in range(count)]


def copy_bandwidth(clock: Clock) -> float:
    """Bytes read and written per second by a copy of 2 GiB."""
    source, target = cupy.ones(1 << 29, numpy.float32), cupy.empty(1 << 29, numpy.float32)
    seconds = clock.device_time(lambda turn: target.data.copy_from_device_async(source.data, source.nbytes, STREAM))
    return 2 * source.nbytes / seconds  # type: ignore[no-any-return]


STREAM = cupy.cuda.Stream.null


def distance(got: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest difference, as a share of the largest value."""
    worst = 0.0
    for a, b in zip(got, wanted, strict=True):
        b = cupy.asarray(b).reshape(a.shape)
        if a.dtype != b.dtype:
            raise ValueError(f"{a.dtype} where CuPy has {b.dtype}")
        wide = numpy.complex128 if a.dtype.kind == "c" else numpy.float64
        a, b = a.astype(wide), b.astype(wide)
        same = (a == b) | (cupy.isnan(a) & cupy.isnan(b))
        apart = cupy.where(same, 0, cupy.abs(a - b))
        scale = float(cupy.abs(cupy.where(cupy.isfinite(b), b, 0)).max())
        worst = max(worst, float(apart.max()) / max(scale, 1e-300))
    return worst


def peers(workload: GpuWorkload, sets: list[list[Any]], clock: Clock) -> Iterator[tuple[str, float | str]]:
    """Times of the same program in other libraries; text where one fails."""
    count = len(sets)

    def cupy_eager() -> float:
        return clock.device_time(lambda turn: workload.run(cupy, *sets[turn % count]), 3)

    def torch_compiled() -> float:
        torch = import_module("torch")

        given = [[torch.from_dlpack(a) for a in arrays] for arrays in sets]
        torch._dynamo.reset()  # one code object may be compiled eight times only
        compiled = torch.compile(lambda *arrays: workload.torch(torch, *arrays), dynamic=False)
        return clock.device_time(lambda turn: compiled(*given[turn % count]))

    def jax_jitted() -> float:
        jax = import_module("jax")

        jax.config.update("jax_enable_x64", True)
        given = [[jax.dlpack.from_dlpack(a) for a in arrays] for arrays in sets]
        form = JAX_FORMS.get(workload.name, workload.run)
        jitted = jax.jit(lambda *arrays: form(jax.numpy, *arrays))
        return wall_time(lambda turn: jitted(*given[turn % count]), jax.block_until_ready)

    for name, measure in (("CuPy", cupy_eager), ("torch.compile", torch_compiled), ("jax.jit", jax_jitted)):
        try:
            yield name, measure()
        except Exception as error:
            yield name, f"{type(error).__name__}: {error}"[:300]
        cupy.get_default_memory_pool().free_all_blocks()


def neighbours(guess: model.Guess, line: bool) -> Iterator[model.Guess]:
    """Other blocks, warps and numbers of segments than the model's."""
    b = guess.blocks
    shapes = [(b.x, b.y)]
    if line and guess.form == "tile" and b.y <= 1024:
        shapes += [(1, b.y // 2), (1, b.y * 2)]
    elif guess.form == "tile" and b.y <= 1024:
        shapes += [(1, 512), (2, 256), (2, 512), (4, 128), (4, 256), (8, 128), (16, 64), (32, 32), (64, 64)]
    elif guess.form != "tile":
        shapes += [(max(1, b.x // 2), b.y), (b.x * 2, b.y), (b.x, b.y * 2), (b.x, max(32, b.y // 2))]
    for x, y in shapes:
        for warps in (b.warps // 2, b.warps, b.warps * 2):
            if not 1 <= warps <= 32:
                continue
            blocks = model.Blocks(x, y, warps)
            together = blocks if guess.together == guess.blocks else guess.together
            if guess.segments == 1:
                yield dataclasses.replace(guess, blocks=blocks, together=together)
                continue
            for segments in (guess.segments // 2, guess.segments, guess.segments * 2):
                length = -(-guess.segments * guess.length // segments)
                step = x if guess.together.y < guess.together.x else y
                length = -(-length // step) * step
                count = -(-guess.segments * guess.length // length)
                if guess.together.x * guess.together.y < 1 << 16 and count >= 2:
                    wide = model.power_of_two(count)
                    rows = guess.together.x >= guess.segments
                    other = dataclasses.replace(guess.together, **({"x": wide} if rows else {"y": wide}))
                    yield dataclasses.replace(guess, blocks=blocks, together=other, segments=count, length=length)


def sweep(recorded: Recorded, launcher: Launcher, sets: list[list[Any]], clock: Clock) -> list[Any]:
    """Times of one kernel's program with other guesses, the fastest first."""
    (step,) = [s for s in recorded.plan.steps if isinstance(s, KernelStep)]
    first = model.guess(step.kernel, step.extents, launcher.driver.multiprocessors)
    found = []
    for guess in {g: None for g in neighbours(first, len(step.extents) == 1)}:
        try:
            plan = DevicePlan(recorded, launcher, cupy, sets, {0: guess})
            found.append((round(1e6 * clock.device_time(plan, 3), 1), str(guess), guess == first))
        except Exception as error:
            found.append((1e9, f"{guess}: {type(error).__name__} {error}"[:200], guess == first))
    return sorted(found)


def measure(workload: GpuWorkload, clock: Clock, bandwidth: float, arguments: argparse.Namespace) -> dict[str, Any]:
    """One row: what the program takes, how far from CuPy's results it is, what others take."""
    row: dict[str, Any] = {"name": workload.name, "floor": workload.moved / bandwidth, "share": workload.share}
    sets = make_sets(workload)
    recorded = Recorded(workload.run, [(i.shape, i.dtype) for i in workload.inputs])
    with tempfile.TemporaryDirectory() as folder:
        cubins, stored = Cubins(Path(folder)), Sources(Path(folder))
        start = time.perf_counter()
        plan = DevicePlan(recorded, Launcher(CupyDriver(), cubins, stored=stored), cupy, sets[:1])
        row["cold"] = time.perf_counter() - start
        loads = []
        for _ in range(LOADS + 1):
            start = time.perf_counter()
            launcher = Launcher(CupyDriver(), Cubins(Path(folder)), stored=Sources(Path(folder)))
            DevicePlan(recorded, launcher, cupy, sets[:1])
            loads.append(time.perf_counter() - start)
        row["warm"] = statistics.median(loads[1:])  # the first takes memory for results from the driver
    row["forms"] = [p.source.form for p in plan.prepared]
    plan(0)
    wanted = workload.run(cupy, *[a.copy() for a in sets[0]])
    row["distance"] = distance(plan.outputs[0], wanted)
    del wanted
    first = [o.copy() for o in plan.outputs[0]]
    plan(0)
    row["repeats"] = all(bool((a.view(numpy.uint8) == b.view(numpy.uint8)).all()) for a, b in zip(
        [f.reshape(-1) for f in first], [o.reshape(-1) for o in plan.outputs[0]], strict=True))  # fmt: skip
    plan = DevicePlan(recorded, launcher, cupy, sets)
    row["time"] = clock.device_time(plan)
    row["again"] = clock.device_time(plan)
    if arguments.sweep and len(plan.prepared) == 1:
        row["sweep"] = sweep(recorded, launcher, sets, clock)[:12]
    if not arguments.no_peers:
        row |= peers(workload, sets, clock)
    return row


def measure_host() -> dict[str, Any]:
    """Host seconds of a call on arrays that the GPU is done with sooner."""
    row: dict[str, Any] = {"name": TINY.name}
    sets = [[make_input(i, k) for k, i in enumerate(TINY.inputs)]]
    recorded = Recorded(TINY.run, [(i.shape, i.dtype) for i in TINY.inputs])
    plan = DevicePlan(recorded, Launcher(CupyDriver()), cupy, sets)

    def wait(_: object) -> None:
        cupy.cuda.Device().synchronize()

    row["kernels"] = len(plan.prepared)
    row["time"] = wall_time(plan, wait, CALLS)
    row["CuPy"] = wall_time(lambda turn: TINY.run(cupy, *sets[0]), wait, CALLS // 4)
    try:
        torch = import_module("torch")

        given = [torch.from_dlpack(a) for a in sets[0]]
        compiled = torch.compile(lambda *arrays: TINY.torch(torch, *arrays), dynamic=False)
        row["torch.compile"] = wall_time(lambda turn: compiled(*given), wait, CALLS // 4)
    except Exception as error:
        row["torch.compile"] = f"{type(error).__name__}: {error}"[:300]
    try:
        jax = import_module("jax")

        inputs = [jax.dlpack.from_dlpack(a) for a in sets[0]]
        jitted = jax.jit(lambda *arrays: TINY.run(jax.numpy, *arrays))
        row["jax.jit"] = wall_time(lambda turn: jitted(*inputs), jax.block_until_ready, CALLS // 4)
    except Exception as error:
        row["jax.jit"] = f"{type(error).__name__}: {error}"[:300]
    return row


def describe() -> dict[str, str]:
    """The GPU and the versions that the figures depend on."""
    from importlib.metadata import PackageNotFoundError, version

    runtime = cupy.cuda.runtime
    found = {"gpu": runtime.getDeviceProperties(0)["name"].decode(), "cuda driver": str(runtime.driverGetVersion())}
    found["cuda runtime"] = str(runtime.runtimeGetVersion())
    for name in ("triton", "cupy-cuda13x", "cupy-cuda12x", "numpy", "torch", "jax"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def micro(value: Any) -> str:
    return f"{1e6 * value:.1f}" if isinstance(value, float) else "-"


def table(rows: Sequence[dict[str, Any]]) -> str:
    header = ["workload", "floor us", "lazyarray us", "of copy", "wanted"]
    header += ["CuPy us", "torch.compile us", "jax.jit us", "from CuPy's"]
    lines = []
    for row in rows:
        if "error" in row:
            lines.append([row["name"], *["-"] * 7, row["error"][:60]])
            continue
        of_copy = f"{row['floor'] / row['time']:.0%}" if row.get("floor") else "-"
        wanted = f"{row['share']:.0%}" if row.get("share") else "-"
        peers_ = [micro(row.get(p)) for p in ("CuPy", "torch.compile", "jax.jit")]
        apart = f"{row['distance']:.0e}" if row.get("distance") else "exact" if "distance" in row else "-"
        lines.append([row["name"], micro(row.get("floor")), micro(row["time"]), of_copy, wanted, *peers_, apart])
    return format_table(header, lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--skip", default="")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    workers.expect()  # as opening the device does where nothing was ever compiled
    clock = Clock()
    bandwidth = copy_bandwidth(clock)
    report: dict[str, Any] = {"machine": describe(), "copy": bandwidth, "rows": []}
    wrong = False
    for workload in WORKLOADS:
        if arguments.only not in workload.name or (arguments.skip and arguments.skip in workload.name):
            continue
        try:
            row = measure(workload, clock, bandwidth, arguments)
            wrong |= row["distance"] > workload.tolerance or not row["repeats"]
        except Exception as error:
            row, wrong = {"name": workload.name, "error": f"{type(error).__name__}: {error}"[:600]}, True
        report["rows"].append(row)
        cupy.get_default_memory_pool().free_all_blocks()
        print(json.dumps(row), flush=True)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(report, indent=1))
    if arguments.only in TINY.name:
        report["rows"].append(measure_host())
        print(json.dumps(report["rows"][-1]))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1))
    print(report["machine"], f"copy {bandwidth / 1e12:.2f} TB/s")
    print(table(report["rows"]))
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
