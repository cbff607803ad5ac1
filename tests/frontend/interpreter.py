"""Owns the fixture that runs a module's tests in the interpreter: NumPy's own bits, so that values compare exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import lazyarray


@pytest.fixture(autouse=True)
def interpreted() -> Iterator[None]:
    """Compiled kernels have suites of their own."""
    with lazyarray.config.set(backend="numpy"), numpy.errstate(all="ignore"):
        yield
