"""Holds what users' programs showed to differ from NumPy, each by the line that showed it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tests.frontend.agreement import MODES, agree


@MODES
@pytest.mark.parametrize("size", [6, 5000])
@pytest.mark.parametrize("step", [1.0, 0.5])
@pytest.mark.skipif(numpy.lib.NumpyVersion(numpy.__version__) < "2.4.0", reason="new in NumPy 2.4")
def test_casts_that_keep_the_values(eager_below: int, size: int, step: float) -> None:
    agree(lambda np: (np.data(numpy.arange(size)) * step).astype(int, casting="same_value"), eager_below)


EXPONENTS = [[1.0, 2.0, 3.0], [1, 2, 3], (1, 2, 3), range(3), 2, 0.5]


@MODES
@pytest.mark.parametrize("exponents", EXPONENTS, ids=str)
@pytest.mark.parametrize("bases", [range(3), [0, 1, 4], (0.25, 1.0, 4.0), 9], ids=str)
def test_powers_of_anything_that_is_a_sequence(eager_below: int, bases: Any, exponents: Any) -> None:
    if bases == range(3) and exponents == 0.5:
        bases = [0, 1, 16]  # roots that are numbers: others may be NumPy's neighbours
    agree(lambda np: np.power(bases, exponents), eager_below)


@MODES
@pytest.mark.parametrize("last", [2, 3])
def test_arrays_in_dictionaries_are_compared(eager_below: int, last: int) -> None:
    def program(np: Any) -> Any:
        np.testing.assert_equal({"a": np.data([0, 1, 2])}, {"a": np.data([0, 1, last])})

    agree(program, eager_below)
