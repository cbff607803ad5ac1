"""Holds that sorts of large arrays are NumPy's to the bit, by lines and in parts that are merged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend import sorts

DRAW = numpy.random.default_rng(13)
MANY = sorts.LEAST + 12_345
NAN = numpy.nan
OTHER_NAN = numpy.array([0x7FF8000000000001], "u8").view("f8")[0]
DTYPES = "f8 f4 f2 i8 u8 i4 u4 i2 u1 c16 c8".split()


def values_of(dtype: str, shape: Any, spread: int = 1 << 40) -> Any:
    kind = numpy.dtype(dtype).kind
    if kind in "iu":
        top = min(spread, numpy.iinfo(dtype).max)
        return DRAW.integers(0 if kind == "u" else -top, top, shape).astype(dtype)
    made = DRAW.standard_normal(shape) * 100
    if spread < 1 << 20:
        made = made.round()
    return (made + 1j * made[::-1]).astype(dtype) if kind == "c" else made.astype(dtype)


def agree(call: Callable[[Any, Any], Any], a: Any) -> None:
    """That the call gives the same of NumPy's array and of ours, in memory and pending."""
    expected = call(numpy, a.copy(order="K"))
    for ours in (
        lazyarray.array(a),
        lazyarray.array(a) * a.dtype.type(1) if a.dtype.kind != "c" else +lazyarray.array(a),
    ):
        found = call(lazyarray, ours)
        assert type(found) is lazyarray.ndarray
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert numpy.asarray(found).tobytes() == expected.tobytes()


def sorted_in_place(np: Any, a: Any, **options: Any) -> Any:
    a.sort(**options)
    return a


SORTS: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda np, a: np.sort(a),
    "in place": sorted_in_place,
    "stable": lambda np, a: np.sort(a, kind="stable"),
    "flattened": lambda np, a: np.sort(a.reshape(-1, 1), axis=None),
    "places": lambda np, a: np.argsort(a),
    "stable places": lambda np, a: a.argsort(kind="stable"),
}


@pytest.mark.parametrize("threads", [1, 2, 3, 5, 17])
@pytest.mark.parametrize("name", SORTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_long_vector(dtype: str, name: str, threads: int) -> None:
    with lazyarray.config.set(num_threads=threads):
        for spread in (1 << 40, 9):
            agree(SORTS[name], values_of(dtype, MANY, spread))


ORDERS: dict[str, Callable[[Any], Any]] = {
    "rising": numpy.sort,
    "falling": lambda a: numpy.sort(a)[::-1].copy(),
    "two runs": lambda a: numpy.concatenate([numpy.sort(a[::2]), numpy.sort(a[1::2])]),
    "halves apart": lambda a: numpy.roll(numpy.sort(a), a.size // 2),
    "all equal": lambda a: numpy.full_like(a, 3),
    "a step": lambda a: numpy.sort(a > 0).astype(a.dtype),
    "every third": lambda a: a[::3],
    "backwards": lambda a: a[::-1],
}


@pytest.mark.parametrize("threads", [2, 7])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4"])
def test_numbers_that_lie_in_some_order(dtype: str, order: str, threads: int) -> None:
    with lazyarray.config.set(num_threads=threads):
        agree(SORTS["sort"], ORDERS[order](values_of(dtype, 4 * MANY)))


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize(
    "put",
    [[0.0], [-0.0], [0.0, -0.0], [NAN], [NAN, -0.0], [NAN, OTHER_NAN], [-NAN], [numpy.inf, -numpy.inf, NAN, 0.0]],
    ids=str,
)
@pytest.mark.parametrize("share", [1, 2, 1000])
def test_zeros_and_nan_of_any_kind(put: list[float], share: int, threads: int) -> None:
    a = values_of("f8", 3 * MANY)
    for k, value in enumerate(put):
        a[k :: share * len(put)] = value
    a[:7] = put[0]
    with lazyarray.config.set(num_threads=threads):
        for name in ("sort", "in place"):
            agree(SORTS[name], DRAW.permutation(a))
            agree(SORTS[name], DRAW.permutation(a).astype("f4"))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_some_zeros_of_both_signs_in_one_part(dtype: str, count: int) -> None:
    # NumPy's vectors make two of the same sign of two: which, depends on how much is sorted at once.
    draw = numpy.random.default_rng(count)
    for _ in range(20):
        a = draw.standard_normal(MANY).astype(dtype)
        a[draw.integers(0, MANY // 2, count)] = 0.0
        a[draw.integers(0, MANY // 2, count)] = -0.0
        with lazyarray.config.set(num_threads=2):
            agree(SORTS["sort"], a)


@pytest.mark.parametrize("kind", [None, "quicksort", "heapsort", "mergesort", "stable"])
@pytest.mark.parametrize(
    "shape", [(120, 300), (300, 120), (2, 17_000), (17_000, 2), (29, 33, 41), (40_000, 1), (1, 40_000)]
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_lines_of_each_axis(dtype: str, shape: tuple[int, ...], kind: str | None) -> None:
    a = values_of(dtype, shape, 50)
    for axis in (*range(len(shape)), -1):
        agree(lambda np, a, axis=axis: np.sort(a, axis, kind), a)
        agree(lambda np, a, axis=axis: np.argsort(a, axis, kind), a)
        agree(lambda np, a, axis=axis: sorted_in_place(np, a, axis=axis, kind=kind), a)


def test_layouts_are_numpys() -> None:
    a = values_of("f8", (300, 120))
    for given in (a, a.T, numpy.asfortranarray(a), a[:, ::2], a[::-1]):
        for axis in (0, 1, None):
            for name in ("sort", "argsort"):
                expected = getattr(numpy, name)(given, axis)
                found = getattr(lazyarray, name)(lazyarray.asarray(given), axis)
                assert found.strides == expected.strides
                assert numpy.array_equal(numpy.asarray(found), expected)


def test_a_view_that_is_sorted_is_sorted_where_it_lies() -> None:
    a = values_of("f8", (3, MANY))
    for module in (numpy, lazyarray):
        given = module.array(a)
        row = given[1]
        row.sort()
        given[2, ::-1].sort()
        assert numpy.array_equal(numpy.asarray(given)[0], a[0])
        assert numpy.array_equal(numpy.asarray(given)[1], numpy.sort(a[1]))
        assert numpy.array_equal(numpy.asarray(given)[2], numpy.sort(a[2])[::-1])


def test_errors_are_numpys() -> None:
    a = values_of("f8", MANY)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda np, a: np.sort(a, 1),
        lambda np, a: np.argsort(a, -2),
        lambda np, a: np.sort(a, kind="fast"),
        lambda np, a: a.sort(axis=3),
        lambda np, a: a.sort(axis=None),
        lambda np, a: a.sort(0.0),
        lambda np, a: np.sort(a, 0.0),
        lambda np, a: a.sort(order="x"),
        lambda np, a: a.sort(kind="stable", stable=True),
        lambda np, a: (a.setflags(write=False), a.sort()),
        lambda np, a: a.argsort(stable="no", kind="quicksort"),
    ]
    for call in calls:
        errors = []
        for module in (numpy, lazyarray):
            with pytest.raises(Exception) as caught:  # noqa: PT011  (it is compared)
                call(module, module.array(a))
            errors.append((type(caught.value), str(caught.value)))
        assert errors[0] == errors[1]
