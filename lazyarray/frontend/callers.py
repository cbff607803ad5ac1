"""Owns what is known of the code that calls into lazyarray: whose it is, and what it has written there."""

from __future__ import annotations

import opcode
import os
import sys
from types import CodeType, FrameType, ModuleType
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
    return opcode.opname[frame.f_code.co_code[_place_of(frame)]]


def _place_of(frame: FrameType) -> int:
    """Where in its code the instruction is that a frame is at."""
    code, place = frame.f_code.co_code, frame.f_lasti
    while opcode.opname[code[place]] == "CACHE":  # where Python 3.12 has specialised the instruction
        place -= 2
    return place


def _number_at(code: bytes, place: int) -> int:
    """The number of an instruction, with the higher bits that one before it may have."""
    extended = place >= 2 and opcode.opname[code[place - 2]] == "EXTENDED_ARG"
    return code[place + 1] | code[place - 1] << 8 if extended else code[place + 1]


def _variable(code: CodeType, place: int) -> str:
    """The name that a LOAD_NAME or LOAD_GLOBAL is of."""
    number = _number_at(code.co_code, place)
    return code.co_names[number >> 1 if opcode.opname[code.co_code[place]] == "LOAD_GLOBAL" else number]


def asks_for(frame: FrameType, name: str) -> bool:
    """Whether a frame asks for an attribute in its own code: loads it, or calls `hasattr` or `getattr` with its name.

    Otherwise it is a call into C that looks for one.
    """
    at, names = instruction_of(frame), frame.f_code.co_names
    if at in ("LOAD_ATTR", "LOAD_METHOD"):
        return name in names
    # Variables are looked at last: before Python 3.13 a frame keeps all that they refer to then, until it ends.
    asks = at in ("CALL", "PRECALL") and ("hasattr" in names or "getattr" in names)
    return asks and _may_call(frame, ("hasattr", "getattr")) and name in _last_arguments(frame)


def asks_nothing(frame: FrameType) -> bool:
    """Whether where a frame is nothing is asked for in its own code, whatever its variables hold.

    `hasattr` and `getattr` take two arguments or more, and none by name.
    """
    at, code = instruction_of(frame), frame.f_code.co_code
    if at in ("LOAD_ATTR", "LOAD_METHOD"):
        return False
    if at not in ("CALL", "PRECALL") or not {"hasattr", "getattr"}.intersection(frame.f_code.co_names):
        return True
    place = _place_of(frame)
    few = code[place + 1] < 2
    while place >= 2 and opcode.opname[code[place]] in (at, *_BETWEEN):
        place -= 2
    return few or opcode.opname[code[place]] == "KW_NAMES"


def _may_call(frame: FrameType, functions: tuple[str, ...]) -> bool:
    """Whether the call that a frame is at may be of a variable with one of these names.

    What pushed the arguments is walked over by what instructions push and pop; what has branches may be of any.
    """
    code, place = frame.f_code.co_code, _place_of(frame)
    waiting = code[place + 1]  # values that were pushed after what is called
    while place >= 2:
        place -= 2
        name = opcode.opname[code[place]]
        if name in _BETWEEN or name in ("KW_NAMES", "PUSH_NULL"):
            continue
        if code[place] in opcode.hasjrel or code[place] in opcode.hasjabs:
            return True
        if waiting <= 0:
            return name in ("LOAD_NAME", "LOAD_GLOBAL") and _variable(frame.f_code, place) in functions
        waiting -= _pushed(code[place], _number_at(code, place))
    return True


def _pushed(instruction: int, number: int) -> int:
    try:
        return opcode.stack_effect(instruction, number)
    except ValueError:  # one that takes no number
        return opcode.stack_effect(instruction)


def _last_arguments(frame: FrameType) -> list[Any]:
    """The last two arguments of the call that a frame is at, where they are constants or variables."""
    code, place = frame.f_code, frame.f_lasti
    found: list[Any] = []
    while place >= 2 and len(found) < 2:
        place -= 2
        name, number = opcode.opname[code.co_code[place]], _number_at(code.co_code, place)
        if name in _BETWEEN:
            continue
        if name.startswith("LOAD_CONST"):
            found.append(code.co_consts[number])
        elif name.startswith("LOAD_FAST"):
            pair = name.count("LOAD_FAST") == 2  # of Python 3.13 and later
            for local in (number & 15, number >> 4) if pair else (number,):
                known = local < len(code.co_varnames)
                found.append(frame.f_locals.get(code.co_varnames[local]) if known else None)
        elif name in ("LOAD_NAME", "LOAD_GLOBAL"):
            variable = _variable(code, place)
            found.append(frame.f_locals.get(variable, frame.f_globals.get(variable)))
        else:
            found.append(None)
    return [each for each in found if type(each) is str]


_BETWEEN: Final = frozenset({"CACHE", "PRECALL", "EXTENDED_ARG", "NOP"})


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
