"""Owns the values of a kernel in one function: instructions to lines, loads and stores at the current tile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lazyarray.ir.installed import POWER_HAS_SHORTCUTS
from lazyarray.schedule.kernel import Instruction, Kernel, Store
from lazyarray_triton.codes import PARTS, VALUE, class_of, in_units, itemsize, literal, part, unit, words
from lazyarray_triton.errors import added, suspects, suspicion, watch
from lazyarray_triton.moments import about
from lazyarray_triton.table import find_rule
from lazyarray_triton.tiles import Tiles, mask_of, offset
from lazyarray_triton.writer import NONE, Axes, Value, Writer

_UNIFORM = frozenset(("const", "scalar"))
PASSING = ', eviction_policy="evict_first"'


class Axial:
    """The tile axes that every value of a kernel varies along."""

    def __init__(self, kernel: Kernel, tiles: Tiles) -> None:
        self.kernel, self.tiles = kernel, tiles
        self.axes: dict[int, Axes] = {}
        for stage in kernel.stages:
            row = stage.level == "row"
            for instruction in stage.body:
                self.axes[instruction.target] = self._of(instruction, row)
            for reduction in stage.reductions:
                self.axes[reduction.target] = tiles.kept
            if stage.scan is not None:
                self.axes[stage.scan.target] = tiles.full
            for instruction in stage.after:
                self.axes[instruction.target] = self._of(instruction, row)

    def _of(self, instruction: Instruction, row: bool) -> Axes:
        attr = instruction.attr
        found = NONE.union(*(self.axes[a] for a in instruction.args))
        if instruction.op in ("load", "gather"):
            assert isinstance(attr, int)
            found |= offset(self.kernel, self.tiles, attr, row=row)[1]
        elif instruction.op == "index":
            assert isinstance(attr, int)
            found |= self.tiles.axes_of(attr)
        elif instruction.op in ("recall", "expand"):
            found = self.tiles.full
        return found


class Body:
    """The values known at a place of a function."""

    def __init__(self, w: Writer, kernel: Kernel, tiles: Tiles) -> None:
        self.w, self.kernel, self.tiles = w, kernel, tiles
        self.values: dict[int, Value] = {}
        # What was loaded since the last store, by access and level: stages that load the same element share it.
        self.loaded: dict[tuple[int, bool], Value] = {}
        # What `expand` reads: for each mask value, the place among the true elements.
        self.places: Mapping[int, str] = {}
        # The memory for errors, and the words there of the values that are watched.
        self.words: tuple[str, Mapping[int, int]] | None = None
        self.checks: set[int] | None = None  # values that are only asked whether a close look is worth it; None: all
        self.looked: set[int] = set()  # values that were asked that already, in an earlier stage
        self.odd: int | None = None  # the word in which it is noted that something is odd
        self.odd_rows: Axes = NONE  # the axes of what is noted of rows; of one number, no name of an axis
        self.covers: Mapping[int, frozenset[int]] = {}
        self.stem = "v"
        self.volatile = False  # what was read before is read again
        self.stream = stream_of(kernel, tiles)
        self.ones = frozenset(i.target for s in kernel.stages for i in s.body if i.op == "const" and i.attr == 1)
        self.policies: Mapping[int, str] = {}  # of accesses, how the caches treat what the current stage loads

    def compute(self, instructions: Iterable[Instruction], *, row: bool = False) -> None:
        """Writes instructions; those that are known already are not written again."""
        for instruction in instructions:
            if instruction.target not in self.values:
                value = self.values[instruction.target] = self._compute(instruction, row)
                if self.words is not None and instruction.target in self.words[1]:
                    self._look(instruction, value, row)

    def _look(self, instruction: Instruction, value: Value, row: bool) -> None:
        """Looks for floating-point errors: at all that an instruction raised, or whether there may be any."""
        assert self.words is not None
        args = [self.values[a] for a in instruction.args]
        axes = value.axes.union(*(a.axes for a in args))
        masks = [self.values[m].ref for m in sorted(self.covers.get(instruction.target, ()))]
        mask = " & ".join([*([inside] if (inside := self.mask(axes, row)) else []), *masks]) or None
        if self.odd is not None and (row or not axes):
            if self.checks is not None and instruction.target in self.checks:
                self.note_odd_row(suspects(instruction, args, value), axes, mask)
        elif self.checks is None or row or not axes:
            word = f"{self.words[0]} + {self.words[1][instruction.target]}"
            watch(self.w, instruction, args, value, word, mask)
        elif instruction.target in self.checks and instruction.target not in self.looked:
            self.looked.add(instruction.target)
            self.w.line(f"odd = {suspicion(instruction, args, value, mask)}")

    def note_odd_row(self, lanes: str, axes: Axes, mask: str | None) -> None:
        """Notes that something is odd in values of rows, or of which there is one."""
        found = f"({lanes}{f' & {mask}' if mask else ''})"
        self.w.line(f"odd_rows = odd_rows | {found}" if self.odd_rows else f"odd_rows = {found}")
        self.odd_rows |= axes or frozenset(("",))

    def look_at_scan(self, target: int) -> None:
        """Notes running values that are not finite, where that is only noted."""
        if self.odd is not None and self.checks is not None and target in self.checks:
            value = self.values[target]
            self.w.line(f"odd = {added(value.ref, value.code, mask_of(self.tiles.full), 'odd')}")

    def _compute(self, instruction: Instruction, row: bool) -> Value:
        w, op, code, attr = self.w, instruction.op, instruction.code, instruction.attr
        name = f"{self.stem}{instruction.target}"
        args = [self.values[a] for a in instruction.args]
        if op == "const":
            return self._constant(name, attr or 0, code)
        if op == "scalar":
            return self._scalar(name, int(attr or 0), code)
        if op == "index":
            assert isinstance(attr, int)
            return w.define(name, "i8", self.tiles.axes_of(attr), self._index(attr))
        if op in ("load", "gather", "expand"):
            assert isinstance(attr, int)
            return self._load(name, instruction, args, row)
        if op == "cast":
            return cast(w, name, args[0], code)
        if op == "divide" and code in ("f4", "f8") and instruction.args[0] in self.ones:
            return lower(w, name, "reciprocal", args[1:], code)
        if op in ("about", "scaled"):
            return w.define(name, code, self.tiles.kept, about(w, self.tiles, op, *args))
        return lower(w, name, op, args, code)

    def _index(self, axis: int) -> str:
        # A loop over steps of a tile axis may hold its index as a Python number under the interpreter.
        return f"i{axis}.to(tl.int64)"

    def _constant(self, name: str, value: complex, code: str) -> Value:
        if code in PARTS:
            number = complex(value)
            both = f"{literal(number.real, PARTS[code])}, {literal(number.imag, PARTS[code])}"
            return self.w.define(name, code, NONE, both)
        return self.w.define(name, code, NONE, literal(value, code))

    def _scalar(self, name: str, number: int, code: str) -> Value:
        if code in PARTS:
            kind = VALUE[PARTS[code]]
            both = ", ".join(f"tl.full([], s{number}{p}, {kind})" for p in "ri")
            return self.w.define(name, code, NONE, both)
        if code == "b1":
            return self.w.define(name, code, NONE, f"tl.full([], s{number}, tl.int32) != 0")
        if code in ("i1", "i2", "u1", "u2"):
            between = "tl.int32" if code[0] == "i" else "tl.uint32"
            return self.w.define(name, code, NONE, f"tl.full([], s{number}, {between}).to({VALUE[code]})")
        return self.w.define(name, code, NONE, f"tl.full([], s{number}, {VALUE[code]})")

    # -- memory -------------------------------------------------------------------------------------------------
    def _load(self, name: str, instruction: Instruction, args: list[Value], row: bool) -> Value:
        access = int(instruction.attr or 0)
        known = self.loaded.get((access, row)) if instruction.op == "load" else None
        if known is not None:
            return known
        code = self.kernel.accesses[access].code
        where, axes = offset(self.kernel, self.tiles, access, row=row)
        mask: str | None = None
        if instruction.op == "gather":
            where = plus(where, shifted(args[0], code))
            axes |= args[0].axes
        elif instruction.op == "expand":
            place = self.places[instruction.args[0]]
            where, axes = in_units(place, code), args[0].axes
            mask = f"{mask_of(axes)} & {args[0].ref}" if axes else args[0].ref
        how = PASSING if access == self.stream else self.policies.get(access, "")
        how = ", volatile=True" if self.volatile else "" if row else how
        made = load(self.w, name, f"a{access}", code, where, axes, mask or self.mask(axes, row), how)
        if instruction.op == "load":
            self.loaded[access, row] = made
        return made

    def mask(self, axes: Axes, row: bool) -> str | None:
        """The mask of a load. Where there is nothing to reduce, the body of a full stage reads nothing."""
        found = mask_of(axes)
        if not row and self.tiles.reduced and not self.tiles.reduced & axes:
            return f"{found} & present" if found else "present"
        return found

    def store(self, store: Store, *, row: bool = False) -> None:
        """Writes a value through an access, at the current tile or row."""
        access, value = store.access, self.values[store.value]
        code = self.kernel.accesses[access].code
        where, axes = offset(self.kernel, self.tiles, access, row=row)
        wanted = self.tiles.kept if row else self.tiles.full
        if store.offset is not None:
            given = self.values[store.offset]
            where, axes = plus(where, shifted(given, code)), axes | given.axes
        mask = mask_of(wanted)
        if store.mask is not None:
            mask = f"{mask} & {self.values[store.mask].ref}"
        self.loaded.clear()
        write(self.w, f"a{access}", code, spread(where, axes, wanted), value, mask)


def stream_of(kernel: Kernel, tiles: Tiles) -> int | None:
    """The access whose elements a reduction reads once, with nothing else to read or write as it goes.

    They need no place in the caches: a sum of columns of 8192 x 8192 float32 takes 66.7 us so, and 68.1 otherwise.
    Kernels that write, or read several arrays, were slower so.
    """
    full = [s for s in kernel.stages if s.level == "full"]
    if not kernel.reduces or len(full) != 1 or full[0].stores or full[0].scan is not None:
        return None
    read = {i.attr for i in full[0].body if i.op in ("load", "gather", "expand")}
    (only, *more) = read or (None,)
    if more or not isinstance(only, int) or any(i.op in ("gather", "expand") for i in full[0].body):
        return None
    return only if offset(kernel, tiles, only, row=False)[1] == tiles.full else None


def plus(first: str, second: str) -> str:
    return f"{first} + {second}" if first else second


def spread(where: str, axes: Axes, wanted: Axes) -> str:
    """An offset with the shape of the tile axes in `wanted`."""
    for axis in sorted(wanted - axes):
        where = plus(where, f"{axis} * 0")
    return where


def shifted(value: Value, code: str) -> str:
    """An offset in bytes as one in units of a pointer."""
    size = unit(code)
    return f"({value.ref} >> {size.bit_length() - 1}).to(INDEX)" if size > 1 else f"{value.ref}.to(INDEX)"


def load(
    w: Writer, name: str, pointer: str, code: str, where: str, axes: Axes, mask: str | None, how: str = ""
) -> Value:
    """Reads elements at an offset from a pointer; `how`: further arguments of the load."""
    guard = (f", mask={mask}" if mask else "") + how
    if words(code) > 1:
        both = [f"tl.load({pointer} + ({plus(where, str(k)) if k or not where else where}){guard})" for k in (0, 1)]
        return w.define(name, code, axes, ", ".join(both))
    place = f"{pointer} + ({where})" if where else pointer
    found = f"tl.load({place}{guard})"
    if code in PARTS:
        return w.define(name, code, axes, w.call("complexes.unpacked", found))
    return w.define(name, code, axes, f"{found} != 0" if code == "b1" else found)


def write(w: Writer, pointer: str, code: str, where: str, value: Value, mask: str | None) -> None:
    """Writes a value at an offset from a pointer."""
    guard = f", mask={mask}" if mask else ""
    if words(code) > 1:
        for k, ref in enumerate(value.refs):
            w.line(f"tl.store({pointer} + ({plus(where, str(k)) if k or not where else where}), {ref}{guard})")
        return
    place = f"{pointer} + ({where})" if where else pointer
    if code in PARTS:
        stored = w.call("complexes.packed", *value.refs)
    else:
        stored = f"{value.ref}.to(tl.uint8)" if code == "b1" else value.ref
    w.line(f"tl.store({place}, {stored}{guard})")


# -- operations ------------------------------------------------------------------------------------------------------
def lower(w: Writer, name: str, op: str, args: list[Value], code: str) -> Value:
    """Writes an op of the table."""
    found = find_rule(op, tuple(a.code for a in args))
    if found is None:
        raise NotImplementedError(f"no lowering of {op} for {', '.join(a.code for a in args)}")
    rule, widened = found
    if rule == "elementary.power" and op == "power" and not widened and not args[1].axes and POWER_HAS_SHORTCUTS:
        rule = "elementary.power_by_number"
    refs = [ref for a in args for ref in a.refs]
    if widened:
        refs = [f"{a.ref}.to(tl.float32)" if a.code == "f2" else a.ref for a in args]
    if rule[0].isalpha() and "(" not in rule:
        text = w.call(rule, *refs)
    else:
        text = rule.format(*refs)
        if rule[0] == "(":
            text = text[1:-1]
    if widened and code == "f2":
        text = f"({text}).to(tl.float16)"
    return w.define(name, code, NONE.union(*(a.axes for a in args)), text)


def cast(w: Writer, name: str, value: Value, code: str) -> Value:
    """NumPy's `value.astype(code)`."""
    if code in PARTS:
        target = PARTS[code]
        real = cast_text(w, value.refs[0], part(value.code), target)
        imag = cast_text(w, value.refs[1], part(value.code), target) if len(value.refs) > 1 else literal(0, target)
        return w.define(name, code, value.axes, f"{real}, {imag}")
    if value.code in PARTS and code == "b1":
        return w.define(name, code, value.axes, w.call("complexes.truth", *value.refs))
    return w.define(name, code, value.axes, cast_text(w, value.refs[0], part(value.code), code))


def cast_text(w: Writer, ref: str, source: str, code: str) -> str:
    """A cast between real dtypes, as an expression."""
    if source == code:
        return ref
    if code == "b1":
        return f"{ref} != 0"
    if class_of(source) in ("half", "float") and class_of(code) == "integer":
        return _float_to_integer(w, ref, source, code)
    if code == "f2" and source != "f8":
        # NumPy converts integers to half floats through float32.
        return f"{ref}.to(tl.float32).to(tl.float16)" if source != "f4" else f"{ref}.to(tl.float16)"
    return f"{ref}.to({VALUE[code]})"


def _float_to_integer(w: Writer, ref: str, source: str, code: str) -> str:
    if source == "f2":
        ref = f"{ref}.to(tl.float32)"
        if code == "u4":
            return w.call("casts.single_to_uint32", ref)
    if itemsize(code) < 4:
        return f"{w.call('casts.to_int32', ref)}.to({VALUE[code]})"
    return w.call("casts.to_" + VALUE[code].removeprefix("tl."), ref)
