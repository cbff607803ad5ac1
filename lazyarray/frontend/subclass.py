"""Owns what `class Mine(np.ndarray)` makes: a subclass of NumPy's array, for which NumPy runs every operation."""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import Any, Final

import numpy as np

from lazyarray.frontend.naming import Named

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

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _nparray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, _nparray)


def named_for_numpy(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call of NumPy's, with its class for ours."""
    given = [_nparray if type(item) is ArrayType else item for item in args]
    return given, {name: _nparray if type(item) is ArrayType else item for name, item in options.items()}


class Views:
    """What NumPy's own methods of such a subclass cannot know: that its arrays are ours. (`view` knows the class.)"""

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        from lazyarray.frontend.overrides import written_for_us
        from lazyarray.frontend.unbound import take_lazy_keys

        super().__init_subclass__(**options)
        take_lazy_keys(cls)
        for name in HOOKS:
            override = vars(cls).get(name)
            if type(override) is FunctionType and written_for_us(override):
                setattr(cls, name, MEANT[name](override))

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


def _of_own_ufuncs(override: Any) -> Any:
    """The override `__array_ufunc__` of a class that knows lazyarray's ufuncs: NumPy asks it about its own."""

    @wraps(override)
    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        from lazyarray.frontend.ufunc import own_of

        return override(self, own_of(ufunc), method, *inputs, **options)

    return __array_ufunc__


def _of_own_functions(override: Any) -> Any:
    """The same of `__array_function__`."""

    @wraps(override)
    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from lazyarray.frontend.array import ndarray
        from lazyarray.frontend.overrides import is_numpys, public_of

        known = tuple([ndarray if kind is _nparray else kind for kind in types])
        own = public_of(func) if is_numpys(func) else None
        return override(self, func if own is None else own, known, args, kwargs)

    return __array_function__


MEANT: Final[dict[str, Any]] = {"__array_ufunc__": _of_own_ufuncs, "__array_function__": _of_own_functions}

# In the subclasses that define these: NumPy takes any other definition than its own for an override.
HOOKS: Final[dict[str, type]] = {"__array_ufunc__": Ufuncs, "__array_function__": Functions}
