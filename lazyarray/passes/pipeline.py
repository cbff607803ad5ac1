"""Owns the list of passes, in the order in which they run between capture and scheduling."""

from __future__ import annotations

from collections.abc import Callable

from lazyarray.ir.expression import Expression
from lazyarray.passes.boxes import join_writes
from lazyarray.passes.forwarding import forward_writes
from lazyarray.passes.liveness import drop_dead
from lazyarray.passes.numbering import share_common
from lazyarray.passes.rewrite import Rewritten, unchanged
from lazyarray.passes.selection import select_last
from lazyarray.passes.updates import choose_masked
from lazyarray.passes.views import push_reshapes

PIPELINE: tuple[tuple[str, Callable[[Rewritten], Rewritten]], ...] = (
    ("share_common", share_common),
    ("select_last", select_last),
    ("choose_masked", choose_masked),
    ("forward_writes", forward_writes),
    ("join_writes", join_writes),
    ("push_reshapes", push_reshapes),
    ("share_common", share_common),
    ("drop_dead", drop_dead),
)


def run_passes(expression: Expression, observe: Callable[[str, Expression], None] | None = None) -> Rewritten:
    """The expression after all passes; its outputs keep their order. `observe` gets what each pass changed."""
    current = unchanged(expression)
    for name, function in PIPELINE:
        before, current = current, function(current)
        if observe is not None and current.expression != before.expression:
            observe(name, current.expression)
    return current
