"""Owns NumPy's Python functions with other objects under some of their global names."""

from __future__ import annotations

from types import CodeType, FunctionType, SimpleNamespace
from typing import Any


def with_names(source: Any, names: dict[str, Any]) -> Any:
    """The function as it is written, but for these names; None where it is no Python code, or knows none of them."""
    function = getattr(source, "_implementation", source)
    if type(function) is not FunctionType or not names.keys() <= function.__globals__.keys():
        return None
    return in_space(function, {**function.__globals__, **names})


def in_space(function: FunctionType, space: dict[str, Any]) -> Any:
    """The function as it is written, with these global names."""
    made = FunctionType(function.__code__, space, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def in_module(module: Any, **names: Any) -> SimpleNamespace:
    """The module's names, but for these."""
    return SimpleNamespace(**{**vars(module), **names})


def names_in(code: CodeType) -> tuple[str, ...]:
    """The names that a function asks for, and those that functions within it do."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names.update(dict.fromkeys(names_in(constant)))
    return tuple(names)
