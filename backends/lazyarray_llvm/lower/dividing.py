"""Owns which quotients and roots of a stage are products (`elementwise/exact.py`) and which a core's divider computes.

The divider takes its time beside the other units, one vector after another; products take theirs of the others' time.
So as many are products as make the longer of the two times shorter. A running total takes its time beside both: each
element waits for the one before.
"""

from __future__ import annotations

from typing import Final

from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Instruction, Kernel, Stage
from lazyarray_llvm.builder import is_complex, itemsize
from lazyarray_llvm.engine import Host
from lazyarray_llvm.lower.facts import Levels, cost, stage_instructions
from lazyarray_llvm.lower.values import value_codes

# Cycles for a vector of 64 bytes, two other instructions in each: in the divider, and as products.
_QUOTIENT: Final = {"f8": 16.0, "f4": 10.0}
_ROOT: Final = {"f8": 20.0, "f4": 12.0}
_BY_ONE, _BY_MANY, _AS_ROOT = 4.0, 10.0, 11.0
_PER_CYCLE = {64: 2, 32: 3}  # instructions; half the width takes half the time to divide
_ADDITION: Final = 4.0  # cycles until its result can be added to


class Division(NamedTuple):
    """An instruction's time in the divider, and that of the products in its place; None where there are none."""

    target: int
    divider: float
    products: float | None


def by_products(kernel: Kernel, levels: Levels, host: Host) -> frozenset[int]:
    """The instructions of a kernel whose quotients and roots are products."""
    if host.vector_bytes not in _PER_CYCLE:
        return frozenset()
    codes = value_codes(kernel)
    return frozenset([target for stage in kernel.stages for target in _chosen(kernel, stage, levels, codes, host)])


def _chosen(kernel: Kernel, stage: Stage, levels: Levels, codes: dict[int, str], host: Host) -> list[int]:
    inside = [i for i in stage_instructions(stage) if levels.of(i.target) == 3]
    found = [division for i in inside for division in _divisions(i, levels, codes, host)]
    moved = sum([i.op in ("load", "gather") for i in inside]) + len(stage.stores)
    divider = sum([one.divider for one in found]) * host.vector_bytes / 64
    turns = 2 if host.halves_vectors else 1
    others = (cost([stage], levels) - moved) * turns / _PER_CYCLE[host.vector_bytes]
    waits = _waits(stage, host) if kernel.vector_reduced else 0.0
    chosen = []
    for one in sorted([one for one in found if one.products is not None], key=_gain, reverse=True):
        after = divider - one.divider * host.vector_bytes / 64
        work = others + (one.products or 0.0) * turns
        if max(after, work, waits) < max(divider, others, waits):
            divider, others = after, work
            chosen.append(one.target)
    return chosen


def _waits(stage: Stage, host: Host) -> float:
    """The cycles that a vector of a running total along its lanes takes at least."""
    scan = stage.scan
    return 0.0 if scan is None or scan.code[0] not in "fc" else _ADDITION * host.vector_bytes / itemsize(scan.code)


def _gain(division: Division) -> float:
    return division.divider / (division.products or 1.0)


def _divisions(i: Instruction, levels: Levels, codes: dict[int, str], host: Host) -> list[Division]:
    many = _BY_MANY if host.slow_division else None
    if i.op == "absolute" and is_complex(codes[i.args[0]]):
        code = "f8" if codes[i.args[0]] == "c16" else "f4"
        return [Division(i.target, _QUOTIENT[code], many if code == "f8" else None), Division(-1, _ROOT[code], None)]
    by_one = i.op == "divide" and levels.of(i.args[1]) < 3
    if i.code in ("c8", "c16"):
        if by_one or i.code == "c8" or i.op not in ("divide", "reciprocal"):
            return []
        third = [Division(-1, _QUOTIENT["f8"], None)] if i.op == "reciprocal" else []
        return [Division(i.target, 2 * _QUOTIENT["f8"], None if many is None else 2 * many), *third]
    if i.code not in _QUOTIENT or i.op not in ("divide", "reciprocal", "sqrt"):
        return []
    if by_one:
        return [Division(i.target, _QUOTIENT[i.code], _BY_ONE if i.code == "f8" or host.has_avx512 else None)]
    as_products = None if many is None or i.code == "f4" else _AS_ROOT if i.op == "sqrt" else many
    return [Division(i.target, (_ROOT if i.op == "sqrt" else _QUOTIENT)[i.code], as_products)]
