"""The host memory pool: uninitialised arrays over page-mapped memory that is used again when they die.

Fresh pages are the largest cost of a big result: the system zeroes each one at its first touch. A block
therefore goes back to a shelf when the last array over it dies, and later arrays are made of it (see `blocks`).
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, SupportsIndex

import numpy as np

from lazyarray.native.leases import leased, lend  # cimport
from lazyarray.native.primitives import empty_of  # cimport
from lazyarray.records import NamedTuple
from lazyarray.runtime import grants
from lazyarray.runtime.blocks import LEAST, Shelves, map_block

# The build reads such imports by the line.
# isort: split
from lazyarray.runtime.blocks import Block, Owner, Returned, size_class  # cimport

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["MemoryPool", "PoolStats", "allocate", "default_pool", "is_lease", "reserve", "stats", "trim"]

# Below it, malloc gives memory that was touched before, too: ten times as fast (0.14 us against 1.7).
_POOLED_FROM = LEAST
_MAX_IDLE = 1 << 30
# Bytes that the pool may hold beyond the most that were in use at once. A program whose arrays change their sizes
# would else gather idle blocks of all of them.
_SLACK = 16 << 20
_dtype: Final = np.dtype
_ORDERS = frozenset("CF")  # NumPy knows others, and words the errors
_MOST = sys.maxsize >> 1  # bytes: no system has more


class PoolStats(NamedTuple):
    """What a pool holds and did; bytes are of whole blocks."""

    bytes_in_use: int
    bytes_idle: int
    bytes_peak: int
    allocations: int
    reuses: int


def _usable_memory() -> int:
    total = 8 << 30
    with contextlib.suppress(AttributeError, ValueError, OSError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(min(total, grants.find_memory()))


class MemoryPool(Owner):
    """Blocks that are used again, with at most `max_idle` bytes of them idle (1 GiB or an eighth of the memory)."""

    __slots__ = ("_allocations", "_in_use", "_lock", "_max_idle", "_peak", "_returned", "_reuses", "_shelves")

    def __init__(self, max_idle: int | None = None) -> None:
        self._max_idle = max_idle if max_idle is not None else min(_MAX_IDLE, _usable_memory() // 8)
        self._lock = threading.RLock()  # its thread is told: a signal handler may come while the books are open
        self._returned = Returned()
        self._shelves = Shelves()
        self._in_use = self._peak = 0
        self._allocations = self._reuses = 0

    @property
    def max_idle(self) -> int:
        """How many idle bytes are kept at most."""
        return self._max_idle

    @max_idle.setter
    def max_idle(self, value: int) -> None:
        self._max_idle = value
        self.trim(value)

    def allocate(
        self,
        shape: SupportsIndex | Sequence[int],
        dtype: DTypeLike,
        order: Literal["C", "F"] = "C",
        strides_perm: Sequence[int] | None = None,
    ) -> np.ndarray[Any, Any]:
        """An uninitialised array, 64-byte aligned unless small; `np.empty` in meaning and in errors.

        `strides_perm` lists the axes from the slowest to the fastest in memory; it stands instead of `order`.
        """
        kind = dtype if isinstance(dtype, _dtype) else _dtype(dtype)
        extents = shape if type(shape) is tuple else _extents(shape)
        itemsize = kind.itemsize
        nbytes = math.prod(extents) * itemsize
        if type(nbytes) is not int:  # NumPy integers among the extents would overflow in silence
            extents = _extents(extents)
            nbytes = math.prod(extents) * itemsize
        strides = None if strides_perm is None else _strides(extents, itemsize, strides_perm)
        if nbytes < _POOLED_FROM or kind.hasobject or kind.subdtype is not None or order not in _ORDERS:
            return _plain(extents, kind, order, strides_perm)
        if order == "F" and strides is None:
            strides = _strides(extents, itemsize, range(len(extents) - 1, -1, -1))
        made = self.lend(extents, kind, nbytes, strides) if nbytes <= _MOST else None
        return _plain(extents, kind, order, strides_perm) if made is None else made

    def lend(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int, strides: tuple[int, ...] | None
    ) -> np.ndarray[Any, Any] | None:
        """An array over a block; None where there is none, or NumPy has no such arrays: it then words the error."""
        block = self._take(nbytes)
        if block is None:
            return None
        try:
            made: np.ndarray[Any, Any] = lend(block, shape, dtype, strides)
        except Exception:
            self.take_back(block)
            return None
        return made

    def _take(self, nbytes: int) -> Block | None:
        """A block for a request; None when the system has none (np.empty then words the error), or nobody may wait.

        A signal handler, or a finaliser, that runs where this thread has the books open cannot wait for itself.
        """
        size = size_class(nbytes)
        self._allocations += 1
        block = self._returned.take(size)
        if block is not None:  # the common case in a loop: what died is wanted again
            self._reuses += 1
            return block
        if self._writes_here():
            self._allocations -= 1
            return None
        with self._lock:
            dropped = self._collect(self._max_idle)
            found = self._shelves.take(size, self._allocations)
            self._in_use += size if found is None else found.size
            most = max(self._peak, self._in_use)
            if found is not None:
                self._peak = most
                self._reuses += 1
                return found
            dropped += self._collect(min(self._max_idle, most + _SLACK - self._in_use))
        dropped.clear()
        for attempt in range(2):
            try:
                block = map_block(self, size, self._allocations)
                with self._lock:
                    self._peak = max(self._peak, most)
                return block
            except (OSError, ValueError, OverflowError, MemoryError):
                if attempt == 0:
                    self.trim()
        with self._lock:
            self._in_use -= size
            self._allocations -= 1
        return None

    def take_back(self, block: Block) -> None:
        """A block of this pool, whose memory nothing shows any more."""
        # Up to eight blocks wait for the next allocation to shelve them, if so many could not pass the bound.
        if self._returned.put(block) <= 8 and self._shelves.idle + 8 * block.size <= self._max_idle:
            return
        # Never wait here: the thread that has the books open may need the interpreter's lock.
        if not self._writes_here() and self._lock.acquire(blocking=False):
            try:
                dropped = self._collect(self._max_idle)
            finally:
                self._lock.release()
            dropped.clear()

    def _collect(self, keep: int) -> list[Block]:
        """Under the lock: shelve what was returned; the oldest blocks beyond `keep` bytes, to be dropped."""
        returned, shelves = self._returned, self._shelves
        while (block := returned.first()) is not None:
            self._in_use -= block.size
            shelves.put(block)
        return shelves.drop(keep)

    def trim(self, keep: int = 0) -> None:
        """Give idle memory beyond `keep` bytes back to the system, the longest unused first."""
        if self._writes_here():  # what is idle is dropped by a later allocation
            return
        with self._lock:
            dropped = self._collect(keep)
        dropped.clear()

    def stats(self) -> PoolStats:
        """What the pool holds and did so far."""
        self.trim(self._max_idle)
        return PoolStats(self._in_use, self._shelves.idle, self._peak, self._allocations, self._reuses)

    def _writes_here(self) -> bool:
        """True where this thread has the lock: it was interrupted with the books open."""
        return self._lock._is_owned()  # type: ignore[attr-defined, no-any-return]

    def _after_fork(self) -> None:
        self._lock = threading.RLock()  # another thread of the parent may have held it


def _extents(shape: SupportsIndex | Sequence[int]) -> tuple[int, ...]:
    if isinstance(shape, SupportsIndex):
        return (shape.__index__(),)
    return tuple(map(operator.index, shape))


def _strides(extents: tuple[int, ...], itemsize: int, perm: Sequence[int]) -> tuple[int, ...]:
    if sorted(perm) != list(range(len(extents))):
        raise ValueError("axes don't match array")
    strides = [0] * len(extents)
    stride = itemsize
    for axis in reversed(perm):
        strides[axis] = stride
        stride *= max(extents[axis], 1)
    return tuple(strides)


def _plain(
    extents: tuple[int, ...], kind: np.dtype[Any], order: Literal["C", "F"], perm: Sequence[int] | None
) -> np.ndarray[Any, Any]:
    if perm is None:
        return np.empty(extents, kind, order)
    inverse = [0] * len(perm)
    for place, axis in enumerate(perm):
        inverse[axis] = place
    return np.empty([extents[axis] for axis in perm], kind).transpose(inverse)


_default: MemoryPool | None = None
_default_lock = threading.RLock()


def default_pool() -> MemoryPool:
    """The process's pool."""
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                _default = MemoryPool()
    return _default


def _after_fork() -> None:
    global _default_lock
    _default_lock = threading.RLock()
    if _default is not None:
        _default._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def allocate(
    shape: SupportsIndex | Sequence[int],
    dtype: DTypeLike,
    order: Literal["C", "F"] = "C",
    strides_perm: Sequence[int] | None = None,
) -> np.ndarray[Any, Any]:
    """An uninitialised array over the process's pool (see `MemoryPool.allocate`)."""
    return (_default or default_pool()).allocate(shape, dtype, order, strides_perm)


def reserve(shape: tuple[int, ...], dtype: np.dtype[Any], nbytes: int) -> np.ndarray[Any, Any]:
    """`allocate` for a plain shape, whose bytes are known, and a dtype of numbers."""
    if nbytes < _POOLED_FROM:
        made: np.ndarray[Any, Any] = empty_of(shape, dtype)
        return made
    pool: MemoryPool = _default or default_pool()
    found = pool.lend(shape, dtype, nbytes, None)
    return _plain(shape, dtype, "C", None) if found is None else found


def is_lease(owner: Any) -> bool:
    """True for what pooled arrays have for a base, where NumPy's own have none."""
    return leased(owner)


def trim(keep: int = 0) -> None:
    """Give the process's idle pooled memory back to the system."""
    default_pool().trim(keep)


def stats() -> PoolStats:
    """What the process's pool holds and did so far."""
    return default_pool().stats()
