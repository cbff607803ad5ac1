"""Owns what launching a kernel asks of its record: its forms, their functions, and how launches are cut into tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Access, Kernel, Store
from lazyarray_llvm.lower.facts import Levels, can_split, cost, counted_masks, merged, phase_names
from lazyarray_llvm.lower.geometry import (
    Geometry,
    cut_apart,
    cut_columns,
    cut_elementwise,
    cut_ordered,
    cut_rows,
    cut_split,
    splits,
)

# A kernel is compiled whole, or split into phases for launches of few long rows (see `phases`).  The watched forms do
# the same and tell which values raised floating-point errors (see `watch`).
Form: TypeAlias = Literal["whole", "split", "whole watched", "split watched"]


def normalise(kernel: Kernel) -> Kernel:
    """The same kernel with at least one axis."""
    if kernel.roles:
        return kernel
    accesses = tuple(Access(a.code, ("0",)) for a in kernel.accesses)
    return kernel._replace(roles=("p",), accesses=accesses)


def functions_of(kernel: Kernel, form: Form) -> tuple[str, ...]:
    """The functions of a module, in the order that the phases of a launch number them."""
    if kernel.packs:
        return ("kernel", "count")
    return phase_names(kernel) if form.startswith("split") else ("kernel",)


def cutter(kernel: Kernel) -> Callable[[tuple[int, ...]], Geometry]:
    """The function that cuts launches of a kernel into tasks."""
    levels = Levels(kernel)
    work = cost(kernel.stages, levels)
    if kernel.packs or kernel.scatters:
        masks = len(counted_masks(merged(kernel)))
        stores = [t for s in kernel.stages for t in s.stores]
        if not kernel.packs and all(t.apart for t in stores if t.offset is not None):
            return lambda extents: cut_apart(kernel, extents, work)
        columns = not kernel.packs and all(walks_rows(kernel, t, levels) for t in stores)
        return lambda extents: cut_ordered(kernel, extents, work, masks, columns)
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


def walks_rows(kernel: Kernel, target: Store, levels: Levels) -> bool:
    """Whether a store with an offset writes whole rows: the offset is the same along the last axis."""
    moves = kernel.accesses[target.access].steps[-1] != "0"
    return moves and target.offset is not None and levels.of(target.offset) < 3
