"""Calls on plain numbers and lists, and with NumPy's integers for sizes, are NumPy's in all that shows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray

Program = Callable[[Any], Any]

FUNCTIONS = "exp log log10 sin arctan tanh cbrt sqrt floor".split()
NUMBERS: dict[str, Any] = {
    "int": 7,
    "zero": 0,
    "negative": -3,
    "beyond float64": 2**53 + 1,
    "uint64": 2**63,
    "object": 10**30,
    "bool": True,
    "int64": numpy.int64(3),
    "int32": numpy.int32(3),
    "float": 2.5,
    "complex number": 1.5 - 2j,
    "complex128": numpy.complex128(-0.5 + 3j),
    "list": [1, 2, 3],
    "list of floats": [0.5, 2],
    "tuple": (1, 2),
    "nested": [[1, 2], [3, 4]],
    "int64s": [numpy.int64(1), numpy.int64(2)],
    "complex": [1 + 2j],
    "empty": [],
    "text": ["a"],
    "nothing": [None],
}
PAIRS: dict[str, Program] = {
    "hypot": lambda np: np.hypot(3, 4),
    "hypot of int64": lambda np: np.hypot(np.int64(3), 4),
    "arctan2": lambda np: np.arctan2(1, 2),
    "logaddexp": lambda np: np.logaddexp(1, 2),
    "power": lambda np: np.power(2, 3),
    "power, negative": lambda np: np.power(2, -3),
    "power of complex128": lambda np: np.power(np.complex128(1 + 2j), 0.5),
    "power of complex128, int": lambda np: np.power(np.complex128(1 + 2j), 3),
    "power to a complex number": lambda np: np.power(2, 1 + 0.5j),
    "power to complex128": lambda np: np.power(np.float64(2.5), np.complex128(1j)),
    "power to complex128, int64": lambda np: np.power(np.int64(3), np.complex128(1j)),
    "power to a complex number, huge": lambda np: np.power(10**400, 1j),
    "power of zero to a complex number": lambda np: np.power(0.0, -1j),
    "arctan2 of complex128": lambda np: np.arctan2(np.complex128(1j), 1.0),
    "hypot of complex": lambda np: np.hypot(1j, 2),
    "power of an array": lambda np: np.power(2, np.arange(5)),
    "of an array": lambda np: 2 ** np.arange(5),
    "of an array, int8": lambda np: 2 ** np.arange(5, dtype="i1"),
    "of an array, overflowing": lambda np: 300 ** np.arange(5, dtype="i1"),
    "of an array, negative": lambda np: 2 ** np.arange(-2, 3),
    "of truth values": lambda np: 2 ** np.array([True, False]),
    "float of an array": lambda np: 2.0 ** np.arange(5),
    "float of float32": lambda np: 2.0 ** np.arange(5, dtype="f4"),
    "int of floats": lambda np: 2 ** np.arange(5.0),
    "int of a number": lambda np: 2 ** np.array(3),
    "hypot of an array": lambda np: np.hypot(3, np.arange(5)),
    "arctan2 of an array": lambda np: np.arctan2(1.5, np.arange(5.0)),
    "modulus": lambda np: pow(2, np.arange(3), 5),
}
SIZES: dict[str, Program] = {
    "zeros": lambda np: np.zeros(np.int64(5)),
    "zeros, int32": lambda np: np.zeros(np.int32(5)),
    "zeros, a shape": lambda np: np.zeros((np.int64(2), 3), dtype="f4"),
    "zeros, negative": lambda np: np.zeros(np.int64(-2)),
    "zeros, negative extent": lambda np: np.zeros((np.int64(-2), 3)),
    "zeros, float": lambda np: np.zeros(numpy.float64(3)),
    "zeros, large": lambda np: np.zeros((np.int64(300), np.int64(400))),
    "ones": lambda np: np.ones(np.int64(5), np.int64),
    "full": lambda np: np.full(np.int64(4), 2.5),
    "empty": lambda np: np.empty(np.int64(4)).shape,
    "eye": lambda np: np.eye(np.int64(3)),
    "arange": lambda np: np.arange(np.int64(5)),
    "arange, steps": lambda np: np.arange(0, 10, np.int64(3)),
    "arange, large": lambda np: np.arange(0, np.int64(200_000), np.int64(2)),
    "arange, no step": lambda np: np.arange(0, 5, np.int64(0)),
    "linspace": lambda np: np.linspace(0, 1, np.int64(5)),
    "linspace, float": lambda np: np.linspace(0, 1, numpy.float64(5)),
    "repeat": lambda np: np.repeat(np.arange(3), np.int64(2)),
    "normal": lambda np: np.random.default_rng(3).normal(size=numpy.int64(4)),
    "random": lambda np: np.random.default_rng(3).random((numpy.int64(4), 2)),
    "outer of columns": lambda np: np.subtract.outer(np.arange(12.0).reshape(4, 3)[:, 0], np.arange(9.0)[::-2]),
}


def outcome(space: Any, program: Program) -> Any:
    """The kind, dtype, shape and values of what a program returns, or its error; and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = program(space)
            array = numpy.asarray(found)
            result: Any = (isinstance(found, space.ndarray), array.dtype, array.shape)
            values = array.ravel().tolist()
        except Exception as error:  # compared with NumPy's
            result, values = (type(error), str(error)), []
    return result, sorted((w.category.__name__, str(w.message)) for w in caught), values


def check(program: Program) -> None:
    want, got = outcome(numpy, program), outcome(lazyarray, program)
    assert got[:2] == want[:2]
    if want[2] and isinstance(want[2][0], float | complex):
        numpy.testing.assert_allclose(got[2], want[2], rtol=1e-15)
    else:
        assert got[2] == want[2]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numbers_and_lists(name: str, number: str) -> None:
    check(lambda np: getattr(np, name)(NUMBERS[number]))


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_numbers_or_a_number_and_an_array(name: str) -> None:
    check(PAIRS[name])


@pytest.mark.parametrize("name", SIZES)
def test_numpys_integers_are_sizes(name: str) -> None:
    check(SIZES[name])


@pytest.mark.parametrize("name", ["out and where", "where", "out", "a large one"])
def test_what_is_written_under_a_mask_is_numpys_where_small_operands_are_pending(name: str) -> None:
    def program(np: Any) -> Any:
        rows = 100 if name != "a large one" else 40_000
        wide = np.arange(rows * 200.0).reshape(rows, 100, 2) % 7.0
        mask = (np.arange(rows * 100.0) % 3.0 > 0.0).reshape(rows, 100, 1)
        steer = (wide * mask).sum(axis=1)  # pending: two elements are a row of it
        norm = np.sqrt((steer * steer).sum(axis=1)).reshape(rows, 1) - 99.0
        if name == "where":
            found = np.divide(steer, norm, where=norm > 0.0, out=np.zeros((rows, 2)))
        elif name == "out":
            found = np.divide(steer, norm, steer)
        else:
            found = np.divide(steer, norm, out=steer, where=norm > 0.0)
            assert found is steer
        found -= 1.0
        return np.stack([found, steer])

    check(program)


def test_a_masked_write_of_small_pending_operands_is_one_evaluation() -> None:
    wide = lazyarray.array(numpy.arange(20_000.0).reshape(100, 100, 2))
    with lazyarray.record_runs() as runs:
        steer = (wide * lazyarray.ones((100, 100, 1))).sum(axis=1)
        assert not runs.evaluations
        for _ in range(5):
            lazyarray.divide(steer, 2.0, out=steer, where=steer > 1.0)
    assert len(runs.evaluations) == 1
