"""Owns what can be done about a reason: the edit of the program that removes it, by the words of the reason."""

from __future__ import annotations

from typing import Final

from lazyarray.frontend.counting import COUNTED
from lazyarray.frontend.devices import CHANGES, MOVED
from lazyarray.frontend.histograms import RANGED
from lazyarray.frontend.writing import INTO_MEMORY
from lazyarray.inspect.lines import is_assignment
from lazyarray.ir.node import Site
from lazyarray.runtime.device_run import AN_INPUT
from lazyarray.runtime.evaluate import AT_ONCE, SHARED
from lazyarray.runtime.warned import BEGINS, ENDS
from lazyarray.schedule import demand, overlap

_ERRSTATE: Final = "use np.errstate in its place for floating-point errors"
_ASKED: Final = "asked for"

# Why an evaluation gives values that nobody asked for.
NAMED: Final = "the program still names it, and computing it again would cost more than keeping it"
ALONG: Final = "it is small, and needs nothing but what is read anyway"
RELEASES: Final = "nobody else refers to what it is made of, which is larger: computed before, it releases that memory"
READ_FIRST: Final = "it reads memory that is written over: computed before, it saves a copy"

# A reason that is not here, or has an empty edit, has none: the program says what it needs, and this is its price.
_EDITS: Final[dict[str, str]] = {
    _ASKED: "keep the value an array, ask for it less often, or for several at once with np.evaluate(a, b)",
    COUNTED: "np.where(mask, a, b), x[mask] = value or where=mask keep the shape, where that will do",
    BEGINS: _ERRSTATE,
    ENDS: _ERRSTATE,
    RANGED: "say where, if it is known: np.histogram(x, bins, range=(low, high))",
    INTO_MEMORY: "collect the values in a list, and make one array of them at the end: np.stack(values)",
    NAMED: "if it is not used later, drop the name before: del it, or compute it in a function of its own",
    SHARED: "copy it once with np.array(x): what is computed of the copy is recorded",
    AT_ONCE: 'let np.errstate warn or ignore: "raise", "call", "print" and "log" run each operation at once',
    CHANGES: "choose the device once, before the arrays are made",
    MOVED: "make the array where it is used: np.asarray(x, device=...) outside the loop",
    AN_INPUT: "make the array there: np.asarray(x, device=...) outside the loop",
    demand.RESHAPED: "reshape what it is computed from, before computing",
    demand.ROLLED: "roll what it is computed from, before computing",
    demand.WRAPS: "np.concatenate of two slices in the place of np.roll",
    overlap.OVERWRITTEN: "write into a second array and swap the two names: a, b = b, a",
}

# Edits of assignments to items: there is none where the program calls a function that assigns, or adds in place.
_OF_ASSIGNMENTS: Final = frozenset({INTO_MEMORY, overlap.OVERWRITTEN})

_ROWS: Final = "write it with array operations (np.where for branches): each row or element is a call of Python now"
_IN_PLACE_OF: Final = {
    "apply_along_axis": _ROWS,
    "__call__": _ROWS,  # of what np.frompyfunc made
    "choose": "np.select, or np.where",
}


def edit_for(why: str, site: Site | None = None) -> str:
    """The edit that removes a cut, a value in memory, an evaluation or a transfer; empty where there is none.

    `site`: where the assignment is that the reason speaks of, if it speaks of one.
    """
    return "" if why in _OF_ASSIGNMENTS and not is_assignment(site) else _EDITS.get(why, "")


def edit_for_fallback(name: str) -> str:
    """What to write in the place of a function that is not compiled; empty where nothing else is."""
    return _IN_PLACE_OF.get(name.rpartition(".")[2], "")
