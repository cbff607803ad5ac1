"""Owns what Python's messages and tools say of lazyarray's classes: the words they have for NumPy's, written in C."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import Served
from lazyarray.ir.index_map import size_of

# Functions of modules written in Python, of those that run compiled, and what C calls the short way.
FUNCTIONS: Final[Any] = (FunctionType, type(size_of), Served)


class Named(type):
    """A class whose `__name__` is its last part, although messages name it with its module."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__

    @property
    def __signature__(cls) -> Any:
        import inspect

        source = getattr(np, cls.__qualname__, None)
        if source is None:
            raise AttributeError(f"type object {cls.__qualname__!r} has no attribute '__signature__'")
        return inspect.signature(source)


def name_as_in_c(cls: type) -> None:
    """Makes messages say `'numpy.ndarray' object ...`: they take the name in the class's C structure."""
    type.__dict__["__name__"].__set__(cls, f"{cls.__module__}.{cls.__qualname__}")


def speak_for(own: type, source: type) -> None:
    """Gives the methods and attributes of `own` and of its parts the names, docstrings and signatures of `source`'s.

    `inspect` follows `__wrapped__` to NumPy's method when somebody asks; nothing is parsed before.
    """
    if own.__doc__ != source.__doc__:
        own.__doc__ = source.__doc__
    for name in dir(source):
        if name in ("__class__", "__init__", "__new__"):
            continue
        member: Any = next((vars(part)[name] for part in own.__mro__[:-1] if name in vars(part)), None)
        theirs = getattr(source, name, None)
        if type(member) is classmethod:
            member, theirs = member.__func__, vars(source)[name]
        if member is not None and isinstance(member, FUNCTIONS):
            describe_as(member, theirs)
            member.__qualname__ = f"{source.__name__}.{name}"
        elif type(member) is property:
            member.__doc__ = theirs.__doc__


def describe_as(function: Any, source: Any) -> None:
    """Gives a function the docstring and the signature of NumPy's."""
    function.__doc__ = getattr(source, "__doc__", None)
    function.__wrapped__ = getattr(source, "__wrapped__", source)
    for name in ("__text_signature__", "__signature__"):
        found = getattr(source, name, None)
        if found is not None:
            setattr(function, name, found)


def refuse_setting(part: type, owner: str) -> None:
    """Gives the read-only properties of `part`, a base of `owner`, the error of attributes written in C."""
    for name, found in list(vars(part).items()):
        if isinstance(found, property) and found.fset is None and name != "__class__":
            setattr(part, name, found.setter(_refusal(name, owner)))


def _refusal(name: str, owner: str) -> Any:
    def refuse(self: Any, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of {owner!r} objects is not writable")

    return refuse


def refuse_deleting(part: type, owner: str, words: Mapping[str, str]) -> None:
    """Gives the properties of `part`, a base of `owner`, the error of deleting attributes written in C.

    `words` says what NumPy calls those that can be set.
    """
    for name, found in list(vars(part).items()):
        if isinstance(found, property) and name != "__class__":
            text = f"attribute {name!r} of {owner!r} objects is not writable"
            setattr(part, name, found.deleter(_undeletable(f"Cannot delete {words[name]}" if name in words else text)))


def _undeletable(text: str) -> Any:
    def refuse(self: Any) -> None:
        raise AttributeError(text)

    return refuse
