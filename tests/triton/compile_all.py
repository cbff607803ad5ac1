"""Compiles all kernels that the interpreted tests launch, for several GPUs, none of which is needed.

python -m tests.triton.compile_all [--targets 80,90,100] [--jobs N] [pytest's options ...]

CI compiles a share of them (`compile_kernels.py`): all of them take too long there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lazyarray_triton.emit import emit

ROOT = Path(__file__).resolve().parents[2]


def compile_one(job: tuple[Any, tuple[int, ...]]) -> tuple[int, list[str]]:
    """Bytes of the cubins of a variant for some targets, and what went wrong."""
    from lazyarray_triton.compiler import compile_job
    from lazyarray_triton.jobs import job_of

    (kernel, form, watched, made), targets = job
    source = emit(kernel, form, watched)
    size, wrong = 0, []
    for target in targets:
        try:
            size += len(compile_job(job_of(source, made, target)).cubin)
        except Exception as error:
            wrong.append(f"sm_{target} {made.function}: {type(error).__name__}: {error}\n{source.text}")
    return size, wrong


def collect(options: list[str]) -> list[Any]:
    """The variants that the tests launch."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {**os.environ, "LAZYARRAY_COLLECT": folder}
        settings["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
        command = [sys.executable, *"-m pytest -q -p tests.triton.collecting".split(), *(options or ["tests/triton"])]
        if subprocess.run(command, cwd=ROOT, env=settings, check=False).returncode:
            raise SystemExit("the tests fail")
        found = [pickle.loads(path.read_bytes()) for path in Path(folder).glob("*.pickle")]
    return list({(kernel, form, watched, made): None for part in found for kernel, form, watched, made in part})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.triton.compile_all", description=__doc__)
    parser.add_argument("--targets", default="80,90,100")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given, options = parser.parse_known_args()
    targets = tuple(int(target) for target in given.targets.split(","))
    variants = collect(options)
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        results = pool.map(compile_one, [(variant, targets) for variant in variants], chunksize=4)
    wrong = [text for _, texts in results for text in texts]
    for text in wrong[:10]:
        print(text)
    kernels = len({variant[0] for variant in variants})
    print(
        f"{len(variants)} variants of {kernels} kernels for {', '.join(f'sm_{t}' for t in targets)}: "
        f"{sum(size for size, _ in results) >> 20} MiB in {time.perf_counter() - start:.0f} s, {len(wrong)} failed"
    )
    return int(bool(wrong) or not variants)


if __name__ == "__main__":
    sys.exit(main())
