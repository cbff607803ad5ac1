"""Owns the rewriting of selections: elementwise operations move in front of the mask that selects their operands."""

from __future__ import annotations

import numpy as np

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import size_of
from lazyarray.ir.node import Shape
from lazyarray.ir.ops import OPS, is_own_loop
from lazyarray.ir.raises import harmless, raises
from lazyarray.passes.rewrite import Rebuild, Rewritten, rebuild

_DEAR = 10  # cost from which an operation should not run on elements that the mask leaves out


def select_last(before: Rewritten) -> Rewritten:
    """f(compress(m, a), compress(m, b)) -> compress(m, f(a, b)): one nest reads a, b and m, and packs once.

    Exact: f is elementwise. Only where nobody else needs the selections themselves, or where one of them lies in no
    memory then, and where f is cheap or most elements are selected, since f then runs on all of them.
    expand(m, compress(m, a)) -> a: only places under the mask are read of it.
    """
    if all(entry.kind != "compress" for entry in before.expression.entries):
        return before
    taken = movable(before.expression)
    computed: set[int] = set()  # values of moved maps: what they are elsewhere is made of harmless numbers
    position = -1

    def rule(build: Rebuild, entry: Entry, origin: int | None) -> int:
        nonlocal position
        position += 1
        if entry.kind == "expand" and position not in before.expression.outputs:
            packed = build.entries[entry.args[1]]
            if packed.kind == "compress" and (packed.args[0], packed.attr) == (entry.args[0], entry.shape):
                source = packed.args[1]
                return source if build.entries[source].shape == entry.shape else build.add(*entry, origin=origin)
        if position not in taken:
            return build.add(*entry, origin=origin)
        args = [build.entries[a] for a in entry.args]
        mask, shape = next((a.args[0], a.attr) for a in args if a.kind == "compress")
        sources = tuple(a.args[1] if a.kind == "compress" else p for p, a in zip(entry.args, args, strict=True))
        whole = np.broadcast_shapes(*(build.entries[s].shape for s in sources))
        name, codes = entry.attr
        if raises(name, codes, entry.code):
            tame = computed if name in _TAME else ()
            sources = tuple(
                shield(build, mask, s, harmless(name)) if a.kind == "compress" and s not in tame else s
                for s, a in zip(sources, args, strict=True)
            )
        value = build.add("map", entry.attr, whole, entry.code, sources, origin)
        computed.add(value)
        return build.add("compress", shape, entry.shape, entry.code, (mask, value), origin)

    return rebuild(before, rule)


# Of what harmless numbers became these make nothing that overflows, unless the program's own numbers do.
_TAME = frozenset({"add", "subtract", "multiply", "square"})


def shield(build: Rebuild, mask: int, source: int, quiet: int) -> int:
    """The source under the mask, elsewhere `quiet`, of which the operation that reads it raises nothing.

    Exact: only places under the mask are read of the operation. NumPy does not compute it elsewhere, so it must not
    raise there.
    """
    entry = build.entries[source]
    number = build.add("scalar", quiet, (), entry.code, ())
    wide = np.broadcast_shapes(entry.shape, build.entries[mask].shape)
    return build.add("map", ("where", ("b1", entry.code, entry.code)), wide, entry.code, (mask, source, number))


def movable(expression: Expression) -> set[int]:
    """Maps whose arguments are all selections by one mask that nobody else needs (or numbers).

    What others need may be among them beside a map of selections, which is not written then: it is read where it was
    selected from.
    """
    entries, outputs = expression
    by: dict[int, tuple[int, Shape]] = {}  # mask and shape of what each selection, or map of selections, selects from
    maps: set[int] = set()
    readers: dict[int, list[int]] = {}
    for position, entry in enumerate(entries):
        for arg in entry.args:
            readers.setdefault(arg, []).append(position)
        if entry.kind == "compress":
            by[position] = entry.args[0], entry.attr
        elif entry.kind == "map":
            arrays = [a for a in entry.args if entries[a].kind != "scalar"]
            found = {by.get(a) for a in arrays}
            if len(found) == 1 and None not in found and is_worth(entry, by[arrays[0]][1]):
                by[position] = by[arrays[0]]
                maps.add(position)
    while True:
        needed = {p for p in by if p in outputs or not all(r in maps for r in readers.get(p, ()))}
        kept = {p for p in maps if is_movable(entries, p, needed, maps, by)}
        if kept == maps:
            return maps
        maps = kept


def is_movable(
    entries: tuple[Entry, ...], position: int, needed: set[int], maps: set[int], by: dict[int, tuple[int, Shape]]
) -> bool:
    """Whether a map of selections moves, when `maps` do and `needed` are written."""
    moved = inner(entries, position, by)
    if not maps.issuperset(moved):
        return False
    kept = needed.intersection(entries[position].args)
    return not kept or (len(moved) > 0 and all(selects_memory(entries, p) for p in kept))


def selects_memory(entries: tuple[Entry, ...], position: int) -> bool:
    """True for a selection from a leaf."""
    entry = entries[position]
    return entry.kind == "compress" and entries[entry.args[1]].kind == "leaf"


def inner(entries: tuple[Entry, ...], position: int, by: dict[int, tuple[int, Shape]]) -> list[int]:
    """The maps of selections among an entry's arguments."""
    return [a for a in entries[position].args if a in by and entries[a].kind == "map"]


def is_worth(entry: Entry, shape: Shape) -> bool:
    """True when the map may as well run on all elements of `shape` as on the selected ones."""
    name = entry.attr[0]
    if is_own_loop(name):
        return False  # of counted elements it would run on one vector a call
    return name not in OPS or OPS[name].cost < _DEAR or 2 * size_of(entry.shape) >= size_of(shape)
