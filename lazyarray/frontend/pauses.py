"""Owns pauses of spans: while NumPy is to compute one (`runtime/first.py`), its operators run as they come.

Waiting for the last one and having NumPy do all of them then takes some 100 us more. One of the modules that may run
compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.frontend.spans import members_of


class Pause:
    """A span whose operators do not wait. `place`: of the one by which its turns are counted, -1 for none yet."""

    __slots__ = ("left", "place")

    def __init__(self, left: int) -> None:
        self.left = left
        self.place = -1


PAUSES: Final[dict[tuple[int, int], Pause]] = {}
"""By code and place of an operator; codes are those that `SPANS` keeps."""
_pauses: Final = PAUSES  # in C


def pause(site: Any, turns: int) -> None:
    """The span that ends at a site does not wait for so many turns."""
    code = site[0]
    made = Pause(turns)
    for place in members_of(code, site[1]):
        _pauses[id(code), place] = made


def is_paused(site: Any) -> bool:
    """Whether an operator, the first of its span that might wait, is not to."""
    found = _pauses.get((id(site[0]), site[1]))
    if found is None:
        return False
    own: Pause = found
    if own.place < 0:
        own.place = site[1]
    if own.place == site[1]:
        own.left -= 1
        if own.left < 0:
            for key in [key for key, other in _pauses.items() if other is own]:
                del _pauses[key]
            return False
    return True
