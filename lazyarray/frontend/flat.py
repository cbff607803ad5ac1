"""Owns `flatiter`: `array.flat`, NumPy's iterator over the array's memory, with lazyarray's arrays in and out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import ndarray, to_numpy, wrap
from lazyarray.frontend.index_keys import memory_key
from lazyarray.frontend.naming import Named, name_as_in_c
from lazyarray.frontend.quick import tell
from lazyarray.frontend.writing import to_memory
from lazyarray.ir.node import finish_waiting

_nparray: Final = np.ndarray


class _FlatType(Named):
    """Makes NumPy's iterators instances of `flatiter`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, np.flatiter)


class flatiter(metaclass=_FlatType):
    """Flat iterator object over an array."""

    __module__ = "numpy"
    __slots__ = ("_array", "_iterator")
    __hash__: Any = None

    def __new__(cls) -> Any:
        raise TypeError("cannot create 'numpy.flatiter' instances")

    @property
    def base(self: Any) -> Any:
        return self._array

    @property
    def index(self: Any) -> Any:
        return self._iterator.index

    @property
    def coords(self: Any) -> Any:
        return self._iterator.coords

    def copy(self: Any) -> Any:
        return wrap(self._iterator.copy())

    def __iter__(self: Any) -> Iterator[Any]:
        return self._iterator  # type: ignore[no-any-return]

    def __next__(self: Any) -> Any:
        return next(self._iterator)

    def __len__(self: Any) -> int:
        return len(self._iterator)

    def __getitem__(self: Any, key: Any) -> Any:
        return wrap(self._iterator[memory_key(key)])

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        if not self._array.flags.writeable:
            raise ValueError("underlying array is read-only")
        iterator = self._iterator
        finish_waiting()
        if not iterator.base.flags.writeable:  # as the array was when the iterator was made
            iterator = to_numpy(self._array).flat
        iterator[memory_key(key)] = to_memory(value)

    def __delitem__(self: Any, key: Any) -> None:
        del self._iterator[memory_key(key)]  # NumPy's error

    def __array__(self: Any, dtype: Any = None, *, copy: Any = None) -> Any:
        made = self._iterator.__array__() if dtype is None else self._iterator.__array__(dtype)
        return made.copy() if copy else made


for _name in ("base", "index", "coords", "copy"):
    vars(flatiter)[_name].__doc__ = getattr(np.flatiter, _name).__doc__
name_as_in_c(flatiter)


def _comparison(compare: Callable[[Any, Any], Any]) -> Any:
    def method(self: Any, other: Any) -> Any:
        return wrap(compare(self._iterator, to_memory(other)))

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(flatiter, f"__{_name}__", _comparison(getattr(operator, _name)))


tell(flat=flatiter)


def flat(array: ndarray) -> flatiter:
    """The array's `flat`."""
    made: Any = object.__new__(flatiter)
    made._array = array
    made._iterator = to_numpy(array).flat
    return made  # type: ignore[no-any-return]
