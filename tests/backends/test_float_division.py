"""Quotients of floats by one number have NumPy's bits and warnings where they are products with its inverse."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_llvm.backend import Backend
from lazyarray_llvm.elementwise import division
from tests.backends.widths import WIDTHS, backend_at

I = Instruction  # noqa: E741
CODES = ("f4", "f8")


@pytest.fixture(params=WIDTHS)
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Backend:
    return backend_at(request.param, monkeypatch)


# -- the formula -----------------------------------------------------------------------------------------------
def rounded(values: Any, bits: int) -> Any:
    """Doubles rounded to mantissas of so many bits."""
    fraction, exponent = numpy.frexp(values)
    return numpy.ldexp(numpy.rint(numpy.ldexp(fraction, bits)), exponent - bits)


@pytest.mark.parametrize("bits", [2, 3, 4, 7, 10, 11])
def test_every_quotient_of_short_mantissas_is_rounded_once(bits: int) -> None:
    # Doubles hold what is not rounded: products of two, and sums of a product and a third.
    numbers = numpy.arange(1 << (bits - 1), 1 << bits) / (1 << (bits - 1))
    for y in numbers:
        inverse = rounded(1.0 / y, bits)
        near = rounded(numbers * inverse, bits)
        rest = rounded(near * y - numbers, bits)
        numpy.testing.assert_array_equal(rounded(near - rest * inverse, bits), rounded(numbers / y, bits))


# -- kernels ---------------------------------------------------------------------------------------------------
def kernel(code: str, row: bool) -> Kernel:
    """x / y over two axes, y a number of the call or one of each row."""
    second = I(1, "load", (), code, 1) if row else I(1, "scalar", (), code, 0)
    accesses = (Access(code, ("s", "1")), *[Access(code, ("s", "0"))] * row, Access(code, ("s", "1")))
    body = (I(0, "load", (), code, 0), second, I(2, "divide", (0, 1), code))
    stage = Stage("full", body, stores=(Store(len(accesses) - 1, 2),))
    return Kernel(("p", "p"), accesses, () if row else (code,), (stage,))


def quotients(backend: Backend, x: Any, y: Any, row: bool) -> Any:
    """Rows x by the numbers y, a row for each."""
    code, result = f"f{x.itemsize}", numpy.empty((len(y), len(x)), x.dtype)
    program = backend.compile(kernel(code, row))
    if row:
        pointers = (x.ctypes.data, y.ctypes.data, result.ctypes.data)
        steps = ((0, x.itemsize), (y.itemsize, 0), result.strides)
        program.launch(Binding(result.shape, pointers, steps, ()))
        return result
    for one, into in zip(y, result, strict=True):
        pointers = (x.ctypes.data, into.ctypes.data)
        program.launch(Binding((1, len(x)), pointers, ((0, x.itemsize), (0, x.itemsize)), (one,)))
    return result


def edges(code: str) -> Any:
    """The numbers about which something changes, all with either sign."""
    info = numpy.finfo(code)
    powers = numpy.array([*division._DIVISORS[code], *division._DIVIDENDS[code], -1, 0, 1, 5], numpy.int32)
    limits = numpy.ldexp(numpy.ones(len(powers), code), powers)
    ends = [0.0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.max, numpy.inf, numpy.nan]
    mantissas = [1.0 + info.eps, 2.0 - info.eps, 2.0 - 2 * info.eps, 1.5, 1.0 / 3.0, 0.1, 10.0]
    ends += [1.0 - info.epsneg, 2.0 * info.tiny, info.tiny * (1.0 - info.epsneg), info.max / 2]
    some = numpy.array([*ends, *mantissas], code)
    beside = [numpy.nextafter(limits, numpy.array(to, code)) for to in (0.0, numpy.inf)]
    found = numpy.concatenate([some, limits, *beside]).astype(code)
    return numpy.concatenate([found, -found])


def near_middles(y: Any, draw: numpy.random.Generator) -> Any:
    """Dividends whose quotients by y lie near the middle between two numbers, or near a number."""
    code = f"f{y.itemsize}"
    wide = numpy.longdouble if code == "f8" else numpy.float64
    quotient = draw.uniform(0.5, 2.0, 400).astype(code)
    middles = quotient.astype(wide) + numpy.spacing(quotient).astype(wide) / 2
    exact = (numpy.concatenate([middles, quotient.astype(wide)]) * wide(y)).astype(code)
    return numpy.concatenate(
        [exact, numpy.nextafter(exact, code_of(0.0, code)), numpy.nextafter(exact, code_of(9, code))]
    )


def code_of(value: float, code: str) -> Any:
    return numpy.array(value, code)


def assert_alike(found: Any, expected: Any) -> None:
    """Bit for bit, but for the kind of a NaN."""
    nan = numpy.isnan(expected)
    numpy.testing.assert_array_equal(numpy.isnan(found), nan)
    bits = f"i{found.itemsize}"
    numpy.testing.assert_array_equal(found.view(bits)[~nan], expected.view(bits)[~nan])


@pytest.mark.parametrize("row", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_quotients_at_the_edges_are_numpys(code: str, row: bool, backend: Backend) -> None:
    y = edges(code)
    for length in (len(y), 7, 16, 65):
        # One number repeated, so that no other of its vector has it divided; and all beside each other.
        for x in [y[:length], *([numpy.resize(one, length) for one in y] if length == 65 else [])]:
            with numpy.errstate(all="ignore"):
                expected = x[None] / y[:, None]
            assert_alike(quotients(backend, x, y, row), expected)


@pytest.mark.parametrize("row", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_quotients_near_the_middle_of_two_numbers_are_numpys(code: str, row: bool, backend: Backend) -> None:
    draw = numpy.random.default_rng(0)
    near_two = 2.0 - numpy.arange(1, 20) * numpy.finfo(code).eps
    for y in numpy.concatenate([draw.uniform(-9.0, 9.0, 40), near_two, near_two * 0.75]).astype(code):
        x = near_middles(y, draw)
        assert_alike(quotients(backend, x, numpy.array([y]), row), (x / y)[None])


def test_numbers_of_any_size_are_divided_as_by_numpy(backend: Backend) -> None:
    draw = numpy.random.default_rng(1)
    for code, most in (("f4", 120), ("f8", 1000)):
        with numpy.errstate(all="ignore"):
            x = numpy.ldexp(draw.standard_normal(5000), draw.integers(-most, most, 5000)).astype(code)
            y = numpy.ldexp(draw.standard_normal(60), draw.integers(-most, most, 60)).astype(code)
            assert_alike(quotients(backend, x, y, row=False), x[None] / y[:, None])


# -- what programs see -----------------------------------------------------------------------------------------
def told(function: Any, *args: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught, numpy.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        numpy.asarray(function(*args))
    return sorted(str(w.message) for w in caught)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("place", [0, 4321, -1])
def test_warnings_are_numpys(code: str, place: int) -> None:
    specials = numpy.array([0.0, -0.0, 1.0, 1e30, -1e-30, numpy.inf, numpy.nan, numpy.finfo(code).max], code)
    for special in specials:
        x = numpy.linspace(1.0, 2.0, 9000).astype(code)
        x[place] = special
        mine = np.array(x)
        for y in (*specials, numpy.array(1e-30, code)):
            assert told(lambda a, b: (a / b).sum(), mine, y) == told(lambda a, b: (a / b).sum(), x, y), (special, y)
            own, numpys = told(lambda a, b: a / b, mine, y), told(lambda a, b: a / b, x, y)
            assert own == numpys, (special, y)


def test_rows_are_divided_by_numbers_of_theirs() -> None:
    x = numpy.random.default_rng(2).standard_normal((300, 77))
    x[3] = 0.0
    x[5, 9] = numpy.inf
    mine = np.array(x)
    with numpy.errstate(all="ignore"):
        for by in (x.sum(axis=1, keepdims=True), x[:, :1], numpy.abs(x).max(axis=1, keepdims=True)):
            assert_alike(numpy.asarray(mine / np.array(by)), x / by)
        assert_alike(numpy.asarray(mine / mine[:, :1]), x / x[:, :1])


def test_an_unfit_number_raises_nothing_ahead_of_the_loop() -> None:
    empty = np.array(numpy.ones((0, 100)))
    assert told(lambda: empty / 0.0) == []
    masked = np.array(numpy.ones(9000))
    for y in (0.0, 5e-324, 1e-310):
        x = np.array(numpy.zeros(9000))
        expected = told(lambda y=y: numpy.zeros(9000) / y)
        assert told(lambda x=x, y=y: x / y) == expected
        assert told(lambda y=y: np.where(masked > 2, masked / 3.0, y)) == []
