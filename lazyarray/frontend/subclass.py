"""Owns what `class Mine(np.ndarray)` makes: a subclass of NumPy's array, for which NumPy runs every operation."""

from __future__ import annotations

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
            real: list[type] = []
            for base in bases:
                real.extend((Views, _nparray) if type(base) is ArrayType else (base,))
            return type(real[0])(name, tuple(real), space, **options)
        return super().__new__(mcs, name, bases, space, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _nparray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, _nparray)


class Views:
    """`view(np.ndarray)` of such a subclass: NumPy takes a class that it does not know for a dtype."""

    __slots__ = ()

    def view(self: Any, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend.array import wrap

        given = [_nparray if type(item) is ArrayType else item for item in args]
        named = {name: _nparray if type(item) is ArrayType else item for name, item in options.items()}
        made: Any = super()
        return wrap(made.view(*given, **named))
