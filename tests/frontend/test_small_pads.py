"""Pads of small arrays are copies in C: values, layouts and errors are those of NumPy's code."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np

SHAPES = [(5,), (1,), (4, 6), (3, 1, 5), (0,), (3, 0), ()]
WIDTHS: list[Any] = [
    0,
    1,
    3,
    7,
    -1,
    10**30,
    numpy.int64(2),
    True,
    1.5,
    None,
    (1,),
    (1, 2),
    [2, 0],
    (1, -2),
    (1, 2, 3),
    ((1, 2),),
    ((1, 2), (0, 1)),
    [(0, 3), [2, 1]],
    ((1, 2), 3),
    ((1,), (2,)),
    ((0, 1), (1, 0), (2, 2)),
    ((1, 2, 3), (0, 1, 2)),
    (),
    {0: 1},
    numpy.array([1, 2]),
]
MODES = ["constant", "edge", "reflect", "symmetric", "wrap", "empty", "mean", "no such"]
VALUES: list[Any] = [0, 7, -3, 2.5, 1e300, float("nan"), 300, 10**25, True, numpy.float64(3.5), numpy.int64(4), 1 + 2j]
VALUES += [(1, 2), [[1, 2]], None, "x"]


def told(np_: Any, x: Any, *args: Any, **named: Any) -> Any:
    """Values and layout of a pad, or its error."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = np_.pad(x, *args, **named)
        except Exception as error:  # whichever NumPy raises
            return type(error), str(error)
    plain = numpy.asarray(found)
    values = [] if named.get("mode") == "empty" else plain.tolist() if plain.dtype == object else plain.tobytes()
    kinds = [(w.category, str(w.message)) for w in heard]
    return plain.dtype, plain.shape, plain.strides, values, found.flags.owndata, found.base is None, kinds


def orders(x: numpy.ndarray[Any, Any]) -> list[Any]:
    return [x, numpy.asfortranarray(x), x[::-1] if x.ndim else x, numpy.repeat(x, 2, -1)[..., ::2] if x.ndim else x]


@pytest.mark.parametrize("code", ["f8", "i2", "c16", "?", ">f8", "O", "f2"])
@pytest.mark.parametrize("shape", SHAPES)
def test_pads_are_numpys(code: str, shape: tuple[int, ...]) -> None:
    x = numpy.arange(1, int(numpy.prod(shape)) + 1).reshape(shape).astype(code)
    for given in orders(x):
        for width in WIDTHS:
            assert told(np, np.asarray(given), width) == told(numpy, given, width)
            for mode in MODES:
                wanted = told(numpy, given, width, mode=mode)
                assert told(np, np.asarray(given), width, mode=mode) == wanted, (given, width, mode)


@pytest.mark.parametrize("code", ["f8", "f4", "i8", "u1", "i2", "c16", "c8", "?", "f2"])
def test_what_margins_hold_is_what_numpy_stores(code: str) -> None:
    x = numpy.arange(1, 7).reshape(2, 3).astype(code)
    for value in VALUES:
        wanted = told(numpy, x, 2, mode="constant", constant_values=value)
        assert told(np, np.asarray(x), 2, mode="constant", constant_values=value) == wanted, value
        assert told(np, np.asarray(x), 2, constant_values=value) == wanted, value
        assert told(np, np.asarray(x), 2, "constant", constant_values=value) == wanted, value
        other = told(numpy, x, 2, mode="edge", constant_values=value)
        assert told(np, np.asarray(x), 2, mode="edge", constant_values=value) == other


def test_a_pad_shares_no_memory() -> None:
    x = np.arange(6.0)
    for mode in MODES[:5]:
        for width in (0, 2):
            found = np.pad(x, width, mode=mode)
            found[...] = -1.0
            assert numpy.asarray(x).tolist() == [0, 1, 2, 3, 4, 5]
