"""Owns what launches ask of a thread pool each time: where its workers are told of them, and which pool is configured.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.native.launches import run_shared, tell  # cimport
from lazyarray.runtime.resting import AnyWorkers  # cimport


class Workers(AnyWorkers):
    """The workers of one pool, while they are there. `word`: where they are told to rest."""

    __slots__ = ("address", "entry", "run", "word")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """There are none."""
        self.address = self.entry = self.word = 0
        self.run: Any = None

    def share(self, function: int, arguments: int, tasks: int, grain: int, shares: int, first: int) -> None:
        """One launch, as `Pool.run` cuts it up. There are workers."""
        run_shared(self.run, self.entry, self.address, function, arguments, tasks, grain, shares, first)

    def rest(self) -> None:
        """Those that are idle leave their cores to others now, and not only after a while."""
        if self.word:
            tell(self.word)


class Chosen:
    """The pool that was last asked for without a size, since settings changed."""

    __slots__ = ("pool",)

    def __init__(self) -> None:
        self.pool: Any = None


chosen: Final = Chosen()
