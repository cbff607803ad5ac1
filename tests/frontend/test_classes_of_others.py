"""Classes that other modules have made for NumPy are asked about its functions, and handed its arrays, as by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

import lazyarray as np

MODULE = """
import numpy as np

class Noting(np.ndarray):
    asked = []

    def __array_ufunc__(self, function, method, *inputs, out=None, **options):
        Noting.asked.append((function, method, [type(item) for item in inputs], options))
        plain = [item.view(np.ndarray) if isinstance(item, Noting) else item for item in inputs]
        if out is not None:
            options["out"] = out
        return np.asarray(getattr(function, method)(*plain, **options)).view(Noting)

    def __array_function__(self, function, types, args, options):
        Noting.asked.append((function, "", types, options))
        return "answered"
"""


@pytest.fixture
def others() -> Any:
    """A module that knows NumPy only."""
    space: dict[str, Any] = {"__name__": "module_of_others"}
    exec(MODULE, space)
    return SimpleNamespace(Noting=space["Noting"], data=numpy.arange(4.0).view(space["Noting"]))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "a transform": lambda n, x: n.fft.fft(x),
    "a transform of two axes": lambda n, x: n.fft.rfft2(x.reshape(2, 2)),
    "a copy by its name": lambda n, x: n.copy(a=x),
    "a mean by its name": lambda n, x: n.mean(a=x),
    "what is like it": lambda n, x: n.zeros(3, like=x),
    "numbers like it": lambda n, x: n.arange(3, like=x),
    "an array like it": lambda n, x: n.asarray(n.arange(3), like=x),
    "a function's values like it": lambda n, x: n.fromfunction(lambda i: i, (3,), like=x),
    "filled like it": lambda n, x: n.full_like(x, 2.0),
    "empty by the name of the prototype": lambda n, x: n.empty_like(prototype=x),
}


@pytest.mark.parametrize("call", CALLS)
def test_they_answer_calls(others: Any, call: str) -> None:
    assert CALLS[call](numpy, others.data) == CALLS[call](np, others.data) == "answered"
    (theirs, _, _, _), (ours, _, _, _) = others.Noting.asked
    assert ours is theirs


@pytest.mark.parametrize("axis", [{}, {"axis": 0}, {"axis": None}, {"axis": 0, "keepdims": True}])
def test_they_are_told_the_axis_that_was_said(others: Any, axis: dict[str, Any]) -> None:
    numpy.add.reduce(others.data, **axis)
    np.add.reduce(others.data, **axis)
    assert [options for *_, options in others.Noting.asked] == [axis, axis]


def test_operators_of_lazy_arrays_hand_them_numpys(others: Any) -> None:
    assert type(np.arange(4.0) * others.data) is others.Noting
    ((function, method, kinds, _),) = others.Noting.asked
    assert (function, method, kinds) == (numpy.multiply, "__call__", [numpy.ndarray, others.Noting])


def test_what_they_return_is_what_a_call_with_an_output_returns(others: Any) -> None:
    out = np.zeros(4)
    assert type(np.add(others.data, 1.0, out=out)) is others.Noting
    assert out.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_arrays_and_numbers_of_numpy_are_viewed_as_the_class(others: Any) -> None:
    assert type(others.data.view(np.ndarray)) is np.ndarray


def test_an_empty_array_is_made_by_the_name_of_its_prototype() -> None:
    for size in (3, 50_000):
        made = np.empty_like(prototype=np.zeros(size), dtype=int)
        assert (made.shape, made.dtype) == ((size,), np.dtype(int))


class Wrapped:
    """A class of a swapped module, that holds an array and leaves to it what it is asked about."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __array__(self, *args: Any, **options: Any) -> Any:
        return numpy.asarray(self.data, *args, **options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        known = tuple(kind for kind in types if kind is not Wrapped)
        plain = tuple(item.data if isinstance(item, Wrapped) else item for item in args)
        return self.data.__array_function__(function, known, plain, options)


@pytest.mark.parametrize("size", [3, 50_000])
@pytest.mark.parametrize("space", [np, numpy])
def test_what_is_left_to_an_array_is_not_asked_about_again(space: Any, size: int) -> None:
    wrapped = Wrapped(np.arange(float(size)))
    numpy.testing.assert_array_equal(numpy.asarray(space.concatenate([wrapped, wrapped])), [*range(size), *range(size)])
    assert float(space.max(wrapped)) == size - 1


class Told:
    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return function, args, options


def test_classes_like_which_arrays_are_made_are_told_what_was_said() -> None:
    like: Any = Told()
    assert np.array([1, 2], like=like) == (np.array, ([1, 2],), {})
    assert np.array([1, 2], float, ndmin=2, like=like) == (np.array, ([1, 2],), {"dtype": float, "ndmin": 2})
    assert np.asarray([1, 2], like=like) == (np.asarray, ([1, 2],), {})
    assert np.asarray([1, 2], order="F", like=like) == (np.asarray, ([1, 2],), {"order": "F"})
    assert np.zeros(3, like=like) == (np.zeros, (3,), {})
