"""What is read transposed goes through tiles: values at every size, and what the code turns in registers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import lazyarray as la
from lazyarray.schedule.kernel import Access, Instruction, Kernel, Stage, Store
from lazyarray_llvm import engine
from lazyarray_llvm.lower.emit import emit
from lazyarray_llvm.lower.tiling import COLUMNS, ROWS, copied_accesses, tile_bytes, turned_accesses
from lazyarray_llvm.moves.names import symbol
from lazyarray_llvm.moves.squares import _rounds

I = Instruction  # noqa: E741
DTYPES = ("u1", "b1", "i2", "f2", "f4", "i8", "f8", "c8", "c16")
SIZES = [(1, 7), (3, 2), (15, 17), (16, 16), (32, 64), (33, 65), (64, 32), (70, 45), (200, 100), (316, 5)]


def values_of(code: str, *shape: int) -> Any:
    rng = np.random.default_rng(sum(shape))
    return rng.random(shape) < 0.5 if code == "b1" else rng.integers(0, 100, shape).astype(code)


@pytest.mark.parametrize("code", DTYPES)
def test_transposed_operands_have_numpys_values_at_every_size(code: str) -> None:
    with la.config.set(eager_below=0):
        for rows, columns in SIZES:
            x, y = values_of(code, rows, columns), values_of(code, columns, rows)
            lazy, other = la.array(x), la.array(y)
            for line in (
                lambda x, y: y == x.T,
                lambda x, y: x.T[::-1] == y,
                lambda x, y: x.T[:, ::-1] != y[:, ::-1],
                lambda x, y: (y[::5, ::2] == x[::2, ::5].T) | (x.T[1:2, :1] == y[1:2, :1]),
            ):
                np.testing.assert_array_equal(np.asarray(line(lazy, other)), line(x, y))
            np.testing.assert_array_equal(np.asarray(lazy.T.copy()), x.T)


@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("order", [(0, 3, 1, 2), (0, 2, 3, 1), (3, 2, 1, 0), (1, 0, 3, 2), (2, 3, 0, 1)])
def test_axes_in_any_order_are_numpys(code: str, order: tuple[int, ...]) -> None:
    x = values_of(code, 3, 18, 35, 7)
    with la.config.set(eager_below=0):
        lazy = la.array(x)
        np.testing.assert_array_equal(np.asarray(la.ascontiguousarray(lazy.transpose(order))), x.transpose(order))
        both = lazy.transpose(order) == lazy.transpose(order)[:, ::-1]
        np.testing.assert_array_equal(np.asarray(both), x.transpose(order) == x.transpose(order)[:, ::-1])


def test_a_matrix_and_its_transpose_may_be_one_memory() -> None:
    x = values_of("f8", 150, 150)
    with la.config.set(eager_below=0):
        lazy = la.array(x)
        lazy += lazy.T
        lazy[:70] = lazy[:, :70].T
    x += x.T
    x[:70] = x[:, :70].T
    np.testing.assert_array_equal(np.asarray(lazy), x)


def kernel_of(*accesses: Access) -> Kernel:
    """The sum of all but the last, which it is written to."""
    body = [I(n, "load", (), "f8", n) for n in range(len(accesses) - 1)]
    for n in range(1, len(accesses) - 1):
        body.append(I(len(body), "add", (len(body) - 1 if n > 1 else 0, n), "f8"))
    stage = Stage("full", tuple(body), stores=(Store(len(accesses) - 1, len(body) - 1),))
    return Kernel(("p", "p"), accesses, (), (stage,))


FAR, NEAR, COLUMN, ROW = (Access("f8", steps) for steps in (("s", "s"), ("s", "1"), ("s", "0"), ("0", "s")))


def test_numbers_of_other_things_are_not_those_of_accesses() -> None:
    kernel = kernel_of(FAR, NEAR, NEAR)
    (stage,) = kernel.stages
    body = (*stage.body, I(3, "const", (), "f8", 0), I(4, "scalar", (), "f8", 0), I(5, "multiply", (3, 4), "f8"))
    assert turned_accesses(kernel, stage._replace(body=body)) == [0]


def turned_of(*accesses: Access) -> list[int]:
    kernel = kernel_of(*accesses)
    return turned_accesses(kernel, kernel.stages[0])


def test_tiles_are_for_what_lies_far_apart_in_both_directions_and_is_only_read() -> None:
    assert turned_of(FAR, NEAR, COLUMN, NEAR) == [0]
    assert turned_of(NEAR, ROW, NEAR) == []
    assert turned_of(NEAR, FAR) == []
    many = turned_of(*[FAR] * 9, NEAR)
    assert many
    assert len(many) < 9
    assert sum(tile_bytes(FAR) for _ in many) <= 64 << 10


def test_what_is_only_copied_goes_where_it_belongs_at_once() -> None:
    kernel = kernel_of(FAR, NEAR)
    assert copied_accesses(kernel, kernel.stages[0]) == (0, 1)
    main = emit(kernel, engine.host(), "whole").partition("define void @kernel")[2]
    assert main.count(f"call void @{symbol('turn', 8)}(") == 1
    assert not re.search(r"load <\d+ x double>", main)
    masked = kernel.stages[0]._replace(
        body=(*kernel.stages[0].body, I(1, "equal", (0, 0), "b1")), stores=(Store(1, 0, mask=1),)
    )
    assert copied_accesses(kernel, masked) is None
    added = kernel_of(FAR, NEAR, NEAR)
    assert copied_accesses(added, added.stages[0]) is None


def test_a_tile_is_filled_once_and_read_in_whole_vectors() -> None:
    text = emit(kernel_of(FAR, NEAR, NEAR), engine.host()._replace(vector_bytes=32), "whole")
    main = text[text.index("define void @kernel") :]
    assert main.count(f"call void @{symbol('turn', 8)}(") == 1
    assert f"alloca [{tile_bytes(FAR)} x i8]" in main
    assert re.search(r"%in0\S* = load <8 x double>", main)
    assert "insertelement <8 x double>" not in main
    assert tile_bytes(FAR) > ROWS * COLUMNS * 8


@pytest.mark.parametrize(("side", "wide"), [(2, False), (4, False), (8, False), (16, False), (4, True), (8, True)])
def test_rounds_of_exchanges_transpose_a_square(side: int, wide: bool) -> None:
    vectors = [[(row, lane) for lane in range(side)] for row in range(side)]
    for pairs in _rounds(side, side, wide):
        vectors = [[(vectors[a] + vectors[b])[pick] for pick in picks] for a, b, picks in pairs]
    assert vectors == [[(row, lane) for row in range(side)] for lane in range(side)]
