"""Owns what is kept of a run that an error ended: values that are complete, when what they were made of may be gone.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap
from typing import Any, Final

from lazyarray.ir.node import Node
from lazyarray.native.primitives import thread_here  # cimport
from lazyarray.runtime.run import AnyRun  # cimport


class Uninterrupted:
    """Whether a thread launches a kernel that must not be left half done: it writes over what it reads.

    One thread at a time does, the one that evaluates (`evaluate.lock`).
    """

    __slots__ = ("depth", "thread")

    def __init__(self) -> None:
        self.depth = 0
        self.thread = 0

    def begin(self) -> None:
        """This thread launches one."""
        self.depth += 1
        self.thread = thread_here()

    def end(self) -> None:
        """It has run, or failed."""
        self.depth -= 1

    def here(self) -> bool:
        """True in the thread that does."""
        return self.depth > 0 and self.thread == thread_here()


uninterrupted: Final = Uninterrupted()


class Queued:
    """Calls functions of C, and can tell whether so many returned: no handler runs between that and its being noted."""

    __slots__ = ("_calls", "_returned")

    def __init__(self, calls: int = 1) -> None:
        self._calls = calls
        self._returned: list[Any] = []

    def call(self, function: Callable[..., Any], *args: Any) -> None:
        """`function(*args)`."""
        self._returned.extend(starmap(function, (args,)))

    def ran(self) -> bool:
        """Whether all were called."""
        return len(self._returned) >= self._calls


def writes_over(run: AnyRun, writes: tuple[int, ...]) -> bool:
    """Whether a kernel about to be launched writes over values, which is noted then."""
    for slot in writes:
        if slot in run.taken:
            run.over, run.launched = writes, None
            return True
    return False


def forget_old(run: AnyRun, written: Sequence[int]) -> None:
    """Slots were written: those whose memory they took over have no values any more."""
    for slot in written:
        old = run.taken.pop(slot, None)
        if old is not None:
            run.done.discard(old)


def note_launched(run: AnyRun) -> None:
    """After an error: what wrote over values may have run, and the error come between that and its being noted."""
    if run.over and run.launched is not None and run.launched.ran():
        run.done.update(run.over)
        forget_old(run, run.over)


def made_in(run: AnyRun, slot: int) -> Node | None:
    """The node of a slot that has its value; None where there is neither."""
    origin = run.plan.origins[slot]
    node = None if origin is None or run.memory[slot] is None else run.sources[origin]
    return node if type(node) is Node else None


def complete(run: AnyRun) -> list[tuple[Node, Any]]:
    """The pending nodes whose values are there.

    A later evaluation must not compute them again: an update in place may have written over what they read.
    """
    for slot, old in run.taken.items():
        if old in run.done and slot not in run.done:
            run.memory[old] = run.memory[slot]  # taken over and not written yet
    found = []
    for slot in run.done:
        node = made_in(run, slot)
        if node is not None and node.data is None and node.remote is None:
            found.append((node, run.memory[slot]))
    return found
