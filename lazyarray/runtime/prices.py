"""Owns estimates of time and memory: what NumPy takes for an expression, and what compiling it takes.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import size_of
from lazyarray.ir.ops import OPS
from lazyarray.ir.sizes import Structure

# Nanoseconds that NumPy takes: roughly, and the same on every machine, since choices must not depend on timing.
_ENTRY: Final = 4000
_ELEMENT: Final = {"iota": 1.0, "fill": 0.5, "empty": 0.2, "roll": 1.0, "gather": 4.0, "expand": 3.0, "update": 3.0}
_READ: Final = {"reduce": 1.0, "scan": 3.0, "compress": 3.0, "scatter": 3.0}  # per element of what is read
_INDEXED: Final = 10.0  # per place written at index arrays
_SLOW_CODES: Final = {"f2": 6.0, "c8": 2.0, "c16": 2.0}
# What compiling takes: a plan, and for each operation in it; the first kernel, and each operation that no kernel had.
_PLAN: Final = 1_000_000
_PLANNED: Final = 70_000
_KERNEL: Final = 14_000_000
_OPERATION: Final = 1_000_000

_FREE: Final = frozenset(("leaf", "scalar", "call"))  # what is given, and what a plan has a library do, too
_MAKING_NONE: Final = _FREE | {"view"}  # what makes no values
# What a kernel reads from memory: another kernel, or somebody else, has made it.
_IN_MEMORY: Final = _FREE | {"reduce", "scan", "compress", "scatter", "update"}
_LIMIT: Final = 1 << 16

_numbers: dict[Any, int] = {}  # of operations with what they are computed from, back to what is read from memory
_compiled: set[int] = set()  # of those that kernels were made for


def operations_of(structure: Structure) -> list[int]:
    """The numbers of a structure's operations: equal ones, on values computed in the same way, have one number.

    A loop whose steps were recorded one after another is many operations, but only those of one step are compiled.
    """
    if len(_numbers) > _LIMIT:
        _numbers.clear()
        _compiled.clear()
    made: list[Any] = []  # per entry: its number, or what it is in memory
    found = []
    for kind, attr, axes, code, args in structure[:-1]:
        key = (kind, attr, axes, code, tuple([made[arg] for arg in args]))
        number = _numbers.setdefault(key, len(_numbers)) if kind not in _FREE else -1
        if kind not in _MAKING_NONE:
            found.append(number)
        made.append((axes, code) if kind in _IN_MEMORY else number)
    return found


def compiling(structure: Structure) -> int:
    """Nanoseconds that compiling an expression takes, roughly: kernels are there of what was compiled before."""
    operations = operations_of(structure)
    new = len(set(operations) - _compiled)
    return _PLAN + _PLANNED * len(operations) + (_KERNEL + _OPERATION * new if new else 0)


def note_compiled(structure: Structure) -> None:
    """The kernels of a structure are there, or soon will be."""
    _compiled.update(operations_of(structure))


def forget() -> None:
    """No kernels are there."""
    _compiled.clear()


def held(expression: Expression) -> int:
    """The most bytes of values at once that an evaluation makes and nobody may let go of yet."""
    entries, outputs = expression
    last = list(range(len(entries)))  # by place: where it is needed last
    for place in outputs:
        last[place] = len(entries)
    for place in range(len(entries) - 1, -1, -1):
        until = last[place] if entries[place].kind == "view" else place
        for arg in entries[place].args:
            last[arg] = max(last[arg], until)
    ends: list[list[int]] = [[] for _ in range(len(entries) + 1)]
    most = now = 0
    for place, entry in enumerate(entries):
        if entry.kind not in _MAKING_NONE:
            size = size_of(entry.shape) * int(entry.code[1:])
            now += size
            ends[last[place]].append(size)
        most = max(most, now)
        now -= sum(ends[place])
    return most


def price(entry: Entry, entries: tuple[Entry, ...]) -> float:
    """Nanoseconds that NumPy takes for one entry; none for library calls, which a plan makes, too."""
    kind = entry.kind
    if kind in _FREE:
        return 0.0
    if kind == "map":
        name, codes = entry.attr
        slower = max([_SLOW_CODES.get(code, 1.0) for code in (entry.code, *codes)])
        cost = OPS[name].cost if name in OPS else 1
        return _ENTRY + size_of(entry.shape) * (0.5 + 0.4 * cost) * slower
    if kind in _READ:
        found = size_of(entries[entry.args[0]].shape) * _READ[kind] * _SLOW_CODES.get(entry.code, 1.0)
        if kind == "scatter":
            found += _INDEXED * size_of(entries[entry.args[1]].shape)
        return _ENTRY + found
    return _ENTRY + size_of(entry.shape) * _ELEMENT.get(kind, 0.0)
