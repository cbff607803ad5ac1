"""Owns the way from a kernel record to LLVM IR text: picks the form of the loops, the lanes, and writes the header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Access, Kernel, Stage
from lazyarray_llvm.builder import Module, Value
from lazyarray_llvm.engine import Host
from lazyarray_llvm.lower.body import Body, Levels, cost, widest
from lazyarray_llvm.lower.columns import Columns
from lazyarray_llvm.lower.frame import Frame, Register
from lazyarray_llvm.lower.geometry import Geometry, cut_columns, cut_elementwise, cut_rows, cut_split, splits
from lazyarray_llvm.lower.memory import Point, fixed_step, store
from lazyarray_llvm.lower.nest import Cell, Span, for_each_row
from lazyarray_llvm.lower.phases import can_split, emit_phases, phase_names
from lazyarray_llvm.lower.reduce import Rows
from lazyarray_llvm.lower.signature import Signature

# A kernel is compiled whole, or split into phases for launches of few long rows (see `phases`).
Form: TypeAlias = Literal["whole", "split"]


def normalise(kernel: Kernel) -> Kernel:
    """The same kernel with at least one axis."""
    if kernel.roles:
        return kernel
    accesses = tuple(Access(a.code, ("0",)) for a in kernel.accesses)
    return replace(kernel, roles=("p",), accesses=accesses)


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
            lines.append(f"    store v{s.value} to {s.access}" + ("" if s.mask is None else f" where v{s.mask}"))
        if stage.kept:
            lines.append(f"    keep {' '.join(f'v{v}' for v in stage.kept)}")
    return "\n".join(lines)


def _spelled(target: int, op: str, args: tuple[int, ...], code: str, attr: object) -> str:
    words = [op, *(f"v{a}" for a in args)]
    if attr is not None:
        words.append(str(attr))
    return f"v{target}: {code} = {' '.join(words)}"


def functions_of(kernel: Kernel, form: Form) -> tuple[str, ...]:
    """The functions of a module, in the order that the phases of a launch number them."""
    return phase_names(kernel) if form == "split" else ("kernel",)


def cutter(kernel: Kernel) -> Callable[[tuple[int, ...]], Geometry]:
    """The function that cuts launches of a kernel into tasks."""
    levels = Levels(kernel)
    work = cost(kernel.stages, levels)
    if not kernel.reduces:
        return lambda extents: cut_elementwise(kernel, extents, work)
    if not kernel.vector_reduced:
        return lambda extents: cut_columns(kernel, extents, work)
    splittable = can_split(kernel)

    def cut(extents: tuple[int, ...]) -> Geometry:
        if splittable and splits(kernel, extents):
            return cut_split(kernel, extents, work)
        return cut_rows(kernel, extents, work)

    return cut


def emit(kernel: Kernel, host: Host, form: Form = "whole") -> str:
    """The text of one module of a kernel (with at least one axis)."""
    module = Module(describe(kernel))
    signature = Signature(kernel)

    def frame() -> Frame:
        return Frame(module, kernel, signature, host)

    if form == "split":
        for name, text in emit_phases(frame).items():
            module.define(name, text)
    elif not kernel.reduces:
        module.define("kernel", emit_elementwise(frame()))
    elif kernel.vector_reduced:
        module.define("kernel", Rows(frame()).whole("kernel"))
    else:
        module.define("kernel", Columns(frame()).whole("kernel"))
    return module.text()


# -- elementwise -------------------------------------------------------------------------------------------
_SHORT_BODY = 14  # below so many instructions, vectors are doubled for instruction level parallelism
_SINGLE_BODY = 40  # from so many on, only one masked copy of the body is emitted where masks are cheap


def merged(kernel: Kernel) -> Stage:
    """All stages of a kernel without reduction axes as one."""
    stages = kernel.stages
    return Stage(
        "full",
        tuple(i for s in stages for i in (*s.body, *s.after)),
        stores=tuple(t for s in stages for t in s.stores),
    )


def vector_lanes(kernel: Kernel, stage: Stage, levels: Levels, host: Host) -> int:
    return max(1, min(64, host.vector_bytes // widest(kernel, [stage], levels)))


def elementwise_span(kernel: Kernel, stage: Stage, levels: Levels, host: Host) -> Span:
    """Lanes and loops for a stage without reductions."""
    lanes = vector_lanes(kernel, stage, levels, host)
    work = cost([stage], levels)
    numbers = {i.attr for i in stage.body if i.op == "load"} | {s.access for s in stage.stores}
    steps = [fixed_step(kernel.accesses[n]) for n in numbers if isinstance(n, int)]
    moved = all(step in (0, 1) for step in steps)
    single = host.vector_bytes == 64 and work >= _SINGLE_BODY and moved
    wide = lanes if single or work >= _SHORT_BODY or None in steps else 2 * lanes
    return Span(lanes, wide, single=single, strict=any(step is not None and step > 1 for step in steps))


def emit_elementwise(frame: Frame) -> str:
    """The function of a kernel without reduction axes."""
    kernel = frame.kernel
    levels = Levels(kernel)
    stage = merged(kernel)
    body = Body(frame, levels)
    last = len(kernel.roles) - 1
    span = elementwise_span(kernel, stage, levels, frame.host)
    used = range(len(kernel.accesses))

    def row(cell: Cell) -> None:
        body.compute(stage.body, 1)
        with frame.scope():
            body.settle()
            span.walk(frame, cell.start, cell.stop, [], vector)

    def vector(point: Point, _: list[Register]) -> list[Register]:
        env = body.vectors(stage.body, point)
        for target in stage.stores:
            mask = None if target.mask is None else body.value(target.mask, env, point.lanes)
            assert mask is None or isinstance(mask, Value)
            store(
                frame,
                target.access,
                body.rows[target.access],
                point,
                body.value(target.value, env, point.lanes),
                mask,
            )
        return []

    body.rows = [frame.address(f"pointer{n}") for n in used]
    body.compute(stage.body, 0)
    with frame.scope():
        body.settle()
        for_each_row(body, list(range(last)), last, row, used)
    return frame.function("kernel")
