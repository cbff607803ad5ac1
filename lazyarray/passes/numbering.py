"""Owns value numbering: an expression that says the same thing twice says it once."""

from __future__ import annotations

from lazyarray.ir.expression import Entry
from lazyarray.passes.rewrite import Rebuild, Rewritten, rebuild

# Each of these is a value of its own even when kind, attributes and arguments agree: inputs differ in what is fed in
# (numbers of passes are their `attr`), and memory that is written must not be shared.
FED = frozenset({"leaf", "scalar"})
WRITTEN = frozenset({"empty", "update", "scatter"})


def share_common(before: Rewritten) -> Rewritten:
    """f(a), f(a) -> one f(a). Exact: every kind but these is a pure function of its arguments."""
    seen: dict[Entry, int] = {}

    def rule(build: Rebuild, entry: Entry, origin: int | None) -> int:
        if entry.kind in WRITTEN or (entry.kind in FED and entry.attr is None):
            return build.add(*entry, origin=origin)
        found = seen.get(entry)
        if found is None:
            found = seen[entry] = build.add(*entry, origin=origin)
        return found

    return rebuild(before, rule)
