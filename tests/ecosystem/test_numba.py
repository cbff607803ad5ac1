"""Functions that Numba compiles take lazy arrays, and call NumPy's functions where a swapped program has ours."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray as np
import lazyarray.linalg as la
from lazyarray import sqrt as root

numba = pytest.importorskip("numba")


@numba.njit
def filled(x: Any, y: Any) -> Any:
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = np.sin(x[i]) * y[i] + root(x[i])
    return out


@numba.njit
def rebound(x: Any) -> Any:
    for _ in range(3):
        x = np.where(x > 0.5, x * 0.5, x + 0.1)
    return x


@numba.njit
def of_parts(pair: Any, more: Any = None) -> Any:
    return pair[0].sum() + pair[1].max() + (0.0 if more is None else more.mean())


@numba.njit
def made(n: int) -> Any:
    return np.arange(n, dtype=np.float32), np.full((2, n), 3.0), np.array([1, 2, n])


@numba.njit
def doubled(x: Any) -> None:
    for i in range(x.shape[0]):
        x[i] *= 2


@numba.njit("f8[:](f8[:], i8)")
def with_a_signature(x: Any, k: int) -> Any:
    return np.cumsum(x) * k + np.pi


@numba.njit
def of_modules(m: Any) -> Any:
    return la.norm(m) + np.linalg.norm(m.T), np.dot(m, m)


@numba.vectorize(["f8(f8, f8)"])
def elementwise(a: float, b: float) -> float:
    return a + 2 * b


@numba.guvectorize(["void(f8[:], f8[:])"], "(n)->(n)")
def along(a: Any, out: Any) -> None:
    for i in range(a.shape[0]):
        out[i] = a[i] + 1


def check(function: Any, *given: Any) -> None:
    """Lazy arguments, values and pending, give what NumPy's give, of NumPy's classes."""
    expected = function(*given)
    for pending in (False, True):
        lazy = [np.asarray(item) * 1 if pending else np.asarray(item) for item in given]
        found = function(*lazy)
        for ours, theirs in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, expected)], strict=True):
            assert type(numpy.asarray(ours)) is numpy.ndarray
            numpy.testing.assert_array_equal(ours, theirs, strict=True)


@pytest.mark.parametrize("size", [5, 50_000])
def test_compiled_functions_take_lazy_arrays(size: int) -> None:
    x, y = numpy.arange(float(size)) / size, numpy.linspace(0, 1, size)
    check(filled, x, y)
    check(rebound, x)
    check(lambda a: with_a_signature(a, 2), x)
    check(lambda a, b: of_parts((a, b)), x, y)
    check(lambda a, b: of_parts((a, b), a), x, y)
    check(lambda a, b: numpy.asarray(elementwise(a, b)), x, y)
    check(lambda a: numpy.asarray(along(a)), x)
    assert type(filled(np.asarray(x), np.asarray(y))) is numpy.ndarray


def test_what_they_write_is_written_into_the_lazy_array() -> None:
    x = np.arange(50_000.0) + 1.0
    doubled(x)
    doubled(x[::2])
    assert numpy.asarray(x)[:3].tolist() == [4.0, 4.0, 12.0]


def test_lazy_numbers_are_numbers() -> None:
    x = np.arange(50_000.0) + 1.0
    double = numba.njit(lambda n: n * 2)
    assert double(x.max()) == 100_000.0
    assert double(x.argmax()) == 99_998


def test_functions_and_modules_of_lazyarray_are_numpys_there() -> None:
    for ours, theirs in zip(made(3), made.py_func(3), strict=True):
        numpy.testing.assert_array_equal(ours, theirs, strict=True)
        assert type(ours) is numpy.ndarray
    m = numpy.arange(9.0).reshape(3, 3)
    norms, product = of_modules(np.asarray(m))
    assert norms == 2 * numpy.linalg.norm(m)
    numpy.testing.assert_array_equal(product, m @ m)


def test_other_dtypes_than_a_signature_wants_are_refused_as_numpys_are() -> None:
    for arange in (numpy.arange, np.arange):
        with pytest.raises(TypeError, match="No matching definition"):
            with_a_signature(arange(3), 1)
