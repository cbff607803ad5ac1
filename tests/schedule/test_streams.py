"""Nests that would read more streams of memory at once than the CPU fetches ahead are cut where little crosses."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

from lazyarray.ir.node import Node, leaf
from lazyarray.schedule import streams
from tests.schedule.test_fusion import op, planned, view

FRAMES, SIDE = 40, 96
assert SIDE * SIDE >= streams.SMALLEST


def frames(side: int = SIDE) -> list[Node]:
    """Frames of one array, one after another."""
    stack = leaf(np.random.default_rng(0).integers(-9, 9, (FRAMES, side, side)).astype("f8"))
    return [view(stack, k * side * side, (side, side), (side, 1)) for k in range(FRAMES)]


def arrays(count: int) -> list[Node]:
    draw = np.random.default_rng(1)
    return [leaf(draw.integers(-9, 9, (SIDE, SIDE)).astype("f8")) for _ in range(count)]


def added(terms: list[Node]) -> Node:
    return reduce(lambda a, b: op("add", a, b), [op("multiply", term, 0.5) for term in terms])


def added_from_the_last(terms: list[Node]) -> Node:
    return reduce(lambda a, b: op("add", b, a), [op("multiply", term, 0.5) for term in reversed(terms)])


def added_in_turn(terms: list[Node]) -> Node:
    total = op("multiply", terms[0], 0.5)
    for term in terms[1:]:
        total = op("add", total, op("multiply", term, 0.5))
    return total


@pytest.mark.parametrize("add", [added, added_in_turn, added_from_the_last])
@pytest.mark.parametrize("terms", [frames(), arrays(FRAMES)], ids=["of one array", "arrays"])
def test_a_long_sum_is_cut(terms: list[Node], add: Callable[[list[Node]], Node]) -> None:
    kernels = planned(add(terms)).kernels
    assert FRAMES / streams.MOST <= len(kernels) <= 1 + 2 * FRAMES / streams.MOST


def test_few_terms_are_one_nest() -> None:
    assert len(planned(added(arrays(streams.MOST))).kernels) == 1


def test_small_frames_are_one_nest() -> None:
    assert len(planned(added(frames(64))).kernels) == 1


def test_neighbours_are_one_stream() -> None:
    a = leaf(np.random.default_rng(2).standard_normal(SIDE * SIDE + FRAMES))
    assert len(planned(added([view(a, k, (SIDE, SIDE), (SIDE, 1)) for k in range(FRAMES)])).kernels) == 1


def test_what_is_broadcast_is_none() -> None:
    rows = [view(leaf(np.full(SIDE, k + 1.0)), 0, (SIDE, SIDE), (0, 1)) for k in range(FRAMES)]
    assert len(planned(added(rows)).kernels) == 1


def test_a_nest_stays_whole_where_much_crosses() -> None:
    # Each result needs all operands: wherever it is cut, all that were read cross.
    given = arrays(16)
    scaled = [op("add", one, 1.0) for one in given]
    products = [op("multiply", one, other) for one, other in zip(scaled, scaled[8:] + scaled[:8], strict=True)]
    assert len(planned(reduce(lambda a, b: op("add", a, b), products)).kernels) == 1


def test_results_of_one_nest_are_not_parted() -> None:
    given = arrays(16)
    total = added(given)
    plan = planned(*[op("subtract", one, total) for one in given])
    assert len(plan.kernels) <= 4
