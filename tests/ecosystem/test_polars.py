"""Polars makes series and frames of lazy arrays, and computes with them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal

pl = pytest.importorskip("polars")

USES = {
    "series": lambda np, x: pl.Series(x),
    "times": lambda np, x: pl.Series(np.arange(5).astype("m8[us]")),
    "columns": lambda np, x: pl.DataFrame({"a": x, "b": x > 2}),
    "rows": lambda np, x: pl.DataFrame(x.reshape(-1, 2), schema=["a", "b"]),
    "from_numpy": lambda np, x: pl.from_numpy(x.reshape(-1, 2)),
    "operands": lambda np, x: pl.Series(numpy.asarray(x)) * x,
    "masks": lambda np, x: pl.Series(numpy.asarray(x)).filter(x > 2),
    "numbers": lambda np, x: pl.DataFrame(
        [{"most": x.max(), "place": x.argmax()}, {"most": x[0], "place": x.argmin()}]
    ),
    "literals": lambda np, x: pl.DataFrame({"a": numpy.asarray(x)}).with_columns(b=pl.lit(x)),
}


@pytest.mark.parametrize("size", [6, 40_000])
@pytest.mark.parametrize("use", USES)
def test_lazy_arrays_are_used_as_numpys(use: str, size: int) -> None:
    def work(np: Any) -> Any:
        return USES[use](np, np.arange(float(size)) * 2)

    found, expected = work(lazyarray), work(numpy)
    assert found.equals(expected)
    assert str(getattr(found, "dtypes", found)) == str(getattr(expected, "dtypes", expected))


def test_columns_become_lazy_arrays() -> None:
    made = pl.DataFrame({"a": [1.0, 2.0, 3.0]})
    assert_equal(lazyarray.asarray(made["a"]) * 2, numpy.array([2.0, 4.0, 6.0]))
