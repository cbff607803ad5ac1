"""`emath`: NumPy's Python code on recorded functions; complex results where real ones would be NaN."""

from __future__ import annotations

import numpy
import pytest

import lazyarray

NAMES = "arccos arcsin arctanh log log10 log2 sqrt".split()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("low", [-2.0, 0.25])
def test_large_arrays_run_compiled_and_give_numpys_result(name: str, low: float) -> None:
    x = numpy.linspace(low, 0.75, 5000)
    with lazyarray.record_runs() as runs:
        result = numpy.asarray(getattr(lazyarray.emath, name)(lazyarray.array(x)))
    expected = getattr(numpy.emath, name)(x)
    assert result.dtype == expected.dtype
    numpy.testing.assert_allclose(result, expected, rtol=1e-14)
    assert runs.kernels
    assert not runs.fallbacks


@pytest.mark.parametrize("argument", [-1, 4.0, [1, -4], numpy.float32(-3)])
def test_small_arguments_give_numpys_types(argument: object) -> None:
    for name, before, after in (("sqrt", (), ()), ("power", (), (2,)), ("logn", (2,), ())):
        expected = getattr(numpy.emath, name)(*before, argument, *after)
        result = getattr(lazyarray.emath, name)(*before, argument, *after)
        assert type(result).__name__ == type(expected).__name__
        numpy.testing.assert_allclose(numpy.asarray(result), expected, rtol=1e-6)
