"""Small arrays whose rows are short: what is broadcast against them gives NumPy's values, in every layout and type."""

from __future__ import annotations

import operator
import warnings
from itertools import product
from typing import Any

import numpy
import pytest

import lazyarray as np

SHAPES = [
    ((200, 10), (10,)),
    ((10,), (200, 10)),
    ((200, 10), (200, 1)),
    ((200, 1), (200, 10)),
    ((200, 1), (10,)),
    ((7, 40, 3), (40, 3)),
    ((7, 40, 3), (7, 40, 1)),
    ((7, 40, 3), (7, 1, 3)),
    ((7, 40, 3), (7, 1, 1)),
    ((7, 40, 3), (1, 40, 1)),
    ((3, 2, 5, 4), (3, 1, 1, 4)),
    ((4, 63), (63,)),
    ((4, 64), (64,)),
    ((3, 10), (10,)),
    ((257, 2), (2,)),
    ((129, 63), (129, 1)),
]
CODES = "?bHifdFD"


def values(shape: tuple[int, ...], code: str, seed: int) -> Any:
    draw = numpy.random.default_rng(seed)
    if code in "fdFD":
        found = draw.normal(size=shape) * 10.0 ** draw.integers(-3, 3, shape)
        found.flat[:: found.size // 3 + 1] = numpy.nan
        found.flat[1 :: found.size // 2 + 1] = numpy.inf
        return found.astype(code)
    return draw.integers(0, 100, shape).astype(code)


def said(function: Any, *args: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = function(*args)
    return found, [str(warning.message) for warning in caught]


NAMES = ["add", "mul", "truediv", "lt", "maximum"]


@pytest.mark.parametrize(("name", "code"), [*product(NAMES, CODES), *product(["arctan2"], "hfd")])
@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_short_rows_have_numpys_values(name: str, left: Any, right: Any, code: str) -> None:
    a, b = values(left, code, 1), values(right, code, 2)
    want, told = said(getattr(operator, name, None) or getattr(numpy, name), a, b)
    have, ours = said(getattr(operator, name, None) or getattr(np, name), np.array(a), np.array(b))
    assert have.dtype == want.dtype
    assert have.strides == want.strides
    assert told == ours
    if name == "arctan2":
        numpy.testing.assert_allclose(numpy.asarray(have), want, rtol=1e-6)
    else:
        numpy.testing.assert_array_equal(numpy.asarray(have), want)


@pytest.mark.parametrize("code", "hfdD")
@pytest.mark.parametrize(("left", "right"), [pair for pair in SHAPES if numpy.broadcast_shapes(*pair) == pair[0]])
def test_short_rows_are_updated_in_place(left: Any, right: Any, code: str) -> None:
    a, b = values(left, code, 3), values(right, code, 4)
    ours, theirs = np.array(a), np.array(b)
    same = ours
    with numpy.errstate(all="ignore"):
        a *= b
        ours *= theirs
    assert ours is same
    numpy.testing.assert_array_equal(numpy.asarray(ours), a)


@pytest.mark.parametrize("turn", ["every second row", "backwards", "columns left out", "transposed", "every second"])
def test_short_rows_that_lie_otherwise_have_numpys_values(turn: str) -> None:
    keys: dict[str, Any] = {
        "every second row": lambda x: x[::2],
        "backwards": lambda x: x[::-1],
        "columns left out": lambda x: x[:, :7],
        "transposed": lambda x: x.T[:, :12],
        "every second": lambda x: x[:, ::2],
    }
    a = values((120, 12), "d", 5)
    for other in (a[:1], a[:, :1]):
        view, second = keys[turn](a), keys[turn](other + numpy.zeros_like(a))
        row, column = second[:1], second[:, :1]
        for b in (row, column, row[0]):
            with numpy.errstate(invalid="ignore"):
                want = view - b
                ours = keys[turn](np.array(a)) - np.array(b)
            numpy.testing.assert_array_equal(numpy.asarray(ours), want)
            assert ours.strides == want.strides


def test_rows_of_a_repeated_row_have_numpys_values() -> None:
    row, column = values((5,), "d", 6), values((50, 1), "d", 7)
    repeated, spread = numpy.broadcast_to(row, (50, 5)), numpy.broadcast_to(column, (50, 5))
    ours, others = np.broadcast_to(np.array(row), (50, 5)), np.broadcast_to(np.array(column), (50, 5))
    numpy.testing.assert_array_equal(numpy.asarray(ours * others), repeated * spread)
    numpy.testing.assert_array_equal(numpy.asarray(-ours), -repeated)
    numpy.testing.assert_array_equal(numpy.asarray(np.sqrt(abs(others))), numpy.sqrt(abs(spread)))
