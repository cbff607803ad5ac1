"""Owns the way from a kernel record to Triton source: one function, or the phases of a kernel that several share."""

from __future__ import annotations

from dataclasses import replace

from lazyarray.schedule.kernel import Access, Instruction, Kernel, Stage
from lazyarray.schedule.printer import format_kernel
from lazyarray_triton import moments, reductions, scans
from lazyarray_triton.errors import checked, looks, watchable, with_largest
from lazyarray_triton.moments import one_pass
from lazyarray_triton.ordered import emit_packed, emit_scattered, needed
from lazyarray_triton.passes import FLAGS, Pass, Works
from lazyarray_triton.source import (
    Form,
    Function,
    TritonSource,
    Watched,
    Work,
    call_text,
    called_text,
    function,
    look_function,
    module_text,
)
from lazyarray_triton.stages import missing
from lazyarray_triton.tiles import Tiles, flat_tiles, tiles_of
from lazyarray_triton.writer import Y


def normalise(kernel: Kernel) -> Kernel:
    """The same kernel with at least one axis."""
    if kernel.roles:
        return kernel
    accesses = tuple(Access(a.code, ("0",)) for a in kernel.accesses)
    return kernel._replace(roles=("p",), accesses=accesses)


def forms(kernel: Kernel) -> tuple[Form, ...]:
    """The forms that a kernel can be emitted in."""
    if kernel.packs:
        return ("packed",)
    if kernel.scatters:
        return ("scattered",)
    if not kernel.reduces:
        return ("tile",)
    if any(s.scan is not None for s in kernel.stages) and tiles_of(kernel).kind == "columns":
        # Columns are scanned element by element.
        return ("loop", "split")
    scans = any(s.scan is not None for s in kernel.stages)
    if scans:
        return ("tile", "loop", "split")
    known: tuple[Form, ...] = ("tile", "loop", "split", "joined")
    return known if one_pass(kernel) is kernel else (*known, "online")


def describe(kernel: Kernel) -> str:
    """The header of a module: what each argument is, and the loop nest."""
    lines = [f"a{k}: {a.code}, steps {' '.join(a.steps)}" for k, a in enumerate(kernel.accesses)]
    lines += [f"s{k}: {code}" for k, code in enumerate(kernel.scalars)]
    return "\n".join([*lines, format_kernel(kernel)])


def emit(kernel: Kernel, form: Form, watched: Watched = "") -> TritonSource:
    """The module of a kernel in one form. `watched`: it looks for floating-point errors (`errors.py`)."""
    kernel = normalise(kernel)
    assert form in forms(kernel), f"{form} is no form of this kernel"
    words = watchable(kernel)
    if form in ("packed", "scattered") and watched:
        watched = "exact"
    # Programs that compute again where something is odd have to see it in the same stage.
    checks = checked(kernel, in_sums=watched == "apart") if watched in ("checked", "apart") else None
    works = Works(words if watched else None, checks)
    works.odd = len(words) if watched == "apart" else None
    closely, largest = with_largest(kernel) if watched else (emitted(kernel, form), {})
    if watched != "apart":
        works.largest = largest
    functions, modules = _functions(emitted(kernel, form, watched) if watched == "apart" else closely, form, works)
    if watched == "apart":
        works.checks = works.odd = None
        works.largest = largest
        # What segments leave is no help: one program goes through a row again, which happens seldom.
        looking, more = _functions(closely, "loop" if form in ("split", "joined", "online") else form, works)
        modules |= more
        odd = f"{works.name(FLAGS, Work('i4', 'flags'))} + {len(words)}"
        looked = [f for f in looking if looks(f.text)]
        functions += [look_function(kernel, works.records, f, odd) for f in looked]
    text = module_text(describe(kernel), modules, functions)
    tiles = flat_tiles(kernel) if form == "packed" else tiles_of(kernel)
    return TritonSource(kernel, form, tiles, tuple(functions), tuple(works.records), text, watched)


def emitted(kernel: Kernel, form: Form, watched: Watched = "") -> Kernel:
    """The kernel as its functions compute it: in fewer passes where rows are gone through and do not come from a cache.

    A tile has its row at hand; a layer norm of 8192 x 8192 took 150 us in two passes, and 132 in three, one of 1024 x
    65536 took 182 and 173, a softmax of that 184 in both. A look at every value needs them all.
    """
    if form in ("online", "split", "joined") and watched in ("", "apart"):
        return one_pass(kernel, watched=watched == "apart")
    return kernel


def _functions(kernel: Kernel, form: Form, works: Works) -> tuple[list[Function], set[str]]:
    """The functions of a kernel, and the device modules that they name."""
    if form == "packed":
        return emit_packed(kernel, works)
    if form == "scattered":
        return emit_scattered(kernel, works)
    tiles = tiles_of(kernel)
    if form == "joined":
        return _joined(kernel, tiles, works)
    if form == "split":
        return _split(kernel, tiles, works)
    return _whole(kernel, tiles, "loop" if form == "online" else form, works)


def _whole(kernel: Kernel, tiles: Tiles, form: Form, works: Works) -> tuple[list[Function], set[str]]:
    """One function in which a program has whole rows (or columns)."""
    one = Pass(kernel, tiles, form, works)
    one.open()
    for stage in kernel.stages:
        if stage.level == "row":
            one.row(stage)
        else:
            one.finish(stage, one.full(stage, stores=stage.stores, scan="whole"))
    one.note_odd()
    return [function(kernel, works.records, one.w, "kernel", one.grid)], one.w.modules


def _split(kernel: Kernel, tiles: Tiles, works: Works) -> tuple[list[Function], set[str]]:
    """A row is cut into segments, one program each; after each stage its results are put together."""
    made = _phases(kernel, tiles, works)
    modules = set().union(*(p.w.modules for p, _ in made))
    functions = [function(kernel, works.records, p.w, name, p.grid) for p, name in made]
    return functions, modules


def _joined(kernel: Kernel, tiles: Tiles, works: Works) -> tuple[list[Function], set[str]]:
    """As `_split`, but the program of a row that ends last puts its results together: one launch, where two take 3 us.

    Which one that is does not matter: results are put together in the order of the segments.
    """
    phases = _phases(kernel, tiles, works)
    modules = set().union(*(p.w.modules for p, _ in phases))
    functions: list[Function] = []
    while phases:
        one, name = phases.pop(0)
        if not (name.startswith("stage") and phases and phases[0][1] == name.replace("stage", "together")):
            functions.append(function(kernel, works.records, one.w, name, one.grid))
            continue
        after, called = phases.pop(0)
        arrivals = works.name(("arrivals", int(name.removeprefix("stage")), 0), Work("i4", "arrivals", fill=0))
        then = function(kernel, works.records, after.w, called, after.grid)
        rows = tiles.kind == "rows"
        one.w.line(f"place = {'program // segments' if rows else 'program % yblocks + outer * yblocks'}")
        one.w.line("tl.debug_barrier()")
        one.w.line(f'arrived = tl.atomic_add({arrivals} + place, 1, sem="acq_rel")')
        with one.w.block("if arrived == segments - 1:"):
            one.w.line(call_text(then, "YBLOCK" if rows else "XBLOCK"))
            one.w.line(f"tl.store({arrivals} + place, 0)")
        made = function(kernel, works.records, one.w, name, one.grid)
        functions.append(replace(made, text=f"{called_text(then)}\n\n{made.text}"))
    return functions, modules


def _phases(kernel: Kernel, tiles: Tiles, works: Works) -> list[tuple[Pass, str]]:
    """The passes of a split kernel, with the names of their functions."""
    stages = kernel.stages
    made: list[tuple[Pass, str]] = []
    number = 0
    while number < len(stages):
        stage = stages[number]
        following = number + 1 if stage.level == "full" else number
        while following < len(stages) and stages[following].level == "row":
            following += 1
        rows = stages[number + 1 : following] if stage.level == "full" else stages[number:following]
        if stage.level == "full":
            made += _stage_functions(kernel, tiles, works, stage, number)
        if stage.reductions or any(_does_something(row) for row in rows):
            made.append((_together(kernel, tiles, works, stage, rows, following), f"together{number}"))
        number = following
    return made


def _does_something(row: Stage) -> bool:
    """False for a row stage that only names numbers: whoever needs them computes them again."""
    return bool(row.stores) or any(i.op not in ("const", "scalar") for i in row.body)


def _stage_functions(kernel: Kernel, tiles: Tiles, works: Works, stage: Stage, number: int) -> list[tuple[Pass, str]]:
    """The functions that run a full stage over segments."""
    made = []
    if stage.scan is not None:
        total = Pass(kernel, tiles, "split", works)
        total.open(split=True)
        total.restore(missing(kernel, [stage._replace(after=(), stores=())]))
        scanned = stage._replace(reductions=(), stores=(), after=(), kept=())
        # From its end: what the pass that scans begins with lies in a near cache then.
        total.backward = scans.Runner(total, stage.scan, "total").by_lane
        parts = total.full(scanned, scan="total")
        scans.save_totals(total, stage.scan, parts[stage.scan.target])
        made.append((total, f"totals{number}"))
        before = Pass(kernel, tiles, "tile", works)
        before.open(segments=True)
        scans.write_prefixes(before, stage.scan)
        made.append((before, f"before{number}"))
    part = Pass(kernel, tiles, "split", works)
    part.open(split=True)
    part.restore(missing(kernel, [stage]))
    parts = part.full(stage, stores=stage.stores, scan="segment")
    mask = "y_in" if tiles.kept == Y else "x_in"
    for r in stage.reductions:
        folding = reductions.fold(r.op, part.codes[r.value])
        for k, (name, code) in enumerate(zip(parts[r.target], folding.codes, strict=True)):
            work = works.name(("partial", r.target, k), Work(code, "partials"))
            part.w.line(f"tl.store({work} + (segment * cells + cell), {name}, mask={mask})")
    part.note_odd()
    made.append((part, f"stage{number}"))
    return made


def _together(
    kernel: Kernel, tiles: Tiles, works: Works, stage: Stage, rows: tuple[Stage, ...], following: int
) -> Pass:
    """The function that puts the segments' results together, and runs the row stages that follow."""
    one = Pass(kernel, tiles, "tile", works)
    one.open(segments=True)
    axis = "y" if tiles.reduced == Y else "x"
    reduces = stage.level == "full"
    starts = _starts(stage) if reduces else []
    here = [*([Stage("row", tuple(starts))] if starts else []), *rows]
    targets = [r.target for r in stage.reductions] if reduces else []
    one.restore(missing(kernel, here, targets))
    one.body.compute(starts, row=True)
    parts: dict[int, list[str]] = {}
    for r in stage.reductions if reduces else ():
        folding = reductions.fold(r.op, one.codes[r.value])
        loaded = []
        for k, (code, identity) in enumerate(zip(folding.codes, folding.identities, strict=True)):
            work = works.name(("partial", r.target, k), Work(code, "partials"))
            name = f"e{r.target}_{k}"
            found = f"tl.load({work} + ({axis} * cells + cell), mask=inside)"
            one.w.line(f"{name} = tl.where(inside, {found}, {identity})")
            loaded.append(name)
        if r.op in moments.FOLDS:
            code, stem = folding.codes[0], f"r{r.target}"
            parts[r.target] = moments.collapse_segments(one.w, tiles, r.op, code, loaded, stem)
            continue
        parts[r.target] = reductions.collapse(one.w, tiles, folding, loaded, f"r{r.target}")
    if reduces:
        one.finish(stage, parts)
    for row in rows:
        one.row(row)
    made = {*targets, *(i.target for row in rows for i in row.body if i.op not in ("const", "scalar"))}
    one.save(v for v in missing(kernel, kernel.stages[following:]) if v in made)
    one.note_odd()
    return one


def _starts(stage: Stage) -> list[Instruction]:
    """The instructions of a stage that its reductions' initial values need."""
    return needed(stage.body, [r.start for r in stage.reductions if r.start is not None])
