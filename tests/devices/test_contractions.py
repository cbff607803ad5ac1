"""Products of stacks of matrices as cuBLAS takes them: which `einsum` is one, and how factors lie. No GPU is needed."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from lazyarray_cupy.contractions import TRANSPOSED, Stack, factors_of, ordered_contraction, stack_of, walk

DRAW = numpy.random.default_rng(0)
EXTENTS = {"a": 2, "b": 3, "c": 4, "i": 5, "j": 6, "k": 7, "l": 2}


def column_by_column(memory: Any, stack: Stack, number: int, line: int, rows: int, columns: int) -> Any:
    """A matrix as BLAS reads it: `line` elements from one column to the next."""
    flat = numpy.lib.stride_tricks.as_strided(memory, (rows, columns), (8, 8 * line))
    if not stack.step:
        return flat
    return numpy.lib.stride_tricks.as_strided(memory[number * stack.step :], (rows, columns), (8, 8 * line))


def as_blas(stack: Stack, memory: Any, number: int) -> Any:
    """A stack's matrix, transposed, by what `walk` says of it."""
    found = walk(stack)
    assert found is not None
    way, line = found
    if way == TRANSPOSED:
        return column_by_column(memory, stack, number, line, stack.rows, stack.columns).T
    return column_by_column(memory, stack, number, line, stack.columns, stack.rows)


def memory_of(array: Any) -> Any:
    """The elements behind an array, from its first on."""
    while array.base is not None:
        array = array.base
    return array.reshape(-1)


@pytest.mark.parametrize(
    "subscripts",
    ["ij,jk->ik", "ij,jk->ki", "bik,bjk->bij", "bik,bjk->bji", "abik,abkj->abij", "ki,kj->ij", "aikl,aklj->aij",
     "ij,jk", "ijk,ka->ija", "bi,bj->ij", " ij , kj -> ik "],
)  # fmt: skip
def test_einsum_of_two_operands_is_a_product_of_matrices(subscripts: str) -> None:
    found = ordered_contraction(subscripts)
    assert found is not None
    terms = subscripts.replace(" ", "").partition("->")[0].split(",")
    operands = [DRAW.random([EXTENTS[c] for c in term]) for term in terms]
    expected = numpy.einsum(subscripts, *operands)
    if found.swapped:
        operands.reverse()
    factors = [operands[0].transpose(found.left), operands[1].transpose(found.right)]
    stacks = [
        stack_of(f.shape, f.strides, groups, 8)
        for f, groups in zip(factors, (found.left_groups, found.right_groups), strict=True)
    ]
    first, second = stacks
    assert first is not None
    assert second is not None
    made = [
        (as_blas(second, memory_of(factors[1]), n) @ as_blas(first, memory_of(factors[0]), n)).T
        for n in range(first.number)
    ]
    numpy.testing.assert_allclose(numpy.array(made).reshape(expected.shape), expected)


@pytest.mark.parametrize(
    "subscripts",
    [
        "ij,jk,kl->il",
        "ii,ij->ij",
        "ij,jk->i",
        "ij,ij->ij",
        "ij,jk->ikj",
        "bik,bjk->ibj",
        "...ij,jk->...ik",
        "i,i->",
        "i,ij->j",
    ],
)
def test_other_einsums_are_none(subscripts: str) -> None:
    assert ordered_contraction(subscripts) is None


def test_factors_of_stacks_are_taken_as_they_lie() -> None:
    left, right = DRAW.random((2, 3, 5, 7)), DRAW.random((7, 6))
    factors = factors_of(left, right, numpy.empty((2, 3, 5, 6)))
    assert factors is not None
    assert factors[0] == Stack(6, 35, 5, 7, 7, 1)
    assert factors[1] == Stack(6, 0, 7, 6, 6, 1)  # one matrix for all
    turned = factors_of(left.swapaxes(2, 3), left, numpy.empty((2, 3, 7, 7)))
    assert turned is not None
    assert walk(turned[0]) == (TRANSPOSED, 7)
    assert factors_of(left[:, ::2], left[:, ::2], numpy.empty((2, 2, 5, 5))) is None  # stacks with gaps of two sizes
    assert walk(Stack(1, 0, 5, 7, 14, 2)) is None
