"""The disk cache returns what was stored and nothing else, whatever happens to its files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lazyarray.config import config
from lazyarray.runtime import cache as cache_module
from lazyarray.runtime.cache import KernelCache

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX ownership and modes")


def entries(root: Path) -> list[Path]:
    return sorted(root.glob("*.entry"))


def test_load_returns_what_was_stored(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "a" / "b", "llvm 1")
    assert cache.load("key") is None
    for payload in (b"", b"x", os.urandom(100_000)):
        cache.store("key", payload)
        assert cache.load("key") == payload
        assert KernelCache(tmp_path / "a" / "b", "llvm 1").load("key") == payload
    assert len(entries(tmp_path / "a" / "b")) == 1
    assert cache.load("other key") is None


def test_another_fingerprint_sees_nothing_and_destroys_nothing(tmp_path: Path) -> None:
    KernelCache(tmp_path, "cpu 1").store("key", b"one")
    KernelCache(tmp_path, "cpu 2").store("key", b"two")
    assert KernelCache(tmp_path, "cpu 3").load("key") is None
    assert KernelCache(tmp_path, "cpu 1").load("key") == b"one"
    assert KernelCache(tmp_path, "cpu 2").load("key") == b"two"


def test_every_flipped_byte_and_every_length_is_refused_and_removed(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, "f")
    cache.store("key", b"machine code")
    (path,) = entries(tmp_path)
    good = path.read_bytes()
    bad = [good[:length] for length in range(len(good))]
    bad += [good[:i] + bytes([good[i] ^ 0x41]) + good[i + 1 :] for i in range(len(good))]
    bad += [good + b"\0", os.urandom(4096)]
    for data in bad:
        path.write_bytes(data)
        assert cache.load("key") is None
        assert not path.exists()
    path.write_bytes(good)
    assert cache.load("key") == b"machine code"


def test_an_entry_moved_to_another_key_is_refused(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, "f")
    cache.store("first", b"1")
    (first,) = entries(tmp_path)
    data = first.read_bytes()
    first.unlink()
    cache.store("second", b"2")
    (second,) = entries(tmp_path)
    second.write_bytes(data)
    assert cache.load("second") is None


@posix_only
def test_folder_and_files_are_private(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "new", "f")
    cache.store("key", b"x")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    (path,) = entries(tmp_path / "new")
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@posix_only
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_not_used(tmp_path: Path, mode: int) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    root.chmod(mode)
    cache = KernelCache(root, "f")
    cache.store("key", b"x")
    assert cache.folder is None
    assert list(root.iterdir()) == []
    assert cache.load("key") is None


@posix_only
def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, "f")
    cache.store("key", b"x")
    (path,) = entries(tmp_path)
    path.chmod(0o666)
    assert cache.load("key") is None
    assert not path.exists()


@posix_only
def test_a_foreign_owner_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    KernelCache(tmp_path, "f").store("key", b"x")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert KernelCache(tmp_path, "f").load("key") is None


def test_what_cannot_be_written_is_not_stored_and_does_not_raise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    cache = KernelCache(blocked / "below", "f")
    cache.store("key", b"x")
    assert cache.load("key") is None

    cache = KernelCache(tmp_path / "full", "f")
    assert cache.folder is not None

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    cache.store("key", b"x")
    monkeypatch.undo()
    assert cache.load("key") is None
    assert list((tmp_path / "full").iterdir()) == []


def test_eviction_keeps_the_bound_and_the_entries_used_last(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path, "f", max_bytes=5000)
    for number in range(10):
        cache.store(f"key {number}", bytes(1000))
        newest = max(entries(tmp_path), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (1e9 + number, 1e9 + number))
    assert cache.load("key 3") is not None  # used: no longer among the oldest
    cache.evict()
    assert sum(path.stat().st_size for path in entries(tmp_path)) <= 5000
    kept = [number for number in range(10) if cache.load(f"key {number}") is not None]
    assert kept == [3, 7, 8, 9]


def test_that_an_entry_is_used_is_noted_once_an_hour(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path)
    cache.store("key", b"payload")
    (entry,) = tmp_path.glob("*.entry")
    now = time.time()
    for ago, noted in ((600.0, False), (7200.0, True)):
        os.utime(entry, (now - ago, now - ago))
        assert cache.load("key") == b"payload"
        assert (entry.stat().st_mtime > now - ago + 1.0) == noted


def test_leftovers_of_dead_writers_go_and_foreign_files_stay(tmp_path: Path) -> None:
    (tmp_path / "old.part").write_bytes(b"x")
    os.utime(tmp_path / "old.part", (1e9, 1e9))
    (tmp_path / "new.part").write_bytes(b"x")
    (tmp_path / "notes.txt").write_bytes(b"x")
    KernelCache(tmp_path, "f", max_bytes=0).evict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.part", "notes.txt"]


def test_default_folder_is_the_configured_one(tmp_path: Path) -> None:
    with config.set(cache_dir=tmp_path / "named"):
        cache = KernelCache()
        assert cache.folder == tmp_path / "named"
    assert cache.folder == tmp_path / "named"
    assert KernelCache(Path("~/nowhere")).folder is None


def test_threads_and_processes_share_it_without_torn_reads(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from lazyarray.runtime.cache import KernelCache\n"
        "c = KernelCache(Path(sys.argv[1]), 'f')\n"
        "for n in range(200): c.store('key', bytes([n % 256]) * 5000)\n"
    )
    root = Path(cache_module.__file__).parents[2]
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(root)}
    )
    bad: list[bytes] = []

    def work() -> None:
        cache = KernelCache(tmp_path, "f")
        for number in range(100):
            cache.store("key", bytes([number]) * 5000)
            seen = cache.load("key")
            # None: the other process's file was replaced between two checks of one load at worst.
            if seen is not None and (len(seen) != 5000 or len(set(seen)) != 1):
                bad.append(seen)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert writer.wait() == 0
    assert bad == []
    assert KernelCache(tmp_path, "f").load("key") is not None
    left = sorted(path.suffix for path in tmp_path.iterdir())
    assert left == [".entry", ".mark"], "one entry, and the mark of when the size was checked"
