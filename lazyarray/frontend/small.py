"""Owns small calls: functions of NumPy's on small plain arrays and on what says nothing of its own, with no detour.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from lazyarray.frontend.quick import FLOAT64, Fields, known, limits, wrapped  # cimport
from lazyarray.frontend.record import COMPILED
from lazyarray.ir.node import finish_waiting  # cimport
from lazyarray.native.lists import numbers_of  # cimport
from lazyarray.native.primitives import holds_numbers, size_of_memory  # cimport
from lazyarray.runtime.ledger import ledger

_nparray: Final = np.ndarray
_asarray: Final = np.asarray
_CODES: Final = "?bhilqBHILQefdFD"
# What NumPy takes as it is, whatever the function.
INERT: Final = frozenset({
    int, float, complex, bool, str, bytes, type(None), type, slice, range, type(...),
    *[np.dtype(code).type for code in _CODES],
    *[type(np.dtype(code)) for code in _CODES],
})  # fmt: skip
_ALL: Final = sys.maxsize
_LONG: Final = 64  # items of a list that are looked at one by one
REFUSED: Final = object()  # what `small_call` returns where nothing has happened


def small_items(items: Any, limit: int = 0) -> Any:
    """The items, a tuple or list, as NumPy takes them; None where not all arrays are small and plain, or unknown.

    `limit`: the number of elements from which on arrays are large; 0 stands for `eager_below`, and with `_ALL` arrays
    that are not plain will do if their values are there.
    """
    finish_waiting()
    if limit == 0:
        limit = limits.eager
    if len(items) > _LONG:
        return None
    passed: Any = None
    place = 0
    for item in items:
        kind = type(item)
        new = item
        if kind is float or kind is int or kind is FLOAT64:
            pass
        elif kind is known.array:
            array: Fields = item
            new = array._np
            if new is None:
                new = known.read_present(array) if limit == _ALL else None
                if new is None:
                    return None
            elif size_of_memory(new) >= limit:
                return None
        elif kind is _nparray:
            if size_of_memory(item) >= limit:
                return None
        elif kind is tuple or kind is list:
            new = small_items(item, limit)
            if new is None:
                return None
        elif kind not in INERT:
            return None
        if new is not item:
            if passed is None:
                passed = list(items)
            passed[place] = new
        place += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    if passed is None:
        return items
    return passed if type(items) is list else tuple(passed)


def listed(items: Any) -> Any:
    """A tuple or list of numbers and small arrays as NumPy's array of numbers, a small one; None for others."""
    found = numbers_of(items, None)
    if found is not None:
        return found
    passed = small_items(items)
    if passed is None:
        return None
    found = _asarray(passed)
    return found if size_of_memory(found) < limits.eager and holds_numbers(found) else None


def _small_named(named: dict[str, Any], limit: int) -> Any:
    found = {}
    for name, item in named.items():
        passed = small_items((item,), limit)
        if passed is None:
            return None
        found[name] = passed[0]
    return found


def small_call(source: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's `source` makes of small arguments, its arrays wrapped; `REFUSED` for others."""
    passed = small_items(args, 0)
    if passed is None:
        return REFUSED
    named = None
    if kwargs:
        named = _small_named(kwargs, 0)
        if named is None:
            return REFUSED
    return _answer(source, passed, named, args, kwargs)


def large_call(name: str, source: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What NumPy's `source` makes of arguments that it only reads, however large; `REFUSED` for what has overrides.

    What is yet to be computed is refused, too: that is to happen in the call, for what the ledger says of it. It is a
    fallback where an array is of a dtype that is compiled. What runs here between two passes over arrays that
    fill a core's cache finds little of itself there, so it is short.
    """
    passed = small_items(args, _ALL)
    if passed is None:
        return REFUSED
    named = None
    if kwargs:
        named = _small_named(kwargs, _ALL)
        if named is None:
            return REFUSED
    for item in passed:
        if type(item) is _nparray and item.dtype in COMPILED:
            run = ledger.fallback(name, (*args, *kwargs.values()))
            found = _answer(source, passed, named, args, kwargs)
            ledger.ended(run)
            return found
    return REFUSED


def _answer(source: Any, passed: Any, named: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = source(*passed) if named is None else source(*passed, **named)
    if type(found) is _nparray:
        # An `out`, or an argument that is the result: the array given for it.
        for place in range(len(passed)):
            if passed[place] is found:
                return args[place]
        if named is not None:
            for name, item in named.items():
                if item is found:
                    return kwargs[name]
        return wrapped(found)
    if isinstance(found, tuple | list | dict):
        return known.adopt(found)
    return found
