"""Owns pieces: a root whose nest crosses the wrap of a rolled array is written piece by piece.

root -> empty, then an update of each piece with a view of the root: exact, since each element is computed by the same
operations, and in the pieces every rolled access is one affine walk.
"""

from __future__ import annotations

from itertools import pairwise, product

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import Shape, c_strides
from lazyarray.passes.rewrite import Rebuild, Rewritten, with_args

Piece = tuple[tuple[int, ...], Shape]  # first index and extents


def cut_into_pieces(before: Rewritten, cuts: dict[int, dict[int, set[int]]]) -> Rewritten:
    """The expression with each of the roots replaced by updates of its pieces. `cuts`: domain axis -> breaks."""
    build = Rebuild()
    moved: list[int] = []
    for position, (entry, origin) in enumerate(zip(before.expression.entries, before.origins, strict=True)):
        renumbered = with_args(entry, tuple([moved[a] for a in entry.args]))
        if position in cuts:
            moved.append(write_pieces(build, renumbered, origin, cuts[position]))
        else:
            moved.append(build.add(*renumbered, origin=origin))
    outputs = tuple(moved[o] for o in before.expression.outputs)
    return Rewritten(Expression(tuple(build.entries), outputs), tuple(build.origins))


def write_pieces(build: Rebuild, root: Entry, origin: int | None, breaks: dict[int, set[int]]) -> int:
    """The position of the last update."""
    if root.kind == "update":
        current, new = root.args
        offset, shape, strides, _ = root.attr
    else:
        new = build.add(*root, origin=origin)
        current = build.add("empty", None, root.shape, root.code, ())
        offset, shape, strides = 0, root.shape, c_strides(root.shape)
    for start, extents in pieces(shape, breaks):
        place = offset + sum(a * s for a, s in zip(start, strides, strict=True))
        part = piece_of(build, new, start, extents)
        current = build.add("update", (place, extents, strides, False), root.shape, root.code, (current, part))
    return current


def pieces(shape: Shape, breaks: dict[int, set[int]]) -> list[Piece]:
    """The boxes into which the breaks cut a domain."""
    ranges = []
    for axis, extent in enumerate(shape):
        inner = sorted(b for b in breaks.get(axis, ()) if 0 < b < extent)
        ranges.append(list(pairwise([0, *inner, extent])))
    return [(tuple(a for a, _ in box), tuple(b - a for a, b in box)) for box in product(*ranges)]


def piece_of(build: Rebuild, new: int, start: tuple[int, ...], extents: Shape) -> int:
    """A view of the values that go into a piece; values of extent 1 along an axis go everywhere along it."""
    entry = build.entries[new]
    lead = len(extents) - len(entry.shape)
    if entry.kind == "scalar" or lead < 0:
        return new
    strides = c_strides(entry.shape)
    shape = tuple(1 if n == 1 else e for n, e in zip(entry.shape, extents[lead:], strict=True))
    offset = sum(0 if n == 1 else a * s for n, a, s in zip(entry.shape, start[lead:], strides, strict=True))
    return build.add("view", (offset, strides), shape, entry.code, (new,))
