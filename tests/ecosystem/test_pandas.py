"""pandas holds, computes with, and gives back lazy arrays."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers, pending

pd = pytest.importorskip("pandas")

values = numbers(6, 3)


def frame(data: Any) -> Any:
    return pd.DataFrame(data, columns=["a", "b", "c"])


def test_frames_and_series_of_lazy_arrays_are_those_of_numpys() -> None:
    pd.testing.assert_frame_equal(frame(pending(values)), frame(values))
    pd.testing.assert_series_equal(pd.Series(pending(values[:, 0])), pd.Series(values[:, 0]))
    columns = {name: values[:, i] for i, name in enumerate("ab")}
    lazy = {name: pending(column) for name, column in columns.items()}
    pd.testing.assert_frame_equal(pd.DataFrame(lazy), pd.DataFrame(columns))
    pd.testing.assert_index_equal(pd.Index(pending(values[:, 0])), pd.Index(values[:, 0]))
    assert pd.DataFrame({"n": pending(numpy.arange(3, dtype="i2"))})["n"].dtype == "int16"


def test_a_frame_does_not_see_what_is_written_to_its_array_later() -> None:
    source = pending(values)
    made = frame(source)
    kept = made.copy()
    source[...] = 0
    expected = frame(memory := values.copy())
    memory[...] = 0
    assert made.equals(kept) == expected.equals(frame(values))


def test_columns_become_lazy_arrays() -> None:
    made = frame(values)
    assert_equal(lazyarray.asarray(made), values)
    column = lazyarray.asarray(made["b"])
    assert type(column) is lazyarray.ndarray
    assert_equal(lazyarray.array(made["b"]) * 2, values[:, 1] * 2)
    assert_equal(lazyarray.exp(made["b"].to_numpy()), numpy.exp(values[:, 1]))
    assert_equal(made[["a", "c"]].to_numpy(), values[:, [0, 2]])


def test_arithmetic_of_columns_and_lazy_arrays_is_pandas() -> None:
    made, other = frame(values), values[:, 2]
    for compute in (
        lambda f, v: f["a"] + v,
        lambda f, v: v - f["a"],
        lambda f, v: f["a"] * v > 0.1,
        lambda f, v: numpy.exp(f["a"]) / v,
        lambda f, v: numpy.maximum(f["a"], v),
        lambda f, v: numpy.add(v, f["a"]),
    ):
        found, expected = compute(made, pending(other)), compute(made, other)
        pd.testing.assert_series_equal(found, expected)
    pd.testing.assert_frame_equal(made * frame(pending(values)), made * values)


def written(made: Any, key: Any, value: Any) -> Any:
    made.loc[key] = value
    return made


def assigned(made: Any, key: Any, value: Any) -> Any:
    made[key] = value
    return made


# What programs do with a frame `f` (columns a, b, k) and an array `x` of as many elements; `np` is NumPy or lazyarray.
USES = {
    "rows by a mask": lambda np, x, f: f[x > 2],
    "rows of loc by a mask": lambda np, x, f: f.loc[x > 2, "a"],
    "columns by a mask": lambda np, x, f: f.loc[:, np.array([True, False, True])],
    "labels by a mask": lambda np, x, f: f.index[x > 2],
    "rows by positions": lambda np, x, f: f.iloc[np.argsort(-x, kind="stable")],
    "cells by positions": lambda np, x, f: f.iloc[np.array([0, 2]), 1],
    "a row by a number": lambda np, x, f: f.loc[x.argmax()],
    "cells written by a mask": lambda np, x, f: written(f, (x > 2, "a"), 0.0),
    "cells written with an array": lambda np, x, f: written(f, (x > 2, "a"), x[x > 2] * 10),
    "a cell written with a number": lambda np, x, f: written(f, (0, "a"), x.max()),
    "columns written with rows": lambda np, x, f: assigned(f, ["a", "b"], np.stack([x, x * 2], axis=1)),
    "columns written with square rows": lambda np, x, f: assigned(f[:2].copy(), ["a", "b"], np.array([[1, 2], [3, 4]])),
    "a column of texts": lambda np, x, f: assigned(f, "z", np.where(x > 2, "hi", "lo")),
    "masked by the frame": lambda np, x, f: assigned(f, f > 3, 0.0),
    "operators with rows": lambda np, x, f: f[["a", "b"]] * np.ones((len(x), 2)),
    "comparison": lambda np, x, f: (f["a"] == x) & (x < 4),
    "methods": lambda np, x, f: f["a"].add(x).where(x > 2, x * 10).clip(np.zeros(len(x)), x),
    "products": lambda np, x, f: f[["a", "b"]].T.dot(x) + f[["a", "b"]].T @ x,
    "groups by a mask": lambda np, x, f: f.groupby(x > 2)["a"].sum(),
    "groups by two arrays": lambda np, x, f: f.groupby([x > 2, np.floor(x / 2)]).sum(),
    "a pivot by an array": lambda np, x, f: f.pivot_table(values="a", index=x > 2, aggfunc="sum"),
    "a table of two": lambda np, x, f: pd.crosstab(x > 2, np.floor(x)),
    "joined by an array": lambda np, x, f: f[:6].merge(pd.DataFrame({"w": x[:6]}), left_on=x[:6], right_on="w"),
    "unique": lambda np, x, f: pd.Series(pd.unique(x)),
    "factorize": lambda np, x, f: pd.Series(pd.factorize(x)[1]),
    "found in": lambda np, x, f: f["a"].isin(x[:2]),
    "an index": lambda np, x, f: f.set_index(x).loc[[x[1]]],
    "an index of two": lambda np, x, f: f.set_index([x, x > 2]),
    "no rows": lambda np, x, f: pd.DataFrame(np.zeros((0, 3)), columns=list("abc")),
    "rows of a list": lambda np, x, f: pd.DataFrame([x[:4], x[1:5]]),
    "rows of numbers": lambda np, x, f: pd.DataFrame([{"m": x.max(), "n": x.mean()}, {"m": x[0], "n": x[1]}]),
    "an array of pandas": lambda np, x, f: pd.Series(pd.array(x)),
    "categories": lambda np, x, f: pd.Series(pd.Categorical(x)),
    "times": lambda np, x, f: pd.Series(pd.to_timedelta(x, unit="D")),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [6, 20_000])
@pytest.mark.parametrize("use", USES)
def test_frames_are_used_with_lazy_arrays_as_with_numpys(use: str, size: int) -> None:
    column = numpy.arange(float(size)) % 7 + 0.5

    def work(np: Any) -> Any:
        x = np.arange(float(size)) % 7 + 0.5
        made = pd.DataFrame({"a": column.copy(), "b": column[::-1].copy(), "k": numpy.arange(size) % 3})
        return USES[use](np, x, made)

    found, expected = work(lazyarray), work(numpy)
    assert type(found) is type(expected)
    if isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(found, expected)
    elif isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(found, expected)
    else:
        pd.testing.assert_index_equal(found, expected)


@pytest.mark.parametrize("size", [6, 20_000])
@pytest.mark.parametrize(
    "make", [pd.Series, pd.Index, lambda x: pd.DataFrame(x[:, None]), lambda x: pd.DataFrame({0: x})]
)
def test_what_pandas_makes_of_an_array_has_memory_of_its_own_where_it_has_of_numpys(make: Any, size: int) -> None:
    def write(np: Any) -> tuple[float, float]:
        x = np.arange(float(size)) + 1.0
        made = make(x)
        x[0] = 50.0
        seen = float(numpy.asarray(made).ravel()[0])
        if not isinstance(made, pd.Index):
            made.iloc[1] = 70.0
        return seen, float(x[1])

    assert write(lazyarray) == write(numpy)


@pytest.mark.parametrize(
    "use",
    [
        lambda: pd.Series(values[:, 0], index=[pending(values[:, 0]), pending(values[:, 1])]),
        lambda: pd.arrays.BooleanArray(pending(numpy.ones(3, dtype=bool)), pending(numpy.zeros(3, dtype=bool))),
    ],
    ids=["an index of a list of arrays", "arrays of values and a mask"],
)
def test_what_pandas_asks_for_numpys_own_class_in_compiled_code_is_refused(use: Any) -> None:
    """`numpy.asarray(x)` serves."""
    with pytest.raises((TypeError, ValueError)):
        use()


def standardised(x: Any) -> Any:
    mean = x.mean()
    return (x - mean) / x.std() * -x.max()


def table_of(x: Any) -> Any:
    least = x.min()
    return {"least": least, "most": lazyarray.max(x), "sum of": [x.sum(), least + x[0]], "place": x.argmax()}


def test_numbers_are_computed_where_pandas_may_read_them_and_lazy_inside_expressions() -> None:
    x = lazyarray.evaluate(lazyarray.arange(50_000.0) % 7)
    with lazyarray.record_runs() as runs:
        found = standardised(x * 2.0)
        assert not runs.plans
        found.evaluate()
    assert_equal(found, standardised(numpy.asarray(x) * 2.0))
    made = table_of(x * 2.0)
    assert [type(item) for item in (made["least"], made["most"], *made["sum of"])] == [numpy.float64] * 4
    assert type(made["place"]) is numpy.int64
    assert pd.DataFrame([made, made])["least"].dtype == float


def test_to_numpy_takes_what_pandas_and_others_ask_for() -> None:
    x = lazyarray.arange(3.0)
    assert x.to_numpy(dtype=object).dtype == object
    assert numpy.shares_memory(x.to_numpy(), x.to_numpy(dtype=float))
    assert not numpy.shares_memory(x.to_numpy(), x.to_numpy(copy=True))


def test_ufuncs_of_lazyarray_leave_series_to_pandas() -> None:
    series = pd.Series(values[:, 0], index=list("uvwxyz"))
    pd.testing.assert_series_equal(lazyarray.sqrt(series**2), numpy.sqrt(series**2))
    pd.testing.assert_series_equal(lazyarray.add(series, pending(values[:, 1])), series + values[:, 1])


def test_columns_are_assigned_and_selected_with_lazy_arrays() -> None:
    def work(convert: Any) -> Any:
        made = frame(values)
        made["d"] = convert(values[:, 0]) * 2
        made["f"] = numpy.where(convert(values[:, 0]) > 0, made["a"], 7.0)
        made.iloc[[0, 2], 1] = convert(numpy.array([5.0, 6.0]))
        made["where"] = numpy.where(made["a"] > 0, convert(values[:, 1]), 0)
        return made[made["c"] < 1].assign(e=convert(values[:, 2])[values[:, 2] < 1])

    pd.testing.assert_frame_equal(work(pending), work(numpy.asarray))


def test_grouping_binning_and_joining_by_lazy_keys() -> None:
    keys = numpy.array([0, 1, 0, 1, 2, 2])

    def work(convert: Any) -> list[Any]:
        made = frame(values)
        return [
            made.assign(key=convert(keys)).groupby("key").mean(),
            made["a"].groupby(keys).agg(lambda part: float(convert(part.to_numpy()).max())),
            made.apply(lambda column: float((convert(column.to_numpy()) ** 2).sum())),
            pd.Series(pd.cut(convert(values[:, 0]), convert(numpy.array([-9.0, 0, 9])), labels=False)),
            pd.concat([made, pd.DataFrame(convert(values), columns=list("xyz"))], axis=1),
            pd.Series(convert(keys)).value_counts(),
            pd.Series(pd.factorize(pd.Series(convert(keys)))[0]),
            made["a"].rolling(2).apply(lambda part: convert(part).sum(), raw=True),
            made["a"].isin(convert(values[:2, 0])),
            pd.Series(numpy.searchsorted(made["a"].sort_values(), convert(values[:, 1]))),
        ]

    for found, expected in zip(work(pending), work(numpy.asarray), strict=True):
        (pd.testing.assert_frame_equal if isinstance(expected, pd.DataFrame) else pd.testing.assert_series_equal)(
            found, expected
        )


def test_times_and_texts_pass_through() -> None:
    days = lazyarray.array(["2024-01-01", "2024-02-29"], dtype="M8[ns]")
    assert list(pd.Series(days).dt.month) == [1, 2]
    assert list(pd.Series(lazyarray.array(["a", "bc"])).str.len()) == [1, 2]
