"""Owns `AnyRun`: what a run of a plan holds, on the host or on a device; `AnyLauncher` and `AnyDirect` beside it.

These are known before what makes them is imported, and reached without a look-up.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.ir.node import Node

_GENERIC: Final = np.generic


def numbers_of(origins: tuple[Any, ...], sources: list[Any]) -> list[Any]:
    """The values of a kernel's scalars; `origins`: of each, the place of its source, or the literal in a tuple."""
    scalars: list[Any] = [None] * len(origins)
    at = 0
    origin: Any
    for origin in origins:
        if type(origin) is int:
            number = sources[origin]
            if type(number) is not float and type(number) is not int and isinstance(number, _GENERIC):
                number = number.item()
            scalars[at] = number
        else:
            scalars[at] = origin[0]
        at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    return scalars


class AnyLauncher:
    """A program at fixed extents and strides. A program that has `launcher(extents, strides)` makes its own."""

    __slots__ = ()

    def launch(self, pointers: list[int], scalars: list[Any], run: AnyRun | None = None) -> int:
        """As `Program.launch`.

        `run`: what launches a kernel that writes over what it reads. Its `launched` gets a record that can tell, by
        `ran()`, whether the kernel has run: where an error ends the launch it may have, or not.
        """
        raise NotImplementedError

    def watch(self, pointers: list[int], scalars: list[Any], run: AnyRun | None = None) -> dict[int, int]:
        """As `Program.watch`; `run` as above."""
        raise NotImplementedError


class AnyDirect:
    """A plan that is one kernel, and is launched without a run (`runtime/direct.py`)."""

    __slots__ = ("backend",)

    backend: Any

    def launch(self, values: list[Any], scalars: list[Any]) -> list[Any] | None:
        """The results, or None: then it is as if nothing had run."""
        raise NotImplementedError

    def numbers(self, sources: list[Any]) -> list[Any]:
        """The kernel's scalars, of the plan's sources."""
        raise NotImplementedError


class AnyRun:
    """One evaluation of a plan: a value per slot."""

    __slots__ = (
        "caught_up",
        "done",
        "launched",
        "memory",
        "outputs",
        "over",
        "plan",
        "raised",
        "sources",
        "taken",
        "uses",
    )

    def __init__(self, plan: Any, sources: list[Any], uses: dict[int, int] | None) -> None:
        self.begin(plan, sources, uses or {}, len(plan.shapes), plan.outputs)

    def begin(self, plan: Any, sources: list[Any], uses: dict[int, int], slots: int, outputs: tuple[int, ...]) -> None:
        """Nothing has run. The plan has so many slots, of which `outputs` are asked for."""
        self.plan = plan
        self.outputs = outputs
        self.sources = sources
        self.uses = uses  # by id of a value written over: references to it that end now
        self.memory: list[Any] = [None] * slots
        self.done: set[int] = set()  # slots whose values are complete and not written over
        self.taken: dict[int, int] = {}  # by slot to be written in place of another: that other one
        self.launched: Any = None  # what a kernel that writes over what it reads was launched by
        self.over: Any = ()  # the slots that it writes
        self.raised: list[tuple[Node, int]] = []  # floating-point errors to be told, as NumPy's bits
        self.caught_up = False  # an evaluation within this one has settled what was complete

    def run(self) -> None:
        """All steps in order. What is asked for is in `memory` afterwards."""
        raise NotImplementedError
