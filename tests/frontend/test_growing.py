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


REPEATED: dict[str, Any] = {
    "repeat": lambda np, a: np.repeat(a, 200),
    "method": lambda np, a: a.repeat(200),
    "rows": lambda np, a: np.repeat(a[:, None], 300, axis=1),
    "counts": lambda np, a: np.repeat(a, np.full(500, 150)),
    "none": lambda np, a: np.repeat(a, 0),
    "negative": lambda np, a: np.repeat(a, -200),
    "tile": lambda np, a: np.tile(np.repeat(a, 200), 2),
    "tile by axes": lambda np, a: np.tile(np.repeat(a, 200).reshape(100, 1000), (2, 1, 3)),
    "tile of fewer axes": lambda np, a: np.tile(np.repeat(a, 200).reshape(100, 1000), [3]),
    "rows by tile": lambda np, a: np.tile(a, (300, 1)),
    "columns by tile": lambda np, a: np.tile(a[:, None], (1, 300)),
    "pieces by tile": lambda np, a: np.tile(a.reshape(5, 100), (7, 40)),
    "tile once": lambda np, a: np.tile(np.repeat(a, 200), (1, 1)),
    "tile never": lambda np, a: np.tile(np.repeat(a, 200), (2, 0)),
    "tile of no plain counts": lambda np, a: np.tile(np.repeat(a, 200), 2.0),
}


@pytest.mark.parametrize("name", REPEATED)
def test_a_small_array_repeated_often(name: str) -> None:
    def outcome(space: Any) -> Any:
        array = space.array(np.arange(500.0))
        try:
            found = REPEATED[name](space, array)
        except (ValueError, TypeError) as error:
            return type(error), str(error)
        based = None if found.base is None else found.base.shape
        array[...] = 0.0  # what was made shares nothing with it
        return found.shape, found.dtype, based, np.asarray(found).tolist()

    assert outcome(la) == outcome(np)


@pytest.mark.parametrize("call", [lambda a: la.repeat(a, 500), lambda a: la.tile(a, (500, 1))])
def test_what_is_repeated_often_is_written_once_by_a_kernel(call: Any) -> None:
    with la.record_runs() as runs:
        found = call(la.array(np.arange(600.0)))
        assert not runs.kernels
        la.evaluate(found)
    (run,) = runs.kernels
    assert run.bytes_written == found.nbytes
