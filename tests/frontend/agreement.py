"""Owns the comparison of lazyarray with NumPy: one piece of program run on both, in both modes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray, to_numpy
from lazyarray.frontend.scalar import LazyScalar

MODES = pytest.mark.parametrize("eager_below", [4096, 0], ids=["default", "recorded"])

Program = Callable[[Any], Any]


class Namespace:
    """A namespace with `data`: arrays that are managed where the mode records everything."""

    def __init__(self, space: Any) -> None:
        self._space = space

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)

    def data(self, values: Any, dtype: Any = None) -> Any:
        made = self._space.array(numpy.array(values, dtype))
        return made.copy("K")


def outcome(program: Program, space: Any) -> tuple[Any, list[str]]:
    """The program's result, or the error that it raised, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = program(Namespace(space))
            result = settled(result)
        except Exception as error:
            result = error
    return result, sorted(f"{w.category.__name__}: {w.message}" for w in caught if w.category is not RuntimeWarning)


def settled(result: Any) -> Any:
    """Every lazy value of a result as NumPy's."""
    if type(result) is ndarray:
        return to_numpy(result)
    if type(result) is LazyScalar:
        return result.evaluate()
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return tuple(settled(item) for item in result)
    if isinstance(result, tuple | list):
        return type(result)([settled(item) for item in result])
    return result


def same(ours: Any, theirs: Any, path: str = "result") -> None:
    """Fails unless class, dtype, shape and every bit (any NaN is NaN) agree."""
    if isinstance(theirs, BaseException):
        assert type(ours) is type(theirs), f"{path}: {ours!r} instead of {theirs!r}"
        assert str(ours) == str(theirs), path
        return
    assert not isinstance(ours, BaseException), f"{path}: raised {ours!r}"
    if isinstance(theirs, tuple | list):
        assert type(ours) is type(theirs) or isinstance(theirs, tuple), path
        assert len(ours) == len(theirs), path
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, f"{path}[{i}]")
        return
    if isinstance(theirs, numpy.ndarray):
        assert isinstance(ours, numpy.ndarray), f"{path}: {type(ours)} instead of an array"
    elif isinstance(theirs, numpy.generic):
        assert type(ours) is type(theirs), f"{path}: {type(ours)} instead of {type(theirs)}"
    if isinstance(theirs, numpy.ndarray | numpy.generic):
        assert ours.dtype == theirs.dtype, f"{path}: {ours.dtype} instead of {theirs.dtype}"
        assert ours.shape == theirs.shape, f"{path}: {ours.shape} instead of {theirs.shape}"
        numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.asarray(theirs), strict=True)
        if theirs.dtype.kind == "f":
            nan = numpy.isnan(theirs)
            numpy.testing.assert_array_equal(numpy.signbit(ours)[~nan], numpy.signbit(theirs)[~nan])
        return
    assert ours == theirs or (ours != ours and theirs != theirs), f"{path}: {ours!r} instead of {theirs!r}"


def agree(program: Program, eager_below: int) -> None:
    """Fails unless the program does the same with lazyarray as with NumPy."""
    theirs, their_warnings = outcome(program, numpy)
    with lazyarray.config.set(eager_below=eager_below):
        ours, our_warnings = outcome(program, lazyarray)
        same(ours, theirs)
    assert our_warnings == their_warnings, f"{our_warnings} instead of {their_warnings}"
