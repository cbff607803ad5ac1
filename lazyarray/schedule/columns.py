"""Owns short rows as columns: reductions of a few elements each, turned so that vectors go from row to row.

A row of three elements is a vector cut short, and folding it takes longer than computing it. Where rows are many and so
short that NumPy adds their elements one after another, the nest of columns does the same with as many rows at once as a
vector has lanes.
"""

from __future__ import annotations

from typing import Final

from lazyarray.schedule.kernel import Access, Instruction, Kernel, Reduction, Stage
from lazyarray.schedule.nest import kernel_steps
from lazyarray.schedule.plan import KernelStep, Walk

# NumPy's pairwise sum adds fewer than eight numbers one after another, two of which are a complex one
# (numpy/_core/src/umath/loops_utils.h.src).
_LONGEST: Final = 7
_LONGEST_COMPLEX: Final = 3
# Where the order does not show, rows are columns while that is faster. 240,000 float64 with AVX-512, in rows of 8:
# `max` 93 us and 55 as columns, `argmax` 170 and 65; in rows of 24 41 and 51, 72 and 57. Sums of integers gain up to 7.
_LONGEST_OF: Final = {"min": 9, "max": 9, "fmin": 9, "fmax": 9, "argmin": 16, "argmax": 16}
_UNLIKE: Final = ("prod", "c")  # along rows NumPy rounds each part of a product, across them their sums alone
_FEWEST: Final = 64  # rows


def by_columns(step: KernelStep) -> KernelStep:
    """The step with its last two axes exchanged, if its rows are short, many, and have the same results so.

    Exact: the reductions of a nest of columns go in logical order, as NumPy's along such rows do.
    """
    kernel, extents = step.kernel, step.extents
    if kernel.roles[-2:] != ("p", "r") or kernel.roles.count("r") != 1:
        return step
    longest = min(map(_longest, kernel.stages))
    if not 1 < extents[-1] <= longest or extents[-2] < _FEWEST:
        return step
    extents = _exchanged(extents)
    walks = tuple(walk._replace(strides=_exchanged(walk.strides)) for walk in step.walks)
    accesses = tuple(_turned(access, walk, extents) for access, walk in zip(kernel.accesses, walks, strict=True))
    stages = tuple(_renumbered(stage, len(extents)) for stage in kernel.stages)
    return step._replace(
        kernel=Kernel((*kernel.roles[:-2], "r", "p"), accesses, kernel.scalars, stages),
        extents=extents,
        walks=walks,
        strides=tuple(walk.strides for walk in walks),
    )


def _longest(stage: Stage) -> int:
    """Up to how many elements a row may have for the stage to have the same results by columns, and sooner."""
    if stage.scan is not None:
        return 0 if (stage.scan.op, stage.scan.code[0]) == _UNLIKE else _LONGEST
    return min([_longest_row(r) for r in stage.reductions], default=max(_LONGEST_OF.values()))


def _longest_row(reduction: Reduction) -> int:
    """The same of a reduction: as long as NumPy combines elements one after another, in the dtype of the result.

    Half floats are added in float32. Where some elements are left out, each run of others is added up by itself, and so
    is a row that has an initial value.
    """
    code = reduction.code
    if reduction.op not in ("sum", "buffered_sum", "prod") or code[0] not in "fc":
        return _LONGEST if code == "b1" else _LONGEST_OF.get(reduction.op, _LONGEST)
    if reduction.where is not None or reduction.start is not None:
        return 0
    if code == "f2" or (reduction.op, code[0]) == _UNLIKE:
        return 0
    return _LONGEST if code[0] == "f" else _LONGEST_COMPLEX


def _exchanged(items: tuple[int, ...]) -> tuple[int, ...]:
    """With the last two exchanged."""
    return (*items[:-2], items[-1], items[-2])


def _turned(access: Access, walk: Walk, extents: tuple[int, ...]) -> Access:
    """The access as its walk is now."""
    size = int(access.code[1:])
    return access._replace(steps=kernel_steps(tuple(stride // size for stride in walk.strides), extents))


def _renumbered(stage: Stage, axes: int) -> Stage:
    """The stage with the numbers of the last two axes exchanged."""
    other = {axes - 1: axes - 2, axes - 2: axes - 1}

    def renumber(instruction: Instruction) -> Instruction:
        if instruction.op != "index":
            return instruction
        assert isinstance(instruction.attr, int)
        return instruction._replace(attr=other.get(instruction.attr, instruction.attr))

    return stage._replace(body=tuple(map(renumber, stage.body)), after=tuple(map(renumber, stage.after)))
