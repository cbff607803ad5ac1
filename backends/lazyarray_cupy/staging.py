"""Owns the pinned memory through which large copies go, in pieces: one is copied by the CPU while another travels."""

from __future__ import annotations

import ctypes
import os
from collections import deque
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


class Piece:
    """Pinned memory, and the end of the copy that used it last."""

    __slots__ = ("_event", "_memory", "pointer")

    def __init__(self) -> None:
        self._memory = cupy.cuda.alloc_pinned_memory(_PIECE)
        self._event = cupy.cuda.Event(block=False, disable_timing=True)
        self.pointer: int = self._memory.ptr

    def copy(self, target: int, source: int, length: int, kind: int, stream: Any) -> None:
        """Queues a copy from or to the piece."""
        runtime.memcpyAsync(target, source, length, kind, stream.ptr)
        self._event.record(stream)

    def wait(self) -> None:
        """Returns when that copy has ended."""
        self._event.synchronize()


class Staging:
    """Pieces that take turns: who copies has a piece alone until the copy through it is queued, or has ended.

    No lock is held meanwhile: a signal handler may copy in the middle of a copy.
    """

    def __init__(self) -> None:
        self._free: deque[Piece] = deque()  # the one that was used last comes last
        self._made = 0

    def _take(self) -> Piece:
        """A piece that no copy uses."""
        if self._made < _PIECES:
            self._made += 1
            return Piece()
        try:
            piece = self._free.popleft()
        except IndexError:  # others have them all
            return Piece()
        piece.wait()
        return piece

    def _give(self, piece: Piece) -> None:
        if len(self._free) < _PIECES:
            self._free.append(piece)
        else:
            piece.wait()  # its memory goes back

    def upload(self, target: int, source: int, size: int, stream: Any) -> None:
        """Queues a copy to the device on a stream; the host memory has been read when this returns."""
        for start in range(0, size, _PIECE):
            length = min(_PIECE, size - start)
            piece = self._take()
            try:
                _move(piece.pointer, source + start, length)
                piece.copy(target + start, piece.pointer, length, runtime.memcpyHostToDevice, stream)
            finally:
                self._give(piece)

    def download(self, target: int, source: int, size: int, stream: Any) -> None:
        """Copies to host memory on a stream; returns when all of it is there."""
        waiting: deque[tuple[int, int, Piece]] = deque()
        try:
            for start in range(0, size, _PIECE):
                if len(waiting) == _PIECES:
                    self._land(target, waiting)
                length = min(_PIECE, size - start)
                piece = self._take()
                waiting.append((start, length, piece))
                piece.copy(piece.pointer, source + start, length, runtime.memcpyDeviceToHost, stream)
            while waiting:
                self._land(target, waiting)
        finally:
            for _, _, piece in waiting:
                self._give(piece)

    def _land(self, target: int, waiting: deque[tuple[int, int, Piece]]) -> None:
        """The oldest of the pieces that wait goes where it belongs."""
        start, length, piece = waiting[0]
        piece.wait()
        _move(target + start, piece.pointer, length)
        waiting.popleft()
        self._give(piece)
