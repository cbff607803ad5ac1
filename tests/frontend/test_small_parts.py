"""Parts, copies and new arrays of small ones are NumPy's: values, dtypes, strides, flags, what is shared, errors."""

from __future__ import annotations

import gc
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray, to_numpy
from tests.frontend.test_small_operations import LAYOUTS


def _unaligned() -> Any:
    raw = numpy.zeros(8 * 6 + 1, "u1")
    found = raw[1:].view("f8")
    found[:] = [5.0, 3.0, -1.0, 0.5, 2.0, 7.0]
    return found


def _fixed() -> Any:
    found = numpy.arange(12.0).reshape(3, 4)
    found.flags.writeable = False
    return found


SOURCES: dict[str, Callable[[], Any]] = {
    **{
        f"{name} of {code}": lambda make=make, code=code: make(code) for name, make in LAYOUTS.items() for code in "d?F"
    },
    "no axes": lambda: numpy.array(2.5),
    "other bytes first": lambda: numpy.arange(6.0).astype(">f8"),
    "objects": lambda: numpy.array([1, "two", None, 4.0], object),
    "records": lambda: numpy.array([(1, 2.0), (3, 4.0)], [("x", "i4"), ("y", "f8")]),
    "texts": lambda: numpy.array([["a", "bc"], ["def", ""]]),
    "dates": lambda: numpy.array(["2020-01-01", "NaT"], "M8[D]"),
    "unaligned": _unaligned,
    "read-only": _fixed,
    "broadcast": lambda: numpy.broadcast_to(numpy.arange(3.0), (2, 3)),
    "one of many": lambda: numpy.arange(10.0)[::4][:1],
    "many axes": lambda: numpy.arange(16.0).reshape((1,) * 14 + (4, 4)),
}
_ = slice(None)
KEYS: tuple[Any, ...] = (
    0, 1, -1, -3, 5, 2**70, -(2**63), True, 1.0, None, ..., (), _, slice(1, 3), slice(None, None, -1), slice(3, 1),
    slice(-2, None), slice(1, None, 2), slice(10, 20), slice(None, None, 0), slice(None, 2**70), slice(0.5, None),
    slice(numpy.int64(1), None), (0,), (1, 2), (-1, -1), (0, ...), (..., 0), (..., None), (None, 0), (_, 1),
    (_, None, 1), (slice(1, 3), slice(1, 3)), (slice(None, None, -2), ...), (..., ...), (0, 0, 0), (0, 0, 0, 0),
    (_, _, _, _), (1, _, 0),
    (None,) * 20, numpy.int64(1), (numpy.int64(0), _), "x", ["y"], (slice(1, 1), 0),
)  # fmt: skip


def place_of(found: Any, source: Any) -> Any:
    """Where the array begins in the source's memory, or None where it has its own."""
    if not numpy.may_share_memory(found, source):
        return None
    return found.__array_interface__["data"][0] - source.__array_interface__["data"][0]


def told(found: Any, source: Any) -> Any:
    """All that can be seen of a result."""
    if isinstance(found, BaseException):
        return type(found), str(found)
    if not isinstance(found, numpy.ndarray | ndarray):
        return type(found), repr(found)
    memory = to_numpy(found) if type(found) is ndarray else found
    shape = memory.shape, memory.strides, memory.dtype, str(memory.flags)
    return *shape, memory.base is None, place_of(memory, source), memory.tolist()


def tried(program: Callable[[Any, Any], Any], space: Any, array: Any) -> tuple[Any, list[str]]:
    """The program's result or error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = program(space, array)
        except Exception as error:
            found = error
    return found, [f"{warning.category.__name__}: {warning.message}" for warning in caught]


def agree(program: Callable[[Any, Any], Any], make: Callable[[], Any]) -> None:
    """Asserts that the program does the same with lazyarray's array over the same memory, result and memory."""
    ours, theirs = make(), make()
    want, warned = tried(program, numpy, theirs)
    got, also_warned = tried(program, lazyarray, lazyarray.asarray(ours))
    assert warned == also_warned
    assert repr(ours.tolist()) == repr(theirs.tolist())
    assert repr(told(got, ours)) == repr(told(want, theirs))


@pytest.mark.parametrize("name", SOURCES)
def test_a_part_is_what_numpy_shows_at_the_key(name: str) -> None:
    for key in KEYS:
        agree(lambda m, a, key=key: a[key], SOURCES[name])


@pytest.mark.parametrize("name", SOURCES)
def test_masks_and_places_pick_what_numpy_picks(name: str) -> None:
    picks: list[Callable[[Any, Any], Any]] = [
        lambda m, a: a[m.arange(len(a)) % 2 == 0],
        lambda m, a: a[m.arange(2 * len(a))[::2] % 4 == 0],
        lambda m, a: a[m.zeros(len(a), bool)],
        lambda m, a: a[m.zeros(len(a) + 1, bool)],
        lambda m, a: a[m.array([0, -1, 0])],
        lambda m, a: a[m.array([0, 9999])],
        lambda m, a: a[m.array([], int)],
        lambda m, a: a[m.array([[0, 0], [0, 0]])],
        lambda m, a: a[m.array([0], "u1")],
        lambda m, a: a[m.array([0.0])],
    ]
    for pick in picks:
        agree(pick, SOURCES[name])


# Objects are refused in words of another of NumPy's functions. NumPy makes its message of shapes that do not match
# while another error is set; where Python 3.12 collects garbage at that moment, it says so (with NumPy alone, too).
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", [name for name in SOURCES if name != "objects"])
def test_masks_and_places_are_written_as_by_numpy(name: str) -> None:
    indices: list[Callable[[Any, Any], Any]] = [
        lambda m, a: m.arange(len(a)) % 2 == 0,
        lambda m, a: m.zeros(len(a), bool),
        lambda m, a: m.array([0, -1, 0]),
        lambda m, a: m.array([0, 9999]),
        lambda m, a: m.array([], int),
        lambda m, a: m.array([[0, 0]]),
    ]
    for index in indices:
        for value in (
            lambda m, a, at: a[at],
            lambda m, a, at: a[:3],
            lambda m, a, at: m.array([1.0, 2.0, 3.0]),
            lambda m, a, at: m.array([1, 2, 3]),
            lambda m, a, at: m.array([1.0]),
            lambda m, a, at: 2.5,
            lambda m, a, at: 7,
            lambda m, a, at: numpy.float64(0.5),
            lambda m, a, at: 1j,
        ):

            def write(m: Any, a: Any, index: Any = index, value: Any = value) -> None:
                at = index(m, a)
                a[at] = value(m, a, at)

            agree(write, SOURCES[name])


def test_places_of_an_array_written_through_itself_are_read_first() -> None:
    agree(lambda m, a: a.__setitem__(a, 1), lambda: numpy.array([3, 2, 1, 0]))
    agree(lambda m, a: a.__setitem__(a, a[::-1]), lambda: numpy.array([3, 2, 1, 0]))
    agree(lambda m, a: a.__setitem__(m.array([0, 1, 2]), a[1:]), lambda: numpy.array([3.0, 2.0, 1.0, 0.0]))


VALUES: tuple[Any, ...] = (
    0.5, 7, -1, 300, 2**40, 2**70, float("nan"), 1e300, 1j, True, "z", None, numpy.float64(2.5), numpy.float32(2.5),
    numpy.int64(9), numpy.bool_(True),
)  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_a_number_written_to_a_part_is_there_or_refused_as_by_numpy(name: str) -> None:
    for key in KEYS:
        for value in VALUES:
            agree(lambda m, a, key=key, value=value: a.__setitem__(key, value), SOURCES[name])


@pytest.mark.parametrize("name", SOURCES)
def test_an_array_written_to_a_part_is_there_or_refused_as_by_numpy(name: str) -> None:
    for key in KEYS:
        if key is True and name == "objects":
            continue  # refused, in words of another of NumPy's functions
        for value in (
            lambda m, a, key=key: a[key],
            lambda m, a: a,
            lambda m, a: a[::-1],
            lambda m, a: m.array([1.0, 2.0]),
            lambda m, a: m.array([[1.0]]),
            lambda m, a: m.arange(3),
            lambda m, a: m.array(4.0),
            lambda m, a: m.array([1j, 2j]),
            lambda m, a: numpy.array([5.0, 6.0]),
        ):
            agree(lambda m, a, key=key, value=value: a.__setitem__(key, value(m, a)), SOURCES[name])


SHAPES: tuple[Any, ...] = ((-1,), (-1, 1), (1, -1), (3, 4), (4, -1), (-1, -1), (0,), (2, 3, 2), (12,), (11,), (-2,), ())


@pytest.mark.parametrize("name", SOURCES)
def test_what_methods_make_is_laid_out_as_numpys(name: str) -> None:
    made: list[Callable[[Any, Any], Any]] = [
        lambda m, a: a.copy(),
        lambda m, a: a.flatten(),
        lambda m, a: a.ravel(),
        lambda m, a: a.transpose(),
        lambda m, a: a.T,
        lambda m, a: a.argsort(),
        lambda m, a: a.view(),
        lambda m, a: a.squeeze(),
        lambda m, a: a.imag,
        lambda m, a: a.real,
        lambda m, a: m.size(a),
        lambda m, a: m.ascontiguousarray(a),
        lambda m, a: m.asfortranarray(a),
        lambda m, a: m.array(a),
        lambda m, a: m.asarray(a),
        lambda m, a: m.asarray(a, float),
        lambda m, a: m.asarray(a, dtype=int),
        lambda m, a: m.array(a, dtype=float),
        lambda m, a: m.array(a, numpy.float32),
        lambda m, a: m.array(a, dtype="f4", order="F"),
        lambda m, a: m.copy(a),
        lambda m, a: m.copy(a, "F"),
        lambda m, a: m.copy(a, dtype=float),
        lambda m, a: a.astype(dtype=float),
        lambda m, a: a.copy(dtype=float),
        lambda m, a: a.reshape(dtype=1),
        lambda m, a: m.zeros_like(a, dtype=int),
        lambda m, a: m.zeros_like(a, bool),
        lambda m, a: a.nonzero(),
        lambda m, a: m.asanyarray(a),
        lambda m, a: m.ravel(a),
        lambda m, a: m.transpose(a),
        lambda m, a: m.zeros_like(a),
        lambda m, a: m.empty_like(a) * 0 if a.dtype.kind in "fb" else 0,
        *[
            lambda m, a, kind=kind: a.astype(kind)
            for kind in (int, float, bool, "f4", "i4", str, numpy.int64, numpy.float32)
        ],
        *[lambda m, a, shape=shape: a.reshape(shape) for shape in SHAPES],
        *[lambda m, a, shape=shape: a.reshape(*shape) for shape in SHAPES],
    ]
    for program in made:
        agree(program, SOURCES[name])


def nothing() -> Any:
    """No memory that a program shares."""
    return numpy.empty(0)


def test_an_array_asked_for_as_an_array_is_itself() -> None:
    a = lazyarray.array([1.0, 2.0])
    assert lazyarray.asarray(a) is a
    assert lazyarray.asanyarray(a) is a
    assert lazyarray.array(a) is not a


@pytest.mark.parametrize(
    "items",
    [
        [], [1.0, 2.0], [1, 2], [1, 2.0], [True, 2], [1, 2**63], [2**64], [2**70], [1.5, float("nan"), -0.0], (3.0,),
        (1, 2), [[1, 2], (3, 4)], [[1, 2.5], [3.0, 4]], [[1, 2], [3]], [[1], 2], [[], []], [[[1.0]]], [[2**70, 1.0]],
        [0.5, -3], [[1.0] * 9] * 9, [1, None], ["a"], [[1.0], [2.0]], [1.0, [2.0]], [1j, 2.0],
        [numpy.float64(1.0), 2.0], list(range(65)),
        5, 2.5, "text", None, range(3),
    ],
    ids=repr,
)  # fmt: skip
def test_items_make_the_array_that_numpy_makes(items: Any) -> None:
    for name in ("array", "asarray", "asanyarray"):
        agree(lambda m, a, name=name: getattr(m, name)(items), nothing)
        for dtype in (float, int, bool, numpy.float32, "f4"):
            agree(lambda m, a, name=name, dtype=dtype: getattr(m, name)(items, dtype), nothing)
            agree(lambda m, a, name=name, dtype=dtype: getattr(m, name)(items, dtype=dtype), nothing)


@pytest.mark.parametrize(
    "shape", [0, 3, (), (2,), (2, 3), (0, 4), (1,) * 20, -1, (2, -1), True, 2.0, [2, 3], "a", None]
)
def test_new_arrays_have_the_shape_that_numpy_reads(shape: Any) -> None:
    for name in ("zeros", "ones", "arange"):
        agree(lambda m, a, name=name: getattr(m, name)(shape), nothing)
    for name in ("zeros", "ones"):
        for dtype in (float, int, bool, numpy.int32, "f4", None):
            agree(lambda m, a, name=name, dtype=dtype: getattr(m, name)(shape, dtype), nothing)
            agree(lambda m, a, name=name, dtype=dtype: getattr(m, name)(shape, dtype=dtype), nothing)
    agree(lambda m, a: m.multiply(m.empty(shape, int), 0), nothing)


def test_new_arrays_from_the_limit_on_are_recorded() -> None:
    limit = lazyarray.config.eager_below
    for name in ("zeros", "ones", "arange"):
        assert getattr(lazyarray, name)(limit - 1)._np is not None
        assert getattr(lazyarray, name)(limit)._np is None


def test_wrong_arguments_are_refused_in_numpys_words() -> None:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda m, a: m.concatenate((a, a), 0, None, 1, 2, 3),
        lambda m, a: m.concatenate((a, a), axes=0),
        lambda m, a: m.clip(a, lowest=0),
        lambda m, a: m.where(a, a),
        lambda m, a: m.stack((a, a), 0, 0, 0, 0),
        lambda m, a: m.select(a, 5),
        lambda m, a: m.hstack(5),
        lambda m, a: m.sort(a, nothing=1),
        lambda m, a: a.copy("X"),
        lambda m, a: a.copy(1, 2),
        lambda m, a: a.argsort(5),
        lambda m, a: a.astype(),
        lambda m, a: a.astype(int, "C", "safe"),
        lambda m, a: a.reshape(),
        lambda m, a: a.transpose(1),
        lambda m, a: m.zeros(),
    ]
    for call in calls:
        agree(call, lambda: numpy.arange(4.0))


def test_a_number_of_numpys_and_an_array_meet_in_numpys_ufunc() -> None:
    for number in (numpy.float64(3.0), numpy.float64(0.0), numpy.float32(2.0), numpy.int8(3)):
        for code in ("d", "f", "h", "F", "?", "O"):
            for program in (
                lambda m, a, number=number: number * a,
                lambda m, a, number=number: number - a,
                lambda m, a, number=number: number / a,
                lambda m, a, number=number: number**a,
                lambda m, a, number=number: number < a,
                lambda m, a, number=number: m.multiply(number, a),
            ):
                with numpy.errstate(all="ignore"):
                    agree(program, lambda code=code: numpy.array([0, 1, 2]).astype(code))


@pytest.mark.parametrize("code", ["d", "f", "e", "i", "B", "?", "D", "O"])
def test_squares_and_roots_are_numpys(code: str) -> None:
    for program in (
        lambda m, a: a**2,
        lambda m, a: a[0:1].reshape(()) ** 2,
        lambda m, a: a[1:2].reshape(()) ** 0.5,
        *([lambda m, a: a**0.5] if code in "dO" else []),
    ):
        agree(program, lambda: numpy.array([0, 1, 4, 9]).astype(code))
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        lazyarray.array([-1.0, 4.0]) ** 0.5


def test_reductions_of_ufuncs_are_numpys() -> None:
    calls: list[Callable[[Any, Any], Any]] = [
        lambda m, a: m.add.reduce(a),
        lambda m, a: m.add.reduce(a, None),
        lambda m, a: m.add.reduce(a, 1),
        lambda m, a: m.add.reduce(a, -3),
        lambda m, a: m.add.reduce(a, 2**70),
        lambda m, a: m.add.reduce(a, (0, 1)),
        lambda m, a: m.add.reduce(a, axis=1, keepdims=True),
        lambda m, a: m.maximum.reduce(a, 0, initial=2.0),
        lambda m, a: m.subtract.reduce(a),
        lambda m, a: m.exp.reduce(a),
        lambda m, a: m.logical_and.reduce(a, axis=0),
    ]
    for call in calls:
        agree(call, lambda: numpy.arange(6.0).reshape(2, 3))


class Marked(lazyarray.ndarray):
    """A class of the program's own, derived from arrays."""


def test_derived_classes_stay_what_they_are() -> None:
    a = numpy.arange(4.0).view(Marked)
    assert type(a[1:3]) is Marked
    assert type(a.copy()) is Marked
    assert type(numpy.float64(2.0) * a) is Marked


def test_an_iterator_over_elements_is_made_as_often_as_asked_for() -> None:
    a = lazyarray.arange(6.0).reshape(2, 3)
    made = [a.flat for _ in range(300)]
    assert all(type(one) is lazyarray.flatiter and one.base is a for one in made)
    assert next(made[0]) == 0.0
    assert [next(made[0]), made[0].index, next(made[1])] == [1.0, 2, 0.0]
    made[5][1:3] = 9.0
    assert a.tolist() == [[0.0, 9.0, 9.0], [3.0, 4.0, 5.0]]
    a.flat = 7.0
    assert a.tolist() == [[7.0] * 3] * 2
    with pytest.raises(AttributeError, match="Cannot delete array flat iterator"):
        del a.flat


def test_an_iterator_lets_its_array_go() -> None:
    a = lazyarray.arange(6.0)
    gone = weakref.ref(a)
    iterator = a.flat
    del a
    assert gone() is not None
    del iterator
    assert gone() is None


def test_arrays_made_of_earlier_ones_are_found_by_the_garbage_collector() -> None:
    class Holder:
        itself: Any
        array: Any

    for _ in range(300):
        holder = Holder()
        holder.itself, holder.array = holder, lazyarray.arange(3.0)[1:]
    gone = weakref.ref(holder.array)
    assert gc.is_tracked(holder.array)
    del holder
    gc.collect()
    assert gone() is None


def test_an_array_that_was_found_before_its_turn_is_not_given_out_again() -> None:
    for _ in range(10):
        lazyarray.arange(3.0)
    kept = [item for item in gc.get_objects() if type(item) is lazyarray.ndarray]
    fresh = [lazyarray.arange(3.0) for _ in range(300)]
    assert not {id(item) for item in kept} & {id(item) for item in fresh}


def test_what_goes_through_all_objects_may_ask_for_their_sizes() -> None:
    for _ in range(10):
        made = [lazyarray.arange(3.0) * 2.0 for _ in range(20)]
        del made
    for item in [item for item in gc.get_objects() if type(item) is lazyarray.ndarray]:
        assert sys.getsizeof(item) > 0
    assert lazyarray.arange(3.0).tolist() == [0.0, 1.0, 2.0]


def test_the_array_of_a_view_is_found_whatever_the_garbage_collector_has_seen() -> None:
    for _ in range(20):
        made = [lazyarray.arange(6.0) * 2.0 for _ in range(40)]
        views = [one[1:] for one in made]
        gc.collect()
        assert all(view.base is one for view, one in zip(views, made, strict=True))
