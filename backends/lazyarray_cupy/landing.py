"""Owns the device memory that uploads land in: a copy on its own stream may write it while earlier kernels still run.

The pool's memory cannot be written so: what was freed there may be in use by kernels that are queued. Blocks that land
here are given back with a moment on the stream of kernels, after which nobody uses them, and the copy into one of them
waits for its moment alone. Nothing here needs a GPU.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final

_GRAIN: Final = 2 << 20  # blocks are multiples of it


class Block:
    """Memory for one array, which goes back when nobody refers to it."""

    __slots__ = ("__weakref__", "_home", "memory", "moment", "nbytes")

    def __init__(self, home: Landing, memory: Any, nbytes: int, moment: Any) -> None:
        self._home = home
        self.memory = memory
        self.nbytes = nbytes
        self.moment = moment  # what was queued before it may still use the memory

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be ending
            self._home.give_back(self.memory, self.nbytes)


class Landing:
    """Blocks of one device.

    `allocate(nbytes)` gives memory of the device's pool; `moment()` a mark behind all kernels that are queued.
    """

    def __init__(self, allocate: Callable[[int], Any], moment: Callable[[], Any], limit: int) -> None:
        self._allocate = allocate
        self._moment = moment
        self._limit = limit  # bytes that are kept for later uploads
        self._kept = 0
        self._free: dict[int, list[tuple[Any, Any]]] = {}  # by size: memory and its moment, the oldest first
        self._lock = threading.RLock()  # collecting garbage may give back while a block is taken

    def take(self, nbytes: int) -> Block:
        """A block of at least so many bytes; whoever writes it waits for its moment first."""
        size = -(-nbytes // _GRAIN) * _GRAIN
        with self._lock:
            free = self._free.get(size)
            if free:
                self._kept -= size
                memory, moment = free.pop(0)
                return Block(self, memory, size, moment)
        memory = self._allocate(size)
        return Block(self, memory, size, self._moment())

    def give_back(self, memory: Any, size: int) -> None:
        """Nobody queues work with the memory any more."""
        with self._lock:
            if self._kept + size <= self._limit:
                self._free.setdefault(size, []).append((memory, self._moment()))
                self._kept += size

    def trim(self) -> None:
        """What is kept goes back to the pool, which hands it out to later kernels only."""
        with self._lock:
            self._free.clear()
            self._kept = 0


__all__ = ["Block", "Landing"]
