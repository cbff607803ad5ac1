"""`power` by one number has the bits, the errors and the warnings of NumPy's loops, at any size."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.ir.installed import POWER_HAS_SHORTCUTS

NUMBERS: tuple[Any, ...] = (2, 2.0, 0.5, -1, 1.0, 0, numpy.float64(2), numpy.float32(0.5), numpy.array(-1.0))
SPECIAL = {
    "f8": [-0.0, -numpy.inf, -1.0, 0.0, numpy.inf, numpy.nan, 1e-310, 1e200],
    "f4": [-0.0, -numpy.inf, -1.0, 0.0, numpy.inf, numpy.nan, 1e-40, 1e30],
}


def told(call: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = numpy.asarray(call())
    return found, sorted(str(warning.message) for warning in caught)


@pytest.mark.skipif(not POWER_HAS_SHORTCUTS, reason="this NumPy computes every power alike")
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("count", [1, 2, 9, 1000, 70_000])
def test_powers_that_are_products_quotients_and_roots_are_exact(dtype: str, count: int) -> None:
    plain = numpy.abs(numpy.random.default_rng(4).normal(size=count)).astype(dtype)
    special = plain.copy()
    special[: len(SPECIAL[dtype])] = SPECIAL[dtype][:count]
    for given in (plain, special):
        for exponent in NUMBERS:
            for view in (slice(None), slice(None, None, 2)):
                wanted, said = told(lambda: numpy.power(given[view], exponent))  # noqa: B023
                found, heard = told(lambda: np.power(np.array(given)[view], exponent))  # noqa: B023
                assert found.dtype == wanted.dtype
                numpy.testing.assert_array_equal(found, wanted)
                numpy.testing.assert_array_equal(numpy.signbit(found), numpy.signbit(wanted))
                assert heard == said, (exponent, view)


@pytest.mark.skipif(not POWER_HAS_SHORTCUTS, reason="this NumPy computes every power alike")
@pytest.mark.parametrize("count", [100, 70_000])
def test_a_fused_power_by_a_number_is_exact(count: int) -> None:
    given = numpy.random.default_rng(5).normal(size=count)
    x = np.array(given)
    wanted = 0.999 * given + 0.001 * numpy.power(given, 2) - numpy.power(numpy.abs(given), 0.5)
    numpy.testing.assert_array_equal(0.999 * x + 0.001 * np.power(x, 2) - np.power(np.abs(x), 0.5), wanted)


def test_other_powers_and_exponents_in_arrays_are_within_an_ulp() -> None:
    given = numpy.abs(numpy.random.default_rng(6).normal(size=70_000)) + 0.1
    x = np.array(given)
    for exponent in (3, 1.5, numpy.full(70_000, 2.0), numpy.full(70_000, 0.5)):
        wanted = numpy.power(given, exponent)
        numpy.testing.assert_array_max_ulp(numpy.asarray(np.power(x, exponent)), wanted, maxulp=2)
