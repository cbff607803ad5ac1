"""Owns the making of kernel records: one fusion group to a kernel and what binds it to slots."""

from __future__ import annotations

from dataclasses import dataclass, field

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import size_of
from lazyarray.ir.ops import EXPENSIVE, OPS
from lazyarray.ir.raises import raises, reduction_raises
from lazyarray.records import NamedTuple
from lazyarray.schedule.demand import Flat, flatten
from lazyarray.schedule.fusion import Group
from lazyarray.schedule.kernel import (
    Access,
    Instruction,
    Kernel,
    Reduction,
    Role,
    Scan,
    Stage,
    Step,
    Store,
)
from lazyarray.schedule.plan import KernelStep, Scalar, Walk
from lazyarray.schedule.values import Value, Values

SMALL_STEPS: dict[int, Step] = {0: "0", 1: "1", -1: "-1", 2: "2", 3: "3", 4: "4"}


class Axes(NamedTuple):
    """The kernel's axes: for each, the domain axis whose coefficient it takes, its extent and role."""

    source: tuple[int | None, ...]
    extents: tuple[int, ...]
    roles: tuple[Role, ...]

    def walk(self, coefficients: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(0 if a is None else coefficients[a] for a in self.source)


def choose_axes(group: Group, walks: list[tuple[int, ...]]) -> Axes:
    """Merges neighbouring axes that all walks step over evenly, and orders them as the kernel record asks."""
    shape, reduced = group.domain
    merged: list[tuple[int, int]] = []  # (domain axis that carries the step, extent), outermost first
    for axis in group.sequence:
        extent = shape[axis]
        if extent == 1:
            continue
        if merged:
            outer, count = merged[-1]
            same_role = (outer in reduced) == (axis in reduced)
            if same_role and all(w[outer] == w[axis] * extent for w in walks):
                merged[-1] = (axis, count * extent)
                continue
        merged.append((axis, extent))
    kept = [m for m in merged if m[0] not in reduced]
    inner = [m for m in merged if m[0] in reduced]
    tail = [kept.pop()] if inner and merged[-1][0] not in reduced else []
    ordered: list[tuple[int | None, int]] = [*kept, *inner, *tail]
    roles: list[Role] = ["p"] * len(kept)
    roles += ["r"] * len(inner)
    roles += ["p"] * len(tail)
    if group.reduces and not inner:
        ordered.append((None, 1))
        roles.append("r")
    if not ordered:
        ordered, roles = [(None, 1)], ["p"]
    return Axes(tuple(a for a, _ in ordered), tuple(n for _, n in ordered), tuple(roles))


def kernel_steps(strides: tuple[int, ...], extents: tuple[int, ...]) -> tuple[Step, ...]:
    """The steps of an access whose strides, in elements, along axes of these extents are given."""
    steps: list[Step] = ["0" if s == 0 or n == 1 else "s" for s, n in zip(strides, extents, strict=True)]
    if extents[-1] != 1:
        steps[-1] = SMALL_STEPS.get(strides[-1], "s")
    return tuple(steps)


@dataclass
class Builder:
    """Collects the parts of one kernel."""

    entries: tuple[Entry, ...]
    group: Group
    values: Values
    axes: Axes
    accesses: list[Access] = field(default_factory=list)
    walks: list[Walk] = field(default_factory=list)
    scalars: list[Scalar] = field(default_factory=list)
    scalar_codes: list[str] = field(default_factory=list)
    rows: dict[int, int] = field(default_factory=dict)  # id(value) -> number, visible from here on
    stage_numbers: list[dict[int, int]] = field(default_factory=list)
    kept: list[list[int]] = field(default_factory=list)
    raising: list[tuple[int, int]] = field(default_factory=list)  # value number, entry
    count: int = 0

    def number(self) -> int:
        self.count += 1
        return self.count - 1

    def access(self, slot: int, flat: Flat, code: str) -> int:
        """The number of an access; equal walks share one."""
        itemsize = int(code[1:])
        strides = self.axes.walk(flat[1])
        walk = Walk(slot, flat[0] * itemsize, tuple(s * itemsize for s in strides))
        if walk in self.walks:
            return self.walks.index(walk)
        self.accesses.append(Access(code, kernel_steps(strides, self.axes.extents)))
        self.walks.append(walk)
        return len(self.walks) - 1

    def scalar(self, scalar: Scalar, code: str) -> int:
        for k, (other, other_code) in enumerate(zip(self.scalars, self.scalar_codes, strict=True)):
            if other == scalar and other_code == code and scalar.slot is not None:
                return k
        self.scalars.append(scalar)
        self.scalar_codes.append(code)
        return len(self.scalars) - 1

    # -- instructions ----------------------------------------------------------------------------------------------
    def emit(self, wanted: Value, stage: int, body: list[Instruction]) -> int:
        """Appends what is needed to have the value in this stage and returns its number (iterative post-order)."""
        local = self.stage_numbers[stage]
        stack = [wanted]
        while stack:
            value = stack[-1]
            if self.find(value, local) is not None:
                stack.pop()
                continue
            recalled = self.recall(value, stage, body, local)
            if recalled:
                stack.pop()
                continue
            missing = [a for a in value.args if self.find(a, local) is None] if value.op != "reduced" else []
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            args = tuple(self.found(a, local) for a in value.args)
            target = self.instruction(value, args, body)
            (local if value.full or not self.group.reduces else self.rows)[id(value)] = target
        return self.found(wanted, local)

    def find(self, value: Value, local: dict[int, int]) -> int | None:
        found = self.rows.get(id(value))
        return local.get(id(value)) if found is None else found

    def found(self, value: Value, local: dict[int, int]) -> int:
        number = self.find(value, local)
        assert number is not None, value.op
        return number

    def recall(self, value: Value, stage: int, body: list[Instruction], local: dict[int, int]) -> bool:
        """Reads an expensive value of an earlier stage back from scratch instead of computing it again."""
        if not value.full or value.op not in OPS or OPS[value.op].cost < EXPENSIVE:
            return False
        for earlier in range(stage):
            number = self.stage_numbers[earlier].get(id(value))
            if number is not None:
                if number not in self.kept[earlier]:
                    self.kept[earlier].append(number)
                target = self.number()
                body.append(Instruction(target, "recall", (), value.code, number))
                local[id(value)] = target
                return True
        return False

    def instruction(self, value: Value, args: tuple[int, ...], body: list[Instruction]) -> int:
        if value.op == "affine":
            return self.affine(value.attr, body)
        attr: int | None = None
        op = value.op
        if op == "load":
            slot, flat = value.attr
            attr = self.access(slot, flat, value.code)
        elif op == "scalar":
            attr = self.scalar(Scalar(value.attr), value.code)
        elif op == "literal":
            op, attr = "scalar", self.scalar(Scalar(None, value.attr), value.code)
        elif op == "const":
            attr = value.attr
        elif op in ("gather", "expand"):
            slot, flat = value.attr
            attr = self.access(slot, flat, value.code)
        target = self.number()
        body.append(Instruction(target, op, args, value.code, attr))
        if value.entry is not None and raises(op, [a.code for a in value.args], value.code):
            self.raising.append((target, value.entry))
        return target

    def affine(self, form: tuple[int, tuple[int, ...]], body: list[Instruction]) -> int:
        """constant + sum(coefficient * loop index), in int64; coefficients other than 1 are runtime scalars."""
        total: int | None = None
        for axis, coefficient in enumerate(self.axes.walk(form[1])):
            if not coefficient:
                continue
            term = self.number()
            body.append(Instruction(term, "index", (), "i8", axis))
            if coefficient != 1:
                term = self.combine("multiply", term, self.literal(coefficient, body), body)
            total = term if total is None else self.combine("add", total, term, body)
        if total is None:
            return self.literal(form[0], body)
        return self.combine("add", total, self.literal(form[0], body), body) if form[0] else total

    def literal(self, value: int, body: list[Instruction]) -> int:
        target = self.number()
        body.append(Instruction(target, "scalar", (), "i8", self.scalar(Scalar(None, value), "i8")))
        return target

    def combine(self, op: str, a: int, b: int, body: list[Instruction]) -> int:
        target = self.number()
        body.append(Instruction(target, op, (a, b), "i8"))
        return target

    # -- stages ----------------------------------------------------------------------------------------------------
    def stages(self, stored: list[int]) -> tuple[Stage, ...]:
        """Row stage t, then full stage t, for each time t at which something becomes available."""
        reductions = [r for r in self.group.roots if self.entries[r].kind == "reduce"]
        last = max(v.time for r, v in self.values.roots.items() if r in reductions or r in stored)
        result: list[Stage] = []
        for time in range(last + 1):
            self.stage_numbers.append({})
            self.kept.append([])
            if self.group.reduces:
                result.append(self.row_stage(time, stored))
            result.append(self.full_stage(time, stored, reductions))
        for k, stage in enumerate(result):
            if stage.level == "full":
                time = k // 2 if self.group.reduces else k
                result[k] = Stage(
                    stage.level,
                    stage.body,
                    stage.reductions,
                    stage.scan,
                    stage.after,
                    stage.stores,
                    tuple(self.kept[time]),
                )
        return tuple(s for s in result if s.body or s.reductions or s.stores or s.scan)

    def row_stage(self, time: int, stored: list[int]) -> Stage:
        body: list[Instruction] = []
        stores: list[Store] = []
        for root in stored:
            value = self.values.roots[root]
            if value.time == time and not self.fills_rows(root):
                number = self.emit(value, time, body)
                stores.append(self.store(root, number))
        for value in self.row_values(time):
            self.emit(value, time, body)
        return Stage("row", tuple(body), stores=tuple(stores))

    def fills_rows(self, root: int) -> bool:
        """True for a stored root that has an element for each point of the reduction axes.

        Along axes of one element nothing moves; what follows from a running sum has its elements there still.
        """
        coefficients = store_flat(self.entries, self.group, root, self.values)[1]
        return self.values.roots[root].full or any(coefficients[a] for a in self.group.domain.reduced)

    def row_values(self, time: int) -> list[Value]:
        """Row-level values that full-level ones of this and later stages read, available from this time on."""
        seen: set[int] = set()
        stack = list(self.values.roots.values())
        found = [v for v in stack if not v.full and v.op != "reduced" and v.time == time]
        while stack:
            value = stack.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            for arg in value.args:
                reads_row = (value.full or value.op in ("reduced", "scanned")) and not arg.full
                if reads_row and arg.time == time and arg.op != "reduced":
                    found.append(arg)
                stack.append(arg)
        return found

    def full_stage(self, time: int, stored: list[int], reductions: list[int]) -> Stage:
        body: list[Instruction] = []
        found: list[Reduction] = []
        scan: Scan | None = None
        stores: list[Store] = []
        for root in reductions:
            value = self.values.roots[root]
            if value.time - 1 == time:
                found.append(self.reduction(root, value, time, body))
        for root in self.group.roots:
            value = self.values.roots[root]
            if value.time == time and value.op == "scanned" and value.attr == root:  # others are copies of it
                operand = self.emit(value.args[0], time, body)
                scan = Scan(self.number(), self.entries[root].attr[0], operand, value.code)
                self.note_reduction(scan.op, scan.code, scan.target, root)
                self.stage_numbers[time][id(value)] = scan.target
        for root in stored:
            value = self.values.roots[root]
            if value.time != time or (self.group.reduces and not self.fills_rows(root)):
                continue
            if value.op == "scanned":
                stores.append(self.store(root, self.stage_numbers[time][id(value)]))
            else:
                number = self.emit(value, time, body)
                mask, place = self.values.masks.get(root), self.values.places.get(root)
                stores.append(
                    self.store(
                        root,
                        number,
                        None if mask is None else self.emit(mask, time, body),
                        None if place is None else self.emit(place, time, body),
                    )
                )
        before, after = (body, []) if scan is None else split_after(scan.target, body)
        return Stage("full", tuple(before), tuple(found), scan, tuple(after), tuple(stores))

    def reduction(self, root: int, value: Value, time: int, body: list[Instruction]) -> Reduction:
        name, _axes, has_where, has_initial = self.entries[root].attr
        numbers = [self.emit(a, time, body) for a in value.args]
        target = self.number()
        self.rows[id(value)] = target
        self.note_reduction(name, value.code, target, root)
        rest = numbers[1:]
        where = rest.pop(0) if has_where else None
        start = rest.pop(0) if has_initial else None
        return Reduction(target, name, numbers[0], value.code, where, start)

    def note_reduction(self, op: str, code: str, target: int, root: int) -> None:
        if reduction_raises(op, code):
            self.raising.append((target, root))

    def store(self, root: int, number: int, mask: int | None = None, place: int | None = None) -> Store:
        entry = self.entries[root]
        return Store(
            self.access(root, store_flat(self.entries, self.group, root, self.values), self.entries[root].code),
            number,
            mask,
            place,
            entry.kind == "compress",
            entry.attr[2] if entry.kind == "scatter" else "set",
            self.axes.source[0] in self.values.apart.get(root, ()),
        )


def split_after(target: int, body: list[Instruction]) -> tuple[list[Instruction], list[Instruction]]:
    """The instructions that do not follow from value `target`, and those that do."""
    before: list[Instruction] = []
    after: list[Instruction] = []
    following = {target}
    for instruction in body:
        if following.isdisjoint(instruction.args):
            before.append(instruction)
        else:
            after.append(instruction)
            following.add(instruction.target)
    return before, after


def store_flat(entries: tuple[Entry, ...], group: Group, root: int, values: Values) -> Flat:
    """Where a root's elements go, in elements of its memory."""
    entry = entries[root]
    width = len(group.domain.shape)
    if entry.kind == "update":
        offset, shape, strides, _ = entry.attr
        return offset, tuple(0 if n == 1 else s for n, s in zip(shape, strides, strict=True))
    if entry.kind in ("scatter", "compress"):
        return values.walks.get(root, (0, (0,) * width))
    return flatten(group.inside[root], entry.shape, width)


def nest(entries: tuple[Entry, ...], group: Group, stored: list[int]) -> KernelStep:
    """The kernel of a group in which the roots `stored` are written to memory."""
    values = Values(entries, group)
    walks = [flat[1] for _, flat in values.loads]
    walks += [store_flat(entries, group, root, values)[1] for root in stored]
    walks += [v.attr[1] for v in all_values(values) if v.op == "affine"]
    walks += [v.attr[1][1] for v in all_values(values) if v.op == "gather"]
    axes = choose_axes(group, walks)
    what, ops, computes = describe(entries, group, values)
    builder = Builder(entries, group, values, axes)
    stages = builder.stages(stored)
    kernel = Kernel(axes.roles, tuple(builder.accesses), tuple(builder.scalar_codes), stages)
    return KernelStep(
        kernel,
        axes.extents,
        tuple(builder.walks),
        tuple(w.strides for w in builder.walks),
        tuple(builder.scalars),
        tuple(stored),
        what,
        group.domain.shape,
        ops,
        sum(
            touched(entries, group, slot, [f for s, f in values.loads if s == slot])
            for slot in {s for s, _ in values.loads}
        ),
        sum(written(entries, group, root, values) for root in stored),
        tuple(builder.raising),
        any(rewrites(entries, group, root) for root in stored),
        computes,
        sum(moved_alone(entries, position) for position in computes),
    )


def rewrites(entries: tuple[Entry, ...], group: Group, root: int) -> bool:
    """True when storing the root may change memory that the nest reads."""
    if entries[root].kind not in ("update", "scatter"):
        return False
    if entries[root].kind == "scatter" and entries[root].attr[2] == "add":
        return True
    assert group.puller is not None
    read = {*(slot for slot, _ in group.puller.loads), *group.puller.gathered}
    return entries[root].args[0] in read


def all_values(values: Values) -> list[Value]:
    """Every value of the nest, once."""
    seen: dict[int, Value] = {}
    stack = [*values.roots.values(), *values.masks.values(), *values.places.values()]
    while stack:
        value = stack.pop()
        if id(value) not in seen:
            seen[id(value)] = value
            stack.extend(value.args)
    return list(seen.values())


def touched(entries: tuple[Entry, ...], group: Group, slot: int, flats: list[Flat]) -> int:
    """Bytes of the slot that the walks reach, each byte counted once (an upper bound where walks overlap in part)."""
    entry = entries[slot]
    itemsize = int(entry.code[1:])
    reached = sum(size_of(tuple(n for n, c in zip(group.domain.shape, flat[1], strict=True) if c)) for flat in flats)
    return min(reached, size_of(entry.shape)) * itemsize


def written(entries: tuple[Entry, ...], group: Group, root: int, values: Values) -> int:
    """Bytes that the root's stores write."""
    entry = entries[root]
    if entry.kind in ("scatter", "compress"):
        elements = size_of(group.domain.shape) if entry.kind == "scatter" else size_of(entry.shape)
        return elements * int(entry.code[1:])
    return touched(entries, group, root, [store_flat(entries, group, root, values)])


def moved_alone(entries: tuple[Entry, ...], position: int) -> int:
    """Bytes that the operation reads and writes where every operation has its own pass over memory."""
    entry = entries[position]
    read = [entries[a] for a in entry.args if entries[a].kind not in ("scalar", "fill", "empty")]
    if entry.kind in ("update", "scatter"):
        written = size_of(entry.attr[1] if entry.kind == "update" else entries[entry.args[1]].shape)
        return written * int(entry.code[1:]) + sum(size_of(e.shape) * int(e.code[1:]) for e in read[1:])
    return sum(size_of(e.shape) * int(e.code[1:]) for e in (*read, entry))


def describe(entries: tuple[Entry, ...], group: Group, values: Values) -> tuple[str, tuple[str, ...], tuple[int, ...]]:
    """What a kernel does, in one word, the operations fused in it, and the entries that they are."""
    ops: list[str] = []
    computes: list[int] = []
    for position in sorted({*group.roots, *values.puller.demands}):
        entry = entries[position]
        if entry.kind in ("map", "reduce", "scan"):
            ops.append(str(entry.attr[0]))
        elif entry.kind in ("update", "gather", "iota", "fill", "scatter", "compress", "expand"):
            ops.append(entry.kind)
        else:
            continue
        computes.append(position)
    kinds = {
        "reduce": "reduction", "scan": "scan", "update": "update", "scatter": "scatter", "compress": "compress",
    }  # fmt: skip
    what = next((kinds[entries[r].kind] for r in group.roots if entries[r].kind in kinds), "elementwise")
    return what, tuple(ops), tuple(computes)
