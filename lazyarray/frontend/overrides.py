"""Owns `__array_function__` and `__array_ufunc__` of other classes: who is asked, in which order, and with what.

A class written for NumPy keeps tables of NumPy's functions, one written for lazyarray of lazyarray's, and both compare
by identity. So an override is handed the function, and the arrays, that the module it was written in means.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy._core._internal import array_ufunc_errmsg_formatter

from lazyarray.frontend.foreign import OURS, retried
from lazyarray.frontend.subclass import ArrayType

Function = Callable[..., Any]
_nparray: Final = np.ndarray
_Dispatched: Final = type(np.sum)

NOTHING: Final = object()
# The public function that stands for one of NumPy's, and back.
PUBLIC: Final[dict[Any, Function]] = {}
SOURCES: Final[dict[Any, Any]] = {}


def register(function: Function, source: Any) -> None:
    """Notes that `function` is what the namespace has for NumPy's `source`."""
    PUBLIC[source] = function
    SOURCES[function] = source


def is_numpys(function: Any) -> bool:
    """Whether the function is NumPy's or ours, not one that another package made overridable."""
    package = str(function.__module__).partition(".")[0]
    return package in ("numpy", "lazyarray") or not hasattr(function, "_implementation")


def public_of(source: Any) -> Any:
    """What the namespace has in the place of NumPy's function, by its name; None where it has nothing."""
    space: Any = sys.modules.get("lazyarray")
    for part in source.__module__.split(".")[1:]:
        space = getattr(space, part, None)
    return getattr(space, source.__name__, None)


def is_foreign(obj: Any) -> bool:
    """Whether the object's class has an `__array_function__` that is neither NumPy's nor ours."""
    kind = type(obj)
    if kind in BUILTIN or kind in OURS:
        return False
    override = getattr(kind, "__array_function__", None)
    return override is not None and override is not _nparray.__array_function__


def answer(source: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What the overrides of the arguments make of a call to NumPy's `source`; NOTHING where NumPy itself is to ask."""
    like = options.get("like")
    if like is not None:
        found = [like] if is_foreign(like) else []
        options = {name: item for name, item in options.items() if name != "like"}
    elif type(source) is _Dispatched and (has_foreign(args) or has_foreign(options.values())):
        found = _relevant(args, options)
    else:
        return NOTHING
    public = PUBLIC.get(source)
    if public is None or not any([is_foreign(arg) and written_for_us(type(arg).__array_function__) for arg in found]):
        return NOTHING
    types = tuple([type(arg) for arg in found])
    for arg in found:
        kind = type(arg)
        if kind is ndarray or kind is _nparray or not is_foreign(arg):
            result = numpys_answer(source, types, args, options)
        elif written_for_us(kind.__array_function__):
            result = kind.__array_function__(arg, public, types, tuple(args), dict(options))
        else:
            result = kind.__array_function__(arg, source, types, tuple(export(list(args))), export(dict(options)))
        if result is not NotImplemented:
            return result
    name = f"{source.__module__ or 'numpy'}.{source.__name__}"
    raise TypeError(f"no implementation found for {name!r} on types that implement __array_function__: {list(types)!r}")


def numpys_answer(source: Any, types: Sequence[type], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """What `numpy.ndarray.__array_function__` answers: NumPy's implementation, asking no override again."""
    known = [_nparray if type(kind) is ArrayType else kind for kind in types]

    def answer_now(*given: Any, **named: Any) -> Any:
        return _PROBE.__array_function__(source, known, given, named)

    return wrap(retried(answer_now, export(list(args)), export(dict(options))))


_PROBE: Final[Any] = np.empty(0)


def unasked(function: Function, source: Any) -> Function:
    """`function._implementation`: as the function, but for overrides, which it does not ask. They call it."""

    def call(*args: Any, **options: Any) -> Any:
        if has_foreign(args) or has_foreign(options.values()):
            return numpys_answer(source, (), args, options)
        return function(*args, **options)

    return call if type(source) is _Dispatched else function


def has_foreign(items: Iterable[Any]) -> bool:
    """Whether an object among these, in lists and tuples too, has an `__array_function__` of its own."""
    for item in items:
        kind = type(item)
        if kind is list or kind is tuple:
            if has_foreign(item):
                return True
        elif kind not in BUILTIN and is_foreign(item):
            return True
    return False


def _relevant(args: Sequence[Any], options: Mapping[str, Any]) -> list[Any]:
    """One argument of each type that has an override, in the order in which NumPy asks them."""
    return _in_order(_candidates((*args, *options.values())))


def _in_order(candidates: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for arg in candidates:
        kind = type(arg)
        if any(type(other) is kind for other in found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, arg)
    return found


def _candidates(items: Sequence[Any]) -> Iterator[Any]:
    for item in items:
        kind = type(item)
        if kind is list or kind is tuple:
            yield from _candidates(item)
        elif kind is ndarray or kind is _nparray or is_foreign(item):
            yield item


_written: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def written_for_us(override: Any) -> bool:
    """Whether the module that defines the override means lazyarray by its functions: it does not name NumPy."""
    try:
        known = _written.get(override)
    except TypeError:  # no weak references to it: lazyarray's own, in C
        return True
    if known is None:
        space = list(getattr(getattr(override, "__wrapped__", override), "__globals__", {}).values())
        known = any([item is ndarray or item is sys.modules.get("lazyarray") for item in space])
        known = known or not any([item is np for item in space])
        _written[override] = known
    return known


# ---- ufuncs


class _StandIn:
    """An operand before NumPy, which then puts the arguments of a call into the form that overrides are handed."""

    __slots__ = ("operand",)

    def __init__(self, operand: Any) -> None:
        self.operand = operand

    def __array_ufunc__(self, ufunc: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
        named = {name: _operand_of(item) for name, item in options.items()}
        return _ask(ufunc, method, tuple(map(_operand_of, inputs)), named)


def _operand_of(item: Any) -> Any:
    if type(item) is tuple:
        return tuple(map(_operand_of, item))
    return item.operand if type(item) is _StandIn else item


def _stand_in(item: Any) -> Any:
    if type(item) is tuple:
        return tuple(map(_stand_in, item))
    return _StandIn(item) if type(item) is ndarray or hasattr(type(item), "__array_ufunc__") else item


def ask_ufunc(function: Any, method: str, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """A call of the ufunc (or of its method) that an operand's class may override; NumPy's where none does."""
    run = function._np if method == "__call__" else getattr(function._np, method)
    operands = _operands(args, options)
    overrides = [getattr(type(item), "__array_ufunc__", None) for item in operands if overrides_ufuncs(item)]
    if any([override is not None and written_for_us(override) for override in overrides]):
        return run(*map(_stand_in, args), **{name: _stand_in(item) for name, item in options.items()})
    return written_through(wrap(run(*export(tuple(args)), **export(dict(options)))), dict(options))


def ask_others(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What the other classes among the operands make of NumPy's ufunc; of NumPy's arrays, where they know only those.

    A class that declines types which it does not know (pandas) would take the same values from NumPy.
    """
    for item in _in_order([item for item in _operands(inputs, options) if overrides_ufuncs(item)]):
        result = type(item).__array_ufunc__(item, ufunc, method, *inputs, **options)
        if result is not NotImplemented:
            return result
    return written_through(wrap(getattr(ufunc, method)(*export(inputs), **export(options))), options)


def ask_other_functions(source: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The same of one of NumPy's functions; `NotImplemented` where all decline NumPy's arrays too."""
    foreign = [item for item in _relevant(args, options) if is_foreign(item)]
    for item in foreign:
        result = type(item).__array_function__(item, source, types, args, options)
        if result is not NotImplemented:
            return result
    known = tuple(dict.fromkeys([_nparray if kind in BUILTIN else kind for kind in types]))
    for item in foreign:
        result = type(item).__array_function__(item, source, known, export(args), export(options))
        if result is not NotImplemented:
            return wrap(result)
    return NotImplemented


def _operands(inputs: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
    out = options.get("out")
    return (*inputs, *(out if type(out) is tuple else (out,)), options.get("where"))


def overrides_ufuncs(item: Any) -> bool:
    """Whether the object's class has an `__array_ufunc__` (be it None) that is neither NumPy's nor ours."""
    kind = type(item)
    if kind in BUILTIN or isinstance(item, np.generic):
        return False
    return getattr(kind, "__array_ufunc__", _nparray.__array_ufunc__) is not _nparray.__array_ufunc__


def _ask(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    from lazyarray.frontend.ufunc import own_of

    found = _in_order([item for item in _operands(inputs, options) if overrides_ufuncs(item)])
    for item in found:
        if type(item).__array_ufunc__ is None:
            raise TypeError(f"operand {type(item).__name__!r} does not support ufuncs (__array_ufunc__=None)")
    for item in found:
        override = type(item).__array_ufunc__
        if written_for_us(override):
            result = override(item, own_of(ufunc), method, *inputs, **options)
        else:
            result = override(item, ufunc, method, *export(inputs), **export(options))
        if result is not NotImplemented:
            return result
    raise TypeError(array_ufunc_errmsg_formatter(None, ufunc, method, *inputs, **options))


# Last: arrays and ufuncs need what is above, and any of these modules may be imported first.
from lazyarray.frontend.array import BUILTIN, ndarray, wrap  # noqa: E402
from lazyarray.frontend.elementwise import export, written_through  # noqa: E402
