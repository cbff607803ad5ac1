"""Owns block shapes by measuring: kernels that have moved much memory try others than the model's while they work.

Nothing is run for the sake of measuring: launches that a program makes anyway take turns among the candidates, between
events, and nobody waits for those. Only kernels without reductions and scans are tuned, whose results do not follow
from block shapes, so that the same program gives the same bits on every run (contract C7). What was found is kept on
disk for each model of GPU.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from lazyarray.runtime.cache import KernelCache
from lazyarray.runtime.run import AnyRun
from lazyarray.schedule.kernel import Kernel
from lazyarray_triton.codes import itemsize
from lazyarray_triton.cubins import made_by
from lazyarray_triton.model import Blocks, Guess

POINTS: Final = 1 << 20  # smaller kernels end before their launch has
WORTH: Final = (
    1 << 40
)  # bytes that a kernel has moved before others are tried: a quarter of a second; each compiles 0.1 s
TURNS: Final = 5  # launches of each candidate; the first one is not timed
GAIN: Final = 0.97  # of the model's time, that another has to stay below
_LINES: Final = ((1024, 8), (512, 4), (256, 2), (512, 8), (256, 8), (256, 4), (1024, 4))  # elements, warps
_SQUARES: Final = ((1, 1024, 4), (1, 512, 4), (8, 128, 4), (8, 256, 8), (4, 128, 4), (16, 64, 4))


def launches_until(kernel: Kernel, extents: tuple[int, ...]) -> int:
    """After how many launches a kernel is tuned; 0: never."""
    points = math.prod(extents)
    if kernel.reduces or kernel.packs or kernel.scatters or points < POINTS:
        return 0
    if any(stage.scan is not None for stage in kernel.stages):
        return 0
    width = sum(itemsize(access.code) for access in kernel.accesses if any(step != "0" for step in access.steps))
    return max(16, WORTH // max(points * width, 1))


def candidates(first: Guess, lines: bool) -> list[Guess]:
    """The model's guess, and others with the same results."""
    if first.form != "tile":
        return [first]
    shapes = [(1, y, warps) for y, warps in _LINES] if lines else list(_SQUARES)
    others = [replace(first, blocks=Blocks(*shape), together=Blocks(*shape)) for shape in shapes]
    return list(dict.fromkeys([first, *others]))


class Tuning:
    """The launches of one kernel that take turns among candidates."""

    def __init__(self, driver: Any, prepared: Sequence[tuple[Guess, Any]]) -> None:
        self._driver = driver
        self._prepared = prepared
        self._turn = 0
        self._events: list[tuple[Any, Any]] = []

    def launch(
        self, pointers: Sequence[int], scalars: Sequence[complex], flags: int, run: AnyRun | None = None
    ) -> None:
        """Does one of the program's launches with the next candidate."""
        number, turn = divmod(self._turn, TURNS)
        prepared = self._prepared[number][1]
        self._turn += 1
        if not turn:
            prepared.launch(pointers, scalars, None, flags, run)
            return
        before = self._driver.event()
        prepared.launch(pointers, scalars, None, flags, run)
        self._events.append((before, self._driver.event()))

    @property
    def queued(self) -> bool:
        """True when every candidate has had its turns."""
        return self._turn >= TURNS * len(self._prepared)

    def best(self) -> tuple[Guess, Any] | None:
        """The candidate to go on with; None while the last launches are still running."""
        if not self._driver.is_over(self._events[-1][1]):
            return None
        times = [self._driver.seconds_between(*pair) for pair in self._events]
        each = TURNS - 1
        least = [min(times[k : k + each]) for k in range(0, len(times), each)]
        number = min(range(len(least)), key=least.__getitem__)
        return self._prepared[number if least[number] < GAIN * least[0] else 0]


class Choices:
    """What was found before, on disk."""

    def __init__(self, gpu: str, root: Path | None = None) -> None:
        self._gpu = gpu
        self._cache = KernelCache(root, f"choice {made_by()}")

    def load(self, text: str, extents: tuple[int, ...], strides: Any) -> Guess | None:
        """What was chosen for a kernel at extents and strides on this model of GPU."""
        payload = self._cache.load(self._key(text, extents, strides))
        if payload is None:
            return None
        shape = Blocks(*json.loads(payload))
        return Guess("tile", shape, shape)

    def store(self, text: str, extents: tuple[int, ...], strides: Any, choice: Guess) -> None:
        blocks = choice.blocks
        payload = json.dumps([blocks.x, blocks.y, blocks.warps, blocks.registers]).encode()
        self._cache.store(self._key(text, extents, strides), payload)

    def _key(self, text: str, extents: tuple[int, ...], strides: Any) -> str:
        return f"{hashlib.sha256(text.encode()).hexdigest()} {extents} {strides} {self._gpu}"
