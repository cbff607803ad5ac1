"""Owns the operators of arrays: fast paths for the usual operands, made from one table; the rest goes to `ufunc.py`."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.record import memo_of
from lazyarray.ir import node as node_module
from lazyarray.ir.node import TAPE, Key, Node
from lazyarray.runtime import evaluate as boundary

Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]

_next_sequence: Final[Callable[[], int]] = node_module._sequence
_getframe: Final = sys._getframe
_new: Final[Any] = object.__new__
_nparray: Final = np.ndarray

# Method stem, ufunc, and Python's operator, which NumPy's arrays answer with all their special cases.
BINARY: Final[tuple[tuple[str, str, Binary], ...]] = (
    ("add", "add", operator.add),
    ("sub", "subtract", operator.sub),
    ("mul", "multiply", operator.mul),
    ("truediv", "divide", operator.truediv),
    ("floordiv", "floor_divide", operator.floordiv),
    ("mod", "remainder", operator.mod),
    ("and", "bitwise_and", operator.and_),
    ("or", "bitwise_or", operator.or_),
    ("xor", "bitwise_xor", operator.xor),
    ("lshift", "left_shift", operator.lshift),
    ("rshift", "right_shift", operator.rshift),
)
COMPARISON: Final[tuple[tuple[str, str, Binary], ...]] = (
    ("eq", "equal", operator.eq),
    ("ne", "not_equal", operator.ne),
    ("lt", "less", operator.lt),
    ("le", "less_equal", operator.le),
    ("gt", "greater", operator.gt),
    ("ge", "greater_equal", operator.ge),
)
UNARY: Final[tuple[tuple[str, str, Unary], ...]] = (
    ("neg", "negative", operator.neg),
    ("pos", "positive", operator.pos),
    ("abs", "absolute", operator.abs),
    ("invert", "invert", operator.invert),
)


class Operators:
    """The operator methods; `install` makes them when `ndarray` exists."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __iadd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __isub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __imul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __itruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __rfloordiv__(self, other: Any) -> Any: ...
        def __ifloordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __imod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any, modulus: Any = None) -> Any: ...
        def __rpow__(self, other: Any, modulus: Any = None) -> Any: ...
        def __ipow__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __rand__(self, other: Any) -> Any: ...
        def __iand__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __ror__(self, other: Any) -> Any: ...
        def __ior__(self, other: Any) -> Any: ...
        def __xor__(self, other: Any) -> Any: ...
        def __rxor__(self, other: Any) -> Any: ...
        def __ixor__(self, other: Any) -> Any: ...
        def __lshift__(self, other: Any) -> Any: ...
        def __rlshift__(self, other: Any) -> Any: ...
        def __ilshift__(self, other: Any) -> Any: ...
        def __rshift__(self, other: Any) -> Any: ...
        def __rrshift__(self, other: Any) -> Any: ...
        def __irshift__(self, other: Any) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...
        def __rmatmul__(self, other: Any) -> Any: ...
        def __imatmul__(self, other: Any) -> Any: ...
        def __divmod__(self, other: Any) -> Any: ...
        def __rdivmod__(self, other: Any) -> Any: ...
        def __eq__(self, other: Any) -> Any: ...
        def __ne__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __pos__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...


def install() -> None:
    """Gives `ndarray` its operators."""
    from lazyarray.frontend.array import ndarray

    for stem, name, python in BINARY:
        setattr(ndarray, f"__{stem}__", _named(_forward(name, python), stem))
        setattr(ndarray, f"__r{stem}__", _named(_reflected(name, python), "r" + stem))
        setattr(ndarray, f"__i{stem}__", _named(_in_place(name), "i" + stem))
    for stem, name, python in COMPARISON:
        setattr(ndarray, f"__{stem}__", _named(_forward(name, python), stem))
    for stem, name, compute in UNARY:
        setattr(ndarray, f"__{stem}__", _named(_unary(name, compute), stem))
    for stem, function in (
        ("pow", _power),
        ("rpow", _reflected_power),
        ("ipow", _in_place_power),
        ("matmul", _matmul),
        ("rmatmul", _reflected_matmul),
        ("imatmul", _in_place_matmul),
        ("divmod", _divmod),
        ("rdivmod", _reflected_divmod),
    ):
        setattr(ndarray, f"__{stem}__", _named(function, stem))


def _named(function: Any, stem: str) -> Any:
    function.__name__ = f"__{stem}__"
    function.__qualname__ = f"ndarray.__{stem}__"
    return function


def record_array(key: Key, args: tuple[Any, ...], frame: Any) -> Any:
    """A new array over a new node. `frame` is the one that the operation stands in."""
    node = Node(key, args, (frame.f_code, frame.f_lasti))
    TAPE.append(ref(node))
    if len(TAPE) >= boundary.TAPE_LIMIT:
        boundary.flush()
    array = _new(_class())
    array._np = None
    array._node = node
    return array


def _class() -> Any:
    from lazyarray.frontend.array import ndarray

    return ndarray


def _forward(name: str, python: Binary) -> Any:
    from lazyarray.frontend.array import ndarray
    from lazyarray.frontend import ufunc as calls

    memo = memo_of(name)
    compute: Any = getattr(np, name)

    def forward(self: Any, other: Any) -> Any:
        a = self._np
        if a is not None:
            kind = type(other)
            if kind is ndarray:
                b = other._np
                if b is not None:
                    n, m, limit = a.size, b.size, config.eager_below
                    if n < limit and m < limit and (n * m < limit or a.shape == b.shape):
                        found = compute(a, b)
                        if type(found) is _nparray:
                            array = _new(ndarray)
                            array._np = found
                            return array
                        return found
            elif (kind is float or kind is int) and a.size < config.eager_below:
                found = compute(a, other)
                if type(found) is _nparray:
                    array = _new(ndarray)
                    array._np = found
                    return array
                return found
            del a
            return calls.binary(name, python, self, other, False)
        left = self._node
        if left is not None and left.data is None:
            kind = type(other)
            if kind is ndarray:
                if other._np is None:
                    right = other._node
                    if right is not None:
                        key = memo[left.key.spec, right.key.spec]
                    else:
                        key = None
                else:
                    key = None
            elif kind is float:
                right = other
                key = memo[left.key.spec, float]
            else:
                key = None
            if type(key) is Key:
                frame = _getframe(1)
                node = _new(Node)
                node.key = key
                node.args = (left, right)
                node.data = None
                node.site = (frame.f_code, frame.f_lasti)
                node.sequence = _next_sequence()
                node.visits = 0
                TAPE.append(ref(node))
                if len(TAPE) >= boundary.TAPE_LIMIT:
                    boundary.flush()
                array = _new(ndarray)
                array._np = None
                array._node = node
                return array
        return calls.binary(name, python, self, other, False)

    return forward


def _reflected(name: str, python: Binary) -> Any:
    from lazyarray.frontend.array import ndarray
    from lazyarray.frontend import ufunc as calls

    compute: Any = getattr(np, name)

    def reflected(self: Any, other: Any) -> Any:
        a = self._np
        if a is not None:
            kind = type(other)
            if (kind is float or kind is int) and a.size < config.eager_below:
                found = compute(other, a)
                if type(found) is _nparray:
                    array = _new(ndarray)
                    array._np = found
                    return array
                return found
            del a
        return calls.binary(name, python, other, self, True)

    return reflected


def _in_place(name: str) -> Any:
    from lazyarray.frontend.array import ndarray
    from lazyarray.frontend import ufunc as calls

    compute: Any = getattr(np, name)

    def inplace(self: Any, other: Any) -> Any:
        a = self._np
        if a is not None:
            kind = type(other)
            limit = config.eager_below
            if a.size < limit:
                if kind is ndarray:
                    b = other._np
                    if b is not None and b.size < limit:
                        compute(a, b, a)
                        return self
                elif kind is float or kind is int:
                    compute(a, other, a)
                    return self
            del a
        return calls.in_place(name, self, other)

    return inplace


def _unary(name: str, python: Unary) -> Any:
    from lazyarray.frontend.array import ndarray
    from lazyarray.frontend import ufunc as calls

    def method(self: Any) -> Any:
        a = self._np
        if a is not None:
            if a.size < config.eager_below:
                found = python(a)
                if type(found) is _nparray:
                    array = _new(ndarray)
                    array._np = found
                    return array
                return found
            del a
        return calls.unary(name, python, self)

    return method


def _power(self: Any, other: Any, modulus: Any = None) -> Any:
    from lazyarray.frontend.ufunc import binary, shortcut_power, unary

    if modulus is not None:
        return NotImplemented
    shortcut = shortcut_power(self.dtype, other)
    if shortcut is not None:
        return unary(shortcut[0], shortcut[1], self)
    return binary("power", operator.pow, self, other, False)


def _reflected_power(self: Any, other: Any, modulus: Any = None) -> Any:
    from lazyarray.frontend import ufunc as calls

    return NotImplemented if modulus is not None else binary("power", operator.pow, other, self, True)


def _in_place_power(self: Any, other: Any) -> Any:
    from lazyarray.frontend.ufunc import UFUNCS, in_place, shortcut_power

    shortcut = shortcut_power(self.dtype, other)
    if shortcut is not None:
        UFUNCS[shortcut[0]](self, out=self)
        return self
    return in_place("power", self, other)


def _matmul(self: Any, other: Any) -> Any:
    from lazyarray.frontend.ufunc import UFUNCS, defers

    return NotImplemented if defers(self, other, False) else UFUNCS["matmul"](self, other)


def _reflected_matmul(self: Any, other: Any) -> Any:
    from lazyarray.frontend.ufunc import UFUNCS

    return UFUNCS["matmul"](other, self)


def _in_place_matmul(self: Any, other: Any) -> Any:
    from lazyarray.frontend.array import assign
    from lazyarray.frontend.ufunc import UFUNCS

    # NumPy's own rule: the right side must be a matrix that keeps the shape, and the product is made apart.
    if len(self.shape) == 1 or len(np.shape(other)) == 1:
        UFUNCS["matmul"](self, other, out=self, axes=[(-2, -1), (-2, -1), (-2, -1)])
        return self
    product = UFUNCS["matmul"](self, other)
    if product.shape != self.shape:
        UFUNCS["matmul"](self, other, out=self)
    assign(self, product, casting="same_kind")
    return self


def _divmod(self: Any, other: Any) -> Any:
    from lazyarray.frontend.ufunc import UFUNCS, defers

    return NotImplemented if defers(self, other, False) else UFUNCS["divmod"](self, other)


def _reflected_divmod(self: Any, other: Any) -> Any:
    from lazyarray.frontend.ufunc import UFUNCS

    return UFUNCS["divmod"](other, self)
