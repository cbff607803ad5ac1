"""Owns the order of loops: how NumPy walks an operand's axes, and how a nest arranges them."""

from __future__ import annotations

from lazyarray.ir.node import Shape
from lazyarray.schedule.demand import Domain


def memory_order(shape: Shape, strides: tuple[int, ...]) -> tuple[int, ...]:
    """Axes outermost first as NumPy's iterator sorts them: stable by |stride|; axes of extent 1 keep their place.

    An insertion sort from C order in which axes of stride 0 do not move others (npyiter_find_best_axis_ordering).
    """
    order: list[int] = []
    for axis in range(len(shape)):
        at = len(order)
        for k in range(len(order) - 1, -1, -1):
            other = order[k]
            if strides[axis] == 0 or strides[other] == 0 or shape[axis] == 1 or shape[other] == 1:
                continue
            if abs(strides[axis]) > abs(strides[other]):
                at = k
            else:
                break
        order.insert(at, axis)
    return tuple(order)


def inner_run(axes: tuple[int, ...], domain: Domain) -> tuple[int, ...]:
    """The innermost axes, outermost first, that are reduced one after another (axes of extent 1 left out)."""
    run: list[int] = []
    for axis in reversed(axes):
        if domain.shape[axis] == 1:
            continue
        if axis not in domain.reduced:
            break
        run.append(axis)
    return tuple(reversed(run))


def nest_order(axes: tuple[int, ...], domain: Domain) -> tuple[int, ...]:
    """Kept axes, then reduced ones, but a kept innermost axis stays innermost (backends run it in vectors)."""
    wide = [a for a in axes if domain.shape[a] != 1]
    flat = [a for a in axes if domain.shape[a] == 1]
    kept = [a for a in wide if a not in domain.reduced]
    reduced = [a for a in wide if a in domain.reduced]
    if not reduced:
        return (*flat, *kept)
    tail: list[int] = []
    while wide and wide[-1] not in domain.reduced:
        tail.insert(0, wide.pop())
    kept = [a for a in kept if a not in tail]
    return (*flat, *kept, *reduced, *tail)
