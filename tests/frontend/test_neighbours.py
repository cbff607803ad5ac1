"""Compiled code of other packages gets NumPy's own arrays, and writes into none that it was not given to write into."""

from __future__ import annotations

import ctypes
import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import lazyarray as la
from lazyarray.frontend import callers, neighbours
from lazyarray.frontend.neighbours import ASKING, ASKING_IN

FROM_ANY = 69  # of the table of NumPy's C functions (numpy/_core/code_generators/numpy_api.py)
FORTRAN = 0x0002 | 0x0100 | 0x0400 | 0x0010  # order, aligned, writeable, cast by force: what f2py asks for


def as_f2py_takes(array: Any) -> Any:
    """What a Fortran routine is given for an object that is no array of NumPy's, to read or to write over."""
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    table = ctypes.cast(pointer(capsule, name(capsule)), ctypes.POINTER(ctypes.c_void_p))
    kind = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, *[ctypes.c_int] * 3, ctypes.c_void_p)
    dtype = np.dtype(float)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the function takes one
    return kind(table[FROM_ANY])(array, id(dtype), 0, 0, FORTRAN, None)


@pytest.mark.parametrize("size", [3, 50_000])
@pytest.mark.parametrize("pending", [False, True])
def test_routines_that_write_over_a_copy_of_their_argument_write_over_a_copy(size: int, pending: bool) -> None:
    x = la.arange(float(size))
    x = x + 1.0 if pending else la.evaluate(x)
    want = np.arange(float(size)) + pending
    taken = as_f2py_takes(x)
    np.testing.assert_array_equal(taken, want)
    taken[:] = -1.0
    np.testing.assert_array_equal(np.asarray(x), want)


@pytest.mark.parametrize("size", [3, 50_000])
def test_asarray_with_a_dtype_shares_memory_as_numpys_arrays_do(size: int) -> None:
    x = la.arange(float(size))
    shared = np.asarray(x, dtype=float)
    assert type(shared) is np.ndarray
    assert shared.flags.aligned
    assert shared.flags.writeable
    shared[1] = 7.0
    assert float(x[1]) == 7.0
    contiguous = np.ascontiguousarray(x, dtype=float)
    assert type(contiguous) is np.ndarray
    assert np.shares_memory(contiguous, shared)


def test_what_numpy_gives_as_it_is_behaves_as_an_array_of_numpys() -> None:
    found = np.asanyarray(la.arange(3.0), dtype=float)
    assert isinstance(found, np.ndarray)
    assert repr(found) == "array([0., 1., 2.])"
    assert type(found * 2) is np.ndarray
    assert type(found.sum()) is np.float64
    assert type(pickle.loads(pickle.dumps(found))) is np.ndarray


@pytest.mark.parametrize("size", [3, 50_000])
def test_what_a_routine_gives_back_is_an_operand_as_numpys_arrays_are(size: int) -> None:
    x, taken, theirs = la.arange(float(size)), as_f2py_takes(la.arange(float(size))), np.arange(float(size))
    with la.record_runs() as runs:
        results = [x + taken, taken * x, la.maximum(taken, x), np.add(taken, x)]
    assert not runs.fallbacks
    results += [la.concatenate((x, taken)), np.concatenate((taken, x)), la.where(x > 1, taken, 0.0), la.sum(taken)]
    x[1:] = taken[:-1]
    wanted: list[Any] = [theirs + theirs, theirs * theirs, theirs, theirs + theirs]
    wanted += [np.concatenate((theirs, theirs))] * 2 + [np.where(theirs > 1, theirs, 0.0), theirs.sum()]
    assert {type(result) for result in results[:-1]} == {la.ndarray}
    for result, want in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(result), want)
    np.testing.assert_array_equal(np.asarray(x)[1:], theirs[:-1])


@pytest.mark.parametrize("function", [np.atleast_1d, np.atleast_2d, np.atleast_3d])
def test_what_packages_convert_with_gives_numpys_arrays(function: Any) -> None:
    x = la.arange(6.0)
    found = function(x)
    assert type(found) is np.ndarray
    assert found.shape == function(np.arange(6.0)).shape
    found[...] = 2.0
    assert float(x[3]) == 2.0
    together = function(x, 1.0, [x[0], x[1]])
    assert [type(item) for item in together] == [np.ndarray] * 3
    assert type(function(x.sum())) is np.ndarray
    assert type(getattr(la, function.__name__)(x)) is la.ndarray


def test_numpys_class_is_found_by_modules_that_convert_and_by_no_others() -> None:
    x = la.arange(3.0)
    asks = "def is_array(x): return isinstance(x, numpy.ndarray), x.__class__"
    for module in (*ASKING, *ASKING_IN, "numpy.lib", __name__):
        for name in ("is_array", *sorted(ASKING_IN.get(module, ()))):
            name = name if name.isidentifier() else "is_array"  # a comprehension's code has no name of its own
            space: dict[str, Any] = {"numpy": np, "__name__": module}
            exec(asks.replace("is_array", name), space)
            known = module in ASKING or name in ASKING_IN.get(module, ())
            assert space[name](x) == (known, np.ndarray if known else la.ndarray)
    assert isinstance(x, la.ndarray)
    assert not isinstance(x, float)
    with pytest.raises(TypeError, match="__class__ assignment"):
        x.__class__ = float


def test_one_code_finds_the_class_that_the_module_it_runs_in_is_to_find() -> None:
    x = la.arange(3.0)
    code = compile("def found(x): return x.__class__", __file__, "exec")
    spaces: list[dict[str, Any]] = [{"__name__": name} for name in (__name__, next(iter(ASKING)))]
    for space in spaces:
        exec(code, space)
    for _ in range(3):
        assert [space["found"](x) for space in spaces] == [la.ndarray, np.ndarray]


ASKS = """
from __future__ import annotations
from typing import Any
import numpy as np
{more}
def is_array(x: Any) -> Any:
    return isinstance(x, np.ndarray)
def is_ufunc(x: Any) -> Any:
    return isinstance(x, np.ufunc)
"""


@pytest.mark.parametrize(
    ("folder", "more", "beside", "known"),
    [
        ("site-packages", "", None, True),
        ("dist-packages", "", None, True),
        ("site-packages", "", "fast.so", False),
        ("site-packages", "import lazyarray", None, False),
        ("site-packages", "from lazyarray import jit", None, False),
        ("site-packages", "from lazyarray import sin", None, False),
        ("mine", "", None, False),
    ],
)
def test_installed_packages_in_python_alone_find_numpys_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, more: str, beside: str | None, known: bool
) -> None:
    root = tmp_path / folder
    package = root / "asking_package" / "inner"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").write_text("")
    (package / "__init__.py").write_text(ASKS.format(more=more))
    (package / "deep.py").write_text(ASKS.format(more=more))
    (root / "asking_module.py").write_text(ASKS.format(more=more))
    if beside:
        (package.parent / beside).write_text("")
    monkeypatch.syspath_prepend(root)
    names = ("asking_package.inner", "asking_package.inner.deep", "asking_module")
    for table in (neighbours._FUNCTIONS, callers.UNAWARE):
        for name in names:
            table.pop(name, None)
    try:
        for name in names:
            asked: Any = import_module(name)
            for x in (la.arange(3.0), la.arange(3.0)):
                assert asked.is_array(x) is (known or (beside is not None and name == "asking_module"))
            assert asked.is_ufunc(la.log) is asked.is_array(la.arange(3.0))
            assert not asked.is_array(la.log)
    finally:
        for name in (*names, "asking_package"):
            sys.modules.pop(name, None)


def test_assert_equal_of_numpy_compares_lazy_arrays() -> None:
    np.testing.assert_equal([1.0, 2.0], la.arange(1.0, 3.0))
    np.testing.assert_equal({"a": la.arange(2)}, {"a": np.arange(2)})
    with pytest.raises(AssertionError, match="not equal"):
        np.testing.assert_equal(la.arange(2), la.arange(1, 3))


def test_arrays_of_objects_hold_the_objects_that_convert_to_lazy_numbers() -> None:
    class Measured:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return la.array(3.0)

    items = [Measured(), Measured()]
    for given, shape in ((items, (2,)), ([items, items], (2, 2))):
        found = np.asarray(la.array(given, dtype=object))
        assert found.shape == shape
        assert set(found.ravel()) == set(items)


class Diagonal:
    """A matrix that answers operators of NumPy's arrays, and knows no other class."""

    __array_priority__ = 10.0

    def __add__(self, other: Any) -> Any:
        return np.eye(3) + other if isinstance(other, np.ndarray) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return other - np.eye(3) if isinstance(other, np.ndarray) else NotImplemented

    def __eq__(self, other: object) -> Any:
        return np.eye(3) == other if isinstance(other, np.ndarray) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return np.eye(3) > other if isinstance(other, np.ndarray) else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return other @ np.eye(3) if isinstance(other, np.ndarray) else NotImplemented


@pytest.mark.parametrize("pending", [False, True])
def test_operands_that_know_numpys_class_alone_answer_operators_of_lazy_arrays(pending: bool) -> None:
    theirs = np.arange(9.0).reshape(3, 3)
    other = Diagonal()
    answered: list[Callable[[Any], Any]] = [
        lambda x: x - other,
        lambda x: x == other,
        lambda x: x < other,
        lambda x: x @ other,
        lambda x: other + x,
        lambda x: other == x,
    ]
    for answer in answered:
        ours = la.arange(9.0).reshape(3, 3)
        np.testing.assert_array_equal(np.asarray(answer(ours * 1.0 if pending else ours)), answer(theirs))
    assert type(la.asarray(theirs) - other) is la.ndarray
    assert la.asarray(theirs).__sub__(other) is theirs.__sub__(other) is NotImplemented  # Python asks
    with pytest.raises(TypeError, match="unsupported operand"):
        la.asarray(theirs) / other


class Found(tuple[float, ...]):
    """A result as SciPy's tests give it: a named tuple that is made of more than its items."""

    _fields = ("statistic", "pvalue")
    location: float

    def __new__(cls, statistic: Any, pvalue: Any, *, location: float) -> Found:
        made = super().__new__(cls, (statistic, pvalue))
        made.location = location
        return made


class Pair(NamedTuple):
    first: Any
    second: Any


class Items(list[Any]):
    pass


def test_tuples_that_are_made_of_more_than_their_items_are_sequences() -> None:
    numbers = Found(0.5, 0.25, location=3.0)
    lazy = Found(la.arange(5.0).sum(), la.arange(100_000.0).mean(), location=3.0)
    np.testing.assert_array_equal(la.array(numbers), [0.5, 0.25])
    np.testing.assert_array_equal(la.array(lazy), [10.0, 49999.5])
    for items in (lazy, Pair(*lazy), Items(lazy)):
        np.testing.assert_array_equal(la.stack(items), [10.0, 49999.5])
        np.testing.assert_array_equal(la.concatenate(([1.0], items)), [1.0, 10.0, 49999.5])
        np.testing.assert_array_equal(la.add(items, 1.0), [11.0, 50000.5])
        assert la.percentile(items, 100) == 49999.5
        assert la.shape(items) == (2,)


PACKAGE = "def draw(rng, size): return rng.normal(size=size), rng.random(size), rng.permutation(5), rng.choice(3, size)"


@pytest.mark.parametrize("seeded", ["default_rng", "RandomState"])
def test_generators_draw_numpys_arrays_for_installed_packages_alone(seeded: str) -> None:
    def drawn(np: Any, name: str, file: str, names: Any = ()) -> Any:
        space: dict[str, Any] = {"__name__": name, "__file__": file, **dict(names)}
        exec(PACKAGE, space)
        return space["draw"](getattr(np.random, seeded)(7), 4)

    folder = np.__file__.rpartition("numpy")[0]  # where packages are installed
    cases = {
        "a_package": ({}, np.ndarray),
        "that_knows_us": ({"np": la}, la.ndarray),
        "that_takes_names": ({"array": la.array}, la.ndarray),
        "numpys_names": ({"float64": la.float64}, np.ndarray),
    }
    want = drawn(np, __name__, __file__)
    for name, (names, kind) in cases.items():
        for _ in range(2):
            found = drawn(la, f"{seeded}.{name}", f"{folder}{name}/__init__.py", names)
            assert {type(item) for item in found} == {kind}
            for ours, theirs in zip(found, want, strict=True):
                np.testing.assert_array_equal(np.asarray(ours), theirs)
    assert {type(item) for item in drawn(la, "__main__", "/home/user/script.py")} == {la.ndarray}
    space: dict[str, Any] = {"__name__": "another", "__file__": f"{folder}another.py"}
    exec("def draw(rng, items): return rng.permutation(items)", space)
    order = space["draw"](getattr(la.random, seeded)(7), Converted())
    np.testing.assert_array_equal(order, getattr(np.random, seeded)(7).permutation(5))


class Converted:
    """What NumPy would refuse: an object that converts to a lazy array."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return la.arange(5)


class Cell:
    """An object of a swapped program that is an array to NumPy: what it holds is lazy."""

    def __init__(self, space: Any, size: int) -> None:
        self.held = space.eye(size) * 2.0

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.held if dtype is None else self.held.astype(dtype)


@pytest.mark.parametrize("size", [3, 100])
@pytest.mark.parametrize(
    "use",
    [
        lambda space, cell: space.zeros_like(cell),
        lambda space, cell: space.full_like(cell, 3),
        lambda space, cell: space.empty_like(cell, dtype=int) * 0,
        lambda space, cell: space.linalg.solve(cell, space.ones(len(cell.held))),
        lambda space, cell: space.linalg.eigvalsh(cell),
        lambda space, cell: space.concatenate([cell, space.eye(len(cell.held))]),
        lambda space, cell: space.sqrt(cell) @ cell,
        lambda space, cell: space.percentile(cell, 50),
        lambda space, cell: space.array_equal(cell, cell.held) + 2 * space.array_equiv(cell.held, cell),
    ],
    ids=["zeros_like", "full_like", "empty_like", "solve", "eigvalsh", "concatenate", "sqrt", "percentile", "equal"],
)
def test_objects_that_give_lazy_arrays_to_numpy_are_arrays(use: Callable[[Any, Any], Any], size: int) -> None:
    found, expected = use(la, Cell(la, size)), use(np, Cell(np, size))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-13)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
