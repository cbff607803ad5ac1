"""Owns one pass over a kernel's points in one function: its programs, its loop, the stages that run in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from lazyarray.schedule.kernel import Instruction, Kernel, Reduction, Scan, Stage, Store
from lazyarray_triton import moments, reductions, scans
from lazyarray_triton.body import PASSING, Axial, Body, load, write
from lazyarray_triton.codes import in_units
from lazyarray_triton.errors import covers, watch_sum
from lazyarray_triton.source import Form, Work
from lazyarray_triton.stages import codes_of, loads_first, recomputed
from lazyarray_triton.tiles import Tiles, lanes, offset, product, write_indices
from lazyarray_triton.writer import Value, Writer, X, Y

FLAGS = ("flags", 0, 0)
MANY_CARRIED = 3  # numbers that a lane carries through a loop, from which they are what its time goes into
_COMING_BACK = ', eviction_policy="evict_last"'
Key = tuple[str, int, int]  # what a work buffer holds: ("partial" | "value" | "kept" | "total", value, part)


class Works:
    """The work buffers of a module, by what they hold."""

    def __init__(self, watched: Mapping[int, int] | None = None, checks: set[int] | None = None) -> None:
        self.records: list[Work] = []
        self.checks = checks
        self.odd: int | None = None  # the word in which it is noted that something has to be looked at
        self.looked: set[int] = set()  # values of which that was noted
        self.largest: Mapping[int, tuple[int, int]] = {}  # by watched sum: the sum, and the largest element of it
        self.watched = watched or {}  # values whose errors are looked for, with the numbers of their words
        self._numbers: dict[Key, int] = {}

    def name(self, key: Key, work: Work) -> str:
        if key not in self._numbers:
            self._numbers[key] = len(self.records)
            self.records.append(work)
        return f"w{self._numbers[key]}"

    def has(self, key: Key) -> bool:
        return key in self._numbers


class Pass:
    """Writes one function that walks all points of a kernel or of its rows."""

    def __init__(self, kernel: Kernel, tiles: Tiles, form: Form, works: Works) -> None:
        self.kernel, self.tiles, self.form, self.works = kernel, tiles, form, works
        self.w = Writer()
        self.body = Body(self.w, kernel, tiles)
        self.noting = False  # odd values of the whole tile are noted
        self.backward = False  # the loop goes from the last tile to the first
        if works.watched:
            self.body.words = works.name(FLAGS, Work("i4", "flags")), works.watched
            self.body.covers = covers(kernel)
            self.body.odd = works.odd
            self.body.looked = works.looked
            self.body.checks = works.checks if form in ("tile", "loop", "split") else None
        self.axial = Axial(kernel, tiles)
        self.grid: tuple[str, ...] = ()

    # -- programs -----------------------------------------------------------------------------------------------
    def open(self, *, split: bool = False, segments: bool = False) -> None:
        """The part of the nest that this program has. `segments`: the reduced axis is that of partial results."""
        {
            "line": self._open_line,
            "elementwise": self._open_elementwise,
            "rows": self._open_rows,
            "columns": self._open_columns,
        }[self.tiles.kind](split)
        if not self.tiles.reduced:
            return
        if segments:
            self.open_reduced("segments")
            self.w.line("present = segments > 0")
            return
        self.w.line(f"reduced = {product(self.tiles.reduced_axes)}")
        self.w.line("present = reduced > 0")
        if split:
            self.w.line("low = segment * length")
            self.w.line("high = tl.minimum(low + length, reduced)")
        if self.form == "tile":
            self.open_reduced("reduced")
            self.indices()

    def _open_line(self, split: bool) -> None:
        self.grid = ("yblocks",)
        self.w.line(f"y = tl.program_id(0).to(INDEX) * YBLOCK + {lanes(self.tiles, 'y')}")
        self.w.line("y_in = (y < n0) | YFULL")
        write_indices(self.w, self.tiles.y, "y")

    def _open_elementwise(self, split: bool) -> None:
        self.grid = ("shifted", "xblocks")
        (last,) = self.tiles.y
        self.w.line("program = tl.program_id(0).to(INDEX)")
        self.w.line(f"yblocks = (n{last} + shift + YBLOCK - 1) // YBLOCK")
        self.w.line(f"y = program % yblocks * YBLOCK + {lanes(self.tiles, 'y')}")
        self.w.line(f"y_in = (y < n{last}) | YFULL")
        with self.w.block("if SHIFTED:"):
            self.w.line("y = y - shift")
            self.w.line(f"y_in = (y >= 0) & (y < n{last})")
        write_indices(self.w, self.tiles.y, "y")
        self.w.line(f"x = program // yblocks * XBLOCK + {lanes(self.tiles, 'x')}")
        self.w.line(f"x_in = (x < {product(self.tiles.x)}) | XFULL")
        self.w.line("inside = x_in & y_in")
        write_indices(self.w, self.tiles.x, "x")

    def _columns_of(self, last: int) -> None:
        self.w.line("program = tl.program_id(0).to(INDEX)")
        self.w.line(f"yblocks = (n{last} + YBLOCK - 1) // YBLOCK")
        self.w.line(f"y = program % yblocks * YBLOCK + {lanes(self.tiles, 'y')}")
        self.w.line(f"y_in = (y < n{last}) | YFULL")
        write_indices(self.w, self.tiles.y, "y")

    def _open_rows(self, split: bool) -> None:
        self.w.line("program = tl.program_id(0).to(INDEX)")
        place = "program"
        self.grid = ("xblocks",)
        if split:
            self.grid = ("segments", "xblocks")
            self.w.line("segment = program % segments")
            place = "program // segments"
        self.w.line(f"x = {place} * XBLOCK + {lanes(self.tiles, 'x')}")
        self.w.line(f"cells = {product(self.tiles.x)}")
        self.w.line("x_in = (x < cells) | XFULL")
        self.w.line("cell = x")
        write_indices(self.w, self.tiles.x, "x")

    def _open_columns(self, split: bool) -> None:
        (last,) = self.tiles.y
        self._columns_of(last)
        self.grid = ("yblocks", "outer")
        self.w.line("outer = program // yblocks")
        if split:
            self.grid = ("yblocks", "segments", "outer")
            self.w.line("segment = outer % segments")
            self.w.line("outer = outer // segments")
        self.w.line(f"cells = {product((*self.tiles.outer, last))}")
        self.w.line(f"cell = outer * n{last} + y")
        write_indices(self.w, self.tiles.outer, "outer")

    def open_reduced(self, end: str, begin: str = "", *, whole: bool = False) -> None:
        """The lanes along the reduced axis that begin at `begin` and exist before `end`; all of them if `whole`."""
        axis = "y" if self.tiles.reduced == Y else "x"
        at = f"{begin} + " if begin else ""
        self.w.line(f"{axis} = {at}{lanes(self.tiles, axis)}")
        # How many segments there are is no multiple of anything.
        full = "" if end == "segments" else " | True" if whole else f" | {axis.upper()}FULL"
        self.w.line(f"{axis}_in = ({axis} < {end}){full}")
        self.w.line("inside = x_in & y_in")

    def indices(self) -> None:
        """The loop indices of the reduction axes."""
        write_indices(self.w, self.tiles.reduced_axes, "y" if self.tiles.reduced == Y else "x")

    def loop(self, part: str = "") -> AbstractContextManager[None]:
        """The loop over the reduced axis; nothing where a tile holds all of it. `part`: of `_parts`."""
        if self.form == "tile" or not self.tiles.reduced:
            return nullcontext()
        low, high = self._ends()
        if part == "rest":  # one turn, which Triton reads once; it reads loops twice
            return self.w.block("if rest > 0:")
        high = f"{high} - rest" if part == "whole" else high
        at = "back" if self.backward else "at"
        return self.w.block(f"for {at} in range({low}, {high}, {self._block}):")

    @property
    def _block(self) -> str:
        """The extent of a tile along the reduced axis."""
        return "YBLOCK" if self.tiles.reduced == Y else "XBLOCK"

    def _parts(self, stage: Stage, carried: int) -> Iterator[str]:
        """The loops of a stage: one; or one over tiles that lie within, without masks, and one for the last.

        What is carried keeps its value in lanes that are outside, for each number by an instruction of its own: a third
        of those of minimum, maximum, mean and deviation together. Sums alone wait for memory.
        """
        if carried < MANY_CARRIED or self.form == "tile" or self.backward or stage.stores or stage.scan is not None:
            yield ""
            return
        low, high = self._ends()
        self.w.line(f"rest = ({high} - {low}) % {self._block}")
        yield "whole"
        with self.w.block(f"if not {self._block[0]}FULL:"):
            yield "rest"

    def step(self, part: str = "") -> None:
        """The start of a turn of the loop."""
        if self.backward:
            if self.form == "split":
                self.w.line("at = (high - 1 - low) // YBLOCK * YBLOCK - back + 2 * low")
            else:
                self.w.line("at = (reduced - 1) // YBLOCK * YBLOCK - back")
        if part == "rest":
            self.w.line(f"at = {self._ends()[1]} - rest")
        if self.form != "tile" and self.tiles.reduced:
            self.open_reduced("high" if self.form == "split" else "reduced", "at", whole=part == "whole")
            self.indices()

    # -- stages -------------------------------------------------------------------------------------------------
    def row(self, stage: Stage) -> None:
        self.body.compute(stage.body, row=True)
        for store in stage.stores:
            self.body.store(store, row=True)
        self.settle(stage)

    def settle(self, stage: Stage) -> None:
        """What the threads of a program have stored is seen by those that load it in a later stage."""
        later = self.kernel.stages[self.kernel.stages.index(stage) + 1 :]
        loads = any(i.op in ("load", "gather", "recall") for s in later for i in (*s.body, *s.after))
        if loads and (stage.stores or any(self.works.has(("kept", k, 0)) for k in stage.kept)):
            self.w.line("tl.debug_barrier()")

    def full(self, stage: Stage, *, stores: Sequence[Store] = (), scan: str = "") -> dict[int, list[str]]:
        """The body of a full stage at every point. Gives the collapsed parts of its reductions.

        scan: "" without one, "whole" for a running value from the start, "segment" to begin with what the segments
        before leave, "total" to reduce what would be scanned.
        """
        w, body, looped = self.w, self.body, self.form != "tile" and bool(self.tiles.reduced)
        instructions = loads_first([*self._recalls(stage), *stage.body])
        if self.form == "loop" and self.tiles.kind == "rows":
            body.policies = policies_of(self.kernel, self.tiles, stage)
            self.backward = goes_back(self.kernel, stage)
        if looped:
            self.body.compute(i for i in instructions if self._uniform(i))
        before, loaded = dict(body.values), dict(body.loaded)
        scanned = [] if stage.scan is None else [stage.scan]
        noted: list[Instruction | Scan] = [*instructions]
        # What a loop carries on stays odd once it is: one look at its end is enough.
        carries = looped and scan not in ("", "total") and stage.scan is not None
        if carries and stage.scan is not None:
            carries = scans.Runner(self, stage.scan, scan).kinds == (stage.scan.code,)
        if self.body.odd is not None:
            noted += [*stage.after, *([] if carries else scanned)]
        looking = self._begin_look(noted)
        folds = {r.target: reductions.fold(r.op, self._code(r.value)) for r in stage.reductions}
        carried = {
            r.target: reductions.accumulators(w, self.tiles, r, folds[r.target]) for r in stage.reductions if looped
        }
        runner = scans.Runner(self, stage.scan, scan) if stage.scan is not None and scan else None
        if runner is not None:
            runner.begin()
        index = "(y + x * 0).to(tl.int64)" if self.tiles.reduced == Y else "(x + y * 0).to(tl.int64)"
        looked = set(body.looked)
        for part in self._parts(stage, sum(len(names) for names in carried.values())):
            if part == "rest":  # the same once more
                body.values, body.loaded = dict(before), dict(loaded)
                body.looked -= body.looked - looked
            with self.loop(part):
                self.step(part)
                for instruction in instructions:
                    self._point(instruction)
                for kept in stage.kept:
                    self._keep(kept, stage)
                for r in stage.reductions:
                    if r.op in moments.FOLDS:
                        moments.step(w, self.tiles, r.op, carried[r.target], body.values[r.value], self._ends()[0])
                        continue
                    where = None if r.where is None else body.values[r.where]
                    value = body.values[r.value]
                    whole = part == "whole" and value.axes == self.tiles.full
                    added = reductions.elements(w, self.tiles, r, folds[r.target], value, where, index, whole=whole)
                    if looped:
                        reductions.accumulate(w, folds[r.target], carried[r.target], added)
                    else:
                        carried[r.target] = added
                if runner is not None:
                    runner.turn()
                    if scan != "total":
                        if not carries:
                            body.look_at_scan(runner.scan.target)
                        checks = body.checks
                        if body.odd is None:
                            body.checks = None
                        body.compute(stage.after)
                        body.checks = checks
                if looking and not looped:
                    self._look_again(instructions, before)
                for store in stores:
                    body.store(store)
        if looking and looped:
            self._look_again(instructions, before)
        if runner is not None and carries:
            self._note_carried(runner)
        found = {r.target: self._collapsed(r, folds[r.target], carried[r.target]) for r in stage.reductions}
        if runner is not None:
            found |= runner.end()
        if looped:
            body.values, body.loaded = before, {} if stores else loaded
        if scan != "total":
            self.settle(stage)
        return found

    def _collapsed(self, r: Reduction, folding: reductions.Folding, parts: list[str]) -> list[str]:
        """The parts of a reduction of what this program went through."""
        if r.op in moments.FOLDS:
            stem, ends = f"r{r.target}", self._ends()
            return moments.collapse_lanes(self.w, self.tiles, r.op, folding.codes[0], parts, stem, ends)
        return reductions.collapse(self.w, self.tiles, folding, parts, f"r{r.target}")

    def _ends(self) -> tuple[str, str]:
        """Where the loop over the reduced axis begins and ends."""
        return ("low", "high") if self.form == "split" else ("0", "reduced")

    def _note_carried(self, runner: scans.Runner) -> None:
        """Notes a running value that is not finite at the end of a loop, where that is only noted."""
        body, kept = self.body, self.tiles.kept
        if body.odd is not None and body.checks is not None and runner.scan.target in body.checks:
            lanes = f'~(tl.abs({runner.carried[0]}) < float("inf"))'
            body.note_odd_row(lanes, kept, body.mask(kept, True))

    def note_odd(self) -> None:
        """Notes, at the end of a function, that something was odd in its program."""
        body = self.body
        if body.words is None or body.odd is None or not (self.noting or body.odd_rows):
            return
        word = f"{body.words[0]} + {body.odd}"
        if self.noting:
            if body.odd_rows:
                self.w.line('odd = tl.where(odd_rows, float("nan"), odd)')
            self.w.line(self.w.call("noting.note", "odd", word))
            return
        number = "(odd_rows).to(tl.int32)"
        self.w.line(f"noted = {number if not body.odd_rows - {''} else f'tl.max({number})'}")
        self.w.line(f"tl.store({word}, 1, mask=noted > 0)")

    def _begin_look(self, instructions: Sequence[Instruction | Scan]) -> bool:
        """Whether something may be found in a stage that has to be looked at again; nothing is, so far."""
        checks = self.body.checks
        if self.body.words is None or not checks or not any(i.target in checks for i in instructions):
            return False
        if not self.noting:
            self.w.line(f"odd = tl.full({self.tiles.shape(self.tiles.full)}, 0.0, tl.float32)")
        if self.body.odd is not None:
            self.noting = True
        return not self.noting

    def _look_again(self, instructions: Sequence[Instruction], before: dict[int, Value]) -> None:
        """Computes a stage again, looking at every value, in programs where something was odd."""
        body = self.body
        with self.w.block("if tl.max((odd != odd).to(tl.int32)) > 0:"):
            self.body = again = Body(self.w, self.kernel, self.tiles)
            again.words, again.covers, again.stem, again.volatile = body.words, body.covers, "u", True
            again.values = dict(before)
            with self.loop():
                self.step()
                for instruction in instructions:
                    self._point(instruction)
        self.body = body

    def finish(self, stage: Stage, parts: dict[int, list[str]]) -> None:
        """The values of a stage's reductions."""
        for r in stage.reductions:
            folding = reductions.fold(r.op, self._code(r.value))
            start = None if r.start is None else self.body.values[r.start]
            self.body.values[r.target] = reductions.finish(self.w, self.tiles, r, folding, parts[r.target], start)
        for target in (*[r.target for r in stage.reductions], *([] if stage.scan is None else [stage.scan.target])):
            if self.body.words is not None and target in self.body.words[1]:
                self._look_at_sum(target, self.body.words)

    def _look_at_sum(self, target: int, words: tuple[str, Mapping[int, int]]) -> None:
        """Looks for errors in a sum or product that was made."""
        body, kept = self.body, self.tiles.kept
        mask = body.mask(kept, True)
        if target in self.works.largest:
            total, largest = [body.values[value] for value in self.works.largest[target]]
            watch_sum(self.w, total, largest, target, f"{words[0]} + {words[1][target]}", mask)
        elif body.odd is not None and body.checks is not None and target in body.checks and target in body.values:
            body.note_odd_row(f'~(tl.abs({body.values[target].ref}) < float("inf"))', kept, mask)

    def _code(self, value: int) -> str:
        return self.codes[value]

    @property
    def codes(self) -> dict[int, str]:
        return codes_of(self.kernel)

    def _uniform(self, instruction: Instruction) -> bool:
        """Is an instruction outside the loop: known, and not moving along the reduced axis."""
        axes = self.axial.axes.get(instruction.target)
        return (
            axes is not None
            and not axes & self.tiles.reduced
            and all(a in self.body.values or not self.axial.axes[a] & self.tiles.reduced for a in instruction.args)
        )

    # -- kept values --------------------------------------------------------------------------------------------
    def _recalls(self, stage: Stage) -> list[Instruction]:
        """What a stage must compute again for values that an earlier one computed, where that is allowed."""
        if self.form == "tile":
            return []
        found: dict[int, Instruction] = {}
        for instruction in stage.body:
            if instruction.op == "recall":
                for again in recomputed(self.kernel, stage, int(instruction.attr or 0)) or ():
                    found.setdefault(again.target, again)
        return list(found.values())

    def _point(self, instruction: Instruction) -> None:
        if instruction.op != "recall":
            self.body.compute((instruction,))
            return
        kept = int(instruction.attr or 0)
        value = self.body.values.get(kept)
        if value is None:
            code = instruction.code
            name = self.works.name(("kept", kept, 0), Work(code, "full"))
            value = load(self.w, f"v{instruction.target}", name, code, self._place(code), X | Y, "inside")
        self.body.values[instruction.target] = value

    def _keep(self, kept: int, stage: Stage) -> None:
        """Writes a kept value to memory, if some later stage can not compute it again."""
        if self.form == "tile":
            return
        later = self.kernel.stages[self.kernel.stages.index(stage) + 1 :]
        asked = [s for s in later if any(i.op == "recall" and i.attr == kept for i in s.body)]
        if any(recomputed(self.kernel, s, kept) is None for s in asked):
            value = self.body.values[kept]
            name = self.works.name(("kept", kept, 0), Work(value.code, "full"))
            write(self.w, name, value.code, self._place(value.code), value, "inside")

    def _place(self, code: str) -> str:
        """The current point among all points."""
        if self.tiles.reduced == Y:
            place = "x * reduced + y"
        else:
            place = f"(outer * reduced + x) * n{self.tiles.y[0]} + y"
        return in_units(place, code)

    # -- values of rows in memory -------------------------------------------------------------------------------
    def save(self, values: Iterable[int]) -> None:
        """Writes values of rows for later functions."""
        for number in values:
            value = self.body.values[number]
            name = self.works.name(("value", number, 0), Work(value.code, "cells"))
            place = in_units("cell", value.code)
            mask = "x_in" if self.tiles.kept == X else "y_in"
            write(self.w, name, value.code, place, value, mask)

    def restore(self, values: Iterable[int]) -> None:
        """Reads what `save` of an earlier function wrote; computes what any function can compute."""
        made = {i.target: i for s in self.kernel.stages for i in (*s.body, *s.after)}
        for number in values:
            if number in made and made[number].op in ("const", "scalar"):
                self.body.compute((made[number],))
                continue
            code = self._code(number)
            name = self.works.name(("value", number, 0), Work(code, "cells"))
            place = in_units("cell", code)
            mask = "x_in" if self.tiles.kept == X else "y_in"
            self.body.values[number] = load(self.w, f"v{number}", name, code, place, self.tiles.kept, mask)


def policies_of(kernel: Kernel, tiles: Tiles, stage: Stage) -> dict[int, str]:
    """How the caches treat what a stage loads as it goes through rows: what later stages read again stays there.

    What is read for the last time goes first. A row softmax of 8192 x 8192 float32 takes 130 us so, and 140 otherwise.
    """
    full = [s for s in kernel.stages if s.level == "full"]
    here = full.index(stage)
    loads = [_loaded(kernel, s) for s in full]
    found: dict[int, str] = {}
    for access in loads[here]:
        if offset(kernel, tiles, access, row=False)[1] != tiles.full:
            continue
        if any(access in later for later in loads[here + 1 :]):
            found[access] = _COMING_BACK
        elif any(access in before for before in loads[:here]):
            found[access] = PASSING
    return found


def goes_back(kernel: Kernel, stage: Stage) -> bool:
    """Whether a stage goes through rows from their ends: what the one before it has read last lies in a near cache.

    Every other stage does, if nothing in it follows from the order of elements but how a sum is rounded.
    """
    full = [s for s in kernel.stages if s.level == "full"]
    ordered = stage.scan is not None or any(r.op in ("argmax", "argmin") for r in stage.reductions)
    return full.index(stage) % 2 == 1 and not ordered


def _loaded(kernel: Kernel, stage: Stage) -> set[int]:
    """The accesses that a stage reads, also for what it computes again."""
    again = [i for r in stage.body if r.op == "recall" for i in recomputed(kernel, stage, int(r.attr or 0)) or ()]
    return {i.attr for i in (*again, *stage.body) if i.op == "load" and isinstance(i.attr, int)}
