"""The pool runs every index exactly once at any thread count, and survives forks, concurrent use and exit."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lazyarray.config import config
from lazyarray.runtime import processors
from lazyarray_llvm import engine, pool_ir, threads
from lazyarray_llvm.pool_ir import ALONE_OFFSET, SLEEPERS_OFFSET
from lazyarray_llvm.threads import Pool

ROOT = Path(engine.__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "backends")])}
COUNTS = [1, 2, 3, 7]
PARKINGS = ["condition", "python"] + (["futex"] if sys.platform.startswith("linux") else [])
if sys.platform == "win32":
    PARKINGS = ["python"]

# @bump adds one to a[i]. @mark writes the worker's number to a[i]. @gate counts the workers inside it in a[0]
# and returns when as many have come as a[1] says, or when 2**32 looks have been in vain.
IR = """
define void @bump(ptr %a, i64 %begin, i64 %end, i64 %worker) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %loop]
  %p = getelementptr i64, ptr %a, i64 %i
  %v = load i64, ptr %p
  %w = add i64 %v, 1
  store i64 %w, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %leave
leave:
  ret void
}
define void @mark(ptr %a, i64 %begin, i64 %end, i64 %worker) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %loop]
  %p = getelementptr i64, ptr %a, i64 %i
  store i64 %worker, ptr %p
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %leave
leave:
  ret void
}
define void @gate(ptr %a, i64 %begin, i64 %end, i64 %worker) nounwind {
entry:
  %old = atomicrmw add ptr %a, i64 1 seq_cst
  %wantedp = getelementptr i64, ptr %a, i64 1
  %wanted = load i64, ptr %wantedp
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %now = load atomic i64, ptr %a seq_cst, align 8
  %all = icmp sge i64 %now, %wanted
  %next = add i64 %i, 1
  %late = icmp sgt i64 %next, 4294967296
  %go = or i1 %all, %late
  br i1 %go, label %leave, label %loop
leave:
  ret void
}
"""


def address(symbol: str) -> int:
    return engine.compile_ir(IR, "test", key="test_threads\0" + IR).address(symbol)


@pytest.fixture(params=PARKINGS)
def parking(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=COUNTS)
def pool(request: pytest.FixtureRequest, parking: str) -> Iterator[Pool]:
    made = Pool(request.param, parking)
    yield made
    made.close()


def test_every_index_runs_exactly_once(pool: Pool) -> None:
    bump = address("bump")
    for ntasks in [0, 1, 2, 3, 7, 8, 9, 100, 1001, 100_003]:
        array = np.zeros(ntasks + 1, "i8")
        for _ in range(20):
            pool.run(bump, array.ctypes.data, ntasks)
        assert (array[:-1] == 20).all()
        assert array[-1] == 0


# @order writes into a[1 + begin] how many ranges came before: a[0] counts them.
ORDER = """
define void @order(ptr %a, i64 %begin, i64 %end, i64 %worker) nounwind {
  %n = atomicrmw add ptr %a, i64 1 monotonic
  %after = getelementptr i64, ptr %a, i64 1
  %p = getelementptr i64, ptr %after, i64 %begin
  store i64 %n, ptr %p
  ret void
}
"""


def test_every_other_turning_launch_takes_sections_from_their_ends(parking: str) -> None:
    pool = Pool(2, parking)
    order = engine.compile_ir(ORDER, "order").address("order")
    forwards = []
    for turning in (True, False, True, True, False, True):
        array = np.zeros(1 + 400, "i8")
        pool.run(order, array.ctypes.data, 400, 1, turning=turning)
        assert sorted(array[1:]) == list(range(400))
        section = array[1:201]  # two threads may take neighbours the other way round
        forwards.append(np.corrcoef(np.arange(200), section)[0, 1] > 0)
    pool.close()
    assert forwards == ([True] * 6 if parking == "python" else [False, True, True, False, True, True])


@pytest.mark.parametrize("grain", [1, 3, 1000, 10**6])
def test_a_given_grain_is_kept(pool: Pool, grain: int) -> None:
    array = np.zeros(5000, "i8")
    pool.run(address("bump"), array.ctypes.data, 5000, grain)
    assert (array == 1).all()
    pool.run(address("mark"), array.ctypes.data, 5000, grain)
    assert array.min() >= 0
    assert array.max() < pool.nthreads
    for begin in range(0, 5000, grain):
        assert len(set(array[begin : begin + grain])) == 1


@pytest.mark.parametrize("nthreads", [2, 3, 7])
def test_all_workers_take_part(parking: str, nthreads: int) -> None:
    pool = Pool(nthreads, parking)
    array = np.array([0, nthreads], "i8")
    pool.run(address("gate"), array.ctypes.data, nthreads, 1)
    assert array[0] == nthreads  # all were inside at one time, or the gate would have let one pass twice
    time.sleep(0.01)  # parked now
    array[0] = 0
    pool.run(address("gate"), array.ctypes.data, nthreads, 1, long=True)
    assert array[0] == nthreads
    pool.close()


# @linger takes as many turns for each index as a[0] says, and writes the worker's number behind it.
LINGER = """
define void @linger(ptr %a, i64 %begin, i64 %end, i64 %worker) nounwind {
entry:
  %turns = load i64, ptr %a
  %after = getelementptr i64, ptr %a, i64 1
  %p = getelementptr i64, ptr %after, i64 %begin
  store i64 %worker, ptr %p
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %v = load volatile i64, ptr %a
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %turns
  br i1 %more, label %loop, label %leave
leave:
  ret void
}
"""


class Lingering:
    """A pool whose one worker sleeps, and launches of as many turns as wanted."""

    def __init__(self, parking: str) -> None:
        self.pool = Pool(2, parking)
        self.function = engine.compile_ir(LINGER, "linger", key="linger\0" + LINGER).address("linger")
        self.launch(1)
        self.rest()

    def sleepers(self) -> int:
        return ctypes.c_int32.from_address(self.pool.workers.address + SLEEPERS_OFFSET).value

    def rest(self) -> None:
        while self.sleepers() != 1:
            time.sleep(0.001)

    def launch(self, turns: int, *, long: bool = False) -> bool:
        """Whether the worker took part."""
        array = np.array([turns, *[-1] * 16], "i8")
        self.pool.run(self.function, array.ctypes.data, 16, 1, long=long)
        assert set(array[1:]) <= {0, 1}
        return 1 in array[1:]

    def alone(self) -> int:
        """Nanoseconds that the caller has done alone while the worker slept."""
        return ctypes.c_int64.from_address(self.pool.workers.address + ALONE_OFFSET).value


NATIVE_PARKINGS = [parking for parking in PARKINGS if parking != "python"]


@pytest.mark.parametrize("native", NATIVE_PARKINGS)
def test_a_short_launch_after_a_pause_lets_workers_sleep(native: str) -> None:
    lingering = Lingering(native)
    took_part = []
    for _ in range(20):
        time.sleep(0.001)
        lingering.rest()
        took_part.append(lingering.launch(1))
        assert lingering.alone() > 0
    assert sum(took_part) <= 2  # where the caller lost its core in the middle of a launch, that was long
    lingering.pool.close()


@pytest.mark.parametrize("native", NATIVE_PARKINGS)
@pytest.mark.parametrize("long", [False, True])
def test_a_launch_that_proves_long_wakes_workers_as_one_that_is_said_to_be(native: str, long: bool) -> None:
    lingering = Lingering(native)
    time.sleep(0.001)
    assert lingering.launch(10_000_000, long=long)
    lingering.pool.close()


@pytest.mark.parametrize("native", NATIVE_PARKINGS)
def test_a_series_of_short_launches_wakes_workers(native: str) -> None:
    lingering = Lingering(native)
    assert any(lingering.launch(3000) for _ in range(1_000_000))
    lingering.pool.close()


@pytest.mark.parametrize("native", NATIVE_PARKINGS)
def test_who_begins_alone_asks_the_furthest_section_first(native: str) -> None:
    lingering = Lingering(native)
    order = engine.compile_ir(ORDER, "order").address("order")
    for _ in range(20):  # a caller that loses its core in the middle may wake the worker
        time.sleep(0.001)
        lingering.rest()
        array = np.zeros(17, "i8")
        lingering.pool.run(order, array.ctypes.data, 16, 1)
        ran = np.argsort(array[1:], kind="stable").tolist()
        if ran == [8, *range(8), *range(9, 16)]:
            break
    else:
        pytest.fail(f"the tasks ran in the order {ran}")
    lingering.pool.close()


@pytest.mark.parametrize("native", NATIVE_PARKINGS)
@pytest.mark.parametrize("longer", [0, 10**6])
def test_a_worker_waits_awake_for_as_long_as_its_work_was_worth(
    native: str, longer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_natives", {})
    for name, value in {"_LONGER": longer, "_MOST": 10**15, "_NAP": 0}.items():
        monkeypatch.setattr(pool_ir, name, value)
    lingering = Lingering(native)
    assert lingering.launch(10_000_000, long=True)  # 10 ms and more
    if longer:
        time.sleep(0.02)
        assert lingering.sleepers() == 0
        lingering.pool.rest()
    lingering.rest()  # as long as it takes
    lingering.pool.close()


def test_concurrent_callers_are_each_served(pool: Pool) -> None:
    bump = address("bump")
    arrays = [np.zeros(3000, "i8") for _ in range(4)]

    def work(array: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        for _ in range(100):
            pool.run(bump, array.ctypes.data, array.size)

    callers = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert all((array == 100).all() for array in arrays)


def test_a_closed_pool_starts_again(pool: Pool) -> None:
    array = np.zeros(1000, "i8")
    for _ in range(3):
        pool.run(address("bump"), array.ctypes.data, 1000)
        pool.close()
    pool.close()
    assert (array == 3).all()


def test_call_runs_one_range() -> None:
    array = np.zeros(10, "i8")
    threads.call(address("bump"), array.ctypes.data, 2, 5)
    assert array.tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("nthreads", [2, 3])
def test_a_forked_child_starts_its_own_workers(parking: str, nthreads: int) -> None:
    pool = Pool(nthreads, parking)
    gate, bump = address("gate"), address("bump")
    array = np.zeros(1000, "i8")
    pool.run(bump, array.ctypes.data, 1000)
    child = os.fork()
    if child == 0:
        inside = np.array([0, nthreads], "i8")
        pool.run(gate, inside.ctypes.data, nthreads, 1)
        pool.run(bump, array.ctypes.data, 1000)
        os._exit(0 if (array == 2).all() and inside[0] == nthreads else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    pool.run(bump, array.ctypes.data, 1000)
    assert (array == 2).all()
    pool.close()


def test_exit_does_not_hang(parking: str) -> None:
    script = (
        "import sys; from lazyarray_llvm import engine, threads\n"
        "ir = 'define void @f(ptr %a, i64 %b, i64 %e, i64 %w) { ret void }'\n"
        "fn = engine.compile_ir(ir, 'f').address('f')\n"
        "pool = threads.Pool(3, sys.argv[1])\n"
        "for _ in range(100): pool.run(fn, 0, 100)\n"
    )
    subprocess.run([sys.executable, "-c", script, parking], env=ENVIRONMENT, check=True, timeout=30)


def test_default_size() -> None:
    with config.set(num_threads=3):
        first = threads.get_pool()
        assert first.nthreads == 3
        assert threads.get_pool() is threads.get_pool(3) is first
        assert threads.get_pool(2).nthreads == 2
        assert threads.get_pool() is first
    with config.set(num_threads=None):
        assert threads.get_pool().nthreads == processors.usable() >= 1
    for bad in (0, -1, 10**6):
        with pytest.raises(ValueError, match="nthreads"):
            Pool(bad)


def test_entries_refuse_what_is_no_number() -> None:
    call: Callable[..., None] = threads.caller()
    for arguments in [(), (1, 2, 3), ("a", 0, 0, 1), (0.5, 0, 0, 1), (1 << 64, 0, 0, 1), (None,) * 4]:
        with pytest.raises((TypeError, OverflowError, ctypes.ArgumentError)):
            call(*arguments)
    array = np.zeros(4, "i8")
    call(address("bump"), array.ctypes.data, -1 + 1, 4)
    assert (array == 1).all()


@pytest.mark.skipif(sys.platform == "win32", reason="workers wait in Python there")
@pytest.mark.parametrize("parking", [p for p in PARKINGS if p != "python"])
def test_workers_park_at_once_for_who_needs_their_cores(parking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads._native(parking), "spins", 10**12)  # they would wait awake for hours
    pool = Pool(3, parking)
    pool.rest()  # nobody is there yet
    pool.start()
    try:
        sleeping = ctypes.c_int32.from_address(pool.workers.address + SLEEPERS_OFFSET)
        a = np.zeros(64, np.int64)
        for _ in range(3):
            pool.run(address("bump"), a.ctypes.data, 64, grain=1)
            pool.rest()
            until = time.monotonic() + 20
            while sleeping.value < 2 and time.monotonic() < until:
                time.sleep(0.001)
            assert sleeping.value == 2
        assert (a == 3).all()
    finally:
        pool.close()
