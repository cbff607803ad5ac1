"""Owns which products of stacks of matrices cuBLAS can take as they lie: `einsum` of two operands, `matmul` of stacks.

Plain data: nothing here needs a GPU.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

NOT_TRANSPOSED: Final = 0
TRANSPOSED: Final = 1
_LONGEST: Final = (1 << 31) - 1  # cuBLAS counts rows and columns as int


class Contraction(NamedTuple):
    """An `einsum` as products: the axes of both factors as stack, rows, columns, with how many axes each of these has.

    `swapped`: the second operand is the left factor, as the order of the result's axes wants it.
    """

    swapped: bool
    left: tuple[int, ...]
    right: tuple[int, ...]
    left_groups: tuple[int, int, int]
    right_groups: tuple[int, int, int]


class Stack(NamedTuple):
    """Matrices in memory: how many, from one to the next, and each one's extents and strides, in elements."""

    number: int
    step: int
    rows: int
    columns: int
    down: int
    across: int


@functools.lru_cache(maxsize=256)
def contraction_of(subscripts: str) -> Contraction | None:
    """An `einsum` of two operands as products of matrices whose results lie in C order; None for others."""
    inputs, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != 2 or "." in subscripts:
        return None
    first, second = terms
    if not arrow:
        out = "".join(sorted(c for c in {*first, *second} if (first + second).count(c) == 1))
    if any(len({*term}) != len(term) for term in (first, second, out)):
        return None
    stack = [c for c in out if c in first and c in second]
    rows = [c for c in out if c not in second]
    columns = [c for c in out if c not in first]
    inner = [c for c in first if c in second and c not in out]
    if {*first, *second} != {*stack, *rows, *columns, *inner} or not (rows and columns and inner):
        return None
    swapped = [*out] != [*stack, *rows, *columns]
    if swapped:
        first, second, rows, columns = second, first, columns, rows
        if [*out] != [*stack, *rows, *columns]:
            return None
    return Contraction(
        swapped,
        tuple(first.index(c) for c in (*stack, *rows, *inner)),
        tuple(second.index(c) for c in (*stack, *inner, *columns)),
        (len(stack), len(rows), len(inner)),
        (len(stack), len(inner), len(columns)),
    )


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
