"""Owns the calls of public objects that are no Python functions: ufuncs, and functions that NumPy has in C.

One of the modules that may run compiled (see `lazyarray/native`): what Python calls first is then C.
"""

from __future__ import annotations

from typing import Any

from lazyarray.frontend.quick import Op, binary, known, unary  # cimport


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

    __slots__ = ("__dict__", "function")

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)
