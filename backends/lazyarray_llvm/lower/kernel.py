"""Owns what launching a kernel asks of its record: its forms, their functions, and how launches are cut into tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Access, Kernel, Stage, Store
from lazyarray_llvm.lower.facts import Levels, can_split, cost, counted_masks, merged, phase_names
from lazyarray_llvm.lower.geometry import (
    Geometry,
    cost_of_point,
    cut_apart,
    cut_columns,
    cut_elementwise,
    cut_ordered,
    cut_rows,
    cut_split,
    splits,
)
from lazyarray_llvm.lower.tiling import line_elements

# A kernel is compiled whole, or split into phases for launches of few long rows (see `phases`), or in lines, for short
# rows (see `lines`).  The watched forms do the same and tell which values raised floating-point errors (see `watch`).
Form: TypeAlias = Literal["whole", "split", "lines", "whole watched", "split watched", "lines watched"]


def normalise(kernel: Kernel) -> Kernel:
    """The same kernel with at least one axis, and with sums of masks along the last one as counts."""
    if kernel.vector_reduced:
        return kernel._replace(stages=tuple(count_masks(stage) for stage in kernel.stages))
    if kernel.roles:
        return kernel
    accesses = tuple(Access(a.code, ("0",)) for a in kernel.accesses)
    return kernel._replace(roles=("p",), accesses=accesses)


def count_masks(stage: Stage) -> Stage:
    """sum(i8(m)), sum(f8(m)) -> count(m), for a mask m whose numbers nobody else needs.

    Exact: both are the number of true elements, which float64 holds on the way to it, in whatever order. Vectors need
    not be as narrow as those of numbers then.
    """
    casts = {i.target: i.args[0] for i in stage.body if i.op == "cast" and i.code in ("i8", "u8", "f8")}
    codes = {i.target: i.code for i in stage.body}
    found = [r for r in stage.reductions if r.op in _SUMS and codes.get(casts.get(r.value, -1)) == "b1"]
    sums = [r.value for r in found if r.code == codes[r.value]]
    needed = {a for i in (*stage.body, *stage.after) for a in i.args}.union(*uses_beside_sums(stage))
    counted = {value for value in sums if value not in needed}
    if not counted:
        return stage
    reductions = (
        r._replace(op="count", value=casts[r.value]) if r.op in _SUMS and r.value in counted else r
        for r in stage.reductions
    )
    body = tuple(i for i in stage.body if i.target not in counted)
    return stage._replace(body=body, reductions=tuple(reductions))


_SUMS = ("sum", "buffered_sum")


def uses_beside_sums(stage: Stage) -> Iterator[set[int | None]]:
    """The values that the stage's stores, scan and reductions need, but for what is summed."""
    yield {v for t in stage.stores for v in (t.value, t.mask, t.offset)}
    yield {v for r in stage.reductions for v in (r.where, r.start, None if r.op in _SUMS else r.value)}
    yield {*stage.kept} if stage.scan is None else {*stage.kept, stage.scan.value}


def functions_of(kernel: Kernel, form: Form) -> tuple[str, ...]:
    """The functions of a module, in the order that the phases of a launch number them."""
    if kernel.packs:
        return ("kernel", "count")
    return phase_names(kernel) if form.startswith("split") else ("kernel",)


def cutter(kernel: Kernel) -> Callable[[tuple[int, ...]], Geometry]:
    """The function that cuts launches of a kernel into tasks."""
    levels = Levels(kernel)
    each = cost_of_point(kernel, cost(kernel.stages, levels))
    if kernel.packs or kernel.scatters:
        masks = len(counted_masks(merged(kernel)))
        stores = [t for s in kernel.stages for t in s.stores]
        if not kernel.packs and all(t.apart for t in stores if t.offset is not None):
            return lambda extents: cut_apart(kernel, extents, each)
        columns = not kernel.packs and all(walks_rows(kernel, t, levels) for t in stores)
        return lambda extents: cut_ordered(kernel, extents, each, masks, columns)
    if not kernel.reduces:
        lines = line_elements(kernel) > 0
        return lambda extents: cut_elementwise(kernel, extents, each, lines)
    if not kernel.vector_reduced:
        return lambda extents: cut_columns(kernel, extents, each)
    splittable = can_split(kernel)

    def cut(extents: tuple[int, ...]) -> Geometry:
        if splittable and splits(kernel, extents):
            return cut_split(kernel, extents, each)
        return cut_rows(kernel, extents, each)

    return cut


def walks_rows(kernel: Kernel, target: Store, levels: Levels) -> bool:
    """Whether a store with an offset writes whole rows: the offset is the same along the last axis."""
    moves = kernel.accesses[target.access].steps[-1] != "0"
    return moves and target.offset is not None and levels.of(target.offset) < 3
