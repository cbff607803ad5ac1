"""Owns small memory of a device that comes and goes: what nobody refers to any more is handed out again.

A pool's memory takes most of a microsecond to be had, and half of one to go back; a program of small arrays asks for as
much again with each evaluation. As in the pool, what was given back last is handed out first, to work that is queued
behind all that used it: on the device's default stream alone. Nothing here needs a GPU.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

# The build reads such imports by the line.
# isort: split
from lazyarray.native.primitives import create  # cimport

GRAIN: Final = 9  # sizes are multiples of 512 bytes, as the pool's are
LARGEST: Final = 1 << 11  # of 512 bytes: work on more memory takes the device longer than the host
KEPT: Final = 1 << 17  # of 512 bytes: what is kept for later


class Block:
    """Memory for one value. `home`: where it goes when nobody refers to it; None once others may know the memory."""

    __slots__ = ("_home", "_memory", "_size", "_store")

    _home: list[Any] | None
    _memory: tuple[Any, int]
    _size: int
    _store: Blocks

    def lend(self) -> Any:
        """The pool's memory, which whoever asks for it may hold longer than the block is there."""
        self._home = None
        return self._memory[0]

    def __del__(self) -> None:
        home = self._home
        store = self._store
        if home is not None and not store.closed:
            if store.kept + self._size > KEPT:
                store.clear()
            store.kept += self._size
            home.append(self._memory)


class Blocks:
    """What is kept of one device's memory.

    `fresh(nbytes)`: memory of the pool; `current()`: the stream that work is queued on. Both have addresses in `ptr`.
    """

    __slots__ = ("_current", "_fresh", "_homes", "closed", "kept")

    def __init__(self, fresh: Callable[[int], Any], current: Callable[[], Any]) -> None:
        self._fresh = fresh
        self._current = current
        self._homes: dict[int, list[Any]] = {}  # by size: memory and its address
        self.kept = 0
        self.closed = False

    def allocate(self, nbytes: int) -> tuple[Any, int]:
        """Memory and its address."""
        size = (nbytes + 511) >> GRAIN
        memory: tuple[Any, int]
        if not 0 < size <= LARGEST or self._current().ptr:
            given = self._fresh(nbytes)
            return given, given.ptr
        home = self._homes.get(size)
        if home is None:
            home = self._homes[size] = []
        if home:
            memory = home.pop()
            self.kept -= size
        else:
            given = self._fresh(size << GRAIN)
            memory = (given, given.ptr)
        block: Block = create(Block)
        block._home = home
        block._memory = memory
        block._size = size
        block._store = self
        return block, memory[1]

    def clear(self) -> None:
        """What is kept goes back to the pool."""
        self.kept = 0
        for home in list(self._homes.values()):
            home.clear()

    def close(self) -> None:
        """Keeps nothing from now on: the process ends, and the pool takes nothing back later."""
        self.closed = True
        self.clear()


__all__ = ["Block", "Blocks"]
