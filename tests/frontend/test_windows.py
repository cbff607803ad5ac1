"""Arrays with gaps, such as fields of records, are computed on where they lie: no copies, one kernel an expression."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.windows import window_of
from lazyarray.ir.node import finish_waiting

SIDE = 300
FIELDS = [("u", "f8"), ("v", "f8"), ("n", "i4"), ("m", "i4")]


@pytest.fixture(autouse=True, params=[65536, 100_000])
def both_sides_of_the_limit(request: pytest.FixtureRequest) -> Any:
    """Arrays of 90,000 elements are large, or of middle size."""
    with lazyarray.config.set(eager_below=request.param):
        yield
    finish_waiting()


def records(np: Any, side: int = SIDE, fields: Any = FIELDS) -> Any:
    made = numpy.zeros((side, side), fields)
    rng = numpy.random.default_rng(3)
    for name in made.dtype.names:
        made[name] = rng.uniform(1, 90, (side, side))
    return np.array(made)


def react(z: Any) -> Any:
    """A step of a reaction and diffusion, as programs on records write it."""
    u, v = z["u"], z["v"]
    inner, other = u[1:-1, 1:-1], v[1:-1, 1:-1]
    spread = u[:-2, 1:-1] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1] + u[1:-1, 2:] + u[2:, 1:-1]
    product = inner * other * other
    inner += 0.001 * spread - product * 1e-7 + 0.03 * (1 - inner)
    other *= 0.5 + product * 1e-9
    return u, v


BODIES: dict[str, Callable[[Any], Any]] = {
    "a step": react,
    "backwards": lambda z: z["u"][::-1, ::3] * 2.0 - z["v"][::-1, ::3] + z["u"][:, ::3] * z["v"][:, ::3],
    "integers": lambda z: (z["n"] + z["m"] * 3 - (z["n"] & 7)) // 2,
    "two dtypes": lambda z: z["u"] * z["n"] + z["v"] - z["m"] * 0.5,
    "masks": lambda z: (z["u"] > z["v"]) & (z["n"] < 50) | (z["m"] == 3),
    "functions": lambda z: abs(z["u"] - z["v"]) * 2.0 + z["u"],
    "turned": lambda z: z["u"].T * 2.0 - z["v"].T,
    "one operator": lambda z: z["u"] * 2.0,
    "one of two": lambda z: z["u"] - z["v"],
    "negated": lambda z: -z["n"],
    "from a number": lambda z: 1.0 - z["v"],
    "a row": lambda z: z["u"] + z["v"][0] * 2.0 - z["u"][:, :1],
}


@pytest.mark.parametrize("name", BODIES)
def test_results_are_numpys(name: str) -> None:
    body = BODIES[name]
    theirs, ours = records(numpy), records(lazyarray)
    for _ in range(5):
        want, got = body(theirs), body(ours)
        for one, other in zip(want, got, strict=True) if isinstance(want, tuple) else [(want, got)]:
            assert other.dtype == one.dtype
            assert numpy.asarray(other).strides == one.strides
            numpy.testing.assert_array_equal(numpy.asarray(other), one)
    numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)


@pytest.mark.parametrize(("name", "kernels"), [("a step", 5), ("backwards", 1), ("integers", 1), ("two dtypes", 1)])
def test_an_expression_is_one_kernel_and_copies_nothing(name: str, kernels: int) -> None:
    z = records(lazyarray)
    for _ in range(4):
        BODIES[name](z)
    with lazyarray.record_runs() as runs:
        BODIES[name](z)
    if lazyarray.config.eager_below <= z.size:
        assert 0 < len(runs.kernels) <= kernels
    assert not runs.fallbacks
    assert not runs.materialisations
    assert runs.bytes_allocated <= kernels * 8 * z.size


def test_what_is_written_afterwards_is_not_seen() -> None:
    z = records(lazyarray)
    want = numpy.asarray(z["u"]) * 2.0 + numpy.asarray(z["v"]) - 1.0
    for _ in range(4):
        got = z["u"] * 2.0 + z["v"] - 1.0
    z["u"] = 0.0
    z[...] = numpy.zeros((), FIELDS)
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_code_in_between_that_writes_is_seen_by_what_follows_alone() -> None:
    class Tank:
        def __init__(self, z: Any) -> None:
            self.z = z

        @property
        def level(self) -> Any:
            self.z["u"] += 1.0
            return self.z["v"]

    def body(tank: Any, u: Any) -> Any:
        return u * 2.0 - tank.level + u

    theirs, ours = Tank(records(numpy)), Tank(records(lazyarray))
    for _ in range(5):
        want, got = body(theirs, theirs.z["u"]), body(ours, ours.z["u"])
        numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_slices_of_memory_that_numpy_holds_too_are_read_where_they_lie() -> None:
    memory = numpy.random.default_rng(4).random((600, 600))
    ours = lazyarray.asarray(memory)[::2, 1:]

    def body(x: Any) -> Any:
        return x * 2.0 + x - 1.0 / x

    for _ in range(4):
        got = body(ours)
    with lazyarray.record_runs() as runs:
        got = body(ours)
    assert not runs.materialisations
    want = body(memory[::2, 1:])
    memory[:] = 0.0
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_elements_between_those_of_the_memory_have_no_window() -> None:
    packed = numpy.zeros(100_000, [("a", "u1"), ("b", "f8")])
    assert window_of(packed["b"]) is None  # at odd addresses
    assert window_of(packed["a"]) is not None
    mixed = numpy.zeros(100_001, numpy.dtype([("a", "f4"), ("b", "f8")], align=True))
    assert window_of(mixed["b"]) is not None
    objects = numpy.zeros(100_000, [("a", "f8"), ("b", "O")])
    assert window_of(objects["a"]) is None
    assert window_of(numpy.zeros((400, 400)).T[::2]) is not None
    assert window_of(numpy.zeros((400, 400), order="F")[::2]) is None


@pytest.mark.parametrize("fields", [[("u", "u1"), ("v", "f8"), ("n", "i4"), ("m", "i4")], [("u", "f4"), *FIELDS[1:]]])
def test_records_that_are_packed_are_numpys_as_ever(fields: Any) -> None:
    theirs, ours = records(numpy, fields=fields), records(lazyarray, fields=fields)
    for _ in range(4):
        want = theirs["v"] * 2.0 + theirs["n"] - theirs["u"]
        got = ours["v"] * 2.0 + ours["n"] - ours["u"]
        numpy.testing.assert_array_equal(numpy.asarray(got), want)


def test_records_of_which_an_element_is_no_divisor_are_read_where_they_lie() -> None:
    for fields in ([("a", "c16"), ("b", "f8")], [("a", "f8"), ("b", "f4"), ("c", "f4"), ("d", "f8"), ("e", "c16")]):
        theirs = numpy.zeros((SIDE, SIDE), fields)
        theirs["a"] = numpy.random.default_rng(1).random((SIDE, SIDE))
        ours = lazyarray.array(theirs)
        for _ in range(4):
            want = theirs["a"] * 2.0 - theirs["a"] + 1.0
            numpy.testing.assert_array_equal(numpy.asarray(ours["a"] * 2.0 - ours["a"] + 1.0), want)
        ours["a"] -= lazyarray.evaluate(lazyarray.ones((SIDE, SIDE)) * 0.5)
        numpy.testing.assert_array_equal(numpy.asarray(ours["a"]), theirs["a"] - 0.5)


def test_fields_of_another_byte_order_are_none_of_this_one() -> None:
    theirs = numpy.zeros((SIDE, SIDE), [("a", ">f8"), ("b", "<f8")])
    theirs["a"], theirs["b"] = 3.0, 2.0
    ours = lazyarray.asarray(theirs.copy())

    def body(x: Any, y: Any) -> Any:
        return (x + y) * (x - y) + x

    for _ in range(6):
        assert numpy.asarray(body(ours["b"], ours["b"]))[0, 0] == 2.0
        assert numpy.asarray(body(ours["b"], ours["a"]))[0, 0] == -3.0


def test_what_did_not_wait_after_all_is_let_go() -> None:
    def body(x: Any, y: Any) -> Any:
        return (x * y + 1) * (x - y)

    def once(other: Any) -> Any:
        made = numpy.zeros(SIDE * SIDE, [("a", "f8"), ("b", "f8")])
        field = lazyarray.asarray(made)["a"]
        numpy.asarray(body(field, lazyarray.asarray(made["b"] if other is None else other)))
        return weakref.ref(made)

    wide = numpy.ones((2, SIDE * SIDE))
    for turn in range(20):
        once(wide if turn % 3 == 2 else None)
    assert once(wide)() is None


def test_what_refuses_writes_says_so() -> None:
    z = records(lazyarray)
    u = z["u"]
    u.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        u += lazyarray.evaluate(lazyarray.ones((SIDE, SIDE)))
    with pytest.raises(ValueError, match="could not be broadcast"):
        z["v"][:] += lazyarray.evaluate(lazyarray.ones((SIDE, 7 * SIDE)))
