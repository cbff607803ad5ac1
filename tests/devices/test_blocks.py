"""Small memory of a device that is handed out again. No GPU is needed."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from typing import Any

import pytest

from lazyarray_cupy import blocks
from lazyarray_cupy.blocks import Blocks

KI = 1 << 10


@dataclass
class Memory:
    """A pool's memory; a stream, too, has its address in `ptr`."""

    ptr: int


@dataclass
class Pool:
    """A device's pool, and the stream that is current."""

    asked: list[int] = field(default_factory=list)
    stream: int = 0

    def fresh(self, nbytes: int) -> Any:
        self.asked.append(nbytes)
        return Memory(4096 * len(self.asked))

    def current(self) -> Any:
        return Memory(self.stream)


@pytest.fixture
def pool() -> Pool:
    return Pool()


@pytest.fixture
def store(pool: Pool) -> Blocks:
    return Blocks(pool.fresh, pool.current)


def test_what_nobody_refers_to_is_handed_out_again_the_last_first(pool: Pool, store: Blocks) -> None:
    first, at_first = store.allocate(1000)
    second, at_second = store.allocate(1024)
    assert at_first != at_second
    del first
    del second
    assert [store.allocate(size)[1] for size in (700, 512 + 1)] == [at_second, at_second]
    assert pool.asked == [KI, KI]


def test_another_size_has_memory_of_its_own(pool: Pool, store: Blocks) -> None:
    block, _ = store.allocate(KI)
    del block
    held = store.allocate(2 * KI)
    assert pool.asked == [KI, 2 * KI]
    del held


def test_memory_that_was_lent_is_not_handed_out_again(pool: Pool, store: Blocks) -> None:
    block, address = store.allocate(KI)
    lent = block.lend()
    assert lent.ptr == address
    del block
    gc.collect()
    assert store.allocate(KI)[1] != address
    assert len(pool.asked) == 2


def test_other_streams_and_large_or_no_memory_are_the_pools(pool: Pool, store: Blocks) -> None:
    pool.stream = 7
    assert type(store.allocate(KI)[0]) is Memory
    pool.stream = 0
    assert type(store.allocate(0)[0]) is Memory
    assert type(store.allocate(2 << 20)[0]) is Memory
    assert pool.asked == [KI, 0, 2 << 20]
    assert store.kept == 0


def test_what_is_kept_is_bounded_and_goes_back_when_it_is_asked_for(
    pool: Pool, store: Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [store.allocate(1 << 20) for _ in range(4)]
    held.clear()
    assert store.kept == 4 << 11
    store.clear()
    assert store.kept == 0
    store.allocate(1 << 20)
    assert len(pool.asked) == 5
    held = [store.allocate(1 << 20) for _ in range(80)]
    held.clear()
    assert 0 < store.kept <= blocks.KEPT


def test_nothing_is_kept_once_the_process_ends(pool: Pool, store: Blocks) -> None:
    spare, _ = store.allocate(KI)
    held, _ = store.allocate(KI)
    del spare
    store.close()
    del held
    assert store.kept == 0
    store.allocate(KI)
    assert len(pool.asked) == 3
