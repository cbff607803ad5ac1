"""Owns what is kept of a run that an error ended: values that are complete, when what they were made of may be gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from lazyarray.ir.node import Node

if TYPE_CHECKING:
    from lazyarray.schedule.plan import Plan


class _Uninterrupted(threading.local):
    """Whether this thread launches a kernel that must not be left half done: it writes over what it reads."""

    depth = 0


uninterrupted: Final = _Uninterrupted()


class Run(Protocol):
    """A run of a plan: the memory of its slots, and which of them hold their values."""

    plan: Plan
    sources: list[Any]
    memory: list[Any]
    done: set[int]  # slots whose values are complete and not written over
    taken: dict[int, int]  # by slot that is written in place of another: that other one


def forget_old(run: Run, written: Sequence[int]) -> None:
    """Slots were written: those whose memory they took over have no values any more."""
    for slot in written:
        old = run.taken.pop(slot, None)
        if old is not None:
            run.done.discard(old)


def complete(run: Run) -> list[tuple[Node, Any]]:
    """The pending nodes whose values are there.

    A later evaluation must not compute them again: an update in place may have written over what they read.
    """
    for slot, old in run.taken.items():
        if old in run.done:
            run.memory[old] = run.memory[slot]  # taken over and not written yet
    found = []
    for slot in run.done:
        origin, value = run.plan.origins[slot], run.memory[slot]
        node = None if origin is None else run.sources[origin]
        if type(node) is Node and node.data is None and node.remote is None and value is not None:
            found.append((node, value))
    return found
