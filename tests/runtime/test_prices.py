"""What compiling is taken to cost: for operations that no kernel had, and little for those that some had."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import lazyarray as np
from lazyarray.ir.expression import capture, pending_closure
from lazyarray.ir.node import Node
from lazyarray.ir.sizes import Structure, draw
from lazyarray.runtime import prices

N = 100_000


@pytest.fixture(autouse=True)
def nothing_is_compiled() -> None:
    prices.forget()


def structure_of(*arrays: Any) -> Structure:
    nodes: list[Node] = [array._node or array._base.node for array in arrays]
    signature, _ = capture(pending_closure(nodes), nodes)
    return draw(signature).structure


def array() -> Any:
    return np.asarray(numpy.linspace(0.0, 1.0, N))


def stepped(x: Any, steps: int) -> Any:
    """Each step reads what the one before has written, the first what was computed."""
    y = x * 1.0
    for _ in range(steps):
        y[1:-1] += 0.5 * (x[2:] - x[:-2])
    return y


def test_steps_of_a_loop_are_compiled_once() -> None:
    x = array()
    two, ten = (prices.operations_of(structure_of(stepped(x, steps))) for steps in (2, 10))
    assert set(two) == set(ten)
    assert (len(two), len(ten), len(set(ten))) == (1 + 2 * 4, 1 + 10 * 4, 1 + 4 + 2)


def test_a_chain_is_as_many_operations_as_it_has() -> None:
    x = y = array()
    for _ in range(20):
        y = y * 0.5 + x
    operations = prices.operations_of(structure_of(y))
    assert len(set(operations)) == len(operations) == 40


def test_sizes_and_places_make_no_other_operations() -> None:
    x = array()
    first, second = structure_of(x[10:90_000] * 2.0 + 1.0), structure_of(x[7:-20:3] * 2.0 + 1.0)
    assert prices.operations_of(first) == prices.operations_of(second)
    assert prices.operations_of(structure_of(x[10:90_000] * 2.0 - 1.0)) != prices.operations_of(first)


def test_what_kernels_had_before_costs_a_plan_alone() -> None:
    x = array()
    short, long = structure_of(stepped(x, 2)), structure_of(stepped(x, 12))
    before = prices.compiling(long)
    prices.note_compiled(short)
    after = prices.compiling(long)
    assert after == prices._PLAN + prices._PLANNED * len(prices.operations_of(long))
    assert before - after == prices._KERNEL + prices._OPERATION * len(set(prices.operations_of(short)))
    prices.forget()
    assert prices.compiling(long) == before
