"""Owns `rest`: a backend's idle workers leave their cores to a library that has threads of its own.

One of the modules that may run compiled (see `lazyarray/native`): some calls are hardly longer than the asking was.
"""

from __future__ import annotations

from typing import Any, Final

LONG_CALL: Final = 1 << 14  # elements from which a library has threads of its own at work, roughly


class AnyWorkers:
    """A backend's workers."""

    __slots__ = ()

    def rest(self) -> None:
        """Those that are idle leave their cores to others now, and not only after a while."""
        raise NotImplementedError


class Resting:
    """The workers that run kernels now; None where there are none."""

    __slots__ = ("workers",)

    def __init__(self) -> None:
        self.workers: AnyWorkers | None = None


resting: Final = Resting()
_resting: Final = resting  # in C


def rest() -> None:
    """Idle workers leave their cores to a library call, of which it is known that it is long."""
    workers = _resting.workers
    if workers is not None:
        workers.rest()


def rest_for(*args: Any) -> None:
    """`rest` for a library call on these arrays, if it has threads of its own."""
    if sum([a.size for a in args]) >= LONG_CALL:
        rest()
