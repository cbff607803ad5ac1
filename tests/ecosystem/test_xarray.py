"""xarray holds lazy arrays and computes with them, and evaluates nothing before somebody looks."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, is_pending, numbers, pending

xr = pytest.importorskip("xarray")
xr.DataArray(numpy.zeros(1))  # looks for Dask once, and what it imports begins blocks that catch warnings

values = numbers(4, 6)


def labelled(data: Any) -> Any:
    return xr.DataArray(data, dims=("time", "x"), coords={"time": [10, 20, 30, 40]}, name="t")


def test_a_data_array_holds_a_pending_array() -> None:
    source = pending(values)
    with lazyarray.strict(evaluate=True):
        held = labelled(source)
        assert (held.shape, held.dtype, held.sizes["x"]) == ((4, 6), numpy.float64, 6)
    assert type(held.data) is lazyarray.ndarray
    assert is_pending(held.data)
    assert_equal(held.values, values)


def test_computing_with_it_stays_pending() -> None:
    with lazyarray.config.set(eager_below=0):
        held = labelled(pending(values))
        with lazyarray.strict(evaluate=True):
            result = (numpy.sin(held - 1) * 2 + held.isel(time=0)).transpose("x", "time")
        assert type(result.data) is lazyarray.ndarray
        assert is_pending(result.data)
        assert type(held.mean("x").data) is lazyarray.ndarray
    expected = labelled(values)
    assert_equal(result.values, (numpy.sin(expected - 1) * 2 + expected.isel(time=0)).transpose("x", "time").values)


def test_selecting_grouping_and_combining() -> None:
    def work(data: Any) -> list[Any]:
        held = labelled(data)
        return [
            held.sel(time=20),
            held.sel(time=[10, 40]),
            held.where(held > 0, 0.0),
            held.groupby("time").mean(),
            held.rolling(x=2).mean(),
            held.fillna(0.0),
            held.diff("x"),
            held.cumsum("x"),
            held.max("x"),
            held.argmax("x"),
            held.std(),
            held.quantile(0.25, "x"),
            held.shift(x=1),
            held.coarsen(x=2).sum(),
            held.interp(time=[15.0]),
            held.dot(held, "x"),
            held.clip(-1, 1),
            xr.concat([held, held], "time"),
            xr.where(held > 0, held, -held),
            held.stack(z=("time", "x")),
            xr.Dataset({"a": held, "b": held * 2}).mean()["b"],
            held.weighted(xr.DataArray([1.0, 2, 3, 4], dims="time")).mean("time"),
        ]

    for found, expected in zip(work(pending(values)), work(values), strict=True):
        assert found.dims == expected.dims
        assert_equal(found.values, expected.values, 1e-12)


def test_writing_through_a_data_array() -> None:
    source = pending(values)
    held = labelled(source)
    held[0, 1] = 9.0
    held.loc[{"time": 40}] = 1.0
    expected = labelled(values.copy())
    expected[0, 1] = 9.0
    expected.loc[{"time": 40}] = 1.0
    assert_equal(held.values, expected.values)
    assert_equal(source, expected.values)


def test_frames_and_text() -> None:
    held = labelled(pending(values))
    assert "DataArray 't'" in repr(held)
    assert_equal(held.to_dataframe()["t"].to_numpy(), values.ravel())


def test_apply_ufunc_hands_over_lazy_arrays() -> None:
    seen = []

    def norm(data: Any) -> Any:
        seen.append(type(data))
        return (data**2).sum(axis=-1) ** 0.5

    found = xr.apply_ufunc(norm, labelled(pending(values)), input_core_dims=[["x"]])
    assert seen == [lazyarray.ndarray]
    assert_equal(found.values, (values**2).sum(axis=-1) ** 0.5)


@pytest.mark.parametrize(
    "use",
    [
        lambda da, np: da.isel(x=xr.DataArray(np.array([0, 2]), dims="p"), y=xr.DataArray(np.array([1, 1]), dims="p")),
        lambda da, np: da.isel(x=np.array([2, 0]), y=np.array([True, False, True, True])),
        lambda da, np: da.sel(x=np.array([0.5, 9.0]), method="nearest"),
        lambda da, np: da.interp(x=np.array([0.25, 1.5])),
        lambda da, np: da.stack(z=("x", "y")).unstack("z"),
        lambda da, np: da.where(da > np.mean(da.data)),
        lambda da, np: da.groupby("x").map(lambda part: part - part.mean()),
        lambda da, np: xr.concat([da, da + 1], dim=np.array([10, 20])),
        lambda da, np: da.assign_attrs(scale=np.array([1.0, 2.0])),
    ],
    ids=["points", "rows and columns", "nearest", "interp", "unstack", "where", "groupby", "concat", "attributes"],
)
def test_data_of_lazy_arrays_is_indexed_and_interpolated_as_numpys(use: Any) -> None:
    def work(np: Any) -> Any:
        made = xr.DataArray(
            np.arange(12.0).reshape(3, 4) * 2, dims=("x", "y"), coords={"x": np.arange(3) / 2.0, "y": np.arange(4)}
        )
        return use(made, np)

    found, expected = work(lazyarray), work(numpy)
    xr.testing.assert_identical(found, expected)
    xr.testing.assert_identical(found, work(lazyarray))
