"""Memory that uploads land in: written again only after what used it. No GPU is needed."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from typing import Any

from lazyarray_cupy.landing import Landing

MI = 1 << 20


@dataclass
class Fake:
    """A device's pool, and a stream of kernels: a moment is how many were queued before it."""

    allocated: list[int] = field(default_factory=list)
    queued: int = 0

    def allocate(self, nbytes: int) -> Any:
        self.allocated.append(nbytes)
        return f"memory {len(self.allocated)}"

    def moment(self) -> int:
        return self.queued


def test_memory_is_written_again_after_the_kernels_that_were_queued_with_it() -> None:
    fake = Fake(queued=5)
    landing = Landing(fake.allocate, fake.moment, 64 * MI)
    first = landing.take(3 * MI)
    assert (first.memory, first.moment) == ("memory 1", 5)  # the pool's memory may be in use by all that is queued
    fake.queued = 9
    del first
    fake.queued = 30
    again = landing.take(4 * MI)
    assert (again.memory, again.moment) == ("memory 1", 9)  # later kernels do not delay the copy
    assert landing.take(4 * MI).memory == "memory 2"  # the first is still in use
    assert fake.allocated == [4 * MI] * 2


def test_what_was_given_back_first_is_used_first() -> None:
    fake = Fake()
    landing = Landing(fake.allocate, fake.moment, 64 * MI)
    blocks = [landing.take(MI) for _ in range(3)]
    while blocks:
        fake.queued += 1
        del blocks[0]
    assert [landing.take(MI).moment for _ in range(1)] == [1]
    held = [landing.take(MI) for _ in range(3)]
    assert [block.moment for block in held] == [2, 3, 3]


def test_no_more_is_kept_than_allowed_and_nothing_after_trimming() -> None:
    fake = Fake()
    landing = Landing(fake.allocate, fake.moment, 4 * MI)
    blocks = [landing.take(2 * MI) for _ in range(3)]
    blocks.clear()
    gc.collect()
    held = [landing.take(2 * MI) for _ in range(3)]
    assert len(fake.allocated) == 4  # two of three were kept
    held.clear()
    landing.trim()
    landing.take(2 * MI)
    assert len(fake.allocated) == 5
