"""Cross products, closeness, products of matrices and what LAPACK solves, of small arrays in C: they are NumPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np

Plain = numpy.ndarray[Any, Any]
RNG = numpy.random.default_rng(7)
ODD = [numpy.nan, -numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1e300, -1e300, 1e-300, 5e-324]


def told(call: Callable[[], Any], **state: Any) -> Any:
    """What a call returns, to the bit, with its kind and layout, and what it warns of; or its error."""
    with warnings.catch_warnings(record=True) as heard, numpy.errstate(**{"all": "warn", **state}):
        warnings.simplefilter("always")
        try:
            found = call()
        except Exception as error:  # whichever NumPy raises
            return type(error), str(error)
    said = [(w.category, str(w.message)) for w in heard]
    if isinstance(found, tuple):
        return [_layout(item) for item in found], said
    return _layout(found), said


def _layout(found: Any) -> Any:
    plain = numpy.asarray(found)
    values = repr(plain.tolist()) if plain.dtype == object else plain.tobytes()
    if isinstance(found, np.ndarray):
        return plain.dtype, plain.shape, plain.strides, values, found.flags.owndata, found.base is None
    return type(found), plain.dtype, values


def lazy(item: Any) -> Any:
    return np.asarray(item) if isinstance(item, numpy.ndarray) else item


def agrees(function: Callable[..., Any], *args: Any, **named: Any) -> None:
    """That a function, named by a path below the namespace, tells the same of NumPy's and of our arrays."""
    wanted = told(lambda: function(numpy)(*args, **named))
    assert told(lambda: function(np)(*[lazy(a) for a in args], **{k: lazy(v) for k, v in named.items()})) == wanted


def layouts(x: Plain) -> Iterator[Plain]:
    """The values in memory of other orders, with gaps, and turned around."""
    yield x
    yield numpy.asfortranarray(x)
    yield numpy.repeat(x, 2, axis=-1)[..., ::2]
    yield x[::-1].copy()[::-1]
    if x.ndim == 2:
        yield x.T.copy().T


def vectors() -> Iterator[Plain]:
    for shape in [(3,), (1, 3), (5, 3), (4, 3), (0, 3), (5, 2), (2,), (3, 3), (2, 5, 3), ()]:
        yield RNG.standard_normal(shape)
    yield numpy.array([1.0, 2.0, 3.0], "f4")
    yield numpy.array([1, 2, 3])
    yield numpy.array([[1e300, 1e300, -1e300]] * 5)
    yield numpy.array([1e-300, -1e-300, 3e-300])
    yield numpy.array([numpy.inf, 0.0, 1.0])
    yield numpy.array([0.0, -0.0, 0.0])
    yield numpy.array([[1.0, numpy.nan, 0.0]] * 5)


@pytest.mark.filterwarnings("ignore")
def test_cross_products_are_numpys() -> None:
    for a in vectors():
        for b in vectors():
            agrees(lambda m: m.cross, a, b)
    a, b = RNG.standard_normal((2, 5, 3))
    for x in layouts(a):
        for y in layouts(b):
            agrees(lambda m: m.cross, x, y)
            agrees(lambda m: m.cross, x, y[0])
            agrees(lambda m: m.cross, x, y, axis=0)
            agrees(lambda m: m.cross, x, y, 0, 0)
    agrees(lambda m: m.cross, a, [1.0, 2.0, 3.0])


def test_a_cross_product_shares_no_memory() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([3.0, 1.0, 2.0])
    found = np.cross(x, y)
    found[...] = 0.0
    assert (x.tolist(), y.tolist()) == ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0])


TOLERANCES: list[dict[str, Any]] = [
    {},
    {"rtol": 0.0},
    {"atol": 0},
    {"atol": 1e-3},
    {"rtol": 1e-3, "atol": 1},
    {"atol": 1e-3, "rtol": 2},
    {"equal_nan": True},
    {"equal_nan": 1},
    {"rtol": numpy.float64(0.1)},
    {"rtol": numpy.inf},
    {"atol": numpy.nan},
    {"rtol": 1e300},
    {"atol": -1.0},
    {"rtol": numpy.array([0.1])},
    {"rtol": None},
    {"no_such": 1},
    {"a": 1.0},
]


@pytest.mark.parametrize("name", ["isclose", "allclose"])
def test_what_is_close_is_numpys(name: str) -> None:
    x = RNG.standard_normal(len(ODD) ** 2)
    odd, other = (numpy.array(v).ravel() for v in numpy.meshgrid(ODD, ODD))
    pairs: list[tuple[Any, Any]] = [
        (x, x),
        (x, x + 1e-9),
        (x, x + RNG.choice([0.0, 1e-9, 1e-5, 1e-2], x.size)),
        (odd, other),
        (odd, odd),
        (odd, 1.0),
        (odd, numpy.nan),
        (x, 1e300),
        (x, 0),
        (x, 10**30),
        (x, True),
        (x, numpy.float64(0.5)),
        (x, x.astype("f4")),
        (x.astype("f4"), x.astype("f4")),
        (x, x.astype("c16")),
        (x, x[:1]),
        (x, x[:7]),
        (x.reshape(10, 10), x.reshape(10, 10)[0]),
        (x[:0], x[:0]),
        (numpy.array(1.0), numpy.array(1.0)),
        (numpy.array(1.0), 1.0),
        (1.0, x),
        (x, x.tolist()),
        (numpy.arange(4), numpy.arange(4)),
    ]
    for a, b in pairs:
        for named in TOLERANCES:
            agrees(lambda m: getattr(m, name), a, b, **named)
        agrees(lambda m: getattr(m, name), a, b, 1e-3)
        agrees(lambda m: getattr(m, name), a, b, 1e-3, 1e-2)
        agrees(lambda m: getattr(m, name), a, b, 1e-3, 1e-2, True)
        agrees(lambda m: getattr(m, name), a, b, 1e-3, atol=1e-2)
        agrees(lambda m: getattr(m, name), a, b, 1e-3, rtol=1e-2)
        agrees(lambda m: getattr(m, name), a, b, 1e-3, equal_nan=True)
    m = x.reshape(10, 10)
    for a in layouts(m):
        for b in layouts(m + 1e-9):
            agrees(lambda m: getattr(m, name), a, b)


def matrices(code: str) -> Iterator[Plain]:
    for shape in [
        (4, 4),
        (2, 3),
        (3, 2),
        (1, 4),
        (4, 1),
        (1, 1),
        (4,),
        (3,),
        (2,),
        (1,),
        (0, 4),
        (4, 0),
        (2, 4, 4),
        (),
    ]:
        made = RNG.standard_normal(shape) * 10
        yield (made + 1j * RNG.standard_normal(shape) if code in ("c8", "c16") else made).astype(code)


@pytest.mark.parametrize("code", ["f8", "f4", "c16", "c8", "f2", "i8", "?", ">f8"])
def test_dot_is_numpys(code: str) -> None:
    for a in matrices(code):
        for b in matrices(code):
            agrees(lambda m: m.dot, a, b)
    a = next(matrices(code))
    for x in layouts(a):
        for y in layouts(a[::-1].copy()):
            agrees(lambda m: m.dot, x, y)
            agrees(lambda m: m.dot, x, y[0])
            agrees(lambda m: m.dot, y[:, 0], x)
            assert told(lambda x=x, y=y: lazy(x).dot(lazy(y))) == told(lambda x=x, y=y: x.dot(y))
        agrees(lambda m: m.dot, x, x)
        wanted = told(lambda x=x: x.dot(x.T))
        assert told(lambda x=x: lazy(x).dot(lazy(x).T)) == wanted
    agrees(lambda m: m.dot, a, 2)
    agrees(lambda m: m.dot, a, a.tolist())


@pytest.mark.parametrize("code", ["f8", "f4", "c16"])
def test_dots_of_many_sizes_have_numpys_bits(code: str) -> None:
    for n, k, p in RNG.integers(2, 40, (60, 3)):
        a, b = RNG.standard_normal((n, k)).astype(code), RNG.standard_normal((k, p)).astype(code)
        for x in (a, numpy.asfortranarray(a)):
            for y in (b, numpy.asfortranarray(b), b[:, 0].copy()):
                agrees(lambda m: m.dot, x, y)
            agrees(lambda m: m.dot, b[:, 0].copy(), x.T)
            wanted = told(lambda x=x: x.T.dot(x))
            assert told(lambda x=x: lazy(x).T.dot(lazy(x))) == wanted


def test_dot_tells_of_errors_under_its_own_name() -> None:
    a, b = numpy.array([[numpy.inf, 1.0], [1.0, 1e300]]), numpy.array([[0.0, 1.0], [1.0, 1e300]])
    agrees(lambda m: m.dot, a, b)
    agrees(lambda m: m.dot, b, b)
    agrees(lambda m: m.dot, a, b[:, 0].copy())
    with numpy.errstate(all="raise"), pytest.raises(FloatingPointError, match="encountered in dot"):
        np.asarray(a).dot(np.asarray(b))


def squares(code: str) -> Iterator[Plain]:
    for n in (1, 2, 3, 4, 8, 40, 64, 65):
        yield (RNG.standard_normal((n, n)) + n * numpy.eye(n)).astype(code)
    for odd in (numpy.zeros((3, 3)), numpy.ones((2, 2)), numpy.diag([1e200, 1e200]), numpy.diag([1.0, numpy.nan])):
        yield odd.astype(code)
    yield numpy.array([[numpy.inf, 1.0], [2.0, 3.0]]).astype(code)
    yield numpy.array([[1e-200, 0.0], [0.0, 1e-200]]).astype(code)
    for shape in [(0, 0), (2, 3), (3,), (2, 3, 3), ()]:
        yield RNG.standard_normal(shape).astype(code)


@pytest.mark.parametrize("code", ["f8", "f4", "c16", "i8", ">f8", "f2"])
@pytest.mark.filterwarnings("ignore")
def test_what_lapack_solves_is_numpys(code: str) -> None:
    for a in squares(code):
        for x in layouts(a) if a.ndim else [a]:
            agrees(lambda m: m.linalg.inv, x)
            agrees(lambda m: m.linalg.det, x)
            rows = x.shape[0] if x.ndim else 1
            for shape in [(rows,), (rows, 1), (rows, 3), (rows + 1,), (rows, 65), (2, rows, 1), (rows, 0), ()]:
                b = RNG.standard_normal(shape).astype(code)
                agrees(lambda m: m.linalg.solve, x, b)
                if b.ndim == 2:
                    agrees(lambda m: m.linalg.solve, x, numpy.asfortranarray(b))
        agrees(lambda m: m.linalg.solve, a, [1.0, 2.0])
        agrees(lambda m: m.linalg.inv, a=a)


def test_singular_matrices_raise_whatever_the_errstate() -> None:
    for state in ("ignore", "warn", "raise"):
        with numpy.errstate(all=state), pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            np.linalg.inv(np.zeros((2, 2)))
        with numpy.errstate(all=state), pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            np.linalg.solve(np.ones((2, 2)), np.ones(2))


def test_what_lapack_overwrites_is_a_copy() -> None:
    a, b = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    np.linalg.solve(a, b)
    np.linalg.inv(a)
    np.linalg.det(a)
    assert (a.tolist(), b.tolist()) == ([[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0])


def test_places_of_what_is_not_zero_are_numpys() -> None:
    for code in ("f8", "i4", "c16", "u1", "?", ">f8", "O", "U2", "M8[s]"):
        for shape in [(6,), (2, 3), (0,), (2, 0), (2, 3, 2)]:
            x = (numpy.arange(int(numpy.prod(shape))) % 3).reshape(shape).astype("i8" if code == "M8[s]" else code)
            for given in layouts(x.astype(code)):
                assert told(lambda x=given: lazy(x).nonzero()) == told(lambda x=given: x.nonzero())
                agrees(lambda m: m.nonzero, given)


def test_diagonals_and_requirements_of_small_arrays_are_numpys() -> None:
    x = RNG.standard_normal((4, 5))
    for k in (0, 1, -2, 9, True, numpy.int64(1), 1.0):
        agrees(lambda m: m.diag, x, k)
    for args in [(), (float,), ("f4",), (None, []), (None, "C"), (None, ["F", "O"]), (None, "X"), ("f4", ["W"])]:
        agrees(lambda m: m.require, x, *args)
    a = np.asarray(x)
    assert np.require(a) is a
    assert np.shares_memory(np.diag(a), a)


CODES = ["f8", "f4", "f2", "c16", "i8", "u1", "i2", "?", ">f8", "O"]


def operands(code: str) -> Iterator[Plain]:
    for shape in [(7,), (1,), (2, 3), (3, 1), (0,), (2, 0), ()]:
        values = RNG.standard_normal(shape) * 5
        yield numpy.array((numpy.abs(values) if code == "u1" else values).astype(code), code)
    if code in ("f8", "f4"):
        yield numpy.array([v for v in ODD if abs(v) < 1e30 or v != v or numpy.isinf(v)], code)
        yield numpy.array([3e38, -3e38, 1e-40, 1e-45], code) * (1 if code == "f4" else 1e270)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.filterwarnings("ignore")
def test_what_lies_between_bounds_is_numpys(code: str) -> None:
    bounds: list[Any] = [
        0,
        0.0,
        -0.0,
        1,
        -1.5,
        300,
        -(10**20),
        numpy.nan,
        None,
        True,
        numpy.float64(1.0),
        numpy.ones(7),
    ]
    for a in operands(code):
        for x in layouts(a) if a.ndim else [a]:
            for low in bounds:
                for high in bounds:
                    agrees(lambda m: m.clip, x, low, high)
                    wanted = told(lambda x=x, low=low, high=high: x.clip(low, high))
                    assert told(lambda x=x, low=low, high=high: lazy(x).clip(lazy(low), lazy(high))) == wanted
            agrees(lambda m: m.clip, x, 0, max=2)
            agrees(lambda m: m.clip, x, min=0)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.filterwarnings("ignore")
def test_differences_products_of_pairs_and_norms_are_numpys(code: str) -> None:
    for a in operands(code):
        for x in layouts(a) if a.ndim else [a]:
            agrees(lambda m: m.diff, x)
            agrees(lambda m: m.diff, x, 2)
            agrees(lambda m: m.diff, x, axis=0)
            agrees(lambda m: m.linalg.norm, x)
            agrees(lambda m: m.linalg.norm, x, 1)
            agrees(lambda m: m.linalg.norm, x, axis=-1)
            for b in (*operands(code), *operands("f8"), 2.0, [1, 2]):
                agrees(lambda m: m.outer, x, b)
