"""Holds that places of sorted numbers are NumPy's, also of equal ones, and which are found here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import rankings
from lazyarray.frontend.callables import FEW_RANKED
from lazyarray.frontend.rankings import rank
from lazyarray.frontend.sorts import LEAST
from lazyarray.native import COMPILED

DTYPES = "f8 f4 i8 u8 i4 u4".split()
OTHERS = "i2 u1 f2 c16".split()
SIZES = (FEW_RANKED, 10_007, LEAST + 12_345)
NAN = numpy.nan


def values_of(dtype: str, size: int) -> Any:
    """Numbers at random, of which hardly two are equal if the dtype has enough."""
    draw = numpy.random.default_rng(size)
    kind = numpy.dtype(dtype).kind
    if kind in "iu":
        ends = numpy.iinfo(dtype)
        return draw.integers(ends.min, ends.max, size, dtype, endpoint=True)
    made = draw.standard_normal(size) * 10.0 ** draw.integers(-4, 4, size)
    return (made + 1j * made[::-1]).astype(dtype) if kind == "c" else made.astype(dtype)


def few_of(dtype: str, size: int, count: int = 100) -> Any:
    """The same, of which each stands at many places."""
    return numpy.random.default_rng(size).choice(values_of(dtype, count), size)


def tailed(dtype: str, size: int) -> Any:
    """A wide range, and almost all numbers in one small part of it: upper bits tell few of them apart."""
    draw = numpy.random.default_rng(size)
    if numpy.dtype(dtype).kind == "f":
        made = 1 + draw.permutation(size) * numpy.finfo(dtype).eps
        ends: tuple[float, ...] = (-1e30, 1e30, 0.0)
    else:
        made = draw.permutation(size)
        ends = (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max)
    made = made.astype(dtype)
    made[: len(ends)] = ends
    return draw.permutation(made)


MADE: dict[str, Callable[[str, int], Any]] = {
    "at random": values_of,
    "many equal": few_of,
    "two values": lambda dtype, size: few_of(dtype, size, 2),
    "a tail": tailed,
    "a tail, twice": lambda dtype, size: numpy.concatenate([tailed(dtype, size // 2)] * 2),
    "rising": lambda dtype, size: numpy.sort(values_of(dtype, size)),
    "rising, equal": lambda dtype, size: numpy.sort(few_of(dtype, size)),
    "falling": lambda dtype, size: numpy.sort(values_of(dtype, size))[::-1].copy(),
    "all equal": lambda dtype, size: numpy.full(size, 7, dtype),
    "backwards": lambda dtype, size: values_of(dtype, 2 * size)[::-2],
    "a permutation": lambda dtype, size: numpy.random.default_rng(size).permutation(size).astype(dtype),
}


def agree(call: Callable[[Any, Any], Any], a: Any) -> None:
    """That the call gives the same of NumPy's array and of ours, in memory and pending."""
    expected = call(numpy, a.copy(order="K"))
    for ours in (lazyarray.array(a), +lazyarray.array(a)):
        found = call(lazyarray, ours)
        assert type(found) is lazyarray.ndarray
        assert (found.dtype, found.shape, found.flags.owndata) == (expected.dtype, expected.shape, True)
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "argsort": lambda np, a: np.argsort(a),
    "stable": lambda np, a: np.argsort(a, kind="stable"),
    "a method": lambda np, a: a.argsort(0, "mergesort"),
    "flattened": lambda np, a: np.argsort(a.reshape(-1, 1), None, "stable"),
    "lexsort": lambda np, a: np.lexsort((a, abs(a))),
    "ranks": lambda np, a: a.argsort(kind="stable").argsort(),
}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("dtype", DTYPES)
def test_places_are_numpys(dtype: str, made: str, call: str, threads: int) -> None:
    with lazyarray.config.set(num_threads=threads):
        for size in SIZES:
            agree(CALLS[call], MADE[made](dtype, size))


@pytest.mark.parametrize("put", [[0.0, -0.0], [NAN], [NAN, -NAN, 0.0], [numpy.inf, -numpy.inf, NAN]], ids=str)
@pytest.mark.parametrize("share", [2, 1000, 100_000])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_zeros_and_nan_are_equal_to_others_of_their_kind(dtype: str, share: int, put: list[float]) -> None:
    for size in SIZES:
        a = values_of(dtype, size)
        for k, value in enumerate(put):
            a[k :: share * len(put)] = value
        a = numpy.random.default_rng(size).permutation(a)
        for call in CALLS.values():
            agree(call, a)


@pytest.mark.parametrize("kind", [None, "stable"])
@pytest.mark.parametrize("shape", [(7, 3000), (3000, 7), (40, 70, 2), (1, 4000), (4000, 1), (30, 256), (256, 30)])
@pytest.mark.parametrize("dtype", DTYPES + OTHERS)
def test_lines_of_each_axis(dtype: str, shape: tuple[int, ...], kind: str | None) -> None:
    for made in (values_of, few_of) if dtype in OTHERS else (values_of, few_of, tailed):
        a = made(dtype, int(numpy.prod(shape))).reshape(shape)
        for axis in (*range(len(shape)), -1):
            agree(lambda np, a, axis=axis: np.argsort(a, axis, kind), a)


def test_lexsort_is_numpys_for_keys_of_any_kind() -> None:
    draw = numpy.random.default_rng(5)
    a, b = draw.integers(0, 50, (2, 20_000))
    c = draw.standard_normal(20_000)
    calls: list[Callable[[Any, Any, Any, Any], Any]] = [
        lambda np, a, b, c: np.lexsort((a, b)),
        lambda np, a, b, c: np.lexsort([c, b, a]),
        lambda np, a, b, c: np.lexsort((c, a > 3)),
        lambda np, a, b, c: np.lexsort(np.stack([a, b])),
        lambda np, a, b, c: np.lexsort((a.reshape(2, -1), b.reshape(2, -1))),
        lambda np, a, b, c: np.lexsort((a.reshape(2, -1), b.reshape(2, -1)), 0),
        lambda np, a, b, c: np.lexsort((a,), axis=-1),
        lambda np, a, b, c: np.lexsort(c),
    ]
    for call in calls:
        expected = call(numpy, a, b, c)
        found = call(lazyarray, *map(lazyarray.array, (a, b, c)))
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    for given in ((a, b[:-1]), (a, 5), ()):
        errors = []
        for np in (numpy, lazyarray):
            with pytest.raises(Exception) as caught:  # noqa: PT011  (it is compared)
                np.lexsort(tuple(np.array(x) for x in given))
            errors.append((type(caught.value), str(caught.value)))
        assert errors[0] == errors[1]


@pytest.mark.skipif(not COMPILED, reason="places are found in C")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4", "u4"])
def test_which_vectors_are_ranked_here(dtype: str) -> None:
    size = 100_000
    assert rank(few_of(dtype, size), True) is not None
    assert rank(tailed(dtype, size), True) is not None
    # Which of equal numbers comes first is for NumPy to say: whether there are many or one is known late.
    assert rank(few_of(dtype, size), False) is None
    if dtype == "f4":  # so many at random have equals
        assert rank(values_of(dtype, size), False) is None
        return
    apart = MADE["a permutation"](dtype, size)
    assert rank(apart, False) is not None
    apart[1] = apart[0]
    assert rank(apart, False) is None


@pytest.mark.parametrize("made", [values_of, few_of])
@pytest.mark.parametrize("dtype", OTHERS)
def test_other_dtypes_are_numpys_to_rank(dtype: str, made: Callable[[str, int], Any]) -> None:
    assert rank(made(dtype, 10_000), True) is None
    for call in CALLS.values():
        agree(call, made(dtype, 10_000))


def test_each_function_is_found() -> None:
    assert all(rankings.function_of(name) for name in rankings.NAMES)
