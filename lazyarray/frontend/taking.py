"""Owns what a caller does with what it is given: the instruction of its code that takes it from the stack."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Final, NamedTuple

from lazyarray.frontend.callers import caller

_OPERATORS: Final = {"BINARY_OP": 2, "COMPARE_OP": 2, "UNARY_NEGATIVE": 1}
_LOADS: Final = frozenset({"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW"})
_TAKEN: Final = (
    dict.fromkeys(("PRECALL", "KW_NAMES", "EXTENDED_ARG", "NOP", "RESUME", "PUSH_NULL", "CACHE"), 0)
    | {"LOAD_ATTR": 1, "LOAD_METHOD": 1, "STORE_FAST": 1, "RETURN_VALUE": 1, "UNARY_NOT": 1, "BINARY_SUBSCR": 2}
    | _OPERATORS
)
"""How many items an instruction takes. Others are loads, those that `_count_taken` counts, or not followed."""


class Step(NamedTuple):
    """An instruction; of one that Python 3.13 has made of two, either."""

    name: str
    place: int
    argument: int
    variable: Any
    effect: int  # by how many items the stack grows


def goes_into_an_operator() -> bool:
    """Whether what lazyarray returns to its caller is only an operand there: of an operator that is written around the
    call, or of those that use the local variable that it is stored in."""
    frame = caller()
    return _is_operand(frame.f_code, frame.f_lasti)


@lru_cache(maxsize=1024)
def _is_operand(code: CodeType, place: int) -> bool:
    steps = list(_read(code))
    taker = _find_taker([step for step in steps if step.place > place])
    if taker is None or taker.name != "STORE_FAST":
        return _operates(taker)
    uses = [at for at, step in enumerate(steps) if _uses(step, taker.variable)]
    return all([steps[at].name in _LOADS and _operates(_find_taker(steps[at + 1 :])) for at in uses])


def _read(code: CodeType) -> Iterator[Step]:
    for item in dis.get_instructions(code):
        name, count = item.opname, item.arg or 0
        first, _, second = name.partition("_FAST_")
        if second.endswith("_FAST") and isinstance(item.argval, tuple):
            for part, variable in zip((first, second.removesuffix("_FAST")), item.argval, strict=True):
                yield Step(part + "_FAST", item.offset, 0, variable, 1 if part == "LOAD" else -1)
        else:
            effect = dis.stack_effect(item.opcode, count if item.opcode >= dis.HAVE_ARGUMENT else None)
            if name in ("PRECALL", "CALL"):  # Python 3.11 says it of both together, in parts
                effect = -count - 1 if name == "CALL" else 0
            elif name == "BINARY_OP" and item.argrepr == "[]":
                name = "BINARY_SUBSCR"  # of Python 3.14
            yield Step(name, item.offset, count, item.argval, effect)


def _uses(step: Step, variable: str) -> bool:
    """Whether the instruction reads a local variable, or is of several that one is of."""
    named = step.variable if isinstance(step.variable, tuple) else (step.variable,)
    return variable in named and "_FAST" in step.name and step.name not in ("STORE_FAST", "DELETE_FAST")


def _operates(step: Step | None) -> bool:
    return step is not None and step.name in _OPERATORS


def _find_taker(steps: Sequence[Step]) -> Step | None:
    """The instruction that takes what lies on the stack when the first one begins; None where that is not followed."""
    above = 0  # how much lies on top of it
    for step in steps:
        taken = _count_taken(step)
        if taken is None:
            return None
        if taken > above:
            return step
        above += step.effect
    return None


def _count_taken(step: Step) -> int | None:
    if step.name in ("CALL", "CALL_KW"):
        # The function, or a method and its object; the names of arguments.
        return step.argument + 2 + (step.name == "CALL_KW")
    if step.name in ("BUILD_TUPLE", "BUILD_LIST", "BUILD_SLICE"):
        return step.argument
    if step.name.startswith("LOAD_") and step.name not in _TAKEN:
        return None if "SUPER" in step.name or step.name == "LOAD_FROM_DICT_OR_GLOBALS" else 0
    return _TAKEN.get(step.name)
