"""Owns what of an expression is sizes: extents, and the offsets and strides of views; the rest is its structure."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from lazyarray.ir.expression import Entry, Expression, Signature, expression_of
from lazyarray.records import NamedTuple

GEOMETRY: Final = frozenset(("view", "update", "roll", "compress"))  # kinds whose attributes are of sizes

Structure: TypeAlias = tuple[Any, ...]  # an expression without its sizes: what kernels are made of
Sizes: TypeAlias = tuple[int, ...]  # those of all entries one after another: extents, then what the attribute says


class Drawn(NamedTuple):
    """An expression, its structure and its sizes."""

    expression: Expression
    structure: Structure
    sizes: Sizes


def draw(signature: Signature) -> Drawn:
    """The expression that a signature stands for, and what it consists of."""
    expression = expression_of(signature)
    return Drawn(expression, *structure_of(expression))


def structure_of(expression: Expression) -> tuple[Structure, Sizes]:
    """The expression without sizes, strides and offsets; and these."""
    sizes: list[int] = []
    entries = []
    for kind, attr, shape, code, args in expression.entries:
        sizes += shape
        entries.append((kind, _drawn(attr, sizes) if kind in GEOMETRY else attr, len(shape), code, args))
    return (*entries, expression.outputs), tuple(sizes)


def _drawn(attr: Any, sizes: list[int]) -> Any:
    """An attribute with None for each number, which is added to the sizes."""
    if type(attr) is int:
        sizes.append(attr)
        return None
    return tuple([_drawn(item, sizes) for item in attr]) if type(attr) is tuple else attr  # has_mask


def with_sizes(structure: Structure, sizes: Sizes) -> Expression:
    """The expression of this structure and these sizes: `with_sizes(*structure_of(e)) == e`."""
    left = iter(sizes)
    entries = []
    for kind, attr, axes, code, args in structure[:-1]:
        shape = tuple([next(left) for _ in range(axes)])
        entries.append(Entry(kind, _filled(attr, left) if kind in GEOMETRY else attr, shape, code, args))
    return Expression(tuple(entries), structure[-1])


def _filled(attr: Any, left: Any) -> Any:
    """The attribute that `_drawn` was given."""
    if attr is None:
        return next(left, None)
    return tuple([_filled(item, left) for item in attr]) if type(attr) is tuple else attr
