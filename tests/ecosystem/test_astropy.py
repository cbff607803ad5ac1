"""Astropy's quantities, tables, times and models take lazy arrays as they take NumPy's, and answer our functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import lazyarray
from tests.ecosystem.arrays import assert_equal, numbers

pytest.importorskip("astropy")
from astropy import units
from astropy.coordinates import SkyCoord
from astropy.modeling import models
from astropy.stats import sigma_clip
from astropy.table import Table
from astropy.time import Time
from astropy.utils.masked import Masked

values = numbers(4, 6)
Use = Callable[[Any], Any]


def _values_of(found: Any) -> Any:
    if isinstance(found, units.Quantity):
        return str(found.unit), numpy.asarray(found.value)
    return found


USES: dict[str, Use] = {
    "times a unit": lambda n: n.arange(3.0) * units.m,
    "divided by a quantity": lambda n: n.arange(3.0) / (2.0 * units.s),
    "beside a quantity": lambda n: n.arange(3.0) + [1.0, 2.0, 3.0] * units.one,
    "compared with one": lambda n: n.array([1.0, 2.0]) < 150 * units.percent,
    "a quantity": lambda n: units.Quantity(n.array(values), "m").to("km"),
    "functions of one": lambda n: n.concatenate([[1.0] * units.m, [2.0] * units.km]),
    "a transform of one": lambda n: n.fft.rfft([1.0, 2.0, 4.0] * units.m),
    "a mean by the axis": lambda n: n.mean(axis=0, a=values * units.m),
    "made like one": lambda n: n.arange(3.0, like=[1.0] * units.s),
    "filled like one": lambda n: n.full_like(values * units.m, 2.0 * units.km),
    "viewed": lambda n: type((values * units.m).view(n.ndarray)) is n.ndarray,
    "a table": lambda n: Table(n.array(values), names=list("abcdef"))["b"].tolist(),
    "rows of a table": lambda n: Table({"a": n.arange(6), "b": n.arange(6.0)})[n.arange(6) > 3]["b"].tolist(),
    "groups of a table": lambda n: [len(g) for g in Table({"a": n.arange(6)}).group_by(n.arange(6) % 2).groups],
    "times": lambda n: Time(n.array([2450000.0, 2450001.5]), format="jd").isot.tolist(),
    "positions": lambda n: SkyCoord(n.array([10.0, 20.0]), n.array([5.0, 6.0]), unit="deg").cartesian.xyz.value,
    "a model": lambda n: models.Gaussian1D(2.0, 1.0, 0.5)(n.linspace(0.0, 2.0, 5)),
    "clipped": lambda n: sigma_clip(n.array([1.0, 1.1, 0.9, 9.0] * 5), sigma=2).mask.tolist(),
    "a masked sum": lambda n: n.add.reduce(Masked(values, values > 0.5), axis=0).mask,
}


@pytest.mark.parametrize("use", USES)
def test_what_comes_out_is_what_numpys_arrays_give(use: str) -> None:
    expected, found = _values_of(USES[use](numpy)), _values_of(USES[use](lazyarray))
    if isinstance(expected, tuple):
        assert found[0] == expected[0]
        expected, found = expected[1], found[1]
    assert_equal(numpy.asarray(found), numpy.asarray(expected))
