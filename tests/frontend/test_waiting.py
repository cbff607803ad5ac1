"""Operators on plain arrays of middle size wait for the last one of their expression, and nobody can tell."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.ir.node import WAITING, finish_waiting

SIZE = 60_000
SIDE = 240

Body = Callable[..., Any]


@pytest.fixture(autouse=True)
def nothing_waits_afterwards() -> Any:
    """Arrays of these sizes are plain, and nothing is left waiting."""
    with lazyarray.config.set(eager_below=65536):
        yield
    finish_waiting()


def draw(count: int, shape: Any = SIZE, dtype: Any = float) -> list[Any]:
    rng = numpy.random.default_rng(3)
    return [(rng.uniform(1, 90, shape)).astype(dtype) for _ in range(count)]


def lazy(arrays: list[Any]) -> list[Any]:
    return [lazyarray.array(array) for array in arrays]


def again(body: Body, *args: Any) -> Any:
    """What the body returns once its spans are known."""
    for _ in range(3):
        body(*args)
    return body(*args)


def launches(body: Body, *args: Any) -> int:
    """How many kernels one more call runs."""
    again(body, *args)
    before = lazyarray.counters()["launches"]
    body(*args)
    return int(lazyarray.counters()["launches"] - before)


def chain(a: Any, b: Any, c: Any) -> Any:
    return (a * b + c) * a - b / (c + 1)


def stencil(u: Any) -> Any:
    return 0.25 * (u[2:, 1:-1] - 2.0 * u[1:-1, 1:-1] + u[:-2, 1:-1]) + u[1:-1, ::-1][:, 1:-1]


def of_rows(u: Any, row: Any) -> Any:
    return (u - row) * 2 + u * row[0] - -u


def squares(a: Any, b: Any, c: Any) -> Any:
    return (a - b) ** 2 + (b - c) ** 2 + 1


def calls(a: Any, b: Any, c: Any) -> Any:
    np = lazyarray if type(a) is lazyarray.ndarray else numpy
    return np.sqrt(a * b + c) - np.maximum(a, b) * abs(a - c)


def numbers(a: Any, b: Any, c: Any) -> Any:
    two, three = numpy.float64(2.0), numpy.float32(3.0)
    return two * (a * b + c) - three * (c - two) / a + 1 - (2 - (b + 1) * two)


def comparisons(a: Any, b: Any, c: Any) -> Any:
    return (a + b > c) & (a < b) | ~(b * 2 >= c - a)


def integers(a: Any, b: Any, c: Any) -> Any:
    return (a // b + c % b) * 3 - (a & b | c) // 2


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "i8", "f2"])
@pytest.mark.parametrize("body", [chain, squares, comparisons, integers, calls])
def test_an_expression_is_one_kernel_with_numpys_bits(body: Body, dtype: str) -> None:
    if dtype[0] in "fc" and body is integers:
        pytest.skip("floats have no bits")
    if dtype[0] == "c" and body in (comparisons, calls):
        pytest.skip("no program orders complex numbers")
    arrays = draw(3, 65_000, dtype)
    ours = lazy(arrays)
    with numpy.errstate(all="ignore"), lazyarray.errstate(all="ignore"):
        found, expected = again(body, *ours), body(*arrays)
        assert type(found) is lazyarray.ndarray
        numpy.testing.assert_array_equal(numpy.asarray(found), expected, strict=True)
        assert launches(body, *ours) == 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_views_are_read_where_they_lie(dtype: str) -> None:
    (u,) = draw(1, (SIDE + 2, SIDE + 2), dtype)
    (ours,) = lazy([u])
    numpy.testing.assert_array_equal(numpy.asarray(again(stencil, ours)), stencil(u), strict=True)
    numpy.testing.assert_array_equal(numpy.asarray(again(stencil, ours.T)), stencil(u.T), strict=True)
    rows = again(of_rows, ours, ours[3])
    numpy.testing.assert_array_equal(numpy.asarray(rows), of_rows(u, u[3]), strict=True)
    if dtype == "f8":
        assert launches(stencil, ours) == 1


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i4"])
def test_numpys_numbers_take_part(dtype: str) -> None:
    arrays = draw(3, SIZE, dtype)
    ours = lazy(arrays)
    numpy.testing.assert_array_equal(numpy.asarray(again(numbers, *ours)), numbers(*arrays), strict=True)
    assert launches(numbers, *ours) == 1


@pytest.mark.parametrize(
    "body",
    [
        lambda a, b, r: b.T * 2.0 + 3.0 - 1.0 + 2.0 * b.T,
        lambda a, b, r: numpy.square(r + (b.T + 3.0)) * 0.5 + r,
        lambda a, b, r: (b.T * r + a) * 0.5 + b.T,
        lambda a, b, r: (b[::-1].T * r - 1.0) * 0.5 + b.T,
        lambda a, b, r: r * (b.T[:, 2:] + 1.0) * 0.5 + 2.0,
    ],
)
def test_results_lie_in_memory_as_numpys(body: Body) -> None:
    side = 120  # in temporaries of 256 KiB and more NumPy writes the next result
    a, b = draw(2, (side, side))
    (r,) = draw(1, (side, 1))
    want = body(a, b, r)
    ours = lazy([a, b, r])
    for _ in range(20):
        found = numpy.asarray(body(*ours))
        assert found.strides == want.strides
        numpy.testing.assert_array_equal(found, want)


def test_results_are_plain_and_operands_keep_their_values() -> None:
    arrays = draw(3)
    ours = lazy(arrays)
    found = again(chain, *ours)
    expected = chain(*arrays)
    before = lazyarray.counters()["evaluations"]
    found[5] = ours[0][7] = 4.0
    expected[5] = arrays[0][7] = 4.0
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    assert lazyarray.counters()["evaluations"] == before
    for kept, array in zip(ours, arrays, strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(kept), array)


def short(a: Any, b: Any) -> Any:
    return a * b + 1


def test_few_elements_and_short_expressions_run_at_once() -> None:
    assert launches(short, *lazy(draw(2, 20_000))) == 0
    assert launches(short, *lazy(draw(2, 30_000))) == 1
    assert launches(chain, *lazy(draw(3, 5_000))) == 0
    assert launches(chain, *lazy(draw(3, 6_000))) == 1
    assert launches(chain, *lazy(draw(3, 40_000, "u1"))) == 0


class Keeper:
    """Its `exp` is a function of the program's own, which keeps what it is given."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def exp(self, x: Any) -> Any:
        self.kept.append(x)
        return x


def given_away(keeper: Any, a: Any, b: Any) -> Any:
    return keeper.exp(a * b + 1) * a - b


def test_operators_of_numbers_count_for_nothing() -> None:
    def relax(f: Any, e: Any, rate: Any) -> Any:
        return -(1.0 / rate) * (f - e)

    small, large = draw(2, 20_000), draw(2, 60_000)
    a, b = lazy(small)
    for _ in range(4):  # what is handed on is counted some times
        again(relax, a, b, 0.6)
    assert launches(relax, a, b, 0.6) == 0
    assert lazyarray.array_equal(again(relax, a, b, 0.6), relax(*small, 0.6))
    c, d = lazy(large)
    assert launches(relax, c, d, 0.6) == 1
    assert launches(chain, *lazy(draw(3, 30_000))) == 1


def test_a_function_of_the_same_name_gets_values() -> None:
    a, b = draw(2)
    keeper = Keeper()
    ours = lazy([a, b])
    found = again(given_away, keeper, *ours)
    expected = given_away(Keeper(), a, b)
    ours[0][:] = 0.0
    for kept in keeper.kept:
        numpy.testing.assert_array_equal(numpy.asarray(kept), a * b + 1)
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)


# ---- code that runs between operators


class Buffer:
    """Hands out one array, filled anew for each key, by the given way."""

    def __init__(self, np: Any, array: Any, fill: Callable[[Any, Any, float], None]) -> None:
        self.np, self.array, self.fill = np, array, fill

    def __getitem__(self, key: float) -> Any:
        self.fill(self.np, self.array, key)
        return self.array

    @property
    def next(self) -> Any:
        return self[float(self.array[0]) + 1]


def by_assignment(np: Any, array: Any, number: float) -> None:
    array[:] = number


def in_place(np: Any, array: Any, number: float) -> None:
    array *= 0
    array += number


def by_function(np: Any, array: Any, number: float) -> None:
    np.copyto(array, number)


def by_out(np: Any, array: Any, number: float) -> None:
    np.add(array * 0, number, out=array)


def by_method(np: Any, array: Any, number: float) -> None:
    array.fill(number)


def by_export(np: Any, array: Any, number: float) -> None:
    numpy.asarray(array)[...] = number


def by_buffer(np: Any, array: Any, number: float) -> None:
    memoryview(array)[:] = memoryview(numpy.full(array.shape, number))


def by_flat(np: Any, array: Any, number: float) -> None:
    array.flat[:] = number


def by_view(np: Any, array: Any, number: float) -> None:
    array.reshape(2, -1)[:, :] = number


def refilled(buffer: Any, a: Any) -> Any:
    return buffer[1.0] * a + buffer[2.0] * a - buffer[3.0] / a


def attributes(buffer: Any, a: Any) -> Any:
    return buffer.next * a + buffer.next * a - buffer.next / a


@pytest.mark.parametrize("body", [refilled, attributes])
@pytest.mark.parametrize(
    "fill",
    [
        by_assignment,
        in_place,
        by_function,
        by_out,
        by_method,
        by_export,
        by_buffer,
        by_flat,
        by_view,
    ],
)
def test_what_is_written_in_between_is_written_after_what_waits(fill: Any, body: Body) -> None:
    values, a = draw(2)
    buffer = Buffer(lazyarray, lazyarray.array(values), fill)
    ours = lazyarray.array(a)
    for _ in range(4):
        buffer.array[:] = 0.0
        found = body(buffer, ours)
    plain = Buffer(numpy, values * 0, fill)
    numpy.testing.assert_array_equal(numpy.asarray(found), body(plain, a))


def test_memory_that_others_hold_does_not_wait() -> None:
    """NumPy's own array shares the memory, and is written with nobody asking."""
    memory, a = draw(2)
    buffer = Buffer(lazyarray, lazyarray.asarray(memory), lambda np, array, number: memory.fill(number))
    ours = lazyarray.array(a)
    found = again(refilled, buffer, ours)
    numpy.testing.assert_array_equal(numpy.asarray(found), 1.0 * a + 2.0 * a - 3.0 / a)


def test_what_cannot_wait_leaves_nothing_behind() -> None:
    """Memory that others hold was noted for each operator that then ran at once: a list that grew with each."""
    from lazyarray.frontend.waiting import RUN

    a, b, c = lazy(draw(3))
    held = [numpy.asarray(array) for array in (b, c)]
    expected = chain(numpy.asarray(a).copy(), *held)
    for _ in range(20):
        found = chain(a, b, c)
    assert not RUN.leaves
    assert not RUN.nodes
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)


class Recorder:
    """Records with what it is given, on large arrays."""

    def __init__(self, large: Any) -> None:
        self.large = large

    def __getitem__(self, key: Any) -> Any:
        return (self.large * 2 + 1)[key]


def with_large(recorder: Any, a: Any, b: Any) -> Any:
    return a * b + recorder[:SIZE] * a - b


def test_large_arrays_that_are_recorded_in_between() -> None:
    large, a, b = numpy.arange(200_000.0), *draw(2)
    found = again(with_large, Recorder(lazyarray.array(large)), *lazy([a, b]))
    numpy.testing.assert_array_equal(numpy.asarray(found), with_large(Recorder(large), a, b))


def by_index(a: Any, b: Any, table: Any, places: Any) -> Any:
    return a * b + table[places * 2 + places - 2 * places] * a - b


def test_an_index_is_computed_while_others_wait() -> None:
    (a, b, table), places = draw(3), numpy.arange(SIZE)[::-1].copy()
    found = again(by_index, *lazy([a, b, table, places]))
    numpy.testing.assert_array_equal(numpy.asarray(found), by_index(a, b, table, places))


class Foreign:
    """Has operators of its own."""

    __array_ufunc__ = None

    def __init__(self, seen: list[Any]) -> None:
        self.seen = seen

    def __radd__(self, other: Any) -> Any:
        self.seen.append(numpy.asarray(other).sum())
        return other

    def __mul__(self, other: Any) -> Any:
        self.seen.append(numpy.asarray(other).sum())
        return other


def with_foreign(a: Any, b: Any, foreign: Any) -> Any:
    return foreign * (a * b - a) + foreign - a * b


def test_operators_of_others_see_values() -> None:
    a, b = draw(2)
    seen: list[Any] = []
    expected_seen: list[Any] = []
    found = again(with_foreign, *lazy([a, b]), Foreign(seen))
    expected = again(with_foreign, a, b, Foreign(expected_seen))
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    assert seen == expected_seen


def subtracted(a: Any, b: Any) -> Any:
    return [a - b, b - a, a - 2.0, 2.0 - a, -a, a**2, abs(a), numpy.float64(2.0) - a, a - a]


def spanned(a: Any, b: Any) -> Any:
    return [(a - b) * a - 2.0, (b - a) * (2.0 - a), -a * b + b, a**2 + b**2 * a, abs(a) * (a - 2.0) / b]


@pytest.mark.parametrize("body", [subtracted, spanned])
def test_windows_of_large_arrays_are_operands(body: Body) -> None:
    """A small part, taken while it was pending, of a large array whose values are there: each operator looks at it."""
    large, plain = draw(1, 4 * SIZE)[0], draw(1, SIZE)[0]
    for part in (slice(None, None, 4), slice(7, 7 + SIZE)):
        for a, b in ((large[part], plain), (plain, large[part]), (large[part], large[part])):
            held = lazyarray.array(large) * 1.0
            ours = [held[part] if given is not plain else lazyarray.array(plain) for given in (a, b)]
            lazyarray.evaluate(held)
            found = again(body, *ours)
            for one, want in zip(found, body(a, b), strict=True):
                numpy.testing.assert_array_equal(numpy.asarray(one), want)


# ---- errors and warnings


def divided(a: Any, b: Any, c: Any) -> Any:
    return (a / b + c) * a - (c + a) / 2 + b


def with_zeros(body: Body) -> tuple[list[Any], list[Any]]:
    """NumPy's arrays and ours, by some of which no number can be divided, once the body's spans are known."""
    arrays = draw(3)
    arrays[1][::7] = 0
    ours = lazy(arrays)
    with numpy.errstate(all="ignore"), lazyarray.errstate(all="ignore"):
        again(body, *ours)
    return arrays, ours


def test_warnings_are_told_once_at_the_line() -> None:
    arrays, ours = with_zeros(divided)
    told = []
    for operands in (arrays, ours):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            divided(*operands)
        told.append([(str(one.message), one.category, one.filename, one.lineno) for one in caught])
    assert told[0] == told[1]
    assert len(told[0]) == 1


def test_an_error_state_that_raises_is_obeyed_at_once() -> None:
    _, ours = with_zeros(divided)
    with lazyarray.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        divided(*ours)


def mismatched(a: Any, b: Any, c: Any) -> Any:
    return (a / b + a) * a - c * (a + c)


def squared_often(a: Any) -> Any:
    for _ in range(60):
        a = a * a + a * 0.5 - a * a
    return a


def test_values_that_are_used_often_are_looked_at_once() -> None:
    (a,) = draw(1)
    expected = squared_often(a)
    for _ in range(3):  # without an end to looking, 4^60 steps
        numpy.testing.assert_array_equal(numpy.asarray(squared_often(*lazy([a]))), expected)


def test_shapes_that_do_not_fit_raise_numpys_error_after_earlier_warnings() -> None:
    arrays, ours = with_zeros(mismatched)
    arrays[2], ours[2] = arrays[2][:-1], ours[2][:-1]
    with pytest.raises(ValueError, match="broadcast") as expected, pytest.warns(RuntimeWarning, match="divide"):
        mismatched(*arrays)
    with pytest.raises(ValueError, match="broadcast") as found, pytest.warns(RuntimeWarning, match="divide"):
        mismatched(*ours)
    assert str(found.value) == str(expected.value)


def interrupted(a: Any, b: Any, names: Any) -> Any:
    return a * b + names["no"] * a - b


def test_an_exception_on_the_way_leaves_nothing_behind() -> None:
    a, b = draw(2)
    ours = lazy([a, b])
    again(interrupted, *ours, {"no": 1.0})
    with pytest.raises(KeyError):
        interrupted(*ours, {})
    ours[0][:] = a[:] = 2.0
    assert not WAITING.open
    found = interrupted(*ours, {"no": 3.0})
    numpy.testing.assert_array_equal(numpy.asarray(found), interrupted(a, b, {"no": 3.0}))


def test_large_arrays_are_recorded_as_ever_after_it() -> None:
    a, b = draw(2)
    ours, large = lazy([a, b]), lazyarray.array(numpy.arange(200_000.0))
    again(interrupted, *ours, {"no": 1.0})
    with pytest.raises(KeyError):
        interrupted(*ours, {})
    before = lazyarray.counters()["launches"]
    later = large * 2 + 1
    assert lazyarray.counters()["launches"] == before
    numpy.testing.assert_array_equal(numpy.asarray(later), numpy.arange(200_000.0) * 2 + 1)


def test_threads_wait_for_themselves() -> None:
    arrays = draw(3)
    ours = lazy(arrays)
    expected = chain(*arrays)
    again(chain, *ours)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(60):
            if not numpy.array_equal(numpy.asarray(chain(*ours)), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
