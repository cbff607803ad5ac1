"""Owns what the process's control groups grant it, as containers limit it: CPU time and memory.

Man 7 cgroups; cgroup-v2.rst, "CPU Interface Files" and "Memory Interface Files", and the files of the older version.
"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GROUPS", "ROOT", "find_cpus", "find_memory"]

GROUPS: Final = "/proc/self/cgroup"  # lists the groups
ROOT: Final = "/sys/fs/cgroup"  # where they are mounted


def find_cpus(groups: str = GROUPS, root: str = ROOT) -> float:
    """How many CPUs' time all groups grant; infinity where none limits it.

    More threads than that are stopped for a while once they have used up the time of a period.
    """
    grants = [math.inf]
    for folder in _find_folders("cpu", groups, root):
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


def find_memory(groups: str = GROUPS, root: str = ROOT) -> float:
    """How many bytes all groups grant; infinity where none limits them."""
    grants = [math.inf]
    for folder in _find_folders("memory", groups, root):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with contextlib.suppress(OSError, ValueError), open(f"{folder}/{name}") as file:
                grants.append(int(file.read()))
    return min(grants)


def _share(quota: str, period: str) -> float:
    time, length = int(quota), int(period)
    return time / length if time > 0 and length > 0 else math.inf


def _find_folders(controller: str, groups: str, root: str) -> Iterator[str]:
    """Those of the groups that the controller may limit, and of all above them: a container may see its own as the
    root."""
    lines: list[str] = []
    with contextlib.suppress(OSError), open(groups) as file:
        lines = file.read().splitlines()
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            mounts = [root, f"{root}/unified"]
        elif controller in controllers.split(","):
            mounts = [f"{root}/{controllers}", f"{root}/{controller}"]
        else:
            continue
        parts = [part for part in path.split("/") if part]
        for mount in mounts:
            for depth in range(len(parts) + 1):
                yield "/".join([mount, *parts[:depth]])
