"""What a plan will run is compiled on other threads: the same code, the same errors, no harm at forks and exits."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import lazyarray as la
from lazyarray_llvm import codegen, threads
from lazyarray_llvm.background import Background
from lazyarray_llvm.codegen import ObjectCode
from lazyarray_llvm.engine import Engine, EngineError
from tests.backends.test_engine import ADD, ENVIRONMENT, vector_ir

SEVERAL = pytest.mark.skipif(threads.get_pool().nthreads < 2, reason="needs a second thread")


def code_of(number: int) -> ObjectCode:
    return ObjectCode(bytes([number]), [])


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(cache_root=tmp_path / "cache")


def texts(count: int) -> list[str]:
    return [vector_ir(8).replace("@axpb", f"@axpb{number}") for number in range(count)]


def test_code_made_on_many_threads_is_that_made_on_one(engine: Engine) -> None:
    alone = [engine.generator.generate(engine.generator.parse(text, "alone")) for text in texts(40)]
    found: dict[int, ObjectCode] = {}

    def make(first: int) -> None:
        for number in range(first, 40, 4):
            found[number] = engine.generator.generate(engine.generator.parse(texts(40)[number], "beside"))

    beside = [threading.Thread(target=make, args=(first,)) for first in range(4)]
    for thread in beside:
        thread.start()
    for thread in beside:
        thread.join()
    assert [found[number] for number in range(40)] == alone


def test_what_is_expected_is_compiled_once_and_by_another_thread(engine: Engine) -> None:
    for number, text in enumerate(texts(6)):
        engine.expect(text, "expected", f"k{number}", threads=2)
    modules = [engine.compile_ir(text, "expected", f"k{number}") for number, text in enumerate(texts(6))]
    assert all(module.address(f"axpb{number}") for number, module in enumerate(modules))
    assert engine.counters.compiles == 6
    assert engine.compile_ir("never read", "expected", "k3") is modules[3]


def test_bad_ir_is_told_as_when_it_is_compiled_at_once(engine: Engine) -> None:
    with pytest.raises(EngineError, match="module 'bad'"):
        engine.expect("define i64 @f( {", "bad", "bad", threads=1)
    assert engine.compile_ir(ADD, "good", "bad").address("add")


def test_who_wants_what_nobody_has_begun_does_it_himself() -> None:
    background = Background()
    background.submit("a", lambda: code_of(1), threads=0)
    assert background.take("a") == code_of(1)
    assert background.take("a") is None
    assert background.take("b") is None


def test_who_waits_does_other_work_and_gets_its_own() -> None:
    background, begun, go_on, done_by = Background(), threading.Event(), threading.Event(), []

    def slow() -> ObjectCode:
        begun.set()
        assert go_on.wait(60)
        return code_of(1)

    def other() -> ObjectCode:
        done_by.append(threading.current_thread())
        go_on.set()
        return code_of(2)

    background.submit("slow", slow, threads=1)
    assert begun.wait(60)
    background.submit("other", other, threads=1)
    assert background.take("slow") == code_of(1)
    assert background.take("other") == code_of(2)
    assert done_by == [threading.current_thread()]


def test_an_error_on_another_thread_is_raised_where_the_code_is_wanted() -> None:
    background, begun = Background(), threading.Event()

    def fail() -> ObjectCode:
        begun.set()
        raise EngineError("told")

    background.submit("a", fail, threads=1)
    assert begun.wait(60)
    with pytest.raises(EngineError, match="told"):
        background.take("a")
    background.submit("b", lambda: code_of(2), threads=1)
    assert background.take("b") == code_of(2)


def test_a_stopped_background_waits_for_what_has_begun_only() -> None:
    background, begun, done = Background(), threading.Event(), []

    def work() -> ObjectCode:
        begun.set()
        done.append(1)
        return code_of(1)

    background.submit("a", work, threads=1)
    assert begun.wait(60)
    background.stop()
    assert done == [1]
    assert background.take("a") is None


@SEVERAL
def test_the_kernels_of_a_plan_are_compiled_on_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []
    generate = codegen.Generator.generate

    def noted(self: codegen.Generator, *args: object, **options: object) -> ObjectCode:
        used.append(threading.current_thread().name)
        return generate(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(codegen.Generator, "generate", noted)
    x = np.linspace(0.1, 1.0, 120_000)
    lazy = [(la.array(x[: 90_000 + 10 * k]) * 1.25 + k).cumsum() ** 1.75 - 0.123456789 for k in range(5)]
    with la.record_runs() as runs:
        la.evaluate(*lazy)
    if runs.compiles < 2:
        pytest.skip("the cache on disk has them")
    used = [name for name in used if name != "lazyarray-backend"]  # compiles the thread pool's functions
    assert len(used) == runs.compiles
    assert "lazyarray-compile" in used
    for k, found in enumerate(lazy):
        np.testing.assert_allclose(np.asarray(found), (x[: 90_000 + 10 * k] * 1.25 + k).cumsum() ** 1.75 - 0.123456789)


IN_PLACE = """
import sys
import lazyarray as la
a, b, c = (la.linspace(1.0, 2.0, 100_000).reshape(250, 400) * k for k in (1.0, 2.0, 3.0))
la.evaluate(a, b, c)
for _ in range(40):
    a[1:-1] = a[1:-1] * 0.5 + b[2:] - b[:-2]
    b[:, 1:] -= (a[:, 1:] - c[:, :-1]) / 3.0
    c[2:, 2:] *= a[1:-1, 1:-1] * b[:-2, :-2] * 1e-9
    c += a.sum() * 1e-9
print(float((a + b * c).sum()))
la.evaluate(a, b, c)
print(la.counters()["compiles"], "llvmlite.binding" in sys.modules)
"""


def test_a_later_process_compiles_nothing_that_was_foreseen(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "LAZYARRAY_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", IN_PLACE]
    first, second = (
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120).stdout.split()
        for _ in range(2)
    )
    assert int(first[1]) > 3
    assert second == [first[0], "0", "False"]


SCRIPT = """
import os, sys
from pathlib import Path
from lazyarray_llvm.engine import engine
from tests.backends.test_background import texts
from tests.backends.test_engine import ADD
engine().compile_ir(ADD, "first", "first")
for number, text in enumerate(texts(200)):
    engine().expect(text, "many", f"k{number}", threads=3)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_others_compile_leaves_both_processes_able_to(tmp_path: Path) -> None:
    script = (
        f"{SCRIPT}\n"
        "child = os.fork()\n"
        "assert engine().compile_ir(texts(200)[150], 'many', 'k150').address('axpb150')\n"
        "if child == 0:\n"
        "    engine().expect(texts(201)[200], 'many', 'k200', threads=3)\n"
        "    assert engine().compile_ir(texts(201)[200], 'many', 'k200').address('axpb200')\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    environment = {**ENVIRONMENT, "LAZYARRAY_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)


def test_a_process_may_end_while_others_compile(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "LAZYARRAY_CACHE_DIR": str(tmp_path)}
    for _ in range(3):
        subprocess.run([sys.executable, "-c", SCRIPT], env=environment, check=True, timeout=120)
