"""Owns which results may be written over a value that ends with the step that makes them (`w *= 0.5`)."""

from __future__ import annotations

from typing import Final

from lazyarray.ir.index_map import size_of
from lazyarray.schedule.kernel import Kernel, Store
from lazyarray.schedule.plan import ClaimStep, KernelStep, Plan

LARGE: Final = 1 << 18  # bytes: below, memory that the pool has again lies in a cache


def heirs_of(plan: Plan) -> tuple[tuple[int, int], ...]:
    """Pairs of slots (result, old) of the last step, which reads `old` only where it writes the result.

    Of the last step alone: no error of a later one can ask for what was computed of the old value.
    """
    step = plan.steps[-1] if plan.steps else None
    if type(step) is not KernelStep or size_of(step.extents) == 0:
        return ()
    claimed = {s.result for s in plan.steps if type(s) is ClaimStep}
    found: list[tuple[int, int]] = []
    left = [slot for slot in plan.frees[-1] if slot not in step.writes]
    for store in _plain_stores(step.kernel):
        target = step.walks[store.access]
        result = target.slot
        shape, code = plan.shapes[result], plan.codes[result]
        if result in claimed or plan.nbytes(result) < LARGE or size_of(shape) != size_of(step.extents):
            continue
        for old in left:
            alike = plan.shapes[old] == shape and plan.codes[old] == code
            if alike and all(walk[1:] == target[1:] for walk in step.walks if walk.slot == old):
                found.append((result, old))
                left.remove(old)
                break
    return tuple(found)


def _plain_stores(kernel: Kernel) -> list[Store]:
    """The stores of a kernel that computes each element by itself and writes it whole; none of other kernels."""
    if len(kernel.stages) != 1 or kernel.stages[0].reductions or kernel.stages[0].scan is not None:
        return []
    stores = kernel.stages[0].stores
    simple = all(s.mask is None and s.offset is None and not s.packed and s.op == "set" for s in stores)
    return list(stores) if simple else []
