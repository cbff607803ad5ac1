"""Owns compiling on other threads what a plan is going to run, while its first kernels run."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable

from lazyarray_llvm.codegen import ObjectCode

MOST_THREADS = 8  # beyond, the interpreter's lock is what they wait for
PATIENCE = 10.0  # seconds: what a thread collects as garbage may wait for who waits for the thread


class _Job:
    """Code to be generated, or that is."""

    __slots__ = ("begun", "done", "error", "found", "work")

    def __init__(self, work: Callable[[], ObjectCode]) -> None:
        self.work = work
        self.begun = False
        self.done = threading.Event()
        self.found: ObjectCode | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """Does the work, in whatever thread."""
        try:
            self.found = self.work()
        except Exception as error:
            self.error = error
        finally:
            self.done.set()


class Background:
    """Code wanted soon, by keys, and threads that generate it in order and end when none is left."""

    def __init__(self) -> None:
        self._renew()
        atexit.register(self.stop)  # LLVM's own end must not come while a thread is in it
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = threading.RLock()
        self._jobs: dict[str, _Job] = {}
        self._threads: list[threading.Thread] = []

    def submit(self, key: str, work: Callable[[], ObjectCode], threads: int) -> None:
        """Has the work done by one of so many threads, unless somebody takes it before."""
        with self._lock:
            if key in self._jobs:
                return
            self._jobs[key] = _Job(work)
            if len(self._threads) < min(threads, MOST_THREADS):
                thread = threading.Thread(target=self._work, name="lazyarray-compile", daemon=True)
                self._threads.append(thread)
                thread.start()

    def take(self, key: str) -> ObjectCode | None:
        """The code that a work gives, done now if nobody has begun with it; None: such a work is not known.

        Who has to wait for another thread does other work meanwhile, of what is wanted last.
        """
        with self._lock:
            job = self._jobs.pop(key, None)
            if job is None:
                return None
            waits, job.begun = job.begun, True
        if not waits:
            job.run()
        while not job.done.is_set() and (other := self._next(last=True)) is not None:
            other.run()
        if not job.done.wait(PATIENCE):
            return None
        if job.error is not None:
            raise job.error
        return job.found

    def stop(self) -> None:
        """Gives up what has not begun, and waits for the rest."""
        with self._lock:
            self._jobs.clear()
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        while (job := self._next()) is not None:
            job.run()

    def _next(self, last: bool = False) -> _Job | None:
        """Work that nobody has begun with: the first or the last."""
        with self._lock:
            jobs = self._jobs.values()
            for job in reversed(jobs) if last else jobs:
                if not job.begun:
                    job.begun = True
                    return job
            # A thread that finds none ends: under the lock, so that who submits next sees it gone.
            self._threads = [thread for thread in self._threads if thread is not threading.current_thread()]
            return None
