"""Owns what `class Mine(np.ndarray)` makes: a subclass of NumPy's array, for which NumPy runs every operation."""

from __future__ import annotations

from types import MethodType
from typing import Any, Final

import numpy as np

from lazyarray.frontend.naming import Named, describe_as

_nparray: Final = np.ndarray


class ArrayType(Named):
    """Makes NumPy's arrays instances of `ndarray`, and subclasses of `ndarray` subclasses of NumPy's.

    A program's own subclass overrides NumPy's hooks, so NumPy must be what runs it.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any], **options: Any) -> Any:
        if any(type(base) is ArrayType for base in bases):
            hooks = [hook for name_, hook in HOOKS.items() if name_ in space]
            real: list[type] = []
            for base in bases:
                real.extend((Views, *hooks, _nparray) if type(base) is ArrayType else (base,))
            return type(real[0])(name, tuple(real), space, **options)
        return super().__new__(mcs, name, bases, space, **options)

    def __getattribute__(cls, name: str) -> Any:
        found = super().__getattribute__(name)
        return _unbound(name, found) if name in SHARED else found

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _nparray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, _nparray)


SHARED: Final[set[str]] = set()
"""The methods that NumPy's arrays have, too, once `ndarray` has all of its own."""


class Unbound:
    """A method as `np.ndarray.sum` gives it: NumPy's for all but lazy arrays. Subclasses are NumPy's arrays.

    A subclass that extends a method calls `np.ndarray.__getitem__(self, key)`.
    """

    __slots__ = ("_name", "_own")

    def __init__(self, name: str, own: Any) -> None:
        self._name = name
        self._own = own

    def __call__(self, *args: Any, **options: Any) -> Any:
        if args and type(type(args[0])) is ArrayType:
            return self._own(*args, **options)
        return _next_after_own(type(args[0]) if args else _nparray, self._name)(*args, **options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self._own.__doc__

    def __repr__(self) -> str:
        return repr(getattr(_nparray, self._name))

    def __reduce__(self) -> Any:
        return _unbound_of_array, (self._name,)


_made: Final[dict[str, Unbound]] = {}


def _unbound(name: str, own: Any) -> Any:
    found = _made.get(name)
    if found is None or found._own is not own:
        found = _made[name] = Unbound(name, own)
    return found


def _unbound_of_array(name: str) -> Any:
    from lazyarray.frontend.array import ndarray

    return getattr(ndarray, name)


def _next_after_own(kind: type, name: str) -> Any:
    """What `super()` of a subclass's own method finds: NumPy's method, or what this module puts before it."""
    for part in kind.__mro__:
        if part is Views and name in vars(part):
            return vars(part)[name]
    return getattr(_nparray, name)


def share_methods(own: type) -> None:
    """Lets the methods of `ndarray` that NumPy's arrays have be called on those by their class's name."""
    for name in dir(_nparray):
        method = getattr(_nparray, name)
        if (
            callable(method)
            and method is not getattr(object, name, None)
            and name not in _OF_CLASSES
            and hasattr(own, name)
        ):
            SHARED.add(name)


# `__array_ufunc__` and `__array_function__`: NumPy asks the class for them at each call. They ask nothing of `self`.
_OF_CLASSES: Final = frozenset(
    {
        "__new__",
        "__class_getitem__",
        "__init_subclass__",
        "__subclasshook__",
        "__array_finalize__",
        "__array_ufunc__",
        "__array_function__",
    }
)


def _named_for_numpy(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    given = [_nparray if type(item) is ArrayType else item for item in args]
    return given, {name: _nparray if type(item) is ArrayType else item for name, item in options.items()}


def teach(kind: Any) -> None:
    """Lets `x.view(np.ndarray)` of one of NumPy's own subclasses mean `ndarray`; all else is as it was.

    NumPy takes a class that it does not know for a dtype.
    """
    view = kind.view
    if hasattr(view, "knows_ndarray"):
        return

    def knowing(self: Any, *args: Any, **options: Any) -> Any:
        if not any([type(item) is ArrayType for item in (*args, *options.values())]):
            return view(self, *args, **options)
        from lazyarray.frontend.array import wrap

        given, named = _named_for_numpy(args, options)
        return wrap(view(self, *given, **named))

    knowing.__name__ = "view"
    knowing.knows_ndarray = True  # type: ignore[attr-defined]
    describe_as(knowing, view)
    kind.view = knowing


def _wrapped(name: str) -> Any:
    method = getattr(_nparray, name)

    def call(self: Any, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend.array import wrap

        above: Any = super(Views, self)
        return wrap(getattr(above, name)(*args, **options))

    call.__name__ = name
    describe_as(call, method)
    return call


class Views:
    """What NumPy's own methods of such a subclass cannot know: `ndarray` as a class, and as an array."""

    __slots__ = ()

    def view(self: Any, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend.array import wrap

        given, named = _named_for_numpy(args, options)
        above: Any = super()
        return wrap(above.view(*given, **named))

    def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: Any = False, /) -> Any:
        above: Any = super()
        return above.__array_wrap__(_export(array), context, return_scalar)

    # The methods whose results may be NumPy's own arrays.
    astype = _wrapped("astype")
    nonzero = _wrapped("nonzero")
    searchsorted = _wrapped("searchsorted")

    @property
    def base(self: Any) -> Any:
        from lazyarray.frontend.owners import array_over

        above: Any = super()
        memory = above.base
        return array_over(memory) if type(memory) is _nparray else memory


def _export(item: Any) -> Any:
    from lazyarray.frontend.elementwise import export

    return export(item)


class Ufuncs:
    """`super().__array_ufunc__` of a subclass with its own: NumPy's refuses operands that have one too, as ours."""

    __slots__ = ()

    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from lazyarray.frontend.array import wrap

        above: Any = super()
        return wrap(above.__array_ufunc__(_export(ufunc), method, *_export(inputs), **_export(options)))


class Functions:
    """`super().__array_function__` of a subclass with its own: NumPy's serves NumPy's arrays only."""

    __slots__ = ()

    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from lazyarray.frontend.array import wrap
        from lazyarray.frontend.overrides import SOURCES

        known = [_nparray if type(item) is ArrayType else item for item in types]
        above: Any = super()
        return wrap(above.__array_function__(SOURCES.get(func, func), known, _export(args), _export(kwargs)))


# In the subclasses that define these: NumPy takes any other definition than its own for an override.
HOOKS: Final[dict[str, type]] = {"__array_ufunc__": Ufuncs, "__array_function__": Functions}
