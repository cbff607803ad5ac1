"""Owns the pinned memory through which large copies go, in pieces: one is copied by the CPU while another travels."""

from __future__ import annotations

import ctypes
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import cupy
from cupy.cuda import runtime

_PIECE: Final = 32 << 20
_PIECES: Final = 4
# Of a piece, copied by one thread each: one copies 12 GB/s, a bus of PCIe 5 takes 55.
_PARTS: Final = max(2, min(8, (os.cpu_count() or 1) // 2))
_SMALL: Final = 1 << 20
_threads: Final = ThreadPoolExecutor(_PARTS, "lazyarray-staging")


def _move(target: int, source: int, length: int) -> None:
    """Copies host memory."""
    if length <= _SMALL:
        ctypes.memmove(target, source, length)
        return
    part = -(-length // _PARTS) + 63 & -64
    waiting = [
        _threads.submit(ctypes.memmove, target + at, source + at, min(part, length - at))
        for at in range(part, length, part)
    ]
    ctypes.memmove(target, source, min(part, length))
    for one in waiting:
        one.result()


class Staging:
    """Pinned pieces that take turns. A piece is used again when the copy before it has ended."""

    def __init__(self) -> None:
        self._memory: list[Any] = []
        self._events: list[Any] = []
        self._next = 0
        self._lock = threading.Lock()

    def _piece(self) -> tuple[int, Any]:
        """The address of a free piece, and the event to record after the copy that uses it."""
        if not self._memory:
            self._memory = [cupy.cuda.alloc_pinned_memory(_PIECE) for _ in range(_PIECES)]
            self._events = [cupy.cuda.Event(block=False, disable_timing=True) for _ in range(_PIECES)]
        number = self._next
        self._next = (number + 1) % _PIECES
        event = self._events[number]
        event.synchronize()
        return self._memory[number].ptr, event

    def upload(self, target: int, source: int, size: int, stream: Any) -> None:
        """Queues a copy to the device on a stream; the host memory has been read when this returns."""
        with self._lock:
            for start in range(0, size, _PIECE):
                length = min(_PIECE, size - start)
                piece, event = self._piece()
                _move(piece, source + start, length)
                runtime.memcpyAsync(target + start, piece, length, runtime.memcpyHostToDevice, stream.ptr)
                event.record(stream)

    def download(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copies to host memory on a stream; returns when all of it is there."""
        waiting: list[tuple[int, int, int, Any]] = []
        with self._lock:
            for start in range(0, size, _PIECE):
                if len(waiting) == _PIECES:
                    self._take(target, *waiting.pop(0))
                length = min(_PIECE, size - start)
                piece, event = self._piece()
                runtime.memcpyAsync(piece, source + start, length, runtime.memcpyDeviceToHost, stream.ptr)
                event.record(stream)
                waiting.append((start, piece, length, event))
            for one in waiting:
                self._take(target, *one)

    def _take(self, target: int, start: int, piece: int, length: int, event: Any) -> None:
        event.synchronize()
        _move(target + start, piece, length)
