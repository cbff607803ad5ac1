"""Two walks that are said never to meet have no place in common; boxes of one array are told apart."""

from __future__ import annotations

import itertools
import random

from lazyarray.ir.index_map import c_strides
from lazyarray.ir.node import Shape
from lazyarray.schedule.demand import Flat
from lazyarray.schedule.meeting import disjoint


def places(flat: Flat, extents: Shape) -> set[int]:
    return {
        flat[0] + sum(i * c for i, c in zip(at, flat[1], strict=True)) for at in itertools.product(*map(range, extents))
    }


def test_walks_that_never_meet_have_no_place_in_common() -> None:
    draw = random.Random(0)
    told = 0
    for _ in range(20_000):
        rank = draw.randint(1, 3)
        extents = tuple(draw.randint(1, 4) for _ in range(rank))
        a, b = ((draw.randint(0, 40), tuple(draw.randint(-13, 13) for _ in range(rank))) for _ in range(2))
        if disjoint(a, b, extents):
            told += 1
            assert places(a, extents).isdisjoint(places(b, extents)), (a, b, extents)
    assert told > 1000


def test_boxes_of_one_array_are_told_apart_exactly() -> None:
    draw = random.Random(0)
    shape = (5, 6, 4)
    strides = c_strides(shape)
    for _ in range(5_000):
        extents = tuple(draw.randint(1, n) for n in shape)
        starts = [[draw.randint(0, n - e) for n, e in zip(shape, extents, strict=True)] for _ in range(2)]
        a, b = ((sum(s * k for s, k in zip(start, strides, strict=True)), strides) for start in starts)
        assert disjoint(a, b, extents) == places(a, extents).isdisjoint(places(b, extents))


def test_an_edge_is_apart_from_the_row_that_it_is_copied_from() -> None:
    assert disjoint((0, (6, 1)), (2, (6, 0)), (4, 2))  # x[:, :2] and x[:, 2:3] of four rows of six
    assert not disjoint((0, (6, 1)), (1, (6, 0)), (4, 2))
