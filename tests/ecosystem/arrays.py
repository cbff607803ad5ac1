"""Owns the arrays that other packages are given, and the comparison of what they make of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy

import lazyarray
from lazyarray.frontend.array import value
from lazyarray.ir.expression import pending_closure


def pending(values: Any) -> Any:
    """An array of these values, recorded and not computed, whatever its size."""
    with lazyarray.config.set(eager_below=0):
        return lazyarray.multiply(lazyarray.array(values), lazyarray.array(1, dtype=numpy.asarray(values).dtype))


def is_pending(array: Any) -> bool:
    """Whether something is left to compute for the array."""
    return array._np is None and bool(pending_closure([value(array)]))


def numbers(*shape: int, seed: int = 1) -> Any:
    """Reproducible float64 values, as NumPy's."""
    return numpy.random.default_rng(seed).standard_normal(shape)


def assert_equal(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Equal values, shapes and dtypes, of arrays, numbers, and sequences of them."""
    if isinstance(expected, tuple | list) and not (expected and isinstance(expected[0], int | float | str)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other, tolerance)
        return
    one, other = numpy.asarray(found), numpy.asarray(expected)
    assert (one.dtype, one.shape) == (other.dtype, other.shape)
    if other.dtype.kind in "fc":
        numpy.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    else:
        numpy.testing.assert_array_equal(one, other)


def assert_same(call: Callable[..., Any], *values: Any, tolerance: float = 1e-12) -> None:
    """The call makes of pending arrays what it makes of NumPy's."""
    assert_equal(call(*[pending(item) for item in values]), call(*values), tolerance)


def run_python(source: str, *arguments: str, **environment: str) -> str:
    """What a program prints in a process of its own, which must end well."""
    root = Path(__file__).resolve().parents[2]
    found = subprocess.run(
        [sys.executable, "-c", source, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), str(root / "backends")]), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return found.stdout
