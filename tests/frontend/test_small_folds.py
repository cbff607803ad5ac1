"""Sums, means, extremes, choices and places of true values of small arrays are NumPy's, bits and warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from lazyarray.frontend.array import ndarray, to_numpy
from lazyarray.frontend.scalar import LazyScalar

CODES = ("?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "g", "F", "D", "M8[s]", "m8[s]", "O", ">f8", "S3")
EXTENTS = (0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200, 1023, 4000)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "one by one": lambda x: x,
    "every third": lambda x: x[::3],
    "backwards": lambda x: x[::-1],
    "rows": lambda x: x[: x.size // 4 * 4].reshape(-1, 4),
    "columns": lambda x: x[: x.size // 4 * 4].reshape(-1, 4).T,
    "inner": lambda x: x[: x.size // 8 * 8].reshape(-1, 8)[:, 2:5],
    "planes": lambda x: x[: x.size // 12 * 12].reshape(2, -1, 6),
    "none of them": lambda x: x[:1].reshape(()) if x.size else x,
}
FOLDS = ("sum", "mean", "max", "min", "any", "all")


def _values(code: str, n: int, seed: int = 0) -> Any:
    rng = numpy.random.default_rng(n + seed)
    whole = rng.integers(-100, 100, n)
    if numpy.dtype(code).kind not in "fc":
        return (whole > 0 if code == "?" else whole).astype(code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 5, n)).astype(code)
        if n > 6 and seed:
            places = rng.integers(0, n, 2)
            values[places] = rng.choice([numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e308, 6e4, 5e-324])
    return values


def _said(call: Callable[[], Any]) -> Any:
    """What a call gives: class, dtype, extents, strides, bits; its error; its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = call()
        except Exception as error:
            return type(error), str(error), [str(one.message) for one in told]
    if isinstance(found, tuple):
        return [_described(item) for item in found], [str(one.message) for one in told]
    return _described(found), [str(one.message) for one in told]


def _described(found: Any) -> Any:
    ours = type(found) is ndarray
    array = to_numpy(found) if ours else numpy.asarray(found)
    kind = "array" if ours or type(found) is numpy.ndarray else type(found)
    if kind is LazyScalar:
        kind = array.dtype.type
    bits = repr(array.tolist()) if array.dtype.char in "gO" else array.tobytes()
    return kind, array.dtype, array.shape, array.strides, array.flags.writeable, bits


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("code", CODES)
def test_a_fold_of_all_elements_is_numpys(code: str, layout: str) -> None:
    arranged = LAYOUTS[layout]
    for n in EXTENTS:
        for seed in range(3):
            x = _values(code, n, seed)
            y = lazyarray.array(x)
            for name in FOLDS:
                expected = _said(lambda x=x, name=name: getattr(arranged(x), name)())
                assert _said(lambda y=y, name=name: getattr(arranged(y), name)()) == expected
                if code in ("M8[s]", "S3") and name == "mean":
                    continue  # a TypeError, of which NumPy's function is asked once more: what it warned of comes twice
                expected = _said(lambda x=x, name=name: getattr(numpy, name)(arranged(x)))
                assert _said(lambda y=y, name=name: getattr(lazyarray, name)(arranged(y))) == expected


@pytest.mark.parametrize("code", "bBhHiIlL")
def test_a_total_of_integers_wraps_as_numpys(code: str) -> None:
    kind = numpy.iinfo(code)
    for n in (15, 16, 31, 40_000):
        x = numpy.random.default_rng(n).integers(kind.min, kind.max, n, code, endpoint=True)
        for each in (slice(None), slice(1, None), slice(None, None, -3), (slice(n // 4), None), (None, slice(None))):
            y = lazyarray.array(x)[each]
            assert _said(lambda y=y: y.sum()) == _said(lambda x=x, each=each: x[each].sum())


def test_a_fold_with_arguments_is_numpys() -> None:
    x = _values("d", 60, 1).reshape(3, 4, 5)
    mask = x > 0
    forms: tuple[dict[str, Any], ...] = (
        {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}, {"axis": ()}, {"axis": None}, {"keepdims": True}, {"axis": 3},
        {"initial": 2.0}, {"where": mask}, {"dtype": "f4"}, {"out": None}, {"unknown": 1}, {"axis": 1.0},
    )  # fmt: skip
    for array, ours in ((x, lazyarray.array(x)), (mask, lazyarray.array(mask))):
        for name in FOLDS:
            for form in forms:
                given = {key: lazyarray.array(item) if item is mask else item for key, item in form.items()}
                expected = _said(lambda a=array, n=name, f=form: getattr(a, n)(**f))
                found = _said(lambda a=ours, n=name, f=given: getattr(a, n)(**f))
                assert found == expected, (name, form)
            expected = _said(lambda a=array, n=name: getattr(numpy, n)(a, 1))
            assert _said(lambda a=ours, n=name: getattr(lazyarray, n)(a, 1)) == expected


def test_a_fold_that_overflows_says_so_or_raises_as_numpy_does() -> None:
    x = numpy.full(100, 1e308)
    y = lazyarray.array(x)
    for name in ("sum", "mean"):
        for state in ("warn", "raise", "ignore"):
            with numpy.errstate(over=state), lazyarray.errstate(over=state):
                assert _said(getattr(y, name)) == _said(getattr(x, name))
    told: list[tuple[str, int]] = []
    with numpy.errstate(over="call", call=lambda kind, flag: told.append((kind, flag))):
        x.sum()
    with lazyarray.errstate(over="call", call=lambda kind, flag: told.append((kind, flag))):
        y.sum()
    assert len(told) == 2
    assert told[0] == told[1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("code", CODES)
def test_a_choice_by_a_mask_is_numpys(code: str, layout: str) -> None:
    arranged = LAYOUTS[layout]
    for n in (0, 1, 5, 16, 31, 64, 100, 1000, 4000):
        x, y = _values(code, n, 1), _values(code, n, 2)
        for mask in (_values("?", n), (numpy.arange(n) % 3).astype("u1").view("?"), _values("d", n)):
            ours = [lazyarray.array(item) for item in (mask, x, y)]
            choices: tuple[Callable[[Any, Any], Any], ...] = (
                lambda a, b: (arranged(a), arranged(b)), lambda a, b: (arranged(a), b), lambda a, b: (arranged(a), 3),
                lambda a, b: (2.5, arranged(b)), lambda a, b: (arranged(a), 1e300), lambda a, b: (2**40, arranged(b)),
                lambda a, b: (1, 0), lambda a, b: (1.0, 0), lambda a, b: (1.0, -0.0), lambda a, b: (1j, 0),
                lambda a, b: (True, arranged(b)), lambda a, b: (True, False), lambda a, b: (numpy.float32(2), 0.5),
                lambda a, b: (arranged(a), numpy.int8(1)), lambda a, b: (arranged(a), arranged(b).astype("f8")),
                lambda a, b: (2**70, 1), lambda a, b: (None, 1), lambda a, b: (arranged(a),), lambda a, b: ("x", 1),
            )  # fmt: skip
            for pick in choices:
                expected = _said(lambda m=mask, p=pick, a=x, b=y: numpy.where(arranged(m), *p(a, b)))
                found = _said(lambda m=ours[0], p=pick, a=ours[1], b=ours[2]: lazyarray.where(arranged(m), *p(a, b)))
                assert found == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_places_of_true_values_are_numpys(layout: str) -> None:
    arranged = LAYOUTS[layout]
    for n in EXTENTS:
        for mask in (_values("?", n), numpy.zeros(n, "?"), numpy.ones(n, "?"), numpy.arange(n) % 97 == 3):
            ours = lazyarray.array(mask)
            for name in ("nonzero", "where", "argwhere", "flatnonzero"):
                expected = _said(lambda m=mask, f=name: getattr(numpy, f)(arranged(m)))
                assert _said(lambda m=ours, f=name: getattr(lazyarray, f)(arranged(m))) == expected
            assert _said(arranged(ours).nonzero) == _said(arranged(mask).nonzero)
    found = lazyarray.array(numpy.eye(3, dtype="?")).nonzero()
    assert [item.flags.owndata for item in found] == [False, False]
    found[0][0] = 7
    assert found[0].tolist() == [7, 1, 2]
    assert found[1].tolist() == [0, 1, 2]


def test_masks_of_many_axes_are_numpys() -> None:
    for rank in (15, 16, 17, 32):
        mask = numpy.ones((1,) * (rank - 2) + (3, 2), "?")
        ours = lazyarray.array(mask)
        for name in ("nonzero", "sum", "mean", "any", "all"):
            assert _said(getattr(ours, name)) == _said(getattr(mask, name))
        assert _said(lambda m=ours: lazyarray.where(m, m, False)) == _said(lambda m=mask: numpy.where(m, m, False))
        assert _said(lambda m=ours: m[m]) == _said(lambda m=mask: m[m])


ALONG = ("sum", "mean", "max", "min", "var", "std")
BLOCKS = [
    (1, 1), (5, 1), (1, 5), (20, 1), (3, 4), (200, 10), (10, 200), (300, 3), (7, 300), (300, 7), (129, 64), (5, 6, 7),
    (20, 3, 1), (1, 20, 3), (20, 1, 3), (2, 3, 4, 5), (9, 2, 9), (0, 4), (4, 0), (12,), (1,), (60, 33),
]  # fmt: skip


def _of_blocks(shape: tuple[int, ...], code: str, kind: str) -> Any:
    draw = numpy.random.default_rng(len(shape))
    whole = draw.normal(size=shape) * 10.0 ** draw.integers(-3, 4, shape)
    if kind == "zeros" and whole.size:
        whole.flat[::3], whole.flat[1::7] = -0.0, 0.0
    if kind == "zeros of one sign":
        whole = -abs(whole) * 0.0
    if kind == "odd" and code in "fdFDeg":
        for place, number in enumerate((numpy.nan, numpy.inf, -numpy.inf, -numpy.nan, 1e38, 3e38)[: whole.size]):
            whole.flat[place * 5 % whole.size] = number
    with numpy.errstate(all="ignore"):
        return whole.astype(code)


def _with_one_nan(found: Any) -> Any:
    """The result with NaN of one sign alone: which of two NumPy's sums hand on depends on where memory lies."""
    if found.dtype.kind in "fc":
        parts = numpy.asarray(found).real, numpy.asarray(found).imag
        if any([numpy.isnan(part).any() for part in parts]):
            found[...] = numpy.where(numpy.isnan(found), numpy.nan, found) if found.ndim else found
    return found


@pytest.mark.parametrize("kind", ["usual", "zeros", "zeros of one sign", "odd"])
@pytest.mark.parametrize("code", ["?", "b", "H", "i", "l", "L", "e", "f", "d", "g", "F", "D"])
@pytest.mark.parametrize("name", ALONG)
def test_a_fold_along_an_axis_is_numpys(name: str, code: str, kind: str) -> None:
    for shape in BLOCKS:
        a = _of_blocks(shape, code, kind)
        ours = lazyarray.asarray(a.copy())
        for axis in (*range(-a.ndim, a.ndim), a.ndim, *([True] if a.size else [])):
            for options in ({}, {"keepdims": True}):
                where = (shape, axis, options)
                want = _said(lambda: _with_one_nan(getattr(a, name)(axis=axis, **options)))  # noqa: B023
                have = _said(lambda: _with_one_nan(getattr(ours, name)(axis=axis, **options)))  # noqa: B023
                assert have == want, where
                have = _said(lambda: _with_one_nan(getattr(lazyarray, name)(ours, axis, **options)))  # noqa: B023
                assert have == want, where


@pytest.mark.parametrize("name", ALONG)
def test_what_is_no_fold_along_one_axis_is_numpys_too(name: str) -> None:
    a = _of_blocks((20, 6), "d", "usual")
    ours = lazyarray.asarray(a.copy())
    for args, named in (
        ((0, None), {}), ((None,), {}), (((0, 1),), {}), ((2**70,), {}), ((0.0,), {}), (("0",), {}),
        ((numpy.int64(1),), {}), ((0,), {"keepdims": 1}), ((), {"keepdims": True, "axis": 0}),
        ((), {"axis": 0, "keepdims": None}), ((0,), {"axis": 0}), ((0, True), {}), ((), {"axes": 0}),
        ((1,), {"initial": 3.0}),
    ):  # fmt: skip
        assert _said(lambda: getattr(ours, name)(*args, **named)) == _said(lambda: getattr(a, name)(*args, **named))  # noqa: B023
