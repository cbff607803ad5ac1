"""As many CPUs are used as the process may run on, and as its control groups grant time of."""

import math
import os
from pathlib import Path

import pytest

from lazyarray.runtime import processors


def lay_out(root: Path, groups: str, files: dict[str, str]) -> float:
    """The grant that is found where the process is in these groups, and these files are mounted."""
    for name, text in files.items():
        path = root / "mounted" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "groups").write_text(groups)
    return processors.find_grant(str(root / "groups"), str(root / "mounted"))


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
def test_the_least_grant_of_all_groups_counts(tmp_path: Path, groups: str, files: dict[str, str], grant: float) -> None:
    assert lay_out(tmp_path, groups, files) == grant


def test_a_system_without_control_groups_grants_all(tmp_path: Path) -> None:
    assert processors.find_grant(str(tmp_path / "none"), str(tmp_path)) == math.inf


@pytest.mark.parametrize(("grant", "usable"), [(0.5, 1), (1.0, 1), (1.5, 2), (2.0, 2), (math.inf, 3)])
def test_threads_are_as_many_as_the_grant_covers(monkeypatch: pytest.MonkeyPatch, grant: float, usable: int) -> None:
    monkeypatch.setattr(processors, "_grant", lambda: grant)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2}, raising=False)
    assert processors.usable() == usable
