"""On a GPU: what CuPy computes has NumPy's values and errors, whatever stands beside arrays that lie there."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy
import pytest

if os.environ.get("LAZYARRAY_TEST_DEVICE") != "cuda":
    pytest.skip("needs a GPU, and LAZYARRAY_TEST_DEVICE=cuda", allow_module_level=True)

import lazyarray as np

RANDOM = numpy.random.default_rng(3)
KEYS = numpy.sort(RANDOM.standard_normal(100))
VALUES = RANDOM.standard_normal(5000)
MATRIX = RANDOM.standard_normal((5, 5))
LARGE = numpy.arange((1 << 53) - 50, (1 << 53) + 50)

CALLS: dict[str, Callable[..., Any]] = {
    "keys in a list": lambda np, given: np.searchsorted(list(KEYS), given(VALUES)),
    "values in a list": lambda np, given: np.searchsorted(given(KEYS), list(VALUES)),
    "keys without a sign": lambda np, given: np.searchsorted(given(LARGE.astype("u8")), given(-LARGE)),
    "keys that floats do not tell apart": lambda np, given: np.searchsorted(given(LARGE), given(LARGE.astype("f4"))),
    "a matrix in lists": lambda np, given: np.linalg.solve(MATRIX.tolist(), given(VALUES[:5])),
    "a right side in a list": lambda np, given: np.linalg.solve(given(MATRIX), VALUES[:5].tolist()),
    "numbers in a list": lambda np, given: np.bincount([0, 2, 1, 2, 0], given(VALUES[:5])),
    "weights in a list": lambda np, given: np.bincount(given(numpy.array([0, 2, 1, 2, 0])), VALUES[:5].tolist()),
    "an axis as NumPy has it": lambda np, given: np.sort(given(MATRIX), numpy.int64(0)),
}
REFUSED: dict[str, Callable[..., Any]] = {
    "a side": lambda np, given: np.searchsorted(given(KEYS), given(VALUES), "middle"),
    "a matrix of keys": lambda np, given: np.searchsorted(given(MATRIX), given(VALUES)),
    "a kind": lambda np, given: np.sort(given(VALUES), kind="fast"),
    "an axis that is not there": lambda np, given: np.argsort(given(VALUES), 1),
    "an axis between two": lambda np, given: np.sort(given(VALUES), 0.5),
}


def there(array: Any) -> Any:
    return np.asarray(array, device="cuda")


@pytest.mark.parametrize("name", CALLS)
def test_values_are_numpys(name: str) -> None:
    expected, found = CALLS[name](numpy, lambda array: array), CALLS[name](np, there)
    assert found.dtype == expected.dtype
    numpy.testing.assert_allclose(numpy.asarray(found), expected, 1e-10)


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name: str) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  (it is compared)
        REFUSED[name](numpy, lambda array: array)
    with pytest.raises(type(expected.value)) as found:
        REFUSED[name](np, there)
    assert str(found.value) == str(expected.value)
