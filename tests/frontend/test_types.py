"""Holds `ndarray` as a class to NumPy's: signatures, docstrings, subclasses, iterators and user dtypes."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy
import pytest

import lazyarray
from tests.frontend.agreement import MODES, agree

CLASSES = ["ndarray", "ufunc", "flatiter", "nditer", "broadcast"]
# What Python itself puts on classes.
PYTHONS = {"__class__", "__init__", "__new__", "__init_subclass__", "__subclasshook__", "__reduce_ex__"}


def signature_of(function: Any) -> Any:
    try:
        found = inspect.signature(function)
    except ValueError:
        return None
    return [(p.name, p.kind, repr(p.default)) for p in found.parameters.values()]


@pytest.mark.parametrize("name", CLASSES)
def test_methods_have_the_signatures_and_docstrings_of_numpys(name: str) -> None:
    theirs, ours = getattr(numpy, name), getattr(lazyarray, name)
    assert ours.__doc__ == theirs.__doc__
    compared = 0
    for member in vars(theirs):
        wanted = getattr(theirs, member, None)
        if member in PYTHONS or member == "__signature__":
            continue
        found = getattr(ours, member, None)
        if found is None or not inspect.isroutine(wanted):
            continue
        if not isinstance(vars(object).get(member), type(wanted)) or member in vars(ours):
            assert inspect.getdoc(found) == inspect.getdoc(wanted) or wanted.__doc__ is None, member
            assert signature_of(found) == signature_of(wanted) or signature_of(wanted) is None, member
            compared += 1
    assert compared > 2


@pytest.mark.parametrize("name", [n for n in numpy.__all__ if inspect.isroutine(getattr(numpy, n))])
def test_functions_have_the_signatures_of_numpys(name: str) -> None:
    theirs, ours = getattr(numpy, name), getattr(lazyarray, name)
    assert signature_of(ours) == signature_of(theirs)
    assert ours is theirs or ours.__doc__.startswith(theirs.__doc__.rstrip())
    assert getattr(ours, "__text_signature__", None) == getattr(theirs, "__text_signature__", None)
    assert hasattr(ours, "__signature__") == hasattr(theirs, "__signature__")


def test_a_bound_method_does_not_show_the_array() -> None:
    assert str(inspect.signature(lazyarray.arange(3).sum)) == str(inspect.signature(numpy.arange(3).sum))


@pytest.mark.parametrize("count", range(4))
def test_the_class_takes_one_or_two_parameters(count: int) -> None:
    agree(lambda np: np.ndarray[(Any,) * count].__args__, 4096)


def test_the_constructor_checks_as_numpys() -> None:
    for args, options in (
        (((2, 2), "i4", bytes(16)), {}),
        (((2,), "i4", bytes(16), 4, (8,)), {}),
        (((2,), "i4", bytes(4)), {}),
        ((), {}),
        (((2,),), {"foo": 1}),
        (((2,), float, [1, 2]), {}),
    ):

        def program(np: Any, args: Any = args, options: Any = options) -> Any:
            return np.ndarray(*args, **options)

        agree(program, 4096)
    memory = lazyarray.arange(4.0)
    lazyarray.ndarray((2,), float, memory, 8)[0] = 7
    assert memory.tolist() == [0, 7, 2, 3]


def test_state_can_be_set() -> None:
    made = lazyarray.empty(0)
    made.__setstate__(numpy.arange(3.0).__reduce__()[2])
    assert made.tolist() == [0, 1, 2]


# ---- subclasses


def subclass(np: Any) -> Any:
    class Info(np.ndarray):  # type: ignore[misc]
        def __new__(cls, values: Any, info: Any = None) -> Any:
            made = np.asarray(values).view(cls)
            made.info = info
            return made

        def __array_finalize__(self, obj: Any) -> None:
            self.info = getattr(obj, "info", None)

    return Info


@MODES
def test_methods_of_subclasses_return_our_arrays(eager_below: int) -> None:
    def program(np: Any) -> Any:
        made = subclass(np)(np.data([1.0, 0.0, 2.0]), "kept")
        plain = [made.nonzero()[0], made.searchsorted([1.0]), made.astype("f4", subok=False), made.view(np.ndarray)]
        mixed = [made + np.data([1.0, 2.0, 3.0]), np.data([1.0, 2.0, 3.0]) - made, made[1:], made.astype("f4")]
        return [type(item) is np.ndarray for item in plain], [type(item) is type(made) for item in mixed], made.info

    agree(program, eager_below)


def test_wrapping_takes_our_arrays() -> None:
    made = subclass(lazyarray)([1.0, 2.0])
    assert type(made.__array_wrap__(lazyarray.ones(3))) is type(made)
    assert type(lazyarray.ones(2).__array_wrap__(made)) is lazyarray.ndarray


def test_a_mesh_of_subclasses_is_of_the_subclass() -> None:
    kind = subclass(lazyarray)
    assert [type(part) for part in lazyarray.meshgrid(kind([1.0, 2.0]), kind([3.0]))] == [kind, kind]


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.filterwarnings("ignore:The chararray class is deprecated:DeprecationWarning")
@pytest.mark.parametrize("make", ["matrix", "recarray", "memmap", "chararray", "MaskedArray"])
def test_numpys_own_subclasses_can_be_viewed_as_ndarray(make: str, tmp_path: Any) -> None:
    made: Any = {
        "matrix": lambda: lazyarray.matrix([[1, 2]]),
        "recarray": lambda: lazyarray.rec.array([(1, 2.0)], dtype="i4,f8"),
        "memmap": lambda: lazyarray.memmap(tmp_path / "memory", float, "w+", shape=(3,)),
        "chararray": lambda: lazyarray.char.array(["a"]),
        "MaskedArray": lambda: lazyarray.ma.array([1, 2], mask=[0, 1]),
    }[make]()
    assert type(made.view(lazyarray.ndarray)) is lazyarray.ndarray
    assert type(made.view(numpy.ndarray)) is numpy.ndarray


@MODES
def test_nonzero_gives_our_arrays(eager_below: int) -> None:
    agree(lambda np: [type(part) is np.ndarray for part in np.data([1.0, 0.0]).nonzero()], eager_below)


# ---- iterators


@MODES
def test_an_iterator_hands_out_our_arrays(eager_below: int) -> None:
    def program(np: Any) -> Any:
        a = np.data([[1.0, 2.0], [3.0, 4.0]])
        iterator = np.nditer([a, None])
        kinds = set()
        for x, y in iterator:
            kinds.add(type(y) is np.ndarray)
            y[...] = x * 2
        made = iterator.operands[1]
        return made, type(made) is np.ndarray, iterator.operands[0] is a, kinds, isinstance(iterator, np.nditer)

    agree(program, eager_below)


@MODES
def test_an_iterator_writes_the_array(eager_below: int) -> None:
    def program(np: Any) -> Any:
        a = np.data([1, 2, 3])
        with np.nditer(
            a, op_flags=[["readwrite"]], flags=["external_loop", "buffered"], op_dtypes=["f8"], casting="unsafe"
        ) as loop:
            for part in loop:
                part[...] = part * 2
        return a

    agree(program, eager_below)


def test_attributes_of_iterators_are_numpys() -> None:
    def program(np: Any) -> Any:
        iterator = np.nditer(np.arange(6).reshape(2, 3), flags=["multi_index"])
        iterator.multi_index = (1, 1)
        other = copy.copy(iterator)
        other.iternext()
        return iterator[0], other.multi_index, iterator.shape, len(iterator), iterator.itersize, iterator.finished

    agree(program, 4096)
    agree(lambda np: setattr(np.nditer(np.arange(3)), "shape", 3), 4096)
    agree(lambda np: [int(x) for x in np.nested_iters(np.arange(6).reshape(2, 3), [[0], [1]])[0]], 4096)


def test_iterators_of_a_broadcast_know_the_arrays() -> None:
    a = lazyarray.arange(3)
    found = lazyarray.broadcast(a, [[1], [2]])
    assert found.iters[0].base is a
    agree(lambda np: [tuple(map(int, pair)) for pair in np.broadcast(np.arange(2), [[1], [2]])], 4096)
    agree(lambda np: np.broadcast(1, 2, x=3), 4096)
    assert isinstance(numpy.broadcast(1, 2), lazyarray.broadcast)


# ---- dtypes that are not compiled


@MODES
def test_dtypes_are_viewed_and_cast_by_class(eager_below: int) -> None:
    scaled: Any = numpy._core._multiarray_umath._get_sfloat_dtype()  # type: ignore[attr-defined]
    agree(lambda np: np.array([1.0, 2.0], dtype=scaled(1.0)).view(float), eager_below)
    agree(lambda np: np.data([1.0, 2.0]).astype(numpy.dtypes.Float32DType), eager_below)
    agree(lambda np: np.data([1.0, 2.0]).astype(numpy.dtypes.StrDType), eager_below)
    agree(lambda np: np.data([1.0, 2.0]).astype(numpy.dtype), eager_below)


def test_vectorized_functions_of_cores_see_our_arrays() -> None:
    seen = set()

    def add(row: Any) -> Any:
        seen.add(type(row))
        return row.sum()

    assert lazyarray.vectorize(add, signature="(n)->()")(lazyarray.ones((2, 3))).tolist() == [3, 3]
    assert seen == {lazyarray.ndarray}
    assert type(pickle.loads(pickle.dumps(lazyarray.vectorize(len)))) is lazyarray.vectorize
