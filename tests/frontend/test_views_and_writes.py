"""Holds views to NumPy's aliasing, and writes to program order, whatever is pending, evaluated or exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, agree
from tests.frontend.interpreter import interpreted  # noqa: F401


def overlap(np: Any) -> Any:
    x = np.data(numpy.arange(8.0)) + 0
    x[1:] = x[:-1] * 2
    x[:-1] = x[1:]
    x[::2] += x[1::2]
    x[::-1] = x
    return x


def views_of_views(np: Any) -> Any:
    x = np.data(numpy.arange(24.0).reshape(2, 3, 4)) + 0
    a = x[:, 1:].T
    b = a[::-2, :, 1]
    b += 100
    a[0] = -1
    x[1, 2, 3] = 7
    return x, a, b


def augmented_views(np: Any) -> Any:
    x = np.data(numpy.arange(30.0).reshape(5, 6)) + 0
    before = x * 1
    x[1:] -= x[:-1] * 0.5
    x[:, ::2] *= 2
    x[1:-1, 1:-1] += 1.0
    row = x[2]
    row += x[3]
    x[3] = row
    half = x[1:]
    half *= x[1:]
    x[:-1] = half
    x[::-1][1:] += half
    x[0:5] /= 4.0
    return x, before, row, half


def augmented_views_of_other_kinds(np: Any) -> Any:
    x = np.data([[1, 2, 3], [4, 5, 6]], "i4") + 0
    z = np.data([1 + 2j, 3, 4j]) + 0
    x[1:] += np.data([1, 2, 3], "i2")
    x[:, 1:] //= 2
    z[1:] += np.data([1.0, 2.0])
    z.real[:2] *= 3
    try:
        x[1:] += np.data([0.5, 0.5, 0.5])
    except TypeError as error:
        return str(error), x, z
    return x, z


def old_readers(np: Any) -> Any:
    x = np.data(numpy.arange(6.0)) + 0
    double = x * 2
    part = x[2:4]
    kept = part + 0
    x[:] = 9
    x += 1
    part[0] = 5
    return x, double, part, kept


def jacobi(np: Any) -> Any:
    a = np.data(numpy.arange(30.0).reshape(5, 6)) + 0
    b = a.copy()
    for _ in range(4):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a, b = b, a
    return a, b


def complex_parts(np: Any) -> Any:
    x = np.data(numpy.arange(4) + 1j) * 2
    x.real[1:] = 5
    x.imag += 1
    re = x.real
    x.imag = [1, 2, 3, 4]
    x[0] = 7j
    re[3] = 99
    return x, re, x.T.imag


def elements(np: Any) -> Any:
    x = np.data(numpy.zeros(30)) + 0
    for i in range(30):
        x[i] = i * i
    total = x + 0
    x[3] = -1
    x[-1] = x[3] + x[4]
    return x, total


def reshaped(np: Any) -> Any:
    x = np.data(numpy.arange(12.0)) + 0
    y = x.reshape(3, 4)
    z = y.T.reshape(-1)
    y[1] = 0
    x[0] = 50
    z[1] = 1000
    return x, y, z, y.ravel()


def fills(np: Any) -> Any:
    x = np.data(numpy.ones((2, 3), "i4")) + 0
    y = x[:, 1]
    x.fill(7)
    y[...] = 2.9
    x[1] = [1.5, True, 3]
    x[:, 0] = numpy.float64(4.7)
    return x, y


def into_other_dtypes(np: Any) -> Any:
    x = np.data(numpy.zeros(4, "u1")) + 0
    x[:2] = np.data([1.9, 250.0]) + 0
    x[2:] = np.data([True, False])
    y = np.data(numpy.zeros(2)) + 0
    y[...] = np.data([1 + 2j, 3]) + 0
    return x, y


def out_overlaps_input(np: Any) -> Any:
    x = np.data(numpy.arange(6.0)) + 0
    np.add(x[:-1], x[1:], out=x[1:])
    np.multiply(x, 2, out=x, where=np.data([True, False] * 3))
    np.subtract(x, x[::-1], out=x)
    return x


def diagonals(np: Any) -> Any:
    x = np.data(numpy.arange(9.0).reshape(3, 3)) + 0
    d = x.diagonal()
    x[1, 1] = 100
    np.fill_diagonal(x, 5)
    return x, d


def numpy_mutates(np: Any) -> Any:
    x = np.data([3.0, 1.0, 2.0]) + 0
    y = x[1:]
    before = x * 10
    x.sort()
    np.put(x, [0], [50])
    np.copyto(y, 4.0, where=np.data([True, False]))
    return x, y, before


def swap_rows(np: Any) -> Any:
    x = np.data(numpy.arange(6.0).reshape(3, 2)) + 0
    x[[0, 2]] = x[[2, 0]]
    x[0], x[1] = x[1].copy(), x[0].copy()
    return x


PROGRAMS: list[Callable[[Any], Any]] = [
    overlap,
    views_of_views,
    augmented_views,
    augmented_views_of_other_kinds,
    old_readers,
    jacobi,
    complex_parts,
    elements,
    reshaped,
    fills,
    into_other_dtypes,
    out_overlaps_input,
    diagonals,
    numpy_mutates,
    swap_rows,
]
REFUSED: dict[str, Callable[[Any], Any]] = {
    "broadcast view": lambda np: np.broadcast_to(np.data([1.0]) + 0, (3,)).__setitem__(0, 2.0),
    "read-only out": lambda np: np.add(1, 2, out=np.broadcast_to(np.data([1.0]) + 0, (3,))),
    "diagonal": lambda np: (np.data(numpy.ones((2, 2))) + 0).diagonal().__setitem__(0, 1),
    "setflags": lambda np: locked(np.data([1.0]) + 0).__setitem__(0, 1),
    "shape": lambda np: (np.data(numpy.ones((2, 3))) + 0).__setitem__(slice(None), np.data(numpy.ones(2))),
    "in place shape": lambda np: (np.data(numpy.ones(3)) + 0).__iadd__(np.data(numpy.ones((2, 3)))),
    "in place cast": lambda np: (np.data([1, 2]) + 0).__iadd__(1.5),
    "in place true divide": lambda np: (np.data([1, 2]) + 0).__itruediv__(2),
    "complex into real": lambda np: (np.data([1.0, 2.0]) + 0).__setitem__(0, 1j),
    "too large": lambda np: (np.data(numpy.ones(2, "u1")) + 0).__setitem__(slice(None), 300),
    "text": lambda np: (np.data([1.0, 2.0]) + 0).__setitem__(0, "a"),
    "casting": lambda np: np.copyto(np.data([1, 2]) + 0, np.data([1.5, 2.5])),
}


def locked(x: Any) -> Any:
    x.flags.writeable = False
    return x


@MODES
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_writes_agree(program: Callable[[Any], Any], eager_below: int) -> None:
    agree(program, eager_below)


@MODES
@pytest.mark.parametrize("name", REFUSED)
def test_refused_writes_change_nothing(name: str, eager_below: int) -> None:
    agree(REFUSED[name], eager_below)


def test_a_failed_write_leaves_the_array_as_it_was() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.asarray(numpy.arange(3.0)) + 0
        for wrong in (lambda: x.__setitem__(5, 1.0), lambda: x.__iadd__(numpy.ones(2)), lambda: x.__setitem__([7], 1)):
            with pytest.raises((IndexError, ValueError)):
                wrong()
        assert x.tolist() == [0.0, 1.0, 2.0]


def test_base_tells_views_from_owners() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.asarray(numpy.arange(3.0)) + 0
        view = x[1:]
        assert x.base is None
        assert view.base.tolist() == x.tolist()
        assert (x + 1).base is None
        assert not view.flags.owndata
        assert x.flags.owndata


@pytest.mark.parametrize("added", [64, 70, 200])
def test_views_of_too_many_axes_are_refused_as_numpy_refuses_them(added: int) -> None:
    plain = numpy.zeros(300_000)
    for array in (lazyarray.asarray(plain) * 1, lazyarray.evaluate(lazyarray.asarray(plain) * 1)):
        key = (None,) * added + (slice(0, 3),)
        with pytest.raises(IndexError) as expected:
            plain[key]
        with pytest.raises(IndexError) as found:
            array[key]
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("dtype", ["i1", "f8"])
@pytest.mark.parametrize("shape", [(300_000,), (600, 500)])
def test_empty_views_taken_while_pending_are_of_their_array(dtype: str, shape: tuple[int, ...]) -> None:
    plain = numpy.ones(shape, dtype)
    array = lazyarray.asarray(plain.copy()) * 1
    taken = array[3:3]
    lazyarray.evaluate(array)
    part = taken[::2]
    _ = array + array
    for view, expected in (
        (taken, plain[3:3]),
        (part, plain[3:3][::2]),
        (part[:], plain[3:3]),
        (part[::-1], plain[3:3]),
    ):
        assert view.shape == expected.shape
        assert view[..., None].shape == (*expected.shape, 1)
        assert (view + view).shape == expected.shape
    assert taken.strides == plain[3:3].strides


KEYS = (
    3, -1, slice(2, 5), slice(None, None, -2), slice(9, 2), slice(5, 5), slice(-3, None, 7), None, ...,
    (slice(None), 4), (2, 3), (..., 1), (1, ...), (None, 2), (2, None), (slice(1, -1), slice(None, None, 3)),
    (slice(None), None, 1), (..., None, slice(3)), (0, slice(0, 0)), (slice(None),) * 3, (-1, -1, -1),
    (slice(10, 0, -3), slice(-1, None, -1), 2), (numpy.int64(2),), numpy.int64(1), (numpy.int64(1), slice(2)),
    (slice(numpy.int64(1), 4), 0), (None,) * 3, (slice(None), ..., slice(1)), (2, 3, 4), (numpy.int64(2), 3, 4),
)  # fmt: skip
OUT_OF_BOUNDS = (50, -51, (0, 50), (slice(None), 0, -51), (0, 0, 0, 0), (..., ...), numpy.int64(60), "u", 1.0, (1.5, 2))


@pytest.mark.parametrize("evaluated", [True, False])
@pytest.mark.parametrize("form", ["whole", "turned", "part", "backwards"])
def test_keys_of_large_arrays_show_what_numpys_show(form: str, evaluated: bool) -> None:
    forms: dict[str, Callable[[Any], Any]] = {
        "whole": lambda x: x, "turned": lambda x: x.T, "part": lambda x: x[1:, 2:, ::2], "backwards": lambda x: x[::-1]
    }  # fmt: skip
    theirs = numpy.arange(50.0 * 49 * 48).reshape(50, 49, 48)
    for key in (*KEYS, *OUT_OF_BOUNDS):
        ours = lazyarray.asarray(theirs) * 1.0
        if evaluated:
            lazyarray.evaluate(ours)
        outcomes = []
        for array in (forms[form](ours), forms[form](theirs)):
            try:
                found = array[key]
            except Exception as error:
                outcomes.append((type(error), str(error)))
            else:
                layout = (found.shape, found.strides) if numpy.ndim(found) else ()
                outcomes.append((layout, numpy.asarray(found).tolist()))
        assert outcomes[0] == outcomes[1], key
