"""Functions that make large results of small operands are recorded, and fuse with what uses them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lazyarray as la


def call(space: Any, name: str, *args: Any) -> Any:
    for part in name.split("."):
        space = getattr(space, part)
    return space(*args)


@pytest.mark.parametrize("name", ["outer", "kron", "linalg.outer"])
@pytest.mark.parametrize("sizes", [(4, 3), (700, 500), (1, 80_000)])
def test_products_of_all_pairs(name: str, sizes: tuple[int, int]) -> None:
    a, b = np.arange(sizes[0]) + 0.5, np.arange(sizes[1]) + 1
    want, got = call(np, name, a, b), call(la, name, la.array(a), la.array(b))
    assert (got.shape, got.dtype) == (want.shape, want.dtype)
    np.testing.assert_array_equal(np.asarray(got), want)


def test_an_outer_product_that_is_added_is_never_in_memory() -> None:
    a, b, c = np.arange(600.0), np.arange(500.0), np.ones((600, 500))
    lazy = la.array(c.copy())
    with la.record_runs() as runs:
        lazy -= la.outer(la.array(a), la.array(b))
        la.evaluate(lazy)
    (run,) = runs.kernels
    assert run.bytes_written == c.nbytes
    assert run.bytes_read == c.nbytes + a.nbytes + b.nbytes
    np.testing.assert_array_equal(np.asarray(lazy), c - np.outer(a, b))
