"""Owns whether two walks through one array's memory meet, so that a write may run beside a read."""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from lazyarray.ir.index_map import size_of
from lazyarray.ir.node import Shape
from lazyarray.schedule.demand import Flat

Steps: TypeAlias = tuple[tuple[int, int], ...]  # of a walk: how far each step goes, and how many places it has


def disjoint(a: Flat, b: Flat, extents: Shape) -> bool:
    """True when two walks over the same loops surely never meet in memory (False where that is not plain to see)."""
    return size_of(extents) == 0 or never_meet(*upward(a, extents), *upward(b, extents))


def upward(flat: Flat, extents: Shape) -> tuple[int, Steps]:
    """The places of a walk as its lowest one and steps upwards."""
    lowest = flat[0] + sum(min(c * (n - 1), 0) for c, n in zip(flat[1], extents, strict=True))
    return lowest, tuple((abs(c), n) for c, n in zip(flat[1], extents, strict=True) if c and n > 1)


def never_meet(a: int, steps_a: Steps, b: int, steps_b: Steps) -> bool:
    """True when no place is on both walks, as far as bounds, common divisors and whole rows tell."""
    high_a, high_b = a + sum(s * (n - 1) for s, n in steps_a), b + sum(s * (n - 1) for s, n in steps_b)
    if high_a < b or high_b < a:
        return True
    lengths = [s for s, _ in (*steps_a, *steps_b)]
    if not lengths:
        return False
    if (a - b) % gcd(*lengths):
        return True
    # What stays within its row, the length of the widest step, meets only where it does within a row.
    row = max(lengths)
    inner_a, inner_b = (tuple((s, n) for s, n in steps if s != row) for steps in (steps_a, steps_b))
    for start, inner in ((a, inner_a), (b, inner_b)):
        if start % row + sum(s * (n - 1) for s, n in inner) >= row:
            return False
    return never_meet(a % row, inner_a, b % row, inner_b)
