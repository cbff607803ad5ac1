"""Reductions to one value whose order does not show: a task leaves one partial result, however short its rows are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.schedule.kernel import Access, Instruction, Kernel, Reduction, Stage, Store
from lazyarray_llvm.lower.facts import PARTIAL_BYTES, carries
from lazyarray_llvm.lower.geometry import cost_of_point, cut_split

SHAPES = [(5000, 2), (4096, 3), (70, 30, 2), (3, 5, 7), (9, 400), (2, 200_000), (0, 3), (6, 0), (1, 1), (300, 33)]
RESULTS: dict[str, Callable[..., Any]] = {
    "max": lambda np, x, w: (x + w).max(),
    "min and max": lambda np, x, w: np.stack([(x + w).min(), (x + w).max()]),
    "max of a view": lambda np, x, w: x[..., 1:].max(),
    "any": lambda np, x, w: (x > w).any(),
    "all": lambda np, x, w: (x[..., :1] <= w + 100).all(),
    "count": lambda np, x, w: ((x + w) > 3).sum(),
    "max where": lambda np, x, w: (x + w).max(where=x < 50, initial=0),
    "a spread": lambda np, x, w: ((x + w) - (x + w).min()).max(),
}


def outcome(function: Callable[..., Any], module: Any, x: Any, w: Any) -> Any:
    try:
        return np.asarray(function(module, module.asarray(x), module.asarray(w)))
    except ValueError as error:
        return str(error)


@pytest.fixture(autouse=True)
def recorded() -> Any:
    with la.config.set(eager_below=0):
        yield


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("code", ["f8", "f4", "i8", "i4", "u1", "f2"])
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_those_of_numpy(name: str, code: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, w = (rng.integers(0, 100, s).astype(code) for s in (shape, (*shape[:-1], 1)))
    expected, got = (outcome(RESULTS[name], module, x, w) for module in (np, la))
    assert np.array_equal(expected, got)
    assert type(expected) is str or expected.dtype == got.dtype


@pytest.mark.parametrize("place", [0, 1, 77_777, 99_999])
@pytest.mark.parametrize("name", ["max", "min and max", "max of a view"])
def test_a_nan_in_any_row_is_found(name: str, place: int) -> None:
    x = np.random.default_rng(2).random((50_000, 2))
    x.reshape(-1)[place] = np.nan
    w = np.zeros((50_000, 1))
    expected, got = (outcome(RESULTS[name], module, x, w) for module in (np, la))
    assert np.array_equal(expected, got, equal_nan=True)


def kernel_of(op: str, roles: tuple[str, ...]) -> Kernel:
    body = (Instruction(0, "load", (), "f8", 0),)
    stages = (Stage("full", body, reductions=(Reduction(1, op, 0, "f8"),)), Stage("row", (), stores=(Store(1, 1),)))
    return Kernel(roles, (Access("f8", ("s", "1")), Access("f8", ("0", "0"))), (), stages)


def test_a_task_leaves_one_partial_result() -> None:
    kernel, extents = kernel_of("max", ("r", "r")), (1_000_000, 2)
    assert carries(kernel)
    geometry = cut_split(kernel, extents, cost_of_point(kernel, 1))
    assert geometry.partials == geometry.phases[0].tasks * PARTIAL_BYTES
    assert geometry.phases[0].tasks < 1000


@pytest.mark.parametrize(("op", "roles"), [("sum", ("r", "r")), ("argmax", ("r", "r")), ("max", ("p", "r"))])
def test_nothing_is_carried_where_order_or_rows_show(op: str, roles: tuple[str, ...]) -> None:
    assert not carries(kernel_of(op, roles))
