"""Holds ufuncs to NumPy's: dtypes, keywords, methods and attributes."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray
from lazyarray.frontend.ufunc import UFUNCS
from tests.frontend.agreement import MODES, agree
from tests.frontend.interpreter import interpreted  # noqa: F401

NAMES = sorted({n for n, u in UFUNCS.items() if u.__name__ == n})
DTYPES = ["?", "i1", "i8", "u1", "u8", "f2", "f4", "f8", "c8", "c16"]
MAIN = ["add", "divide", "floor_divide", "power", "less", "logical_and", "maximum", "hypot", "left_shift", "ldexp"]


@MODES
@pytest.mark.parametrize("name", [n for n in NAMES if UFUNCS[n].nin == 1 and UFUNCS[n].signature is None])
def test_unary_ufuncs_agree_for_every_dtype(name: str, eager_below: int) -> None:
    for dtype in DTYPES:
        values = numpy.array([0, 1, 2, 3, 100]).astype(dtype)
        agree(lambda np, values=values: getattr(np, name)(np.data(values)), eager_below)


@MODES
@pytest.mark.parametrize("name", [n for n in NAMES if UFUNCS[n].nin == 2 and UFUNCS[n].signature is None])
def test_binary_ufuncs_agree_for_pairs_of_dtypes(name: str, eager_below: int) -> None:
    rights: list[Any] = [2, 1.5, numpy.array([1, 2, 3], "f8"), numpy.array([3, 1, 2], "u1"), numpy.array([1, 2, 3])]
    for dtype in DTYPES:
        values = numpy.array([[1], [2]]).astype(dtype)
        same = numpy.array([1, 2, 3]).astype(dtype)
        for right in (*rights, same):

            def program(np: Any, values: Any = values, right: Any = right) -> Any:
                return getattr(np, name)(np.data(values), np.data(right) if isinstance(right, numpy.ndarray) else right)

            agree(program, eager_below)


A = numpy.arange(6.0).reshape(2, 3) + 1
B = numpy.array([2.0, 1.0, 4.0])
MASK = numpy.array([[True, False, True], [False, True, True]])
CALLS: dict[str, Any] = {
    "out": lambda np, u: with_out(np, u, numpy.zeros((2, 3))),
    "out by position": lambda np, u: u(np.data(A), np.data(B), np.data(numpy.zeros((2, 3)))),
    "out of float32": lambda np, u: with_out(np, u, numpy.zeros((2, 3), "f4")),
    "out of int": lambda np, u: with_out(np, u, numpy.zeros((2, 3), "i4")),
    "out of int, unsafe": lambda np, u: with_out(np, u, numpy.zeros((2, 3), "i4"), casting="unsafe"),
    "out too small": lambda np, u: with_out(np, u, numpy.zeros(3)),
    "out larger": lambda np, u: with_out(np, u, numpy.zeros((4, 2, 3))),
    "out in a tuple": lambda np, u: u(np.data(A), np.data(B), out=(np.data(numpy.zeros((2, 3))),)),
    "out in too long a tuple": lambda np, u: u(np.data(A), np.data(B), out=(None, None)),
    "out is a list": lambda np, u: u(np.data(A), np.data(B), out=[1]),
    "out is an input": lambda np, u: (lambda a: (u(a, a[::-1], out=a), a))(np.data(A)),
    "out is a view": lambda np, u: (lambda a: (u(np.data(B), 1, out=a[:, 1:4]), a))(np.data(numpy.zeros((2, 5)))),
    "where and out": lambda np, u: with_out(np, u, numpy.full((2, 3), 7.0), where=np.data(MASK)),
    "where of rows": lambda np, u: with_out(np, u, numpy.full((2, 3), 7.0), where=[True, False, True]),
    "where of ints": lambda np, u: with_out(np, u, numpy.full((2, 3), 7.0), where=np.data([1, 0, 1])),
    "where is False": lambda np, u: with_out(np, u, numpy.full((2, 3), 7.0), where=False),
    "dtype": lambda np, u: u(np.data(A), np.data(B), dtype="f4"),
    "dtype refused": lambda np, u: u(np.data(A), np.data(B), dtype="i4"),
    "dtype unsafe": lambda np, u: u(np.data(A), np.data(B), dtype="f4", casting="unsafe"),
    "casting no": lambda np, u: u(np.data(A), np.data(B).astype("f4"), casting="no"),
    "signature": lambda np, u: u(np.data(A), np.data(B), signature="dd->d"),
    "sig": lambda np, u: u(np.data(A), np.data(B), sig=("f4", None, None)),
    "order F": lambda np, u: u(np.data(A), np.data(B), order="F"),
    "order wrong": lambda np, u: u(np.data(A), np.data(B), order="Q"),
    "subok": lambda np, u: u(np.data(A), np.data(B), subok=False),
    "no such keyword": lambda np, u: u(np.data(A), np.data(B), colour=1),
    "too few": lambda np, u: u(np.data(A)),
    "too many": lambda np, u: u(np.data(A), 1, 2, 3),
    "lists": lambda np, u: u([1.0, 2.0], (3.0, 4.0)),
    "numbers": lambda np, u: u(1.0, 2),
    "misfit": lambda np, u: u(np.data(A), np.data(numpy.ones(2))),
    "reduce": lambda np, u: [u.reduce(np.data(A)), u.reduce(np.data(A), axis=1, keepdims=True)],
    "reduce all": lambda np, u: u.reduce(np.data(A), axis=None),
    "reduce none": lambda np, u: u.reduce(np.data(A), axis=()),
    "reduce wrong axis": lambda np, u: u.reduce(np.data(A), axis=5),
    "reduce out": lambda np, u: (lambda o: (u.reduce(np.data(A), out=o), o))(np.data(numpy.zeros(3))),
    "reduce where": lambda np, u: u.reduce(np.data(A), where=np.data(MASK), initial=1),
    "reduce dtype": lambda np, u: u.reduce(np.data(A), dtype="f4"),
    "reduce empty": lambda np, u: u.reduce(np.data(numpy.ones((0, 3)))),
    "accumulate": lambda np, u: [u.accumulate(np.data(A)), u.accumulate(np.data(A), axis=1)],
    "outer": lambda np, u: u.outer(np.data(A), np.data(B)),
    "reduceat": lambda np, u: u.reduceat(np.data(B), [0, 2]),
    "at": lambda np, u: (lambda a: (u.at(a, [0, 0, 1], 2), a))(np.data(B)),
}


def with_out(np: Any, function: Any, out: Any, **options: Any) -> Any:
    target = np.data(out)
    result = function(np.data(A), np.data(B), out=target, **options)
    assert result is target
    return target


@MODES
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("function", MAIN)
@pytest.mark.parametrize("name", CALLS)
def test_calls_and_methods_agree(name: str, function: str, eager_below: int) -> None:
    if name.startswith("order F"):
        agree(lambda np: CALLS[name](np, getattr(np, function)).strides, eager_below)
    agree(lambda np: CALLS[name](np, getattr(np, function)), eager_below)


@MODES
def test_results_keep_the_order_of_axes_that_numpy_keeps(eager_below: int) -> None:
    generator = random.Random(7)

    def draw(shape: list[int]) -> Any:
        rank = generator.randint(1, len(shape))
        extents = shape if generator.random() < 0.5 else [n if generator.random() < 0.7 else 1 for n in shape[-rank:]]
        axes = list(range(len(extents)))
        generator.shuffle(axes)
        values = numpy.arange(float(numpy.prod(extents))).reshape([extents[a] for a in axes])
        return values.transpose(numpy.argsort(axes))

    def steps(result: Any) -> list[int]:
        return [step for step, extent in zip(result.strides, result.shape, strict=True) if extent > 1]

    for _ in range(150):
        shape = [generator.choice([2, 3, 4]) for _ in range(generator.choice([2, 3]))]
        a, b = draw(shape), draw(shape)

        def program(np: Any, a: Any = a, b: Any = b) -> Any:
            x, y = np.data(a), np.data(b)
            return x + y, steps(x + y), steps(np.negative(x)), steps(2 * y), steps(np.hypot(y, x[..., ::-1]))

        agree(program, eager_below)


@MODES
@pytest.mark.parametrize("name", ["modf", "frexp", "divmod"])
def test_two_outputs(name: str, eager_below: int) -> None:
    values = numpy.array([1.5, -2.25, 100.0])
    args = (values, 3) if name == "divmod" else (values,)

    def program(np: Any) -> Any:
        function = getattr(np, name)
        given = (np.data(args[0]), *args[1:])
        one, two = np.data(numpy.zeros(3)), np.data(numpy.zeros(3))
        again = function(*given, out=(one, None))
        assert again[0] is one
        return function(*given), function(*given, one, two)[0], again

    agree(program, eager_below)


@MODES
def test_negative_integer_powers_raise_at_the_call(eager_below: int) -> None:
    agree(lambda np: np.data([2, 3]) ** -1, eager_below)
    agree(lambda np: np.data([2, 3]) ** np.data([1, -1]), eager_below)
    agree(lambda np: 2 ** np.data([1, -1]), eager_below)
    agree(lambda np: np.power(np.data([2, 3]), numpy.int64(-2)), eager_below)


@MODES
@pytest.mark.parametrize("number", [-1, 255, 256, 1 << 40, 1 << 70, -(1 << 63)])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "u8", "f4", "?"])
def test_python_integers_out_of_range(dtype: str, number: int, eager_below: int) -> None:
    for function in ("add", "less", "equal", "maximum", "not_equal"):
        agree(lambda np, f=function: getattr(np, f)(np.data([1, 2]).astype(dtype), number), eager_below)
        agree(lambda np, f=function: getattr(np, f)(number, np.data([1, 2]).astype(dtype)), eager_below)


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_numpys(name: str) -> None:
    ours, theirs = getattr(lazyarray, name), getattr(numpy, name)
    if name == "matmul":
        ours = UFUNCS[name]
    for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature", "__name__"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert repr(ours) == repr(theirs)
    assert pickle.loads(pickle.dumps(ours)) is ours


def test_compiled_ufuncs_are_recorded_and_others_are_counted() -> None:
    with lazyarray.config.set(eager_below=0):
        x = lazyarray.asarray(numpy.arange(3.0)) + 1
        with lazyarray.record_runs() as runs:
            y = lazyarray.add(lazyarray.sin(x), x, out=lazyarray.zeros(3))
        assert not runs.evaluations
        assert type(y) is ndarray
        with lazyarray.record_runs() as runs:
            lazyarray.add.at(x, [0], 1)
        assert runs.fallbacks == {"add.at": 1}


@pytest.mark.parametrize("dtype", ["?", "i4", "u1", "i8"])
def test_a_number_that_no_element_meets_raises_nothing(dtype: str) -> None:
    agree(lambda np: np.data(numpy.zeros((3, 0), dtype)) ** -1, 0)
    agree(lambda np: np.data(numpy.zeros((3, 0), dtype)) < 1000, 0)
    agree(lambda np: np.data(numpy.zeros((3, 1), dtype)) ** -1, 0)
