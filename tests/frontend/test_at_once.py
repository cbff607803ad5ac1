"""Holds that what NumPy does by a copy or a call of values in memory is done at once, and of pending ones recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray

N = 8000  # more than `eager_below` here, less than what is recorded in any case
ROWS = 80


@pytest.fixture(autouse=True)
def large_arrays_are_recorded() -> Any:
    with lazyarray.config.set(eager_below=4096):
        yield


def operands(np: Any, pending: bool = False) -> dict[str, Any]:
    draw = numpy.random.default_rng(3)
    made = {
        "a": draw.random(N),
        "m": draw.random((ROWS, N // ROWS)),
        "k": draw.integers(0, 9, N),
        "c": draw.random(N) < 0.5,
    }
    arrays = {name: np.array(value) for name, value in made.items()}
    if np is lazyarray:
        for name, value in arrays.items():
            arrays[name] = ~~value if name == "c" else value * 1
            if not pending:
                lazyarray.evaluate(arrays[name])
    return arrays


CALLS: dict[str, Callable[..., Any]] = {
    "append": lambda np, a, m, k, c: np.append(a, 1.0),
    "append an array": lambda np, a, m, k, c: np.append(a, [1.0, 2.0]),
    "insert": lambda np, a, m, k, c: np.insert(a, 7, 1.0),
    "insert rows": lambda np, a, m, k, c: np.insert(m, [1, 5], 2.0, axis=0),
    "delete": lambda np, a, m, k, c: np.delete(a, [3, 8, -1]),
    "delete a column": lambda np, a, m, k, c: np.delete(m, 3, axis=1),
    "block": lambda np, a, m, k, c: np.block([[m], [m[:1]]]),
    "cov": lambda np, a, m, k, c: np.cov(m),
    "corrcoef": lambda np, a, m, k, c: np.corrcoef(m),
    "tensordot": lambda np, a, m, k, c: np.tensordot(m, m, axes=([1], [1])),
    "einsum to a number": lambda np, a, m, k, c: np.einsum("i,i", a, a),
    "einsum": lambda np, a, m, k, c: np.einsum("ij->j", m),
    "einsum of two": lambda np, a, m, k, c: np.einsum("ij,j->i", m, m[0]),
    "take": lambda np, a, m, k, c: np.take(a, [5, 1, -1]),
    "take rows": lambda np, a, m, k, c: np.take(m, np.arange(5), axis=0),
    "take columns": lambda np, a, m, k, c: m.take(np.arange(5), axis=1),
    "take an array of places": lambda np, a, m, k, c: np.take(m, ([0, 1], [1, 2]), axis=0),
    "take with one tuple": lambda np, a, m, k, c: np.take(a, ([0, 1],)),
    "columns": lambda np, a, m, k, c: m[:, np.array([4, 0, 2])],
    "columns of rows": lambda np, a, m, k, c: m[3:9, np.array([4, 0, 2])],
    "rows": lambda np, a, m, k, c: m[np.arange(70)],
    "any": lambda np, a, m, k, c: np.any(c),
    "all": lambda np, a, m, k, c: c.all(),
    "count_nonzero": lambda np, a, m, k, c: np.count_nonzero(c),
    "dot": lambda np, a, m, k, c: np.dot(a, a),
    "dot of integers": lambda np, a, m, k, c: k.dot(k),
    "inner": lambda np, a, m, k, c: np.inner(a, a),
    "vdot": lambda np, a, m, k, c: np.vdot(a, a),
    "logical_and.reduce": lambda np, a, m, k, c: np.logical_and.reduce(c),
    "logical_or.reduce": lambda np, a, m, k, c: np.logical_or.reduce(c),
    "a product as large as its operand": lambda np, a, m, k, c: m @ np.eye(N // ROWS),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_on_memory_are_numpys_and_nothing_is_evaluated(name: str) -> None:
    want = CALLS[name](numpy, **operands(numpy))
    given = operands(lazyarray)
    with lazyarray.record_runs() as runs:
        got = CALLS[name](lazyarray, **given)
    if "tuple" not in name and "array of places" not in name:
        assert not runs.evaluations
    assert not runs.fallbacks
    assert not runs.library_calls
    assert type(got) is (lazyarray.ndarray if isinstance(want, numpy.ndarray) else type(want))
    made = numpy.asarray(got)
    assert made.dtype == want.dtype
    numpy.testing.assert_array_equal(made, want)
    for array in given.values():  # the result is no view of them
        array[...] = 0
    numpy.testing.assert_array_equal(numpy.asarray(got), want)


@pytest.mark.parametrize("name", CALLS)
def test_the_same_of_pending_operands_has_the_same_bits(name: str) -> None:
    want = CALLS[name](lazyarray, **operands(lazyarray))
    got = CALLS[name](lazyarray, **operands(lazyarray, pending=True))
    numpy.testing.assert_array_equal(numpy.asarray(got), numpy.asarray(want))


def test_pending_operands_are_recorded() -> None:
    a = operands(lazyarray)["a"]
    with lazyarray.record_runs() as runs:
        found = lazyarray.append(a * 2.0, 1.0)
        assert not runs.kernels
        lazyarray.evaluate(found)
    assert runs.kernels


def test_einsum_of_one_operand_may_be_a_view() -> None:
    m = operands(lazyarray)["m"]
    turned = lazyarray.einsum("ij->ji", m)
    m[3, 4] = 7.0
    assert turned[4, 3] == 7.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda np, m: np.insert(m, 99, 1.0, axis=0), "out of bounds"),
        (lambda np, m: np.take(m, [99], axis=0), "out of bounds"),
        (lambda np, m: np.take(m, ([0, 1], slice(0, 2)), axis=0), "inhomogeneous"),
        (lambda np, m: m[:, np.array([500])], "out of bounds"),
        (lambda np, m: np.append(m, m[0], axis=0), "dimension"),
        (lambda np, m: np.einsum("ij,kj", m, m[0]), "operand"),
        (lambda np, m: np.dot(m, m), "not aligned"),
        (lambda np, m: np.put(m.ravel(), np.array([N]), 1.0), "out of bounds"),
    ],
)
def test_errors_are_numpys(call: Callable[[Any, Any], Any], message: str) -> None:
    with pytest.raises((IndexError, ValueError), match=message) as ours:
        call(lazyarray, operands(lazyarray)["m"])
    with pytest.raises(type(ours.value)) as theirs:
        call(numpy, operands(numpy)["m"])
    assert str(ours.value) == str(theirs.value)


def test_a_number_is_put_at_places_at_once() -> None:
    places = [5, -1, 5, 700]
    want, a = operands(numpy)["a"], operands(lazyarray)["a"]
    numpy.put(want, places, 2.0)
    with lazyarray.record_runs() as runs:
        lazyarray.put(a, lazyarray.array(places), 2.0)
    assert not runs.evaluations
    numpy.testing.assert_array_equal(numpy.asarray(a), want)


def test_what_refuses_a_number_says_what_numpy_says() -> None:
    fixed = {np: np.broadcast_to(operands(np)["a"], (N,)) for np in (numpy, lazyarray)}
    with pytest.raises(ValueError, match="read-only") as theirs:
        numpy.put(fixed[numpy], numpy.array([1]), 2.0)
    with pytest.raises(ValueError, match="read-only") as ours:
        lazyarray.put(fixed[lazyarray], lazyarray.array([1]), 2.0)
    assert str(ours.value) == str(theirs.value)


def test_a_flat_view_shows_its_array() -> None:
    m = operands(lazyarray)["m"]
    for _ in range(2):
        m.ravel()[3] += 1.0
        lazyarray.ravel(m[5:])[0] = -1.0
    want = operands(numpy)["m"]
    want[0, 3] += 2.0
    want[5, 0] = -1.0
    numpy.testing.assert_array_equal(numpy.asarray(m), want)
    turned = m.T.ravel()
    turned[1] = 9.0
    numpy.testing.assert_array_equal(numpy.asarray(m), want)


@pytest.mark.parametrize("shape", [N, (N,), (ROWS, N // ROWS)])
@pytest.mark.parametrize("dtype", [(), (int,), (numpy.complex64,), (bool,)])
def test_constants_of_a_shape_that_came_before_are_new(shape: Any, dtype: tuple[Any, ...]) -> None:
    for name in ("zeros", "ones"):
        made = [getattr(lazyarray, name)(shape, *dtype) for _ in range(3)]
        want = getattr(numpy, name)(shape, *dtype)
        made[1][...] = 0 if name == "ones" else 1
        for array in (made[0], made[2]):
            assert array.dtype == want.dtype
            numpy.testing.assert_array_equal(numpy.asarray(array), want)
    assert lazyarray.empty(shape, *dtype).shape == want.shape


def test_a_truth_that_shows_at_the_beginning_needs_no_look_at_all_of_it() -> None:
    large = lazyarray.evaluate(lazyarray.arange(1 << 20) > 5)
    with lazyarray.record_runs() as runs:
        assert not large.all()
        assert lazyarray.any(large)
        assert not runs.evaluations
        assert not lazyarray.any(lazyarray.evaluate(~large)[6:])
        large[:6] = True
        assert large.all()


def answer(call: Callable[[Any], Any], np: Any) -> Any:
    """What a call gives, in full, or raises."""
    try:
        found = call(np)
    except Exception as error:
        return type(error), str(error)
    made = numpy.asarray(found)
    return repr(made.tolist()), made.dtype, made.shape, made.strides, made.flags.writeable


@pytest.mark.parametrize(
    "axes", [(), ((1, 0, 2),), (2, 1, 0), (-1, 0, 1), (0, 0, 1), (0, 1), ((0, 1),), (3, 0, 1), (None,), (True, 0, 2)]
)
def test_axes_are_named_one_by_one_or_in_a_tuple(axes: Any) -> None:
    data = numpy.arange(24.0).reshape(2, 3, 4)

    def call(np: Any) -> Any:
        return np.array(data).transpose(*axes)

    assert answer(call, lazyarray) == answer(call, numpy)


@pytest.mark.parametrize("dtype", [None, float, "f4", "i1", "?", ">f8", "c16", "U3", "nonsense", numpy.dtype("i4")])
@pytest.mark.parametrize("number", [2.0, 2, True, -1, 2**70, 1j, "a", numpy.float32(3), None, [1, 2, 3]])
def test_constants_of_a_dtype_by_its_name_are_numpys(number: Any, dtype: Any) -> None:
    for shape in (3, (2, 2), (), 0, -1):

        def by_place(np: Any, shape: Any = shape) -> Any:
            return np.full(shape, number) if dtype is None else np.full(shape, number, dtype)

        def by_name(np: Any, shape: Any = shape) -> Any:
            return np.full(shape, number, dtype=dtype)

        def converted(np: Any, shape: Any = shape) -> Any:
            return np.zeros((2, 3)).astype(dtype), np.zeros_like(np.ones(2, "i4"), dtype=dtype)

        for call in (by_place, by_name):
            assert answer(call, lazyarray) == answer(call, numpy)
        if number == 2.0:
            for place in (0, 1):
                one, other = (answer(lambda np: converted(np)[place], np) for np in (lazyarray, numpy))  # noqa: B023
                assert one == other


@pytest.mark.parametrize("places", [[0, 1], [-1, 0], [0, 0, 1], [], [5], [True, False, True], [0.5], [[0, 1]], ["a"]])
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16"])
def test_what_is_written_at_a_list_of_places_is_numpys(places: Any, dtype: str) -> None:
    for value in (1.0, 2, True, 1j, [7.0, 8.0], numpy.float32(2), "x", None):
        for data in ([1, 0, 3], [[1, 0, 3], [1, 2, 3]]):

            def call(np: Any, value: Any = value, data: Any = data) -> Any:
                made = np.array(data, dtype)
                made[places] = value
                return made

            assert answer(call, lazyarray) == answer(call, numpy)


def test_few_rows_of_a_large_array_are_picked_at_once_by_numbers_of_either_kind() -> None:
    data = numpy.arange(8192.0).reshape(2048, 4)
    rows = lazyarray.evaluate(lazyarray.array(data) * 1.0)
    place = numpy.int64(7)
    for key in ([place], [place, 3], [numpy.int64(-1)], [2, 5]):
        before = lazyarray.counters()["evaluations"]
        found = rows[key]
        assert numpy.asarray(found).tolist() == data[key].tolist()
        assert lazyarray.counters()["evaluations"] == before
    wrong: list[Any] = [numpy.int64(2**63 - 1), numpy.int64(-(2**63)), 2048, numpy.int64(-2049), numpy.float64(1)]
    for key in [[place, entry] for entry in wrong]:
        assert answer(lambda np: (rows if np is lazyarray else data)[key], lazyarray) == answer(  # noqa: B023
            lambda np: (rows if np is lazyarray else data)[key],  # noqa: B023
            numpy,
        )


def test_narrow_integers_are_searched_at_once_in_long_rows_only() -> None:
    with lazyarray.config.set(eager_below=1 << 11):
        data = numpy.random.default_rng(2).integers(0, 200, 4096).astype("u1")
        for shape, dtype, axis, evaluations in (
            ((4096,), "u1", None, 0),
            ((4096,), "i2", 0, 0),
            ((64, 64), "u1", None, 0),
            ((64, 64), "u1", 1, 1),
            ((64, 64), "i4", 1, 0),
            ((2048, 2), "i4", 1, 1),
            ((2048, 2), "b1", 1, 0),
            ((4096,), "f2", None, 1),
        ):
            given = data.astype(dtype).reshape(shape)
            x = lazyarray.evaluate(lazyarray.array(given))
            before = lazyarray.counters()["evaluations"]
            numpy.testing.assert_array_equal(numpy.asarray(lazyarray.argmax(x, axis)), given.argmax(axis))
            assert lazyarray.counters()["evaluations"] - before == evaluations, (shape, dtype, axis)


def test_columns_of_a_large_array_are_read_where_they_lie() -> None:
    data = numpy.random.default_rng(5).random((400, 500))
    places = numpy.arange(0, 500, 3)
    m = lazyarray.evaluate(lazyarray.array(data) * 1.0)
    lazyarray.evaluate(m[:, places])
    for line in (
        lambda m: m[:, places],
        lambda m: m[::-1, places] + 1.0,
        lambda m: m.T[places, 5:],
        lambda m: m[10:, places][:, ::-1],
        lambda m: m[:, ::2][places[:120], :],
    ):
        with lazyarray.record_runs() as runs:
            got = lazyarray.evaluate(line(m))
        assert len(runs.kernels) <= 1
        assert runs.bytes_allocated <= 8 * got.size
        numpy.testing.assert_array_equal(numpy.asarray(got), line(data))


def test_columns_of_a_pending_array_need_it_once_in_memory() -> None:
    data = numpy.random.default_rng(5).random((400, 500))
    places = numpy.arange(0, 500, 3)
    m = lazyarray.evaluate(lazyarray.array(data) * 1.0)
    with lazyarray.record_runs() as runs:
        got = lazyarray.evaluate((m + 2.0)[:, places])
    assert runs.bytes_allocated == data.nbytes + 8 * got.size
    numpy.testing.assert_array_equal(numpy.asarray(got), (data + 2.0)[:, places])
    with lazyarray.record_runs() as runs:
        got = lazyarray.evaluate((m + 2.0)[:20, places])
    assert runs.bytes_allocated < data.nbytes
    numpy.testing.assert_array_equal(numpy.asarray(got), (data + 2.0)[:20, places])


def test_small_calls_of_ufuncs_into_memory_and_of_their_methods() -> None:
    data = numpy.linspace(0.5, 2.5, 12)
    x, out = lazyarray.array(data), lazyarray.zeros(12)
    with lazyarray.record_runs() as runs:
        assert lazyarray.exp(x, out=out) is out
        numpy.testing.assert_array_equal(numpy.asarray(out), numpy.asarray(lazyarray.exp(x)))
        assert lazyarray.power(x, 1.5, out=(out,)) is out
        numpy.testing.assert_array_equal(numpy.asarray(out), numpy.asarray(lazyarray.power(x, 1.5)))
        halves = lazyarray.zeros(12, "f4")
        lazyarray.log(x, out=halves)
        numpy.testing.assert_array_equal(numpy.asarray(halves), numpy.asarray(lazyarray.log(x)).astype("f4"))
        numpy.testing.assert_array_equal(lazyarray.maximum.accumulate(x), numpy.maximum.accumulate(data))
        numpy.testing.assert_array_equal(lazyarray.add.reduceat(x, [0, 5]), numpy.add.reduceat(data, [0, 5]))
        lazyarray.add.at(x, lazyarray.array([1, 1]), 2.0)
        numpy.add.at(data, [1, 1], 2.0)
        numpy.testing.assert_array_equal(x, data)
    assert not runs.kernels
    with pytest.raises(TypeError):
        lazyarray.exp(x, out=lazyarray.zeros(12, int))
    with pytest.raises(ValueError, match="broadcast"):
        lazyarray.exp(x, out=lazyarray.zeros(11))


def test_lists_of_small_arrays_are_stacked() -> None:
    parts = [numpy.arange(3.0), numpy.arange(3.0) + 1]
    made = lazyarray.array([lazyarray.array(part) for part in parts])
    assert type(made) is lazyarray.ndarray
    numpy.testing.assert_array_equal(made, numpy.array(parts))
    mixed = lazyarray.array([lazyarray.arange(2), lazyarray.array([0.5, 1.5])])
    assert mixed.dtype == numpy.array([numpy.arange(2), numpy.array([0.5, 1.5])]).dtype
    held = lazyarray.array([lazyarray.arange(2), None], dtype=object)
    assert type(held[0]) is lazyarray.ndarray
    with pytest.raises(ValueError, match="inhomogeneous"):
        lazyarray.array([lazyarray.arange(2), lazyarray.arange(3)])
