"""Owns `AnyRun`: what a run of a plan holds, on the host or on a device, reached without a look-up.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any

from lazyarray.ir.node import Node


class AnyRun:
    """One evaluation of a plan: a value per slot."""

    __slots__ = ("caught_up", "done", "launched", "memory", "over", "plan", "raised", "sources", "taken", "uses")

    def __init__(self, plan: Any, sources: list[Any], uses: dict[int, int] | None) -> None:
        self.begin(plan, sources, uses or {})

    def begin(self, plan: Any, sources: list[Any], uses: dict[int, int]) -> None:
        """Nothing has run."""
        self.plan = plan
        self.sources = sources
        self.uses = uses  # by id of a value written over: references to it that end now
        self.memory: list[Any] = [None] * len(plan.shapes)
        self.done: set[int] = set()  # slots whose values are complete and not written over
        self.taken: dict[int, int] = {}  # by slot to be written in place of another: that other one
        self.launched: Any = None  # what a kernel that writes over what it reads was launched by
        self.over: Any = ()  # the slots that it writes
        self.raised: list[tuple[Node, int]] = []  # floating-point errors to be told, as NumPy's bits
        self.caught_up = False  # an evaluation within this one has settled what was complete

    def run(self) -> None:
        """All steps in order. What is asked for is in `memory` afterwards."""
        raise NotImplementedError
