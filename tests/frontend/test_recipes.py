"""A call that records nodes from shapes, dtypes and constants alone is recorded again alike, without its long look."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.frontend import recipes

DATA = numpy.random.default_rng(5).standard_normal((64, 48))
OTHER = numpy.random.default_rng(6).standard_normal((64, 48))


@pytest.fixture(autouse=True)
def recorded() -> Iterator[None]:
    with np.config.set(eager_below=0):
        yield


def own(data: Any) -> Any:
    """An array of lazyarray's, with its value."""
    return np.evaluate(np.asarray(data) * 1.0)


def count_recipes() -> int:
    return sum(type(recipe) is tuple for each in recipes._all for recipe in each.known.values())


CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda np, x, y: x.sum(),
    "sum of rows": lambda np, x, y: np.sum(x, axis=1, keepdims=True),
    "float32 sum": lambda np, x, y: x.sum(axis=(0, 1), dtype=np.float32),
    "product": lambda np, x, y: np.prod(x, axis=-1),
    "maximum": lambda np, x, y: x.max(axis=0),
    "any": lambda np, x, y: (x > 0.9).any(axis=1),
    "all": lambda np, x, y: np.all(x < y),
    "range": lambda np, x, y: np.ptp(x, axis=0),
    "count": lambda np, x, y: np.count_nonzero(x > 0.0, axis=1),
    "running sum": lambda np, x, y: np.cumsum(x, axis=1),
    "running product of all": lambda np, x, y: (x * 0.1 + 1.0).cumprod(),
    "mean": lambda np, x, y: x.mean(axis=0),
    "variance": lambda np, x, y: x.var(axis=1, ddof=1),
    "deviation": lambda np, x, y: np.std(x),
    "complex deviation": lambda np, x, y: (x + 1j * y).std(axis=0),
    "choice": lambda np, x, y: np.where(x > y, x, y),
    "choice of numbers": lambda np, x, y: np.where(x > y, 1.0, -0.0),
    "clipped": lambda np, x, y: np.clip(x, -0.5, 0.5),
    "clipped by an array": lambda np, x, y: x.clip(y, 2.0),
    "mean of a mask": lambda np, x, y: x.mean(where=y > 0.0),
    "sum of a view": lambda np, x, y: x[1:-1, ::2].sum(axis=1),
    "mean of columns in Fortran order": lambda np, x, y: x.T.mean(axis=0),
    "rolled": lambda np, x, y: np.roll(x, -3, axis=1),
    "rolled both ways": lambda np, x, y: np.roll(x, (1, 50), axis=(0, 1)),
    "rolled by nothing": lambda np, x, y: np.roll(x, 128, axis=0),
    "rolled through": lambda np, x, y: np.roll(x, 5),
    "rolled row": lambda np, x, y: np.roll(x[3] + y[4], -1),
    "rolled in Fortran order": lambda np, x, y: np.roll(x.T, 1, axis=0),
    "joined": lambda np, x, y: np.concatenate((x, y, x), axis=1),
    "joined list of views": lambda np, x, y: np.concatenate([x[1:], y[:, ::-1]]),
    "stacked": lambda np, x, y: np.stack([x, y], axis=1),
    "stacked rows": lambda np, x, y: np.vstack((x, y)),
    "stacked columns": lambda np, x, y: np.hstack((x, y)),
    "padded": lambda np, x, y: np.pad(x, 2),
    "padded on each side": lambda np, x, y: np.pad(x, ((1, 2), (0, 3))),
    "padded by numbers": lambda np, x, y: np.pad(x, ((1, 2), (0, 3)), constant_values=1.5),
    "padded by reflection": lambda np, x, y: np.pad(x, 4, mode="reflect"),
    "padded around": lambda np, x, y: np.pad(x, 2, "wrap"),
    "differences": lambda np, x, y: np.diff(x, n=2, axis=0),
    "slope": lambda np, x, y: np.gradient(x, 0.5, axis=0),
    "outer product": lambda np, x, y: np.outer(x, y[0]),
    "norms of rows": lambda np, x, y: np.linalg.norm(x - y, axis=1),
    "norm of columns": lambda np, x, y: np.linalg.norm(x, numpy.inf, axis=0, keepdims=True),
    "average": lambda np, x, y: np.average(x, axis=1),
    "weighed average": lambda np, x, y: np.average(x, axis=1, weights=y * y),
    "largest": lambda np, x, y: np.argmax(x, axis=1),
    "ufunc's sum": lambda np, x, y: np.add.reduce(x),
    "ufunc's maximum of all": lambda np, x, y: np.maximum.reduce(x - y, axis=None),
    "ufunc's minimum of rows": lambda np, x, y: np.fmin.reduce(x, 1),
    "ufunc's truth": lambda np, x, y: np.logical_or.reduce(x > y, axis=1),
    "ufunc's difference": lambda np, x, y: np.subtract.reduce(x, axis=1),
    "ufunc's running sum": lambda np, x, y: np.add.accumulate(x, axis=1),
    "ufunc's running quotient": lambda np, x, y: np.divide.accumulate(x, axis=0),
    "rounded": lambda np, x, y: np.round(x, 3),
    "tiled": lambda np, x, y: np.tile(x, (2, 3)),
    "sum without NaN": lambda np, x, y: np.nansum(np.where(x > y, x, numpy.nan), axis=0),
    "blocks": lambda np, x, y: np.block([[x, y], [y[:, ::-1], x * 2.0]]),
    "blocks of rows": lambda np, x, y: np.block([x, y]),
    "selected": lambda np, x, y: np.select([x > 0.5, y > 0.0], [x, y * 2.0], -0.0),
    "area": lambda np, x, y: np.trapezoid(x, dx=0.5, axis=0),
    "area over places": lambda np, x, y: np.trapezoid(y, x, axis=1),
    "cross product": lambda np, x, y: np.cross(x[:, :3], y[:, 3:6]),
    "appended": lambda np, x, y: np.append(x, y, axis=0),
    "appended number": lambda np, x, y: np.append(x, -0.0),
    "upper triangle": lambda np, x, y: np.triu(x, 2),
    "lower triangle": lambda np, x, y: np.tril(x),
    "unwrapped": lambda np, x, y: np.unwrap(x * 9.0, axis=0),
    "powers": lambda np, x, y: np.vander(x[0], 4),
    "without a row": lambda np, x, y: np.delete(x, 3, axis=0),
    "without the last": lambda np, x, y: np.delete(x, -1),
    "with a number between": lambda np, x, y: np.insert(x, 7, 1.5),
    "with a column between": lambda np, x, y: np.insert(x, 2, -0.0, axis=1),
    "resized": lambda np, x, y: np.resize(x, (70, 50)),
    "sinc": lambda np, x, y: np.sinc(x) == np.sinc(x),
    "running product without NaN": lambda np, x, y: np.nancumprod(np.where(x > y, x, numpy.nan), axis=0),
    "infinite ones": lambda np, x, y: np.isposinf(np.where(x > 1.0, numpy.inf, y)),
    "running sum without NaN": lambda np, x, y: np.nancumsum(np.where(x > y, x, numpy.nan), axis=1),
    "tiled rows": lambda np, x, y: np.tile(x, 3),
    "converted": lambda np, x, y: x.astype(numpy.float32),
    "converted by name": lambda np, x, y: (x * 9.0).astype("i2"),
    "converted in Fortran order": lambda np, x, y: x.T.astype(complex, order="F"),
    "copied": lambda np, x, y: x.copy(),
    "copied view": lambda np, x, y: x[1:, ::3].copy("K"),
    "flat": lambda np, x, y: x.flatten(),
    "flat columns": lambda np, x, y: x[:, ::2].flatten("F"),
    "zeros alike": lambda np, x, y: np.zeros_like(x) + np.full_like(y, 2.0),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_recorded_again_with_the_same_bits(name: str) -> None:
    call = CALLS[name]
    first, second = ([own(a * s) for a in (DATA, OTHER)] for s in (1.0, 3.0))
    for x, y in (first, second, first, second):
        want = call(numpy, *[numpy.array(a) for a in (x, y)])
        have = numpy.asarray(call(np, x, y))
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        assert have.tobytes() == want.tobytes()


@pytest.mark.parametrize(
    "name",
    """
    sum,variance,choice,clipped,running sum,sum of a view,rolled,rolled row,joined,joined list of views,stacked,padded,
    padded by reflection,blocks,appended number,upper triangle,unwrapped,without a row,converted,copied,flat,
    differences,slope,norms of rows,average,largest,ufunc's sum,
    ufunc's maximum of all,ufunc's minimum of rows,ufunc's running sum
    """.replace("\n    ", "")
    .strip()
    .split(","),
)
def test_the_third_call_takes_no_long_look(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = (own(a) for a in (DATA, OTHER))
    CALLS[name](np, x, y)
    assert not count_recipes()
    CALLS[name](np, x, y)
    before = count_recipes()
    assert before
    looks = []
    for each in recipes._all:
        look = each.function
        monkeypatch.setattr(each, "function", lambda *args, **kwargs: looks.append(args) or look(*args, **kwargs))  # noqa: B023
    CALLS[name](np, y, x)
    assert not looks
    assert count_recipes() == before


def test_constants_of_other_types_and_signs_are_other_calls() -> None:
    x = own(DATA)
    zeros = [0.0, -0.0, 0, False, numpy.float32(-0.0), numpy.int8(0), numpy.complex64(1 - 0j), numpy.complex64(1 + 0j)]
    for zero in zeros * 3:
        want = numpy.where(DATA > 0, numpy.float64(1.0), zero)
        have = numpy.asarray(np.where(x > 0, numpy.float64(1.0), zero))
        assert have.dtype == want.dtype
        assert have.tobytes() == want.tobytes()
    for keep in (True, 1, False, 0) * 3:
        assert x.sum(axis=1, keepdims=keep).shape == DATA.sum(axis=1, keepdims=keep).shape


def test_an_operand_given_twice_stands_for_one_place_only() -> None:
    x, y = (own(a) for a in (DATA, OTHER))
    mask = np.evaluate(x > 0.0)
    for _ in range(3):
        numpy.testing.assert_array_equal(np.where(mask, x, x), DATA)
    numpy.testing.assert_array_equal(np.where(mask, x, y), numpy.where(DATA > 0, DATA, OTHER))
    numpy.testing.assert_array_equal(np.where(mask, y, x), numpy.where(DATA > 0, OTHER, DATA))


def test_values_that_numpys_code_may_read_are_read_each_time() -> None:
    x = own(DATA)
    for number in (1.0, 2.0, 3.0, 4.0):
        weights, value = own(numpy.arange(48.0) + number), own(numpy.full(1, number))
        numpy.testing.assert_array_equal(
            np.average(x, axis=1, weights=weights), numpy.average(DATA, 1, numpy.asarray(weights))
        )
        numpy.testing.assert_array_equal(
            np.pad(x, 1, constant_values=value), numpy.pad(DATA, 1, constant_values=number)
        )
        numpy.testing.assert_array_equal(
            np.gradient(x, weights**2, axis=1), numpy.gradient(DATA, numpy.asarray(weights) ** 2, axis=1)
        )
    for weights in (numpy.ones(48), numpy.zeros(48), numpy.ones(48), numpy.zeros(48)):
        if weights.any():
            np.average(x, axis=1, weights=own(weights))
        else:
            with pytest.raises(ZeroDivisionError):
                np.average(x, axis=1, weights=own(weights))


def test_a_result_of_a_recipe_may_be_written_into() -> None:
    x, y = own(DATA), own(OTHER)
    for factor in (1.0, 2.0, 3.0, 4.0):
        found = np.concatenate((x, y))
        found[1:, 0] *= factor
        want = numpy.concatenate((DATA, OTHER))
        want[1:, 0] *= factor
        numpy.testing.assert_array_equal(found, want)
        numpy.testing.assert_array_equal(np.concatenate((x, y)), numpy.concatenate((DATA, OTHER)))
    numpy.testing.assert_array_equal(x, DATA)


def test_results_go_into_out_each_time() -> None:
    x = own(DATA)
    for factor in (1.0, 2.0, 3.0):
        out = np.zeros(48)
        assert np.sum(x * factor, axis=0, out=out) is out
        numpy.testing.assert_array_equal(out, (DATA * factor).sum(axis=0))
        assert x.max(0, out) is out
        numpy.testing.assert_array_equal(out, DATA.max(axis=0))


def test_writes_between_calls_are_seen() -> None:
    x = own(DATA)
    for _ in range(3):
        before = x.sum()
    x[3] = 7.0
    after = x.sum()
    changed = DATA * 1.0
    changed[3] = 7.0
    assert float(before) == DATA.sum()
    assert float(after) == changed.sum()


def test_warnings_are_given_each_time_at_the_user_s_line() -> None:
    x = own(DATA * 1e200)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            np.evaluate(x.var(axis=0))
            np.evaluate(np.std(x, axis=0, ddof=64))
        messages = {str(w.message) for w in told}
        assert "Degrees of freedom <= 0 for slice" in messages
        assert any("overflow" in message for message in messages)
        assert {w.filename for w in told} == {__file__}


def test_errors_of_the_state_that_holds_are_raised() -> None:
    x = own(DATA * 1e200)
    with numpy.errstate(all="ignore"):
        for _ in range(3):
            np.evaluate(x.var(axis=0))
    with numpy.errstate(all="raise"), pytest.raises(FloatingPointError):
        np.evaluate(x.var(axis=0))
    with numpy.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        np.evaluate(x.var(axis=0))


def test_the_line_is_that_of_each_call() -> None:
    x = own(DATA)
    x.mean(axis=1)
    first = np.evaluate(x.mean(axis=1))
    second = np.evaluate(x.mean(axis=1))
    lines = [np.explain(found).kernels[0].operations[0].line for found in (first, second)]
    assert [line.text for line in lines if line] == [
        f"{name} = np.evaluate(x.mean(axis=1))" for name in ("first", "second")
    ]


def test_other_settings_begin_anew() -> None:
    x = own(DATA)
    x.sum()
    x.sum()
    assert count_recipes()
    with np.config.set(num_threads=1):
        assert not count_recipes()


def test_a_number_too_large_for_float16_warns_each_time() -> None:
    x = np.evaluate(np.asarray(DATA.astype("f2")) * np.ones((), "f2"))
    for number in (70000, 70000.0) * 3:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            want = numpy.where(DATA > 0, DATA.astype("f2"), number)
            expected = [str(w.message) for w in told]
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            have = numpy.asarray(np.where(x > 0, x, number))
        assert [str(w.message) for w in told] == expected
        assert have.tobytes() == want.tobytes()


MAKERS: dict[str, tuple[str, ...]] = {  # calls of numbers alone, each beside one that differs a little
    "counted": ("np.arange(9000)", "np.arange(9000.0)", "np.arange(9001)", "np.arange(0, 9000, True)"),
    "from, to": ("np.arange(-3, 9000)", "np.arange(3, 9000)", "np.arange(-3, 9000, 1, 'f4')", "np.arange(-3.0, 9000)"),
    "by steps": ("np.arange(0.0, 900.0, 0.1)", "np.arange(-0.0, 900.0, 0.1)", "np.arange(900.0, 0.0, -0.1)"),
    "a large int": ("np.arange(2**40, 2**40 + 9000)", "np.arange(2**62, 2**62 + 9000, 1)"),
    "spaced": ("np.linspace(0, 1, 9000)", "np.linspace(0.0, 1, 9000, endpoint=False)", "np.linspace(-0.0, 1, 9000)"),
    "spaced ints": ("np.linspace(0, 5, 9000, dtype=int)", "np.linspace(0, 5, 9000, dtype='f4')"),
    "with its step": ("np.linspace(0, 1, 9000, retstep=True)[0]", "np.linspace(1, 1, 9000)"),
    "filled": ("np.full(9000, 2)", "np.full(9000, 2.0)", "np.full((9000,), True)", "np.full(9000, -0.0)"),
    "in order": (
        "np.full((90, 100), 2.5, 'f4')",
        "np.full((90, 100), 2.5, 'f4', 'F')",
        "np.full((90, 100), 2.5, 'f8')",
    ),
    "NaN": ("np.full(9000, np.nan)", "np.full(9000, np.inf)", "np.full(9000, 1j)"),
}


@pytest.mark.parametrize("name", MAKERS)
def test_new_arrays_are_recorded_again_with_the_same_bits(name: str) -> None:
    for call in MAKERS[name] * 3:
        want, have = eval(call, {"np": numpy}), eval(call, {"np": np})
        theirs = numpy.asarray(have)
        assert (theirs.dtype, theirs.shape, theirs.tobytes()) == (want.dtype, want.shape, want.tobytes()), call
        assert have.strides == want.strides


def test_each_new_array_has_values_of_its_own() -> None:
    for make in (lambda: np.arange(9000), lambda: np.full(9000, 2), lambda: np.linspace(0.0, 1.0, 9000)):
        first = [make() for _ in range(4)]
        for place, array in enumerate(first):
            array[place] = 77
        for place, array in enumerate(first):
            assert numpy.flatnonzero(numpy.asarray(array) == 77).tolist() == sorted(
                {place, *([77] if make()[77] == 77 else [])}
            )


def test_errors_of_new_arrays_come_each_time() -> None:
    for _ in range(4):
        with pytest.raises(ZeroDivisionError):
            np.arange(0, 9000, 0)
        with pytest.raises(OverflowError):
            np.full(9000, 300, "u1")


WIDTH = DATA.shape[1]
MIXTURES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "choice": lambda np, x, row: np.where(x > 0.0, x, row),
    "choice by a row": lambda np, x, row: np.where(row > 0.0, row, x),
    "clipped": lambda np, x, row: np.clip(x, row, 0.5),
    "clipped to nothing": lambda np, x, row: np.clip(x, row, -row),
    "joined": lambda np, x, row: np.concatenate((row[None], x)),
    "joined twice": lambda np, x, row: np.concatenate([row, x.ravel(), row]),
    "joined as one line": lambda np, x, row: np.concatenate([x, row], axis=None),
    "joined as float32": lambda np, x, row: np.concatenate((x.ravel(), row), dtype="f4", casting="unsafe"),
    "a row below": lambda np, x, row: np.vstack((x, row)),
    "at the end": lambda np, x, row: np.hstack((x.ravel(), row)),
    "another column": lambda np, x, row: np.column_stack((x.T, row)),
    "blocks": lambda np, x, row: np.block([[x], [row]]),
    "appended": lambda np, x, row: np.append(x, row),
}


@pytest.mark.filterwarnings("ignore:Casting complex values:numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("code", ["f8", "f4", "i8", "c16"])
def test_small_operands_beside_large_ones_have_their_values_each_time(name: str, code: str) -> None:
    draw = numpy.random.default_rng(5)
    for turn in range(5):
        row = (draw.normal(size=WIDTH) * 3).astype(code)
        row[turn] = turn
        want = MIXTURES[name](numpy, DATA, row)
        with np.config.set(eager_below=1000):
            x, mine = own(DATA), np.array(row)
            found = MIXTURES[name](np, x, mine)
        mine[...] = 77  # what has been recorded keeps the old values
        have = numpy.asarray(found)
        assert (have.dtype, have.shape, have.tobytes()) == (want.dtype, want.shape, want.tobytes())


@pytest.mark.parametrize("name", ["choice", "clipped", "joined twice", "a row below", "at the end"])
def test_calls_with_small_operands_beside_large_ones_have_recipes(name: str) -> None:
    with np.config.set(eager_below=1000):
        x, row = own(DATA), np.array(numpy.arange(float(WIDTH)))
        for _ in range(3):  # what other tests left pending may be evaluated meanwhile, and then there is no recipe
            recipes._forget()
            MIXTURES[name](np, x, row)
            assert not count_recipes()
            MIXTURES[name](np, x, row)
            if count_recipes():
                break
        assert count_recipes()


@pytest.mark.parametrize("name", ["roll", "delete", "insert", "pad"])
def test_what_functions_read_of_small_arrays_is_no_part_of_a_recipe(name: str) -> None:
    more: Any = {"roll": ((0, 1),), "insert": (0.5,), "delete": (), "pad": ()}[name]
    with np.config.set(eager_below=1000):
        x = own(DATA)
        for places in ([1, 2], [0, 5], [3, 3]) * 3:
            want = getattr(numpy, name)(DATA, numpy.array(places), *more)
            have = getattr(np, name)(x, np.array(places), *more)
            numpy.testing.assert_array_equal(numpy.asarray(have), want)


def test_an_array_of_one_element_beside_a_large_one_is_looked_at_each_time() -> None:
    with np.config.set(eager_below=1000):
        x = own(DATA)
        for number in (1.0, 2.0, -0.0, 3.0):
            one = numpy.array([number])
            chosen, clipped = np.where(x > 0, x, np.array(one)), np.clip(x, np.array(one), 5.0)
            numpy.testing.assert_array_equal(numpy.asarray(chosen), numpy.where(DATA > 0, DATA, one))
            numpy.testing.assert_array_equal(numpy.asarray(clipped), numpy.clip(DATA, one, 5.0))
