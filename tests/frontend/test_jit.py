"""Holds `jit`: calls of one kind are recorded once and then only launched; what cannot be replayed is called."""

import copy
import pickle
import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np


def both(size: int = 1000) -> tuple[Any, Any]:
    return np.linspace(0.5, 1.0, size), np.linspace(1.0, 2.0, size)


@pytest.mark.parametrize("size", [0, 1, 10, 1000, 100_000])
def test_replayed_calls_give_the_bits_of_the_first(size: int) -> None:
    runs = []

    @np.jit
    def activation(x: Any, y: Any) -> Any:
        runs.append(1)
        a = np.exp(-x * x) * 2.0 + y
        return a / (1 + a), a.sum()

    x, y = both(size)
    plain = activation.function(x, y)
    for _ in range(3):
        found = activation(x, y)
        assert type(found) is tuple
        for ours, theirs in zip(found, plain, strict=True):
            numpy.testing.assert_array_equal(numpy.asarray(ours), numpy.asarray(theirs))
            assert isinstance(ours, numpy.floating) == isinstance(theirs, numpy.floating)
    assert len(runs) == 2  # once by hand, once recorded


def test_other_values_of_the_same_kind_are_replayed_on() -> None:
    scale = np.jit(lambda x, k: x * k)
    x, y = both()
    scale(x, 2.0)
    numpy.testing.assert_array_equal(scale(y, 2.0), numpy.asarray(y) * 2.0)
    assert len(scale.misses) == 1
    numpy.testing.assert_array_equal(scale(y, 3.0), numpy.asarray(y) * 3.0)  # a number is of another kind
    numpy.testing.assert_array_equal(scale(y.astype("f4"), 3.0), numpy.asarray(y).astype("f4") * 3.0)
    assert len(scale.misses) == 3


def test_arguments_are_not_written_by_replays_and_results_are_new() -> None:
    f = np.jit(lambda x: x * 2.0)
    x, _ = both()
    kept = numpy.array(x)
    first, second = f(x), f(x)
    first[:] = 0
    numpy.testing.assert_array_equal(second, kept * 2.0)
    numpy.testing.assert_array_equal(x, kept)


def test_what_is_written_into_arguments_is_seen() -> None:
    @np.jit
    def add_one(x: Any) -> Any:
        x += 1
        return x * 2

    x = np.ones(5)
    for turn in range(3):
        assert add_one(x).tolist() == [2.0 * (turn + 2)] * 5
        assert x.tolist() == [turn + 2.0] * 5
    assert "writes an argument" in add_one.misses[0]


@pytest.mark.parametrize("function", [lambda x: x[1:], lambda x: x, lambda x: x.T], ids=["slice", "itself", "T"])
def test_views_of_arguments_alias_them(function: Any) -> None:
    shown = np.jit(function)
    for _ in range(2):
        x = np.ones(5)
        shown(x)[0] = 7
        assert 7 in x.tolist()


def test_branches_on_values_are_taken_call_by_call() -> None:
    @np.jit
    def away_from_zero(x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x - 1

    x = np.ones(1000)
    assert [float(away_from_zero(v)[0]) for v in (x, -x, x)] == [2.0, -2.0, 2.0]
    assert "cut by an evaluation" in away_from_zero.misses[0]


def test_arrays_that_are_no_arguments_are_read_anew() -> None:
    weights = np.ones(1000)
    weigh = np.jit(lambda x: x * weights)
    x, _ = both()
    weigh(x)
    weights[:] = 3.0
    numpy.testing.assert_array_equal(weigh(x), numpy.asarray(x) * 3.0)
    draw = np.jit(lambda x: x + np.random.default_rng().random(x.shape))
    assert (draw(x) != draw(x)).all()


def test_warnings_are_told_at_each_call() -> None:
    divide = np.jit(lambda x, y: x / y)
    x, y = np.ones(1000), np.zeros(1000)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            np.evaluate(divide(x, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.evaluate(divide(x, x))


def test_errors_are_the_functions_own() -> None:
    f = np.jit(lambda x, y: x + y)
    for _ in range(2):
        with pytest.raises(ValueError, match="could not be broadcast"):
            f(np.ones(3), np.ones(4))


def test_methods_keywords_and_static_arguments() -> None:
    class Model:
        gain = 2.0

        @np.jit
        def scale(self: Any, x: Any) -> Any:
            return x * self.gain

    x, _ = both(10)
    model = Model()
    numpy.testing.assert_array_equal(model.scale(x), numpy.asarray(x) * 2.0)
    model.gain = 3.0
    numpy.testing.assert_array_equal(model.scale(x), numpy.asarray(x) * 3.0)

    @np.jit(static=("mode",))
    def shift(x: Any, *, mode: Any = ("up", 1)) -> Any:
        return x + mode[1]

    assert shift(x, mode=("up", 2)).tolist() == (numpy.asarray(x) + 2).tolist()
    assert shift.misses[-1].endswith("recorded")
    assert shift.__name__ == "shift"


def test_arguments_that_are_equal_and_compute_something_else_are_told_apart() -> None:
    x, _ = both(10)

    @np.jit(static=("by",))
    def scale(a: Any, s: Any = 1, *, by: Any = (1,)) -> Any:
        return a * s * by[0]

    same = [(0.0, -0.0), (1, True, 1.0), (1 + 0j, complex(1, -0.0))]
    for numbers in same:
        for s in numbers:
            want = numpy.asarray(x) * s * 1
            have = numpy.asarray(scale(x, s))
            assert have.dtype == want.dtype
            assert have.tobytes() == want.tobytes(), s
    assert len(scale.misses) == sum(map(len, same))
    for by in (2,), (2.0,), (numpy.float32(2),), (-0.0,), (0.0,):
        want = numpy.asarray(x) * 1 * by[0]
        assert numpy.asarray(scale(x, by=by)).tobytes() == want.tobytes(), by


def test_numbers_of_classes_of_their_own_are_themselves() -> None:
    class Named(float):
        def __repr__(self) -> str:
            return "Named"

    x, _ = both(10)
    scale = np.jit(lambda a, *, by: a * float(by), static=("by",))
    for by in Named(1.0), Named(2.0):
        assert scale(x, by=by).tolist() == (numpy.asarray(x) * float(by)).tolist()
    sign = np.jit(lambda a, *, by: np.copysign(a, by), static=("by",))
    for by in float("nan"), -float("nan"):
        assert sign(x, by=by).tolist() == numpy.copysign(numpy.asarray(x), by).tolist()


def test_jitted_functions_are_copied() -> None:
    double = np.jit(abs, static=("by",))
    again = copy.copy(double)
    assert again.function is abs
    assert again.static == double.static
    assert pickle.loads(pickle.dumps(double)).function is abs


def test_real_parts_of_another_sign_of_zero_are_told_apart() -> None:
    x, _ = both(10)
    scale = np.jit(lambda a, s: a * s)
    for s in complex(0.0, 1), complex(-0.0, 1):
        assert numpy.asarray(scale(x, s)).tobytes() == (numpy.asarray(x) * s).tobytes(), s


def put_values(module: Any, x: Any, m: Any) -> Any:
    y = x * 1.0
    y[m] = x[m]
    return y


def put_places(module: Any, x: Any, i: Any) -> Any:
    y = x * 1.0
    y[i] = 2.0
    return y


COUNTS = numpy.arange(20_000) % 100
MASKS = (COUNTS < 50, COUNTS < 50, COUNTS < 30)
PLACES = (COUNTS, COUNTS, numpy.where(COUNTS == 5, 20_100, COUNTS))


@pytest.mark.parametrize(
    ("function", "second"),
    [
        (lambda module, x, m: x[m] * 2.0, MASKS),
        (lambda module, x, m: module.nonzero(m)[0], MASKS),
        (lambda module, x, m: module.argwhere(m), MASKS),
        (lambda module, x, m: module.compress(m, x), MASKS),
        (lambda module, x, m: x.reshape(100, 200)[m[:100]], MASKS),
        (put_values, MASKS),
        (lambda module, x, i: x[i], PLACES),
        (lambda module, x, i: module.take(x, i), PLACES),
        (put_places, PLACES),
        (lambda module, x, i: module.bincount(i), (COUNTS, COUNTS, COUNTS * 7, -COUNTS)),
    ],
)
def test_what_depends_on_values_is_as_the_values_of_each_call(function: Any, second: Any) -> None:
    x = numpy.linspace(0.0, 1.0, COUNTS.size)
    called = np.jit(lambda *args: function(np, *args))
    for other in second:
        said = []
        for module, compiled in ((numpy, lambda *args: function(numpy, *args)), (np, called)):
            try:
                found = numpy.asarray(compiled(module.array(x), module.array(other)))
                said.append((found.dtype, found.shape, found.tobytes()))
            except (IndexError, ValueError) as error:
                said.append((type(error), str(error)))
        assert said[1] == said[0]


@pytest.mark.parametrize("size", [20, 400])
def test_results_of_replays_lie_in_memory_as_those_of_the_first_call(size: int) -> None:
    x = numpy.arange(size * (size + 1.0)).reshape(size, size + 1)
    called = np.jit(lambda x: (x.T + 1.0, x * 2.0, (x + x).T - 3.0, x.sum()))
    for _ in range(4):
        found = called(np.array(x))
        want = x.T + 1.0, x * 2.0, (x + x).T - 3.0
        for ours, theirs in zip(found, want, strict=False):
            assert ours.strides == theirs.strides
            assert ours.flags.owndata
            assert ours.base is None
            numpy.testing.assert_array_equal(numpy.asarray(ours), theirs)
        found[0][0] = -5.0
        numpy.testing.assert_array_equal(numpy.asarray(called(np.array(x))[0]), want[0])
    assert len(called.misses) == 1
