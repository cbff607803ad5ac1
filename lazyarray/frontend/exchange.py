"""Owns what NumPy's functions are handed of a call's arguments, and what their results are as ours."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import ndarray, read_only, to_numpy, wrap
from lazyarray.frontend.quick import tell
from lazyarray.frontend.record import is_compiled
from lazyarray.frontend.regions import window
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.node import finish_waiting

FALL_BACK: Final = object()

CONTAINERS: Final[frozenset[Any]] = frozenset([ndarray, LazyScalar, np.ndarray, list, tuple, dict])
INERT: Final[frozenset[Any]] = frozenset(
    {
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        type(None),
        type,
        slice,
        range,
        type(Ellipsis),
        np.float64,
        np.int64,
    }
)


def plain_operands(args: Sequence[Any], fresh: bool = False) -> Any:
    """The arguments as NumPy takes them where all arrays are plain and small (or of a dtype never compiled).

    None where an array is managed or large (the call is recorded), FALL_BACK where both kinds meet, or a dict
    or an array type that is neither NumPy's nor ours takes part.
    """
    finish_waiting()
    result: list[Any] = []
    managed = uncompiled = False
    limit = config.eager_below
    for arg in args:
        kind = type(arg)
        if kind is ndarray:
            data = arg._np
            if data is None and fresh and arg._node is None:
                data = window(arg)
            if data is None:
                managed = True
                continue
            if not is_compiled(data.dtype):
                uncompiled = True
            elif data.size >= limit:
                managed = True
            result.append(data)
        elif kind in INERT:
            result.append(arg)
        elif kind is LazyScalar:
            managed = True
        elif kind is np.ndarray:
            if not is_compiled(arg.dtype):
                uncompiled = True
            elif arg.size >= limit:
                managed = True
            result.append(arg)
        elif isinstance(arg, list | tuple):
            kinds = set(map(type, arg))
            if INERT.issuperset(kinds):
                result.append(arg)
                continue
            if CONTAINERS.isdisjoint(kinds) and not any([hasattr(item, "__array_function__") for item in kinds]):
                result.append(arg)
                continue
            inner = plain_operands(arg, fresh)
            if inner is FALL_BACK:
                uncompiled = managed = True
            elif inner is None:
                managed = True
            else:
                result.append(tuple(inner) if isinstance(arg, tuple) else inner)
        elif kind is dict or isinstance(arg, np.ndarray) or hasattr(kind, "__array_function__"):
            return FALL_BACK
        else:
            items = items_of(arg)
            inner = arg if items is None else plain_operands(items, fresh)
            if inner is None or inner is FALL_BACK:
                managed = True
                uncompiled = uncompiled or inner is FALL_BACK or type(arg) is _VALUES  # no sequence: NumPy says so
            else:
                result.append(inner if items is None else holding(arg, inner))
    if managed:
        return FALL_BACK if uncompiled else None
    return result


def export(obj: Any) -> Any:
    """The argument as NumPy takes it: arrays in it (nested too) as NumPy's, sharing their memory."""
    kind = type(obj)
    if kind in INERT:
        return obj
    if kind is ndarray:
        return to_numpy(obj)
    if kind is LazyScalar:
        return obj._now()
    if kind is list:
        if CONTAINERS.isdisjoint(map(type, obj)):
            return obj
        return [export(item) for item in obj]
    if kind is tuple:
        return tuple([export(item) for item in obj])
    if kind is dict:
        return {key: export(value) for key, value in obj.items()}
    if isinstance(obj, list | tuple):
        items = [export(item) for item in obj]
        if all(map(operator.is_, items, obj)):
            return obj
        try:
            return kind(*items) if hasattr(obj, "_fields") else items
        except TypeError:  # it is made of more than its items, as SciPy's results are
            return items
    opened = items_of(obj)
    return obj if opened is None else holding(obj, [export(item) for item in opened])


class Items:
    """A sequence that is no list, as the one was whose items these are: `block` tells the two apart."""

    __slots__ = ("_items",)

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: Any) -> Any:
        return self._items[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)


_VALUES: Final[type] = type({}.values())


def holding(obj: Any, items: list[Any]) -> Any:
    """What NumPy takes as it takes `obj`, a sequence or the values of a dict, with these items."""
    return dict(enumerate(items)).values() if type(obj) is _VALUES else Items(items)


def items_of(obj: Any) -> list[Any] | None:
    """The items of a sequence of arrays that is no list (a deque, a `UserList`), of a dict's values; None for others.

    NumPy's functions would find our arrays in it, and ask us what we ask them.
    """
    kind = type(obj)
    if kind is not _VALUES and not (hasattr(kind, "__getitem__") and hasattr(kind, "__len__")):
        return None
    if hasattr(kind, "keys") or hasattr(kind, "__array__") or isinstance(obj, str | np.dtype) or _has_buffer(obj):
        return None
    try:
        items = list(obj)
    except Exception:  # of the program's class: NumPy meets it, too
        return None
    return None if CONTAINERS.isdisjoint(map(type, items)) else items


def _has_buffer(obj: Any) -> bool:
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def adopt(result: Any) -> Any:
    """A result of NumPy's as lazyarray's: its arrays wrapped, tuples, named tuples, lists and dicts rebuilt."""
    kind = type(result)
    if kind is np.ndarray:
        return wrap(result)
    if kind is tuple:
        return tuple([adopt(item) for item in result])
    if kind is list:
        return [adopt(item) for item in result] if result and type(result[0]) in ADOPTED else result
    if kind is dict:
        return {key: adopt(value) for key, value in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        items = [adopt(item) for item in result]
        return result if all(map(operator.is_, items, result)) else kind(*items)
    return result


ADOPTED: Final = frozenset({np.ndarray, tuple, list, dict})
tell(adopt=adopt)


def same(result: Any, given: Sequence[Any], passed: Sequence[Any]) -> Any:
    """The result wrapped; where it is one of the arrays passed (an `out`), the array given for it."""
    if type(result) is np.ndarray:
        for before, after in zip(given, passed, strict=True):
            if after is result:
                return before
    return adopt(result)


def lend(obj: Any) -> Any:
    """The argument for a function that is known to write and keep nothing."""
    return read_only(obj)[...] if type(obj) is ndarray else borrow(obj)


def borrow(obj: Any) -> Any:
    """The argument as NumPy takes it, not to be written or kept."""
    kind = type(obj)
    if kind is ndarray:
        view = read_only(obj)[...]
        view.flags.writeable = False
        return view
    if kind is list:
        return obj if CONTAINERS.isdisjoint(map(type, obj)) else [borrow(item) for item in obj]
    if kind is tuple:
        return tuple([borrow(item) for item in obj])
    return export(obj)
