"""Owns `nditer`, `nested_iters` and `broadcast`: NumPy's iterators over the memory of lazyarray's arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import ndarray, to_numpy, wrap
from lazyarray.frontend.elementwise import export
from lazyarray.frontend.flat import flatiter
from lazyarray.frontend.foreign import retried
from lazyarray.frontend.naming import Named, describe_as, name_as_in_c

_new: Final[Any] = object.__new__


class _IteratorType(Named):
    """Makes NumPy's own iterators instances of the class that stands for theirs."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, getattr(np, cls.__name__))

    def __getitem__(cls, item: Any) -> Any:
        raise TypeError(f"type 'numpy.{cls.__name__}' is not subscriptable")


def _exported(given: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Operands as NumPy takes them, and which array each memory was exported from."""
    pairs: list[tuple[Any, Any]] = []

    def export_one(item: Any) -> Any:
        if type(item) is not ndarray:
            return export(item)
        memory = to_numpy(item)
        pairs.append((memory, item))
        return memory

    if type(given) is list or type(given) is tuple:
        return type(given)([export_one(item) for item in given]), pairs
    return export_one(given), pairs


def _restore(result: Any, pairs: list[tuple[Any, Any]]) -> Any:
    """The arrays that operands were given as; others are wrapped."""
    if type(result) is tuple:
        return tuple([_restore(item, pairs) for item in result])
    for memory, array in pairs:
        if memory is result:
            return array
    return wrap(result)


class nditer(metaclass=_IteratorType):
    # NumPy's iterator, whose operands and values are lazyarray's arrays.

    __doc__ = np.nditer.__doc__
    __module__ = "numpy"
    __slots__ = ("_iterator", "_pairs")

    def __init__(
        self,
        op: Any,
        flags: Any = None,
        op_flags: Any = None,
        op_dtypes: Any = None,
        order: Any = "K",
        casting: Any = "safe",
        op_axes: Any = None,
        itershape: Any = None,
        buffersize: Any = 0,
    ) -> None:
        operands, self._pairs = _exported(op)
        options = (flags, op_flags, export(op_dtypes), order, casting, op_axes, itershape, buffersize)
        self._iterator = retried(np.nditer, (operands, *options), {})

    def __iter__(self) -> Any:
        iter(self._iterator)  # a second loop starts where NumPy's does
        return self

    def __next__(self) -> Any:
        return wrap(next(self._iterator))

    def __enter__(self) -> Any:
        self._iterator.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._iterator.__exit__(*error)

    def __len__(self) -> int:
        return len(self._iterator)

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._iterator[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._iterator[key] = export(value)

    def __delitem__(self, key: Any) -> None:
        del self._iterator[key]

    def copy(self) -> Any:
        return _iterate(self._iterator.copy(), self._pairs)

    __copy__ = copy

    @property
    def operands(self) -> Any:
        return tuple([_restore(item, self._pairs) for item in self._iterator.operands])

    @property
    def value(self) -> Any:
        return wrap(self._iterator.value)

    @property
    def itviews(self) -> Any:
        return wrap(self._iterator.itviews)


def _iterate(iterator: Any, pairs: list[tuple[Any, Any]]) -> Any:
    made: Any = _new(nditer)
    made._iterator = iterator
    made._pairs = pairs
    return made


def nested_iters(op: Any, *args: Any, **options: Any) -> Any:
    """`numpy.nested_iters`."""
    operands, pairs = _exported(op)
    return tuple([_iterate(item, pairs) for item in np.nested_iters(operands, *export(args), **export(options))])


class broadcast(metaclass=_IteratorType):
    # NumPy's joint iterator, whose `iters` are over lazyarray's arrays.

    __doc__ = np.broadcast.__doc__
    __module__ = "numpy"
    __slots__ = ("_arrays", "_iterator")
    _arrays: tuple[Any, ...]
    _iterator: Any

    def __init__(self, *arrays: Any, **options: Any) -> None:
        if options:
            np.broadcast(*export(arrays), **options)  # NumPy's error
        pairs: list[tuple[Any, Any]] = []
        given: list[Any] = []
        for item in arrays:
            if type(item) is broadcast:
                given.append(item._iterator)
                pairs.extend(zip([part.base for part in item._iterator.iters], item._arrays, strict=True))
                continue
            memory, found = _exported(item if type(item) is ndarray else (item,))
            given.append(memory if type(item) is ndarray else memory[0])
            pairs.extend(found)
        self._iterator = retried(np.broadcast, given, {})
        self._arrays = tuple([_restore(part.base, pairs) for part in self._iterator.iters])

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return wrap(next(self._iterator))

    @property
    def iters(self) -> Any:
        return tuple([_flat(*pair) for pair in zip(self._arrays, self._iterator.iters, strict=True)])


def _flat(array: Any, iterator: Any) -> Any:
    if type(array) is not ndarray:
        return iterator
    made: Any = _new(flatiter)
    made._array = array
    made._iterator = iterator
    return made


def _delegate(own: type, source: type) -> None:
    """Gives `own` the methods and attributes of `source` that say nothing of arrays."""
    for name, member in vars(source).items():
        if name.startswith("_") or name in vars(own):
            continue
        setattr(own, name, _method(name, member) if callable(member) else _attribute(name))


def _method(name: str, source: Any) -> Any:
    def method(self: Any, /, *args: Any) -> Any:
        return getattr(self._iterator, name)(*args)

    method.__name__ = name
    describe_as(method, source)
    return method


def _attribute(name: str) -> Any:
    def get(self: Any) -> Any:
        return getattr(self._iterator, name)

    def put(self: Any, value: Any) -> None:
        setattr(self._iterator, name, value)  # or NumPy's error, where it may not be set

    def delete(self: Any) -> None:
        delattr(self._iterator, name)

    return property(get, put, delete)


for _own, _source in ((nditer, np.nditer), (broadcast, np.broadcast)):
    _delegate(_own, _source)
    name_as_in_c(_own)
