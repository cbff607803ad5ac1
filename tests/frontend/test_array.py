"""Holds arrays to NumPy's: attributes, operators, Python's protocols, and the ways in and out of NumPy."""

from __future__ import annotations

import copy
import gc
import operator
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray
from tests.frontend.agreement import MODES, agree
from tests.frontend.interpreter import interpreted  # noqa: F401

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in (
        "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge "
        "iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift imatmul"
    ).split()
} | {"divmod": divmod}
OPERANDS: dict[str, Any] = {
    "f8": numpy.array([[1.5, -2.0, 3.0], [0.0, 5.5, 2.0]]),
    "f4 row": numpy.array([0.5, 2.0, -1.0], "f4"),
    "f2 column": numpy.array([[1.0], [2.5]], "f2"),
    "i8": numpy.arange(6).reshape(2, 3) - 2,
    "i4": numpy.array([1, 2, 3], "i4"),
    "u1": numpy.array([[1, 2, 250], [0, 4, 7]], "u1"),
    "bool": numpy.array([True, False, True]),
    "c16": numpy.array([1 + 2j, 0.5j, -3]),
    "0-d": numpy.array(2.0),
    "misfit": numpy.ones(4),
    "empty": numpy.ones((0, 3)),
    "int": 3,
    "negative": -2,
    "float": 0.5,
    "complex": 2j,
    "true": True,
    "huge": 1 << 70,
    "byte": 300,
    "np.float32": numpy.float32(1.5),
    "np.int8": numpy.int8(-3),
    "list": [1.0, 2.0, 3.0],
    "text": "abc",
    "none": None,
}


@MODES
@pytest.mark.parametrize("name", BINARY)
def test_operators_agree_for_every_pair_of_operands(name: str, eager_below: int) -> None:
    function = BINARY[name]
    wrong = []
    for first, left in OPERANDS.items():
        for second, right in OPERANDS.items():
            if not isinstance(left, numpy.ndarray) and not isinstance(right, numpy.ndarray):
                continue

            def program(np: Any, left: Any = left, right: Any = right) -> Any:
                a = np.data(left) if isinstance(left, numpy.ndarray) else left
                b = np.data(right) if isinstance(right, numpy.ndarray) else right
                return function(a, b), a

            try:
                agree(program, eager_below)
            except AssertionError as error:
                wrong.append(f"{first} {name} {second}: {error}")
    assert not wrong, "\n".join(wrong[:10])


@MODES
@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
@pytest.mark.parametrize("operand", [k for k, v in OPERANDS.items() if isinstance(v, numpy.ndarray)])
def test_unary_operators(name: str, operand: str, eager_below: int) -> None:
    agree(lambda np: getattr(operator, name)(np.data(OPERANDS[operand])), eager_below)


@MODES
@pytest.mark.parametrize("exponent", [2, 3, -1, -2, 0, 1, 0.5, 2.0, -0.5, 1.5, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i2", "u1", "?", "c8"])
def test_scalar_powers_take_the_short_cuts_that_numpy_takes(dtype: str, exponent: Any, eager_below: int) -> None:
    values = numpy.array([1, 2, 3, 0]).astype(dtype)
    agree(lambda np: (np.data(values) ** exponent).dtype, eager_below)
    if dtype != "c8":
        agree(lambda np: np.data(values).__ipow__(exponent).dtype, eager_below)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "attributes": lambda np: [
        (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, x.dtype, x.strides, len(x))
        for x in (
            np.data(numpy.ones((3, 4), "i2")),
            np.data(numpy.ones((3, 4))).T,
            np.data(numpy.ones((2, 3)))[:, ::-2],
        )
    ],
    "flags": lambda np: [
        [(f, getattr(x.flags, f), x.flags[f.upper()]) for f in ("c_contiguous", "f_contiguous", "writeable", "owndata")]
        for x in (
            np.data(numpy.ones((3, 4))) + 1,
            (np.data(numpy.ones((3, 4))) + 1).T,
            (np.data(numpy.ones((3, 4))) + 1)[:, 1:],
            np.broadcast_to(np.data(numpy.ones(3)) + 1, (2, 3)),
        )
    ],
    "repr": lambda np: [repr(x) for x in (np.data(numpy.ones(3)), np.data(numpy.arange(4, dtype="i2")) * 2)],
    "str": lambda np: str(np.data([[1.5, 2.0]]) + 1),
    "format": lambda np: f"{np.data(numpy.array(2.5)):.2f}",
    "format of many": lambda np: f"{np.data([1.0, 2.0]):.2f}",
    "bool of one": lambda np: bool(np.data([3.0]) > 2),
    "bool of many": lambda np: bool(np.data([3.0, 4.0]) > 2),
    "int float complex": lambda np: (int(np.data(3.7)), float(np.data(2)), complex(np.data(2.0))),
    "index": lambda np: [1, 2, 3][np.data(1)],
    "index of float": lambda np: [1, 2, 3][np.data(1.0)],
    "len of 0-d": lambda np: len(np.data(1.0)),
    "iter": lambda np: (list(np.data([1.0, 2.0]) * 2), [row.tolist() for row in np.data([[1, 2], [3, 4]]) + 1]),
    "iter of 0-d": lambda np: iter(np.data(1.0)),
    "unpack": lambda np: (lambda a, b: (b, a))(*(np.data([[1, 2], [3, 4]]) + 1)),
    "contains": lambda np: (3.0 in np.data([1.0, 3.0]) + 0, 9 in np.data([1.0])),
    "tolist item": lambda np: (
        (np.data([[1, 2]]) + 1).tolist(),
        np.data([[1, 2]]).item(1),
        np.data(numpy.ones(2)).item(),
    ),
    "tobytes": lambda np: ((np.data([[1, 2], [3, 4]]) + 1).tobytes("F"), (np.data([[1, 2]]).T + 1).tobytes()),
    "copy": lambda np: [copy.copy(np.data([1.0])), copy.deepcopy(np.data([1.0]) + 1)],
    "pickle": lambda np: pickle.loads(pickle.dumps(np.data([[1.0, 2.0]]) + 1)),
    "astype": lambda np: [(np.data([1.7, -2.5, 300.2]) + 0).astype(t) for t in ("i4", "f4", "?", "c8", "U8", object)],
    "astype refused": lambda np: np.data([1.5]).astype("i4", casting="safe"),
    "astype keeps order": lambda np: (np.data(numpy.ones((2, 3), order="F")) + 1).astype("f4").strides,
    "complex to real": lambda np: (np.data([1 + 2j]) * 2).astype("f8"),
    "view of bytes": lambda np: (np.data([1.0, 2.0]) + 1).view("u8"),
    "T": lambda np: [(np.data(numpy.arange(6.0).reshape(1, 2, 3)) + 1).T, (np.data(numpy.ones((2, 3))) + 1).mT],
    "mT of vector": lambda np: np.data(numpy.ones(2)).mT,
    "flat": lambda np: [float(v) for v in (np.data([[1, 2], [3, 4]]) * 2).flat],
    "memoryview": lambda np: bytes((np.data([1, 2]) + 1).data),
    "shape setter": lambda np: setattr_and_return(np.data(numpy.arange(6.0)) + 1, "shape", (2, -1)),
    "shape setter refused": lambda np: setattr_and_return(np.data(numpy.arange(6.0)) + 1, "shape", (4, 2)),
    "dtype setter": lambda np: setattr_and_return(np.data(numpy.arange(3)) + 1, "dtype", "u8"),
    "constructor": lambda np: np.ndarray((2, 2), "i4", numpy.arange(8, dtype="i4"), 4, (12, 4)),
    "conjugate": lambda np: [(np.data([1 + 2j]) * 2).conj(), (np.data([1.5]) * 2).conjugate()],
    "F order is kept": lambda np: [
        (np.data(numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))) * 2).strides,
        np.data(numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))) * 2,
    ],
    "order='F'": lambda np: np.add(np.data(numpy.ones((2, 3))), 1, order="F").strides,
    "strings": lambda np: [np.data(["a", "b"]) == "a", np.data(["a"]) + np.data(["b"])],
    "objects": lambda np: np.data(numpy.array([1, 2.5, 10**30], object)) * 2,
    "dates": lambda np: np.data(numpy.array(["2020-01-01"], "M8[D]")) + numpy.timedelta64(3, "D"),
    "records": lambda np: np.data(numpy.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]))["b"],
    "longdouble": lambda np: np.data(numpy.array([1, 2], "g")) * 2,
    "foreign byte order": lambda np: np.data(numpy.array([1, 2], ">i4")) * 2,
}


def setattr_and_return(x: Any, name: str, value: Any) -> Any:
    setattr(x, name, value)
    return x


@MODES
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(name: str, eager_below: int) -> None:
    agree(PROGRAMS[name], eager_below)


def managed(values: Any) -> Any:
    """A pending array."""
    with lazyarray.config.set(eager_below=0):
        return lazyarray.asarray(numpy.array(values)) + 0


@pytest.mark.parametrize("eager_below", [4096, 0])
def test_numpy_functions_stay_lazy_and_mix_in_both_orders(eager_below: int) -> None:
    with lazyarray.config.set(eager_below=eager_below):
        x = lazyarray.asarray(numpy.arange(3.0)) + 1
        other = numpy.arange(3.0)
        for result in (
            numpy.add(x, 1),
            numpy.add(other, x),
            other + x,
            x + other,
            numpy.float64(2) * x,
            numpy.sum(x, keepdims=True),
        ):
            assert type(result) is ndarray
        assert (other + x).tolist() == [1.0, 3.0, 5.0]
        assert numpy.concatenate([x, other]).tolist() == [1.0, 2.0, 3.0, 0.0, 1.0, 2.0]
        numpy.add(x, 1, out=other)
        assert other.tolist() == [2.0, 3.0, 4.0]


def test_third_parties_overrides_are_honoured() -> None:
    class Other:
        def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> str:
            return f"{function.__name__} {method}"

        def __radd__(self, other: Any) -> str:
            return "radd"

    class Before:
        __array_ufunc__ = None

        def __radd__(self, other: Any) -> str:
            return "before"

    x = managed([1.0])
    assert lazyarray.add(x, Other()) == "add __call__"
    assert numpy.add(x, Other()) == "add __call__"
    assert x + Before() == "before"
    masked = x + numpy.ma.masked_array([1.0], [True])
    assert isinstance(masked, numpy.ma.MaskedArray)
    assert masked.mask.all()


def test_subclasses_are_numpys() -> None:
    class Named(lazyarray.ndarray):
        pass

    made = numpy.asarray(managed([1.0, 2.0])).view(Named)
    assert issubclass(Named, numpy.ndarray)
    assert isinstance(made, lazyarray.ndarray)
    assert type(made + managed([1.0, 1.0])) is Named
    assert isinstance(numpy.ones(2), lazyarray.ndarray)
    assert isinstance(managed([1.0]), lazyarray.ndarray)
    assert not isinstance([1.0], lazyarray.ndarray)


def test_exports_share_memory_while_they_live() -> None:
    x = managed([1.0, 2.0, 3.0])
    seen = numpy.asarray(x)
    y = x * 2
    seen[0] = 10
    assert x.tolist() == [10.0, 2.0, 3.0]
    x[1] = 20
    assert seen.tolist() == [10.0, 20.0, 3.0]
    assert y.tolist() == [2.0, 4.0, 6.0], "recorded before the write"
    del seen
    x += 1
    assert x.tolist() == [11.0, 21.0, 4.0]


def test_a_bare_address_pins_the_memory() -> None:
    x = managed([1.0, 2.0])
    address, _ = x.__array_interface__["data"]
    (x + 1).tolist()
    import ctypes

    ctypes.c_double.from_address(address).value = 9.0
    assert x.tolist() == [9.0, 2.0]
    assert numpy.from_dlpack(managed([3.0])).tolist() == [3.0]


def test_foreign_memory_is_read_when_the_program_reads_it() -> None:
    with lazyarray.config.set(eager_below=0):
        owner = numpy.arange(3.0)
        x = lazyarray.asarray(owner)
        y = x * 2
        owner[0] = 100
        assert y.tolist() == [0.0, 2.0, 4.0]
        assert x.tolist() == [100.0, 1.0, 2.0]
        x[1] = 50
        assert owner[1] == 50


def test_arrays_are_freed_without_the_cycle_collector() -> None:
    gc.disable()
    try:
        x = managed(numpy.ones(5000))
        y = x[1:] * 2
        y += 1
        view = y[::2]
        text = repr(view), view.T, y.flags
        watch = [weakref.ref(a) for a in (x, y, view)]
        del x, y, view, text
        assert [w() for w in watch] == [None] * 3
    finally:
        gc.enable()


def test_large_arrays_that_nobody_shares_are_taken_over_without_a_copy() -> None:
    x = lazyarray.asarray(numpy.ones(10000))
    y = x + 1
    assert x._np is None
    assert y.sum() == 20000
    for read in ("T", "real", "sum", "mean", "copy"):
        y = lazyarray.asarray(numpy.ones(10000))
        found = getattr(y, read)
        _ = found() if callable(found) else found
        assert y._np is None, read
    for write in (lambda y: y.__iadd__(1), lambda y: y.fill(2), lambda y: y.__setitem__(slice(3), 1), lambda y: y**2):
        y = lazyarray.asarray(numpy.ones(10000))
        write(y)
        assert y._np is None
    owner = numpy.ones(10000)
    z = lazyarray.asarray(owner)
    assert (z + 1).sum() == 20000
    assert z._np is owner


def test_any_module_may_be_imported_first() -> None:
    folder = Path(lazyarray.__file__).parent / "frontend"
    names = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    program = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    for loaded in [m for m in sys.modules if m.partition('.')[0] == 'lazyarray']:\n"
        "        del sys.modules[loaded]\n"
        "    importlib.import_module('lazyarray.frontend.' + name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr


def environment() -> dict[str, str]:
    """The environment with this process's search path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
