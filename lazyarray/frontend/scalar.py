"""Owns `LazyScalar`: what NumPy returns as a scalar, while its value is still a recorded expression."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from sys import modules
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.sequence_slot import stop_iteration
from lazyarray.ir.node import Node
from lazyarray.runtime import evaluate as boundary


class LazyScalar:
    """An immutable 0-d value. It answers as NumPy's scalar of its dtype, also to `isinstance`."""

    __slots__ = ("__weakref__", "_node", "_value")

    _node: Node
    _value: Any

    __array_priority__ = -1000000.0  # NumPy's, of its scalars

    def __new__(cls, *args: Any) -> Any:
        # `type(x)(value)` makes what `type` of most scalars would; lazy ones come from expressions only.
        return np.float64(*args)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return self._node.key.spec.dtype.type

    def evaluate(self) -> Any:
        """NumPy's scalar, as the program asks for it."""
        return self._now(boundary.ASKED)

    def _now(self, reason: str = "asked for") -> Any:
        """NumPy's scalar."""
        found = self._value
        if found is None:
            node = self._node
            if node.data is None:
                boundary.evaluate((node,), reason)
            assert node.data is not None
            found = self._value = node.data[()]
        return found

    # ---- known without a value

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._node.key.spec.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def strides(self) -> tuple[int, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return 1

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize

    @property
    def T(self) -> LazyScalar:
        return self

    @property
    def real(self) -> Any:
        return self._part("real")

    @property
    def imag(self) -> Any:
        return self._part("imag")

    def _part(self, name: str) -> Any:
        from lazyarray.frontend.record import map_

        if self.dtype.kind == "c":
            return scalar_from_node(map_(name, (self._node,)))
        return self if name == "real" else self.dtype.type(0)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend.record import COMPILED, cast_

        wanted = np.dtype(dtype)
        if args or options or wanted not in COMPILED or (self.dtype.kind == "c" and wanted.kind not in "cb"):
            return self._now().astype(dtype, *args, **options)
        return scalar_from_node(cast_(self._node, wanted))

    def copy(self, *args: Any) -> LazyScalar:
        return self

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> LazyScalar:
        return self

    # ---- the value

    def __hash__(self) -> int:
        return hash(self._now())

    def __bool__(self) -> bool:
        return bool(self._now())

    def __int__(self) -> int:
        return int(self._now())

    def __float__(self) -> float:
        return float(self._now())

    def __complex__(self) -> complex:
        return complex(self._now())

    def __index__(self) -> int:
        return operator.index(self._now())

    def __repr__(self) -> str:
        return repr(self._now())

    def __str__(self) -> str:
        return str(self._now())

    def __format__(self, spec: str) -> str:
        return format(self._now(), spec)

    def __reduce__(self) -> Any:
        return self._now().__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._now().__reduce_ex__(protocol)

    def __round__(self, ndigits: Any = None) -> Any:
        return round(self._now()) if ndigits is None else round(self._now(), ndigits)

    # Through the functions: not all of NumPy's scalars have the methods.

    def __trunc__(self) -> Any:
        return math.trunc(self._now())

    def __floor__(self) -> Any:
        return math.floor(self._now())

    def __ceil__(self) -> Any:
        return math.ceil(self._now())

    def __bytes__(self) -> bytes:
        return bytes(self._now())

    def __conform__(self, protocol: Any) -> Any:
        """What `sqlite3` stores."""
        return self._now()

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(f"'numpy.{self.dtype.type.__name__}' object does not support item assignment")

    def __getitem__(self, key: Any) -> Any:
        if type(key) is tuple and not key:
            return self
        from lazyarray.frontend.array import wrap

        if isinstance(key, LazyScalar):
            key = key._now()
        return wrap(self._now()[key])

    def __getattr__(self, name: str) -> Any:
        # Only what the class does not define: NumPy's methods (`item`, `is_integer`, `mean`, ...).
        if name.startswith("__array_") or name == "__buffer__":
            raise AttributeError(name)
        return getattr(self._now(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._now(), dtype)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from lazyarray.frontend import ufunc

        return ufunc.dispatch(function, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        from lazyarray.frontend import ufunc

        return ufunc.dispatch_function(function, types, args, options)


_new: Final[Any] = object.__new__

PACKAGES = frozenset({"pandas", "polars"})
"""Packages that take lazy numbers for objects, labels or floats: a column of them is of objects, or of floats where
they are integers, and `frame.loc[x.argmax()]` finds no row."""


def scalar_from_node(node: Node) -> Any:
    """What NumPy would return as a scalar: NumPy's own where the value is there, else a lazy one.

    Beside packages whose compiled code knows Python's numbers and NumPy's only, what goes into an expression is lazy.
    """
    data = node.data
    if data is not None:
        return data[()]
    if not modules.keys().isdisjoint(PACKAGES):  # looks up the packages; the other way round goes through all modules
        from lazyarray.frontend.taking import goes_into_an_operator

        if not goes_into_an_operator():
            boundary.evaluate((node,), "a number that other packages may read")
            assert node.data is not None
            return node.data[()]
    found = _new(LazyScalar)
    found._node = node
    found._value = None
    return found


_BINARY: Final[tuple[tuple[str, str, Callable[[Any, Any], Any]], ...]] = (
    ("add", "add", operator.add),
    ("sub", "subtract", operator.sub),
    ("mul", "multiply", operator.mul),
    ("truediv", "divide", operator.truediv),
    ("floordiv", "floor_divide", operator.floordiv),
    ("mod", "remainder", operator.mod),
    ("pow", "power", operator.pow),
    ("and", "bitwise_and", operator.and_),
    ("or", "bitwise_or", operator.or_),
    ("xor", "bitwise_xor", operator.xor),
    ("lshift", "left_shift", operator.lshift),
    ("rshift", "right_shift", operator.rshift),
    ("eq", "equal", operator.eq),
    ("ne", "not_equal", operator.ne),
    ("lt", "less", operator.lt),
    ("le", "less_equal", operator.le),
    ("gt", "greater", operator.gt),
    ("ge", "greater_equal", operator.ge),
)
_UNARY: Final[tuple[tuple[str, str, Callable[[Any], Any]], ...]] = (
    ("neg", "negative", operator.neg),
    ("pos", "positive", operator.pos),
    ("abs", "absolute", operator.abs),
    ("invert", "invert", operator.invert),
)
_WITH_REFLECTION: Final = 12


def install(array_class: type) -> None:
    """Gives `LazyScalar` its operators, which record; those with an array are the array's."""
    for place, (stem, name, python) in enumerate(_BINARY):
        setattr(LazyScalar, f"__{stem}__", _forward(name, python, array_class))
        if place < _WITH_REFLECTION:
            setattr(LazyScalar, f"__r{stem}__", _reflected(name, python))
    for stem, name, compute in _UNARY:
        setattr(LazyScalar, f"__{stem}__", _unary(name, compute))
    setattr(LazyScalar, "__divmod__", _divmod)  # noqa: B010
    setattr(LazyScalar, "__rdivmod__", lambda self, other: divmod(other, self._now()))  # noqa: B010
    setattr(LazyScalar, "__matmul__", lambda self, other: self._now() @ settled(other))  # noqa: B010
    setattr(LazyScalar, "__rmatmul__", lambda self, other: other @ self._now())  # noqa: B010
    LazyScalar.__hash__ = _hash  # type: ignore[method-assign]
    stop_iteration(LazyScalar)


def settled(obj: Any) -> Any:
    """NumPy's scalar for a lazy one; anything else as it is."""
    return obj._now() if type(obj) is LazyScalar else obj


def _divmod(self: LazyScalar, other: Any) -> Any:
    if _records(self, other) and self.dtype.kind in "fiu":
        return self // other, self % other
    return divmod(self._now(), settled(other))


def _hash(self: LazyScalar) -> int:
    return hash(self._now())


def _records(self: LazyScalar, other: Any) -> bool:
    from lazyarray.frontend.record import NUMBERS

    return self._value is None and (type(other) in NUMBERS or type(other) is LazyScalar)


def _forward(name: str, python: Callable[[Any, Any], Any], array_class: type) -> Any:
    def method(self: LazyScalar, other: Any) -> Any:
        if not _records(self, other):
            if type(other) is array_class:
                return NotImplemented  # the array records it
            return python(self._now(), other._now() if type(other) is LazyScalar else other)
        return _record(name, python, (self, other))

    return method


def _reflected(name: str, python: Callable[[Any, Any], Any]) -> Any:
    def method(self: LazyScalar, other: Any) -> Any:
        if not _records(self, other):
            return python(other, self._now())
        return _record(name, python, (other, self))

    return method


def _unary(name: str, python: Callable[[Any], Any]) -> Any:
    def method(self: LazyScalar) -> Any:
        if self._value is not None:
            return python(self._value)
        return _record(name, python, (self,))

    return method


def _is_complex(number: Any) -> bool:
    return isinstance(number, complex | np.complexfloating) or (type(number) is LazyScalar and number.dtype.kind == "c")


def _record(name: str, python: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    from lazyarray.frontend.record import map_, power_is_refused

    operands = tuple([a._node if type(a) is LazyScalar else a for a in args])
    try:
        # NumPy's scalars take C's `pow`, which is not the loop of its ufunc.
        # Their complex products are rounded otherwise than an array's, too.
        if (
            power_is_refused(name, operands)
            or (name == "power" and config.numerics == "numpy")
            or (name == "multiply" and all([_is_complex(a) for a in args]))
        ):
            raise TypeError(name)
        node = map_(name, operands)
    except (TypeError, OverflowError, ValueError):
        # NumPy's scalars have rules of their own for what has no loop or does not fit.
        return python(*[a._now() if type(a) is LazyScalar else a for a in args])
    return scalar_from_node(node)
