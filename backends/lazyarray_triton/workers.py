"""Owns compiling in other processes, at the same time: Triton holds the interpreter's lock for a third of its time.

Kernels of a plan that are not on disk are compiled by as many of them as there are processors, while the first of the
plan run. They start when there is something to compile, and end when there has been nothing for a while, or when this
process does. Where none can be had, kernels are compiled here, one after another.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from lazyarray.config import config
from lazyarray.runtime import processors
from lazyarray_triton.compiler import Binary, Job, compile_job
from lazyarray_triton.worker import Refused

MOST: Final = 16  # each takes some 100 MB of its own
IDLE: Final = 10.0  # seconds without a job after which a process ends
_START: Final = "import sys; sys.path[:] = sys.argv[1:]; from lazyarray_triton.worker import main; main()"

_here = threading.RLock()  # Triton's settings are those of a process; a signal handler may compile, too


def compile_here(job: Job) -> Binary:
    """The binary of a job, in this process."""
    with _here:
        return compile_job(job)


def start(control: socket.socket) -> subprocess.Popen[bytes]:
    """The process that is forked into those that compile, for each socket that is sent to its end of `control`."""
    found = importlib.util.find_spec("triton")
    places = [place for place in sys.path if place]
    places.append(str(Path(__file__).parents[1]))
    if found is not None and found.origin is not None:
        places.append(str(Path(found.origin).parents[1]))
    # Without `site`: what the paths hold is all that it needs. Keys that interrupt this process do not reach it.
    flags = ["-I", "-S", *(["-B"] if sys.dont_write_bytecode else [])]
    command = [sys.executable, *flags, "-c", _START, *places]
    return subprocess.Popen(command, stdin=control.fileno(), start_new_session=True)


class Process:
    """Another process that compiles, at the other end of a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._file = connection.makefile("rwb")

    def answer_to(self, job: Job) -> Binary | Refused:
        """What it makes of a job; OSError or EOFError where it has ended."""
        pickle.dump(job, self._file)
        self._file.flush()
        found: Binary | Refused = pickle.load(self._file)
        return found

    def close(self) -> None:
        """Ends it."""
        with contextlib.suppress(OSError):
            self._file.close()
        self._connection.close()


class Workers:
    """Jobs in their order, and a thread for each process that takes them."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._jobs: SimpleQueue[tuple[Job, Future[Binary]]] = SimpleQueue()
        self._open = 0  # jobs that are not done
        self._threads = 0
        self._first: subprocess.Popen[bytes] | None = None  # the process that the others are forked from
        self._control: socket.socket | None = None

    def begin(self, job: Job, most: int) -> Future[Binary]:
        """Has a job done by one of `most` processes."""
        future: Future[Binary] = Future()
        with self._lock:
            self._jobs.put((job, future))
            self._open += 1
            if self._threads < min(self._open, most):
                self._threads += 1
                threading.Thread(target=self._work, name="lazyarray-compile", daemon=True).start()
        return future

    def expect(self) -> None:
        """Starts the process that others are forked from."""
        with self._lock:
            if self._control is None:
                self._control, other = socket.socketpair()
                with other:
                    self._first = start(other)

    def _new_process(self) -> Process:
        here, there = socket.socketpair()
        with there:
            for _ in range(2):
                self.expect()
                try:
                    with self._lock:
                        assert self._control is not None
                        socket.send_fds(self._control, [b"1"], [there.fileno()])
                    break
                except OSError:  # it has ended, as it does when it is not asked
                    self.close()
        return Process(here)

    def close(self) -> None:
        """Ends the process that others are forked from. Those go on with what they have."""
        with self._lock:
            if self._control is not None:
                self._control.close()
            if self._first is not None:
                self._first.kill()
                self._first.wait()
            self._control = self._first = None

    def _work(self) -> None:
        process: Process | None = None
        while True:
            try:
                job, future = self._jobs.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if not self._jobs.empty():
                        continue
                    self._threads -= 1
                break
            answer: Binary | Exception
            try:
                process = process or self._new_process()
                answer = process.answer_to(job)
            except Exception:  # it did not start, or has ended
                if process is not None:
                    process.close()
                process, answer = None, answered_here(job)
            with self._lock:
                self._open -= 1
            if isinstance(answer, Binary):
                future.set_result(answer)
            else:
                future.set_exception(answer)
        if process is not None:
            process.close()


def answered_here(job: Job) -> Binary | Exception:
    try:
        return compile_here(job)
    except Exception as error:
        return error


_workers = Workers()


def _renew() -> None:
    global _workers, _here
    _workers, _here = Workers(), threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def processes() -> int:
    """How many processes compile at the same time; 0: this one does."""
    if os.name != "posix" or getattr(sys, "frozen", False):
        return 0
    if not os.path.basename(sys.executable or "").startswith("python"):
        return 0  # a program that has an interpreter within it
    count = config.num_threads
    if count is None:
        count = processors.usable()
    return min(count, MOST) if count > 1 and importlib.util.find_spec("triton") is not None else 0


def expect() -> None:
    """Has processes ready for jobs that will come soon."""
    if processes():
        with contextlib.suppress(OSError):
            _workers.expect()


def begin(job: Job) -> Callable[[], Binary]:
    """Has a job done, by another process if it can be: what is returned waits for its binary."""
    most = processes()
    if not most:
        return lambda: compile_here(job)
    return _workers.begin(job, most).result
