"""Owns what Python's own messages say about lazyarray's classes: the words they have for NumPy's, written in C."""

from __future__ import annotations

from typing import Any


class Named(type):
    """A class whose `__name__` is its last part, although messages name it with its module."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return cls.__qualname__


def name_as_in_c(cls: type) -> None:
    """Makes messages say `'numpy.ndarray' object ...`: they take the name in the class's C structure."""
    type.__dict__["__name__"].__set__(cls, f"{cls.__module__}.{cls.__qualname__}")


def refuse_setting(part: type, owner: str) -> None:
    """Gives the read-only properties of `part`, a base of `owner`, the error of attributes written in C."""
    for name, found in list(vars(part).items()):
        if isinstance(found, property) and found.fset is None:
            setattr(part, name, found.setter(_refusal(name, owner)))


def _refusal(name: str, owner: str) -> Any:
    def refuse(self: Any, value: Any) -> None:
        raise AttributeError(f"attribute {name!r} of {owner!r} objects is not writable")

    return refuse
