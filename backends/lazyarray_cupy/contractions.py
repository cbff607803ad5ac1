"""Owns which products of stacks of matrices cuBLAS can take as they lie: `einsum` of two operands, `matmul` of stacks.

Plain data: nothing here needs a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from lazyarray.ir.contractions import Contraction, contraction_of

NOT_TRANSPOSED: Final = 0
TRANSPOSED: Final = 1
_LONGEST: Final = (1 << 31) - 1  # cuBLAS counts rows and columns as int


class Stack(NamedTuple):
    """Matrices in memory: how many, from one to the next, and each one's extents and strides, in elements."""

    number: int
    step: int
    rows: int
    columns: int
    down: int
    across: int


def ordered_contraction(subscripts: str) -> Contraction | None:
    """An `einsum` of two operands as products of matrices whose results lie in C order; None for others."""
    found = contraction_of(subscripts)
    return found if found is not None and found.is_ordered() else None


def stack_of(shape: Sequence[int], strides: Sequence[int], groups: tuple[int, int, int], size: int) -> Stack | None:
    """An array, by its strides in bytes, as a stack of matrices: so many axes of each; None where axes do not join."""
    if any(stride % size for stride in strides):
        return None
    found: list[tuple[int, int]] = []
    at = 0
    for count in groups:
        joined = _joined(shape[at : at + count], strides[at : at + count])
        if joined is None:
            return None
        found.append((joined[0], joined[1] // size))
        at += count
    (number, step), (rows, down), (columns, across) = found
    return Stack(number, step, rows, columns, down, across)


def _joined(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int] | None:
    """Axes as one: its extent and stride."""
    total, step = 1, 0
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent == 1:
            continue
        if total == 1:
            step = stride
        elif stride != step * total:
            return None
        total *= extent
    return total, step


def walk(stack: Stack) -> tuple[int, int] | None:
    """How cuBLAS takes a matrix as its transpose column by column: which way, and the step between lines."""
    _, _, rows, columns, down, across = stack
    if max(rows, columns) > _LONGEST:
        return None
    if across == 1 or columns == 1:
        step = down if rows > 1 else columns
        if max(columns, 1) <= step <= _LONGEST:
            return NOT_TRANSPOSED, step
    if down == 1 or rows == 1:
        step = across if columns > 1 else rows
        if max(rows, 1) <= step <= _LONGEST:
            return TRANSPOSED, step
    return None


def factors_of(left: Any, right: Any, out: Any) -> tuple[Stack, Stack] | None:
    """The factors of `matmul`, with the stack that their result has; None where cuBLAS cannot take them as they lie."""
    if left.ndim < 2 or right.ndim < 2:
        return None
    found = []
    for array in (left, right):
        missing = out.ndim - array.ndim
        shape = (*out.shape[:-2], *array.shape[-2:])
        strides = (0,) * missing + tuple(
            0 if extent == 1 else stride for extent, stride in zip(array.shape[:-2], array.strides[:-2], strict=True)
        )
        stack = stack_of(shape, (*strides, *array.strides[-2:]), (out.ndim - 2, 1, 1), array.dtype.itemsize)
        if stack is None:
            return None
        found.append(stack)
    return found[0], found[1]
