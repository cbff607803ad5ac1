"""Owns the rewriting of views: reshapes move towards the inputs, where memory can absorb them."""

from __future__ import annotations

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import IndexMap, c_strides, is_contiguous, reshape, size_of, split
from lazyarray.ir.node import Shape
from lazyarray.passes.rewrite import Rebuild, Rewritten, rebuild


def is_whole_reshape(entry: Entry, source: Shape) -> bool:
    """True when a view entry is all of its C-ordered argument under another shape."""
    offset, strides = entry.attr
    view = IndexMap(offset, entry.shape, strides)
    return offset == 0 and size_of(entry.shape) == size_of(source) and is_contiguous(view)


def is_stuck(entry: Entry, shape: Shape) -> bool:
    """True for a view that only a copy can reshape: what is computed of it may as well be that copy."""
    return entry.kind == "view" and reshape(IndexMap(entry.attr[0], entry.shape, entry.attr[1]), shape) is None


def push_reshapes(before: Rewritten) -> Rewritten:
    """reshape(f(a, b)) -> f(reshape(a), reshape(b)) where a loop over the new shape cannot index f's own axes.

    Exact: f is elementwise and a, b have its shape (or are numbers), so both sides apply f to the same pairs of
    elements in C order. Only done where the axes merge (`split` fails), since splits cost nothing in a kernel.
    """

    def rule(build: Rebuild, entry: Entry, origin: int | None) -> int:
        if entry.kind == "view":
            pushed = reshape_of(build, entry, origin)
            if pushed is not None:
                return pushed
        return build.add(*entry, origin=origin)

    return rebuild(before, rule)


def reshape_of(build: Rebuild, entry: Entry, origin: int | None) -> int | None:
    """The pushed form of one view entry, or None where it stays as it is."""
    source = build.entries[entry.args[0]]
    if source.kind != "map" or not is_whole_reshape(entry, source.shape):
        return None
    offset, strides = entry.attr
    if split(offset, strides, entry.shape, source.shape) is not None:
        return None
    plain = (0, c_strides(entry.shape))
    args: list[int] = []
    for position in source.args:
        arg = build.entries[position]
        if arg.kind == "scalar":
            args.append(position)
            continue
        if arg.shape != source.shape or is_stuck(arg, entry.shape):
            return None
        view = Entry("view", plain, entry.shape, arg.code, (position,))
        pushed = reshape_of(build, view, None)
        args.append(build.add(*view) if pushed is None else pushed)
    return build.add("map", source.attr, entry.shape, source.code, tuple(args), origin)
