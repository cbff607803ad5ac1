"""Owns what operators do with unusual operands, and powers and matrix products; usual ones are `usual.py`'s."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend import array as core
from lazyarray.frontend import elementwise as calls
from lazyarray.frontend import ufunc as ufuncs
from lazyarray.frontend.copies import order_of, way_turned
from lazyarray.frontend.foreign import retried
from lazyarray.frontend.handle import OPERATORS, Handle
from lazyarray.frontend.overrides import ask_ufunc
from lazyarray.frontend.quick import Op, tell
from lazyarray.frontend.record import COMPILED, NUMBERS, memo_of, note_errors, part_key, view_key
from lazyarray.frontend.regions import claim, show, take_all, wake, window
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.scalar_power import shortcut_power, warned
from lazyarray.frontend.unusual import serve
from lazyarray.frontend.usual import unary
from lazyarray.ir.installed import POWER_READS_SCALARS
from lazyarray.ir.ops import OPS

Binary = Callable[[Any, Any], Any]

_nparray: Final = np.ndarray
_new: Final = Handle.__new__
ndarray: Final = core.ndarray
_DOUBLE: Final = np.dtype(float)

# Python's operators, which NumPy's arrays answer with all their special cases, by the name of the ufunc.
PYTHONS: Final[dict[str, Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "negative": operator.neg,
    "positive": operator.pos,
    "absolute": operator.abs,
    "invert": operator.invert,
}


def install() -> None:
    """Gives operators and compiled ufuncs of one or two arguments what serves their unusual operands."""
    for name, own in ufuncs.UFUNCS.items():
        if own._ops == (name,):
            find = eager_of if OPS[name].transcendental else None
            own._op = Op(name, own._np, memo_of(name), find, partial(ufuncs._positional, own))
    for name, op in OPERATORS.items():
        python = PYTHONS[name]
        if op.compute.nin == 1:
            op.slow = partial(calls.unary, name, python)
            continue
        op.slow = partial(_forward, name, python)
        op.reflected = partial(_reflected, name, python)
        op.in_place = partial(calls.in_place, name)
    tell(note_errors=note_errors, order_of=order_of, part_key=part_key, scalar=LazyScalar, view_key=view_key)
    tell(turn=core.turn, way_turned=way_turned)
    tell(power=ufuncs.UFUNCS["power"]._op, square=ufuncs.UFUNCS["square"]._op)
    tell(window=window, write_now=write_now, show=show, take=take_all, wake=wake)
    serve(power=_power, reflected_power=_reflected_power, power_in_place=_in_place_power)
    serve(matmul=_matmul, reflected_matmul=_reflected_matmul, matmul_in_place=_in_place_matmul)
    serve(divmod=_divmod, reflected_divmod=_reflected_divmod)


def _forward(name: str, python: Binary, self: Any, other: Any) -> Any:
    return calls.binary(name, python, self, other, False)


def _reflected(name: str, python: Binary, self: Any, other: Any) -> Any:
    return calls.binary(name, python, other, self, True)


def eager_of(name: str, a: Any, b: Any = 0.0) -> Any:
    """The backend's ufunc where the operands' dtypes are compiled."""
    dtype = a.dtype
    if dtype is not _DOUBLE and dtype not in COMPILED:
        return None
    if type(b) is _nparray and b.dtype is not _DOUBLE and b.dtype not in COMPILED:
        return None
    return calls.eager(name)


def _square(values: Any, _exponent: int, out: Any) -> None:
    np.square(values, out)


def write_now(compute: Any, target: Any, other: Any) -> bool:
    """The augmented assignment of a small view of evaluated memory that nobody else still reads, done in place."""
    kind = type(other)
    if kind is LazyScalar and other._node.data is not None:
        other = other._now()
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
    if kind is int or kind is float:
        return ufuncs.UFUNCS["power"](self, other)  # nobody to defer to
    return calls.binary("power", operator.pow, self, warned(other), False)


def _reflected_power(self: Any, other: Any, modulus: Any = None) -> Any:
    return NotImplemented if modulus is not None else calls.binary("power", operator.pow, other, self, True)


def _in_place_power(self: Any, other: Any) -> Any:
    if self._np is None and self._node is None and type(other) is int and other == 2 and write_now(_square, self, 2):
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
    if calls.defers(self, other):
        return calls.leave_to(other, "matmul", self)
    return ufuncs.matmul(self, other)


def _reflected_matmul(self: Any, other: Any) -> Any:
    found = calls.leave_to(other, "matmul", self, True) if calls.defers(self, other) else NotImplemented
    return ufuncs.matmul(other, self) if found is NotImplemented else found


_TOO_FEW_AXES: Final = (
    "inplace matrix multiplication requires the first operand to have at least one and the second at least two "
    "dimensions."
)


def _in_place_matmul(self: Any, other: Any) -> Any:
    if not hasattr(type(other), "__array_ufunc__") and calls.defers(self, other):
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
    if calls.defers(self, other):
        return calls.leave_to(other, "divmod", self)
    return ufuncs.UFUNCS["divmod"](self, other)


def _reflected_divmod(self: Any, other: Any) -> Any:
    return ufuncs.UFUNCS["divmod"](other, self)


def _shortcut(name: str, depth: int) -> Any:
    """One of the ufuncs that a power may mean; `depth` is how many frames of this module are above its call."""
    compute: Any = getattr(np, name)
    find = eager_of if OPS[name].transcendental else None
    op = Op(name, compute, memo_of(name), find, partial(calls.unary, name, compute))
    return partial(unary, op, plain=depth + 1, compiled=depth)


_square_deeper: Final = _shortcut("square", 2)


def _float_square(self: Any) -> Any:
    return _square_deeper(self.astype(_DOUBLE))


def _ones_like(self: Any) -> Any:
    result = core.duplicate(self)
    core.assign(result, 1)
    return result if result.ndim else result[()]


_SHORTCUTS: Final[dict[str, Any]] = {
    **{name: _shortcut(name, 1) for name in ("square", "reciprocal", "sqrt", "positive")},
    "ones_like": _ones_like,
    "float_square": _float_square,
}


install()
