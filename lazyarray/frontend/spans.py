"""Owns spans: the operators of a code object whose results nobody but operators of the same expression gets to see.

A span is a tree of operators of one expression, such as the five of `(a * b + c) * d - a / 2`. What lies between the
first and the last of them loads names, makes keys and subscripts; where anything else comes between (a call, a
branch, an assignment), the span ends. So an operator inside a span may wait for the last one to be computed.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Final

from lazyarray.config import config

if TYPE_CHECKING:
    from dis import Instruction

__all__ = ["LAST", "SPANS", "learn", "spans_of"]

LAST: Final = 1
"""The bit of the operator that is its span's last. The bits above it count the span's operators."""

SPANS: Final[dict[int, tuple[bytes, CodeType]]] = {}
"""Code objects that were looked through: their spans and themselves, by address."""

_VISITS: Final = 8  # of a code object for each time that a cheap expression is interpreted (`runtime/first.py`)
_CODES: Final = 4096
_visits: dict[int, int] = {}
_MOST: Final = 127  # operators that are told apart
_OPERATORS: Final = frozenset("+ - * / // % & | ^ << >>".split())
# What pushes things that are none of the span's, by name and how many.
_LOADS: Final = {
    "LOAD_FAST": 1,
    "LOAD_FAST_BORROW": 1,
    "LOAD_FAST_LOAD_FAST": 2,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": 2,
    "LOAD_CONST": 1,
    "LOAD_SMALL_INT": 1,
    "LOAD_DEREF": 1,
    "LOAD_NAME": 1,
}
_CONSTANTS: Final = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_SILENT: Final = frozenset({"NOP", "CACHE", "EXTENDED_ARG", "NOT_TAKEN"})
# What takes so many things off the stack and pushes one that is none of the span's.
_TAKES: Final = {"LOAD_ATTR": 1, "BINARY_SUBSCR": 2, "BINARY_SLICE": 3, "STORE_FAST": 1, "STORE_NAME": 1}
_BUILDS: Final = frozenset({"BUILD_TUPLE", "BUILD_SLICE"})
_STORES: Final = frozenset({"STORE_FAST", "STORE_NAME"})


class _Operator:
    """One operator, and those that wait for it."""

    __slots__ = ("inner", "place")

    def __init__(self, place: int, inner: list[_Operator]) -> None:
        self.place = place
        self.inner = inner


def _is_two(one: Instruction | None) -> bool:
    return one is not None and one.opname in _CONSTANTS and type(one.argval) is int and one.argval == 2


def _arity(one: Instruction, before: Instruction | None) -> int:
    """How many operands an operator has; 0 for what is none, such as powers but squares."""
    if one.opname == "BINARY_OP":
        return 2 if one.argrepr in _OPERATORS or (one.argrepr == "**" and _is_two(before)) else 0
    return {"COMPARE_OP": 2, "UNARY_NEGATIVE": 1, "UNARY_INVERT": 1}.get(one.opname, 0)


def _takes(one: Instruction) -> int:
    """How many things an instruction takes to push, or store, one that is none of the span's; 0 for all others."""
    if one.opname in _BUILDS:
        return one.arg or 0
    if one.opname == "LOAD_ATTR" and "NULL" in one.argrepr:
        return 0  # a method, which is going to be called
    if one.opname == "BINARY_OP":
        return 2 if one.argrepr in ("**", "@", "[]") else 0
    return _TAKES.get(one.opname, 0)


def _loads(one: Instruction) -> int:
    """How many things a load pushes; 0 for what is none."""
    if one.opname == "LOAD_GLOBAL":
        return 0 if "NULL" in one.argrepr else 1
    return _LOADS.get(one.opname, 0)


def spans_of(code: CodeType) -> bytes:
    """For each instruction, two bytes of code, a number: 0, or how many operators its span has, and whether it is LAST.

    Spans of one operator are none.
    """
    from dis import get_instructions  # programs of small arrays do without

    spans = bytearray(len(code.co_code) // 2)
    stack: list[_Operator | None] = []

    def end(operator: _Operator | None) -> None:
        """The operator's result is seen by others: it is the last of its span."""
        if operator is None:
            return
        members = [operator]
        for member in members:
            members.extend(member.inner)
        if len(members) > 1:
            count = min(len(members), _MOST) << 1
            for member in members:
                spans[member.place] = count
            spans[operator.place] = count | LAST

    def take(count: int) -> list[_Operator | None]:
        # What was pushed before the walk began is none of a span's.
        taken = [stack.pop() if stack else None for _ in range(count)]
        taken.reverse()
        return taken

    before: Instruction | None = None
    for one in get_instructions(code):
        if one.is_jump_target:
            for operator in take(len(stack)):
                end(operator)
        arity, taken, loaded = _arity(one, before), _takes(one), _loads(one)
        if one.opname not in _SILENT:
            before = one
        if arity:
            inner = [operator for operator in take(arity) if operator is not None]
            stack.append(_Operator(one.offset // 2, inner))
        elif taken:
            for operator in take(taken):
                end(operator)
            if one.opname not in _STORES:
                stack.append(None)
        elif loaded:
            stack.extend([None] * loaded)
        elif one.opname not in _SILENT:
            for operator in take(len(stack)):
                end(operator)
    for operator in stack:
        end(operator)
    return bytes(spans)


def learn(code: CodeType) -> None:
    """Looks for a code object's spans once operators on arrays of middle size have come in it again and again."""
    place = id(code)
    visits = _visits.get(place, 0)
    if visits < _VISITS * (config.compile_at - 1):
        if len(_visits) >= _CODES:
            _visits.clear()
        _visits[place] = visits + 1
    elif len(SPANS) < _CODES:
        from lazyarray.frontend import waiting  # noqa: F401  (it says what starts)

        SPANS[place] = spans_of(code), code
        _visits.pop(place, None)
