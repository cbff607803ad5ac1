"""Owns liveness inside an expression: what no output needs is dropped."""

from __future__ import annotations

from lazyarray.ir.expression import Entry, Expression
from lazyarray.passes.rewrite import Rewritten, with_args


def drop_dead(before: Rewritten) -> Rewritten:
    """Keeps the entries that outputs depend on, in order."""
    entries, outputs = before.expression
    needed = [False] * len(entries)
    for position in outputs:
        needed[position] = True
    for position in range(len(entries) - 1, -1, -1):
        if needed[position]:
            for arg in entries[position].args:
                needed[arg] = True
    moved: dict[int, int] = {}
    kept: list[Entry] = []
    origins: list[int | None] = []
    for position, entry in enumerate(entries):
        if needed[position]:
            moved[position] = len(kept)
            kept.append(with_args(entry, tuple([moved[a] for a in entry.args])))
            origins.append(before.origins[position])
    return Rewritten(Expression(tuple(kept), tuple(moved[o] for o in outputs)), tuple(origins))
