"""Owns the calls of public objects that are no Python functions: ufuncs, and functions that NumPy has in C.

One of the modules that may run compiled (see `lazyarray/native`): what Python calls first is then C.
"""

from __future__ import annotations

from typing import Any

from lazyarray.frontend.quick import Op, binary, known, limits, unary, wrapped  # cimport
from lazyarray.frontend.small import REFUSED, small_call, small_items  # cimport


class UfuncCall:
    """The call of a ufunc: one array, or an array and anything, go the short way."""

    __slots__ = ("_op", "_product", "nin")

    nin: int
    _op: Op | None  # for one array, or an array and anything
    _product: Any  # the same of matmul, or None

    # No docstring: the slot's own has the signature.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and args and type(args[0]) is known.array:
            if self._op is None:
                if self._product is not None and len(args) == 2:
                    return self._product(args[0], args[1])
            elif len(args) == self.nin:
                if self.nin == 1:
                    return unary(self._op, args[0], 1, 0)
                if self.nin == 2:
                    return binary(self._op, args[0], args[1], 1, 0)
        return self.general(*args, **kwargs)

    def general(self, *args: Any, **kwargs: Any) -> Any:
        """What calls in general do."""
        raise NotImplementedError


class Builtin:
    """A function that is not bound where a class has it as an attribute, as functions written in C are not."""

    __slots__ = ("__dict__", "converts", "function", "sized", "source")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.source: Any = None  # NumPy's function, where it serves small arguments as it is
        self.converts = False  # its first argument is what an array is made of
        self.sized = False  # its first argument is a shape, and small shapes are NumPy's

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.source is not None:
            if self.converts:
                # Of NumPy's arrays lazyarray's are made, and objects hold lazyarray's.
                if len(args) == 1 and not kwargs:
                    item = args[0]
                    listed = (type(item) is list or type(item) is tuple) and small_items(item) is item
                    if listed or type(item) is known.array:
                        found = small_call(self.source, args, kwargs)
                        if found is not REFUSED:
                            return found
            elif not self.sized:
                found = small_call(self.source, args, kwargs)
                if found is not REFUSED:
                    return found
            elif args and 0 <= extent_of(args[0]) < limits.eager and (not kwargs or _is_dtype(kwargs)):
                return wrapped(self.source(*args, **kwargs))
        return self.function(*args, **kwargs)


def extent_of(shape: Any) -> int:
    """The number of elements of a plain shape; -1 for what needs a closer look."""
    if type(shape) is int:
        return shape if shape < 1 << 60 else -1
    if type(shape) is not tuple:
        return -1
    size = 1
    for extent in shape:
        if type(extent) is not int or not 0 <= extent < 1 << 30:
            return -1
        size *= extent
        if size > 1 << 30:
            return -1
    return size


def _is_dtype(kwargs: dict[str, Any]) -> bool:
    return len(kwargs) == 1 and "dtype" in kwargs
