"""Elements named by integers are read and written in memory with NumPy's types, values, conversions and errors."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import lazyarray as la

CODES = "?bhilqBHILQefdgFDGO"
KEYS: list[Any] = [0, -1, 3, (1, 2), (-1, -1), (1,), (0, 7), (3, 0), (0, True), (np.int64(1), 2), (1, 2, 0), ()]
VALUES = [1, -1, 300, 1 << 40, 1 << 70, 2.5, float("nan"), True, 1 + 2j, np.float64(0.1), np.float32(0.1), np.int64(7)]
VALUES += [np.uint8(200), np.bool_(True), np.complex128(3j), "4", None, [5]]


def outcome(act: Any) -> Any:
    try:
        found = act()
    except Exception as error:
        return type(error), str(error)
    return type(found), np.asarray(found).tolist() if np.ndim(found) else repr(found)


def arrays(code: str, rows: int) -> tuple[Any, Any]:
    want = (np.arange(rows * 4) % 3).astype(code).reshape(rows, 4)
    return want, la.array(want.copy())


@pytest.mark.parametrize("rows", [3, 30_000])
@pytest.mark.parametrize("key", KEYS, ids=repr)
@pytest.mark.parametrize("code", CODES)
def test_reading_an_element(code: str, key: Any, rows: int) -> None:
    want, got = arrays(code, rows)
    for _ in range(2):  # recorded and evaluated, then lent
        want_found, got_found = outcome(lambda: want[key]), outcome(lambda: got[key])
        if want_found[0] is np.ndarray:
            assert got_found[1:] == want_found[1:]
        else:
            assert got_found == want_found
        la.evaluate(got)
        got[0, 0] = want[0, 0]


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("rows", [3, 30_000])
@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("code", CODES)
def test_writing_an_element(code: str, value: Any, rows: int) -> None:
    want, got = arrays(code, rows)
    if rows > 3:
        la.evaluate(got)
        got[0, 0] = want[0, 0]
    for key in (1, 2), (-1, 0), (0, 9):
        assert outcome(partial(got.__setitem__, key, value)) == outcome(partial(want.__setitem__, key, value))
    for row in 0, 1, -1:
        np.testing.assert_equal(np.asarray(got)[row].tolist(), want[row].tolist())


@pytest.mark.parametrize("rows", [3, 30_000])
def test_an_array_that_refuses_writes_refuses_elements(rows: int) -> None:
    want, got = arrays("d", rows)
    got[0, 0] = 5.0
    want.flags.writeable = got.flags.writeable = False
    assert outcome(lambda: got.__setitem__((1, 1), 2.0)) == outcome(lambda: want.__setitem__((1, 1), 2.0))
    assert float(got[1, 1]) == want[1, 1]


def test_swapped_and_misaligned_memory() -> None:
    swapped = np.arange(6.0).astype(">f8")
    packed = np.zeros(4, np.dtype([("a", "i1"), ("b", "f8")]))["b"]
    for memory in (swapped, packed):
        ours = la.asarray(memory)
        ours[2] = 7.0
        assert memory[2] == 7.0
        assert ours[2] == 7.0
        assert type(ours[2]) is np.float64


INDICES: list[Any] = [[0, 2, -1], [], [[1, 0], [2, 2]], [0, 5_000_000]]


@pytest.mark.parametrize("rows", [3, 30_000])
@pytest.mark.parametrize("dtype", ["b", "H", "q", "d"])
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_a_few_rows_by_an_array_of_indices(index: Any, dtype: str, rows: int) -> None:
    want, got = arrays("d", rows)
    places = np.array(index).astype(dtype, casting="unsafe")
    la.evaluate(got)
    for step in range(2):
        assert outcome(lambda: want[places])[1] == outcome(lambda: got[la.array(places)])[1]
        for value in (7.5, np.arange(4.0) - step, [1, 2, 3, 4], np.arange(5)):
            given = la.array(value) if isinstance(value, np.ndarray) else value
            wrote = outcome(partial(got.__setitem__, la.array(places), given))
            assert wrote == outcome(partial(want.__setitem__, places, value))
        got[1, 1] = want[1, 1] = -1.0
    np.testing.assert_array_equal(np.asarray(got), want)


def test_rows_by_indices_are_copies_and_show_no_later_write() -> None:
    want, got = arrays("d", 30_000)
    got[0, 0] = want[0, 0]
    taken = got[la.array([0, 1])]
    got[0, 1] = 50.0
    np.testing.assert_array_equal(np.asarray(taken), want[[0, 1]])
