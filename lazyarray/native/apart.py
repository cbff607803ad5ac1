"""Owns which objects Python's garbage collector looks at: a program's, not those that importing modules makes.

NumPy and lazyarray are 30,000 objects that live until the process ends. The collector would walk over all of them
whenever it looks at old objects, and three times when a process ends: that took 20 to 40 ms, as long as NumPy's import.
`gc.freeze` sets all objects aside, so those that were there before the import are handed to the collector again. What a
program makes is found and finalised as before; `gc.get_objects` and `gc.get_referrers` show nothing of the modules.
"""

from __future__ import annotations

import _thread
import gc
from collections.abc import Callable
from typing import Any, Final

# The build reads such imports by the line.
# isort: split
from lazyarray.native.tracked import track_again  # cimport

_MOST: Final = 200_000  # objects of a program: to hand on so many takes some 10 ms


def apart(make: Callable[[], Any]) -> Any:
    """What `make` returns, which imports modules; the objects that it makes are set aside.

    Not in the Python form, in a Python without its lock, where threads run that may make objects meanwhile, or in a
    large program: objects then count as old ones, as if the collector had looked at them once, but where a program has
    set some aside itself.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        before = gc.get_objects()
        made = make()
        if _thread._count() == 0 and len(before) <= _MOST and track_again(before):
            gc.freeze()
            for one in before:
                track_again(one)
        elif not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
    finally:
        if collects:
            gc.enable()
    return made
