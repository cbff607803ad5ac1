"""Owns which `einsum` of two operands is a stack of matrix products, by its subscripts alone."""

from __future__ import annotations

import functools

from lazyarray.records import NamedTuple

Groups = tuple[int, int, int]


class Contraction(NamedTuple):
    """An `einsum` as products: the axes of both factors as stack, rows, columns, with how many axes each of these has.

    `swapped`: the second operand is the left factor. `order`: for each axis of the result, its place among the stack,
    the rows and the columns, in which order the products lie.
    """

    swapped: bool
    left: tuple[int, ...]
    right: tuple[int, ...]
    left_groups: Groups
    right_groups: Groups
    order: tuple[int, ...]

    def is_ordered(self) -> bool:
        """True where the result's axes are the stack, the rows and the columns, in this order."""
        return self.order == tuple(range(len(self.order)))


def labels_of(subscripts: str) -> tuple[list[str], str] | None:
    """Labels of each operand and of the result; None where `...` stands for some, or NumPy refuses a sign."""
    inputs, arrow, out = subscripts.partition("->")
    inputs, out = inputs.replace(" ", ""), out.replace(" ", "")
    letters = inputs.replace(",", "") + out
    if letters and not (letters.isascii() and letters.isalpha()):
        return None
    terms = inputs.split(",")
    if not arrow:
        joined = "".join(terms)
        out = "".join(sorted(c for c in {*joined} if joined.count(c) == 1))
    return terms, out


@functools.lru_cache(maxsize=256)
def contraction_of(subscripts: str) -> Contraction | None:
    """An `einsum` of two operands as products of matrices; None for others."""
    found = labels_of(subscripts)
    if found is None or len(found[0]) != 2:
        return None
    (first, second), out = found
    if any(len({*term}) != len(term) for term in (first, second, out)):
        return None
    stack = [c for c in out if c in first and c in second]
    rows = [c for c in out if c not in second]
    columns = [c for c in out if c not in first]
    inner = [c for c in first if c in second and c not in out]
    if {*first, *second} != {*stack, *rows, *columns, *inner} or not (rows and columns and inner):
        return None
    swapped = [*out] == [*stack, *columns, *rows]
    if swapped:
        first, second, rows, columns = second, first, columns, rows
    lying = [*stack, *rows, *columns]
    return Contraction(
        swapped,
        tuple(first.index(c) for c in (*stack, *rows, *inner)),
        tuple(second.index(c) for c in (*stack, *inner, *columns)),
        (len(stack), len(rows), len(inner)),
        (len(stack), len(inner), len(columns)),
        tuple(lying.index(c) for c in out),
    )
