"""A region that is written, read and written again is written once, where nothing else reads what was in between."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lazyarray as la

SHAPE = (60, 50, 3)

Program = Callable[[Any, Any], Any]


def run(program: Program, dtype: Any = float) -> Any:
    """The record of the program's run, whose results are NumPy's."""
    x = np.random.default_rng(1).standard_normal(SHAPE).astype(dtype)
    with la.config.set(eager_below=0):
        lazy = la.array(x)
        la.evaluate(lazy + 0)
        with la.record_runs() as runs:
            got = la.evaluate(program(la, lazy))
    want = program(np, x)
    for a, b in zip(want if type(want) is tuple else (want,), got if type(got) is tuple else (got,), strict=True):
        assert (b.dtype, b.shape) == (a.dtype, a.shape)
        np.testing.assert_array_equal(np.asarray(b), a)
    return runs


def chain(space: Any, x: Any) -> Any:
    x[1:-1] += 1.0
    x[1:-1] *= x[1:-1]
    x[1:-1] = x[1:-1] - 3.0
    return x


def column(space: Any, x: Any) -> Any:
    x[:, :, 1] = space.sqrt(space.abs(x[:, :, 1]))
    x[:, :, 1] = x[:, :, 1] * 2.0 + 1.0
    return x


def rolls(space: Any, x: Any) -> Any:
    x[:, :, 2] = space.roll(x[:, :, 2], 1, axis=1)
    x[:, :, 2] = space.roll(x[:, :, 2], -2, axis=0)
    return x


@pytest.mark.parametrize(("program", "written"), [(chain, 58 * 50 * 3), (column, 60 * 50)])
def test_the_region_is_written_once(program: Program, written: int) -> None:
    runs = run(program)
    assert len(runs.kernels) == 1
    assert runs.bytes_written == 8 * written


def test_a_part_that_is_rolled_in_its_place_is_copied_and_the_array_is_not() -> None:
    runs = run(rolls)
    assert not runs.materialisations
    assert runs.bytes_written == 8 * 2 * 60 * 50


def reads_beside(space: Any, x: Any) -> Any:
    x[:, :, 1] = space.sqrt(space.abs(x[:, :, 1]))
    x[:, :, 1] = x[:, :, 1] * 2.0 + x[:, :, 0]
    return x


def read_elsewhere(space: Any, x: Any) -> Any:
    x[1:-1] += 1.0
    x[1:-1] = x[:-2] * 2.0 + x[1:-1]
    return x


def read_by_a_sum(space: Any, x: Any) -> Any:
    x[1:-1] += 1.0
    x[1:-1] /= space.sum(x[1:-1])
    return x


def read_after(space: Any, x: Any) -> Any:
    x[1:-1] += 1.0
    between = x[1:-1] * 2.0
    x[1:-1] *= x[1:-1]
    return x, between


def read_as_a_whole(space: Any, x: Any) -> Any:
    x[1:-1] += 1.0
    total = x * 1.0
    x[1:-1] *= x[1:-1]
    return x, total


def a_row_everywhere(space: Any, x: Any) -> Any:
    x[1:-1] = x[0]
    x[1:-1] = x[1:-1] + 1.0
    return x


def under_a_mask(space: Any, x: Any) -> Any:
    x[x > 0.0] = 0.5
    x[...] = x + 1.0
    x[1:-1][x[1:-1] > 1.0] = -1.0
    x[1:-1] = x[1:-1] * 2.0
    return x


def another_region(space: Any, x: Any) -> Any:
    x[1:-1] = x[1:-1] + 1.0
    x[2:-1] = x[2:-1] * 2.0
    return x


def overwritten_unread(space: Any, x: Any) -> Any:
    x[1:-1] = x[1:-1] + 1.0
    x[1:-1] = 2.0
    return x


def moved_inside(space: Any, x: Any) -> Any:
    x[1:-1] = x[1:-1] + 1.0
    x[1:-1] = x[1:-1][::-1] + x[1:-1]
    return x


OTHERS = [
    reads_beside, read_elsewhere, read_by_a_sum, read_after, read_as_a_whole, a_row_everywhere, under_a_mask,
    another_region, overwritten_unread, moved_inside,
]  # fmt: skip


@pytest.mark.parametrize("program", OTHERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_else_reads_the_region_reads_what_was_there(program: Program, dtype: Any) -> None:
    run(program, dtype)


def test_values_are_rounded_to_the_arrays_dtype_between_writes() -> None:
    wide = np.random.default_rng(2).standard_normal(SHAPE)

    def program(space: Any, x: Any) -> Any:
        x[1:-1] = space.asarray(wide)[1:-1]
        x[1:-1] = x[1:-1] * x[1:-1]
        return x

    run(program, np.float32)


REGIONS = [np.s_[1:-1], np.s_[:, 1], np.s_[..., 2], np.s_[2:, :-2], np.s_[::2], np.s_[...]]


@pytest.mark.parametrize("seed", range(40))
def test_any_order_of_writes_gives_numpys_result(seed: int) -> None:
    choice = random.Random(seed)
    regions = choice.sample(REGIONS, 2)
    steps = [
        (choice.choice(regions), choice.randrange(5), choice.choice((-2, 1, 3)), choice.randrange(2))
        for _ in range(choice.randrange(3, 9))
    ]

    def program(space: Any, x: Any) -> Any:
        kept = []
        for region, kind, shift, axis in steps:
            part = x[region]
            if kind == 0:
                x[region] += 1.5
            elif kind == 1:
                x[region] = part * part - part
            elif kind == 2:
                x[region] = space.roll(part, shift, axis=axis)
            elif kind == 3:
                x[region] = part[::-1] - 0.25
            else:
                kept.append(part.sum() if shift > 0 else part + 1.0)
        return (x, *kept[:2])

    x = np.random.default_rng(seed).standard_normal(SHAPE)
    with la.config.set(eager_below=0):
        lazy = la.array(x)
        got = la.evaluate(program(la, lazy))
    for a, b in zip(program(np, x), got, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-13)
