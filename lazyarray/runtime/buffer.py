"""Owns `Base`: the storage that an array shares with its views, its current value and its exported memory.

A base is a node (its value so far, C order) or, while somebody outside may write its memory, that memory. Which of
the two is decided by counting references: no flag that a forgotten view could leave wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.ir.node import Node, Spec, leaf
from lazyarray.runtime import evaluate as boundary

Array = np.ndarray[Any, Any]
_count: Final[Callable[[object], int]] = sys.getrefcount


class _Slot:
    __slots__ = ("value",)

    value: Any


def _calibrate() -> int:
    # What getrefcount says, inside a function, of an object that one slot and one local name.
    slot = _Slot()
    slot.value = np.empty(1)
    return _ask(slot)


def _ask(slot: _Slot) -> int:
    local = slot.value
    return _count(local)


ONE_SLOT_ONE_LOCAL: Final = _calibrate()


def owns_alone(data: Array, references: int = ONE_SLOT_ONE_LOCAL) -> bool:
    """True when nobody but one slot and `references` - ONE_SLOT_ONE_LOCAL others can reach the memory of `data`.

    The caller holds `data` in exactly one slot and one local; here the parameter is one more.
    """
    if _count(data) > references + 1:
        return False
    owner = data.base
    if owner is None:
        return bool(data.flags.owndata)
    # Pooled memory: a lease that only `data` refers to (`data.base` and the local here).
    return (
        isinstance(owner, np.ndarray)
        and type(owner) is not np.ndarray
        and type(owner).__module__ == "lazyarray.runtime.pool"
        and _count(owner) <= ONE_SLOT_ONE_LOCAL
    )


class Base:
    """A root in C order. Exactly one of `node` and `memory` is there; `pinned` memory is never taken back."""

    __slots__ = ("memory", "node", "pinned", "spec")

    def __init__(self, node: Node) -> None:
        self.spec: Spec = node.key.spec
        self.node: Node | None = node
        self.memory: Array | None = None
        self.pinned = False

    def reclaim(self) -> Node | None:
        """The current value as a node; None while an exported view of the memory lives."""
        node = self.node
        if node is not None:
            return node
        if self.pinned:
            return None
        memory = self.memory
        assert memory is not None
        if not owns_alone(memory):
            return None
        self.memory = None
        self.node = node = leaf(memory)
        return node

    def export(self) -> Array:
        """The root as memory that the caller may hand out views of (never itself) and write."""
        node = self.node
        if node is None:
            memory = self.memory
            assert memory is not None
            return memory
        if node.data is None:
            boundary.evaluate((node,))
        data = node.data
        assert data is not None
        # One slot (self.node), one local: anything beyond may still read the value that the node has now.
        shared = _count(node) > ONE_SLOT_ONE_LOCAL
        if shared or not owns_alone(data) or not data.flags.writeable:
            data = data.copy()
        self.node = None
        self.memory = data
        return data
