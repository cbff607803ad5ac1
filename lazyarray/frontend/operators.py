"""Owns the operators of arrays: fast paths for the usual operands, made from one table; the rest goes to `ufunc.py`."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from weakref import ref

import numpy as np

from lazyarray.config import config
from lazyarray.frontend import array as core
from lazyarray.frontend import elementwise as calls
from lazyarray.frontend import ufunc as ufuncs
from lazyarray.frontend.foreign import retried
from lazyarray.frontend.overrides import ask_ufunc
from lazyarray.frontend.quick import next_sequence, node_of, record_node
from lazyarray.frontend.record import COMPILED, NUMBERS, Ranged, memo_of, note_errors
from lazyarray.frontend.regions import claim, window
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.scalar_power import shortcut_power, warned
from lazyarray.ir.installed import POWER_READS_SCALARS
from lazyarray.ir.node import TAPE, Key, Node
from lazyarray.ir.ops import OPS
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.floating import Last, error_state

Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]

_getframe: Final = sys._getframe
_new: Final[Any] = object.__new__
_nparray: Final = np.ndarray
ndarray: Final = core.ndarray
_DOUBLE: Final = np.dtype(float)

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


def install() -> None:
    """Gives `ndarray` its operators, and compiled ufuncs of one or two arguments the same fast paths."""
    for name, own in ufuncs.UFUNCS.items():
        if own._ops == (name,):
            slow = partial(ufuncs._positional, own)
            if own.nin == 1:
                own._unary = make_unary(name, slow, 2)
            else:
                own._binary = make_binary(name, slow, 2)
            if name == "power":
                own._binary = _unless_integer_power(own._binary, slow)
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


def _unless_integer_power(quick: Any, slow: Any) -> Any:
    """Powers whose exponents NumPy looks at go the general way."""

    def power(self: Any, other: Any) -> Any:
        return (slow if self.dtype.kind in "biu" else quick)(self, other)

    return power


def _named(function: Any, stem: str) -> Any:
    function.__name__ = f"__{stem}__"
    function.__qualname__ = f"ndarray.__{stem}__"
    return function


def make_binary(name: str, slow: Callable[[Any, Any], Any], depth: int) -> Any:
    """`name` over two operands of which the first is an array; `slow` takes over from the usual cases.

    `depth` is how many frames below the user's line it runs.
    """
    memo = memo_of(name)
    plain_compute: Any = getattr(np, name)
    compute: Any = None if OPS[name].transcendental else plain_compute

    def apply(self: Any, other: Any) -> Any:
        a = self._np
        kind = type(other)
        if a is None and self._node is None:
            a = window(self)
        if a is not None:
            if kind is ndarray:
                b = other._np
                if b is None:
                    b = window(other) if other._node is None else None
                    if b is None:
                        del a
                        return slow(self, other)
                n, m, limit = a.size, b.size, config.eager_below
                if n >= limit or m >= limit or (n * m >= limit and a.shape != b.shape):
                    del a, b
                    return slow(self, other)
            elif (kind is float or kind is int or kind in NUMBERS) and a.size < config.eager_below:
                b = other
            else:
                del a
                return slow(self, other)
            if compute is not None:
                try:
                    found = compute(a, b)
                except TypeError:
                    # No loop: NumPy's `==` and `!=` have an answer for records and for types that do not compare.
                    del a, b
                    return slow(self, other)
            else:
                found = (eager_of(name, a, b) or plain_compute)(a, b)
            if type(found) is _nparray:
                array = _new(ndarray)
                array._np = found
                return array
            return found
        left = self._node
        frame = _getframe(depth)
        if left is None or left.data is not None:
            left = node_of(self, frame)
            if left is None:
                return slow(self, other)
        if kind is ndarray:
            if other._np is not None:
                return slow(self, other)
            right = other._node
            if right is None or right.data is not None:
                right = node_of(other, frame)
                if right is None:
                    return slow(self, other)
            key = memo[left.key.spec, right.key.spec]
        elif kind is float:
            right = other
            key = memo[left.key.spec, float]
            if type(key) is Ranged and key.low <= other <= key.high:
                key = key.key
        elif kind is int and -128 <= other <= 127:
            right = other
            key = memo[left.key.spec, int]
            if type(key) is Ranged and key.low <= other:
                key = key.key
        elif kind is LazyScalar:
            right = other._node
            key = memo[left.key.spec, right.key.spec]
        else:
            return slow(self, other)
        if type(key) is not Key or not key.spec.shape:
            return slow(self, other)
        node = _new(Node)
        node.key = key
        node.args = (left, right)
        node.data = node.remote = None
        node.site = (frame.f_code, frame.f_lasti, frame.f_globals)
        node.sequence = next_sequence()
        node.visits = 0
        node.errors = None
        TAPE.append(ref(node))
        if key.raises:
            node.errors = state = error_state()
            if state is not Last.waits:
                note_errors(node)
        if len(TAPE) >= boundary.TAPE_LIMIT:
            boundary.flush()
        array = _new(ndarray)
        array._np = None
        array._node = node
        return array

    return apply


def eager_of(name: str, a: Any, b: Any = 0.0) -> Any:
    """The backend's ufunc where the operands' dtypes are compiled."""
    dtype = a.dtype
    if dtype is not _DOUBLE and dtype not in COMPILED:
        return None
    if type(b) is _nparray and b.dtype is not _DOUBLE and b.dtype not in COMPILED:
        return None
    return calls.eager(name)


def make_unary(name: str, slow: Callable[[Any], Any], depth: int) -> Any:
    """`name` over one array."""
    memo = memo_of(name)
    plain_compute: Any = getattr(np, name)
    compute: Any = None if OPS[name].transcendental else plain_compute

    def apply(self: Any) -> Any:
        a = self._np
        if a is None and self._node is None:
            a = window(self)
        if a is not None:
            if a.size >= config.eager_below:
                del a
                return slow(self)
            if compute is not None:
                found = compute(a)
            else:
                found = (eager_of(name, a) or plain_compute)(a)
            if type(found) is _nparray:
                array = _new(ndarray)
                array._np = found
                return array
            return found
        frame = _getframe(depth)
        value = node_of(self, frame)
        if value is None:
            return slow(self)
        key = memo[(value.key.spec,)]
        if type(key) is not Key or not key.spec.shape:
            return slow(self)
        array = _new(ndarray)
        array._np = None
        array._node = record_node(key, (value,), frame)
        return array

    return apply


def _forward(name: str, python: Binary) -> Any:
    return make_binary(name, lambda self, other: calls.binary(name, python, self, other, False), 1)


def _reflected(name: str, python: Binary) -> Any:
    memo = memo_of(name)
    compute: Any = getattr(np, name)

    def reflected(self: Any, other: Any) -> Any:
        a = self._np
        kind = type(other)
        if a is None and self._node is None:
            a = window(self)
        if a is not None:
            if (kind is float or kind is int) and a.size < config.eager_below:
                found = compute(other, a)
                if type(found) is _nparray:
                    array = _new(ndarray)
                    array._np = found
                    return array
                return found
            del a
        elif kind is float:
            frame = _getframe(1)
            right = node_of(self, frame)
            if right is not None:
                key = memo[float, right.key.spec]
                if type(key) is Ranged and key.low <= other <= key.high:
                    key = key.key
                if type(key) is Key and key.spec.shape:
                    array = _new(ndarray)
                    array._np = None
                    array._node = record_node(key, (other, right), frame)
                    return array
        return calls.binary(name, python, other, self, True)

    return reflected


def _in_place(name: str) -> Any:
    memo = memo_of(name)
    compute: Any = getattr(np, name)

    def inplace(self: Any, other: Any) -> Any:
        a = self._np
        kind = type(other)
        if a is not None:
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
        base = None
        if self._node is None:
            if self._map is not None or self._fixed:
                if _write_now(compute, self, other):
                    return self
                return calls.in_place(name, self, other)
            base = self._base
        frame = _getframe(1)
        left = node_of(self, frame)
        if left is not None:
            if kind is ndarray:
                right = None if other._np is not None else node_of(other, frame)
                key = None if right is None else memo.get((left.key.spec, right.key.spec))
            elif kind is float:
                right = other
                key = memo.get((left.key.spec, float))
                if type(key) is Ranged and key.low <= other <= key.high:
                    key = key.key
            else:
                key = None
            # `get`: what is new goes the general way, whose errors speak of the output. One spec object stands for each
            # shape and dtype, so here the result fits its place exactly.
            if type(key) is Key and key.spec is left.key.spec:
                node = record_node(key, (left, right), frame)
                if base is None:
                    self._node = node
                else:
                    base.node = node
                return self
        return calls.in_place(name, self, other)

    return inplace


def _square(values: Any, _exponent: int, out: Any) -> None:
    np.square(values, out)


def _write_now(compute: Any, target: Any, other: Any) -> bool:
    """The augmented assignment of a small view of evaluated memory that nobody else still reads, done in place."""
    kind = type(other)
    if kind is LazyScalar and other._node.data is not None:
        other = other.evaluate()
        kind = type(other)
    if kind is not float and kind is not int and kind not in NUMBERS:
        if kind is not ndarray:
            return False
        if other._np is None and (other._node is not None or window(other) is None):
            return False
    memory = claim(target)
    if memory is None:
        return False
    if kind is ndarray:
        data = other._np
        other = window(other) if data is None else data
    compute(memory, other, memory)
    return True


def _unary(name: str, python: Unary) -> Any:
    return make_unary(name, lambda self: calls.unary(name, python, self), 1)


def _power(self: Any, other: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        return NotImplemented
    a = self._np
    kind = type(other)
    if a is None and self._node is None:
        a = window(self)
    if a is not None and a.size < config.eager_below and (kind is int or kind is float):
        if other == 2 or shortcut_power(a.dtype, other):
            found = a**other
        else:
            found = (eager_of("power", a) or operator.pow)(a, other)
        if type(found) is _nparray:
            array = _new(ndarray)
            array._np = found
            return array
        return found
    if a is not None and kind is ndarray and other._np is not None:
        b = other._np
        if a.shape == b.shape and 0 < a.size < config.eager_below and (a.shape or not POWER_READS_SCALARS):
            return core.wrap((eager_of("power", a, b) or np.power)(a, b))
        del b
    del a
    shortcut = shortcut_power(self.dtype, other)
    if shortcut is not None:
        return _SHORTCUTS[shortcut](self)
    return calls.binary("power", operator.pow, self, warned(other), False)


def _reflected_power(self: Any, other: Any, modulus: Any = None) -> Any:
    return NotImplemented if modulus is not None else calls.binary("power", operator.pow, other, self, True)


def _in_place_power(self: Any, other: Any) -> Any:
    if self._np is None and self._node is None and type(other) is int and other == 2 and _write_now(_square, self, 2):
        return self
    shortcut = shortcut_power(self.dtype, other)
    if shortcut == "ones_like":
        core.assign(self, 1)
        return self
    if shortcut is not None:
        ufuncs.UFUNCS["square" if shortcut == "float_square" else shortcut](self, out=self)
        return self
    return calls.in_place("power", self, warned(other))


def _matmul(self: Any, other: Any) -> Any:
    a = self._np
    if a is None and self._node is None:
        a = window(self)
    if a is not None and type(other) is ndarray:
        b = other._np
        if b is None and other._node is None:
            b = window(other)
        limit = config.eager_below
        if b is not None and a.size < limit and b.size < limit:
            found = a @ b
            return core.plain(found) if type(found) is _nparray else found
        del b
    del a
    return NotImplemented if calls.defers(self, other, False) else ufuncs.matmul(self, other)


def _reflected_matmul(self: Any, other: Any) -> Any:
    return ufuncs.matmul(other, self)


_TOO_FEW_AXES: Final = (
    "inplace matrix multiplication requires the first operand to have at least one and the second at least two "
    "dimensions."
)


def _in_place_matmul(self: Any, other: Any) -> Any:
    if not hasattr(type(other), "__array_ufunc__") and calls.defers(self, other, False):
        return NotImplemented
    shape = self.shape
    if calls.overrides(other):
        # `array_inplace_matrix_multiply` (numpy/_core/src/multiarray/number.c)
        axes = [(-2, -1)] * 3 if len(shape) > 1 else [(-1,), (-2, -1), (-1,)]
        try:
            return ask_ufunc(ufuncs.UFUNCS["matmul"], "__call__", (self, other), {"axes": axes, "out": (self,)})
        except np.exceptions.AxisError:
            raise ValueError(_TOO_FEW_AXES) from None
    fits = type(other) is ndarray and self.dtype in COMPILED and other.dtype in COMPILED
    if fits and len(shape) > 1 and other.shape == (shape[-1], shape[-1]) and core.settle(self) is None:
        product = ufuncs.matmul(self, other)
        if np.can_cast(product.dtype, self.dtype, "same_kind"):
            core.assign(self, product)
            return self
    multiply: Any = operator.imatmul
    memory = core.to_numpy(self)
    result = retried(multiply, (memory, calls.export(other)), {})
    return self if result is memory else core.wrap(result)


def _divmod(self: Any, other: Any) -> Any:
    return NotImplemented if calls.defers(self, other, False) else ufuncs.UFUNCS["divmod"](self, other)


def _reflected_divmod(self: Any, other: Any) -> Any:
    return ufuncs.UFUNCS["divmod"](other, self)


def _shortcut(name: str) -> Any:
    compute: Any = getattr(np, name)
    return make_unary(name, lambda self: calls.unary(name, compute, self), 2)


def _float_square(self: Any) -> Any:
    return _SHORTCUTS["square"](self.astype(_DOUBLE))


def _ones_like(self: Any) -> Any:
    result = core.duplicate(self)
    core.assign(result, 1)
    return result if result.ndim else result[()]


_SHORTCUTS: Final[dict[str, Any]] = {
    **{name: _shortcut(name) for name in ("square", "reciprocal", "sqrt", "positive")},
    "ones_like": _ones_like,
    "float_square": _float_square,
}


install()
