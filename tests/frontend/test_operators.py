"""Operators of recorded arrays with numbers on either side: NumPy's dtypes and bits, recorded at the user's line."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np

NUMBERS = [2, -3, True, 0.5, -0.0, float("nan"), 1.5 - 2j, 10**6]
NUMBERS += [
    numpy.float64(0.1),
    numpy.float32(3.0),
    numpy.float16(7.0),
    numpy.int8(-5),
    numpy.uint64(9),
    numpy.bool_(True),
]
NUMBERS += [numpy.complex64(1j), numpy.longlong(4)]
DTYPES = ["f8", "f4", "f2", "i8", "u1", "c16", "?"]
OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.lt,
    operator.eq,
]


@pytest.fixture(autouse=True)
def recorded() -> Iterator[None]:
    with np.config.set(eager_below=0), numpy.errstate(all="ignore"):
        yield


def outcome(call: Callable[[], Any]) -> Any:
    try:
        result = call()
    except (TypeError, OverflowError) as error:
        return type(error), str(error)
    found = numpy.array(result)
    parts = found.view(found.real.dtype) if found.ndim else found  # what says that it is no number is the machine's own
    if parts.dtype.kind in "fc":
        parts[numpy.isnan(parts)] = numpy.nan
    return found.dtype, found.shape, found.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("apply", OPERATORS)
def test_a_number_on_either_side_means_what_it_means_to_numpy(apply: Callable[[Any, Any], Any], dtype: str) -> None:
    data = numpy.array([[0, 1, 2], [3, 100, 7]]).astype(dtype)
    own = np.evaluate(np.asarray(data.copy()) * np.ones((), data.dtype))
    for number in NUMBERS:
        assert outcome(lambda: apply(own, number)) == outcome(lambda: apply(data, number)), (number, type(number))  # noqa: B023
        assert outcome(lambda: apply(number, own)) == outcome(lambda: apply(number, data)), (number, type(number))  # noqa: B023


def test_a_number_of_numpys_before_an_array_is_recorded_at_the_users_line() -> None:
    x = np.evaluate(np.ones((4, 5)) * 1.0)
    y = numpy.float64(3.0) * x
    (kernel,) = np.explain(y).kernels
    assert [(o.name, o.line.text) for o in kernel.operations if o.line] == [("multiply", "y = numpy.float64(3.0) * x")]


def test_an_array_of_no_axes_wraps_around_where_a_scalar_does_not_fit() -> None:
    for space in (numpy, np):
        target = space.zeros((3, 4), "i1") * space.ones((), "i1")
        target[1, 2] = space.array(2**31 - 2, "i4")
        target[0] = space.array(300)
        assert target.tolist() == [[44] * 4, [0, 0, -2, 0], [0] * 4]
        with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
            target[0, 0] = numpy.int32(300)


def test_constants_of_two_widths_are_two_vectors() -> None:
    """Zero is spelled alike in float and double: the imaginary parts of what is compared and of what is stored."""
    found = []
    for space in (numpy, np):
        z = space.array(numpy.linspace(-1, 1, 37).astype("c8")) * space.ones((), "c8")
        bound, low = space.array([0.25]) * space.ones(1), space.array([-3]) * space.ones(1, int)
        repr((z, bound, low))  # in memory
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy's, of the part of `out` that it reads into its buffer
            space.maximum(low, bound, out=z, where=z < bound)
        found.append(numpy.asarray(z).tolist())
    assert found[0] == found[1]
