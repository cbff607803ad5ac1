"""Expressions on plain arrays of middle size are computed where they are stored, and nobody can tell but by memory."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.ir.node import WAITING, finish_waiting

SIDE = 240

Body = Callable[..., Any]


@pytest.fixture(autouse=True)
def nothing_waits_afterwards(monkeypatch: Any) -> Iterator[None]:
    """Arrays of these sizes are plain, no warning is an error, and nothing is left waiting."""
    from lazyarray.runtime.remote import seen

    monkeypatch.setattr(seen, "any", False)  # a device that other tests have used
    with lazyarray.config.set(eager_below=65536), warnings.catch_warnings():
        warnings.simplefilter("default")
        yield
    finish_waiting()


def drawn(dtype: str = "f8") -> list[Any]:
    rng = numpy.random.default_rng(7)
    return [rng.uniform(1, 90, (SIDE, SIDE)).astype(dtype) for _ in range(3)]


def inner(a: Any, b: Any, out: Any) -> None:
    out[1:-1, 1:-1] = 0.25 * (a[1:-1, 1:-1] + a[1:-1, :-2] + b[1:-1, 2:]) - b[2:, 1:-1]


def rows(a: Any, b: Any, out: Any) -> None:
    out[::2] = a[::2] * b[1::2] + a[1::2] - b[::2]


def reversed_columns(a: Any, b: Any, out: Any) -> None:
    out[:, ::-3] = (a * b + a)[:, ::3] * 2 - b[:, ::3] * a[:, ::3]


def slab(a: Any, b: Any, out: Any) -> None:
    out[5:, ...] = a[5:] * b[5:] + a[:-5] - b[5:]


def itself(a: Any, b: Any, out: Any) -> None:
    out[1:] = (out[:-1] * a[1:] + b[1:]) * 0.5 - out[1:]


def all_of_it(a: Any, b: Any, out: Any) -> None:
    out[:] = (a * b + a) * b - a


def of_another_dtype(a: Any, b: Any, out: Any) -> None:
    out[1:] = (a[1:] < b[1:]) & (a[1:] > 2) | (b[1:] < 3)


def stretched(a: Any, b: Any, out: Any) -> None:
    out[:, 1:] = (a[7:8, 1:] * b[7:8, 1:] + a[:1, 1:]) * 2 - b[:1, 1:]


def twice(a: Any, b: Any, out: Any) -> None:
    out[1:] = a[1:] * b[1:] + a[:-1] - b[1:]
    a[:-1] = out[1:] * b[1:] - a[:-1] * 0.5 + b[:-1]


BODIES = [inner, rows, reversed_columns, slab, itself, all_of_it, of_another_dtype, stretched, twice]
IN_PLACE = [inner, rows, slab]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("body", BODIES)
def test_what_is_stored_is_numpys_at_every_turn(body: Body, dtype: str) -> None:
    if dtype == "c16" and body is of_another_dtype:
        pytest.skip("no program orders complex numbers")
    theirs = drawn(dtype)
    ours = [lazyarray.array(array) for array in theirs]
    with numpy.errstate(all="ignore"), lazyarray.errstate(all="ignore"):
        for _ in range(4):
            body(*ours)
            body(*theirs)
            for our, their in zip(ours, theirs, strict=True):
                numpy.testing.assert_array_equal(numpy.asarray(our.copy()), their, strict=True)


def again(body: Body) -> list[Any]:
    """Arrays on which the body is known."""
    ours = [lazyarray.array(array) for array in drawn()]
    for _ in range(4):
        body(*ours)
    return ours


@pytest.mark.parametrize("body", IN_PLACE)
def test_a_kernel_writes_where_the_value_is_stored(body: Body) -> None:
    ours = again(body)
    before = lazyarray.counters()
    body(*ours)
    after = lazyarray.counters()
    assert after["launches"] - before["launches"] == 1
    assert after["bytes_allocated"] == before["bytes_allocated"]


def test_views_and_numpys_arrays_see_what_is_stored() -> None:
    ours = again(inner)
    row, theirs = ours[2][5], numpy.asarray(ours[2])
    expected = theirs.copy()
    inner(*[numpy.asarray(array).copy() for array in ours[:2]], expected)
    inner(*ours)
    assert numpy.array_equal(theirs, expected)
    assert numpy.array_equal(numpy.asarray(row), expected[5])


def test_parts_of_large_memory_of_numpys_are_written_by_numpy() -> None:
    memory = numpy.zeros((SIDE * 9, SIDE))
    theirs = drawn()
    ours = [lazyarray.array(array) for array in theirs[:2]]
    for _ in range(5):
        inner(*ours, lazyarray.asarray(memory)[:SIDE])
    inner(*theirs)
    assert numpy.array_equal(memory[1 : SIDE - 1, 1:-1], theirs[2][1:-1, 1:-1])
    assert not memory[SIDE:].any()


def at(a: Any, b: Any, out: Any, where: Any) -> None:
    out[where()] = a[1:] * b[1:] + a[:-1] - b[1:]


def test_keys_that_write_or_read_come_after_the_value() -> None:
    def work(space: Any, arrays: list[Any]) -> list[Any]:
        a, b, out = arrays
        seen = []

        def where() -> slice:
            a[:] = a + 1.0
            seen.append(float(out[3, 3]))
            return slice(1, None)

        for _ in range(5):
            at(a, b, out, where)
        return seen

    theirs = drawn()
    ours = [lazyarray.array(array) for array in theirs]
    assert work(lazyarray, ours) == work(numpy, theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert numpy.array_equal(numpy.asarray(our), their)


class Holder:
    """Takes anything at any key."""

    def __init__(self) -> None:
        self.found: dict[Any, Any] = {}

    def __setitem__(self, key: Any, value: Any) -> None:
        self.found[key] = value


def held(a: Any, b: Any, holder: Any) -> None:
    holder["x"] = a * b + a - b * 0.5


@pytest.mark.parametrize("make", [dict, Holder])
def test_what_others_hold_is_the_value_at_its_time(make: Any) -> None:
    a, b, _ = drawn()
    ours = [lazyarray.array(array) for array in (a, b)]
    expected = a * b + a - b * 0.5
    for _ in range(4):
        holder = make()
        held(*ours, holder)
    ours[0][:] = 0.0
    found = holder["x"] if make is dict else holder.found["x"]
    assert type(found) is lazyarray.ndarray
    assert numpy.array_equal(numpy.asarray(found), expected)
    assert numpy.array_equal(numpy.asarray(found * 2.0 + found), expected * 2.0 + expected)
    assert not WAITING.open


def test_what_cannot_be_stored_raises_numpys_error_and_leaves_the_array() -> None:
    def into(a: Any, b: Any, out: Any, key: Any) -> None:
        out[key] = a * b + a - b * 0.5

    theirs = drawn()
    for _ in range(4):
        ours = [lazyarray.array(array) for array in theirs]
        into(*ours, slice(None))
    ours = [lazyarray.array(array) for array in theirs]
    for key in (slice(1, None), (0, 0, 0), (slice(None), 300), "x"):
        with pytest.raises((ValueError, IndexError)) as expected:
            into(*[array.copy() for array in theirs], key)
        with pytest.raises(expected.type) as found:
            into(*ours, key)
        assert str(found.value) == str(expected.value)
    ours[2].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        into(*ours, slice(None))
    assert numpy.array_equal(numpy.asarray(ours[2]), theirs[2])


def divided(a: Any, b: Any, out: Any) -> None:
    out[1:] = a[1:] / b[1:] + a[:-1] * 2 - b[1:]


def test_a_warning_is_told_once_and_one_that_is_an_error_leaves_the_array() -> None:
    ours = again(divided)
    ours[1][3, 3] = 0.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        divided(*ours)
    assert [str(one.message) for one in caught] == ["divide by zero encountered in divide"]
    assert caught[0].filename == __file__
    ours[2][:] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero"):
            divided(*ours)
    assert float(ours[2].max()) == 1.0
    with lazyarray.errstate(divide="raise"), pytest.raises(FloatingPointError):
        divided(*ours)
    assert float(ours[2].max()) == 1.0


def test_threads_store_what_they_computed() -> None:
    bodies = [again(rows) for _ in range(4)]
    expected = [numpy.asarray(array).copy() for array in bodies[0]]
    rows(*expected)
    wrong: list[Any] = []

    def work(arrays: list[Any]) -> None:
        for _ in range(50):
            arrays[2][:] = 0.0
            rows(*arrays)
            if not numpy.array_equal(numpy.asarray(arrays[2].copy())[::2], expected[2][::2]):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=(arrays,)) for arrays in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_value_that_is_stored_twice_is_a_value() -> None:
    def both(a: Any, b: Any, out: Any) -> Any:
        out[1:] = kept = a[1:] * b[1:] + a[:-1] - b[1:]
        return kept

    ours, theirs = [lazyarray.array(array) for array in drawn()], drawn()
    for _ in range(4):
        kept, expected = both(*ours), both(*theirs)
    ours[2][:] = 0.0
    assert numpy.array_equal(numpy.asarray(kept), expected)
