"""Holds what the start of a program loads, and what its first evaluations do: counted, never timed."""

import json
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lazyarray_llvm import ready

# What a program of small arrays has no use for, and what would take longer to import than lazyarray.
UNUSED = (
    "hashlib importlib.abc importlib.resources pathlib tempfile numpy.random llvmlite lazyarray_llvm "
    "lazyarray.runtime.execute lazyarray.runtime.interpret lazyarray.runtime.planning lazyarray.schedule "
    "lazyarray.passes"
).split()


def run_fresh(code: str, cache: Path | None = None) -> Any:
    """What a new process prints as JSON; the second line on runs after `import numpy`."""
    program = f"import sys, json, numpy\nbefore = set(sys.modules)\n{code}"
    environment = {"LAZYARRAY_CACHE_DIR": str(cache)} if cache is not None else {}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**environment, "PYTHONPATH": ":".join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_small_arrays_load_no_scheduler_and_no_backend() -> None:
    code = "import lazyarray as np\nx = np.arange(12.0).reshape(3, 4)\nx[1] += (x * 2.0).sum()\n"
    loaded = run_fresh(f"{code}print(json.dumps(sorted(set(sys.modules) - before)))")
    assert "lazyarray.frontend.array" in loaded
    assert not set(UNUSED).intersection(loaded)


def test_json_is_taught_when_a_program_imports_it() -> None:
    code = (
        "import sys\nimport lazyarray as np\nx = np.ones(9000) + 1\nunused = 'json' not in sys.modules\nimport json\n"
    )
    program = f"{code}print(json.dumps([unused, x.mean(), json.loads(json.dumps([x.mean()], indent=1))]))"
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [True, 2.0, [2.0]]


OBJECTS = """
import gc, sys, weakref
class Held: pass
held, lost = Held(), Held()
held.itself, lost.itself = held, lost
found, rounds = weakref.ref(lost), []
gc.callbacks.append(lambda phase, told: phase == "stop" and rounds.append(told["generation"]))
import lazyarray as np
np.zeros
older = [generation for generation in rounds if generation]
del lost
gc.collect()
mine = {id(one) for one in gc.get_objects()}
seen = [id(one) in mine for one in (held, globals(), sys.modules["__main__"])]
"""
# The Python form cannot set objects aside.
ASIDE = """
from lazyarray.native import COMPILED
right = (gc.get_freeze_count() > count + 5000) is bool(COMPILED)
"""


def test_modules_objects_are_set_aside_and_a_programs_garbage_is_still_found() -> None:
    told = run_fresh(f"{OBJECTS}count = 0\n{ASIDE}print(json.dumps([older, found() is None, seen, right]))")
    assert told == [[], True, [True] * 3, True]


def test_what_a_program_has_frozen_stays_frozen() -> None:
    code = "import gc\ngc.freeze()\ncount = gc.get_freeze_count()\nimport lazyarray as np\nnp.zeros\n"
    before, after, right = run_fresh(f"{code}{ASIDE}print(json.dumps([count, gc.get_freeze_count(), right]))")
    assert after >= 0.9 * before
    assert right


def test_nothing_is_set_aside_where_another_thread_may_make_objects() -> None:
    code = "import gc, threading\ndone = threading.Event()\nthreading.Thread(target=done.wait).start()\n"
    code += "count = gc.get_freeze_count()\nimport lazyarray as np\nnp.zeros\ndone.set()\n"
    before, after = run_fresh(f"{code}print(json.dumps([count, gc.get_freeze_count()]))")
    assert after <= before


# What a program leaves to Python: a file that nobody closes, and an object of a cycle that says when it goes.
LEFT = """
import sys
import {module} as np
file = open({path!r}, "w")
class Left:
    def __del__(self):
        sys.stderr.write("gone")
left = Left()
left.itself = left
def work(x):
    return np.sin(x) + x * 2
def rows(row):
    return work(row)[:2]
x = np.ones((3, 70_000))
for _ in range(4):
    x = work(x) * 0.1
x[x > 1.0] = 0.5
if np.__name__ == "lazyarray":
    {more}
file.write(repr(float(np.apply_along_axis(rows, 1, x).sum())))
"""
MORE = (
    "pass",
    "fast = np.jit(work); [fast(x) for _ in range(3)]",
    "str(np.explain(work(x)))",
    "exec('with np.record_runs() as runs: work(x).evaluate()')",
    "np.config.compile_at = 1; held = [work(x) for _ in range(3)]; np.evaluate(*held)",
    "pending = work(x); left.pending = pending",
)


@pytest.mark.parametrize("more", MORE)
def test_what_a_program_leaves_open_is_finalised_at_its_end(more: str, tmp_path: Path) -> None:
    environment = {"LAZYARRAY_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": ":".join(filter(None, sys.path))}
    told = []
    for module in ("numpy", "lazyarray"):
        file = tmp_path / module
        program = LEFT.format(module=module, path=str(file), more=more)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        told.append((done.stderr, float(file.read_text())))
    (said, number), (said_here, number_here) = told
    assert said == said_here == "gone"
    assert number_here == pytest.approx(number)


COUNT = """
from lazyarray_llvm import engine
counted = engine.counters()
emitters = {"llvmlite", "lazyarray_llvm.elementwise", "lazyarray_llvm.lower.emit"}
print(json.dumps([counted.compiles, counted.disk_hits, bool(emitters.intersection(sys.modules))]))
"""
IMAGES = sys.platform.startswith("linux") and platform.machine() == "x86_64"


def test_a_function_of_small_arrays_compiles_for_one_dtype_and_then_is_on_disk(tmp_path: Path) -> None:
    # Of float16: the loops of other dtypes may be ready since the package was installed.
    code = f"import lazyarray as np\nfor _ in range(3): np.exp(np.arange(5, dtype='f2'))\n{COUNT}"
    assert run_fresh(code, tmp_path) == [1, 0, True]
    assert run_fresh(code, tmp_path) == [0, 1, not IMAGES]


@pytest.mark.skipif(not ready._fit(ready.FOLDER), reason="no loops of these sources were compiled at installation")
def test_a_function_of_small_arrays_is_ready(tmp_path: Path) -> None:
    code = f"import lazyarray as np\nfor _ in range(3): np.exp(np.arange(5.0))\n{COUNT}"
    assert run_fresh(code, tmp_path) == [0, 0, False]


def test_the_first_evaluation_of_a_cheap_expression_needs_no_compiler(tmp_path: Path) -> None:
    code = "import lazyarray as np\nx = np.linspace(0.0, 1.0, 100_000)\nassert (x * 2.0 + np.sqrt(x)).sum() > 0\n"
    assert run_fresh(code + COUNT, tmp_path) == [0, 0, False]
    loaded = run_fresh(f"{code}print(json.dumps(sorted(sys.modules)))", tmp_path)
    assert not {"lazyarray.schedule", "lazyarray.runtime.execute", "lazyarray_llvm.threads"}.intersection(loaded)


COMPILED = """
import lazyarray as np
with np.config.set(compile_at=1):
    x = np.arange(1e6)
    assert (x * 2.0 + np.exp(-x)).sum() > 0
"""
# What an evaluation of kernels and plans that are on disk has no use for.
UNUSED_BY_EVALUATIONS = "hashlib _hashlib pathlib urllib.parse email tempfile lazyarray.runtime.saved".split()


def test_kernels_from_disk_run_without_what_only_dumps_and_other_digests_need(tmp_path: Path) -> None:
    code = COMPILED
    code += "print(json.dumps(sorted(set(sys.modules) - before)))"
    run_fresh(code, tmp_path)
    loaded = run_fresh(code, tmp_path)
    assert "lazyarray.runtime.execute" in loaded
    assert not set(UNUSED_BY_EVALUATIONS).intersection(loaded)


def test_kernels_from_disk_run_without_llvm(tmp_path: Path) -> None:
    code = COMPILED + COUNT
    compiles, disk_hits, loaded = run_fresh(code, tmp_path)
    assert compiles >= 2
    assert (disk_hits, loaded) == (0, True)
    assert run_fresh(code, tmp_path) == [0, compiles, not IMAGES]


FAULTS = """
from resource import RUSAGE_SELF, getrusage
import {module} as np
x = np.ones((200, 200))
def step():
    return (x * 0.5 + x) * x - x / (x + 1.0)
for _ in range(10): step()
first = getrusage(RUSAGE_SELF).ru_minflt
for _ in range(50): step()
print(json.dumps(getrusage(RUSAGE_SELF).ru_minflt - first))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc that gives freed memory back")
def test_temporaries_of_small_arrays_touch_the_pages_of_those_before(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    pages = 200 * 200 * 8 // 4096
    assert run_fresh(FAULTS.format(module="numpy")) > 50 * pages  # else nothing is shown here
    assert run_fresh(FAULTS.format(module="lazyarray")) < pages
