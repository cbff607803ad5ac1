"""`np.ndarray.method(x)` is lazyarray's for lazy arrays, and NumPy's for NumPy's arrays and subclasses."""

from __future__ import annotations

import inspect
import pickle
from typing import Any, ClassVar

import numpy
import pytest

import lazyarray as np


class Tagged(np.ndarray):
    """A subclass that calls the methods it extends by the name of their class, as NumPy's users write it."""

    tag: Any

    def __new__(cls, values: Any, tag: Any = None) -> Any:
        made = np.ndarray.__new__(cls, (len(values),), dtype=float)
        made[:] = values
        made.tag = tag
        return made

    def __array_finalize__(self, source: Any) -> None:
        np.ndarray.__array_finalize__(self, source)
        self.tag = getattr(source, "tag", None)

    def __getitem__(self, key: Any) -> Any:
        return np.ndarray.__getitem__(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        np.ndarray.__setitem__(self, key, value)

    def __add__(self, other: Any) -> Any:
        return np.ndarray.__add__(self, other)

    def __array_wrap__(self, array: Any, *args: Any) -> Any:
        return np.ndarray.__array_wrap__(self, array, *args)

    def __repr__(self) -> str:
        return f"{np.ndarray.__repr__(self)} {self.tag}"

    def __reduce__(self) -> Any:
        make, args, state = np.ndarray.__reduce__(self)
        return make, args, (*state, self.tag)

    def __setstate__(self, state: Any) -> None:
        self.tag = state[-1]
        np.ndarray.__setstate__(self, state[:-1])

    mean_of_all = np.ndarray.mean
    __hash__ = np.ndarray.__hash__


def test_subclasses_extend_methods_by_the_name_of_the_class() -> None:
    x = Tagged([1.0, 4.0, 9.0], "m")
    assert repr(x) == "Tagged([1., 4., 9.]) m"
    x[0] = 16.0
    assert (float(x[0]), x[1:].tag, (x + 1).tag, np.sqrt(x).tag) == (16.0, "m", "m", "m")
    assert x.mean_of_all() == 29 / 3
    again = pickle.loads(pickle.dumps(x))
    assert (type(again), again.tag, again.tolist()) == (Tagged, "m", [16.0, 4.0, 9.0])
    assert type(np.ndarray.view(x, np.ndarray)) is np.ndarray


class Asking(np.ndarray):
    def __array_ufunc__(self, function: Any, method: str, *given: Any, **options: Any) -> Any:
        plain = [np.ndarray.view(item, np.ndarray) if isinstance(item, Asking) else item for item in given]
        return np.ndarray.__array_ufunc__(plain[0], function, method, *plain, **options)


def test_ufuncs_are_asked_for_by_the_name_of_the_class() -> None:
    x = np.arange(3.0).view(Asking)
    assert type(x) is Asking
    numpy.testing.assert_array_equal(np.asarray(x * 2.0), [0.0, 2.0, 4.0])


@pytest.mark.parametrize("name", ["sum", "__add__", "reshape", "astype", "__getitem__", "tolist", "__len__", "copy"])
def test_methods_of_the_class_take_arrays_of_both(name: str) -> None:
    args: tuple[Any, ...] = {"__add__": (1,), "reshape": (2, 3), "astype": (int,), "__getitem__": (2,)}.get(name, ())
    method = getattr(np.ndarray, name)
    theirs = numpy.arange(6.0)
    expected = getattr(numpy.ndarray, name)(theirs, *args)
    ours = method(np.arange(6.0), *args)
    assert type(ours) is (np.ndarray if isinstance(expected, numpy.ndarray) else type(expected))
    numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.asarray(expected))
    found = method(theirs, *args)
    assert type(found) is type(ours)
    numpy.testing.assert_array_equal(numpy.asarray(found), numpy.asarray(expected))


def test_they_are_described_as_numpys() -> None:
    method, theirs = np.ndarray.sum, numpy.ndarray.sum
    assert method is np.ndarray.sum
    assert (repr(method), method.__name__, method.__doc__) == (repr(theirs), theirs.__name__, theirs.__doc__)
    assert inspect.isroutine(method)
    assert pickle.loads(pickle.dumps(method)) is method
    for given in ((), ([1],)):
        with pytest.raises(TypeError):
            method(*given)


class Measured(np.ndarray):
    """A subclass whose hooks compare what they are asked about with the names that its module has."""

    asked: ClassVar[list[Any]] = []

    def __array_ufunc__(self, function: Any, method: str, *given: Any, **options: Any) -> Any:
        Measured.asked.append(function is np.power or function is np.subtract)
        plain = [item.view(np.ndarray) if isinstance(item, Measured) else item for item in given]
        return getattr(function, method)(*plain, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        Measured.asked.append(function is np.concatenate and all(t is np.ndarray or t is Measured for t in types))
        return function._implementation(*[self._plain(item) for item in args], **options)

    @staticmethod
    def _plain(item: Any) -> Any:
        return [part.view(np.ndarray) for part in item] if isinstance(item, list) else item


def test_hooks_are_asked_about_the_functions_of_their_module() -> None:
    x = np.arange(3.0).view(Measured)
    Measured.asked.clear()
    numpy.testing.assert_array_equal(numpy.asarray(x**3), [0.0, 1.0, 8.0])
    numpy.testing.assert_array_equal(numpy.asarray(numpy.subtract(x, 1.0)), [-1.0, 0.0, 1.0])
    joined = numpy.concatenate([x, numpy.arange(2.0)])
    numpy.testing.assert_array_equal(numpy.asarray(joined), [0.0, 1.0, 2.0, 0.0, 1.0])
    assert Measured.asked == [True, True, True]


class Asks(np.ndarray):
    """A subclass that asks for what NumPy's functions do by themselves."""

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return "asked", function._implementation(*args, **options)


@pytest.mark.parametrize("name", ["max", "sort", "concatenate", "ptp"])
def test_what_a_function_does_by_itself_asks_no_override(name: str) -> None:
    values = numpy.array([[3.0, 1.0, 2.0]])
    said, found = getattr(np, name)(np.array(values).view(Asks))
    assert said == "asked"
    numpy.testing.assert_array_equal(numpy.asarray(found), getattr(numpy, name)(values))


def test_numpys_arrays_and_numbers_are_viewed_as_the_class_once_it_has_subclasses() -> None:
    data = numpy.arange(3.0)
    viewed: Any = data.view(np.ndarray)
    assert type(viewed) is np.ndarray
    viewed[0] = 7.0
    assert data[0] == 7.0
    assert isinstance(numpy.float64(2.0).view(np.ndarray), numpy.float64)
    assert data.view("i8").dtype == "i8"
    assert type(data.view(Tagged)) is Tagged
    assert type(data.view(type=numpy.ndarray)) is numpy.ndarray


def test_subclasses_take_empty_masks_for_masks() -> None:
    x = np.zeros((0, 2)).view(Tagged)
    plain = np.zeros((0, 2)).view(Asks)
    mask = np.zeros((0, 2), bool)
    assert plain[mask].shape == x[mask].shape == (0,)
    plain[mask] = 1.0
    rows = np.arange(6.0).reshape(3, 2).view(Asks)
    rows[np.array([True, False, True]), 0] = -1.0
    assert rows.tolist() == [[-1.0, 1.0], [2.0, 3.0], [-1.0, 5.0]]
    assert rows[np.array([0, 2])].tolist() == [[-1.0, 1.0], [-1.0, 5.0]]


def test_results_of_subclasses_that_are_of_no_subclass_are_lazy() -> None:
    x = np.array([[0.0, 2.0]]).view(Asks)
    assert type(x.astype(int)) is Asks
    assert type(x.astype(int, subok=False)) is np.ndarray
    rows, columns = x.nonzero()
    assert (type(rows), rows.tolist(), columns.tolist()) == (np.ndarray, [0], [1])
    assert type(x[0].searchsorted([1.0])) is np.ndarray
    assert type(x.__array_wrap__(np.arange(2.0))) is Asks
    assert type(x + np.arange(2.0)) is Asks
