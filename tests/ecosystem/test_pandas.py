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


@pytest.mark.parametrize(
    "use",
    [
        lambda made: made * pending(values),
        lambda made: made[pending(values[:, 0]) > 0],
        lambda made: made.loc[pending(values[:, 0]) > 0],
        lambda made: made.groupby(pending(numpy.arange(6))).sum(),
        lambda made: pd.unique(pending(numpy.arange(6))),
    ],
    ids=["arithmetic of frames", "rows by a mask", "loc", "groupby", "unique"],
)
def test_what_pandas_takes_of_numpys_own_class_only_is_refused(use: Any) -> None:
    """Where pandas asks `isinstance(x, numpy.ndarray)` it raises, and `numpy.asarray(x)` serves."""
    with pytest.raises((TypeError, ValueError, KeyError)):
        use(frame(values))


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
