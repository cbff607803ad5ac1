"""The host memory pool: uninitialised arrays over page-mapped memory that is used again when they die.

Fresh pages are the largest cost of a big result: the system zeroes each one at its first touch. A block
therefore goes back to a free list when the last array over it dies, and the next array of its size class is
made of it.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import operator
import os
import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, SupportsIndex

import numpy as np

from lazyarray.native.primitives import empty_of  # cimport
from lazyarray.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

__all__ = ["MemoryPool", "PoolStats", "allocate", "default_pool", "reserve", "stats", "trim"]

# Below it, malloc gives memory that was touched before, too: ten times as fast (0.14 us against 1.7).
_POOLED_FROM = 512 << 10
_HUGE_PAGE = 2 << 20
_MAX_IDLE = 1 << 30
# Bytes that the pool may hold beyond the most that were in use at once. A program whose arrays change their sizes
# would else gather idle blocks of all of them.
_SLACK = 32 << 20
_BYTE = np.dtype(np.uint8)
# Blocks start at different places modulo 4 KiB and the cache's sets. With all at one place a loop over 13
# arrays of 8 MiB took 2.6 times as long (5 arrays: 1.3 times); which distance apart made no difference.
_STAGGER, _PLACES = 17 * 64, 31


class PoolStats(NamedTuple):
    """What a pool holds and did; bytes are of whole blocks."""

    bytes_in_use: int
    bytes_idle: int
    bytes_peak: int
    allocations: int
    reuses: int


class _Block:
    """One mapped range of memory, aligned for vectors and, from 2 MiB, for huge pages."""

    __slots__ = ("memory", "offset", "owner", "size")

    def __init__(self, owner: MemoryPool, size: int, number: int) -> None:
        self.owner = owner
        self.size = size
        self.offset = number % _PLACES * _STAGGER
        # Address space, not memory: pages that no array reaches are never touched.
        room = size + _PLACES * _STAGGER + (_HUGE_PAGE if size >= _HUGE_PAGE else 0)
        if hasattr(mmap, "MAP_ANONYMOUS"):
            # Not mmap's default of MAP_SHARED: a forked child must not write into its parent's arrays.
            self.memory = mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        else:
            self.memory = mmap.mmap(-1, room)
        if size >= _HUGE_PAGE:
            address: int = np.frombuffer(self.memory, _BYTE).__array_interface__["data"][0]
            first = -address % _HUGE_PAGE
            self.offset += first
            if hasattr(mmap, "MADV_HUGEPAGE"):
                # Not the last, partial page: touching its beginning would take all of it.
                whole = (self.offset + size - first) & -_HUGE_PAGE
                with contextlib.suppress(OSError):  # kernels built without huge pages
                    self.memory.madvise(mmap.MADV_HUGEPAGE, first, whole)


class _Lease(np.ndarray[Any, Any]):
    """The base of a pooled array and all its views; gives the block back when the last of them dies.

    NumPy shortens a view's chain of bases only through plain arrays, so it stops at this subclass.
    """

    block: _Block | None = None  # an instance has it; views taken of a lease itself do not

    def __del__(self) -> None:
        block = self.block
        if block is not None:
            block.owner._give_back(block)


# What pooled arrays have for a base, where NumPy's own their memory.
LEASE: Final[type] = _Lease


def _size_class(nbytes: int) -> int:
    # Eight classes to a power of two: at most an eighth of the request is waste.
    step = 1 << max((nbytes - 1).bit_length() - 4, 12)
    return (nbytes + step - 1) & -step


def _usable_memory() -> int:
    total = 8 << 30
    with contextlib.suppress(AttributeError, ValueError, OSError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # A container's own limit; it reads "max" when there is none.
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as file:
        total = min(total, int(file.read()))
    return total


class MemoryPool:
    """Blocks by size class, with at most `max_idle` bytes of them idle (1 GiB or an eighth of the memory)."""

    def __init__(self, max_idle: int | None = None) -> None:
        self._max_idle = max_idle if max_idle is not None else min(_MAX_IDLE, _usable_memory() // 8)
        self._lock = threading.Lock()
        # Filled by finalisers, which may run at any instruction, the pool's own included: they only append.
        self._returned: deque[_Block] = deque()
        self._free: dict[int, deque[_Block]] = {}
        self._by_age: dict[int, _Block] = {}  # by id, in the order of return
        self._idle = self._in_use = self._peak = 0
        self._allocations = self._reuses = 0

    @property
    def max_idle(self) -> int:
        """How many idle bytes are kept at most."""
        return self._max_idle

    @max_idle.setter
    def max_idle(self, value: int) -> None:
        with self._lock:
            self._max_idle = value
            dropped = self._collect(value)
        dropped.clear()

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
        kind = dtype if type(dtype) is np.dtype else np.dtype(dtype)
        extents = shape if type(shape) is tuple else _extents(shape)
        itemsize = kind.itemsize
        nbytes = math.prod(extents) * itemsize
        if type(nbytes) is not int:  # NumPy integers among the extents would overflow in silence
            extents = _extents(extents)
            nbytes = math.prod(extents) * itemsize
        strides = None if strides_perm is None else _strides(extents, itemsize, strides_perm)
        if nbytes < _POOLED_FROM or kind.hasobject:
            return _plain(extents, kind, order, strides_perm)
        block = self._take(nbytes)
        if block is None:
            return _plain(extents, kind, order, strides_perm)
        lease = _Lease((block.size,), _BYTE, block.memory, block.offset)
        lease.block = block
        return np.ndarray(extents, kind, lease, 0, strides, order)

    def _take(self, nbytes: int) -> _Block | None:
        """A block for a request; None when the system has none (np.empty then words the error)."""
        size = _size_class(nbytes)
        dropped: list[_Block] = []
        returned = self._returned
        with self._lock:
            self._allocations += 1
            if returned:
                block = returned.pop()
                if block.size == size:  # the common case in a loop: what died last is wanted again
                    self._reuses += 1
                    return block
                returned.append(block)
                dropped = self._collect(self._max_idle)
            found = self._idle_block(size)
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
                block = _Block(self, size, self._allocations)
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

    def _idle_block(self, size: int) -> _Block | None:
        """Under the lock: the idle block that wastes least, at most half of it."""
        free = self._free
        chosen = size if size in free else min([other for other in free if size < other <= 2 * size], default=0)
        if not chosen:
            return None
        shelf = free[chosen]
        block = shelf.pop()
        if not shelf:
            del free[chosen]
        del self._by_age[id(block)]
        self._idle -= chosen
        return block

    def _give_back(self, block: _Block) -> None:
        self._returned.append(block)
        # Up to eight blocks wait for the next allocation to shelve them, if so many could not pass the bound.
        if self._idle + 8 * block.size <= self._max_idle and len(self._returned) <= 8:
            return
        # Never wait here: the thread that runs this finaliser may be the one that holds the lock.
        if self._lock.acquire(blocking=False):
            try:
                dropped = self._collect(self._max_idle)
            finally:
                self._lock.release()
            dropped.clear()

    def _collect(self, keep: int) -> list[_Block]:
        """Under the lock: shelve what was returned; the oldest blocks beyond `keep` bytes, to be dropped."""
        returned = self._returned
        while returned:
            block = returned.popleft()
            size = block.size
            self._in_use -= size
            self._idle += size
            shelf = self._free.get(size)
            if shelf is None:
                shelf = self._free[size] = deque()
            shelf.append(block)
            self._by_age[id(block)] = block
        dropped: list[_Block] = []
        while self._idle > keep:
            oldest = next(iter(self._by_age))
            block = self._by_age.pop(oldest)
            shelf = self._free[block.size]
            shelf.popleft()  # blocks are taken at the right, so the left one is the oldest of its class
            if not shelf:
                del self._free[block.size]
            self._idle -= block.size
            dropped.append(block)
        return dropped

    def trim(self, keep: int = 0) -> None:
        """Give idle memory beyond `keep` bytes back to the system, the longest unused first."""
        with self._lock:
            dropped = self._collect(keep)
        dropped.clear()

    def stats(self) -> PoolStats:
        """What the pool holds and did so far."""
        with self._lock:
            dropped = self._collect(self._max_idle)
            record = PoolStats(self._in_use, self._idle, self._peak, self._allocations, self._reuses)
        dropped.clear()
        return record

    def _after_fork(self) -> None:
        self._lock = threading.Lock()  # another thread of the parent may have held it


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
_default_lock = threading.Lock()


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
    _default_lock = threading.Lock()
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
    return (_default or default_pool()).allocate(shape, dtype)


def trim(keep: int = 0) -> None:
    """Give the process's idle pooled memory back to the system."""
    default_pool().trim(keep)


def stats() -> PoolStats:
    """What the process's pool holds and did so far."""
    return default_pool().stats()
