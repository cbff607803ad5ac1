"""The disk cache: compiled payloads in the user's cache folder, private, checked, bounded, shared.

An entry is one file: a magic word, the format version, a SHA-256 over all that follows, the fingerprint of
what the payload was made for and its key, the payload. An entry that fails any check is removed and reads as
absent: a payload is machine code, so nothing that another user could have written is ever returned.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING

from lazyarray.config import config
from lazyarray.digests import digest_of, name_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["KernelCache", "python_files", "source_version"]

_MAGIC = b"LZYARRAY"
_FORMAT = 1
_HEADER = struct.Struct("<8sI32sIQ")  # magic, format, digest, fingerprint length, payload length
_SUFFIX = ".entry"
_TEMPORARY = ".part"
_MAX_BYTES = 512 << 20
_CHECK_EVERY = 64  # stores between two looks at the folder's size
_STALE_SECONDS = 3600.0  # a temporary file this old was left by a process that died
_CHECKED = "checked.mark"
_NOTED_SECONDS = 3600.0  # entries used longest ago go first, as long ago as this is noted


def source_version(*folders: str) -> str:
    """Identifies code by the names, sizes and modification times of its files, those of inner folders too."""
    marks = sorted([_mark(file) for folder in folders for file in python_files(folder)])
    return name_of("|".join(marks))


def _mark(file: os.DirEntry[str]) -> str:
    status = file.stat()
    folder = os.path.basename(os.path.dirname(file.path))
    return f"{folder}/{file.name}:{status.st_mtime_ns}:{status.st_size}"


def python_files(folder: str) -> Iterator[os.DirEntry[str]]:
    """The Python files of a folder and of the folders in it, in no order."""
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.endswith(".py"):
                yield entry
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from python_files(entry.path)


def _is_private(status: os.stat_result) -> bool:
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


class KernelCache:
    """Payloads by key on disk, in a given folder or the configured one.

    Every failure of the file system reads as "not there" and stores nothing.
    """

    def __init__(self, root: Path | None = None, fingerprint: str = "", max_bytes: int = _MAX_BYTES) -> None:
        self._wanted = root
        self._fingerprint = fingerprint
        self._max_bytes = max_bytes
        self._lock = threading.RLock()  # a signal handler may evaluate, too
        self._folder: str | None = None
        self._opened = False
        self._stores = 0

    @property
    def fingerprint(self) -> str:
        """What payloads are made for (versions, CPU): entries made for another one are not read."""
        return self._fingerprint

    @property
    def folder(self) -> Path | None:
        """The folder in use; None when there is none that is safe or writable."""
        from pathlib import Path  # milliseconds of start-up time, which looking entries up does not need

        found = self._find_folder()
        return None if found is None else Path(found)

    def _find_folder(self) -> str | None:
        if not self._opened:
            with self._lock:
                if not self._opened:
                    self._folder = self._open()
                    self._opened = True
        return self._folder

    def _open(self) -> str | None:
        root = os.fspath(self._wanted if self._wanted is not None else config.cache_dir)
        if root.replace(os.sep, "/").partition("/")[0] == "~":  # a user without a home folder
            return None
        try:
            os.makedirs(root, mode=0o700, exist_ok=True)
            status = os.lstat(root)
            if stat.S_ISLNK(status.st_mode):
                # A link is as safe as the folder it names when only this user can replace the link.
                if not (_is_private(os.stat(os.path.dirname(root) or os.curdir)) and status.st_uid == os.geteuid()):
                    return None
                status = os.stat(root)
        except (OSError, ValueError):
            return None
        if not stat.S_ISDIR(status.st_mode) or not _is_private(status):
            return None
        return root

    def _path(self, folder: str, key: str) -> str:
        # The fingerprint is in the name too: machines that share a home folder must not evict each other.
        name = name_of(f"{_FORMAT}\0{self._fingerprint}\0{key}")
        return os.path.join(folder, name + _SUFFIX)

    def load(self, key: str) -> bytes | None:
        """The payload stored under a key, or None; a bad entry is removed."""
        folder = self._find_folder()
        if folder is None:
            return None
        path = self._path(folder, key)
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                if not _is_private(status):
                    data = b""
                else:
                    data = file.read()
        except (OSError, MemoryError):
            return None
        payload = self._unpack(data, key)
        if payload is None:
            with contextlib.suppress(OSError):
                os.unlink(path)
            return None
        if time.time() - status.st_mtime > _NOTED_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(path)
        return payload

    def store(self, key: str, payload: bytes) -> None:
        """Store a payload under a key, replacing any other, so that a reader sees all of it or none."""
        folder = self._find_folder()
        if folder is None:
            return
        path = self._path(folder, key)
        name = ""
        try:
            name = f"{path}.{os.getpid()}.{threading.get_ident()}.{time.monotonic_ns()}{_TEMPORARY}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with open(os.open(name, flags, 0o600), "wb") as file:
                file.write(self._pack(payload, key))
            os.replace(name, path)
        except OSError:
            if name:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            return
        self._stores += 1
        if self._stores % _CHECK_EVERY == 0 or (self._stores == 1 and not self._checked_lately(folder)):
            self.evict()

    def _identity(self, key: str) -> bytes:
        return f"{self._fingerprint}\0{key}".encode()

    def _pack(self, payload: bytes, key: str) -> bytes:
        identity = self._identity(key)
        digest = digest_of(identity + payload)
        return _HEADER.pack(_MAGIC, _FORMAT, digest, len(identity), len(payload)) + identity + payload

    def _unpack(self, data: bytes, key: str) -> bytes | None:
        if len(data) < _HEADER.size:
            return None
        magic, version, digest, identity_length, payload_length = _HEADER.unpack_from(data)
        body = data[_HEADER.size :]
        identity = self._identity(key)
        if magic != _MAGIC or version != _FORMAT or len(body) != identity_length + payload_length:
            return None
        if body[:identity_length] != identity or digest_of(body) != digest:
            return None
        return body[identity_length:]

    def _checked_lately(self, folder: str) -> bool:
        """True within an hour of the last check of the folder's size, by any process; else the hour begins now."""
        mark = os.path.join(folder, _CHECKED)
        try:
            if time.time() - os.stat(mark).st_mtime < _STALE_SECONDS:
                return True
        except OSError:
            pass
        with contextlib.suppress(OSError):
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT, 0o600))
            os.utime(mark)
        return False

    def evict(self) -> None:
        """Remove the entries used longest ago beyond the folder's bound, and what dead writers left."""
        folder = self._find_folder()
        if folder is None:
            return
        now = time.time()
        entries: list[tuple[float, int, str]] = []
        try:
            with os.scandir(folder) as found:
                for item in found:
                    if not item.name.endswith((_SUFFIX, _TEMPORARY)):
                        continue
                    with contextlib.suppress(OSError):
                        status = item.stat(follow_symlinks=False)
                        if item.name.endswith(_SUFFIX):
                            entries.append((status.st_mtime, status.st_size, item.path))
                        elif now - status.st_mtime > _STALE_SECONDS:
                            os.unlink(item.path)
        except OSError:
            return
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._max_bytes:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
