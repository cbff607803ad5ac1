"""Owns the values of a nest: the demands of a group as a small graph, with the level and stage of each value."""

from __future__ import annotations

from typing import Any

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import split
from lazyarray.schedule.demand import Demand, Flat, Forms, Puller, flatten, through
from lazyarray.schedule.fusion import Group


class Value:
    """One value of a nest.

    `op` as in kernel instructions, plus "affine" (attr: a form) and "reduced"/"scanned" (attr: root).  `full`: it
    differs along the reduction axes.  `time`: the number of the first stage in which it can be computed.  `entry`: the
    position of the entry that it computes, where it can raise errors.
    """

    __slots__ = ("args", "attr", "code", "entry", "full", "op", "time")

    def __init__(self, op: str, args: tuple[Value, ...], code: str, attr: Any, full: bool, time: int) -> None:
        self.entry: int | None = None
        self.op = op
        self.args = args
        self.code = code
        self.attr = attr
        self.full = full
        self.time = time


class Values:
    """All values of one group, made once per demand."""

    def __init__(self, entries: tuple[Entry, ...], group: Group) -> None:
        assert group.puller is not None
        self.entries = entries
        self.group = group
        self.width = len(group.domain.shape)
        self.reduced = group.domain.reduced
        self.puller: Puller = group.puller
        self.made: dict[Demand, Value] = {}
        self.loads: dict[tuple[int, Flat], Value] = {}
        self.casts: dict[tuple[int, str], Value] = {}
        self.roots: dict[int, Value] = {}
        self.masks: dict[int, Value] = {}
        self.places: dict[int, Value] = {}  # per scatter: byte offsets
        self.walks: dict[int, Flat] = {}  # per scatter: what is walked besides, in elements
        self.apart: dict[int, set[int]] = {}  # per scatter: axes at different indices of which elements never meet
        for position in sorted({*self.puller.demands, *group.roots}):
            if position in group.inside:
                self.roots[position] = self.root(position)
            else:
                for forms in self.puller.demands[position]:
                    self.made[position, forms] = self.make(position, forms)

    # -- look-ups --------------------------------------------------------------------------------------------------
    def get(self, position: int, forms: Forms) -> Value:
        """The value of an argument at the given forms."""
        if position in self.roots:
            return self.roots[position]
        if self.puller.is_memory(position):
            return self.load(position, flatten(forms, self.entries[position].shape, self.width))
        return self.made[position, forms]

    def get_flat(self, position: int, flat: Flat, forms_of: Any) -> Value:
        if position not in self.roots and self.puller.is_memory(position):
            return self.load(position, flat)
        return self.get(position, forms_of())

    def load(self, slot: int, flat: Flat) -> Value:
        found = self.loads.get((slot, flat))
        if found is None:
            full = any(flat[1][a] for a in self.reduced)
            found = Value("load", (), self.entries[slot].code, (slot, flat), full, 0)
            self.loads[slot, flat] = found
        return found

    def cast(self, value: Value, code: str, entry: int | None = None) -> Value:
        """The value in another dtype."""
        if value.code == code:
            return value
        key = (id(value), code)
        found = self.casts.get(key)
        if found is None:
            found = self.casts[key] = self.apply("cast", (value,), code)
        if entry is not None:
            found.entry = entry
        return found

    def apply(self, op: str, args: tuple[Value, ...], code: str, attr: Any = None) -> Value:
        return Value(op, args, code, attr, any(a.full for a in args), max((a.time for a in args), default=0))

    # -- making ----------------------------------------------------------------------------------------------------
    def root(self, position: int) -> Value:
        entry = self.entries[position]
        whole = self.group.domain.whole()
        if entry.kind == "reduce":
            return self.reduction(position, entry, whole)
        if entry.kind == "scan":
            value = self.cast(self.get(entry.args[0], whole), entry.code)
            return Value("scanned", (value,), entry.code, position, True, value.time)
        if entry.kind == "update":
            args = [self.get(a, self.puller.broadcast(whole, self.entries[a].shape)) for a in entry.args[1:]]
            if entry.attr[3]:
                self.masks[position] = self.cast(args[1], "b1")
            return self.cast(args[0], entry.code)
        if entry.kind == "compress":
            mask, value = (self.get(a, self.puller.broadcast(whole, self.entries[a].shape)) for a in entry.args)
            self.masks[position] = self.cast(mask, "b1")
            return self.cast(value, entry.code)
        if entry.kind == "scatter":
            self.places[position], self.walks[position] = self.offsets(entry, entry.args[2:], whole)
            self.apart[position] = self.apart_axes(entry, whole)
            return self.cast(self.get(entry.args[1], whole), entry.code)
        return self.make(position, self.group.inside[position])

    def reduction(self, position: int, entry: Entry, whole: Forms) -> Value:
        name, _axes, has_where, _has_initial = entry.attr
        value = self.get(entry.args[0], whole)
        if name in ("any", "all"):
            value = self.cast(value, "b1")
        elif name not in ("argmin", "argmax"):
            value = self.cast(value, entry.code)
        args = [value]
        rest = list(entry.args[1:])
        if has_where:
            mask = rest.pop(0)
            args.append(self.cast(self.get(mask, self.puller.broadcast(whole, self.entries[mask].shape)), "b1"))
        args += [self.cast(self.get(a, ()), entry.code) for a in rest]
        return Value("reduced", tuple(args), entry.code, position, False, max(a.time for a in args) + 1)

    def make(self, position: int, forms: Forms) -> Value:
        entry = self.entries[position]
        if entry.kind == "map":
            return self.map(position, entry, forms)
        if entry.kind == "view":
            offset, strides = entry.attr
            flat = through(offset, strides, forms, self.width)
            source = entry.args[0]
            return self.get_flat(source, flat, lambda: self.split(flat, source))
        if entry.kind == "roll":
            rolled = self.puller.rolled(position, forms)
            assert rolled is not None
            return self.get(entry.args[0], rolled)
        if entry.kind == "iota":
            return self.cast(self.affine(forms[entry.attr]), entry.code)
        if entry.kind == "fill":
            return self.cast(self.get(entry.args[0], ()), entry.code)
        if entry.kind == "scalar":
            if entry.attr is not None:
                return Value("literal", (), entry.code, entry.attr, False, 0)
            return Value("scalar", (), entry.code, position, False, 0)
        if entry.kind == "expand":
            mask = self.get(entry.args[0], self.puller.broadcast(forms, self.entries[entry.args[0]].shape))
            packed, nowhere = entry.args[1], (0, (0,) * self.width)
            return self.cast(
                self.apply("expand", (self.cast(mask, "b1"),), self.entries[packed].code, (packed, nowhere)), entry.code
            )
        assert entry.kind == "gather", entry.kind
        offset, walk = self.offsets(entry, entry.args[1:], forms)
        slot = self.puller.lies_in(entry.args[0])[0]
        moves = any(walk[1][a] for a in self.reduced)
        return Value("gather", (offset,), entry.code, (slot, walk), offset.full or moves, offset.time)

    def split(self, flat: Flat, source: int) -> Forms:
        forms = split(flat[0], flat[1], self.group.domain.shape, self.entries[source].shape)
        assert forms is not None
        return forms

    def map(self, position: int, entry: Entry, forms: Forms) -> Value:
        name, codes = entry.attr
        args = [self.get(a, self.puller.broadcast(forms, self.entries[a].shape)) for a in entry.args]
        if name in ("cast", "copy"):
            return self.cast(args[0], entry.code, position)
        converted = tuple(self.cast(a, c) for a, c in zip(args, codes, strict=True))
        made = self.apply(name, converted, entry.code)
        made.entry = position
        return made

    def affine(self, form: tuple[int, tuple[int, ...]]) -> Value:
        full = any(form[1][a] for a in self.reduced)
        return Value("affine", (), "i8", form, full, 0)

    def apart_axes(self, entry: Entry, forms: Forms) -> set[int]:
        """Axes of the nest that an index counts along: all its values differ, and all indices are in bounds."""
        position = entry.attr[1]
        rank = max(len(self.entries[a].shape) for a in entry.args[2:])
        found: set[int] = set()
        for arg in entry.args[2:]:
            forms_of_index = self.puller.broadcast(forms[position : position + rank], self.entries[arg].shape)
            index = self.get(arg, forms_of_index)
            moved = [a for a, step in enumerate(index.attr[1]) if step] if index.op == "affine" else []
            if len(moved) == 1:
                found.add(moved[0])
        return found

    def offsets(self, entry: Entry, indices: tuple[int, ...], forms: Forms) -> tuple[Value, Flat]:
        """Byte offsets, index values times strides; and the walk over the axes that are not indexed, in elements."""
        axes, position = entry.attr[:2]
        shape = self.entries[entry.args[0]].shape
        itemsize = int(self.entries[entry.args[0]].code[1:])
        _, start, strides = self.puller.lies_in(entry.args[0])
        rank = max(len(self.entries[a].shape) for a in indices)
        index_forms = forms[position : position + rank]
        rest_forms = forms[:position] + forms[position + rank :]
        rest = [a for a in range(len(shape)) if a not in axes]
        constant = start + sum(f[0] * strides[a] for f, a in zip(rest_forms, rest, strict=True))
        walk = tuple(
            sum(f[1][j] * strides[a] for f, a in zip(rest_forms, rest, strict=True)) for j in range(self.width)
        )
        total: Value | None = None
        if self.group.reduces and (any(walk) or constant):
            total = self.affine((constant * itemsize, tuple(step * itemsize for step in walk)))
            constant, walk = 0, (0,) * self.width
        for arg, axis in zip(indices, axes, strict=True):
            index = self.cast(self.get(arg, self.puller.broadcast(index_forms, self.entries[arg].shape)), "i8")
            # Along the last axis the step follows from the dtype: a shift, where a product takes seven instructions.
            kind = "const" if strides[axis] == 1 else "literal"
            step = Value(kind, (), "i8", strides[axis] * itemsize, False, 0)
            moved = self.apply("multiply", (index, step), "i8")
            total = moved if total is None else self.apply("add", (total, moved), "i8")
        assert total is not None
        return total, (constant, walk)
