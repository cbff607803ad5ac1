"""Holds the namespace: every public name of NumPy, submodules, fallbacks, generators, import cost."""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import pickle
import subprocess
import sys
from types import ModuleType

import numpy
import pytest

import lazyarray
from lazyarray.frontend import namespace
from lazyarray.frontend.array import ndarray

SUBMODULES = [
    "linalg",
    "fft",
    "random",
    "ma",
    "polynomial",
    "strings",
    "char",
    "rec",
    "exceptions",
    "dtypes",
    "lib",
    "typing",
    "testing",
    "ctypeslib",
    "emath",
    "lib.stride_tricks",
    "lib.scimath",
    "lib.format",
    "lib.mixins",
    "lib.npyio",
    "lib.introspect",
    "lib.array_utils",
    "polynomial.polynomial",
    "polynomial.chebyshev",
    "polynomial.legendre",
    "version",
]


def test_every_public_name_of_numpy_is_there() -> None:
    public = set(numpy.__all__) | {name for name in dir(numpy) if not name.startswith("_")}
    missing = sorted(name for name in public if not hasattr(lazyarray, name))
    assert not missing
    assert set(numpy.__all__) - {"__array_namespace_info__"} <= set(lazyarray.__all__)
    assert public <= set(dir(lazyarray))


@pytest.mark.filterwarnings("ignore:The chararray class is deprecated:DeprecationWarning")  # NumPy 2.5 has it so
@pytest.mark.parametrize("name", SUBMODULES)
def test_every_public_name_of_a_submodule_is_there(name: str) -> None:
    theirs = importlib.import_module(f"numpy.{name}") if name != "emath" else numpy.emath
    ours = importlib.import_module(f"lazyarray.{name}") if name != "emath" else lazyarray.emath
    assert isinstance(ours, ModuleType)
    found = lazyarray
    for part in name.split("."):
        found = getattr(found, part)
    assert found is ours
    public = getattr(theirs, "__all__", None) or [n for n in dir(theirs) if not n.startswith("_")]
    assert not [n for n in public if not hasattr(ours, n)]


def test_a_module_below_a_submodule_has_its_names() -> None:
    assert lazyarray.random.mtrand.RandomState is lazyarray.random.RandomState
    assert lazyarray.random._generator.Generator is lazyarray.random.Generator
    assert lazyarray.random.mtrand.normal is lazyarray.random.normal
    x = lazyarray.arange(5)
    lazyarray.random.mtrand.RandomState(3).shuffle(x)  # NumPy's own would warn of an array that it does not know
    expected = numpy.arange(5)
    numpy.random.RandomState(3).shuffle(expected)
    assert x.tolist() == expected.tolist()


def test_submodules_are_importable() -> None:
    from lazyarray.lib.stride_tricks import sliding_window_view
    from lazyarray.linalg import LinAlgError, norm
    from lazyarray.random import default_rng

    assert LinAlgError is numpy.linalg.LinAlgError
    assert isinstance(norm(lazyarray.ones(3)), float)
    assert type(default_rng(1).normal(size=3)) is ndarray
    assert sliding_window_view(lazyarray.arange(5), 2).shape == (4, 2)


def test_unknown_names_raise() -> None:
    with pytest.raises(AttributeError, match="module 'lazyarray' has no attribute 'nothing'"):
        lazyarray.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        lazyarray.linalg.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("lazyarray.nothing")


def test_types_and_constants_are_numpys() -> None:
    for name in (
        "float64",
        "int8",
        "dtype",
        "generic",
        "pi",
        "nan",
        "newaxis",
        "finfo",
        "errstate",
        "bool",
        "matrix",
    ):
        assert getattr(lazyarray, name) is getattr(numpy, name)
    assert lazyarray.ndarray is ndarray
    assert lazyarray.__version__ == numpy.__version__


def test_functions_keep_names_docs_and_signatures() -> None:
    for name in ("sum", "median", "concatenate", "zeros_like", "roll", "transpose"):
        ours, theirs = getattr(lazyarray, name), getattr(numpy, name)
        assert ours.__name__ == name
        assert ours.__doc__.startswith(theirs.__doc__.rstrip() + "\n\n")
        assert ours.__doc__.rpartition("\n\n")[2].lstrip().startswith("lazyarray: ")
        assert pickle.loads(pickle.dumps(ours)) is ours
        assert copy.deepcopy(ours) is ours
        try:
            signature = inspect.signature(theirs)
        except ValueError:  # NumPy before 2.4 says none for what is written in C
            continue
        assert inspect.signature(ours) == signature


def test_fallbacks_are_counted_and_wrapped() -> None:
    x = lazyarray.arange(6000.0)
    with lazyarray.record_runs() as runs:
        found = lazyarray.median(x)
        values, counts = lazyarray.unique(x % 3, return_counts=True)
        matrix = lazyarray.linalg.inv(lazyarray.eye(70))
        assert lazyarray.median(lazyarray.ones(3)) == 1
    assert found == 2999.5
    assert type(values) is type(counts) is type(matrix) is ndarray
    assert runs.fallbacks == {"median": 1, "unique": 1, "linalg.inv": 1}


def test_fallbacks_write_through_out() -> None:
    out = lazyarray.zeros(3)
    assert lazyarray.median(lazyarray.arange(12.0).reshape(4, 3), 0, out=out) is out
    assert out.tolist() == [4.5, 5.5, 6.5]


def test_numpys_functions_on_our_arrays_are_ours() -> None:
    x = lazyarray.arange(9000.0)
    for function in (numpy.sum, numpy.mean, numpy.median, numpy.linalg.norm):
        function(x)
    assert type(numpy.concatenate([x, x])) is ndarray
    assert type(numpy.fft.fft(x)) is ndarray
    with lazyarray.record_runs() as runs:
        total = numpy.sum(x * 2)
        assert not runs.evaluations
    assert float(total) == float(numpy.sum(numpy.arange(9000.0) * 2))


@pytest.mark.parametrize("eager_below", [4096, 0])
def test_generators_give_numpys_streams(eager_below: int) -> None:
    with lazyarray.config.set(eager_below=eager_below):
        ours, theirs = lazyarray.random.default_rng(7), numpy.random.default_rng(7)
        assert isinstance(ours, numpy.random.Generator)
        assert isinstance(ours, lazyarray.random.Generator)
        for draw in (
            lambda r: r.normal(size=(3, 4)),
            lambda r: r.random(10_000),
            lambda r: r.integers(0, 9, 5),
            lambda r: r.permutation(6),
            lambda r: r.choice(5, 3),
            lambda r: r.normal(),
            lambda r: r.spawn(2)[0].random(3),
        ):
            numpy.testing.assert_array_equal(numpy.asarray(draw(ours)), draw(theirs))
        mine, other = lazyarray.arange(10_000), numpy.arange(10_000)
        ours.shuffle(mine)
        theirs.shuffle(other)
        numpy.testing.assert_array_equal(numpy.asarray(mine), other)
        out = lazyarray.empty(5)
        assert ours.random(out=out) is out
        numpy.testing.assert_array_equal(numpy.asarray(out), theirs.random(5))
        again = pickle.loads(pickle.dumps(ours))
        assert type(again) is type(ours)
        assert again.random() == theirs.random()


def test_the_global_generator_is_numpys() -> None:
    numpy.random.seed(3)
    theirs = numpy.random.rand(4), numpy.random.randint(0, 9, 5), numpy.random.RandomState(1).randn(3)
    lazyarray.random.seed(3)
    ours = (
        lazyarray.random.rand(4),
        lazyarray.random.randint(0, 9, 5),
        lazyarray.random.RandomState(1).randn(3),
    )
    for a, b in zip(ours, theirs, strict=True):
        assert type(a) is ndarray
        numpy.testing.assert_array_equal(numpy.asarray(a), b)


def test_assertions_take_our_arrays() -> None:
    x = lazyarray.arange(5000.0)
    lazyarray.testing.assert_allclose(x + 0, numpy.arange(5000.0))
    lazyarray.testing.assert_array_equal([x, x], [numpy.arange(5000.0)] * 2)
    lazyarray.testing.assert_equal({"a": x.sum()}, {"a": numpy.arange(5000.0).sum()})
    with pytest.raises(AssertionError):
        lazyarray.testing.assert_array_equal(x, x + 1)


def test_classes_of_numpy_take_our_arrays() -> None:
    x = lazyarray.arange(5.0)
    assert lazyarray.polynomial.Polynomial([1, 2])(x).tolist() == [1, 3, 5, 7, 9]
    assert lazyarray.ma.masked_array(x, mask=[0, 1, 0, 0, 0]).sum() == 9
    assert type(lazyarray.vectorize(lambda a: a + 1)(x)) is ndarray
    assert [i for i, _ in lazyarray.ndenumerate(x)] == [(i,) for i in range(5)]
    assert sum(float(v) for v in lazyarray.nditer(x)) == 10
    with lazyarray.nditer(x, op_flags=["readwrite"]) as walk:
        for item in walk:
            item[...] = 2 * item
    assert x.tolist() == [0, 2, 4, 6, 8]
    assert lazyarray.broadcast(x, x).shape == (5,)


def test_typing_names_are_numpys() -> None:
    import lazyarray.typing as npt

    assert npt.NDArray[numpy.float64] == numpy.typing.NDArray[numpy.float64]
    assert npt.ArrayLike is numpy.typing.ArrayLike
    assert lazyarray.ma.masked is numpy.ma.masked
    assert issubclass(numpy.random.PCG64, lazyarray.random.PCG64)


def test_files_keep_arrays(tmp_path: object) -> None:
    path = f"{tmp_path}/a.npy"
    x = lazyarray.arange(5000.0) * 2
    lazyarray.save(path, x)
    assert type(lazyarray.load(path)) is ndarray
    numpy.testing.assert_array_equal(numpy.load(path), numpy.arange(5000.0) * 2)
    lazyarray.savetxt(f"{tmp_path}/a.txt", x[:3])
    assert lazyarray.loadtxt(f"{tmp_path}/a.txt").tolist() == [0, 2, 4]
    lazyarray.savez(f"{tmp_path}/a.npz", x=x)
    assert lazyarray.load(f"{tmp_path}/a.npz")["x"].shape == (5000,)


def test_every_function_resolves_to_something_callable() -> None:
    for name in numpy.__all__:
        if callable(getattr(numpy, name)):
            assert callable(namespace.resolve(name)), name


def test_importing_loads_no_compiler() -> None:
    program = (
        "import sys, numpy; before = set(sys.modules);"
        "import lazyarray; lazyarray.zeros; new = set(sys.modules) - before;"
        "assert not any(n.partition('.')[0] in ('llvmlite', 'lazyarray_llvm') for n in new), new;"
        "assert not any(n.startswith('numpy.') and n.split('.')[1] in ('ma', 'random', 'fft') for n in new);"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["random", "linalg", "ma", "testing", "lib.stride_tricks", "fft", "polynomial"])
def test_a_submodule_can_be_the_first_thing_imported(name: str) -> None:
    source = f"from lazyarray.{name} import *; import lazyarray.{name} as m; print(m.__name__)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, env=path())
    assert done.stdout == f"lazyarray.{name}\n"


def path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
