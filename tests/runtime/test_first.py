"""First evaluations run in NumPy where that takes less than compiling, and nobody can tell but by counting."""

from __future__ import annotations

import gc
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend import histograms
from lazyarray.runtime import first, planning, prices, running

N = 5000  # enough elements to be recorded


@pytest.fixture(autouse=True)
def cheap_expressions_wait(monkeypatch: Any) -> Iterator[None]:
    monkeypatch.setattr(running, "plans", {})
    monkeypatch.setattr(planning, "is_on_disk", lambda structure: False)
    first.forget()
    with np.config.set(compile_at=3, eager_below=4096, device="cpu"):
        yield
    first.forget()


def made(*shape: int, dtype: str = "f8") -> Any:
    """Values in memory."""
    count = int(numpy.prod(shape))
    return np.array(numpy.linspace(-2.0, 3.0, count).reshape(shape).astype(dtype))


class Counted:
    """What ran since it was made."""

    def __init__(self) -> None:
        self.before = np.counters()

    def __getattr__(self, name: str) -> int:
        return int(np.counters()[name] - self.before[name])


def interpreted_first(evaluate: Any, most: int = 3000) -> int:
    """How many evaluations are interpreted before one is compiled, as all that follow are."""
    turns = 0
    while turns < most:
        counted = Counted()
        evaluate()
        if counted.launches:
            assert counted.interpreted == 0
            break
        assert counted.interpreted == 1
        turns += 1
    for _ in range(3):
        counted = Counted()
        evaluate()
        assert (counted.interpreted, counted.launches > 0) == (0, True)
    return turns


def test_an_expression_is_compiled_when_numpy_has_taken_as_long_as_compiling_does() -> None:
    x, large = made(N), made(1_000_000)
    often = interpreted_first(lambda: np.evaluate(x * 2.0 + x))
    (left,) = first._left.values()
    assert left.price * often <= 2 * first._LOADING < left.price * (often + 2)
    first.forget()
    seldom = interpreted_first(lambda: np.evaluate(large * 2.0 + large))
    assert 2 <= seldom < often / 5


def test_an_expression_is_looked_at_once_for_each_size() -> None:
    x, longer, longest = made(N), made(N + 1), made(N + 2)
    np.evaluate(x * 2.0 + x)
    (known,) = first._tried.values()
    assert known.price > first._EVALUATION
    np.evaluate(x * 2.0 + x)
    np.evaluate(longer * 2.0 + longer)
    again, other = first._tried.values()
    assert again is known
    assert other.left is known.left
    interpreted_first(lambda: np.evaluate(x * 2.0 + x))
    counted = len(first._tried)
    np.evaluate(longest * 2.0 + longest)  # compiled, as all sizes are now
    assert len(first._tried) == counted


def test_the_compiler_is_loaded_once() -> None:
    x = made(N)
    before = interpreted_first(lambda: np.evaluate(x * 2.0 + x))
    after = interpreted_first(lambda: np.evaluate(x * 3.0 - x))
    assert 2 <= after < before


def test_values_are_numpys_before_and_after_compiling() -> None:
    x = made(200_000)
    theirs = numpy.asarray(x) * 2.0 + numpy.asarray(x)
    interpreted_first(lambda: numpy.testing.assert_array_equal(numpy.asarray(x * 2.0 + x), theirs))


@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_setting_says_how_long_numpy_goes_on(at: int) -> None:
    x = made(100_000)
    third = interpreted_first(lambda: np.evaluate(x * 0.5 - x))
    first.forget()
    with np.config.set(compile_at=at):
        ran = interpreted_first(lambda: np.evaluate(x * 0.25 + x))
    assert abs(ran - (at - 1) * third / 2) <= 2


def test_so_many_evaluations_are_interpreted_at_least(monkeypatch: Any) -> None:
    for name, nanoseconds in (("_PLAN", 100_000), ("_PLANNED", 0), ("_KERNEL", 0), ("_OPERATION", 0)):
        monkeypatch.setattr(prices, name, nanoseconds)
    monkeypatch.setattr(first, "_LOADING", 0)
    x = made(60_000)
    assert interpreted_first(lambda: np.evaluate(x * 0.5 - x)) == 2
    (left,) = first._left.values()
    assert left.spare < 0 < left.price < 200_000


def test_what_would_hold_much_memory_is_compiled_at_once() -> None:
    x = made(900_000)
    y = x * 2.0
    assert interpreted_first(lambda: np.evaluate((y + x) * (x - y) * (y * 0.5))) == 0
    assert interpreted_first(lambda: np.evaluate(x * 0.5 - x)) >= 2


def test_ever_new_sizes_of_one_structure_are_compiled_as_soon_as_one_size_is() -> None:
    x = made(1000, 1000)
    sizes = iter(range(1, 999))

    def shrink() -> None:
        k = next(sizes)
        np.evaluate(x[k:, k:] * 2.0 - x[:-k, :-k])

    assert 2 <= interpreted_first(shrink) < 40


def test_what_takes_numpy_longer_than_compiling_is_compiled_at_once() -> None:
    x = made(30_000_000, dtype="f4")
    counted = Counted()
    np.evaluate(x * 2.0 - 0.125)
    assert (counted.interpreted, counted.launches) == (0, 1)


def test_what_an_earlier_process_compiled_is_not_interpreted_for_long(monkeypatch: Any) -> None:
    monkeypatch.setattr(planning, "is_on_disk", lambda structure: True)
    x, large = made(N), made(1_000_000)
    assert interpreted_first(lambda: np.evaluate(x * 2.0 + x)) == 2
    assert interpreted_first(lambda: np.evaluate(large * 3.0 + large)) == 0


def test_who_records_what_runs_sees_kernels() -> None:
    x = made(N)
    with np.record_runs() as runs:
        np.evaluate(x * 3.0 - 0.125)
    assert [run.ops for run in runs.kernels] == [("multiply", "subtract")]


def test_what_is_explained_runs_as_it_was_explained() -> None:
    x = made(N)
    y = x * 5.0 - 0.125
    assert len(np.explain(y).kernels) == 1
    counted = Counted()
    np.evaluate(y)
    assert (counted.interpreted, counted.launches) == (0, 1)


def test_with_everything_recorded_everything_is_compiled() -> None:
    x = made(N)
    with np.config.set(eager_below=0):
        counted = Counted()
        np.evaluate(x * 7.0 - 0.125)
    assert (counted.interpreted, counted.launches) == (0, 1)


@pytest.mark.parametrize(
    "program",
    [
        lambda np, x: np.exp(-x * x) / (1.0 + np.sin(x)),
        lambda np, x: (x * x).sum(axis=0),
        lambda np, x: (x - x.mean(axis=1, keepdims=True)).std(),
        lambda np, x: x.T.sum(axis=0),
        lambda np, x: x[1:-1, 1:-1].sum(),
        lambda np, x: x[::-1].sum(axis=1, dtype="f4"),
        lambda np, x: np.where(x > 0.0, x, -0.0).max(axis=0),
        lambda np, x: np.where(x > 0.0, 0.0, -0.0).max(axis=0) * x,
        lambda np, x: np.cumsum(x * 0.1, axis=1)[:, ::7],
        lambda np, x: (x.astype("f2") * 3 + 1).sum(axis=1),
        lambda np, x: (x + 1j * x[::-1]).prod(axis=0),
        lambda np, x: (x @ x.T)[:5] * 2.0,
        lambda np, x: x[x > 0.5] ** 1.5,
        lambda np, x: np.power(abs(x), x),
        lambda np, x: np.argmax(x * x, axis=1),
        lambda np, x: np.minimum.accumulate(x, axis=0) - np.roll(x, 3, axis=1),
    ],
)
def test_first_evaluations_and_compiled_ones_have_the_same_bits(program: Any) -> None:
    found = []
    for at in (1, 3):
        first.forget()
        with np.config.set(compile_at=at):
            found.append(numpy.asarray(program(np, made(90, 70))))
    assert found[0].dtype == found[1].dtype
    assert found[0].tobytes() == found[1].tobytes()


def test_sums_of_which_kernels_may_have_another_order_are_compiled() -> None:
    x = made(120, 100)
    counted = Counted()
    np.evaluate(x[1:-1, 1:-1].sum())
    assert counted.interpreted == 0
    np.evaluate((x * 2.0).sum())
    assert counted.interpreted == 1


def test_extremes_that_are_zeros_of_both_signs_are_computed_by_a_kernel() -> None:
    signs = numpy.where(numpy.arange(N) % 3 == 0, 0.0, -0.0)
    x = np.array(signs)
    counted = Counted()
    assert numpy.asarray((x * 1.0).max()) == 0.0
    assert (counted.interpreted, counted.launches) == (0, 1)
    y = np.array(abs(signs))
    assert numpy.asarray((y + 0.0).min()) == 0.0
    assert counted.interpreted == 1


def test_errors_are_told_once_at_the_line_that_recorded_them() -> None:
    x = made(N)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counted = Counted()
        y = np.log(x)
        z = y + 1.0
        np.evaluate(z)
        np.evaluate(y)
        assert counted.interpreted
    assert [str(w.message) for w in caught] == ["invalid value encountered in log"]
    assert caught[0].filename == __file__


def test_a_warning_that_is_an_error_leaves_the_values() -> None:
    x = made(N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = np.sqrt(x) * 2.0
        with pytest.raises(RuntimeWarning, match="invalid value encountered in sqrt"):
            np.evaluate(y)
    counted = Counted()
    assert numpy.isnan(numpy.asarray(y)).any()
    assert counted.evaluations == 0


def test_writes_and_views_are_as_ever() -> None:
    x, expected = made(80, 60), numpy.asarray(made(80, 60)).copy()
    half, other = x[:40], expected[:40]
    half *= 2.0
    other *= 2.0
    x[1:] = x[:-1] + 1.0
    expected[1:] = expected[:-1] + 1.0
    counted = Counted()
    assert numpy.array_equal(numpy.asarray(x), expected)
    assert counted.interpreted
    assert numpy.array_equal(numpy.asarray(half), other)


def test_no_result_shares_memory_with_another_or_with_an_input() -> None:
    x = made(N)
    a, b, c = np.evaluate(x.reshape(50, 100) * 1.0, x + 0.0, (x + 0.0)[:])
    arrays = [numpy.asarray(v) for v in (x, a, b, c)]
    for place, one in enumerate(arrays):
        assert not any(numpy.shares_memory(one, other) for other in arrays[:place])


def test_a_failure_names_the_lines_and_leaves_everything_usable() -> None:
    x = made(70, 70)
    singular = x * 0.0
    with pytest.raises(numpy.linalg.LinAlgError):
        np.evaluate(np.linalg.inv(singular) + 1.0)
    assert numpy.array_equal(numpy.asarray(singular + 1.0), numpy.ones((70, 70)))


def test_values_in_between_are_let_go() -> None:
    x = made(300_000)
    expression = x
    for _ in range(12):
        expression = expression * 0.5 + x
    gc.collect()
    with np.config.set(compile_at=2):
        counted = Counted()
        peak = _peak_of(lambda: np.evaluate(expression))
        assert counted.interpreted == 1
    assert peak < 6 * 8 * 300_000


def _peak_of(work: Any) -> int:
    """The most bytes that NumPy held of what `work` allocates."""
    import tracemalloc

    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "write",
    [
        lambda x, v: x.__setitem__(slice(None, None, 2), v[::2]),
        lambda x, v: x.__setitem__((slice(3, 290), 5), v[7:294, 9]),
        lambda x, v: x.__setitem__(numpy.array([5, 1, 5]), v[:3]),
        lambda x, v: x.__setitem__(x > 2.0, v[0, 0]),
    ],
)
def test_writes_change_the_memory_of_values_that_nobody_else_has(write: Any) -> None:
    x, values = made(600, 500), made(600, 500)
    expected = numpy.asarray(made(600, 500)).copy()
    write(x, values * 2.0)
    counted = Counted()
    peak = _peak_of(lambda: np.evaluate(x))
    assert counted.interpreted
    write(expected, numpy.asarray(values) * 2.0)
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)
    assert peak < 1.5 * expected.nbytes  # the new values, and what tells where


@pytest.mark.parametrize(
    ("write", "temporaries"),
    [
        (lambda x, v: x.__setitem__(slice(1, None), x[1:] + v[1:]), 0),
        (lambda x, v: x.__setitem__(slice(1, None), v[1:] * 2.0), 0),
        (lambda x, v: x.__setitem__((slice(3, 290), slice(None, 400)), x[3:290, :400] * x[3:290, :400]), 0),
        (lambda x, v: x.__setitem__(slice(1, -1), (v[2:] - v[:-2]) * 0.5), 1),
        (lambda x, v: x.__setitem__(slice(1, None), x[:-1] * 0.5), 1),
        (lambda x, v: x.__setitem__(slice(1, None), x[1:] / v[5]), 0),
        (lambda x, v: x.__setitem__((slice(None), slice(None, None, 3)), -v[:, ::3]), 0),
    ],
)
def test_what_is_written_is_computed_where_it_is_written(write: Any, temporaries: int) -> None:
    x, values = made(600, 500), made(600, 500)
    expected = numpy.asarray(made(600, 500)).copy()
    write(x, values)
    counted = Counted()
    with np.errstate(all="ignore"):
        peak = _peak_of(lambda: np.evaluate(x))
    assert counted.interpreted
    write(expected, numpy.asarray(values))
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)
    assert peak < (temporaries + 0.3) * expected.nbytes


def test_what_is_computed_in_place_leaves_what_is_read_later() -> None:
    x, before = made(300, 200), numpy.asarray(made(300, 200)).copy()
    view = x[1:]
    later = view * 3.0 + 1.0
    x[1:] = view + view
    np.evaluate(x, later)
    numpy.testing.assert_array_equal(numpy.asarray(later), before[1:] * 3.0 + 1.0)
    part = before[1:]
    part += part
    numpy.testing.assert_array_equal(numpy.asarray(x), before)
    numpy.testing.assert_array_equal(numpy.asarray(view), part)


@pytest.mark.parametrize("turned", [(slice(None), slice(None, None, -1)), slice(None, None, -1)])
def test_an_operation_that_is_written_into_itself_is_computed_first(turned: Any) -> None:
    x, expected = made(300, 200) + 1.0, numpy.asarray(made(300, 200)) + 1.0
    x[turned] = x
    counted = Counted()
    np.evaluate(x)
    assert counted.interpreted
    numpy.testing.assert_array_equal(numpy.asarray(x), expected[turned])


def test_errors_of_what_is_computed_in_place_are_told_at_their_line() -> None:
    def write() -> None:
        x[1:] = 1.0 / (x[1:] * 0.0 + 0.0)
        np.evaluate(x)

    x = made(300, 200)
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as told:
        write()
    assert [warning.filename for warning in told] == [__file__]


def test_values_that_somebody_has_are_not_written_over() -> None:
    x, values, before = made(300, 200), made(300, 200), numpy.asarray(made(300, 200)).copy()
    kept, part, later = x.copy(), x[5:9], x * 2.0
    x[::2] = values[::2] + 1.0
    counted = Counted()
    np.evaluate(x)
    assert counted.interpreted
    assert numpy.array_equal(numpy.asarray(kept), before)
    assert numpy.array_equal(numpy.asarray(later), before * 2.0)
    before[::2] += 1.0
    assert numpy.array_equal(numpy.asarray(part), before[5:9])


def test_a_write_is_done_once_though_what_comes_after_it_fails(monkeypatch: Any) -> None:
    x, expected = made(200, 200), numpy.asarray(made(200, 200)).copy()
    x[1:] += x[:-1] * 0.5
    expected[1:] += expected[:-1] * 0.5
    failing = x @ x.T

    def fail(*args: Any) -> None:
        raise MemoryError

    write = first.written_over
    written: list[str] = []

    def noted(entry: Any, *given: Any) -> Any:
        written.append(entry.kind)
        return write(entry, *given)

    monkeypatch.setattr(first, "written_over", noted)
    monkeypatch.setattr(first, "library_call", fail)
    counted = Counted()
    for _ in range(2):
        with pytest.raises(MemoryError):
            np.evaluate(failing)
    assert counted.evaluations
    assert counted.launches == 0
    assert written == ["update"]
    assert numpy.array_equal(numpy.asarray(x), expected)


def test_functions_that_are_replayed_are_recorded_first(monkeypatch: Any) -> None:
    monkeypatch.setattr(histograms, "_calls", Counter())
    monkeypatch.setattr(histograms, "_jitted", {})
    x = made(100_000)
    theirs = numpy.histogram(numpy.asarray(x), bins=17)[0]
    ran = []
    for _ in range(4):
        counted = Counted()
        assert np.histogram(x, bins=17)[0].tolist() == theirs.tolist()
        ran.append(counted.launches > 0)
    assert ran == [False, False, True, True]


@pytest.mark.parametrize(
    "body",
    [
        lambda x, y: x[1:].__iadd__(1.0),
        lambda x, y: x.__setitem__(slice(1, None), x[:-1] * 2.0),
        lambda x, y: x.__setitem__((slice(None), slice(2, 9)), -1.0),
        lambda x, y: x.__setitem__(x > 100.0, 7.0),
        lambda x, y: x.__setitem__([1, 5, 5], 3.0),
        lambda x, y: x.__imul__(0.5),
    ],
)
@pytest.mark.parametrize("given", [lambda y: y, lambda y: y + 0.0, lambda y: y.T, lambda y: y[::-1].T])
def test_writes_after_values_of_another_order_are_kept(body: Any, given: Any) -> None:
    ordered = numpy.asfortranarray(numpy.arange(90_000.0).reshape(300, 300) % 1009)
    for _ in range(4):
        x, y = np.array(numpy.zeros((300, 300))), np.asarray(ordered.copy("F"))
        x[...] = given(y)
        body(x, y)
        np.evaluate(x)
        want = numpy.zeros((300, 300))
        want[...] = given(ordered)
        body(want, ordered)
        numpy.testing.assert_array_equal(numpy.asarray(x), want)


def test_sums_of_values_of_another_order_have_one_order() -> None:
    ordered = numpy.asfortranarray(numpy.random.default_rng(2).uniform(size=(300, 300)))
    totals = set()
    for _ in range(4):
        x, y = np.array(numpy.zeros((300, 300))), np.asarray(ordered.copy("F"))
        x[...] = y
        totals.add(float((x * 3.0).sum()))
    assert totals == {float((ordered.copy("C") * 3.0).sum())}


def watch_memory(monkeypatch: Any) -> list[tuple[str, bool]]:
    """Of each operation that may take an operand's memory, from now on: its name, and whether it did."""
    taken: list[tuple[str, bool]] = []
    over = first.map_over

    def watched(entry: Any, args: list[Any]) -> Any:
        given = [arg.ctypes.data for arg in args]
        found = over(entry, args)
        taken.append((entry.attr[0], found.ctypes.data in given))
        return found

    monkeypatch.setattr(first, "map_over", watched)
    return taken


def test_operations_take_the_memory_of_operands_that_nothing_else_needs(monkeypatch: Any) -> None:
    taken = watch_memory(monkeypatch)
    theirs = numpy.linspace(-2.0, 3.0, 100_000)
    other = theirs[::-1].copy()
    x, y = np.array(theirs), np.array(other)
    kept = x + y
    result = np.evaluate((x * 2.0 + y) * (kept - x) - y, kept)[0]
    assert [over for _, over in taken] == [False, False, True, False, True, True]
    sums = theirs + other
    numpy.testing.assert_array_equal(numpy.asarray(result), (theirs * 2.0 + other) * (sums - theirs) - other)
    for array, value in ((kept, sums), (x, theirs), (y, other)):
        numpy.testing.assert_array_equal(numpy.asarray(array), value)


def test_squares_sizes_roots_and_masks_take_their_operands_memory(monkeypatch: Any) -> None:
    taken = watch_memory(monkeypatch)
    theirs = numpy.linspace(-2.0, 3.0, 100_000)
    x = np.array(theirs)
    result = np.evaluate(np.sqrt(np.abs((x - 1.0) ** 2)), (x > 0.0) & ~(x > 1.0))
    ways = [("subtract", False), ("square", True), ("absolute", True), ("sqrt", True)]
    assert taken == [*ways, ("invert", True), ("bitwise_and", True)]
    numpy.testing.assert_array_equal(numpy.asarray(result[0]), numpy.sqrt(numpy.abs((theirs - 1.0) ** 2)))
    numpy.testing.assert_array_equal(numpy.asarray(result[1]), (theirs > 0.0) & ~(theirs > 1.0))
    numpy.testing.assert_array_equal(numpy.asarray(x), theirs)
