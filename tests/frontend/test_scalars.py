"""Holds lazy scalars to NumPy's scalars: class, hash, arithmetic, text, and staying lazy until used."""

from __future__ import annotations

import copy
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.scalar import LazyScalar
from tests.frontend.agreement import MODES, agree, same, settled
from tests.frontend.interpreter import interpreted  # noqa: F401

TYPES = ["f8", "f4", "f2", "i8", "i4", "u1", "?", "c16", "c8"]


def pending(value: Any, dtype: str = "f8") -> Any:
    with lazyarray.config.set(eager_below=0):
        return (lazyarray.asarray(numpy.array([value], dtype)) + numpy.array([0], dtype))[0]


@pytest.mark.parametrize("dtype", TYPES)
def test_a_lazy_scalar_is_of_numpys_class(dtype: str) -> None:
    found, wanted = pending(1, dtype), numpy.array([1], dtype)[0] + numpy.array([0], dtype)[0]
    assert type(found) is LazyScalar
    for kind in (float, int, complex, bool, numpy.generic, numpy.floating, numpy.integer, numpy.number, numpy.bool_):
        assert isinstance(found, kind) == isinstance(wanted, kind)
    assert found.__class__ is type(wanted)
    assert (found.dtype, found.shape, found.ndim, found.size, found.nbytes) == (wanted.dtype, (), 0, 1, wanted.nbytes)
    assert hash(found) == hash(wanted)
    assert {found: "x"}[wanted] == "x"
    assert repr(found) == repr(wanted)
    assert str(found) == str(wanted)
    assert f"{found}" == f"{wanted}"
    for clone in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert clone == wanted
    assert type(pickle.loads(pickle.dumps(found))) is type(wanted)
    assert isinstance(found.item(), type(wanted.item()))


OTHERS: list[Any] = [2, -1, 0.5, 2j, True, numpy.float32(1.5), numpy.int8(3), numpy.float64(2), [1.0, 2.0]]


@MODES
@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow eq lt ge and_ lshift".split())
@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic_has_the_strength_of_a_scalars_dtype(dtype: str, name: str, eager_below: int) -> None:
    function = getattr(operator, name)
    for other in (*OTHERS, numpy.ones(3, "f4"), numpy.arange(3)):
        if (name == "pow" and type(other) is complex) or (
            name in ("floordiv", "mod") and dtype[0] == "c" and isinstance(other, numpy.generic)
        ):
            continue  # the other operand's type answers: Python's complex, or an error in other words
        for flipped in (False, True):

            def program(np: Any, other: Any = other, flipped: bool = flipped) -> Any:
                x = (np.data(numpy.array([3], dtype)) + numpy.array([0], dtype))[0]
                y = np.data(other) if isinstance(other, numpy.ndarray) else other
                with numpy.errstate(all="ignore"):
                    result = function(y, x) if flipped else function(x, y)
                # NumPy's scalars and its ufuncs have powers of different last bits.
                return result if name != "pow" else result.dtype

            agree(program, eager_below)


def test_arithmetic_and_comparison_stay_lazy() -> None:
    x = pending(3.0)
    y = (x * 2 + 1) / x
    assert type(y) is LazyScalar
    assert type(y > 2) is LazyScalar
    assert type(-y) is LazyScalar
    assert type(y.astype("f4")) is LazyScalar
    assert y > 2
    z = x
    z += 1
    assert (float(x), float(z)) == (3.0, 4.0)


@pytest.mark.parametrize(
    "name", "add sub mul truediv floordiv mod pow eq ne lt le gt ge lshift rshift and_ or_ xor".split()
)
@pytest.mark.parametrize("dtype", ["f4", "i8", "u1", "c8", "?"])
def test_a_scalar_before_an_array_stays_lazy(name: str, dtype: str) -> None:
    compute = getattr(operator, name)
    values = numpy.array([3, 1, 0, 2], dtype)
    scalar = pending(2, dtype)

    def outcome(left: Any, right: Any) -> Any:
        with numpy.errstate(all="ignore"):
            try:
                return compute(left, right)
            except (TypeError, ValueError) as error:
                return type(error), str(error)

    wanted = outcome(numpy.asarray(values[:1] * 0 + 2).astype(dtype)[0], values)
    with lazyarray.config.set(eager_below=0):
        found = outcome(scalar, lazyarray.array(values))
        if isinstance(wanted, tuple):
            assert found == wanted
            return
        assert scalar._value is None, "the scalar was not evaluated"
        with lazyarray.record_runs() as runs:
            same(settled(found), wanted)
        assert len(runs.evaluations) == 1


def test_a_scalar_is_what_its_array_was_when_it_was_read() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.asarray(numpy.arange(3.0)) + 0
        first, total = x[1], lazyarray.add.reduce(x)
        x[1] = 100
        assert (float(first), float(total)) == (1.0, 3.0)


@MODES
def test_scalars_where_python_and_numpy_want_numbers(eager_below: int) -> None:
    def program(np: Any) -> Any:
        x = np.data([2.0, 4.0]) * 2
        n = (np.data([3]) + 0)[0]
        return (
            math.sqrt(x[0]),
            round(x[1], 1),
            round(x[1]),
            list(range(n)),
            [1, 2, 3, 4][n],
            "ab" * n,
            (n, x[0]) == (3, 4.0),
            divmod(x[1], 3),
            abs(-x[0]),
            int(x[0]),
            complex(x[0]),
            bool(x[0]),
            f"{x[0]:.3f} {n:d}",
            np.array([x[0], n]),
            numpy.float64(x[0]),
            x[0].is_integer(),
            x[0].real,
            x[0].imag,
            x[0].T,
            x[0].mean(),
            x[0].item(),
            np.sin(x[0] * 0),
            np.zeros(n),
            x[: n - 2],
            x[n - 2],
            math.floor(x[0]),
            max(x[0], x[1]),
            sum([x[0], x[1]]),
            sorted([x[1], x[0]]),
        )

    agree(program, eager_below)


def test_calling_the_class_of_a_scalar_makes_numpys_scalar() -> None:
    made = LazyScalar(1.5)
    assert type(made) is numpy.float64
    assert made == 1.5


@MODES
def test_a_scalar_is_indexed_by_scalars_as_numpys_is(eager_below: int) -> None:
    for flag in (True, False):
        agree(lambda np, flag=flag: np.data([2.5]).sum()[np.data([flag]).all()], eager_below)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_products_of_two_complex_scalars_are_rounded_as_numpys_scalars_are(dtype: str) -> None:
    data = numpy.random.default_rng(3).standard_normal((40, 4)).view("c16").astype(dtype)
    with lazyarray.config.set(eager_below=0):
        own = lazyarray.asarray(data) * lazyarray.ones((), dtype)
        for row, mine in zip(data, own, strict=True):
            want, have = row.max() * row.min(), mine.max() * mine.min()
            assert numpy.asarray(have).tobytes() == want.tobytes()


@pytest.mark.parametrize("others", ["q", "Q"])
def test_arrays_of_an_equal_dtype_leave_no_trace(others: str) -> None:
    # C's `long` and `long long` are equal dtypes, and scalars of them are of two classes.
    dtype = numpy.dtype({"q": "l", "Q": "L"}[others])
    calls: list[Callable[[Any], Any]] = [
        lambda a: a.sum(),
        lambda a: (a + a).max(),
        lambda a: (a * a)[3],
        lambda a: (a - a).reshape(-1, 1).sum(),
    ]
    size = 9001 + ord(others)  # that no other test has
    for code in (others, dtype.char):
        found = [call(lazyarray.array(numpy.arange(size).astype(code))) for call in calls]
    assert [scalar.__class__ for scalar in found] == [dtype.type] * len(calls)
