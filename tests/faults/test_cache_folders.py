"""A program computes the same whatever is wrong with the folder of its compiled code."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.ecosystem.arrays import run_python

SCRIPT = """
import lazyarray as np
x = np.arange(100000.0)
y = np.sqrt(x) * 2 + x
print(float(y.sum()), float(np.exp(-x).sum()), float(y[::3].max()), y.reshape(100, 1000).sum(axis=0)[7])
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX ownership and limits")


def result(folder: Path, script: str = SCRIPT) -> str:
    return run_python(script, LAZYARRAY_CACHE_DIR=str(folder))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    return result(tmp_path_factory.mktemp("fresh"))


def read_only(folder: Path) -> None:
    folder.chmod(stat.S_IRUSR | stat.S_IXUSR)


def a_file(folder: Path) -> None:
    folder.rmdir()
    folder.write_bytes(b"no folder")


def another_users(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs the right to give files away")
    os.chown(folder, 12345, 12345)


def a_broken_link(folder: Path) -> None:
    folder.rmdir()
    folder.symlink_to(folder.with_name("nowhere"))


@posix
@pytest.mark.parametrize("spoil", [read_only, a_file, another_users, a_broken_link])
def test_a_folder_that_cannot_be_used(spoil: Callable[[Path], None], tmp_path: Path, expected: str) -> None:
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    spoil(folder)
    assert result(folder) == expected
    if spoil is another_users:
        assert list(folder.iterdir()) == []


@posix
def test_a_full_disk(tmp_path: Path, expected: str) -> None:
    """Writes of more than 100 bytes fail, as the last ones on a full disk do."""
    limit = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    assert result(tmp_path, limit + SCRIPT) == expected
    assert not list(tmp_path.glob("*.entry"))
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("damage", [b"", b"\0" * 5000, None], ids=["empty", "zeros", "half"])
def test_corrupt_entries_are_compiled_again(damage: bytes | None, tmp_path: Path, expected: str) -> None:
    assert result(tmp_path) == expected
    entries = list(tmp_path.glob("*.entry"))
    assert entries
    sizes = {path: path.stat().st_size for path in entries}
    for path in entries:
        path.write_bytes(path.read_bytes()[: sizes[path] // 2] if damage is None else damage)
    assert result(tmp_path) == expected
    assert {path: path.stat().st_size for path in tmp_path.glob("*.entry")} == sizes


def test_eight_processes_that_start_at_once_share_a_folder(tmp_path: Path, expected: str) -> None:
    root = Path(__file__).resolve().parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(root), str(root / "backends")]),
        "LAZYARRAY_CACHE_DIR": str(tmp_path),
    }
    command = [sys.executable, "-c", SCRIPT]
    started = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in started:
        out, err = process.communicate(timeout=240)
        assert (process.returncode, err, out) == (0, "", expected)
    assert not list(tmp_path.glob("*.part"))
