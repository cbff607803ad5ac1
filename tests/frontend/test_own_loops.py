"""Holds that NumPy's Python functions with transcendental functions inside have one set of bits at every size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.config import config

DRAW = numpy.random.default_rng(3)
X = DRAW.standard_normal(500) * 10.0 ** DRAW.integers(-3, 2, 500)
Z = X + 1j * DRAW.standard_normal(500)
ULPS = 100  # some divide by small differences
CALLS: dict[str, Callable[[Any], Any]] = {
    "angle": lambda np: np.angle(np.array(Z)),
    "angle in degrees": lambda np: np.angle(np.array(Z), deg=True),
    "angle of real numbers": lambda np: np.angle(np.array(X)),
    "angle of float32": lambda np: np.angle(np.array(Z.astype("c8"))),
    "sinc": lambda np: np.sinc(np.array(X)),
    "sinc of integers": lambda np: np.sinc(np.arange(-5, 5)),
    "sinc of complex": lambda np: np.sinc(np.array(Z)),
    "angle of long numbers": lambda np: np.angle(np.array(Z.astype("G"))),
    "sinc of long numbers": lambda np: np.sinc(np.array(X.astype("g"))),
    "sinc of float16": lambda np: np.sinc(np.array(X.astype("e"))),
    "sinc of int8": lambda np: np.sinc(np.arange(-5, 5, dtype="i1")),
    "sinc of truth values": lambda np: np.sinc(np.array(X > 0)),
    "hanning of a long number": lambda np: np.hanning(numpy.longdouble(10)),
    "kaiser of a float32": lambda np: np.kaiser(numpy.float32(10), numpy.float32(2)),
    "logspace of long numbers": lambda np: np.logspace(numpy.longdouble(0), 2, 10),
    "i0": lambda np: np.i0(np.array(X)),
    "hanning": lambda np: np.hanning(51),
    "hanning of a float": lambda np: np.hanning(7.5),
    "no hanning": lambda np: np.hanning(-1),
    "one point": lambda np: np.hamming(1),
    "hamming": lambda np: np.hamming(50),
    "blackman": lambda np: np.blackman(M=51),
    "kaiser": lambda np: np.kaiser(51, 8.6),
    "logspace": lambda np: np.logspace(0.1, 2.3, 50),
    "logspace of integers": lambda np: np.logspace(0, 5, 6),
    "logspace, base 2": lambda np: np.logspace(-3, 4, 57, base=2),
    "logspace of a dtype": lambda np: np.logspace(0, 2, 30, dtype=np.float32),
    "logspace without its end": lambda np: np.logspace(0, 2, 30, False),
    "logspace of bases": lambda np: np.logspace(0, 2, 30, base=np.array([2.0, 3.0])),
    "geomspace": lambda np: np.geomspace(1, 1000, 50),
    "geomspace below zero": lambda np: np.geomspace(-1.5, -100, 50),
    "geomspace of complex": lambda np: np.geomspace(1j, 1000j, 4),
}


def assert_same_bits(array: Any, other: Any) -> None:
    """Of long numbers equal ones: between them lie bytes that mean nothing."""
    if array.dtype.char in "gG":
        assert numpy.array_equal(array, other)
    else:
        assert array.tobytes() == other.tobytes()


@pytest.mark.parametrize("name", CALLS)
def test_small_ones_have_the_bits_of_what_is_recorded(name: str) -> None:
    small = numpy.asarray(CALLS[name](lazyarray))
    with config.set(eager_below=0):
        recorded = numpy.asarray(CALLS[name](lazyarray))
    assert small.dtype == recorded.dtype
    assert_same_bits(small, recorded)


@pytest.mark.parametrize("name", CALLS)
def test_they_are_numpys(name: str) -> None:
    expected, found = CALLS[name](numpy), CALLS[name](lazyarray)
    assert type(found) is lazyarray.ndarray
    assert found.dtype == expected.dtype
    numpy.testing.assert_allclose(numpy.asarray(found), expected, rtol=ULPS * numpy.finfo(expected.dtype).eps)


@pytest.mark.parametrize("name", CALLS)
def test_they_have_numpys_bits_where_these_are_asked_for(name: str) -> None:
    with config.set(numerics="numpy"):
        assert_same_bits(numpy.asarray(CALLS[name](lazyarray)), CALLS[name](numpy))


@pytest.mark.parametrize(
    "call",
    [lambda np: np.logspace(0, 1000, 5), lambda np: np.sinc(np.array([numpy.inf])), lambda np: np.kaiser(5, 1e4)],
)
def test_they_tell_of_floating_point_errors_as_numpy(call: Callable[[Any], Any]) -> None:
    told = []
    for np in (numpy, lazyarray):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(call(np))
        told.append([(one.category, str(one.message)) for one in caught])
    assert told[0] == told[1]
    for np in (numpy, lazyarray):
        with numpy.errstate(all="raise"), pytest.raises(FloatingPointError, match=r"overflow|invalid"):
            numpy.asarray(call(np))


@pytest.mark.parametrize("call", [lambda np: np.hanning(), lambda np: np.hanning("a"), lambda np: np.kaiser(5)])
def test_what_numpy_refuses_is_refused(call: Callable[[Any], Any]) -> None:
    raised = []
    for np in (numpy, lazyarray):
        with pytest.raises(TypeError) as info:
            call(np)
        raised.append(str(info.value))
    assert raised[0] == raised[1]
