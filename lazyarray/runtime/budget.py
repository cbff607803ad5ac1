"""Owns where a recording is cut that nobody asks a value of (contract C9)."""

from __future__ import annotations

from typing import Final

from lazyarray.ir.node import PINNED, TAPE, Key, Node
from lazyarray.native.primitives import referent  # cimport
from lazyarray.runtime.along import pending, releasing, unused
from lazyarray.runtime.evaluate import BUDGET, HOLDING, evaluate_unasked, lock, prune

TAPE_LIMIT: Final = 256  # recorded nodes after which what is pending is evaluated
TAPE_MOST: Final = TAPE_LIMIT + TAPE_LIMIT // 2  # and after which it is, wherever that is
PHASE: Final = 32  # operations that tell one place of a loop from another

_before: list[Key | None] = []  # the operations before the last cut, oldest first; None: nobody names it any more


def flush_if_due(reason: str = BUDGET) -> None:
    """Evaluates what is pending, if the recording is where it was cut before, or has become too long.

    Cut whenever it is so long, a loop is cut at another place of its body each time, and each piece is a plan of its
    own. Cut where the operations before it are those before the last cut, its pieces are one plan.
    """
    if len(TAPE) < TAPE_LIMIT and not PINNED.over:
        release()
        return
    may_wait = len(TAPE) < TAPE_MOST and not PINNED.over and len(_before) > 0
    if may_wait and (_operations(1) != _before[-1:] or _operations(PHASE) != _before):
        return
    operations = _operations(PHASE)
    with lock:
        prune()  # what is gone has counted so far
    if len(TAPE) >= TAPE_LIMIT // 2 or PINNED.over:
        _before[:] = operations
        flush(reason)


def _operations(count: int) -> list[Key | None]:
    """The last operations that were recorded. No reference to a node outlives the call."""
    return [None if (node := referent(entry)) is None else node.key for entry in TAPE[-count:]]


def flush(reason: str = BUDGET) -> None:
    """Evaluates pending nodes that are still named, so that the tape is short again."""
    with lock:
        evaluate_unasked(_due(), reason)
        PINNED.clear()


def release() -> None:
    """Evaluates what holds more memory that nobody else refers to than it takes (`releasing`).

    A loop that adds up what a library function returns would else hold all that it returned.
    """
    PINNED.seen()
    with lock:
        evaluate_unasked(releasing([], before_this_turn(pending())), HOLDING)


def _due() -> list[Node]:
    """What is to be evaluated. What the present turn of a loop puts together stays whole, unless memory ends."""
    nodes = pending()
    return unused(nodes if PINNED.over else before_this_turn(nodes))


def before_this_turn(nodes: list[Node]) -> list[Node]:
    """The nodes without the last that one piece of code recorded, each further down in it than the one before.

    All nodes where these are many: a long stretch of code is cut anywhere.
    """
    place = len(nodes)
    while place > 1 and _follows(nodes[place - 2], nodes[place - 1]):
        place -= 1
    return nodes if len(nodes) - place >= TAPE_LIMIT // 4 else nodes[: place - 1]


def _follows(earlier: Node, later: Node) -> bool:
    """True where the later node comes further down in the code that recorded the earlier one.

    What one call records stands at one place: there the same operation again is another turn.
    """
    a, b = earlier.site, later.site
    if a is None or b is None or a[0] is not b[0]:
        return False
    return a[1] < b[1] or (a[1] == b[1] and earlier.key is not later.key)
