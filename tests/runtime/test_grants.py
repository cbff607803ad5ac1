"""The least of what a process's control groups grant it, by files of either version, is what it may use."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from lazyarray.runtime import grants


def lay_out(find: Callable[[str, str], float], root: Path, groups: str, files: dict[str, str]) -> float:
    """The grant that is found where the process is in these groups, and these files are mounted."""
    for name, text in files.items():
        path = root / "mounted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "groups").write_text(groups)
    return find(str(root / "groups"), str(root / "mounted"))


@pytest.mark.parametrize(
    ("groups", "files", "grant"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {}, math.inf),
        (
            "0::/a/b\n",
            {"cpu.max": "max 100000\n", "a/cpu.max": "200000 100000\n", "a/b/cpu.max": "400000 100000\n"},
            2.0,
        ),
        ("0::/elsewhere\n", {"cpu.max": "50000 100000\n"}, 0.5),
        ("1:cpu:/\n0::/\n", {"unified/cpu.max": "300000 100000\n"}, 3.0),
        (
            "4:memory:/x\n3:cpu,cpuacct:/x\n",
            {"cpu,cpuacct/x/cpu.cfs_quota_us": "250000\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"},
            2.5,
        ),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ("1:cpuset:/\n", {"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, math.inf),
        ("0::/\n", {"cpu.max": "something else\n"}, math.inf),
        ("0::/\n", {"cpu.max": "100000 0\n"}, math.inf),
    ],
)
def test_the_least_time_of_all_groups_counts(tmp_path: Path, groups: str, files: dict[str, str], grant: float) -> None:
    assert lay_out(grants.find_cpus, tmp_path, groups, files) == grant


@pytest.mark.parametrize(
    ("groups", "files", "grant"),
    [
        ("0::/\n", {"memory.max": "1000000\n"}, 1_000_000),
        ("0::/\n", {"memory.max": "max\n"}, math.inf),
        ("0::/\n", {}, math.inf),
        ("0::/a/b\n", {"memory.max": "max\n", "a/memory.max": "3000\n", "a/b/memory.max": "4000\n"}, 3000),
        ("4:memory:/x\n3:cpu:/x\n", {"memory/x/memory.limit_in_bytes": "5000\n"}, 5000),
        ("3:cpu:/x\n", {"memory/x/memory.limit_in_bytes": "5000\n"}, math.inf),
    ],
)
def test_the_least_memory_of_all_groups_counts(
    tmp_path: Path, groups: str, files: dict[str, str], grant: float
) -> None:
    assert lay_out(grants.find_memory, tmp_path, groups, files) == grant


def test_a_system_without_control_groups_grants_all(tmp_path: Path) -> None:
    for find in (grants.find_cpus, grants.find_memory):
        assert find(str(tmp_path / "none"), str(tmp_path)) == math.inf
