"""Owns how many CPUs this process may use: those it may run on, and no more than its control groups grant time of."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find_grant", "usable"]


def usable() -> int:
    """How many threads can run at the same time, at least 1."""
    able = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    grant = _grant()
    return able if grant >= able else max(1, math.ceil(grant))


@functools.cache
def _grant() -> float:
    # Asked once: it is several files.
    return find_grant()


def find_grant(groups: str = "/proc/self/cgroup", root: str = "/sys/fs/cgroup") -> float:
    """How many CPUs' time the process's control groups grant, as containers limit it; infinity where none does.

    `groups` lists the groups, `root` is where they are mounted (man 7 cgroups; cgroup-v2.rst, "CPU Interface Files").
    More threads than that are stopped for a while once they have used up the time of a period.
    """
    grants = [math.inf]
    for folder in _find_folders(groups, root):
        # A file that is not there, or reads "max", or -1: no limit of this group's.
        with contextlib.suppress(OSError, ValueError), open(f"{folder}/cpu.max") as file:
            quota, period = file.read().split()
            grants.append(_share(quota, period))
        name = f"{folder}/cpu.cfs"
        with (
            contextlib.suppress(OSError, ValueError),
            open(f"{name}_quota_us") as file,
            open(f"{name}_period_us") as by,
        ):
            grants.append(_share(file.read(), by.read()))
    return min(grants)


def _share(quota: str, period: str) -> float:
    time, length = int(quota), int(period)
    return time / length if time > 0 and length > 0 else math.inf


def _find_folders(groups: str, root: str) -> Iterator[str]:
    """Those of the groups that may limit time, and of all above them: a container may see its own as the root."""
    lines: list[str] = []
    with contextlib.suppress(OSError), open(groups) as file:
        lines = file.read().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts = [root, f"{root}/unified"]
        elif "cpu" in controllers.split(","):
            mounts = [f"{root}/{controllers}", f"{root}/cpu"]
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for mount in mounts:
            for depth in range(len(parts) + 1):
                yield "/".join([mount, *parts[:depth]])
