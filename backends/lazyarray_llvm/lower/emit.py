"""Owns the way from a kernel record to LLVM IR text: picks the form of the loops, the lanes, and writes the header."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from lazyarray.ir.ops import plain_name
from lazyarray.schedule.kernel import Kernel, Stage, Store
from lazyarray_llvm.builder import AnyValue, Module, Value, is_complex, itemsize
from lazyarray_llvm.engine import Host
from lazyarray_llvm.lower.ahead import ahead
from lazyarray_llvm.lower.body import Body
from lazyarray_llvm.lower.columns import Columns
from lazyarray_llvm.lower.facts import LONG, Levels, cost, merged, stage_instructions, vector_registers, widest
from lazyarray_llvm.lower.frame import Frame, Register
from lazyarray_llvm.lower.kernel import Form
from lazyarray_llvm.lower.lines import Lines
from lazyarray_llvm.lower.memory import along_lanes, fixed_step, load, store, store_or_stream
from lazyarray_llvm.lower.nest import Cell, Span, for_each_row
from lazyarray_llvm.lower.ordered import (
    Additions,
    Counters,
    added,
    count_bits,
    emit_vector,
    inside_row,
    mask_bits,
    needed_for,
    scatter,
)
from lazyarray_llvm.lower.packing import Packings
from lazyarray_llvm.lower.phases import emit_phases
from lazyarray_llvm.lower.point import Point
from lazyarray_llvm.lower.reduce import Rows
from lazyarray_llvm.lower.signature import Signature
from lazyarray_llvm.lower.streaming import streamed
from lazyarray_llvm.lower.tiles import Tiles
from lazyarray_llvm.lower.tiling import copied_accesses, in_lines, side_by_side, turned_accesses
from lazyarray_llvm.lower.values import value_codes


def describe(kernel: Kernel) -> str:
    """The kernel in words, as the header comment of its module."""
    lines = [f"kernel over axes {' '.join(kernel.roles)}"]
    for number, access in enumerate(kernel.accesses):
        lines.append(f"  access {number}: {access.code} steps {' '.join(access.steps)}")
    if kernel.scalars:
        lines.append(f"  scalars: {' '.join(kernel.scalars)}")
    for stage in kernel.stages:
        lines.append(f"  {stage.level} stage")
        for i in stage.body:
            lines.append(f"    {_spelled(i.target, i.op, i.args, i.code, i.attr)}")
        for r in stage.reductions:
            extra = "" if r.where is None else f" where v{r.where}"
            extra += "" if r.start is None else f" start v{r.start}"
            lines.append(f"    v{r.target}: {r.code} = reduce {r.op} v{r.value}{extra}")
        if stage.scan is not None:
            lines.append(f"    v{stage.scan.target}: {stage.scan.code} = scan {stage.scan.op} v{stage.scan.value}")
        for i in stage.after:
            lines.append(f"    {_spelled(i.target, i.op, i.args, i.code, i.attr)}")
        for s in stage.stores:
            place = f"{s.access}" if s.offset is None else f"{s.access} at v{s.offset}"
            where = "" if s.mask is None else f" where v{s.mask}"
            apart = ", rows apart" if s.apart else ""
            word = "pack" if s.packed else "add" if s.op == "add" else "store"
            lines.append(f"    {word} v{s.value} to {place}{where}{apart}")
        if stage.kept:
            lines.append(f"    keep {' '.join(f'v{v}' for v in stage.kept)}")
    return "\n".join(lines)


def _spelled(target: int, op: str, args: tuple[int, ...], code: str, attr: object) -> str:
    words = [op, *(f"v{a}" for a in args)]
    if attr is not None:
        words.append(str(attr))
    return f"v{target}: {code} = {' '.join(words)}"


def emit(kernel: Kernel, host: Host, form: Form = "whole") -> str:
    """The text of one module of a kernel (with at least one axis)."""
    module = Module(describe(kernel))
    signature = Signature(kernel)

    def frame() -> Frame:
        return Frame(module, kernel, signature, host, watched=form.endswith("watched"))

    if form.startswith("split"):
        for name, text in emit_phases(frame).items():
            module.define(name, text)
    elif kernel.packs:
        module.define("kernel", emit_packing(frame()))
        module.define("count", emit_counting(frame()))
    elif not kernel.reduces:
        module.define("kernel", emit_elementwise(frame(), lined=form.startswith("lines")))
    elif kernel.vector_reduced:
        module.define("kernel", Rows(frame()).whole("kernel"))
    else:
        module.define("kernel", Columns(frame()).whole("kernel"))
    return module.text()


# -- elementwise -------------------------------------------------------------------------------------------
_SHORT_BODY = 14  # below so many instructions, vectors are doubled for instruction level parallelism
_SINGLE_BODY = 40  # from so many on, only one masked copy of the body is emitted where masks are cheap
_LONGEST_PAIRED = 400  # up to so many, two vectors at once are worth compiling
_MOST_EMITTED = 900  # instructions of all vectors that are worked on at once: bounds compile time
_MOST_AT_ONCE = 4
# Vectors whose true lanes are looked for, and packed, at once: one branch in place of four, which is foreseen worse the
# fewer lanes are true, and reads of memory beside each other. Twice as many read more for few true lanes.
_PACKED_AT_ONCE = 4
_PLACED = 3  # instructions that add one lane at its place
_ROUNDED = 3  # instructions that a result of float16 takes beside the first, in halves of float32
_LATENCY = 4  # cycles until the result of an instruction can be used
_PER_CYCLE = 2  # vector instructions that start in a cycle
# Instructions that a core looks ahead, the next vectors of short bodies among them, for vectors of 64 bytes; half of
# them for narrower ones. A chain of 41 operations on 1e5 float64 with AVX2 on a Zen 4: 212 us with one vector at once,
# 142 with a window of 256 there (two vectors), 115 with 128 and 111 with 64 (four).
_WINDOW = 256
# Instructions that take tens of cycles and are not pipelined. Functions of many instructions fill the registers and the
# waiting time with their own: two vectors of Black-Scholes took between 0.9 and 1.9 times as long as one after another.
_WAITING = frozenset(("divide", "sqrt", "reciprocal"))


def vector_lanes(kernel: Kernel, stage: Stage, levels: Levels, host: Host) -> int:
    return max(1, min(64, host.vector_bytes // widest(kernel, [stage], levels)))


def waits(stage: Stage, codes: dict[int, str]) -> bool:
    """True when a stage of short operations divides or takes roots: meanwhile another vector can be worked on."""
    instructions = stage_instructions(stage)
    return LONG.isdisjoint(i.op for i in instructions) and any(
        i.op in _WAITING or (i.op == "absolute" and is_complex(codes[i.args[0]])) for i in instructions
    )


def vectors_at_once(stage: Stage, levels: Levels, work: int, host: Host) -> int:
    """How many vectors a body of short operations takes at once, so that chains of dependent ones leave no gaps."""
    if not LONG.isdisjoint(plain_name(i.op) for i in stage_instructions(stage)):
        return 1
    ready: dict[int, int] = {}
    for instruction in stage_instructions(stage):
        if levels.of(instruction.target) == 3:
            ready[instruction.target] = _LATENCY + max((ready.get(a, 0) for a in instruction.args), default=0)
    share = 1 if host.vector_bytes == 64 else 2
    gaps = max(ready.values(), default=0) * _PER_CYCLE / (work * max(1.0, _WINDOW / share / work))
    registers = vector_registers(host.vector_bytes)
    most = min(_MOST_AT_ONCE, _MOST_EMITTED // work, registers // max(1, most_alive(stage, levels)))
    count = 1
    while 2 * count <= most and count < gaps:
        count *= 2
    return count


def most_alive(stage: Stage, levels: Levels) -> int:
    """The most vectors of one body that are needed at any one place."""
    last = {a: place for place, i in enumerate(stage.body) for a in i.args}
    last |= {v: len(stage.body) for s in stage.stores for v in (s.value, s.mask, s.offset) if v is not None}
    alive = most = 0
    ends: dict[int, int] = {}
    for place, instruction in enumerate(stage.body):
        alive -= ends.pop(place, 0)
        if levels.of(instruction.target) == 3 and instruction.target in last:
            alive += 1
            end = last[instruction.target]
            ends[end] = ends.get(end, 0) + 1
        most = max(most, alive)
    return most


def elementwise_span(kernel: Kernel, stage: Stage, levels: Levels, host: Host, *, short: bool = False) -> Span:
    """Lanes and loops for a stage without reductions; `short`: rows may be as short as one vector."""
    lanes = vector_lanes(kernel, stage, levels, host)
    work = cost([stage], levels)
    numbers = {i.attr for i in stage.body if i.op in ("load", "gather")} | {s.access for s in stage.stores}
    steps = [fixed_step(kernel.accesses[n]) for n in numbers if isinstance(n, int)]
    if kernel.packs or kernel.scatters:
        if kernel.packs and host.vector_bytes >= 32 and work < _SHORT_BODY:
            # Instructions pack 64 lanes at most, of which a complex number takes two; more go lane by lane.
            most = 32 if any(is_complex(code) for code in value_codes(kernel).values()) else 64
            lanes = max(lanes, min(most, _PACKED_AT_ONCE * lanes))
        wide = lanes if kernel.packs else 2 * lanes
        return Span(lanes, wide, single=False, strict=any(step is not None and step > 1 for step in steps))
    moved = all(step in (0, 1) for step in steps)
    single = host.vector_bytes == 64 and work >= _SINGLE_BODY and moved
    at_once = 2 if work < _SHORT_BODY else 1
    if single or (host.vector_bytes < 64 and at_once == 1):
        if work <= _LONGEST_PAIRED and lanes <= 16 and waits(stage, value_codes(kernel)):
            at_once = 2
        else:
            at_once = min(vectors_at_once(stage, levels, work, host), max(1, 64 // lanes))
    if single:
        lanes *= at_once
    wide = lanes if single or None in steps else lanes * at_once
    strict = any(step is not None and step > 1 for step in steps)
    return Span(lanes, wide, single=single, strict=strict, short=short)


def asks_ahead(kernel: Kernel, stage: Stage, levels: Levels, host: Host) -> bool:
    """Whether a stage without reductions asks for the lines ahead of what it reads.

    Where little is done for a line, that gains little, and loses where all is in a cache: hardware does it, and a core
    looks ahead far enough. Narrow elements, computed on in wide ones, are many instructions for a line, and so are
    additions at index arrays: rgb to grey in float64 took 2.7 times as long as it need have, float16 1.4, weighted
    counts 1.2. What writes less than it reads is like a sum, which waits for its reads alone: to uint8 1.4 times, the
    absolute values of complex numbers 1.4, comparisons 1.1.
    """
    numbers = {i.attr for i in stage.body if i.op == "load" and isinstance(i.attr, int)}
    read = [kernel.accesses[number] for number in numbers if fixed_step(kernel.accesses[number]) != 0]
    if not read or any([fixed_step(access) is None for access in kernel.accesses]):
        return False  # where a step is wide, tiles are walked
    written = [kernel.accesses[t.access] for t in stage.stores]
    if max([itemsize(a.code) for a in written]) < max([itemsize(a.code) for a in read]):
        return True
    placed = sum([t.offset is not None and t.op == "add" for t in stage.stores])
    lanes = vector_lanes(kernel, stage, levels, host)
    halves = sum([i.code == "f2" and i.op != "load" and levels.of(i.target) == 3 for i in stage.body])
    work = cost([stage], levels) + _PLACED * lanes * placed + _ROUNDED * halves
    fastest = max([lanes * itemsize(a.code) * abs(fixed_step(a) or 0) for a in (*read, *written)])
    return work * max(1.0, host.vector_bytes / fastest) >= _SHORT_BODY


def emit_elementwise(frame: Frame, *, lined: bool = False) -> str:
    """The function of a kernel without reduction axes; `lined`: of its form that walks lines."""
    kernel = frame.kernel
    stage = merged(kernel)
    asks = asks_ahead(kernel, stage, Levels(kernel), frame.host)
    past = () if lined else streamed(kernel)
    lines = Lines(frame, kernel) if lined else None
    turned = [] if lined else turned_accesses(kernel, stage)
    tiles = Tiles(frame, turned, copied_accesses(kernel, stage)) if turned else None
    frame.kernel = kernel = in_lines(kernel) if lined else side_by_side(kernel, turned)
    levels = Levels(kernel)
    body = Body(frame, levels)
    last = len(kernel.roles) - 1
    span = elementwise_span(kernel, stage, levels, frame.host, short=last > 0 and not lined)
    used = range(len(kernel.accesses))

    def row(cell: Cell) -> None:
        body.compute(stage.body, 1)
        with frame.scope():
            body.settle()
            span.walk(frame, cell.start, cell.stop, [], vector)
            additions.finish_row()

    def vector(point: Point, _: list[Register]) -> list[Register]:
        env = body.vectors(stage.body, point)
        for target in stage.stores:
            put(body, target, env, point, past)
        return []

    body.rows = [frame.address(f"pointer{n}") for n in used]
    body.additions = additions = Additions(body, stage, span.lanes)
    if asks:
        body.ahead = cache(lambda number: ahead(frame, number) if lines is None else lines.ahead(number))
    body.compute(stage.body, 0)
    with frame.scope():
        body.settle()
        for_each_row(body, list(range(last)), last, row, used, tiles=tiles, lines=lines)
    additions.finish()
    return frame.function("kernel")


def put(body: Body, target: Store, env: dict[int, AnyValue], point: Point, past: Collection[int] = ()) -> None:
    """One store of a kernel without reduction axes, at one point; `past`: accesses that may be written past caches."""
    frame, base = body.frame, body.rows[target.access]
    mask = None if target.mask is None else body.value(target.mask, env, point.lanes)
    scattered = target.offset is not None and body.placed(target.access, target.offset) is None
    # One by one, what is the same everywhere is written from where it is.
    lanes = 1 if scattered and body.levels.of(target.value) < 3 else point.lanes
    value = body.value(target.value, env, lanes)
    assert mask is None or isinstance(mask, Value)
    if target.offset is not None:
        row = body.placed(target.access, target.offset)
        if row is not None:
            if target.op == "add":
                value = added(frame, load(frame, target.access, row, point), value)
            store(frame, target.access, row, point, value, mask)
            return
        whole = mask is None and point.active is None and point.lanes > 1
        if whole and body.additions is not None and target.op == "add" and body.levels.of(target.value) == 0:
            assert isinstance(value, Value)
            if value.code[0] in "iu":
                body.additions.keep(target, target.offset, value, env, point)
                return
        offsets = body.value(target.offset, env, point.lanes)
        assert isinstance(offsets, Value)
        places = along_lanes(frame, target.access, offsets, point)
        scatter(frame, base, point, value, places, mask, target.op)
    elif target.packed:
        assert target.mask is not None
        assert mask is not None
        assert body.packings is not None
        body.packings.put(target, base, point, value, mask, body.counts[target.mask])
    else:
        store_or_stream(frame, past, target.access, base, point, value, mask)


# -- packed stores and `expand` ----------------------------------------------------------------------------
def emit_packing(frame: Frame) -> str:
    """The function of a kernel that counts true lanes: a call begins where the counts of earlier tasks end."""
    kernel = frame.kernel
    levels, stage = Levels(kernel), merged(kernel)
    body = Body(frame, levels)
    span = elementwise_span(kernel, stage, levels, frame.host)
    counters = Counters(frame, kernel, stage)
    last, used = len(kernel.roles) - 1, range(len(kernel.accesses))

    def row(cell: Cell) -> None:
        body.compute(stage.body, 1)
        with frame.scope():
            body.settle()
            counters.store(span.walk(frame, cell.start, cell.stop, counters.load(), vector))

    def vector(point: Point, counts: list[Register]) -> list[Register]:
        return emit_vector(body, stage, counters, lambda target, env, at: put(body, target, env, at), point, counts)

    body.rows = [frame.address(f"pointer{n}") for n in used]
    body.compute(stage.body, 0)
    with frame.scope():
        body.settle()
        counters.begin()
        body.packings = packings = Packings(frame, stage.stores, body.rows, span.lanes, counters)
        for_each_row(body, list(range(last)), last, row, used)
    packings.finish()
    return frame.function("kernel")


def emit_counting(frame: Frame) -> str:
    """The function that counts the true lanes of each task."""
    kernel = frame.kernel
    levels, stage = Levels(kernel), merged(kernel)
    body = Body(frame, levels)
    counters = Counters(frame, kernel, stage)
    needed = tuple(i for i in stage.body if any(i in needed_for(stage, m) for m in counters.masks))
    stage = Stage("full", needed)
    lanes = max(8, min(64, frame.host.vector_bytes // widest(kernel, [stage], levels)))
    span = Span(lanes, lanes, single=False, strict=True)
    last, used = len(kernel.roles) - 1, range(len(kernel.accesses))
    place = frame.alloca("ptr", "task.counts")

    def task(t: Value) -> None:
        slots = [counters.slot(t, k) for k in range(len(counters.masks))]
        for at in slots:
            frame.b.line(f"store i64 0, ptr {at.ref}")
        frame.b.line(f"store ptr {slots[0].ref}, ptr {place.ref}")

    def row(cell: Cell) -> None:
        body.compute(stage.body, 1)
        with frame.scope():
            body.settle()
            zeros: list[Register] = [frame.number(0) for _ in counters.masks]
            counts = span.walk(frame, cell.start, cell.stop, zeros, vector)
            first = frame.pointer(f"load ptr, ptr {place.ref}", "counts")
            for k, count in enumerate(counts):
                assert isinstance(count, Value)
                at = frame.offset(first, frame.number(k), 8)
                total = frame.b.add(frame.b.emit(f"load i64, ptr {at.ref}", "i8", 1, "counted"), count)
                frame.b.line(f"store {total}, ptr {at.ref}")

    def vector(point: Point, counts: list[Register]) -> list[Register]:
        env = body.vectors(stage.body, point)
        after: list[Register] = []
        for number, count in zip(counters.masks, counts, strict=True):
            mask = body.value(number, env, point.lanes)
            assert isinstance(mask, Value)
            assert isinstance(count, Value)
            taken = inside_row(point, mask, "")
            assert taken is not None
            after.append(frame.b.add(count, count_bits(frame, mask_bits(frame, taken))))
        return after

    body.rows = [frame.address(f"pointer{n}") for n in used]
    body.compute(stage.body, 0)
    with frame.scope():
        body.settle()
        for_each_row(body, list(range(last)), last, row, used, begin=task)
    return frame.function("count")
