"""Owns demands: which elements of which entries a loop nest needs, found by pulling index forms towards the inputs.

A form gives, for each axis of an entry, its index as an affine function of the loop indices.  Pulling starts at a
group's roots and stops at memory (a load) or at a value that the same group computes (which must be wanted at just
the point the loop is at).  Views compose into the forms, so slices, transposes and broadcasts cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import Form, c_strides, size_of, split
from lazyarray.ir.node import Shape
from lazyarray.records import NamedTuple

Forms: TypeAlias = tuple[Form, ...]
Flat: TypeAlias = tuple[int, tuple[int, ...]]  # offset and coefficients, in elements of C-ordered memory
Demand: TypeAlias = tuple[int, Forms]


RESHAPED: Final = "its axes are split or merged in a way that the loops of its reader cannot follow"
REPEATED: Final = "a loop around it would compute the same elements again and again"
ROLLED: Final = "it is rolled, so it is read at several places"
WRAPS: Final = "its wrap-around is not along one loop"
SCATTERED: Final = "it is read at places that depend on data"
COUNTED: Final = "elements under a mask are counted in order, which one nest does for one mask"


# The nests of a plan want much the same: what is worked out of forms and shapes alone is worked out once.
remembered: Final = lru_cache(1 << 14)


@remembered
def axes_of(shape: Shape) -> Forms:
    """For each axis the form "the loop index of this axis"."""
    width = range(len(shape))
    return tuple([(0, tuple([1 if a == axis and shape[a] != 1 else 0 for a in width])) for axis in width])


class Domain(NamedTuple):
    """The loops of a group: extents in logical order, and which axes are reduced."""

    shape: Shape
    reduced: tuple[int, ...]

    @property
    def kept(self) -> tuple[int, ...]:
        return tuple(a for a in range(len(self.shape)) if a not in self.reduced)

    def whole(self) -> Forms:
        """Forms of an entry whose axes are the domain's."""
        return axes_of(self.shape)

    def axis(self, axis: int) -> Form:
        """The form "the loop index of this axis"."""
        return axes_of(self.shape)[axis]

    def row(self, shape: Shape) -> Forms | None:
        """Forms of an entry of `shape` that has the kept axes, with or without 1s for the reduced ones."""
        none: Form = (0, (0,) * len(self.shape))
        if shape == tuple(self.shape[a] for a in self.kept):
            return tuple(self.axis(a) for a in self.kept)
        if shape == tuple(1 if a in self.reduced else n for a, n in enumerate(self.shape)):
            return tuple(none if a in self.reduced else self.axis(a) for a in range(len(shape)))
        return None


class Misaligned(Exception):
    """A root cannot join the group: it needs another point of a value that the group computes."""


class Materialise(Exception):
    """An entry must be in memory before this group can run, for `reason` (said to users)."""

    def __init__(self, entry: int, reason: str) -> None:
        super().__init__(entry, reason)
        self.entry = entry
        self.reason = reason


class Straddles(Exception):
    """A nest needs both sides of where a rolled array wraps around: its domain must be cut at `breaks`."""

    def __init__(self, entry: int, breaks: dict[int, set[int]]) -> None:
        super().__init__(entry)
        self.entry = entry  # one of the rolls
        self.breaks = breaks  # domain axis -> loop indices before which to cut


class Puller:
    """Collects the demands of one group over `entries`."""

    def __init__(
        self,
        entries: tuple[Entry, ...],
        domain: Domain,
        is_memory: Callable[[int], bool],
        inside: dict[int, Forms],
        order: tuple[int, ...],
    ) -> None:
        self.entries = entries
        self.domain = domain
        self.is_memory = is_memory
        self.inside = inside  # root of this group -> the forms under which its value may be used
        self.order = order  # the domain's axes, outermost loop first
        self.demands: dict[int, dict[Forms, None]] = {}
        self.loads: dict[tuple[int, Flat], None] = {}
        self.gathered: dict[int, None] = {}  # slots read at places that depend on data
        self.breaks: dict[int, set[int]] = {}
        self.counts = False  # the nest may count elements in C order: what it holds, no other root joins

    def want(self, position: int, forms: Forms) -> None:
        """Registers that the nest needs entry `position` at `forms`."""
        if position in self.inside:
            if self.inside[position] != forms:
                raise Misaligned
            return
        if self.is_memory(position):
            width = len(self.domain.shape)
            self.loads[position, flatten(forms, self.entries[position].shape, width)] = None
            return
        self.demands.setdefault(position, {})[forms] = None

    def want_flat(self, position: int, flat: Flat) -> None:
        """Registers a need given by memory position rather than by axes (through a view)."""
        if position not in self.inside and self.is_memory(position):
            self.loads[position, flat] = None
            return
        forms = split(flat[0], flat[1], self.domain.shape, self.entries[position].shape)
        if forms is None:
            if position in self.inside:
                raise Misaligned
            raise Materialise(position, RESHAPED)
        self.want(position, forms)

    def run(self) -> None:
        """Follows demands down to memory. Consumers come after producers, so one backward sweep sees each once."""
        for position in range(max(self.demands, default=-1), -1, -1):
            demanded = self.demands.get(position)
            for forms in tuple(demanded) if demanded else ():
                self.expand(position, forms)
        if self.breaks:
            rolls = [p for p in self.demands if self.entries[p].kind == "roll"]
            raise Straddles(rolls[-1] if rolls else -1, self.breaks)

    def expand(self, position: int, forms: Forms) -> None:
        """Turns a demand on an entry into demands on its arguments."""
        entry = self.entries[position]
        if entry.kind == "map":
            if repeats(forms, self.domain, self.order) > 1:
                raise Materialise(position, REPEATED)
            for arg in entry.args:
                self.want(arg, self.broadcast(forms, self.entries[arg].shape))
        elif entry.kind == "view":
            offset, strides = entry.attr
            self.want_flat(entry.args[0], through(offset, strides, forms, len(self.domain.shape)))
        elif entry.kind == "gather":
            self.expand_gather(entry, forms)
        elif entry.kind == "expand":
            self.expand_packed(position, entry, forms)
        elif entry.kind == "fill":
            self.want(entry.args[0], ())
        elif entry.kind == "roll":
            source = self.behind(entry.args[0])
            if self.entries[source].kind == "map" and not self.is_memory(source):
                # A rolled value is read at several places, as a rule, and across every wrap.
                raise Materialise(source, ROLLED)
            rolled = self.rolled(position, forms)
            if rolled is not None:
                self.want(entry.args[0], rolled)
        elif entry.kind not in ("iota", "scalar"):
            raise Materialise(position, f"{entry.kind} makes memory, not elements")

    def behind(self, position: int) -> int:
        """The entry that views and rolls lead to."""
        while self.entries[position].kind in ("view", "roll") and not self.is_memory(position):
            position = self.entries[position].args[0]
        return position

    def rolled(self, position: int, forms: Forms) -> Forms | None:
        """Forms of what is rolled, where all of the nest is on one side of each wrap; else the breaks are noted."""
        entry = self.entries[position]
        found: list[Form] = []
        for form, shift, extent in zip(forms, entry.attr, entry.shape, strict=True):
            low = form[0] + sum(min(c * (n - 1), 0) for c, n in zip(form[1], self.domain.shape, strict=True))
            high = form[0] + sum(max(c * (n - 1), 0) for c, n in zip(form[1], self.domain.shape, strict=True))
            if low >= shift:
                found.append((form[0] - shift, form[1]))
            elif high < shift:
                found.append((form[0] - shift + extent, form[1]))
            else:
                self.note_break(position, form, shift)
        return tuple(found) if len(found) == len(forms) else None

    def note_break(self, position: int, form: Form, shift: int) -> None:
        moving = [axis for axis, c in enumerate(form[1]) if c]
        if len(moving) != 1 or abs(form[1][moving[0]]) != 1:
            raise Materialise(position, WRAPS)
        (axis,) = moving
        at = shift - form[0] if form[1][axis] == 1 else form[0] - shift + 1
        self.breaks.setdefault(axis, set()).add(at)

    def expand_gather(self, entry: Entry, forms: Forms) -> None:
        slot = self.lies_in(entry.args[0])[0]
        if not self.is_memory(slot):
            raise Materialise(entry.args[0], SCATTERED)
        self.gathered[slot] = None
        self.want_indices(entry.args[1:], entry.attr[1], forms)

    def lies_in(self, position: int) -> tuple[int, int, tuple[int, ...]]:
        """The memory that an entry is, or views: its slot, and there the offset and the steps of the entry's axes.

        In elements. What is neither is given as it is: it is to be memory.
        """
        entry = self.entries[position]
        if entry.kind == "view" and not self.is_memory(position) and self.is_memory(entry.args[0]):
            offset, strides = entry.attr
            return entry.args[0], offset, strides
        return position, 0, c_strides(entry.shape)

    def want_indices(self, indices: tuple[int, ...], position: int, forms: Forms) -> None:
        """Registers the needs of index arrays whose common axes come at `position`."""
        shapes = [self.entries[a].shape for a in indices]
        rank = max(len(s) for s in shapes)
        index_forms = forms[position : position + rank]
        for arg, shape in zip(indices, shapes, strict=True):
            self.want(arg, self.broadcast(index_forms, shape))

    def expand_packed(self, position: int, entry: Entry, forms: Forms) -> None:
        """Packed values are read in order, so only where the nest is at just their mask's point."""
        mask, packed = entry.args
        if not self.counts or forms != self.domain.whole():
            raise Materialise(position, COUNTED)
        if not self.is_memory(packed):
            raise Materialise(packed, COUNTED)
        self.gathered[packed] = None
        self.want(mask, self.broadcast(forms, self.entries[mask].shape))

    def broadcast(self, forms: Forms, shape: Shape) -> Forms:
        """Forms of an argument of `shape` that is broadcast against an entry at `forms`."""
        return broadcast(forms, shape, len(self.domain.shape))


@remembered
def broadcast(forms: Forms, shape: Shape, width: int) -> Forms:
    """Forms of an argument of `shape` that is broadcast against an entry at `forms`."""
    none: Form = (0, (0,) * width)
    tail = forms[len(forms) - len(shape) :] if shape else ()
    return tuple(none if n == 1 else f for f, n in zip(tail, shape, strict=True))


@remembered
def repeats(forms: Forms, domain: Domain, order: tuple[int, ...]) -> int:
    """How often the nest would compute the same element: loops outside the innermost loop that the value needs
    but that it does not itself depend on."""
    used = {j for _, coefficients in forms for j, c in enumerate(coefficients) if c}
    loops = order
    if not used.intersection(domain.reduced):
        loops = tuple(a for a in loops if a not in domain.reduced)
    depth = max((k for k, axis in enumerate(loops) if axis in used), default=-1)
    return size_of(tuple(domain.shape[a] for a in loops[: depth + 1] if a not in used))


@remembered
def flatten(forms: Forms, shape: Shape, width: int) -> Flat:
    """Forms over the axes of a C-ordered array as one position in its memory."""
    strides = c_strides(shape)
    offset = sum(f[0] * s for f, s in zip(forms, strides, strict=True))
    coefficients = tuple(sum(f[1][j] * s for f, s in zip(forms, strides, strict=True)) for j in range(width))
    return offset, coefficients


@remembered
def through(offset: int, strides: tuple[int, ...], forms: Forms, width: int) -> Flat:
    """The memory position in a view's base of the view's element at `forms`."""
    flat = offset + sum(f[0] * s for f, s in zip(forms, strides, strict=True))
    return flat, tuple(sum(f[1][j] * s for f, s in zip(forms, strides, strict=True)) for j in range(width))
