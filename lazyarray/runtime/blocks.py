"""Owns blocks of page-mapped memory: parts of mapped regions, idle ones taken by size, joined and dropped by age.

A block that is too large is cut in two, and blocks that lie side by side are one again when both are idle.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import contextlib
import mmap
from bisect import bisect_left, insort
from typing import Final

import numpy as np

LEAST: Final = 512 << 10  # bytes of the smallest block that is worth keeping apart
_HUGE_PAGE: Final = 2 << 20
# Blocks start at different places modulo 4 KiB and the cache's sets. With all at one place a loop over 13
# arrays of 8 MiB took 2.6 times as long (5 arrays: 1.3 times); which distance apart made no difference.
_STAGGER, _PLACES = 17 * 64, 31
_ROOM: Final = (_PLACES * _STAGGER + 4095) & -4096  # for that: address space, not memory, where nothing reaches it
_MOST_PARTS: Final = 16  # a block is cut for at least such a part of it: small arrays leave the large ones whole
_BYTE: Final = np.dtype(np.uint8)


def size_class(nbytes: int) -> int:
    """Bytes of the block for so many: eight classes to a power of two, so that an eighth at most is waste."""
    step = 1 << 12
    while step << 4 < nbytes:
        step <<= 1
    return (nbytes + step - 1) & -step


def _map(room: int) -> mmap.mmap:
    if hasattr(mmap, "MAP_ANONYMOUS"):
        # Not mmap's default of MAP_SHARED: a forked child must not write into its parent's arrays.
        return mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return mmap.mmap(-1, room)


class Owner:
    """Who blocks go back to."""

    __slots__ = ()

    def take_back(self, block: Block) -> None:
        """A block of this owner, whose memory nothing shows any more."""
        raise NotImplementedError


class Block:
    """A part of a mapped region, aligned for vectors.

    `size`: bytes for an array, from `address` on, which is `offset` of the region's `memory`. `before`, `after`: the
    blocks beside it in the region. `warm`: of an idle block, how many of its bytes may be in memory.
    """

    __slots__ = ("address", "after", "before", "idle", "memory", "offset", "owner", "region", "size", "start", "warm")

    def __init__(self, owner: Owner, memory: mmap.mmap, region: int, start: int, size: int, number: int) -> None:
        self.owner = owner
        self.memory = memory
        self.region = region  # its address
        self.start = start
        self.size = size
        self.offset = start + number % _PLACES * _STAGGER
        self.address = region + self.offset
        self.before: Block | None = None
        self.after: Block | None = None
        self.idle = False
        self.warm = 0

    def cut(self, size: int, number: int) -> Block:
        """Shortens the block to `size` bytes: the rest, as a block after it."""
        start = self.start + size + _ROOM
        rest = Block(self.owner, self.memory, self.region, start, self.size - size - _ROOM, number)
        rest.warm = max(0, self.warm - size)
        self.size = size
        rest.before, rest.after = self, self.after
        if rest.after is not None:
            rest.after.before = rest
        self.after = rest
        return rest

    def join(self, following: Block) -> None:
        """Makes the block after this one a part of it."""
        self.size += following.size + _ROOM
        self.warm += following.warm
        self.after = following.after
        if self.after is not None:
            self.after.before = self

    def give_back(self) -> None:
        """Nothing shows the memory any more."""
        self.owner.take_back(self)

    def cool(self) -> bool:
        """Gives the pages back to the system and keeps their addresses; False where the system cannot."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return False
        try:
            self.memory.madvise(mmap.MADV_DONTNEED, self.start, self.size + _ROOM)
        except (OSError, ValueError):
            return False
        self.warm = 0
        return True


def map_block(owner: Owner, size: int, number: int) -> Block:
    """A block that is a mapped region, from 2 MiB on aligned for huge pages.

    Raises what `mmap` raises where the system has no such memory.
    """
    memory = _map(size + _ROOM + (_HUGE_PAGE if size >= _HUGE_PAGE else 0))
    address: int = np.frombuffer(memory, _BYTE).__array_interface__["data"][0]
    first = -address % _HUGE_PAGE if size >= _HUGE_PAGE else 0
    made = Block(owner, memory, address, first, size, number)
    if size >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        # Not the last, partial page: touching its beginning would take all of it.
        whole = (made.offset + size - first) & -_HUGE_PAGE
        with contextlib.suppress(OSError):  # kernels built without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE, first, whole)
    return made


class Returned:
    """Blocks that came back and are not on shelves yet, the last of them last.

    Finalisers, which may run at any instruction, put blocks here, and any thread takes them: each does it in one step
    of the interpreter, without a lock.
    """

    __slots__ = ("_blocks",)

    def __init__(self) -> None:
        self._blocks: list[Block] = []

    def put(self, block: Block) -> int:
        """Puts a block here; how many there are then."""
        self._blocks.append(block)
        return len(self._blocks)

    def take(self, size: int) -> Block | None:
        """The last block of this size."""
        blocks = self._blocks
        for at in range(len(blocks) - 1, -1, -1):
            try:
                block = blocks[at]
                if block.size != size:
                    continue
                block = blocks.pop() if at == len(blocks) - 1 else blocks.pop(at)
            except IndexError:  # another thread has taken one
                continue
            if block.size == size:
                return block
            blocks.append(block)
        return None

    def first(self) -> Block | None:
        """The block that has been here longest, taken; None where there is none."""
        try:
            return self._blocks.pop(0) if self._blocks else None
        except IndexError:  # another thread has taken it
            return None


class Shelves:
    """Idle blocks, by size and by age. Whoever calls has the pool's lock."""

    __slots__ = ("_by_age", "_by_size", "_sizes", "idle")

    def __init__(self) -> None:
        self.idle = 0  # bytes of them that may be in memory
        self._sizes: list[int] = []  # in order
        self._by_size: dict[int, dict[int, Block]] = {}  # by id, the last put there last
        self._by_age: dict[int, Block] = {}  # by id, the longest unused first; without cool ones

    def take(self, size: int, number: int) -> Block | None:
        """The idle block that wastes least, cut to size where more than an eighth would be wasted."""
        sizes = self._sizes
        at = bisect_left(sizes, size)
        if at == len(sizes) or sizes[at] > _MOST_PARTS * size:
            return None
        shelf = self._by_size[sizes[at]]
        block = shelf[next(reversed(shelf))]
        self._remove(block)
        rest = block.size - size - _ROOM
        if rest >= LEAST and 8 * rest > size:
            self._add(block.cut(size, number))
        return block

    def put(self, block: Block) -> None:
        """Takes a block that nobody uses any more; those beside it become a part of it if they are idle."""
        block.warm = block.size
        before, after = block.before, block.after
        if after is not None and after.idle:
            self._remove(after)
            block.join(after)
        if before is not None and before.idle:
            self._remove(before)
            before.join(block)
            block = before
        self._add(block)

    def drop(self, keep: int) -> list[Block]:
        """The longest unused blocks beyond `keep` bytes, to be forgotten; parts of regions in use are cooled here."""
        dropped: list[Block] = []
        if self.idle <= keep:
            return dropped
        for block in list(self._by_age.values()):
            if self.idle <= keep:
                break
            if block.before is None and block.after is None:
                self._remove(block)
                dropped.append(block)
            else:
                warm = block.warm
                if block.cool():
                    self.idle -= warm
                    del self._by_age[id(block)]
        return dropped

    def _add(self, block: Block) -> None:
        block.idle = True
        shelf = self._by_size.get(block.size)
        if shelf is None:
            shelf = self._by_size[block.size] = {}
            insort(self._sizes, block.size)
        shelf[id(block)] = block
        if block.warm:
            self._by_age[id(block)] = block
            self.idle += block.warm

    def _remove(self, block: Block) -> None:
        block.idle = False
        shelf = self._by_size[block.size]
        del shelf[id(block)]
        if not shelf:
            del self._by_size[block.size]
            del self._sizes[bisect_left(self._sizes, block.size)]
        if self._by_age.pop(id(block), None) is not None:
            self.idle -= block.warm
