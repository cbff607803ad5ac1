"""Owns `strict`: a block in which what would quietly cost time raises instead, at the user's line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lazyarray.errors import StrictError
from lazyarray.inspect.lines import find_line
from lazyarray.native.primitives import find_site
from lazyarray.runtime.evaluate import ASKED, BUDGET, JOINED
from lazyarray.runtime.ledger import ledger

_PLANNED: Final = frozenset({ASKED, BUDGET, JOINED})


@contextmanager
def strict(fallback: bool = True, evaluate: bool = True, transfer: bool = False) -> Iterator[None]:
    """Inside the block, StrictError is raised in the place of

    `fallback`: a function that is not compiled and would run in NumPy on large or pending arrays;
    `evaluate`: an evaluation that the program did not ask for with `evaluate()` (printing, `float(x)`, `if x:`, ...).
    `transfer`: values would be copied from a device to the host, asked for or for what only the host can do. What the
    host has may be sent to a device.
    Pending arrays stay pending. Evaluations of long recordings piece by piece are let through.
    """

    def refuse(event: str, what: str) -> None:
        if event == "fallback" and fallback:
            raise StrictError(
                f"{what} is not compiled and would run in NumPy, its arguments evaluated first "
                "(lazyarray.strict(fallback=False) lets it)" + written_at()
            )
        if event == "evaluation" and evaluate and what not in _PLANNED:
            raise StrictError(
                f"pending values would be evaluated here ({what}): call evaluate() where that is meant, "
                "or keep the value an array (lazyarray.strict(evaluate=False) lets it)" + written_at()
            )
        if event == "transfer" and transfer and " bytes from " in what:
            raise StrictError(
                f"values would leave their device ({what}) (lazyarray.strict(transfer=False) lets them)" + written_at()
            )

    ledger.refusing.append(refuse)
    try:
        yield
    finally:
        ledger.refusing.remove(refuse)


def written_at() -> str:
    """The user's line that is being run, for the end of a message."""
    line = find_line(find_site(sys._getframe()))
    return "" if line is None else f"\n  at {line}"
