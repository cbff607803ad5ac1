"""Owns what is known of the code that calls into lazyarray: whose it is, and what it has written there."""

from __future__ import annotations

import opcode
import os
import sys
from types import FrameType, ModuleType
from typing import Any, Final

import numpy as np

from lazyarray.frontend.quick import tell

UNAWARE: Final[dict[Any, bool]] = {}
"""`is_unaware` of modules, by their names. `vectors.pxd` looks here, too."""
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_STANDARD: Final = os.path.dirname(os.__file__) + os.sep


def caller() -> FrameType:
    """The frame of the code that called into lazyarray."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "lazyarray":
        frame = frame.f_back
    return frame


def instruction_of(frame: FrameType) -> str:
    """The name of the instruction that a frame is at."""
    code, place = frame.f_code.co_code, frame.f_lasti
    while opcode.opname[code[place]] == "CACHE":  # where Python 3.12 has specialised the instruction
        place -= 2
    return opcode.opname[code[place]]


def is_operator() -> bool:
    """Whether an operator is written where lazyarray is called, not a method or a function."""
    return instruction_of(caller()) in ("BINARY_OP", "COMPARE_OP")


def called_by_package() -> bool:
    """Whether the caller is an installed package that does not know lazyarray.

    A program hands its generators to packages (`random_state=`), which hand what they draw to compiled code: that takes
    NumPy's arrays only.
    """
    return is_unaware(caller().f_globals)


def is_unaware(space: dict[str, Any]) -> bool:
    """Whether these are the globals of a module that is installed, or Python's, and has no name of lazyarray's."""
    name = space.get("__name__")
    found = UNAWARE.get(name)
    if found is None:
        file = str(space.get("__file__"))
        known = is_installed(file) or file.startswith(_STANDARD)
        found = UNAWARE[name] = known and not any([_is_ours(*item) for item in space.items()])
    return found


def is_installed(file: str) -> bool:
    """Whether the file is one of an installed package."""
    return not _INSTALLED.isdisjoint(file.split(os.sep))


def _is_ours(name: str, item: Any) -> bool:
    if isinstance(item, ModuleType):
        return item.__name__.partition(".")[0] == "lazyarray"
    if name not in _own or item is not _own[name] or item is vars(np).get(name):
        return False
    # Both may import the same from elsewhere: `annotations`, `Any`.
    return hasattr(np, name) or str(getattr(item, "__module__", "")).partition(".")[0] == "lazyarray"


_own: Final = vars(sys.modules["lazyarray"])
tell(unaware=UNAWARE, is_unaware=is_unaware)
