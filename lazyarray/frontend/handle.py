"""Owns `Handle`: an array's operators and its usual keys.

One of the modules that may run compiled (see `lazyarray/native`). What is not usual goes to a function of `unusual.py`,
or to an `Op`'s, and nothing has happened then.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.lending import lend, overwrite, peek, pick, poke, put_picked  # cimport
from lazyarray.frontend.lent import is_lent, read_lent, write_lent  # cimport
from lazyarray.frontend.loops import IMMEDIATE, memo_of
from lazyarray.frontend.measures import shape_of
from lazyarray.frontend.quick import Fields, Op, known, limits  # cimport
from lazyarray.frontend.usual import binary, in_place, of_number  # cimport
from lazyarray.ir.node import WAITING
from lazyarray.native.primitives import holds_numbers, item_of, put_item, size_of_memory  # cimport

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.measures import elements_of  # cimport
from lazyarray.frontend.quick import UNARY, wrapped  # cimport
from lazyarray.frontend.small import REFUSED, small_items  # cimport
from lazyarray.frontend.unusual import keys  # cimport
from lazyarray.frontend.updates import put_under_mask  # cimport
from lazyarray.frontend.usual import join, of_left, raised, reflected, unary  # cimport
from lazyarray.ir.installed import POWER_READS_SCALARS
from lazyarray.ir.node import finish_waiting  # cimport
from lazyarray.native.loops import run_unary  # cimport
from lazyarray.native.parts import pick_at, put_at, read_at, write_at  # cimport
from lazyarray.native.primitives import item_at, length_of, wrap_slots  # cimport
from lazyarray.native.products import run_product  # cimport

_nparray: Final = np.ndarray
_matmul: Final = np.matmul
_square: Final = np.square
_sqrt: Final = np.sqrt
_DOUBLE: Final = np.dtype(float)
_IMMEDIATE: Final = IMMEDIATE
_READS_SCALARS: Final = POWER_READS_SCALARS
_waiting: Final = WAITING
_BASIC: Final = frozenset({int, slice, type(...), type(None), *[np.dtype(code).type for code in "bhilqBHILQ"]})


def _is_element(key: Any) -> bool:
    if type(key) is tuple:
        for item in key:  # noqa: SIM110  (a generator costs more than what it checks)
            if type(item) is not int:
                return False
        return True
    return type(key) is int


def _shows(array: Fields, key: Any, view: Fields) -> bool:
    """True for a large view of a managed array that is `array[key]`."""
    if view._fixed or array._part is not view._part or view._map is None or elements_of(view) < limits.eager:
        return False
    found: Fields | None = None
    if type(key) is slice:
        found = keys.slice_at(array, key)
    elif type(key) is tuple:
        found = keys.view_at(array, key)
    return found is not None and type(found) is known.array and found._map == view._map


def is_basic(key: Any) -> bool:
    """True for keys that NumPy shows a view for, or an element."""
    kind = type(key)
    if kind is tuple:
        for item in key:
            kind = type(item)
            if kind is not int and kind is not slice and kind not in _BASIC:
                return False
        return True
    return kind is int or kind is slice or kind in _BASIC


def _plain_key(key: Any) -> Any:
    """A tuple as NumPy takes it for a key: of lazyarray's arrays their memory; None where one has none."""
    found: Any = None
    place = 0
    for item in key:
        if type(item) is known.array:
            array: Fields = item
            data = array._np
            if data is None:
                return None
            if found is None:
                found = list(key)
            found[place] = data
        place += 1  # noqa: SIM113  (C counts faster than `enumerate`)
    return key if found is None else tuple(found)


def _picked(data: Any, key: Any) -> Any:
    """`data[key]` of NumPy's, for a key that shows no view; REFUSED where it has none, or the key is not in memory."""
    place = _plain_key(key) if type(key) is tuple else _memory_or(key)
    if place is None and key is not None:
        return REFUSED
    if place is not key or type(key) is _nparray:
        found = pick_at(data, place, REFUSED)
        if found is not REFUSED:
            return found
    return item_of(data, place, REFUSED)


def _memory_or(value: Any) -> Any:
    """An array's memory, or None; what is no array as it is."""
    if type(value) is known.array:
        array: Fields = value
        return array._np
    return value


def _op(name: str) -> Op:
    return Op(name, getattr(np, name), memo_of(name))


ADD: Final = _op("add")
SUBTRACT: Final = _op("subtract")
MULTIPLY: Final = _op("multiply")
DIVIDE: Final = _op("divide")
FLOOR_DIVIDE: Final = _op("floor_divide")
REMAINDER: Final = _op("remainder")
BITWISE_AND: Final = _op("bitwise_and")
BITWISE_OR: Final = _op("bitwise_or")
BITWISE_XOR: Final = _op("bitwise_xor")
LEFT_SHIFT: Final = _op("left_shift")
RIGHT_SHIFT: Final = _op("right_shift")
EQUAL: Final = _op("equal")
NOT_EQUAL: Final = _op("not_equal")
LESS: Final = _op("less")
LESS_EQUAL: Final = _op("less_equal")
GREATER: Final = _op("greater")
GREATER_EQUAL: Final = _op("greater_equal")
NEGATIVE: Final = _op("negative")
POSITIVE: Final = _op("positive")
ABSOLUTE: Final = _op("absolute")
INVERT: Final = _op("invert")
OPERATORS: Final = {
    op.name: op
    for op in (
        ADD,
        SUBTRACT,
        MULTIPLY,
        DIVIDE,
        FLOOR_DIVIDE,
        REMAINDER,
        BITWISE_AND,
        BITWISE_OR,
        BITWISE_XOR,
        LEFT_SHIFT,
        RIGHT_SHIFT,
        EQUAL,
        NOT_EQUAL,
        LESS,
        LESS_EQUAL,
        GREATER,
        GREATER_EQUAL,
        NEGATIVE,
        POSITIVE,
        ABSOLUTE,
        INVERT,
    )
}


_BY_UFUNC: Final = {op.compute: op for op in OPERATORS.values()}


class Rows:
    """The parts of small memory along its first axis, one after another, as Python iterates over a sequence."""

    __slots__ = ("_data", "_place")

    def __init__(self, data: Any) -> None:
        self._data = data
        self._place = 0

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        data = self._data
        if data is None:
            raise StopIteration
        place = self._place
        if place >= length_of(data):
            self._data = None
            raise StopIteration
        self._place = place + 1
        return wrapped(item_at(data, place))

    def __length_hint__(self) -> int:
        return 0 if self._data is None else max(0, length_of(self._data) - self._place)


class Handle(Fields):
    """The fields, operators and keys of an array."""

    __slots__ = ()

    def __len__(self) -> int:
        """Return len(self)."""
        if self._np is not None:
            return len(self._np)
        shape: tuple[int, ...] = shape_of(self)
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __getitem__(self, key: Any, /) -> Any:
        """Return self[key]."""
        data = self._np
        kind = type(key)
        if data is not None and size_of_memory(data) < limits.eager:
            found = read_at(data, key, REFUSED)
            if found is REFUSED:
                found = _picked(data, key)
                if found is REFUSED:
                    data = None
                    return keys.get(self, key)  # what NumPy does not know in the key, or the same error
            return wrapped(found) if type(found) is _nparray else found
        if kind is int or kind is tuple:
            found = peek(self, key)
            if found is not None:
                return found
        if data is not None:
            data = None
            found = pick(self, key) if kind is known.array else read_lent(self, key)
            if found is not None:
                return found
        else:
            if is_basic(key):
                found = lend(self, key)
                if found is not None:
                    return found
            if kind is int:
                found = keys.element(self, key)
            elif kind is slice or key is None or key is ...:
                found = keys.slice_at(self, key)
            elif kind is tuple:
                found = keys.view_at(self, key)
                if found is None and not _is_element(key):
                    found = keys.pick(self, key)
            elif kind is known.array or kind is _nparray or kind is list:
                found = pick(self, key) if kind is known.array else None
                if found is None:
                    found = keys.pick(self, key)
            else:
                found = None
            if found is not None:
                return found
        return keys.get(self, key)

    def __setitem__(self, key: Any, value: Any, /) -> None:
        """Set self[key] to value."""
        if _waiting.open and known.put_waiting(self, key, value):
            return
        data = self._np
        kind = type(key)
        if (kind is int or kind is tuple) and poke(self, key, value):
            return
        if data is not None:
            small = size_of_memory(data) < limits.eager
            if small and write_at(data, key, _memory_or(value)):
                return
            listed = False
            place = key
            if kind is known.array or kind is _nparray:
                place = _memory_or(key)
                small = small and place is not None
                if small and put_at(data, place, _memory_or(value)):
                    return
            elif kind is tuple:
                place = _plain_key(key)
                small = small and place is not None
            elif kind is list:
                if small and put_at(data, key, _memory_or(value)):
                    return
                listed = small and small_items(key) is key  # of numbers
                small = listed
            given_kind = type(value)
            if (kind is int or small) and (given_kind is float or given_kind is int or given_kind in _IMMEDIATE):
                if not put_item(data, place, value):
                    keys.put_any(self, key, value)
                return
            if (
                small
                and given_kind is known.array
                and (listed or kind is known.array or place is not key or is_basic(key))
            ):
                other: Fields = value
                source = other._np
                if source is not None and (holds_numbers(data) or not data.dtype.hasobject):
                    data[place] = source
                    return
                source = None
            place = data = None
            if size_of_memory(self._np) >= limits.eager:
                if kind is known.array:
                    if is_lent(self) and put_picked(self, key, value):
                        return
                elif is_basic(key) and write_lent(self, key, _memory_or(value)):
                    return
            keys.take_over(self)
            data = self._np
        elif self._node is None and is_basic(key):
            if type(value) in _IMMEDIATE:
                if overwrite(self, key, value):
                    return
            elif type(value) is known.array:
                given: Fields = value
                if given._np is not None:
                    if overwrite(self, key, given._np):
                        return
                elif given._node is None and given._base is self._base and _shows(self, key, given):
                    return  # `a[1:] *= 2` has written through the view, and assigns it to itself
        elif kind is known.array and (put_under_mask(self, key, value) or put_picked(self, key, value)):
            return
        if data is None and keys.put(self, key, value):
            return
        data = None
        keys.put_any(self, key, value)

    def __delitem__(self, key: Any, /) -> None:
        """Delete self[key]."""
        raise ValueError("cannot delete array elements")

    # No docstring: the slot's own has the signature.
    def __iter__(self) -> Any:
        data = self._np
        if data is not None:
            if data.ndim == 1:
                return iter(data)
            if data.ndim and size_of_memory(data) < limits.eager:
                return Rows(data)
        data = None
        return keys.iterate(self)

    def __array_ufunc__(self, function: Any, method: str, /, *inputs: Any, **options: Any) -> Any:
        # A NumPy scalar's operator asks here, whatever the array's own reflected operator is.
        if not options and len(inputs) == 2 and inputs[1] is self:
            number = inputs[0]
            if type(number) is _nparray and not number.ndim and holds_numbers(number) and number.dtype.isnative:
                number = number[()]  # a scalar that is compared
                inputs = (number, self)
            if type(number) in _IMMEDIATE:
                data = self._np
                if data is None:
                    op = _BY_UFUNC.get(function) if method == "__call__" else None
                    found = None if op is None else of_number(op, self, number)
                    if found is not None:
                        return found
                data = None
        return keys.ufunc(self, function, method, inputs, options)

    def __add__(self, value: Any, /) -> Any:
        """Return self+value."""
        return binary(ADD, self, value, 1, 0)

    def __radd__(self, value: Any, /) -> Any:
        """Return value+self."""
        return reflected(ADD, self, value)

    def __iadd__(self, value: Any, /) -> Any:
        """Return self+=value."""
        return in_place(ADD, self, value)

    def __sub__(self, value: Any, /) -> Any:
        """Return self-value."""
        return binary(SUBTRACT, self, value, 1, 0)

    def __rsub__(self, value: Any, /) -> Any:
        """Return value-self."""
        return reflected(SUBTRACT, self, value)

    def __isub__(self, value: Any, /) -> Any:
        """Return self-=value."""
        return in_place(SUBTRACT, self, value)

    def __mul__(self, value: Any, /) -> Any:
        """Return self*value."""
        return binary(MULTIPLY, self, value, 1, 0)

    def __rmul__(self, value: Any, /) -> Any:
        """Return value*self."""
        return reflected(MULTIPLY, self, value)

    def __imul__(self, value: Any, /) -> Any:
        """Return self*=value."""
        return in_place(MULTIPLY, self, value)

    def __truediv__(self, value: Any, /) -> Any:
        """Return self/value."""
        return binary(DIVIDE, self, value, 1, 0)

    def __rtruediv__(self, value: Any, /) -> Any:
        """Return value/self."""
        return reflected(DIVIDE, self, value)

    def __itruediv__(self, value: Any, /) -> Any:
        """Return self/=value."""
        return in_place(DIVIDE, self, value)

    def __floordiv__(self, value: Any, /) -> Any:
        """Return self//value."""
        return binary(FLOOR_DIVIDE, self, value, 1, 0)

    def __rfloordiv__(self, value: Any, /) -> Any:
        """Return value//self."""
        return reflected(FLOOR_DIVIDE, self, value)

    def __ifloordiv__(self, value: Any, /) -> Any:
        """Return self//=value."""
        return in_place(FLOOR_DIVIDE, self, value)

    def __mod__(self, value: Any, /) -> Any:
        """Return self%value."""
        return binary(REMAINDER, self, value, 1, 0)

    def __rmod__(self, value: Any, /) -> Any:
        """Return value%self."""
        return reflected(REMAINDER, self, value)

    def __imod__(self, value: Any, /) -> Any:
        """Return self%=value."""
        return in_place(REMAINDER, self, value)

    def __and__(self, value: Any, /) -> Any:
        """Return self&value."""
        return binary(BITWISE_AND, self, value, 1, 0)

    def __rand__(self, value: Any, /) -> Any:
        """Return value&self."""
        return reflected(BITWISE_AND, self, value)

    def __iand__(self, value: Any, /) -> Any:
        """Return self&=value."""
        return in_place(BITWISE_AND, self, value)

    def __or__(self, value: Any, /) -> Any:
        """Return self|value."""
        return binary(BITWISE_OR, self, value, 1, 0)

    def __ror__(self, value: Any, /) -> Any:
        """Return value|self."""
        return reflected(BITWISE_OR, self, value)

    def __ior__(self, value: Any, /) -> Any:
        """Return self|=value."""
        return in_place(BITWISE_OR, self, value)

    def __xor__(self, value: Any, /) -> Any:
        """Return self^value."""
        return binary(BITWISE_XOR, self, value, 1, 0)

    def __rxor__(self, value: Any, /) -> Any:
        """Return value^self."""
        return reflected(BITWISE_XOR, self, value)

    def __ixor__(self, value: Any, /) -> Any:
        """Return self^=value."""
        return in_place(BITWISE_XOR, self, value)

    def __lshift__(self, value: Any, /) -> Any:
        """Return self<<value."""
        return binary(LEFT_SHIFT, self, value, 1, 0)

    def __rlshift__(self, value: Any, /) -> Any:
        """Return value<<self."""
        return reflected(LEFT_SHIFT, self, value)

    def __ilshift__(self, value: Any, /) -> Any:
        """Return self<<=value."""
        return in_place(LEFT_SHIFT, self, value)

    def __rshift__(self, value: Any, /) -> Any:
        """Return self>>value."""
        return binary(RIGHT_SHIFT, self, value, 1, 0)

    def __rrshift__(self, value: Any, /) -> Any:
        """Return value>>self."""
        return reflected(RIGHT_SHIFT, self, value)

    def __irshift__(self, value: Any, /) -> Any:
        """Return self>>=value."""
        return in_place(RIGHT_SHIFT, self, value)

    def __eq__(self, value: Any, /) -> Any:
        """Return self==value."""
        return binary(EQUAL, self, value, 1, 0)

    def __ne__(self, value: Any, /) -> Any:
        """Return self!=value."""
        return binary(NOT_EQUAL, self, value, 1, 0)

    def __lt__(self, value: Any, /) -> Any:
        """Return self<value."""
        return binary(LESS, self, value, 1, 0)

    def __le__(self, value: Any, /) -> Any:
        """Return self<=value."""
        return binary(LESS_EQUAL, self, value, 1, 0)

    def __gt__(self, value: Any, /) -> Any:
        """Return self>value."""
        return binary(GREATER, self, value, 1, 0)

    def __ge__(self, value: Any, /) -> Any:
        """Return self>=value."""
        return binary(GREATER_EQUAL, self, value, 1, 0)

    def __neg__(self) -> Any:
        """-self"""
        return unary(NEGATIVE, self, 1, 0)

    def __pos__(self) -> Any:
        """+self"""
        return unary(POSITIVE, self, 1, 0)

    def __abs__(self) -> Any:
        """abs(self)"""
        return unary(ABSOLUTE, self, 1, 0)

    def __invert__(self) -> Any:
        """~self"""
        return unary(INVERT, self, 1, 0)

    def __pow__(self, value: Any, mod: Any = None, /) -> Any:
        """Return pow(self, value, mod)."""
        if mod is None and self._np is not None:
            data = self._np
            kind = type(value)
            if size_of_memory(data) < limits.eager:
                if kind is int and value == 2:
                    if size_of_memory(data) >= limits.middle:
                        data = None
                        found = join(known.square, self, None, UNARY, 1, 0)
                        if found is not None:
                            return found
                        data = self._np
                    found = run_unary(_square, data) if holds_numbers(data) else data**2
                    return wrapped(found) if type(found) is _nparray else found
                if kind is float and value == 0.5 and data.dtype is _DOUBLE:
                    return wrapped(run_unary(_sqrt, data)) if data.ndim else data**0.5
                if kind is not bool and kind in _IMMEDIATE:
                    found = raised(known.power, data, value)
                    if found is not None:
                        return found
                elif (kind is known.array or kind is _nparray) and not _READS_SCALARS:
                    data = None
                    return binary(known.power, self, value, 1, 0)
            data = None
        elif _waiting.open and mod is None and type(value) is int and value == 2:
            found = known.go_on(known.square, self, None, UNARY, 1, 0)
            if found is not None:
                return found
        return keys.power(self, value, mod)

    def __rpow__(self, value: Any, mod: Any = None, /) -> Any:
        """Return pow(value, self, mod)."""
        if mod is None and (type(value) is float or type(value) is int):
            found = of_left(known.power, value, self)
            if found is not None:
                return found
        return keys.reflected_power(self, value, mod)

    def __ipow__(self, value: Any, /) -> Any:  # type: ignore[misc]
        """Return self**=value."""
        return keys.power_in_place(self, value)

    def __matmul__(self, value: Any, /) -> Any:
        """Return self@value."""
        kind = type(value)
        if kind is known.array or kind is _nparray:
            data = self._np
            other = _memory_or(value)
            if (
                data is not None
                and other is not None
                and size_of_memory(data) < limits.eager
                and size_of_memory(other) < limits.eager
            ):
                if kind is _nparray:
                    finish_waiting()
                found = run_product(_matmul, data, other)
                return wrapped(found) if type(found) is _nparray else found
            data = other = None
            found = keys.product(self, value) if kind is known.array else None
            if found is not None:
                return found
        return keys.matmul(self, value)

    def __rmatmul__(self, value: Any, /) -> Any:
        """Return value@self."""
        return keys.reflected_matmul(self, value)

    def __imatmul__(self, value: Any, /) -> Any:
        """Return self@=value."""
        return keys.matmul_in_place(self, value)

    def __divmod__(self, value: Any, /) -> Any:
        """Return divmod(self, value)."""
        return keys.divmod(self, value)

    def __rdivmod__(self, value: Any, /) -> Any:
        """Return divmod(value, self)."""
        return keys.reflected_divmod(self, value)


wrap_slots(Handle, _nparray)
