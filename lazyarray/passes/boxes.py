"""Owns the joining of writes: regions written into a value that is computed anyway become pieces, each computed once.

`y = f(x); y[1:] -= x[:-1]; y[:-1] -= x[1:]` passes over `y` three times. The edges of the regions cut the array into
boxes; in each box it is known which of the writes apply, so its elements are one expression of the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Final

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import c_strides, size_of
from lazyarray.ir.node import Shape
from lazyarray.ir.raises import raises
from lazyarray.passes.rewrite import Rebuild, Rewritten

Box = tuple[tuple[int, int], ...]  # per axis of the array: first index, and the one after the last

SMALLEST: Final = 1 << 15  # elements from which a pass over the array costs more than the launches of its edges
MOST_BOXES: Final = 12
_COMPUTED: Final = frozenset({"map", "fill", "iota"})


@dataclass
class Write:
    """One update of a chain: where it writes, which axis of the array each axis of the region is, and what depends
    there on the value before it (the views that read it in place, and the maps between them and the new values)."""

    new: int
    box: Box
    axes: tuple[int, ...]
    reads: frozenset[int]
    between: frozenset[int]


@dataclass
class Chain:
    """Updates one after the other of the value `base`, which nothing else reads in between."""

    base: int
    last: int
    writes: list[Write] = field(default_factory=list)


def join_writes(before: Rewritten) -> Rewritten:
    """update(update(f(a), g, here), h, there) -> pieces of new memory, each written once.

    Exact: each element is computed by the same operations. Only where the value before a write is read at the very
    place that is written, and where nothing that could warn is left out.
    """
    if all(entry.kind != "update" for entry in before.expression.entries):
        return before
    chains = {chain.last: chain for chain in find_chains(before.expression)}
    if not chains:
        return before
    build = Rebuild()
    moved: list[int] = []
    for position, (entry, origin) in enumerate(zip(before.expression.entries, before.origins, strict=True)):
        chain = chains.get(position)
        if chain is None:
            moved.append(build.add(*entry[:4], tuple([moved[a] for a in entry.args]), origin=origin))
        else:
            moved.append(Pieces(build, before, moved, chain).write(entry, origin))
    outputs = tuple(moved[o] for o in before.expression.outputs)
    return Rewritten(Expression(tuple(build.entries), outputs), tuple(build.origins))


def find_chains(expression: Expression) -> list[Chain]:
    """The chains of updates that are worth joining."""
    entries, outputs = expression
    users: list[list[int]] = [[] for _ in entries]
    for position, entry in enumerate(entries):
        for arg in entry.args:
            users[arg].append(position)
    open_chains: dict[int, Chain] = {}
    for position, entry in enumerate(entries):
        if entry.kind != "update" or entry.attr[3] or size_of(entry.shape) < SMALLEST:
            continue
        old, new = entry.args
        chain = open_chains.get(old)
        if chain is None and (entries[old].kind not in _COMPUTED or entries[old].shape != entry.shape):
            continue
        if old in outputs or entries[new].kind == "expand":
            continue
        place = region_of(entry)
        found = None if place is None else depends(entries, users, frozenset(outputs), position)
        if place is None or found is None:
            continue
        if chain is None:
            chain = Chain(old, old)
        write = Write(new, *place, *found)
        replaced = [] if write.reads else [chain.base, *[w.new for w in chain.writes if overlap(w.box, write.box)]]
        if not all(is_quiet(entries, source) for source in replaced):
            continue
        if len(boxes_of(entry.shape, [*chain.writes, write])) > MOST_BOXES:
            continue
        open_chains.pop(chain.last, None)
        chain.writes.append(write)
        chain.last = position
        open_chains[position] = chain
    return [chain for chain in open_chains.values() if is_worth(entries, chain)]


def is_worth(entries: tuple[Entry, ...], chain: Chain) -> bool:
    """True where the writes cover as much as a good part of a pass over the array."""
    written = sum(size_of(tuple(stop - start for start, stop in write.box)) for write in chain.writes)
    return 2 * written >= size_of(entries[chain.base].shape)


def region_of(entry: Entry) -> tuple[Box, tuple[int, ...]] | None:
    """The region that an update writes as a box of the array, and the array's axis of each of its axes."""
    offset, shape, strides, _ = entry.attr
    steps = c_strides(entry.shape)
    if 0 in shape or any(a <= b for a, b in pairwise(steps)):
        return None
    starts = []
    for step in steps:
        start, offset = divmod(offset, step)
        starts.append(start)
    stops = [start + 1 for start in starts]
    axes = []
    for extent, stride in zip(shape, strides, strict=True):
        if stride not in steps:
            return None
        axis = steps.index(stride)
        axes.append(axis)
        stops[axis] = starts[axis] + extent
    if any(a >= b for a, b in pairwise(axes)) or any(s > n for s, n in zip(stops, entry.shape, strict=True)):
        return None
    return tuple(zip(starts, stops, strict=True)), tuple(axes)


def depends(
    entries: tuple[Entry, ...], users: list[list[int]], outputs: frozenset[int], position: int
) -> tuple[frozenset[int], frozenset[int]] | None:
    """How an update's new values read the value before it: views of the region, and maps of them; None for others."""
    entry = entries[position]
    old, new = entry.args
    region = (entry.attr[0], entry.attr[2])
    reads = {user for user in users[old] if user != position}
    for user in reads:
        view = entries[user]
        if view.kind != "view" or view.attr != region or view.shape != entry.attr[1] or user in outputs:
            return None
    between: set[int] = set()
    todo = list(reads - {new})
    while todo:
        for user in users[todo.pop()]:
            if user == position or user in between:
                continue
            if entries[user].kind != "map" or user in outputs or entries[user].shape != entry.attr[1]:
                return None
            between.add(user)
            if user != new:
                todo.append(user)
    for found in (reads | between) - {new}:
        if position in users[found] or not users[found]:
            return None
    if new in reads | between and users[new] != [position]:
        return None
    return frozenset(reads), frozenset(between)


def is_quiet(entries: tuple[Entry, ...], position: int) -> bool:
    """True where computing an entry, from what is no map, raises no floating-point error."""
    entry = entries[position]
    if entry.kind != "map":
        return True
    name, codes = entry.attr
    return not raises(name, codes, entry.code) and all(is_quiet(entries, arg) for arg in entry.args)


def boxes_of(shape: Shape, writes: list[Write]) -> list[Box]:
    """The boxes into which the regions' edges cut the array, those joined in which the same writes apply."""
    ranges = []
    for axis, extent in enumerate(shape):
        edges = sorted({0, extent, *[edge for write in writes for edge in write.box[axis]]})
        ranges.append(list(pairwise(edges)))
    if size_of(tuple(map(len, ranges))) > 1000:
        return [()] * (MOST_BOXES + 1)
    boxes = list(product(*ranges))
    for axis in range(len(shape) - 1, -1, -1):
        boxes = joined(boxes, axis, writes)
    return boxes


def joined(boxes: list[Box], axis: int, writes: list[Write]) -> list[Box]:
    """Boxes that follow one another along the axis, joined where the same writes apply."""
    found: dict[tuple[Box, Box], list[tuple[tuple[int, int], list[bool]]]] = {}
    for box in boxes:
        applied = [is_inside(box, write.box) for write in writes]
        line = found.setdefault((box[:axis], box[axis + 1 :]), [])
        if line and line[-1][0][1] == box[axis][0] and line[-1][1] == applied:
            line[-1] = (line[-1][0][0], box[axis][1]), applied
        else:
            line.append((box[axis], applied))
    return [(*first, span, *rest) for (first, rest), line in found.items() for span, _ in line]


def overlap(a: Box, b: Box) -> bool:
    """True when two boxes have elements in common."""
    return all(first < end and start < last for (first, last), (start, end) in zip(a, b, strict=True))


def is_inside(box: Box, outer: Box) -> bool:
    """True when all of the box is in the outer one."""
    return all(a >= c and b <= d for (a, b), (c, d) in zip(box, outer, strict=True))


class Pieces:
    """Writes the boxes of one chain into a new expression. `moved`: the old entries' places in it."""

    def __init__(self, build: Rebuild, before: Rewritten, moved: list[int], chain: Chain) -> None:
        self.build = build
        self.entries = before.expression.entries
        self.origins = before.origins
        self.moved = moved
        self.chain = chain

    def write(self, last: Entry, origin: int | None) -> int:
        """The position of the last piece's update, which stands for the chain's last."""
        steps = c_strides(last.shape)
        current = self.build.add("empty", None, last.shape, last.code, ())
        boxes = boxes_of(last.shape, self.chain.writes)
        for number, box in enumerate(boxes):
            start = sum(first * step for (first, _), step in zip(box, steps, strict=True))
            extents = tuple(stop - first for first, stop in box)
            values = self.values(len(self.chain.writes), box)
            attr = (start, extents, steps, False)
            mine = origin if number == len(boxes) - 1 else None
            current = self.build.add("update", attr, last.shape, last.code, (current, values), mine)
        return current

    def values(self, count: int, box: Box) -> int:
        """What is in the box after the first `count` writes."""
        while count and not is_inside(box, self.chain.writes[count - 1].box):
            count -= 1
        if not count:
            whole = tuple((0, extent) for extent in self.entries[self.chain.base].shape)
            write = Write(self.chain.base, whole, tuple(range(len(whole))), frozenset(), frozenset())
        else:
            write = self.chain.writes[count - 1]
        return self.part(write.new, write, count, box)

    def part(self, position: int, write: Write, count: int, box: Box) -> int:
        """The values of an entry, which has the axes of the write's region, that belong into the box."""
        if position in write.reads:
            return self.values(count - 1, box)
        entry = self.entries[position]
        if position in write.between:
            args = tuple([self.part(arg, write, count, box) for arg in entry.args])
            shape = tuple(stop - first for first, stop in box)
            return self.build.add("map", entry.attr, shape, entry.code, args, self.origins[position])
        if entry.kind == "scalar":
            return self.moved[position]
        extents, strides, offset = [1] * len(box), [0] * len(box), 0
        lead = len(write.axes) - len(entry.shape)
        for axis, extent, step in zip(write.axes[lead:], entry.shape, c_strides(entry.shape), strict=True):
            if extent != 1:
                first, stop = box[axis]
                offset += (first - write.box[axis][0]) * step
                extents[axis], strides[axis] = stop - first, step
        return self.build.add("view", (offset, tuple(strides)), tuple(extents), entry.code, (self.moved[position],))
