"""Rolls of small arrays are copies in C: values, layouts, what owns memory, and errors are those of NumPy's code."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray as np

SHAPES = [(5,), (1,), (4, 6), (3, 1, 5), (0,), (3, 0), ()]
AXES: list[Any] = [None, 0, -1, 1, 5, numpy.int64(0), (0,), (0, 1), (1, 0), (0, 0), (0, -1), (0, 5), True, [0], 1.0]
SHIFTS: list[Any] = [
    0,
    1,
    -1,
    100,
    10**30,
    numpy.int64(2),
    True,
    1.5,
    (1,),
    (1, -2),
    (1, 2, 3),
    [1, 2],
    (1, True),
    None,
]


def told(np_: Any, x: Any, *args: Any, **named: Any) -> Any:
    """Values and layout of a roll, or its error."""
    try:
        found = np_.roll(x, *args, **named)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    plain = numpy.asarray(found)
    return plain.dtype, plain.shape, plain.strides, plain.tolist(), found.flags.owndata, found.base is None


@pytest.mark.parametrize("code", ["f8", "i2", "c16", "?", ">f8", "O", "U3"])
@pytest.mark.parametrize("shape", SHAPES)
def test_rolls_are_numpys(code: str, shape: tuple[int, ...]) -> None:
    x = numpy.arange(int(numpy.prod(shape))).reshape(shape).astype(code)
    for given in (x, numpy.asfortranarray(x), x[::-1] if x.ndim else x):
        for shift in SHIFTS:
            assert told(np, np.asarray(given), shift) == told(numpy, given, shift)
            for axis in AXES:
                wanted = told(numpy, given, shift, axis=axis)
                assert told(np, np.asarray(given), shift, axis=axis) == wanted
                assert told(np, np.asarray(given), shift, axis) == wanted


def test_a_result_shares_no_memory() -> None:
    x = np.arange(6.0)
    for shift in (0, 2):
        for found in (np.roll(x, shift), np.roll(x, shift, 0), np.roll(x, (shift,), (0,))):
            found[...] = -1.0
            assert numpy.asarray(x).tolist() == [0, 1, 2, 3, 4, 5]
