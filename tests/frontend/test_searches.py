"""Holds that searches of many values are NumPy's to the bit, whatever the values and the array they are searched in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import searches
from lazyarray.frontend.callables import FEW_SEARCHED
from lazyarray.frontend.shares import SHARED_FROM

DRAW = numpy.random.default_rng(11)
MANY = max(3 * SHARED_FROM, searches.RISING) + 5
NAN, INF = numpy.nan, numpy.inf


def bits(values: Any) -> bytes:
    return numpy.asarray(values).tobytes()


def agree(call: Callable[..., Any], *arrays: Any) -> None:
    """That the call gives the same of NumPy's arrays and of ours, in memory and pending."""
    expected = call(numpy, *arrays)
    for given in ([lazyarray.array(a) for a in arrays], [lazyarray.array(a) * a.dtype.type(1) for a in arrays]):
        found = call(lazyarray, *given)
        assert type(found) is lazyarray.ndarray
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert bits(found) == bits(expected)


def values_of(dtype: str, order: str, shape: Any = MANY) -> Any:
    kind = numpy.dtype(dtype).kind
    made = DRAW.standard_normal(shape) * 50 if kind == "f" else DRAW.integers(0 if kind == "u" else -99, 99, shape)
    made = made.astype(dtype)
    if order == "rising":
        made.sort()
    elif order == "runs":
        made.reshape(-1)[: made.size // 2].sort()
    return made


KEYS: dict[str, Callable[[str], Any]] = {
    "one": lambda dtype: values_of(dtype, "any", 1),
    "two": lambda dtype: values_of(dtype, "rising", 2),
    "few": lambda dtype: values_of(dtype, "rising", 11),
    "equal": lambda dtype: numpy.full(37, 3).astype(dtype),
    "repeated": lambda dtype: numpy.sort(values_of(dtype, "any", 500).round(-1)),
    "many": lambda dtype: values_of(dtype, "rising", 70_001),
    "not sorted": lambda dtype: values_of(dtype, "any", 300),
    "falling": lambda dtype: values_of(dtype, "rising", 300)[::-1].copy(),
    "a view": lambda dtype: values_of(dtype, "rising", 600)[::2],
}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("order", ["any", "rising", "runs"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "f2", ">f8"])
@pytest.mark.parametrize("keys", KEYS)
def test_searchsorted(keys: str, dtype: str, order: str, side: Any) -> None:
    a, v = KEYS[keys](dtype), values_of(dtype, order)
    agree(lambda np, a, v: np.searchsorted(a, v, side), a, v)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("order", ["any", "rising"])
def test_nan_is_behind_all(order: str, side: Any) -> None:
    a = numpy.array([-INF, -1.0, -0.0, 0.0, 2.0, INF, NAN, NAN])
    v = numpy.resize([NAN, INF, -INF, 0.0, -0.0, 2.0, 1.0, NAN, 3.0], MANY)
    if order == "rising":
        v.sort()
    agree(lambda np, a, v: np.searchsorted(a, v, side=side), a, v)
    agree(lambda np, a, v: np.searchsorted(a, v, side=side), a[:-2], v)
    agree(lambda np, a, v: np.searchsorted(a, v, side=side), a.astype("f4"), v.astype("f4"))


@pytest.mark.parametrize("dtypes", [("f8", "i8"), ("i8", "f4"), ("i4", "i8"), ("u8", "i8"), ("?", "f8"), ("c16", "f8")])
def test_dtypes_that_differ_meet_in_one(dtypes: tuple[str, str]) -> None:
    a, v = KEYS["few"]("i4").astype(dtypes[0]), values_of("i4", "any").astype(dtypes[1])
    agree(lambda np, a, v: np.searchsorted(np.sort(a), v), a, v)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 255, 256, 257, FEW_SEARCHED - 1, FEW_SEARCHED, FEW_SEARCHED + 273])
def test_any_number_of_values(size: int) -> None:
    for order in ("any", "rising"):
        agree(lambda np, a, v: np.searchsorted(a, v), KEYS["few"]("f8"), values_of("f8", order, size))
        agree(lambda np, a, v: np.interp(v, a, a * a), KEYS["few"]("f8"), values_of("f8", order, size))


def test_shapes_are_those_of_the_values() -> None:
    a, v = KEYS["few"]("f8"), values_of("f8", "any", (4, MANY))
    agree(lambda np, a, v: np.searchsorted(a, v), a, v)
    agree(lambda np, a, v: np.searchsorted(a, v.T), a, v)
    agree(lambda np, a, v: np.searchsorted(a, v[:, ::3]), a, v)
    agree(lambda np, a, v: a.searchsorted(v, "right"), a, v)
    agree(lambda np, a, v: a.searchsorted(v, sorter=np.argsort(a)), a[::-1].copy(), v)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("keys", ["few", "many", "falling", "repeated"])
def test_digitize(keys: str, right: bool) -> None:
    agree(lambda np, a, v: np.digitize(v, a, right), KEYS[keys]("f8"), values_of("f8", "any"))
    agree(lambda np, a, v: np.digitize(v, a, right), KEYS[keys]("f8"), values_of("i8", "any"))


HEIGHTS: dict[str, Callable[[int], Any]] = {
    "numbers": lambda size: DRAW.standard_normal(size),
    "integers": lambda size: DRAW.integers(0, 9, size),
    "infinite ones": lambda size: numpy.resize([1.0, INF, INF, -INF, 2.0, NAN, -0.0, -0.0], size),
}


@pytest.mark.parametrize("ends", [{}, {"left": -7.0}, {"right": NAN, "left": 3}])
@pytest.mark.parametrize("order", ["any", "rising", "runs"])
@pytest.mark.parametrize("heights", HEIGHTS)
@pytest.mark.parametrize("keys", KEYS)
def test_interp(keys: str, heights: str, order: str, ends: dict[str, Any]) -> None:
    xp, x = KEYS[keys]("f8"), values_of("f8", order)
    x[5:9] = [NAN, INF, -INF, -0.0]
    x[100:103] = xp[0], xp[-1], xp[xp.size // 2]  # on keys
    agree(lambda np, x, xp, fp: np.interp(x, xp, fp, **ends), x, xp, HEIGHTS[heights](xp.size))


def test_interp_of_fewer_values_than_keys() -> None:
    xp = numpy.sort(DRAW.random(2 * FEW_SEARCHED))
    x = DRAW.random(FEW_SEARCHED)
    agree(lambda np, x, xp, fp: np.interp(x, xp, fp), x, xp, HEIGHTS["infinite ones"](xp.size))


def test_other_calls_of_interp_are_numpys() -> None:
    xp, x = KEYS["few"]("f8"), values_of("f8", "any")
    fp = HEIGHTS["numbers"](xp.size)
    agree(lambda np, x, xp, fp: np.interp(x, xp, fp, period=30.0), x, xp, fp)
    agree(lambda np, x, xp, fp: np.interp(x, xp, fp * 1j), x, xp, fp)
    agree(lambda np, x, xp, fp: np.interp(x.astype("f4"), xp, fp), x, xp, fp)
    agree(lambda np, x, xp, fp: np.interp(x, xp.tolist(), fp), x, xp, fp)
    agree(lambda np, x, xp, fp: np.interp(x[::2], xp, fp[::-1]), x, xp, fp)
    xp[3] = NAN
    agree(lambda np, x, xp, fp: np.interp(x, xp, fp), x, xp, fp)


@pytest.mark.parametrize("options", [{}, {"bins": 30}, {"bins": (5, 7), "density": True}, {"range": ((-9, 9), (0, 50))},
                                     {"bins": [-50.0, 0.0, 3.0, 50.0]}, {"bins": [numpy.arange(9), 4]}])  # fmt: skip
def test_histograms_of_two_dimensions(options: dict[str, Any]) -> None:
    x, y, w = values_of("f8", "any"), values_of("f8", "any"), DRAW.random(MANY)
    for part in range(3):
        agree(lambda np, x, y, w, part=part: np.histogram2d(x, y, **options)[part], x, y, w)
    agree(lambda np, x, y, w: np.histogram2d(x, y, weights=w, **options)[0], x, y, w)
    if len(numpy.atleast_1d(numpy.asarray(options.get("bins", 1), object))) < 3:
        agree(lambda np, x, y, w: np.histogramdd(np.stack([x, y], axis=1), **options)[0], x, y, w)


REFUSED: dict[str, Callable[..., Any]] = {
    "a side": lambda np, a, v: np.searchsorted(a, v, "middle"),
    "a matrix to search in": lambda np, a, v: np.searchsorted(a[:, None], v),
    "bins that turn": lambda np, a, v: np.digitize(v, np.array([0.0, 2.0, 1.0])),
    "complex values": lambda np, a, v: np.digitize(v * 1j, a),
    "heights that are too few": lambda np, a, v: np.interp(v, a, a[:-1]),
    "no keys": lambda np, a, v: np.interp(v, a[:0], a[:0]),
    "a period of 0": lambda np, a, v: np.interp(v, a, a, period=0),
    "values that differ in number": lambda np, a, v: np.histogram2d(v, v[:-1]),
    "no bins": lambda np, a, v: np.histogram2d(v, v, 0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name: str) -> None:
    a, v = KEYS["few"]("f8"), values_of("f8", "any")
    with pytest.raises(Exception) as expected:  # noqa: PT011
        REFUSED[name](numpy, a, v)
    with pytest.raises(type(expected.value)) as found:
        REFUSED[name](lazyarray, lazyarray.array(a), lazyarray.array(v))
    assert str(found.value) == str(expected.value)


def test_searches_are_made_here() -> None:
    for name in searches.NAMES:
        assert searches.function_of(name) not in (None, getattr(numpy, name))
