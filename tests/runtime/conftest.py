"""What several tests of the runtime need."""

from __future__ import annotations

import pytest

from lazyarray.runtime import pool
from lazyarray.runtime.remote import seen


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> pool.MemoryPool:
    """A pool that nothing was taken from yet."""
    made = pool.MemoryPool()
    monkeypatch.setattr(pool, "_default", made)
    monkeypatch.setattr(seen, "any", False)  # other tests' devices
    return made
