"""Quotients and roots of floats have NumPy's bits and warnings where they are products (`elementwise/exact.py`)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Stage, Store
from lazyarray_llvm.backend import Backend
from lazyarray_llvm.elementwise import exact
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
BY = ("number", "row", "array")


def kernel(code: str, by: str) -> Kernel:
    """x / y over two axes, y a number of the call, one of each row, or one for each x."""
    second = I(1, "scalar", (), code, 0) if by == "number" else I(1, "load", (), code, 1)
    last = Access(code, ("s", "1"))
    accesses = {"number": (last, last), "row": (last, Access(code, ("s", "0")), last), "array": (last, last, last)}[by]
    body = (I(0, "load", (), code, 0), second, I(2, "divide", (0, 1), code))
    stage = Stage("full", body, stores=(Store(len(accesses) - 1, 2),))
    return Kernel(("p", "p"), accesses, (code,) if by == "number" else (), (stage,))


def quotients(backend: Backend, x: Any, y: Any, by: str) -> Any:
    """Rows x by the numbers y, a row for each."""
    code, result = f"f{x.itemsize}", numpy.empty((len(y), len(x)), x.dtype)
    program, along = backend.compile(kernel(code, by)), (0, x.itemsize)
    if by == "number":
        for one, into in zip(y, result, strict=True):
            program.launch(Binding((1, len(x)), (x.ctypes.data, into.ctypes.data), (along, along), (one,)))
        return result
    if by == "array":
        y = numpy.repeat(y[:, None], len(x), axis=1)
    steps = (along, y.strides if by == "array" else (y.itemsize, 0), result.strides)
    program.launch(Binding(result.shape, (x.ctypes.data, y.ctypes.data, result.ctypes.data), steps, ()))
    return result


def roots(backend: Backend, x: Any) -> Any:
    code, result = f"f{x.itemsize}", numpy.empty_like(x)
    stage = Stage("full", (I(0, "load", (), code, 0), I(1, "sqrt", (0,), code)), stores=(Store(1, 1),))
    program = backend.compile(Kernel(("p",), (Access(code, ("1",)),) * 2, (), (stage,)))
    program.launch(Binding(x.shape, (x.ctypes.data, result.ctypes.data), (x.strides, x.strides), ()))
    return result


def edges(code: str) -> Any:
    """The numbers about which something changes, all with either sign."""
    info = numpy.finfo(code)
    limits = [exact.DIVISORS[code], exact.DIVIDENDS[code]]
    powers = numpy.array([p for low, many in limits for p in (low, low + many)] + [-1, 0, 1, 5], numpy.int32)
    at = numpy.ldexp(numpy.ones(len(powers), code), powers)
    ends = [0.0, info.smallest_subnormal, 3 * info.smallest_subnormal, info.tiny, info.max, numpy.inf, numpy.nan]
    mantissas = [1.0 + info.eps, 2.0 - info.eps, 2.0 - 2 * info.eps, 1.5, 1.0 / 3.0, 0.1, 10.0]
    ends += [1.0 - info.epsneg, 2.0 * info.tiny, info.tiny * (1.0 - info.epsneg), info.max / 2]
    some = numpy.array([*ends, *mantissas], code)
    beside = [numpy.nextafter(at, numpy.array(to, code)) for to in (0.0, numpy.inf)]
    found = numpy.concatenate([some, at, *beside]).astype(code)
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


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("code", CODES)
def test_quotients_at_the_edges_are_numpys(code: str, by: str, backend: Backend) -> None:
    y = edges(code)
    for length in (len(y), 7, 16, 65):
        # One number repeated, so that no other of its vector has it divided; and all beside each other.
        for x in [y[:length], *([numpy.resize(one, length) for one in y] if length == 65 else [])]:
            with numpy.errstate(all="ignore"):
                expected = x[None] / y[:, None]
            assert_alike(quotients(backend, x, y, by), expected)


@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("code", CODES)
def test_quotients_near_the_middle_of_two_numbers_are_numpys(code: str, by: str, backend: Backend) -> None:
    draw = numpy.random.default_rng(0)
    near_two = 2.0 - numpy.arange(1, 20) * numpy.finfo(code).eps
    for y in numpy.concatenate([draw.uniform(-9.0, 9.0, 40), near_two, near_two * 0.75]).astype(code):
        x = near_middles(y, draw)
        assert_alike(quotients(backend, x, numpy.array([y]), by), (x / y)[None])


def near_middles_of_roots() -> list[int]:
    """The float64 from 1 to 4, times 2^52, whose roots are nearest to the middle between two numbers.

    M 2^-53 is such a middle for odd M, and M^2 + k divisible by 2^54 where a number is k 2^-106 away from its square.
    """
    found = []
    for k in range(-127, 128):
        root = 1
        if -k % 8 != 1:
            continue  # no square of an odd number
        for bit in range(3, 54):
            if (root * root + k) >> bit & 1:
                root += 1 << bit - 1
        ways = {sign * root + half for sign in (1, -1) for half in (0, 1 << 53)}
        for middle in {way % (1 << 54) for way in ways}:
            number = middle * middle + k >> 54
            if middle >> 53 and number < 1 << 53:
                found.append(number)  # below 2
            elif middle >> 53 and not number & 1:
                found.append(number)
    return found


def test_roots_nearest_to_the_middle_of_two_numbers_are_rounded_once(backend: Backend) -> None:
    numbers = near_middles_of_roots()
    assert len(numbers) > 40
    hard = numpy.array(numbers, float) / 2.0**52
    assert [int(x * 2.0**52) for x in hard.tolist()] == numbers
    for power in (-1020, -514, -512, -2, 0, 2, 508, 510, 1020):
        x = numpy.repeat(numpy.ldexp(hard, power), 9)
        assert_alike(roots(backend, x), numpy.sqrt(x))


@pytest.mark.parametrize("code", CODES)
def test_roots_are_numpys(code: str, backend: Backend) -> None:
    draw = numpy.random.default_rng(3)
    with numpy.errstate(all="ignore"):
        for one in edges(code):
            x = numpy.resize(one, 65)
            assert_alike(roots(backend, x), numpy.sqrt(x))
        beside = [draw.integers(1, 1 << 26, 9000) ** 2.0 * numpy.array([1.0 + k * 2.0**-52]) for k in (-1, 0, 1)]
        for x in (edges(code), *draw.random((20, 9000)), *(draw.random((20, 9000)) * 4), *beside):
            assert_alike(roots(backend, x.astype(code)), numpy.sqrt(x.astype(code)))
        wide = numpy.ldexp(draw.random(9000), draw.integers(-1000, 1000, 9000)).astype(code)
        assert_alike(roots(backend, wide), numpy.sqrt(wide))


def test_numbers_of_any_size_are_divided_as_by_numpy(backend: Backend) -> None:
    draw = numpy.random.default_rng(1)
    for code, most in (("f4", 120), ("f8", 1000)):
        with numpy.errstate(all="ignore"):
            x = numpy.ldexp(draw.standard_normal(5000), draw.integers(-most, most, 5000)).astype(code)
            for y in numpy.ldexp(draw.standard_normal(60), draw.integers(-most, most, 60)).astype(code):
                for by in BY:
                    assert_alike(quotients(backend, x, y[None], by), (x / y)[None])


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
