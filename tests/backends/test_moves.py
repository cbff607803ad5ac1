"""What moves rows and turns squares moves every element, and none else, at every width of vectors."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import pytest

from lazyarray_llvm import engine, moves
from lazyarray_llvm.engine import Engine, JitModule, narrow
from lazyarray_llvm.moves.names import SIZES, Way, symbol
from tests.backends.widths import WIDTHS


@cache
def module_of(size: int, width: int) -> JitModule:
    """The functions for elements of a size, compiled for vectors of a width; they stay in memory."""
    return Engine(narrow(engine.host(), width)).compile_ir(moves.text(size, width), f"moves.{size}x{width}")


def moved_by(way: Way, size: int, width: int) -> Any:
    """The function that moves elements of a size in a way, compiled for vectors of a width."""
    kinds = {"spread": "pqqpqqqq", "turn": "pqpqqqq"}.get(way, "pqpqq")
    types = [ctypes.c_void_p if kind == "p" else ctypes.c_int64 for kind in kinds]
    return ctypes.CFUNCTYPE(None, *types)(module_of(size, width).address(symbol(way, size)))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("width", WIDTHS)
def test_what_moves_rows_fills_a_line_at_every_width_of_vectors(width: int, size: int) -> None:
    copy, repeat, spread = (moved_by(way, size, width) for way in ("copy", "repeat", "spread"))
    kind = f"V{size}"
    values = np.arange(8000 * size, dtype=np.uint32).astype(np.uint8).view(kind)
    for columns in (1, 2, 3, 4, 5, 16, 31):
        for rows in (0, 1, 2, 7, 64, 83):
            for apart in (columns, columns + 1, columns + 40, 1, -columns):
                start = 0 if apart > 0 else columns * rows
                walk = np.lib.stride_tricks.as_strided(values[start:], (rows, columns), (apart * size, size))
                wanted = np.zeros(rows * columns + 64, kind)
                line = wanted.copy()
                wanted[: rows * columns] = walk.reshape(-1)
                row, source = columns * size, values.ctypes.data + start * size
                copy(line.ctypes.data, row, source, apart * size, rows)
                assert line[: rows * columns].tobytes() == wanted[: rows * columns].tobytes()
                assert not any(line.tobytes()[row * rows + 64 :])
                line[...] = np.zeros((), kind)
                spread(line.ctypes.data, row, size, source, apart * size, size, rows, columns)
                assert line.tobytes() == wanted.tobytes()
                line[...] = np.zeros((), kind)
                repeat(line.ctypes.data, row, source, apart * size, rows)
                wanted[: rows * columns] = walk[:, :1].repeat(columns, axis=1).reshape(-1)
                assert line[: rows * columns].tobytes() == wanted[: rows * columns].tobytes()
                assert not any(line.tobytes()[row * rows + 64 :])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("width", WIDTHS)
def test_what_turns_squares_writes_a_transposed_array_and_nothing_beside(width: int, size: int) -> None:
    turn, kind = moved_by("turn", size, width), f"V{size}"
    values = np.arange(9000 * size, dtype=np.uint32).astype(np.uint8).view(kind)
    for rows, columns in ((1, 1), (3, 40), (4, 4), (5, 7), (8, 9), (16, 16), (17, 33), (33, 15), (64, 32)):
        for apart in (rows, rows + 3):  # elements from a column, which is a row of the source, to the next
            source = np.lib.stride_tricks.as_strided(values, (columns, rows), (apart * size, size))
            found = np.zeros((rows + 1, columns + 2), kind)
            wanted = found.copy()
            wanted[:rows, :columns] = source.T
            turn(found.ctypes.data, (columns + 2) * size, values.ctypes.data, size, apart * size, rows, columns)
            assert found.tobytes() == wanted.tobytes()
        far = values.reshape(-1)[: 2 * rows * columns : 2].reshape(columns, rows)  # rows of no neighbours
        found, wanted = np.zeros((rows, columns), kind), np.ascontiguousarray(far.T)
        turn(found.ctypes.data, columns * size, values.ctypes.data, 2 * size, 2 * rows * size, rows, columns)
        assert found.tobytes() == wanted.tobytes()
