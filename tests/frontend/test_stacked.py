"""An array of a list of large ones is recorded: who computes one of them writes it into its place."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, Program, agree

N = 6000
V = (numpy.arange(N) * 37 % 1009).astype("f8")
M = V.reshape(60, 100)

PROGRAMS: dict[str, Program] = {
    "memory": lambda np: np.array([np.data(V), np.data(V[::-1])]),
    "pending": lambda np: np.array([np.data(V) * 2.0, np.data(V) + 1.0, -np.data(V)]),
    "tuple": lambda np: np.asarray((np.data(V) * 2.0, np.data(V))),
    "any": lambda np: np.asanyarray([np.data(V), np.data(V)]),
    "one": lambda np: np.array([np.data(V)]),
    "itself-twice": lambda np: (lambda x: np.array([x, x]))(np.data(V) + 1.0),
    "promoted": lambda np: [
        np.array([np.data(V, a), np.data(V, b)])
        for a, b in (("?", "i1"), ("u8", "i8"), ("f2", "i2"), ("f4", "i4"), ("f4", "c8"))
    ],
    "asked-for": lambda np: [
        np.array([np.data(V, "i4"), np.data(V)], dtype) for dtype in ("f4", "u1", "?", "c16", "i8")
    ],
    "strange": lambda np: [
        np.array([np.data(V), np.data(V)], dtype).dtype for dtype in ("S4", ">f8", "longdouble", "longlong", object)
    ],
    "longlong": lambda np: np.array([np.array(V, "longlong"), np.array(V, "longlong")]).dtype.char,
    "no-dtype": lambda np: np.array([np.data(V), np.data(V)], "nothing"),
    "imaginary": lambda np: np.array([np.data(V, "c16") * 1j, np.data(V)], "f8"),
    "not-a-number": lambda np: np.array([np.data(V) * numpy.nan, np.data(V)], "i8").shape,
    "orders": lambda np: [
        [np.array([np.data(M).T, np.data(M).T * 2.0], order=order).strides for order in ("K", "A", "C", "F")],
        np.asarray([np.data(M).T, np.data(M).T], order="F").strides,
        np.asarray([np.data(M).T, np.data(M).T]).strides,
    ],
    "no-order": lambda np: np.array([np.data(V), np.data(V)], order="Z"),
    "copies": lambda np: (np.array([np.data(V)] * 2, copy=None), np.array([np.data(V)] * 2, copy=True)),
    "no-copy": lambda np: np.array([np.data(V)] * 2, copy=False),
    "more-axes": lambda np: np.array([np.data(V), np.data(V) + 1.0], ndmin=4),
    "shapes-differ": lambda np: np.array([np.data(V), np.data(V)[:-1]]),
    "lists-beside": lambda np: np.array([np.data(V), V.tolist()]),
    "numpys-beside": lambda np: np.array([np.data(V), V]),
    "deeper": lambda np: np.array([[np.data(V), np.data(V)], [np.data(V), np.data(V) * 2.0]]),
    "written-after": lambda np: written_after(np),
}


def written_after(np: Any) -> Any:
    a, b = np.data(V), np.data(V) * 2.0
    made = np.array([a, b])
    a += 1.0
    b[::2] = 0.0
    made[1, 5] = 7.0
    return made, a, b


@MODES
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_numpy(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


def test_rows_are_computed_in_their_places() -> None:
    a = lazyarray.array(V) + 0.0
    with lazyarray.record_runs() as runs:
        made = lazyarray.array([a * 2.0, a + 1.0, a - 3.0])
        assert not runs.evaluations
        assert numpy.array_equal(numpy.asarray(made), [V * 2.0, V + 1.0, V - 3.0])
    assert sum(kernel.bytes_written for kernel in runs.kernels) <= made.nbytes + a.nbytes
    assert not any(kernel.ops == ("update",) for kernel in runs.kernels)


def test_memory_that_others_write_is_read_when_it_is_asked_for() -> None:
    theirs = V.copy()
    made = lazyarray.array([lazyarray.asarray(theirs), lazyarray.asarray(theirs)])
    theirs[:] = -1.0
    assert numpy.array_equal(numpy.asarray(made), [V, V])


def test_small_arrays_are_numpys_at_once() -> None:
    small = lazyarray.array(V[:50])
    with lazyarray.record_runs() as runs:
        made = lazyarray.array([small, small])
        assert made._np is not None
    assert not runs.kernels
