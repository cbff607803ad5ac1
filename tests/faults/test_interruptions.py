"""Ctrl-C, memory that ends, handlers, finalisers and exits in the middle of an evaluation."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray_llvm import threads
from tests.ecosystem.arrays import run_python

POSIX = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


@pytest.fixture(autouse=True)
def _ctrl_c_raises() -> Iterator[None]:
    """What starts in the background may have Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def expensive(x: Any) -> Any:
    for _ in range(6):
        x = lazyarray.exp(lazyarray.sin(x) * 0.1) + lazyarray.tanh(x) ** 1.3
    return x


@contextmanager
def interrupted(after: float) -> Iterator[None]:
    """Sends Ctrl-C so many seconds after an evaluation of the block begins to run its plan, which it must end."""
    sent, ended = threading.Event(), threading.Event()
    before = lazyarray.counters()["evaluations"]

    def send() -> None:
        while lazyarray.counters()["evaluations"] == before:
            if ended.wait(0.001):
                return
        time.sleep(after)
        sent.set()
        os.kill(os.getpid(), signal.SIGINT)

    sender = threading.Thread(target=send)
    sender.start()
    notes: list[str] = []
    try:
        yield
    except KeyboardInterrupt as error:
        notes += error.__notes__
    finally:
        ended.set()
        sender.join()
    assert sent.is_set()
    assert "lazyarray was evaluating what was recorded at" in notes[0]


def interrupt_or_finish(call: Callable[[], object], after: float) -> None:
    """Sends Ctrl-C so many seconds after the call begins, which may end before."""
    sender = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    try:
        sender.start()
        call()
        sender.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    finally:
        sender.cancel()
        sender.join()


@POSIX
@pytest.mark.parametrize("end", [lambda y: y, lambda y: y.sum(), lambda y: y.reshape(-1, 1000).max(axis=1)])
def test_ctrl_c_ends_a_long_kernel_and_nothing_is_lost(end: Any) -> None:
    values = numpy.linspace(0, 1, 20_000_000)
    x = lazyarray.array(values)
    end(expensive(x[:200_000])).evaluate()  # compiles
    y = end(expensive(x))
    with interrupted(0.02):
        y.evaluate()
    del y
    assert numpy.array_equal(x, values)
    assert (x[:3] + 1).tolist() == (values[:3] + 1).tolist()


@POSIX
def test_a_launch_in_slices_calls_each_task_once_and_lets_handlers_run_between() -> None:
    seen: list[tuple[int, int]] = []
    pool = threads.Pool(1)
    pool.run = lambda fn, arg, end, first=0: seen.append((first, end))  # type: ignore[method-assign, misc]
    pool.run_in_slices(0, 0, 1000, slice_tasks=10)
    assert seen[0] == (0, 10)
    assert [first for first, _ in seen[1:]] == [end for _, end in seen[:-1]]
    assert seen[-1][1] == 1000
    assert len(seen) > 3


@POSIX
def test_a_kernel_that_writes_over_its_input_is_finished_before_ctrl_c_counts() -> None:
    values = numpy.linspace(0, 1, 3_000_000)
    expected = numpy.asarray(expensive(lazyarray.array(values)))
    for after in (0.005, 0.02, 0.05):
        x = lazyarray.array(values)
        x[:] = expensive(x)
        interrupt_or_finish(x.evaluate, after)
        assert numpy.array_equal(x, expected)


def test_memory_that_cannot_be_had_is_numpys_error_and_loses_nothing() -> None:
    x = lazyarray.arange(100000.0) + 1
    with pytest.raises(MemoryError) as expected:
        numpy.zeros((1 << 50,))
    with pytest.raises(MemoryError) as found:
        lazyarray.zeros((1 << 50,)).evaluate()
    assert str(found.value) == str(expected.value)
    huge = lazyarray.broadcast_to(x, (1 << 30, 100000)) + 1
    with pytest.raises(MemoryError):
        huge.evaluate()
    del huge
    assert float(x[99999]) == 100000.0


@POSIX
def test_a_signal_handler_may_evaluate() -> None:
    script = """
import signal, lazyarray as np
x = np.arange(300000.0)
seen = []
def handle(*_):
    seen.append(float((np.sin(x) * 2 + 1).sum()))
    signal.setitimer(signal.ITIMER_REAL, 0.003)
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.003)
for _ in range(150):
    total = float((np.cos(x) + x.mean()).sum())
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(seen) > 3 and len(set(seen)) == 1, seen
print(abs(total - float((np.cos(x) + x.mean()).sum())))
"""
    assert run_python(script).split() == ["0.0"]


def test_a_signal_handler_may_evaluate_while_the_backend_is_loaded() -> None:
    script = """
import importlib, lazyarray as np
from lazyarray.runtime import backend
backend._warming = True  # by no other thread
np.config.eager_below = 0
x = np.arange(300.0) + 1.0
seen = []
def load(module):
    if not seen:
        seen.append(float((x * 2.0).sum()))
    return importlib.import_module(module)
backend.import_module = load
print(float((x + 1.0).sum()), seen, np.counters()["launches"])
"""
    assert run_python(script).strip() == "45450.0 [90300.0] 1"


def test_finalisers_and_exit_functions_may_evaluate() -> None:
    script = """
import atexit, lazyarray as np
x = np.arange(300000.0) + 1

class Last:
    def __init__(self): self.y = x * 2
    def __del__(self): print("del", float(self.y.sum()))

atexit.register(lambda: print("exit", float((x * 3).sum())))
kept = Last()
Last()
keep_until_the_interpreter_goes = kept
"""
    total = 300000 * 300001 / 2
    lines = run_python(script).splitlines()
    assert lines[:2] == [f"del {total * 2}", f"exit {total * 3}"]


def test_eight_threads_evaluate_shared_and_own_expressions_at_once() -> None:
    x = lazyarray.arange(200000.0)
    shared = [lazyarray.sqrt(x + i) for i in range(8)]
    expected = [numpy.sqrt(numpy.arange(200000.0) + i).sum() for i in range(8)]
    found: list[Any] = []
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        for i in range(8):
            place = (i + number) % 8
            own = float((shared[place] * 1).sum()), float((lazyarray.sqrt(x + place)).sum())
            found.append((place, own))

    workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 64
    for place, (one, other) in found:
        assert one == other == pytest.approx(expected[place], rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_after_the_threads_started_computes_in_both_processes() -> None:
    script = """
import os, lazyarray as np
x = np.arange(2_000_000.0)
before = np.sqrt(x) + 1          # pending across the fork
(np.sin(x) * 2).evaluate()       # the pool of threads runs
child = os.fork()
total = float(before.sum()), float(np.sin(x).sum())
if child == 0:
    os._exit(0 if np.__name__ and total == (float((np.sqrt(x) + 1).sum()), total[1]) else 3)
assert os.waitpid(child, 0)[1] == 0
print(total == (float((np.sqrt(x) + 1).sum()), float(np.sin(x).sum())))
"""
    assert run_python(script, LAZYARRAY_NUM_THREADS="4").split() == ["True"]


def test_an_exception_inside_a_fallback_leaves_what_was_pending() -> None:
    x = lazyarray.arange(100000.0) + 1
    y = x * 2

    def fails(row: Any) -> Any:
        raise RuntimeError("in the user's function")

    with pytest.raises(RuntimeError, match="in the user's function"):
        lazyarray.apply_along_axis(fails, 0, y)
    with pytest.raises(lazyarray.linalg.LinAlgError):
        lazyarray.linalg.inv(lazyarray.zeros((3, 3)) + 0)
    y[0] = 7
    assert (float(y[0]), float(y[1]), float(x[0])) == (7.0, 4.0, 1.0)
