"""Owns where methods of NumPy's classes meet ours: `np.ndarray.method`, `x.view(np.ndarray)`, subclasses' indexing.

One of the modules that may run compiled (see `lazyarray/native`): calls of arrays' methods then stay in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import ndarray, wrap
from lazyarray.frontend.callables import Served
from lazyarray.frontend.elementwise import export
from lazyarray.frontend.naming import describe_as
from lazyarray.frontend.shared import knowing, sharing, wrapping  # cimport
from lazyarray.frontend.subclass import Views, named_for_numpy
from lazyarray.native.primitives import put_method, take_keys  # cimport

# They take any `self` (NumPy asks the class for two of them at each call), but for `resize`, which counts references to
# it from where Python calls it, and for the buffers of Python 3.12, which are a slot of their own.
_AS_THEY_ARE: Final = frozenset(
    """
    __new__ __class_getitem__ __init_subclass__ __subclasshook__ __array_finalize__ __array_ufunc__ __array_function__
    resize __buffer__ __release_buffer__
    """.split()
)


def share_methods(own: Any) -> None:
    """Has the methods of `own`, called by the name of the class, be NumPy's for all that is no lazy array.

    Subclasses call what they extend so, and they are NumPy's arrays.
    """
    for name in dir(np.ndarray):
        source = getattr(np.ndarray, name)
        if not callable(source) or source is getattr(object, name, None) or name in _AS_THEY_ARE:
            continue
        member = next((vars(part)[name] for part in own.__mro__ if name in vars(part)), None)
        if member is None:
            continue
        if type(member) is Served:  # small arrays go past its function
            member.function = sharing(member.function, _of_others(name), own)
        else:
            member = sharing(member, _of_others(name), own)
            member.__name__, member.__module__ = name, own.__module__
            put_method(own, name, member)
        member.__dict__["__objclass__"] = own


def _of_others(name: str) -> Callable[..., Any]:
    """NumPy's method. What it makes of NumPy's arrays is lazy, as what functions make of them."""

    def call(*args: Any, **options: Any) -> Any:
        kind = type(args[0]) if args else np.ndarray
        if name in _WITH_KEYS and len(args) > 1:
            args = (args[0], export(args[1]), *args[2:])
        found = _next_after_own(kind, name)(*args, **options)
        return wrap(found) if kind is np.ndarray and found is not args[0] else found

    return call


_WITH_KEYS: Final = frozenset({"__getitem__", "__setitem__"})


def _next_after_own(kind: type, name: str) -> Any:
    """What `super()` of a subclass's own method finds: NumPy's method, or what is put before it."""
    return vars(Views)[name] if name in vars(Views) and Views in kind.__mro__ else getattr(np.ndarray, name)


def teach(kind: Any) -> None:
    """Lets `x.view(np.ndarray)` of instances of one of NumPy's classes mean `ndarray`; all else is as it was.

    NumPy takes a class that it does not know for a dtype.
    """
    view = kind.view
    if "knows_ndarray" in getattr(view, "__dict__", ()):
        return

    def view_as_ours(self: Any, *args: Any, **options: Any) -> Any:
        given, named = named_for_numpy(args, options)
        found = view(self, *given, **named)
        return wrap(found) if any([item is ndarray for item in (*args, *options.values())]) else found

    made = _put_knowing(kind, view_as_ours, view)
    made.knows_ndarray = True


def _put_knowing(kind: Any, own: Any, source: Any) -> Any:
    """Puts a method on the class that is `own` where `ndarray`, or an array of it, is an argument."""
    made = knowing(own, source, ndarray)
    _put(kind, made, source)
    return made


def _put(kind: Any, made: Any, source: Any) -> None:
    name = source.__name__
    made.__name__, made.__qualname__, made.__objclass__ = name, f"{kind.__name__}.{name}", kind
    describe_as(made, source)
    put_method(kind, name, made)


def serve_subclasses() -> None:
    """Puts on `Views` what NumPy's methods of a subclass do not know.

    `__array_wrap__`, which NumPy calls for each result, takes lazy arrays too. Others may return NumPy's own arrays.
    """
    wrap_numpys: Any = np.ndarray.__array_wrap__

    def wrap_ours(self: Any, *args: Any, **options: Any) -> Any:
        return wrap_numpys(self, *export(args), **export(options))

    _put_knowing(Views, wrap_ours, wrap_numpys)
    for source in (np.ndarray.astype, np.ndarray.nonzero, np.ndarray.searchsorted):
        _put(Views, wrapping(_wrapped(source), source), source)


def _wrapped(source: Any) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        return wrap(source(*args, **options))

    return call


def take_lazy_keys(cls: type) -> None:
    """Has a subclass of NumPy's arrays take lazy arrays for what they are: NumPy makes integers of an empty mask."""
    take_keys(cls, np.ndarray, ndarray, export)
