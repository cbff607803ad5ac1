"""Claims about agreement with NumPy that its own test suite, run on lazyarray, showed to be needed."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import lazyarray


@pytest.fixture(params=[4096, 0], ids=["eager", "recorded"], autouse=True)
def eager_below(request: pytest.FixtureRequest) -> Iterator[int]:
    with lazyarray.config.set(eager_below=request.param):
        yield request.param


def outcome(function: Any) -> Any:
    """What the function returns as lists, or its error's class and message."""
    try:
        result = function()
    except Exception as error:
        return type(error).__name__, str(error)
    return result.tolist() if hasattr(result, "tolist") else result


def agree(function: Any) -> None:
    """`function(np)` gives the same with both packages."""
    assert outcome(lambda: function(lazyarray)) == outcome(lambda: function(numpy))


# ---- ufuncs


def test_ufuncs_are_of_the_namespaces_type() -> None:
    assert isinstance(lazyarray.add, lazyarray.ufunc)
    assert isinstance(lazyarray.matmul, lazyarray.ufunc)
    assert isinstance(numpy.add, lazyarray.ufunc)
    assert isinstance(lazyarray.frompyfunc(len, 1, 1), lazyarray.ufunc)
    assert not isinstance(len, lazyarray.ufunc)
    assert repr(type(lazyarray.add)) == "<class 'numpy.ufunc'>"


def test_overrides_see_a_ufunc_that_equals_the_namespaces() -> None:
    class Override:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return {numpy.multiply: "NumPy's"}[ufunc], ufunc == lazyarray.multiply, {lazyarray.multiply: 1}[ufunc]

    assert lazyarray.multiply(Override(), 2) == ("NumPy's", True, 1)
    assert lazyarray.add != lazyarray.multiply


def test_functions_written_in_c_are_not_bound_as_attributes_of_classes() -> None:
    class Holder:
        array = lazyarray.array
        zeros = lazyarray.zeros
        product = lazyarray.matmul

    assert Holder().array([1, 2], "f4").dtype == "f4"
    assert Holder().zeros(3).tolist() == [0.0] * 3
    assert Holder().product([1, 2], [3, 4]) == 11
    assert pickle.loads(pickle.dumps(lazyarray.array)) is lazyarray.array
    assert lazyarray.array.__name__ == "array"


@pytest.mark.parametrize("name", ["matmul", "vecdot"])
def test_products_write_into_outputs_given_by_position(name: str) -> None:
    x = lazyarray.ones((3, 3))
    out = lazyarray.zeros((3, 3, 2))
    place = out[..., 1] if name == "matmul" else out[0, :, 1]
    assert getattr(lazyarray, name)(x, x, place) is place
    assert out.sum() == (27 if name == "matmul" else 9)


def test_products_refuse_what_numpy_refuses() -> None:
    for call in (
        lambda np: np.matmul(np.ones((2, 2))),
        lambda np: np.matmul(*[np.ones((2, 2))] * 4),
        lambda np: np.matmul.outer(np.ones((2, 2)), np.ones((2, 2))),
        lambda np: np.matmul.at(np.ones((2, 2)), [0], np.ones((2, 2))),
    ):
        agree(call)


def test_refused_casts_of_python_numbers_do_not_crash() -> None:
    program = (
        "import lazyarray as np\n"
        "for _ in range(50):\n"
        "    for options in ({'dtype': 'f4', 'casting': 'equiv'}, {'dtype': 'i8'}, {'out': np.empty(3, 'i4')}):\n"
        "        try:\n"
        "            np.add(np.ones(3), 2.5, **options)\n"
        "        except TypeError:\n"
        "            continue\n"
        "        raise SystemExit('not refused')\n"
    )
    options = "import lazyarray\nlazyarray.config.eager_below = 0\n"
    done = subprocess.run([sys.executable, "-c", options + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    agree(lambda np: np.add(np.ones(3), 2.5, dtype="f4", casting="equiv"))
    agree(lambda np: np.add(np.ones(3), 2.5, dtype="i8"))


def test_power_takes_lists_with_keywords() -> None:
    agree(lambda np: np.power(np.array([2.0, 3.0]), [2, 3], out=np.zeros(2), where=[True, False]))


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2", "arctan2"])
def test_accumulating_has_the_bits_of_repeated_calls(name: str) -> None:
    function = getattr(lazyarray, name)
    values = lazyarray.array([0.0, 1.0, 2.0] * 30)
    repeated = numpy.array(list(itertools.accumulate(values.tolist(), lambda a, b: float(function(a, b)))))
    assert numpy.array_equal(numpy.asarray(function.accumulate(values)), repeated)


# ---- reductions into outputs


@pytest.mark.parametrize("out", ["f8", "f4", "f2", "i8", "i1"])
@pytest.mark.parametrize("given", ["f4", "i1"])
@pytest.mark.parametrize("name", ["sum", "prod", "max"])
def test_the_output_takes_part_in_choosing_the_loop(name: str, given: str, out: str) -> None:
    values = numpy.random.default_rng(3).uniform(-3, 3, 20001).astype(given)

    def through_function(np: Any) -> Any:
        target = np.zeros((), out)
        getattr(np, name)(np.asarray(values), out=target)
        return target

    def through_ufunc(np: Any) -> Any:
        ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum}[name]
        target = np.zeros((), out)
        ufunc.reduce(np.asarray(values), out=target)
        return target

    with numpy.errstate(all="ignore"):
        agree(through_function)
        agree(through_ufunc)


def test_reductions_write_into_outputs_of_any_kind() -> None:
    values = lazyarray.ones(5)
    theirs = numpy.zeros(())
    assert lazyarray.add.reduce(values, out=theirs) is theirs
    assert theirs == 5.0
    agree(lambda np: np.add.reduce(np.ones(5), out=np.zeros((), object)))
    agree(lambda np: np.add.reduce(np.ones(5), 0, None, "invalid"))


# ---- comparisons without a loop


def test_records_and_types_that_do_not_compare() -> None:
    def records(np: Any) -> Any:
        return np.array([(1, 2), (3, 4)], dtype=[("a", int), ("b", int)])

    agree(lambda np: records(np) == records(np)[::-1])
    agree(lambda np: records(np) != records(np))
    agree(lambda np: np.arange(3) == np.array("a"))
    agree(lambda np: np.arange(3) != np.array(["a", "b", "c"]))
    agree(lambda np: np.arange(3) == "a")
    with pytest.raises(TypeError):
        lazyarray.equal(records(lazyarray), records(lazyarray))


# ---- resizing


@pytest.mark.parametrize("size", [6, 6000])
def test_resizing_checks_what_numpy_checks(size: int) -> None:
    def same_size_with_view(np: Any) -> Any:
        x = np.arange(size) + 0
        view = x[:2]
        x.resize(2, size // 2)
        return x.shape, view.tolist()

    def with_view(np: Any) -> Any:
        x = np.arange(size) + 0
        view = x[:2]
        x.resize(10)
        return view

    def unchecked(np: Any) -> Any:
        x = np.arange(size) + 0
        view = x[:2]
        x.resize((10,), refcheck=False)
        del view
        return x

    def alone(np: Any) -> Any:
        x = np.arange(size) + 0
        x.resize((2, size))
        return x

    def of_view(np: Any) -> Any:
        x = (np.arange(size) + 0)[:4]
        x.resize(5)
        return x

    def with_gaps(np: Any) -> Any:
        x = (np.arange(size) + 0)[::2]
        x.resize(5)
        return x

    def nothing(np: Any) -> Any:
        x = np.arange(size) + 0
        x.resize()
        x.resize(None)
        return x.shape

    for case in (same_size_with_view, with_view, unchecked, alone, of_view, with_gaps, nothing):
        agree(case)
    agree(lambda np: (np.arange(size) + 0).resize(-1))
    agree(lambda np: (np.arange(size) + 0).resize(2, wrong=1))


# ---- objects that turn into arrays


class Convertible:
    """An object whose `__array__` returns whatever array it holds."""

    def __init__(self, array: Any) -> None:
        self.held = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.held


@pytest.mark.parametrize(
    "function",
    [
        lambda np, o, x: np.array(o),
        lambda np, o, x: np.array(o, "f4"),
        lambda np, o, x: np.array([o, o]),
        lambda np, o, x: np.add(o, o),
        lambda np, o, x: np.exp(o) - np.exp(x),
        lambda np, o, x: x + o,
        lambda np, o, x: x == o,
        lambda np, o, x: np.sum(o),
        lambda np, o, x: np.concatenate([o, x]),
        lambda np, o, x: np.stack([o, o]),
        lambda np, o, x: np.dot(o, x),
        lambda np, o, x: np.where(o, o, 1.0),
        lambda np, o, x: np.sort(o),
        lambda np, o, x: np.shape(o),
        lambda np, o, x: np.linspace(0, o, 3),
        lambda np, o, x: x[Convertible(np.array([1, 2]))],
        lambda np, o, x: x.__setitem__(slice(None), o) or x,
        lambda np, o, x: x.__setitem__(Convertible(np.array([1])), Convertible(np.array([7.0]))) or x,
    ],
)
def test_objects_may_turn_into_arrays_of_the_namespace(function: Any) -> None:
    agree(lambda np: function(np, Convertible(np.arange(5.0)), np.arange(5.0)))


def test_the_array_that_an_object_turns_into_is_kept() -> None:
    held = lazyarray.arange(5.0)
    for convert in (lazyarray.array, lazyarray.asarray, lazyarray.asanyarray):
        assert convert(Convertible(held)) is held


# ---- the flat iterator


def test_flat_takes_and_gives_arrays_of_the_namespace() -> None:
    x = lazyarray.arange(5.0)
    assert isinstance(x.flat, lazyarray.flatiter)
    assert type(x.flat[1:3]) is lazyarray.ndarray
    assert x.flat[lazyarray.array([True, False, True, False, True])].tolist() == [0.0, 2.0, 4.0]
    assert x.flat.base is x
    x.flat[lazyarray.array([True, False, True, False, True])] = lazyarray.array([9.0, 8.0, 7.0])
    assert x.tolist() == [9.0, 1.0, 8.0, 3.0, 7.0]
    assert (x.flat == x).tolist() == [True] * 5
    iterator = x.flat
    assert next(iterator) == 9.0
    assert (iterator.index, iterator.coords) == (1, (1,))
    assert lazyarray.array(iterator).tolist() == x.tolist()
    assert list(x.flat) == x.tolist()


# ---- pickling, size and protocols


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "make",
    [
        lambda np: np.arange(6.0).reshape(2, 3).T,
        lambda np: np.arange(12).reshape(3, 4)[:, :2],
        lambda np: np.zeros(3, bytes),
        lambda np: np.zeros((3, 0), "S"),
    ],
)
def test_pickles_keep_dtype_and_layout(make: Any, protocol: int) -> None:
    def taken_back(np: Any) -> Any:
        x = pickle.loads(pickle.dumps(make(np), protocol=protocol))
        return x.dtype.str, x.shape, x.flags.c_contiguous, x.flags.f_contiguous, x.flags.writeable, x.tolist()

    agree(taken_back)


def test_classes_are_pickled_by_reference() -> None:
    assert pickle.loads(pickle.dumps(lazyarray.ndarray)) is lazyarray.ndarray


def test_the_size_in_memory_counts_the_elements() -> None:
    for length in (10, 100, 10000):
        x = lazyarray.ones(length)
        assert sys.getsizeof(x) > 8 * length
        assert sys.getsizeof(x[...]) < sys.getsizeof(x)


def test_arrays_have_numpys_hooks() -> None:
    x = lazyarray.ones(3)
    assert type(x.__array_wrap__(lazyarray.ones(2))) is lazyarray.ndarray
    assert type(x.__array_wrap__(numpy.ones(2))) is lazyarray.ndarray
    assert type(x.__array_struct__) is type(numpy.ones(3).__array_struct__)
    assert x.__array_finalize__(None) is None


# ---- names


@pytest.mark.parametrize(
    "function",
    [
        lambda np: np.ones(3).foo,
        lambda np: np.add.foo,
        lambda np: hash(np.ones(3)),
        lambda np: np.ones(3)(1),
        lambda np: np.ones(3).__delitem__(0),
        lambda np: setattr(np.ones(3), "size", 4),
        lambda np: setattr(np.ones(3), "device", "gpu"),
        lambda np: repr(type(np.ones(3))),
        lambda np: (np.ndarray.__name__, np.ndarray.__module__, np.ndarray.__qualname__),
    ],
)
def test_messages_name_classes_as_numpy_does(function: Any) -> None:
    agree(function)


def test_names_that_numpy_removed_say_what_to_use() -> None:
    with pytest.raises(AttributeError, match="use `float` by itself"):
        lazyarray.float  # noqa: B018


def test_every_listed_name_is_there() -> None:
    assert [name for name in dir(lazyarray) if not hasattr(lazyarray, name)] == []


# ---- subclasses and `like=`


class Tagged(lazyarray.ndarray):  # type: ignore[misc]
    """A program's subclass: NumPy runs it."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return super().__array_function__(func, types, args, kwargs).view(Tagged)


def test_subclasses_are_viewed_as_arrays_of_the_namespace() -> None:
    tagged = lazyarray.array([1.0, 2.0]).view(Tagged)
    assert type(tagged) is Tagged
    for plain in (tagged.view(lazyarray.ndarray), tagged.view(type=lazyarray.ndarray)):
        assert type(plain) is lazyarray.ndarray
        assert plain.tolist() == [1.0, 2.0]
    assert tagged.view("i8").dtype == "i8"


@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray", "zeros", "empty", "ones", "arange"])
def test_like_lets_a_class_decide(name: str) -> None:
    function = getattr(lazyarray, name)

    class Decides:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            assert "like" not in kwargs
            return func, types

    class Refuses:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return NotImplemented

    assert function(3, like=Decides()) == (function, (Decides,))
    assert type(function(3, like=lazyarray.ones(2))) is lazyarray.ndarray
    assert type(function(3, like=lazyarray.ones(2).view(Tagged))) is Tagged
    with pytest.raises(TypeError, match="no implementation found"):
        function(3, like=Refuses())
    for wrong in (1, object()):
        with pytest.raises(TypeError, match="The `like` argument must be an array-like"):
            function(3, like=wrong)


def test_ranges_between_subclasses_are_of_the_subclass() -> None:
    class Quantity(lazyarray.ndarray):  # type: ignore[misc]
        __array_priority__ = 10

    first, last = (numpy.array(x).view(Quantity) for x in (0.0, 1.0))
    assert type(lazyarray.linspace(first, last, 5)) is Quantity


# ---- keys and warnings


def test_subclasses_of_tuple_are_keys_of_several_axes() -> None:
    class Key(tuple):
        pass

    x = lazyarray.arange(25.0).reshape(5, 5)
    assert x[Key(([1], [1]))].tolist() == [6.0]
    assert x[Key((1, 2))] == 7.0
    x[Key((0, slice(2)))] = -1.0
    assert x[0].tolist() == [-1.0, -1.0, 2.0, 3.0, 4.0]


@pytest.mark.skipif(numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="NumPy warns from 2.4 on")
def test_masks_without_output_warn() -> None:
    x = lazyarray.ones(3)
    with pytest.warns(UserWarning, match="'where' used without 'out'"):
        lazyarray.add(x, 1, where=[True, False, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazyarray.add(x, 1, where=[True, False, True], out=None)
        lazyarray.add(x, 1, where=[True, False, True], out=lazyarray.zeros(3))
        lazyarray.add(x, 1, where=True)


def test_overrides_in_outputs_and_masks_are_asked() -> None:
    class Override:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return "asked"

    x = lazyarray.ones(3)
    assert lazyarray.negative(x, out=Override()) == "asked"
    assert lazyarray.negative(x, out=(Override(),)) == "asked"
    assert lazyarray.modf(x, out=(None, Override())) == "asked"
    assert lazyarray.negative(x, where=Override(), out=x) == "asked"


class Informed(lazyarray.ndarray):  # type: ignore[misc]
    """The subclass of NumPy's documentation: its operands as plain arrays, the rest to the class above."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.view(lazyarray.ndarray) if isinstance(x, Informed) else x for x in inputs]
        result = super().__array_ufunc__(ufunc, method, *plain, **options)
        return lazyarray.asarray(result).view(Informed)


def test_subclasses_hand_plain_arrays_to_the_class_above() -> None:
    x = lazyarray.arange(3.0).view(Informed)
    for result in (x + 1, lazyarray.ones(3) + x, lazyarray.multiply(x, x)):
        assert type(result) is Informed
    assert (x + lazyarray.ones(3)).tolist() == [1.0, 2.0, 3.0]


def test_augmented_assignment_keeps_the_left_side() -> None:
    x = y = lazyarray.ones(3)
    y *= lazyarray.ones(3).view(Plain)
    assert y is x

    class Decides:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            return "decided"

    y += Decides()
    assert y == "decided"


class Plain(lazyarray.ndarray):  # type: ignore[misc]
    """A subclass that changes nothing."""


# ---- random numbers


@pytest.mark.parametrize("source", ["function", "state", "generator"])
def test_shuffling_moves_the_items_of_any_sequence(source: str) -> None:
    def shuffled(np: Any) -> Any:
        np.random.seed(3)
        shuffle = {
            "function": np.random.shuffle,
            "state": np.random.RandomState(3).shuffle,
            "generator": np.random.default_rng(3).shuffle,
        }[source]
        pairs = [(i, i) for i in range(10)]
        mixed = [1, np.empty(2), np.empty(0), "text"]
        numbers, rows = np.arange(10.0), np.arange(6000).reshape(-1, 2)
        every_other = rows[::2]
        for sequence in (pairs, mixed, numbers, rows, every_other):
            shuffle(sequence)
        return pairs, [type(item).__name__ for item in mixed], numbers.tolist(), rows.tolist()

    agree(shuffled)


@pytest.mark.parametrize("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_bit_generators_are_seeded_by_arrays(name: str) -> None:
    kind, numpys = getattr(lazyarray.random, name), getattr(numpy.random, name)
    made = kind(lazyarray.array([1, 2]))
    assert type(made) is numpys
    assert isinstance(made, kind)
    assert made.random_raw() == numpys([1, 2]).random_raw()
    assert pickle.loads(pickle.dumps(made)).random_raw() == made.random_raw()
    assert issubclass(numpys, kind)


# ---- threads


def augment(whole: Any, place: int) -> None:
    whole[place] += 1.0


def assign(whole: Any, place: int) -> None:
    whole[place, :] = whole[place] + 1.0


def assign_through_a_view(whole: Any, place: int) -> None:
    part = whole[place]
    part += whole[place] * 0.0 + 1.0


@pytest.mark.parametrize("step", [augment, assign, assign_through_a_view])
def test_threads_write_parts_of_one_array(step: Any) -> None:
    whole = lazyarray.zeros((8, 5000))

    def add(place: int) -> None:
        for _ in range(20):
            step(whole, place)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=add, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert float(whole.sum()) == 8 * 5000 * 20


@pytest.mark.skipif(numpy.lib.NumpyVersion(numpy.__version__) < "2.3.0", reason="NumPy has `out=...` since 2.3")
def test_an_ellipsis_for_the_output_asks_for_arrays() -> None:
    for call in (
        lambda np: np.add(1, 2, out=...),
        lambda np: np.exp(np.array(0.0), out=...),
        lambda np: np.divide(np.ones(2), np.ones(2), out=...),
    ):
        assert type(call(lazyarray)) is lazyarray.ndarray
        agree(call)
    assert [type(part) for part in lazyarray.modf(1.5, out=...)] == [lazyarray.ndarray] * 2
    agree(lambda np: np.add(1, 2, ...))
    agree(lambda np: np.add(1, 2, out=(...,)))


def test_a_start_of_a_range_by_its_name_is_no_stop() -> None:
    for options in ({"start": 100_000}, {"start": 100_000, "step": 2}, {"stop": 5}, {"start": 3, "stop": 9}):
        agree(lambda np, options=options: np.arange(**options))


def test_a_dtype_that_equals_an_arrays_and_is_another_one_is_the_results() -> None:
    strings = lazyarray.array(["a", "b"], dtype=numpy.dtypes.StringDType())
    other = numpy.dtypes.StringDType()
    assert strings.astype(other, copy=False).dtype is other
    assert strings.astype(strings.dtype, copy=False) is strings
    floats = lazyarray.zeros(5000)
    assert floats.astype(numpy.dtype("f8"), copy=False) is floats


def test_all_names_of_the_module_can_be_read_by_who_looks_at_each() -> None:
    """And are NumPy's: `__annotations__`, say, would read the module's dictionary."""
    added = set(lazyarray._OWN)
    assert set(dir(lazyarray)) - added <= set(dir(numpy))
    assert all(hasattr(lazyarray, name) for name in dir(lazyarray))
