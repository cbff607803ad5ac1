"""Holds calls that mix lazy scalars, lists, managed and plain arrays to what NumPy does."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, Program, agree

M = numpy.arange(12.0).reshape(3, 4)
L = numpy.linspace(-3, 3, 9000)

PROGRAMS: dict[str, Program] = {
    "list-of-scalars": lambda np: np.array([np.data(M).sum(), np.data(M).max()]),
    "max-of-scalars": lambda np: (np.max([np.data(M).sum(), 3.0]), np.mean([np.data(M).min(), np.data(M).max()])),
    "stack-of-scalars": lambda np: np.stack([np.data(M).sum(), np.data(M).mean()]),
    "linspace-of-scalars": lambda np: np.linspace(np.data(M).min(), np.data(M).max(), 7),
    "full-of-scalar": lambda np: (np.full(5, np.data(M).sum()), np.full(5000, np.data(M).sum())),
    "arange-of-scalar": lambda np: (np.arange(np.data([3, 4]).max()), np.zeros((np.data([3, 4]).max(), 2))),
    "reshape-of-scalar": lambda np: np.data(M).reshape(np.data([6, 2]).max(), -1),
    "shape-array": lambda np: np.zeros(np.data([2, 3])),
    "where-of-scalars": lambda np: np.where(np.data(M) > np.data(M).mean(), np.data(M).max(), np.data(M)),
    "clip-of-scalars": lambda np: np.clip(np.data(M), np.data(M).mean(), None),
    "lists": lambda np: (np.concatenate([[1, 2], np.data(M)[0]]), np.dot([1.0, 2.0, 3.0], np.data(M))),
    "nested": lambda np: np.array([[np.data(M)[0], np.data(M)[1]], [np.data(M)[2], np.data(M)[0]]]),
    "foreign": lambda np: np.add(np.data(M), M) + np.sum([M, M], axis=0),
    "large-and-small": lambda np: np.concatenate([np.data(L), np.data(M)[0], L]),
    "large-foreign": lambda np: (
        np.sum(np.asarray(L)),
        np.sort(np.asarray(L))[:3],
        np.asarray(L).reshape(90, 100).T.sum(1),
    ),
    "median": lambda np: (np.median(np.data(L)), np.median(np.data(M), 1), np.percentile(np.data(L), 30)),
    "median-overwrites": lambda np: np.median(np.data(L), overwrite_input=True),
    "unique": lambda np: np.unique(np.round(np.data(L))),
    "matrix": lambda np: np.asmatrix(M) * 2,
    "masked": lambda np: np.sum(numpy.ma.masked_greater(M, 5)),
    "objects": lambda np: (
        np.sum(np.array([1, 2], object)),
        np.array(["a", "b"]).reshape(2, 1),
        np.sort(np.array(["b", "a"])),
    ),
    "objects-large": lambda np: np.concatenate([np.data(L), numpy.array([1, 2], object)]).dtype,
    "dates": lambda np: np.diff(np.array(["2020-01-01", "2020-01-05"], "M8[D]")),
    "records": lambda np: np.zeros(3, [("a", "i4"), ("b", "f8")])["b"],
    "longdouble": lambda np: np.mean(np.ones(5000, numpy.longdouble)),
    "swapped": lambda np: np.sum(np.array([1, 2, 3], ">f8")),
    "generator": lambda np: np.sum(i for i in range(3)),
    "keywords": lambda np: (np.sum(a=np.data(M), axis=0), np.reshape(np.data(M), shape=(4, 3)), np.flip(m=np.data(M))),
    "unknown-keyword": lambda np: type(_error(lambda: np.sum(np.data(M), nothing=1))),
    "out-positional": lambda np: _positional(np),
    "array-function": lambda np: (numpy.concatenate([np.data(M), np.data(M)]), numpy.linalg.norm(np.data(M))),
    "fft": lambda np: (np.fft.fft(np.data(L[:16])), np.fft.fftshift(np.data(M)), np.fft.rfftfreq(6)),
    "strings": lambda np: (np.strings.upper(np.array(["a"])), np.char.add(["a"], ["b"])),
    "emath": lambda np: (np.emath.sqrt(np.data([-1.0, 4])), np.emath.log2(-4.0)),
    "polynomials": lambda np: (
        np.polyfit(np.data(M)[0], np.data(M)[1], 1),
        np.polynomial.polynomial.polyval(2.0, np.data(M)[0]),
    ),
    "index-helpers": lambda np: (
        np.ix_([0, 1], [2]),
        np.unravel_index(5, (2, 3)),
        np.tril_indices(3),
        np.diag_indices(2),
    ),
    "packing": lambda np: (np.packbits(np.data([1, 0, 1], "u1")), np.unpackbits(np.data([5], "u1"))),
}


def _error(action: Any) -> BaseException | None:
    try:
        action()
    except Exception as error:
        return error
    return None


def _positional(np: Any) -> Any:
    out = np.zeros(4)
    assert np.sum(np.data(M), 0, None, out) is out
    assert np.median(np.data(M), 0, out) is out
    return out


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_mixtures_agree_with_numpy(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


@MODES
def test_arrays_pickle_and_copy(eager_below: int) -> None:
    agree(lambda np: pickle.loads(pickle.dumps(np.data(M).T)), eager_below)
    agree(lambda np: copy.deepcopy([np.data(M) + 1])[0], eager_below)


@MODES
def test_fallbacks_do_not_disturb_pending_readers(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x = np.data(L) * 2
        later = x + 1
        np.median(x, overwrite_input=True)
        y = np.data(L) * 3
        pending = y - 1
        y.sort()
        np.random.default_rng(1).shuffle(y)
        return later, pending, y

    agree(program, eager_below)


class OnlyNumpys:
    """As pandas: takes NumPy's arrays, declines types that it does not know."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        known = {numpy.ndarray, OnlyNumpys}
        return ("ufunc", ufunc.__name__) if known.issuperset(map(type, inputs)) else NotImplemented

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return ("function", function.__name__) if {numpy.ndarray, OnlyNumpys}.issuperset(types) else NotImplemented


@pytest.mark.parametrize("order", [1, -1])
def test_a_class_that_knows_only_numpys_arrays_is_given_those(order: int) -> None:
    pair = (lazyarray.arange(9.0) + 1, OnlyNumpys())[::order]
    assert numpy.maximum(*pair) == ("ufunc", "maximum")
    assert numpy.concatenate(list(pair)) == ("function", "concatenate")


def test_a_class_that_declines_both_is_refused_as_with_numpys_arrays() -> None:
    class Declines:
        def __array_ufunc__(self, *args: Any, **options: Any) -> Any:
            return NotImplemented

        def __array_function__(self, *args: Any, **options: Any) -> Any:
            return NotImplemented

    other = Declines()
    for call in (lambda a: numpy.add(a, other), lambda a: numpy.dot(a, other)):
        with pytest.raises(TypeError) as expected:
            call(numpy.arange(3.0))
        with pytest.raises(TypeError) as found:
            call(lazyarray.arange(3.0))
        assert str(found.value) == str(expected.value)


def test_to_numpy_shares_the_memory() -> None:
    x = lazyarray.arange(5000.0) * 2
    memory = x.to_numpy()
    assert type(memory) is numpy.ndarray
    memory[3] = 1
    assert x[3] == 1
