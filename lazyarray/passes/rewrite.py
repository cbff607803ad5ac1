"""Owns the rebuilding of expressions: the one way in which passes make new entries and drop old ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.node import Shape


class Rebuild:
    """A new expression under construction; `origins[i]` is the old position that new entry i stands for, or None."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.origins: list[int | None] = []

    def add(
        self,
        kind: str,
        attr: Any,
        shape: Shape,
        code: str,
        args: tuple[int, ...],
        origin: int | None = None,
    ) -> int:
        """Appends an entry and returns its position."""
        self.entries.append(Entry(kind, attr, shape, code, args))
        self.origins.append(origin)
        return len(self.entries) - 1


class Rewritten:
    """An expression and, for each of its entries, the position in the captured expression it came from (or None)."""

    __slots__ = ("expression", "origins")

    def __init__(self, expression: Expression, origins: tuple[int | None, ...]) -> None:
        self.expression = expression
        self.origins = origins


def unchanged(expression: Expression) -> Rewritten:
    """The start of a pipeline."""
    return Rewritten(expression, tuple(range(len(expression.entries))))


def with_args(entry: Entry, args: tuple[int, ...]) -> Entry:
    """The entry, with other arguments."""
    return entry if args == entry.args else Entry(entry.kind, entry.attr, entry.shape, entry.code, args)


Rule = Callable[[Rebuild, Entry, "int | None"], int]


def rebuild(before: Rewritten, rule: Rule) -> Rewritten:
    """Applies `rule` to each entry in order, arguments already renumbered; the rule returns the new position."""
    build = Rebuild()
    moved: list[int] = []
    for entry, origin in zip(before.expression.entries, before.origins, strict=True):
        moved.append(rule(build, with_args(entry, tuple([moved[a] for a in entry.args])), origin))
    outputs = tuple(moved[o] for o in before.expression.outputs)
    return Rewritten(Expression(tuple(build.entries), outputs), tuple(build.origins))
