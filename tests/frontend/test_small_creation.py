"""Small new arrays are those that NumPy makes of the same arguments, however these are given: bits, order, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np

SHAPES = [3, (3, 2), [3, 2], [], (), [0, 3], [-1], [2.0], [True, 2], [[1]], "a", [numpy.int64(2), 3], [5, 5000]]
TYPES = [float, int, bool, complex, "f4", "i4", "u1", numpy.float32, numpy.int32, "S3", object]
LISTS: list[Any] = [
    [1, 2], (0.1, 0.2), [1, 2.5], [True, 1], [True], [[1, 2], [3, 4]], [], [[]], [-0.0, 0.0], [numpy.float64(0.1), 2],
    [0.1, 1e300], [1e-40, 1.0], [numpy.float64(1e-50)], [float("inf"), 1.0], [float("nan")], [3.4028235677973366e38],
    [2**24 + 1], [2**31], [-(2**31)], [2**53 + 1], [2**70 + 1],
]  # fmt: skip


def made(module: Any, name: str, args: Any, options: Any) -> Any:
    """Type, shape, bits, order and warnings of what is made, or the error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = getattr(module, name)(*args, **options)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            return type(error), str(error)
    values = numpy.asarray(found.to_numpy() if hasattr(found, "to_numpy") else found)
    bits = values.tolist() if values.dtype == object else values.tobytes("A")
    orders = values.flags.c_contiguous, values.flags.f_contiguous
    return type(found).__name__, values.dtype, values.shape, bits, orders, [str(w.message) for w in caught]


def agree(name: str, *args: Any, **options: Any) -> None:
    assert made(np, name, args, options) == made(numpy, name, args, options)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_constants(name: str, shape: Any) -> None:
    for dtype in TYPES:
        agree(name, shape, dtype)
        agree(name, shape=shape, dtype=dtype, order="F")
    for order in ("C", "F", "K", "f", 1):
        agree(name, shape, order=order)
        agree(name, shape, int, order)
    agree(name, shape, like=None)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_full_arrays(shape: Any) -> None:
    for value in (1.5, 2, True, 2j, "a", None):
        agree("full", shape, fill_value=value)
        agree("full", shape=shape, fill_value=value, dtype="S1" if value == "a" else "f4")
        agree("full", shape, value, order="F")


def test_empty_arrays_have_the_order_asked_for() -> None:
    for shape in ([3, 2], (3, 2), [2], []):
        for order in "CF":
            options: Any = {"shape": shape, "dtype": "i4", "order": order}
            assert np.empty(**options).strides == numpy.empty(**options).strides


@pytest.mark.parametrize("module", [numpy, np], ids=["numpy", "lazyarray"])
def test_arguments_that_are_missing_or_given_twice_are_errors(module: Any) -> None:
    for name, args, options in (
        ("full", (3,), {"dtype": int}), ("full", (3,), {}), ("zeros", (), {"dtype": int}),
        ("zeros", (3,), {"shape": 3}), ("zeros", (3, int), {"dtype": int}), ("ones", (3,), {"foo": 1}),
        ("arange", (3,), {"stop": 4, "end": 5}),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            getattr(module, name)(*args, **options)


@pytest.mark.parametrize("bounds", [(5,), (2, 7), (7, 2), (0, 9, 2), (9, 0, -2), (-3,), (0, 5.5), (0, 10, 0)], ids=str)
def test_ranges(bounds: Any) -> None:
    for dtype in (float, int, "f4", bool, None):
        agree("arange", *bounds, dtype=dtype)
        agree("arange", *bounds[:2], step=-1, dtype=dtype)
    if len(bounds) == 1:
        agree("arange", *bounds, step=2)
        agree("arange", *bounds, stop=9, step=2, dtype=float)


@pytest.mark.parametrize("items", LISTS, ids=str)
@pytest.mark.parametrize("name", ["array", "asarray"])
def test_lists_of_numbers(name: str, items: Any) -> None:
    for dtype in TYPES:
        agree(name, items, dtype=dtype)
        agree(name, items, dtype)
    others: list[dict[str, Any]] = [{"copy": True}, {"copy": 1}, {"copy": False}, {"ndmin": 2}, {"order": "F"}]
    for options in others:
        agree("array", items, **options)
    agree("array", items, copy=True, dtype=float, subok=False)


def test_a_copy_that_is_asked_for_is_made() -> None:
    given: Any = np.array([1.0, 2.0])
    for copy in (
        np.array(given, copy=True),
        np.array(given, copy=True, subok=False),
        np.array(given, float, copy=True),
    ):
        copy[0] = 3.0
        assert given[0] == 1.0
    assert np.asarray(given, dtype=float) is given
