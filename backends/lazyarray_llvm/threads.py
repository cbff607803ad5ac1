"""The native thread pool: workers parked inside JIT-compiled code, started and joined without Python.

A launch calls a kernel over disjoint subranges that workers take from atomic counters. Workers join a
launch by themselves while it is open; the caller takes part, closes the launch when no range is left, and
waits only for those that joined. So a launch never waits for a thread that the system has not scheduled yet.
"""

from __future__ import annotations

import ctypes
import functools
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazyarray.config import config
from lazyarray.runtime import processors
from lazyarray.runtime.backend import Once
from lazyarray.runtime.recovery import uninterrupted
from lazyarray.runtime.resting import resting
from lazyarray_llvm import engine
from lazyarray_llvm.image import outlive
from lazyarray_llvm.pool_ir import (
    ALLOWED_OFFSET,
    AT_ONCE,
    COUNT_OFFSET,
    FUTEX_CALLS,
    PYTHON_SYMBOLS,
    RECORD_BYTES,
    RECORDS_OFFSET,
    REST_OFFSET,
    SPIN_OFFSET,
    SYSTEM_SYMBOLS,
    TURNING,
    pool_ir,
)
from lazyarray_llvm.workers import Workers, chosen

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["Pool", "call", "caller", "get_pool"]

_SPIN_SECONDS = 25e-6
_GRAINS_PER_WORKER = 8
_MANY_TASKS = 64  # so many are worth waking workers for
_MAX_THREADS = 1024
_SLICE_SECONDS = 0.05

_CALL = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_size_t] * 7)
_WAKE = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
_SPINNER = ctypes.CFUNCTYPE(None, ctypes.c_int64)


class _MethodDef(ctypes.Structure):  # PyMethodDef
    _fields_ = (
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )  # fmt: skip


_METH_FASTCALL = 0x80
_definitions: list[_MethodDef] = []


def _builtin(name: str, address: int) -> Callable[..., None]:
    """A builtin function of CPython's over machine code that follows its METH_FASTCALL convention."""
    definition = _MethodDef(name.encode(), address, _METH_FASTCALL, None)
    _definitions.append(definition)  # the function object points to it
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.c_void_p, ctypes.c_void_p]
    make.restype = ctypes.py_object
    made: Callable[..., None] = make(definition, None, None)
    return made


class _Native:
    """The compiled pool functions of one way of parking."""

    __slots__ = ("call", "entry", "prepare", "run", "spins", "stop", "worker")

    def __init__(self, parking: str) -> None:
        for_python = sys.implementation.name == "cpython"
        _add_symbols(SYSTEM_SYMBOLS if parking != "python" else [], None)
        _add_symbols(PYTHON_SYMBOLS if for_python else [], ctypes.pythonapi)
        self.call: Callable[[int, int, int, int], None] = _call_through_ctypes
        ir_text = pool_ir(parking, engine.host().triple.split("-")[0], for_python, _can_spread())
        if not ir_text:
            return
        # Optimised it takes five times as long to compile, as long as some kernels, and runs no faster: it waits.
        module = engine.compile_ir(ir_text, "threads", key="threads\0" + ir_text, level=0)
        if for_python:
            self.call = _builtin("call", module.address("la_python_call"))
        if parking == "python":
            return
        self.entry = module.address("la_run")
        self.run: Callable[..., Any] = _RUN(self.entry)
        if for_python:
            self.run = _builtin("run", module.address("la_python_run"))
        self.stop = _WAKE(module.address("la_stop"))
        self.prepare = _WAKE(module.address("la_prepare"))
        self.worker = module.address("la_worker")
        spin = _SPINNER(module.address("la_spin"))
        best = min(self._time(spin, 200) for _ in range(5))
        self.spins = max(16, min(100_000, int(_SPIN_SECONDS / (best / 200))))

    @staticmethod
    def _time(spin: Callable[[int], None], count: int) -> float:
        started = time.perf_counter()
        spin(count)
        return max(time.perf_counter() - started, 1e-7)


def _add_symbols(names: list[str], library: Any) -> None:
    source = library if library is not None else (ctypes.CDLL(None) if names else None)
    for name in names:
        function = getattr(source, name, None)
        if function is not None:
            engine.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value or 0)


_natives: dict[str, _Native] = {}
_made: set[str] = set()  # "workers", once this process has had some
_native_lock = Once()


def _native(parking: str) -> _Native:
    with _native_lock:
        found = _natives.get(parking)
        if found is None:
            found = _natives[parking] = _Native(parking)
        return found


def had_workers() -> bool:
    """Whether this process has had workers: others then take no LLVM."""
    return bool(_made)


def _can_spread() -> bool:
    # The mask's bits are addressed by byte, as a little-endian system lays them out.
    linux = sys.platform.startswith("linux") and sys.byteorder == "little"
    return linux and hasattr(ctypes.CDLL(None), "pthread_setaffinity_np")


def _default_parking() -> str:
    if sys.platform == "win32":
        return "python"
    if sys.platform.startswith("linux") and engine.host().triple.split("-")[0] in FUTEX_CALLS:
        return "futex"
    return "condition"


class Pool:
    """`nthreads` threads, the caller among them, that run one kernel launch at a time.

    `parking` is how idle workers wait: "futex" (Linux), "condition" (POSIX), "python" (anywhere, slower); the
    best of them when left out. Worker threads start at the first launch that wants them.
    """

    def __init__(self, nthreads: int, parking: str | None = None) -> None:
        if not 1 <= nthreads <= _MAX_THREADS:
            raise ValueError(f"nthreads must be from 1 to {_MAX_THREADS}, not {nthreads}")
        self.nthreads = nthreads
        self._parking = parking
        self._starting = Once()
        self._sharing = threading.Lock()  # among threads of Python's
        self._memory: Any = None
        self.workers = Workers()
        self._threads: list[int] = []
        self._executor: ThreadPoolExecutor | None = None
        self._started = False
        _pools.add(self)

    def run(
        self, fn_addr: int, arg: int, ntasks: int, grain: int = 0, first: int = 0, *,
        turning: bool = False, long: bool = False,
    ) -> None:  # fmt: skip
        """Call `void fn(arg, begin, end, worker)` on subranges that cover [first, ntasks), each once.

        Workers are numbered from 0 (the caller) to nthreads - 1, each number held by one thread at a time
        within this launch. While another Python thread's launch is under way, all of it runs on the caller.
        `turning`: every other such launch begins at the ends, where the last one left the caches. `long`: workers
        that sleep are woken at once, and not when the work has proved worth it.
        """
        count = ntasks - first
        if count <= 0:
            return
        if grain <= 0:
            grain = self.grain_of(count)
        if self.nthreads == 1 or count <= grain:
            call(fn_addr, arg, first, ntasks)
            return
        if not self._started:
            self._start()
        if self.workers.entry:
            self.workers.share(fn_addr, arg, ntasks, grain, self.shares_of(count, grain, turning, long), first)
        elif self._executor is not None:
            self._run_in_python(fn_addr, arg, ntasks, grain, first)
        else:
            call(fn_addr, arg, first, ntasks)

    def grain_of(self, count: int) -> int:
        """How many of so many tasks one worker takes at once."""
        return count // (self.nthreads * _GRAINS_PER_WORKER) or 1

    def shares_of(self, count: int, grain: int, turning: bool, long: bool) -> int:
        """What `Workers.share` is told: how many may take part beside the caller, and of which kind the launch is."""
        most = min(self.nthreads, -(-count // grain)) - 1
        return most | (TURNING if turning else 0) | (AT_ONCE if long or count >= _MANY_TASKS else 0)

    def run_in_slices(self, fn_addr: int, arg: int, ntasks: int, slice_tasks: int) -> None:
        """The same in slices: Python runs the handlers of signals between them, which may raise (Ctrl-C).

        Slices grow from `slice_tasks` to some 50 ms. Within `uninterrupted` there is one.
        """
        if uninterrupted.here():
            self.run(fn_addr, arg, ntasks)
            return
        first = 0
        while first < ntasks:
            started = time.perf_counter()
            end = min(first + slice_tasks, ntasks)
            self.run(fn_addr, arg, end, first=first)
            first = end
            if time.perf_counter() - started < _SLICE_SECONDS / 2:
                slice_tasks *= 2

    def rest(self) -> None:
        """Idle workers leave their cores to others now, and not only after a while."""
        self.workers.rest()

    def start(self) -> None:
        """Makes the workers now instead of at the first launch that needs them."""
        if self.nthreads > 1 and not self._started:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._started:
                return
            parking = self._parking if self._parking is not None else _default_parking()
            if parking == "python" or not self._start_native(parking):
                from concurrent.futures import ThreadPoolExecutor

                self._executor = ThreadPoolExecutor(self.nthreads - 1, "lazyarray")
            self._started = True
            _made.add("workers")

    def _start_native(self, parking: str) -> bool:
        native = _native(parking)
        size = RECORDS_OFFSET + self.nthreads * RECORD_BYTES
        memory = ctypes.create_string_buffer(size + 128)
        address = (ctypes.addressof(memory) + 127) & -128
        ctypes.c_int64.from_address(address + SPIN_OFFSET).value = native.spins
        native.prepare(address)
        create = ctypes.CDLL(None).pthread_create
        create.argtypes = [ctypes.c_void_p] * 4
        # Python's signal handling expects signals on its own threads.
        masked = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            for worker in range(1, self.nthreads):
                record = address + RECORDS_OFFSET + worker * RECORD_BYTES
                (ctypes.c_int64 * 4).from_address(record)[:] = [0, worker, address, -1]
                thread = ctypes.c_size_t()
                if create(ctypes.byref(thread), None, native.worker, record):
                    break  # the system refuses more threads: run with those there are
                self._threads.append(thread.value)
                ctypes.c_size_t.from_address(record + 32).value = thread.value
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, masked)
        if _can_spread():
            allowed = sum(1 << cpu for cpu in os.sched_getaffinity(0) if cpu < 1024)
            ctypes.memmove(address + ALLOWED_OFFSET, allowed.to_bytes(128, sys.byteorder), 128)
        ctypes.c_int64.from_address(address + COUNT_OFFSET).value = len(self._threads)
        # Parked workers hold this memory: it must outlive the pool object.
        _worker_memory.append(memory)
        self._memory = memory
        if not self._threads:
            return False
        workers = self.workers
        workers.word = address + REST_OFFSET
        workers.address, workers.run, workers.entry = address, native.run, native.entry
        return True

    def _run_in_python(self, fn_addr: int, arg: int, ntasks: int, grain: int, first: int) -> None:
        executor = self._executor
        assert executor is not None
        if not self._sharing.acquire(blocking=False):
            call(fn_addr, arg, first, ntasks)
            return
        try:
            function = _CALL(fn_addr)
            starts = iter(range(first, ntasks, grain))

            def work(worker: int) -> None:
                while True:
                    with taking:  # free-threaded Python has no other lock around the iterator
                        begin = next(starts, None)
                    if begin is None:
                        return
                    function(arg, begin, min(begin + grain, ntasks), worker)

            taking = threading.Lock()
            waiting = [executor.submit(work, worker) for worker in range(1, self.nthreads)]
            work(0)
            for future in waiting:
                future.result()
        finally:
            self._sharing.release()

    def close(self) -> None:
        """End the workers; the pool starts new ones if it is used again. No launch may be under way."""
        with self._starting:
            if self.workers.entry:
                native = _native(self._parking if self._parking is not None else _default_parking())
                native.stop(self.workers.address)
                join = ctypes.CDLL(None).pthread_join
                join.argtypes = [ctypes.c_size_t, ctypes.c_void_p]
                for thread in self._threads:
                    join(thread, None)
                _worker_memory.remove(self._memory)
            if self._executor is not None:
                self._executor.shutdown()
            self._forget()

    def _forget(self) -> None:
        self._memory, self._threads = None, []
        self.workers.forget()
        self._executor = None
        self._started = False

    def _after_fork(self) -> None:
        # Only the forking thread lives on in the child: no worker is left and locks may be held by nobody.
        self._starting = Once()
        self._sharing = threading.Lock()  # among threads of Python's
        self._forget()


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()
_worker_memory: list[Any] = outlive([])
_by_size: dict[int, Pool] = {}
_prototypes: dict[int, Callable[[int, int, int, int], None]] = {}
kept_caller: Callable[[int, int, int, int], None] | None = None  # what `caller` has found


def _after_fork() -> None:
    global _native_lock
    _native_lock = Once()
    for pool in list(_pools):
        pool._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _call_through_ctypes(fn_addr: int, arg: int, begin: int, end: int) -> None:
    function = _prototypes.get(fn_addr)
    if function is None:
        function = _prototypes[fn_addr] = _CALL(fn_addr)
    function(arg, begin, end, 0)


def caller() -> Callable[[int, int, int, int], None]:
    """The function behind `call`, for those who keep it: on CPython a builtin."""
    global kept_caller
    if kept_caller is None:
        kept_caller = _native(_default_parking()).call
    return kept_caller


def call(fn_addr: int, arg: int, begin: int, end: int) -> None:
    """Call a kernel on one range on this thread, as worker 0, with the interpreter's lock released."""
    (kept_caller or caller())(fn_addr, arg, begin, end)


@functools.cache
def _default_size() -> int:
    # Asked once: the system call costs as much as a small launch.
    return min(processors.usable(), _MAX_THREADS)


def get_pool(nthreads: int | None = None) -> Pool:
    """The process's pool of a size; when left out, of the configured size or one thread per usable CPU."""
    wanted = nthreads if nthreads is not None else config.num_threads or _default_size()
    pool = _by_size.get(wanted)
    if pool is None:
        with _native_lock:
            pool = _by_size.setdefault(wanted, Pool(wanted))
    if nthreads is None and wanted == (config.num_threads or _default_size()):
        chosen.pool = pool
        resting.workers = pool.workers
    return pool


def _forget_configured() -> None:
    chosen.pool = resting.workers = None


config.followers.append(_forget_configured)
