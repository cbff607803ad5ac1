"""As many CPUs are used as the process may run on, and as its control groups grant time of."""

import math
import os

import pytest

from lazyarray.runtime import processors


@pytest.mark.parametrize(("grant", "usable"), [(0.5, 1), (1.0, 1), (1.5, 2), (2.0, 2), (math.inf, 3)])
def test_threads_are_as_many_as_the_grant_covers(monkeypatch: pytest.MonkeyPatch, grant: float, usable: int) -> None:
    monkeypatch.setattr(processors, "_grant", lambda: grant)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2}, raising=False)
    assert processors.usable() == usable
