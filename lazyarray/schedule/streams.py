"""Owns how many streams of memory a nest reads at once, and where one that reads too many is cut.

Large operands that are read from front to back are streams, whose next lines the CPU fetches ahead: of about a dozen at
once. A nest that adds up a hundred frames of half a megabyte takes three times as long as nests that add up eight each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import size_of
from lazyarray.ir.node import Shape
from lazyarray.schedule.demand import Flat

MOST: Final = 12  # streams of one nest
SMALLEST: Final = 1 << 13  # elements of a nest whose operands do not all stay in the first cache
NEAR: Final = 1 << 12  # elements within which reads of one array are one stream, as those of a stencil
CROSSING: Final = 2  # values that may have to be written and read where a nest is cut: each is a stream, too


def reads_much(shape: Shape, loads: Iterable[tuple[int, Flat]]) -> bool:
    """Whether a nest over `shape` with these loads, of entries with offsets and strides, reads too many streams."""
    if size_of(shape) < SMALLEST:
        return False
    return len({(slot, flat[0] // NEAR) for slot, flat in loads if moves(shape, flat[1])}) > MOST


def moves(shape: Shape, strides: tuple[int, ...]) -> bool:
    """Whether each element is read once: what is broadcast stays in cache."""
    return all(step for extent, step in zip(shape, strides, strict=True) if extent > 1)


def narrow_place(
    entries: tuple[Entry, ...], computed: list[int], others: set[int], is_memory: Callable[[int], bool]
) -> set[int]:
    """The values that cross one place among the `computed` ones, from half of the most streams on.

    Where they are fewest, and without `others`; none where they are too many everywhere, or no more is read.
    """
    order = as_used(entries, computed)
    last_use = {arg: at for at, position in enumerate(order) for arg in operands_of(entries, position)}
    read: set[tuple[int, int]] = set()
    best: set[int] = set()
    crossing: set[int] = set()
    for at, position in enumerate(order):
        read |= streams_of(entries, position, is_memory)
        if len(read) > MOST:
            return best
        crossing = {p for p in (*crossing, position) if last_use.get(p, 0) > at}
        if 2 * len(read) >= MOST:
            found = crossing - others
            if 0 < len(found) <= CROSSING and (not best or len(found) <= len(best)):
                best = found
    return set()


def as_used(entries: tuple[Entry, ...], computed: list[int]) -> list[int]:
    """The positions, which rise, in an order in which few values wait: what takes most steps is computed first."""
    steps: dict[int, int] = {}
    used: set[int] = set()
    for position in computed:
        operands = operands_of(entries, position)
        steps[position] = 1 + max([steps.get(arg, 0) for arg in operands], default=0)
        used.update(operands)
    order: dict[int, None] = {}
    for last in computed:
        left = [] if last in used else [(last, False)]
        while left:
            position, ready = left.pop()
            if ready:
                order[position] = None
            elif position not in order:
                inner = [arg for arg in operands_of(entries, position) if arg in steps and arg not in order]
                left += [(position, True), *[(arg, False) for arg in sorted(inner, key=steps.__getitem__)]]
    return list(order)


def operands_of(entries: tuple[Entry, ...], position: int) -> list[int]:
    """What an entry computes from, behind views."""
    found = []
    for arg in entries[position].args:
        while entries[arg].kind == "view":
            arg = entries[arg].args[0]
        found.append(arg)
    return found


def streams_of(entries: tuple[Entry, ...], position: int, is_memory: Callable[[int], bool]) -> set[tuple[int, int]]:
    """The streams of memory that an entry reads, by what is read and whereabouts."""
    found = set()
    for arg in entries[position].args:
        entry, offset = entries[arg], 0
        if entry.kind == "view":
            offset, strides = entry.attr
            if not moves(entry.shape, strides):
                continue
            arg, offset = entry.args[0], offset // NEAR
        if is_memory(arg) and size_of(entry.shape) >= SMALLEST:
            found.add((arg, offset))
    return found
