"""Owns `Base`: the storage that an array shares with its views, its current value and its exported memory.

A base is a node (its value so far, C order) or, while somebody outside may write its memory, that memory.  Which of the
two is decided by counting references: no flag that a forgotten view could leave wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.ir.node import Node, leaf
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.pool import is_lease
from lazyarray.runtime.root import Root

Array = np.ndarray[Any, Any]
_count: Final[Callable[[object], int]] = sys.getrefcount


class Slot:
    __slots__ = ("value",)

    value: Any


# What counting shows of an object that nobody but a slot refers to, from each of the places where it is asked: how
# many references frames and calls add differs between versions of Python, and in C, so it is measured and not assumed.
# Modules that may be compiled measure their own.


def seen(data: object) -> int:
    return _count(data)


def _seen_here(slot: Slot) -> int:
    local = slot.value
    return _count(local)


def _seen_by_callee(slot: Slot) -> int:
    local = slot.value
    return seen(local)


def measure(ask: Callable[[Slot], int]) -> int:
    slot = Slot()
    slot.value = np.empty(1)
    return ask(slot)


ALONE_HERE: Final = measure(_seen_here)
ALONE: Final = measure(_seen_by_callee)


def owns_alone(data: Array, alone: int = ALONE) -> bool:
    """True when nobody else can reach the memory of `data`, which the caller holds in one slot and one local.

    `alone`: what `seen` shows where the caller holds it otherwise.
    """
    if _count(data) > alone:
        return False
    owner = data.base
    if owner is None:
        return data.flags.owndata
    # A view of an array, or a lease of pooled memory, that only `data` refers to.
    if _count(owner) > ALONE_HERE:
        return False
    return is_lease(owner) or (type(owner) is np.ndarray and owner.base is None and owner.flags.owndata)


# Takes a lent array back (`frontend/lending.py`): it shows the base again, and no longer its memory.
recall: list[Callable[[Any, Root], None]] = []


class Base(Root):
    """A root in C order. Exactly one of `node` and `memory` is there; `pinned` memory is never taken back.

    `owner` refers weakly to the array that is all of it, once somebody has asked for that array; `fixed` says that it
    refuses writes, so that its views may not be made writeable. `lent`: weak references to small arrays that show
    memory, and are taken back when the memory is wanted back; `lends` is false where that has failed. `peeks`:
    how often a small part was read while the value was pending.
    """

    __slots__ = ()

    def reclaim(self) -> Node | None:
        """The current value as a node; None while an exported view of the memory lives."""
        node = self.node
        if node is not None:
            return node
        with boundary.lock:
            node = self.node
            if node is not None:
                return node
            if self.pinned:
                return None
            memory = self.memory
            assert memory is not None
            if not owns_alone(memory):
                if not self.lent:
                    return None
                self._recall()
                if not owns_alone(memory):
                    self.lends = False
                    return None
            self.lent = []
            self.memory = None
            self.node = node = leaf(memory)
            return node

    def _recall(self) -> None:
        for reference in self.lent:
            array = reference()
            if array is not None:
                for take_back in recall:
                    take_back(array, self)
        self.lent = []

    def export(self) -> Array:
        """The root as memory that the caller may hand out views of (never itself) and write."""
        with boundary.lock:
            node = self.node
            if node is None:
                memory: Array = self.memory
                return memory
            if node.data is None:
                boundary.evaluate((node,))
            data = node.data
            assert data is not None
            # One slot (self.node), one local: anything beyond may still read the value that the node has now.
            shared = _count(node) > ALONE_HERE
            if shared or not owns_alone(data) or not data.flags.writeable:
                data = data.copy()
            self.node = None
            self.memory = data
            return data
