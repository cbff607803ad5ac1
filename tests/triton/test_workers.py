"""Jobs in other processes: cubins, errors that are told, processes that end, and none where none can be had."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lazyarray.config import config
from lazyarray_triton import compiler, worker, workers
from lazyarray_triton.compiler import Binary, Job
from lazyarray_triton.worker import Refused
from lazyarray_triton.workers import Workers

TEXT = """import triton
import triton.language as tl


@triton.jit
def kernel(a, INDEX: tl.constexpr):
    tl.store(a, {value})
"""
SIGNATURE = (("a", "*fp32"), ("INDEX", "constexpr"))

pytestmark = pytest.mark.skipif(
    os.name != "posix" or importlib.util.find_spec("triton") is None, reason="needs Triton, and a system that forks"
)


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """Processes of the test's own, which compile though other tests of this process interpret."""
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    monkeypatch.setattr(workers, "IDLE", 0.5)
    made = Workers()
    yield made
    made.close()


def job(value: str) -> Job:
    return Job(TEXT.format(value=value), "kernel", SIGNATURE, (), "i32", (), 4, 0, 90)


def test_more_jobs_than_processes_are_all_done(apart: Workers) -> None:
    asked = [apart.begin(job(f"{k}.0"), 2) for k in range(5)]
    made = [future.result(60) for future in asked]
    assert [(type(one), one.name, one.threads) for one in made] == [(Binary, "kernel", 128)] * 5
    assert len({one.cubin for one in made}) == 5
    assert apart._threads <= 2


def test_texts_may_be_longer_than_a_socket_holds(apart: Workers) -> None:
    long = job("1.5")._replace(text=TEXT.format(value="1.5") + "# " + "x" * 2_000_000)
    assert apart.begin(long, 1).result(60).name == "kernel"


def test_what_the_compiler_says_is_told(apart: Workers) -> None:
    with pytest.raises(Refused, match=r"^CompilationError: (?s:.*)nothing is not defined"):
        apart.begin(job("nothing"), 1).result(60)
    assert apart.begin(job("1.0"), 1).result(60).name == "kernel"


def test_a_job_whose_process_ends_is_done_here(apart: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(self: Any, given: Job) -> Binary:
        raise EOFError

    done = Binary(b"here", "kernel", 0, 128, (0, 0), "")
    with monkeypatch.context() as patch:
        patch.setattr(workers.Process, "answer_to", ended)
        patch.setattr(workers, "compile_job", lambda given: done)
        assert apart.begin(job("2.0"), 1).result(60) == done
    assert apart.begin(job("2.0"), 1).result(60).cubin != b"here"


def test_processes_come_from_another_one_when_the_first_has_ended(apart: Workers) -> None:
    apart.expect()
    first = apart._first
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    first.wait(60)
    process = apart._new_process()
    assert type(process.answer_to(job("3.0"))) is Binary
    process.close()
    assert apart._first is not first


def test_processes_end_when_there_has_been_nothing_to_do(apart: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "IDLE", 0.05)
    for value in ("4.0", "5.0"):
        assert apart.begin(job(value), 1).result(60).name == "kernel"
        until = time.monotonic() + 10
        while apart._threads and time.monotonic() < until:
            time.sleep(0.01)
        assert apart._threads == 0


@pytest.mark.parametrize("executable", ["/opt/program/with-python-inside", "", sys.executable])
def test_a_program_that_is_no_interpreter_is_not_started_again(
    executable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with config.set(num_threads=3):
        assert workers.processes() == (3 if "bin/python" in executable else 0)
    with config.set(num_threads=1):
        assert workers.processes() == 0


def test_a_process_that_compiles_needs_nothing_of_lazyarray() -> None:
    for module in (compiler, worker):
        text = Path(module.__file__).read_text(encoding="utf-8")
        named = [line for line in text.splitlines() if line.lstrip().startswith(("from lazy", "import lazy"))]
        assert set(named) <= {"from lazyarray_triton.compiler import Job, compile_job"}
