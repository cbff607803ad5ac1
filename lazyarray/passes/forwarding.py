"""Owns the forwarding of written values: a region that is written, read and written again is written once.

`f[:, i] = np.roll(f[:, i], 1); f[:, i] *= 2.0` then is one pass over the region.
"""

from __future__ import annotations

from typing import Final

from lazyarray.ir.expression import Entry, Expression
from lazyarray.passes.rewrite import Rebuild, Rewritten, rebuild, with_args

_ELEMENTS: Final = frozenset({"map", "view", "roll"})  # what reads elements of its arguments as the loop comes to them


def forward_writes(before: Rewritten) -> Rewritten:
    """update(update(a, f, R), g(view(update(a, f, R), R)), R) -> update(a, g(f), R).

    Exact: all of R is written by both. Only where the value between the writes is read as R alone, and for the second
    write alone: what else reads it reads memory.
    """
    if sum([entry.kind == "update" for entry in before.expression.entries]) < 2:
        return before
    first = written_again(before.expression)
    if not first:
        return before
    positions = iter(range(len(before.expression.entries)))
    again: set[int] = set()  # the same updates' places in the new expression

    def rule(build: Rebuild, entry: Entry, origin: int | None) -> int:
        position = next(positions)
        # What reads such an update is a view of what it wrote, or the next write.
        if entry.args and entry.args[0] in again:
            old, new = build.entries[entry.args[0]].args
            if entry.kind == "view":
                return new
            entry = with_args(entry, (old, *entry.args[1:]))
        place = build.add(*entry, origin=origin)
        if position in first:
            again.add(place)
        return place

    return rebuild(before, rule)


def written_again(expression: Expression) -> set[int]:
    """The updates whose values only the next write of the same region needs."""
    entries, outputs = expression
    users: list[list[int]] = [[] for _ in entries]
    for position, entry in enumerate(entries):
        for arg in dict.fromkeys(entry.args):
            users[arg].append(position)
    return {
        position
        for position, entry in enumerate(entries)
        if entry.kind == "update" and position not in outputs and _is_written_again(entries, outputs, users, position)
    }


def _is_written_again(
    entries: tuple[Entry, ...], outputs: tuple[int, ...], users: list[list[int]], position: int
) -> bool:
    """Whether the update's value is read as the region that it wrote, for one more write of that region."""
    entry = entries[position]
    offset, shape, strides, masked = entry.attr
    new = entries[entry.args[1]]
    if masked or new.shape != shape or new.code != entry.code:
        return False
    again = [user for user in users[position] if entries[user].kind == "update"]
    reads = [user for user in users[position] if entries[user].kind == "view"]
    if len(again) != 1 or not reads or len(reads) + 1 != len(users[position]):
        return False
    (last,) = again
    if entries[last].attr != entry.attr or entries[last].args[0] != position or position in entries[last].args[1:]:
        return False
    if any(entries[user].attr != (offset, strides) or entries[user].shape != shape for user in reads):
        return False
    # Everything that comes of the reads is elements of the second write.
    known, left = set(reads), list(reads)
    while left:
        read = left.pop()
        if read in outputs:
            return False
        for user in users[read]:
            if user == last or user in known:
                continue
            if entries[user].kind not in _ELEMENTS:
                return False
            known.add(user)
            left.append(user)
    return True
