"""Owns the rewriting of writes: a write under a mask into a value that is computed anyway becomes a choice."""

from __future__ import annotations

from typing import Final

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import IndexMap, is_identity
from lazyarray.passes.rewrite import Rebuild, Rewritten, rebuild

_COMPUTED: Final = frozenset({"map", "fill", "iota"})


def choose_masked(before: Rewritten) -> Rewritten:
    """update(f(a), new, mask) -> where(mask, new, f(a)): the write and what it writes into are one pass.

    Exact: each element is the one or the other. Only over all of a value that elementwise code computes: what lies in
    memory is better written where the mask says so. Not where new counts the mask's elements: such a nest has to see
    all of them in order, and only reads under the mask.
    """
    if all(entry.kind != "update" for entry in before.expression.entries):
        return before

    def rule(build: Rebuild, entry: Entry, origin: int | None) -> int:
        if entry.kind == "update" and entry.attr[3]:
            offset, shape, strides, _ = entry.attr
            old, new, mask = entry.args
            whole = is_identity(IndexMap(offset, shape, strides), entry.shape)
            if whole and build.entries[old].kind in _COMPUTED and build.entries[new].kind != "expand":
                kind = ("where", ("b1", entry.code, entry.code))
                return build.add("map", kind, entry.shape, entry.code, (mask, new, old), origin)
        return build.add(*entry, origin=origin)

    return rebuild(before, rule)
