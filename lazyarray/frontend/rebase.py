"""Owns NumPy's own Python code run on lazy arrays: a function of NumPy with lazyarray's names in its globals.

A good part of NumPy is Python over a few primitives (`nanmean`, `pad`, `diff`, `linspace`, ...).  Its code
objects run here unchanged, except that every name of NumPy's namespace in their globals means lazyarray's object of
that name: the operations, their order, the checks and the messages are then NumPy's by construction, whichever
release of NumPy is installed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import BuiltinMethodType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from lazyarray.frontend.renamed import names_in

Resolve = Callable[[str], Any]

_functions: dict[int, FunctionType] = {}
_overlays: dict[int, dict[str, Any]] = {}
_spaces: dict[int, Space] = {}
_names: dict[int, str] = {}
_kept: list[Any] = []  # objects whose ids are keys above: an id may not be used again while it is one
SUBSTITUTES: dict[str, Any] = {}
_resolve: Resolve | None = None


def configure(resolve: Resolve, substitutes: dict[str, Any]) -> None:
    """Sets how a public name becomes lazyarray's object, and which private names of NumPy's have one too."""
    global _resolve
    _resolve = resolve
    SUBSTITUTES.update(substitutes)


def _names_of_numpy() -> dict[int, str]:
    """NumPy's public functions and classes by id; found when first asked for."""
    if not _names:
        for name, value in vars(np).items():
            if not name.startswith("_") and is_replaceable(value):
                _names.setdefault(id(value), name)
                # Some modules of NumPy's keep the function under the dispatcher.
                _names.setdefault(id(getattr(value, "_implementation", value)), name)
    return _names


def is_replaceable(value: Any) -> bool:
    """Functions, ufuncs and the few classes that a namespace of arrays has its own of."""
    if isinstance(value, ModuleType):
        return False
    if isinstance(value, type):
        return value is np.ndarray
    return callable(value)


def name_of(value: Any) -> str | None:
    """The public name under which NumPy has this very object."""
    return _names_of_numpy().get(id(value))


def implementation(function: Any) -> FunctionType | None:
    """NumPy's Python function under its dispatcher; None for what is written in C."""
    inner = getattr(function, "_implementation", function)
    return inner if isinstance(inner, FunctionType) else None


def rebase(function: Any) -> FunctionType:
    """NumPy's Python function `function` with lazyarray's names."""
    inner = implementation(function)
    if inner is None:
        raise TypeError(f"{function!r} is not written in Python")
    found = _functions.get(id(inner))
    if found is not None:
        return found
    overlay = _overlays.get(id(inner.__globals__))
    if overlay is None:
        source = inner.__globals__
        overlay = {key: source[key] for key in ("__package__", "__builtins__") if key in source}
        # Frames of this code count as lazyarray's: what they record belongs to the line that called them.
        overlay["__name__"] = f"lazyarray.frontend.rebase.{source.get('__name__')}"
        _overlays[id(source)] = overlay
    result = FunctionType(inner.__code__, overlay, inner.__name__, inner.__defaults__, inner.__closure__)
    result.__kwdefaults__ = inner.__kwdefaults__
    result.__doc__ = inner.__doc__
    result.__qualname__ = inner.__qualname__
    _functions[id(inner)] = result  # before its names: helpers may name each other
    _kept.append(inner)
    try:
        _fill(overlay, inner.__globals__, inner.__code__)
    except BaseException:
        del _functions[id(inner)]
        raise
    return result


def _fill(overlay: dict[str, Any], source: dict[str, Any], code: CodeType) -> None:
    for name in names_in(code):
        if name in source and name not in overlay:
            overlay[name] = translate(source[name], f"{source.get('__name__')}.{name}")


def translate(value: Any, where: str = "") -> Any:
    """What stands for an object of NumPy's inside a rebased function."""
    if where:
        ours = SUBSTITUTES.get(where.rpartition(".")[2])
        if ours is not None:
            return ours
    if value is warnings:
        return Warnings
    if isinstance(value, ModuleType):
        name = value.__name__
        if name == "numpy" or name.startswith("numpy."):
            return space_of(value)
        return value
    public = _names_of_numpy().get(id(value))
    if public is not None:
        assert _resolve is not None
        return Ufunc(_resolve(public)) if isinstance(value, np.ufunc) else _resolve(public)
    if isinstance(value, BuiltinMethodType) and isinstance(value.__self__, np.ufunc):
        assert _resolve is not None
        return getattr(_resolve(_names_of_numpy()[id(value.__self__)]), value.__name__)
    inner = implementation(value) if callable(value) and not isinstance(value, type) else None
    if inner is not None and str(inner.__module__).startswith("numpy"):
        return rebase(inner)
    return value


class Ufunc:
    """One of lazyarray's ufuncs that also takes NumPy's `out=...`: an array even where a scalar is usual."""

    def __init__(self, function: Any) -> None:
        self.__function = function

    def __call__(self, *args: Any, out: Any = None, **options: Any) -> Any:
        if args and args[-1] is None:
            args = args[:-1]  # an `out` handed on that was not given
        if out is not ...:
            return self.__function(*args, **options) if out is None else self.__function(*args, out=out, **options)
        assert _resolve is not None
        return _resolve("asarray")(self.__function(*args, **options))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__function, name)


class Space:
    """A module of NumPy as rebased functions see it: `np`, `_nx`, `um`, ... inside them."""

    def __init__(self, module: ModuleType) -> None:
        self.__module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__module, name)
        if isinstance(value, ModuleType) or callable(value):
            value = translate(value, f"{self.__module.__name__}.{name}")
            self.__dict__[name] = value
        return value


def space_of(module: ModuleType) -> Space:
    """The one `Space` over a module."""
    found = _spaces.get(id(module))
    if found is None:
        found = _spaces[id(module)] = Space(module)
        _kept.append(module)
    return found


class _Warnings:
    """The `warnings` module with the user's line as the place, whatever frames lie between."""

    issued = 0

    def warn(
        self, message: Any, category: type[Warning] | None = None, stacklevel: int = 1, source: Any = None
    ) -> None:
        self.issued += 1
        warnings.warn(message, category, stacklevel=user_level(), source=source)

    def __getattr__(self, name: str) -> Any:
        return getattr(warnings, name)


Warnings = _Warnings()


def user_level() -> int:
    """The stack level of the first frame outside lazyarray and NumPy, seen by the caller of the caller."""
    level = 1
    frame = sys._getframe(1)
    while frame is not None:
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("lazyarray", "numpy"):
            return level
        if frame.f_back is None:
            return level
        frame = frame.f_back
        level += 1
    return level
