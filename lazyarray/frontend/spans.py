"""Owns spans: the operators of a code object whose results nobody but operators of the same expression gets to see.

A span is a tree of operators of one expression, such as the five of `(a * b + c) * d - a / 2`; calls of ufuncs with
one or two arguments, such as `np.sqrt(x)`, count as operators. What lies between the first and the last of them loads
names, makes keys and subscripts; where anything else comes between (another call, a branch, an assignment), the span
ends. So an operator inside a span may wait for the last one to be computed, if it is the operator that takes its result
which gets it, and nobody else: a function of the program's own may have a ufunc's name. The last one of an expression
that is stored into a part of something, `x[1:] = (a * b + c) * d`, may wait for the store.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Final, TypeAlias

from lazyarray.config import config

if TYPE_CHECKING:
    from dis import Instruction

__all__ = ["ARRAY", "LAST", "MASK", "PER", "SPANS", "demand", "learn", "need", "spans_of"]

LAST: Final = 1
"""The bit of the operator that is its span's last. The bits above say what the span needs (`need`)."""

ARRAY: Final = 4
MASK: Final = 1
"""What an operator hands on: as many bytes as its operand has, which is 4, or truth values, which are few."""

PER: Final = 16
"""What a span needs is told in bytes for as many of `eager_below` elements."""

# Where operators are whose results others take, and where these are, in bytes of code.
Takers: TypeAlias = dict[int, tuple[int, ...]]
# Where operators are whose results are stored, and where the stores are.
Stores: TypeAlias = dict[int, int]

SPANS: Final[dict[int, tuple[bytearray, CodeType, Takers, Stores]]] = {}
"""Code objects that were looked through: their spans, themselves, takers and stores, by address. Entries stay what they
are: C reads the spans of the last one where they lie."""

_VISITS: Final = 8  # of a code object for each time that a cheap expression is interpreted (`runtime/first.py`)
_CODES: Final = 4096
_visits: dict[int, int] = {}
_MOST: Final = 127  # what is told apart
# What waiting for a span's last operator costs, and reading a part of an array where it lies does: what handing on so
# many bytes for each of `eager_below` elements does (`python -m benchmarks.break_even`).
_START: Final = 3 * ARRAY
_OF_PART: Final = 2
_OPERATORS: Final = frozenset("+ - * / // % & | ^ << >>".split())
# Functions of one and of two arrays that have a kernel, by their names: who else is called so gets values all the same.
_CALLED: Final = dict.fromkeys(
    """
    abs absolute fabs negative square sqrt cbrt reciprocal sign floor ceil trunc rint exp exp2 expm1
    log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg
    isnan isinf isfinite logical_not invert
    """.split(),
    1,
) | dict.fromkeys(
    """
    add subtract multiply divide true_divide floor_divide remainder mod maximum minimum fmax fmin arctan2 hypot copysign
    logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor greater greater_equal less less_equal equal
    not_equal
    """.split(),
    2,
)
_MASKS: Final = frozenset(
    """
    & | ^ COMPARE_OP UNARY_INVERT isnan isinf isfinite logical_not logical_and logical_or logical_xor
    greater greater_equal less less_equal equal not_equal
    """.split()
)
_LOADS: Final = frozenset(
    {"LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_CONST", "LOAD_SMALL_INT", "LOAD_DEREF", "LOAD_NAME", "LOAD_GLOBAL"}
)
_PAIRS: Final = frozenset({"LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW"})
_CONSTANTS: Final = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_SILENT: Final = frozenset({"NOP", "CACHE", "EXTENDED_ARG", "NOT_TAKEN"})
# What takes so many things off the stack and pushes one that is none of the span's, or stores it.
_TAKES: Final = {"BINARY_SUBSCR": 2, "BINARY_SLICE": 3, "STORE_FAST": 1, "STORE_NAME": 1}
_BUILDS: Final = frozenset({"BUILD_TUPLE", "BUILD_SLICE"})
_STORES: Final = frozenset({"STORE_FAST", "STORE_NAME"})
_PUTS: Final = {"STORE_SUBSCR": 3, "STORE_SLICE": 4}  # what is stored, into what, and where


class _Operator:
    """An operator or call, its places in the code (a call has two), and what it takes: others' results, parts."""

    __slots__ = ("handed", "inner", "parts", "places")

    def __init__(self, name: str, places: tuple[int, ...], operands: list[_Item]) -> None:
        self.handed = MASK if name in _MASKS else ARRAY
        self.places = places
        self.inner = [item for item in operands if isinstance(item, _Operator)]
        self.parts = operands.count(_PART)


# What the stack holds: results of operators, names of what may be called, and what is neither.
_Item: TypeAlias = "_Operator | str | None"
_PART: Final = ""  # of an array


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
    if one.opname == "BINARY_OP":
        return 2 if one.argrepr in ("**", "@", "[]") else 0
    return _TAKES.get(one.opname, 0)


class _Walk:
    """A walk over a code object's instructions, with what each leaves on the stack."""

    def __init__(self, code: CodeType) -> None:
        self.spans = bytearray(len(code.co_code) // 2)
        self.takers: Takers = {}
        self.stores: Stores = {}
        self._stack: list[_Item] = []
        self._before: Instruction | None = None  # but for silent ones
        self._named = False  # whether the next call has named arguments

    def _end(self, items: list[_Item], store: int | None = None) -> None:
        """Others see these results: each is its span's last. `store`: where they are stored."""
        for item in items:
            if isinstance(item, _Operator):
                members = [item]
                for member in members:
                    members.extend(member.inner)
                handed = sum([member.handed for member in members[1 if store is None else 0 :]])
                count = need(handed, sum([member.parts for member in members])) << 1
                for member in members if len(members) > 1 else ():
                    for place in member.places:
                        self.spans[place // 2] = count | (LAST if member is item and store is None else 0)
                    self.takers |= {place: member.places for inner in member.inner for place in inner.places}
                if len(members) > 1 and store is not None:
                    self.stores |= dict.fromkeys(item.places, store)

    def _take(self, count: int) -> list[_Item]:
        # What was pushed before the walk began is none of a span's.
        missing = max(0, count - len(self._stack))
        taken = [None] * missing + self._stack[len(self._stack) - (count - missing) :]
        del self._stack[len(self._stack) - (count - missing) :]
        return taken

    def end_all(self) -> None:
        """Anything may happen here."""
        self._end(self._take(len(self._stack)))

    def _load(self, one: Instruction) -> None:
        if "NULL" in one.argrepr:
            self._stack.append(None)
        self._stack.append(one.argval if type(one.argval) is str and one.opname not in _CONSTANTS else None)

    def _call(self, one: Instruction) -> None:
        given = one.arg or 0
        args = self._take(given)
        names = self._take(2)
        known = [name for name in names if isinstance(name, str) and _CALLED.get(name) == given]
        if self._named or not known:
            self._end(args)
            self.end_all()
            self._stack.append(None)
            return
        places = [one.offset]
        if self._before is not None and self._before.opname == "PRECALL":
            places.append(self._before.offset)  # functions in C are called there
        self._stack.append(_Operator(known[0], tuple(places), args))

    def step(self, one: Instruction) -> None:
        """One instruction on."""
        if one.is_jump_target:
            self.end_all()
        name, arity, taken = one.opname, _arity(one, self._before), _takes(one)
        if arity:
            name = one.argrepr if one.opname == "BINARY_OP" else one.opname
            self._stack.append(_Operator(name, (one.offset,), self._take(arity)))
        elif taken:
            self._end(self._take(taken))
            if name not in _STORES:
                self._stack.append(None if name in _BUILDS or one.argrepr in ("**", "@") else _PART)
        elif name in _PUTS:
            value, *others = self._take(_PUTS[name])
            self._end(others)
            self._end([value], one.offset)
        elif name in _LOADS:
            self._load(one)
        elif name in _PAIRS:
            self._stack.extend(one.argval)
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            self._end(self._take(1))
            if name == "LOAD_METHOD":
                self._stack.append(None)
            self._load(one)
        elif name == "PUSH_NULL":
            self._stack.append(None)
        elif name == "CALL":
            self._call(one)
        elif name not in _SILENT and name not in ("PRECALL", "KW_NAMES"):
            self.end_all()
        if name not in _SILENT:
            self._before = one
        self._named = name == "KW_NAMES" or (self._named and name == "PRECALL")


def need(handed: int, parts: int) -> int:
    """How large a span's operands are to be, so that computing it in one kernel takes less time than its operators do.

    `handed`: what the operators hand each other; `parts`: how many parts of arrays they read.
    """
    return min(-(-PER * (_START + _OF_PART * parts) // max(handed, 1)), _MOST)


def spans_of(code: CodeType) -> tuple[bytearray, Takers, Stores]:
    """For each instruction, two bytes of code, a number: 0, or what its span needs, and whether it is LAST.

    And the takers of those that are not, and where those are stored that are neither. Spans of one operator are none.
    """
    from dis import get_instructions  # programs of small arrays do without

    walk = _Walk(code)
    for one in get_instructions(code):
        walk.step(one)
    walk.end_all()
    return walk.spans, walk.takers, walk.stores


def learn(code: CodeType) -> None:
    """Looks for a code object's spans once operators on arrays of middle size have come in it again and again."""
    place = id(code)
    visits = _visits.get(place, 0)
    if visits < _VISITS * (config.compile_at - 1):
        if len(_visits) >= _CODES:
            _visits.clear()
        _visits[place] = visits + 1
    elif len(SPANS) < _CODES:
        from lazyarray.frontend import stored  # noqa: F401  (it says what starts, and what is stored)

        spans, takers, stores = spans_of(code)
        SPANS[place] = spans, code, takers, stores
        _visits.pop(place, None)


def demand(code: CodeType, last: int, needed: int) -> None:
    """Has the span whose last operator is at `last` need as much as it did when it ran.

    The walk takes every operator for one of arrays. Some are of numbers: `1.0 / rate` in `-(1.0 / rate) * (f - e)`.
    """
    found = SPANS.get(id(code))
    if found is None:
        return
    numbers = found[0]
    for place in members_of(code, last):
        numbers[place // 2] = needed << 1 | (numbers[place // 2] & LAST)


def members_of(code: CodeType, last: int) -> set[int]:
    """Where the operators are of the span whose last one is at `last`."""
    members = {last}
    found = SPANS.get(id(code))
    if found is None:
        return members
    takers = found[2]
    members = members.union(*[places for places in takers.values() if last in places])
    size = 0
    while size < len(members):
        size = len(members)
        members |= {place for place, places in takers.items() if not members.isdisjoint(places)}
    return members
