"""Owns NumPy's Python functions over memory, with the backend's loops for the transcendental functions inside.

Small operands run NumPy as it is, but where a function has bits of its own here: those are the same at every size. A
function of NumPy that calls such (`angle`, `hanning`, `logspace`) is NumPy's code with these in its globals.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from lazyarray.frontend.elementwise import eager, must_be_eager
from lazyarray.frontend.rebase import implementation
from lazyarray.frontend.renamed import in_module, in_space, names_in
from lazyarray.ir.ops import OPS

_known: dict[FunctionType, Any] = {}


def with_loops(source: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's Python function over such ufuncs; made at its first call."""
    function: Callable[..., Any] | None = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal function
        if function is None:
            inner = implementation(source)
            function = source if inner is None else _translated(inner)
        return function(*args, **kwargs)

    return call


def _translated(function: FunctionType) -> Any:
    """The function over such ufuncs; itself, where neither it nor what it calls has any."""
    try:
        return _known[function]
    except KeyError:
        _known[function] = function  # for functions that name each other
    source, asked = function.__globals__, names_in(function.__code__)
    inside = {name: _with_loops_inside(source[name], asked) for name in asked if name in source}
    names = {name: made for name, made in inside.items() if made is not source[name]}
    if names:
        _known[function] = in_space(function, {**source, **names})
    return _known[function]


def _with_loops_inside(value: Any, asked: tuple[str, ...]) -> Any:
    """What stands for an object that a function of NumPy names; of modules, for those members that are asked for."""
    if isinstance(value, np.ufunc):
        return _loop(value) if _is_transcendental(value) else value
    if isinstance(value, ModuleType):
        members: dict[str, Any] = {name: getattr(value, name, None) for name in asked}
        loops = {name: _loop(member) for name, member in members.items() if _is_transcendental(member)}
        return in_module(value, **loops) if loops and value.__name__.startswith("numpy") else value
    inner = implementation(value)
    if inner is None or not (inner.__module__ or "").startswith("numpy"):
        return value
    made = _translated(inner)
    return value if made is inner else made


def _is_transcendental(value: Any) -> bool:
    op = OPS.get(value.__name__) if isinstance(value, np.ufunc) else None
    return op is not None and op.transcendental


def _loop(plain: np.ufunc) -> Callable[..., Any]:
    """A transcendental function of memory with its own bits, where it has such for the dtypes, and settings say so."""
    name = plain.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        own = None if must_be_eager(args) else eager(name)
        return (own or plain)(*args, **kwargs)

    return call
