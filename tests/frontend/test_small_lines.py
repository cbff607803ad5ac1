"""Small calls that C serves: what they answer is what NumPy answers, errors and identities included."""

import copy
import inspect
import pickle
import warnings
from typing import Any

import numpy
import pytest

import lazyarray

CREATIONS = """
zeros(3) | zeros(-1) | zeros(True) | zeros((2, 0)) | zeros((2, -1)) | zeros((2, 3.0)) | zeros(2**70) | zeros(())
zeros("3")
zeros(3, int) | zeros(3, "i2") | zeros(3, dtype=object) | zeros(3, dtype="nonsense") | zeros() | zeros(2, 3, 4, 5)
zeros(numpy.int64(3)) | zeros([2, 2]) | zeros(3, device="cpu") | zeros(3, like=None) | zeros((2**40, 2**40))
ones((2, 2), dtype=complex) | empty(0) | full(3, 2.5) | full((2,), "x") | full(2, [1, 2]) | full(2, [1, 2, 3])
full(2, None)
arange(3) | arange(0) | arange(-3) | arange(1.5) | arange(1, 2, 0) | arange(0, 1, 0.1) | arange(float("nan"))
arange(1e400)
arange(2**70) | arange(3, dtype="f4") | arange(True) | arange() | arange(5, 1) | arange(5, 1, -2) | arange("3")
linspace(0, 1, 3) | linspace(0, 1, -1) | linspace(0, 1, 0) | linspace(1, 0, 2, dtype=int) | linspace(0, 1, 2.0)
linspace(0, [1, 2], 2) | linspace(0, 1, 3, retstep=True) | eye(3) | eye(0) | eye(-1) | eye(2, dtype=bool) | eye(2.0)
identity(2) | identity(-2) | array([1, 2.0]) | array([]) | array((1, 2)) | array([[1, 2], [3]]) | array([1, "a"])
array(3)
array([None, 1]) | asarray([1, 2]) | asarray((True,)) | asarray(3.0) | asanyarray([1j])
"""


def outcome(make: Any) -> Any:
    """What a call gave: kind, dtype, shape and values, or the error."""
    try:
        found = make()
    except Exception as error:
        return type(error), str(error)
    items = found if type(found) is tuple else (found,)
    return [(numpy.asarray(i).dtype, numpy.shape(i), numpy.asarray(i).tolist()) for i in items]


@pytest.mark.parametrize("call", [call.strip() for row in CREATIONS.split("\n") for call in row.split("|") if row])
def test_new_small_arrays_and_their_errors_are_numpys(call: str) -> None:
    if call.startswith("empty"):
        assert lazyarray.empty(0).shape == (0,)
        return
    wanted, found = (outcome(lambda np=np: eval(f"np.{call}", {"np": np, "numpy": numpy})) for np in (numpy, lazyarray))
    assert str(found) == str(wanted)


@pytest.mark.parametrize(
    "name", ["shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides", "T", "real", "imag"]
)
@pytest.mark.parametrize(
    "make", ["np.arange(6.0)", "np.ones((2, 3), complex)", "np.ones(200_000)", "np.ones((400, 500)).T"]
)
def test_attributes_answer_and_refuse_as_numpys(name: str, make: str) -> None:
    wanted, found = (eval(make, {"np": np}) for np in (numpy, lazyarray))
    assert numpy.array_equal(numpy.asarray(getattr(found, name)), numpy.asarray(getattr(wanted, name)))

    def delete(array: Any) -> None:
        delattr(array, name)

    def put(array: Any) -> None:
        setattr(array, name, "nonsense")

    for change in (delete, put):
        if name not in ("strides",):  # NumPy warns of setting these
            assert outcome(lambda change=change: change(found)) == outcome(lambda change=change: change(wanted))
    assert getattr(type(found), name).__doc__ == getattr(numpy.ndarray, name).__doc__


def test_views_by_attribute_alias_the_array_and_real_is_the_array_itself() -> None:
    for size in (3, 200_000):
        a = lazyarray.zeros((2, size))
        a.T[0, 1] = 5.0
        assert a[1, 0] == 5.0
        assert a.real is a
    z = lazyarray.zeros(3, complex)
    z.real[1] = 2.0
    assert z[1] == 2.0


def test_an_output_is_returned_as_the_array_that_was_given() -> None:
    a, b, mask = lazyarray.arange(3.0), lazyarray.ones(3), lazyarray.array([True, False, True])
    assert lazyarray.add(a, a, out=b) is b
    assert lazyarray.add(a, a, b) is b
    assert lazyarray.multiply(a, 3.0, out=(b,)) is b
    assert lazyarray.subtract(a, 1.0, out=b, where=mask) is b
    assert b.tolist() == [-1.0, 3.0, 1.0]
    assert lazyarray.clip(a, 0, 1, out=a) is a
    assert lazyarray.asarray(a) is a
    assert lazyarray.array(a) is not a
    assert a.conj() is a
    assert lazyarray.concatenate((a, b), out=lazyarray.empty(6)).shape == (6,)


def test_elements_of_object_arrays_are_the_very_objects() -> None:
    inner: list[Any] = [[1, 2], {"a": 1}]
    held = lazyarray.array([None, None])
    held[0], held[1] = inner, numpy.arange(2)
    assert held.item(0) is inner
    assert held.tolist()[0] is inner
    assert type(held.item(1)) is lazyarray.ndarray


def test_numpys_scalars_with_small_arrays_give_arrays() -> None:
    a = lazyarray.arange(3.0)
    for found in (numpy.float64(2.0) * a, numpy.float32(2.0) * a, numpy.int64(2) - a, numpy.float64(1.0) < a):
        assert type(found) is lazyarray.ndarray
    assert (numpy.float64(2.0) * a).tolist() == [0.0, 2.0, 4.0]
    assert (numpy.float32(1.0) * lazyarray.ones(2, "f4")).dtype == "f4"


def test_transcendental_calls_obey_a_changed_error_state_and_changed_settings() -> None:
    a = lazyarray.array([0.5, 800.0])
    with numpy.errstate(over="ignore"):
        before = lazyarray.exp(a).tolist()
    with numpy.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in exp"):
        lazyarray.exp(a)
    with lazyarray.config.set(numerics="numpy"), numpy.errstate(over="ignore"):
        assert lazyarray.exp(a).tolist() == numpy.exp(numpy.array([0.5, 800.0])).tolist()
    with numpy.errstate(over="ignore"):
        assert lazyarray.exp(a).tolist() == before


NUMBER_CALLS = """
sqrt(2.0) | sqrt(numpy.float64(2.0)) | sqrt(-1.0) | sqrt(numpy.float32(2.0))
negative(numpy.float64(-0.0)) | isnan(2.0)
log(0.0) | log(numpy.float64(-1.0)) | exp(numpy.float64(1e9)) | floor(2.5) | sqrt(3) | sqrt(True)
invert(2.0) | sqrt("3")
add.outer(a, a) | multiply.outer(a, b) | less.outer(a, 3.0) | add.outer(a, a, dtype="f4") | minimum.outer(b, a[0])
""".replace("\n", " | ")


@pytest.mark.parametrize("call", [call.strip() for call in NUMBER_CALLS.split("|") if call.strip()])
def test_ufuncs_of_numbers_and_outer_products_are_numpys(call: str) -> None:
    found = []
    for np in (numpy, lazyarray):
        space = {"np": np, "numpy": numpy, "a": np.arange(3.0), "b": np.arange(6).reshape(2, 3)}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = outcome(lambda space=space: eval(f"np.{call}", space))
        found.append((str(result), [(w.category, str(w.message)) for w in told]))
    assert found[0] == found[1]


def test_a_float_obeys_the_error_state_and_settings() -> None:
    for _ in range(2):
        assert lazyarray.exp(numpy.float64(0.3)) == lazyarray.exp(lazyarray.array([0.3]))[0]
        with numpy.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in exp"):
            lazyarray.exp(numpy.float64(800.0))
        with lazyarray.config.set(numerics="numpy"):
            assert lazyarray.exp(0.3) == numpy.exp(0.3)


@pytest.mark.parametrize(
    "key",
    [
        "(i, j)",
        "(i, slice(None))",
        "(..., j)",
        "(None, i, 1)",
        "(mask, j[:2])",
        "(i, 7)",
        "(i, j, j)",
        "(numpy.array([0, 1]), i)",
    ],
)
def test_keys_of_several_arrays_read_and_write_as_numpys(key: str) -> None:
    found = []
    for np in (numpy, lazyarray):
        data = np.arange(12.0).reshape(4, 3)
        space = {"i": np.array([0, 3]), "j": np.array([2, 0]), "mask": np.arange(4) > 1, "numpy": numpy}
        place = eval(key, space)

        def add(data: Any = data, place: Any = place) -> Any:
            data[place] -= 1.5
            data[place] = data[place] * 2.0
            return data

        def read(data: Any = data, place: Any = place) -> Any:
            return data[place]

        found.append([str(outcome(step)) for step in (read, add)])
    assert found[0] == found[1]


def test_functions_and_methods_are_found_by_copies_pickles_and_inspection() -> None:
    for function in (lazyarray.sum, lazyarray.zeros, lazyarray.add, lazyarray.concatenate, lazyarray.ones):
        assert copy.deepcopy(function) is function
        assert pickle.loads(pickle.dumps(function)) is function
    a = lazyarray.arange(3.0)
    bound = a.sum
    assert bound() == lazyarray.ndarray.sum(a) == 3.0
    assert inspect.isroutine(lazyarray.sum)
    assert inspect.isroutine(lazyarray.ndarray.sum)
    assert inspect.signature(lazyarray.sum) == inspect.signature(numpy.sum)


def test_many_handles_that_die_together_are_all_used_again_as_new_ones() -> None:
    a = lazyarray.arange(300.0)
    for _ in range(3):
        parts = [a[k : k + 2] for k in range(290)]
        assert [part.tolist() for part in parts] == [[float(k), k + 1.0] for k in range(290)]
        del parts
