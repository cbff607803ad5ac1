"""Loops that run in the place of NumPy's have its bits and raise what it raises, wherever operands lie."""

from __future__ import annotations

import ctypes
import hashlib
import warnings
from functools import cache
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.ir.numpy_loops import make_ufunc
from lazyarray.ir.ops import OPS, QUICKER, QUICKER_SMALL
from lazyarray.native import COMPILED
from lazyarray.runtime import quicker
from lazyarray_llvm import engine, ready
from lazyarray_llvm.eager import number_codes, quicker_codes, quicker_loop, symbol_of
from lazyarray_llvm.inner_loops import inner_loop

LOOPS = [(op, code, number) for op, code, number in ready.wanted() if op in QUICKER | QUICKER_SMALL]
KEPT: list[Any] = []


@cache
def ufunc_of(op: str, code: str, number: bool) -> Any:
    """A ufunc of the name of NumPy's over the one loop."""
    codes = [code] * OPS[op].nin
    text = inner_loop(op, codes, code, number)
    module = engine.compile_ir(text, f"test.{op}", key=hashlib.sha256(text.encode()).hexdigest())
    functions = (ctypes.c_void_p * 1)(module.address(symbol_of(op, codes, code, number)))
    data = (ctypes.c_void_p * 1)()
    types = (ctypes.c_ubyte * (len(codes) + 1))(*[numpy.dtype(code).num] * (len(codes) + 1))
    KEPT.append((module, functions, data, types))
    return make_ufunc(functions, data, types, len(codes), op, "", None)


def special(code: str) -> Any:
    dtype = numpy.dtype(code)
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        near = [0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.max // 2, info.max // 3]
        return numpy.array([*near, *[v for v in (info.min, info.min + 1, -1, -2, -7, -100) if v >= info.min]], dtype)
    info = numpy.finfo(dtype)
    values = [0.0, 1.0, 0.1, 2.5, 7.0, 1e3, info.max, info.tiny, info.smallest_subnormal, info.eps, numpy.inf]
    return numpy.array([*values, *[-v for v in values], numpy.nan], dtype)


def alike(found: Any) -> bytes:
    """The bytes of an array; those of every NaN are the same."""
    if found.dtype.kind == "f":
        found = numpy.where(numpy.isnan(found), numpy.array(numpy.nan, found.dtype), found)
    return found.tobytes()


def told(function: Any, *args: Any) -> tuple[bytes, list[str]]:
    """The bits of a result, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught, numpy.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        found = function(*args)
    return alike(found), sorted({str(w.message) for w in caught})


def bits(function: Any, *args: Any) -> bytes:
    return told(function, *args)[0]


@pytest.mark.parametrize(("op", "code", "number"), LOOPS)
def test_special_values_give_numpys_bits_and_warnings(op: str, code: str, number: bool) -> None:
    own, numpys, values = ufunc_of(op, code, number), OPS[op].ufunc, special(code)
    # One at a time: a warning that another pair gives must not hide what this one does.
    for one in values:
        many = numpy.resize(one, 9)
        if OPS[op].nin == 1:
            assert told(own, many) == told(numpys, many), one
            continue
        for other in values:
            second = other if number else numpy.resize(other, 9)
            assert told(own, many, second) == told(numpys, many, second), (one, other)


@pytest.mark.parametrize(("op", "code", "number"), LOOPS)
def test_many_values_give_numpys_bits(op: str, code: str, number: bool) -> None:
    draw, dtype = numpy.random.default_rng(5), numpy.dtype(code)
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        top = draw.integers(info.min, info.max, (2, 20_000), dtype, endpoint=True)
        few = draw.integers(max(info.min, -20), 20, (2, 20_000)).astype(dtype)
        rows = [top[0], few[0], top[1] >> dtype.type(dtype.itemsize), few[1]]
    else:
        with numpy.errstate(all="ignore"):
            wide = numpy.ldexp(draw.standard_normal((2, 20_000)), draw.integers(-60, 60, (2, 20_000))).astype(dtype)
        rows = [
            wide[0],
            (draw.standard_normal(20_000) * 9).astype(dtype),
            wide[1],
            (draw.integers(-6, 6, 20_000) / 2).astype(dtype),
        ]
    own, numpys = ufunc_of(op, code, number), OPS[op].ufunc
    for x in rows:
        if OPS[op].nin == 1:
            assert bits(own, x) == bits(numpys, x)
            continue
        for y in rows:
            for second in y[:7] if number else [y, y[::-1], y[:1]]:
                assert bits(own, x, second) == bits(numpys, x, second)
            apart = y[0] if number else y[::3]
            assert bits(own, x[::3], apart) == bits(numpys, x[::3], apart)


READY = bool(COMPILED) and quicker_loop("remainder", "f8", False) != 0


@pytest.mark.skipif(not READY, reason="the hot modules run as Python, or no loops are ready for this CPU")
class TestSmallArrays:
    """What small arrays run."""

    @pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
    def test_results_are_numpys(self, dtype: str) -> None:
        a = numpy.arange(-3000, 3000).astype(dtype)
        b = (numpy.arange(6000) % 13).astype(dtype)
        x, y = np.array(a), np.array(b)
        with numpy.errstate(all="ignore"):
            for mine, theirs in ((x % y, a % b), (x // y, a // b), (x % 7, a % 7), (x // 7, a // 7), (7 % y, 7 % b)):
                assert mine.dtype == theirs.dtype
                assert alike(mine.to_numpy()) == alike(theirs)
            x %= y
            a %= b
            x.shape = a.shape = (60, 100)
            assert alike(np.fmod(x.T, 3).to_numpy()) == alike(numpy.fmod(a.T, 3))
            assert alike((x[:, ::2] % x[:1, ::2]).to_numpy()) == alike(a[:, ::2] % a[:1, ::2])
        assert alike(x.to_numpy()) == alike(a)

    def test_warnings_and_errors_are_numpys(self) -> None:
        x, zeros = np.array(numpy.ones(700)), np.array(numpy.zeros(700))
        with pytest.warns(RuntimeWarning, match="^invalid value encountered in remainder$"):
            x % zeros
        with pytest.warns(RuntimeWarning, match="^divide by zero encountered in floor_divide$"):
            x // zeros
        with pytest.warns(RuntimeWarning, match="^divide by zero encountered in remainder$"):
            x.astype(int) % zeros.astype(int)
        with numpy.errstate(all="raise"), pytest.raises(FloatingPointError, match="invalid value encountered in fmod"):
            np.fmod(x, zeros)

    def test_an_error_state_that_tells_of_underflow_leaves_it_to_numpys_loop(self) -> None:
        tiny = numpy.full(600, 5e-324)
        x = np.array(tiny)
        with numpy.errstate(under="raise"), pytest.raises(FloatingPointError) as theirs:
            numpy.deg2rad(tiny)
        with numpy.errstate(under="raise"), pytest.raises(FloatingPointError) as mine:
            np.deg2rad(x)
        assert str(mine.value) == str(theirs.value)

    def test_another_backend_has_its_own(self) -> None:
        with np.config.set(backend="numpy"):
            assert quicker.find(numpy.remainder, numpy.dtype(float), False) == 0
        assert quicker.find(numpy.remainder, numpy.dtype(float), False) != 0
        assert quicker.find(numpy.add, numpy.dtype(float), False) == 0
        assert quicker.find(numpy.divide, numpy.dtype(float), True) != 0
        assert quicker.find(numpy.divide, numpy.dtype(float), True) != 0
        assert quicker.find(numpy.divide, numpy.dtype(float), False) == 0


def test_every_loop_is_for_a_loop_of_numpys() -> None:
    for op in QUICKER | QUICKER_SMALL:
        codes = {*quicker_codes(op), *number_codes(op)}
        assert codes
        for code in codes:
            types = numpy.dtype(code).char * OPS[op].nin
            assert f"{types}->{types[0]}" in OPS[op].ufunc.types
    assert "i4" in number_codes("remainder")
    assert "i4" not in number_codes("floor_divide")


def test_what_numpy_evaluates_first_has_its_bits_and_warnings() -> None:
    x = numpy.ldexp(numpy.random.default_rng(2).standard_normal(90_000), 3)
    x[:3] = numpy.inf, 0.0, numpy.nan
    with np.config.set(compile_at=100, eager_below=4096):
        before = np.counters()["interpreted"]
        with pytest.warns(RuntimeWarning, match="^invalid value encountered in remainder$"):
            found = (np.array(x) % 0.3).to_numpy()
        assert np.counters()["interpreted"] == before + 1
    with numpy.errstate(invalid="ignore"):
        assert alike(found) == alike(x % 0.3)
