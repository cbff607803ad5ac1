"""Owns what a write may read of the memory that it writes."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from lazyarray.ir.expression import Entry
from lazyarray.schedule.demand import Materialise, Puller
from lazyarray.schedule.meeting import disjoint

Entries = tuple[Entry, ...]

OVERWRITTEN: Final = "the write would change elements that it still reads"


def owner(entries: Entries, slot: int) -> int:
    """The slot whose memory this one may have taken over through updates."""
    while entries[slot].kind in ("update", "scatter"):
        slot = entries[slot].args[0]
    return slot


def must_copy(entries: Entries, roots: Container[int], entry: Entry, puller: Puller) -> bool:
    """Whether an update or a scatter has to leave the old value as it is, since it reads what it has overwritten.

    New values that read the written memory anywhere but at the written element are materialised first (raises
    Materialise); where they are that memory's old value itself, a copy is written.
    """
    written_memory = owner(entries, entry.args[0])
    clash = any(owner(entries, slot) == written_memory for slot in puller.gathered)
    read = [flat for slot, flat in puller.loads if owner(entries, slot) == written_memory]
    if entry.kind == "scatter":
        clash = clash or bool(read)
    else:
        offset, shape, strides, _ = entry.attr
        written = (offset, tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True)))
        clash = clash or any(flat != written and not disjoint(flat, written, shape) for flat in read)
    if clash:
        for arg in entry.args[1:]:
            if arg not in roots and entries[arg].kind not in ("leaf", "scalar"):
                raise Materialise(arg, OVERWRITTEN)
    return clash


def reads_what_it_writes(entries: Entries, roots: Container[int], entry: Entry) -> bool:
    """True for an update whose new values are computed from the memory that it writes.

    Cut, each of its pieces would need the memory as it was before the first of them.
    """
    if entry.kind != "update":
        return False
    written_memory = owner(entries, entry.args[0])
    seen = set(entry.args[1:])
    left = list(seen)
    while left:
        position = left.pop()
        if owner(entries, position) == written_memory:
            return True
        if position not in roots:
            left += [arg for arg in entries[position].args if arg not in seen]
            seen.update(entries[position].args)
    return False
