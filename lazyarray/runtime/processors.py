"""Owns how many CPUs this process may use: those it may run on, and no more than its control groups grant time of."""

from __future__ import annotations

import functools
import math
import os

from lazyarray.runtime import grants

__all__ = ["usable"]


def usable() -> int:
    """How many threads can run at the same time, at least 1."""
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    grant = _grant()
    return able if grant >= able else max(1, math.ceil(grant))


@functools.cache
def _grant() -> float:
    # Asked once: it is several files.
    return grants.find_cpus()
