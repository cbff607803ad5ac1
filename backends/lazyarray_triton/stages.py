"""Owns what stages of a kernel need of one another: dtypes, what is computed again or missing; loads come first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lazyarray.ir.ops import OPS
from lazyarray.schedule.kernel import Instruction, Kernel, Stage

_BRANCHING = frozenset(("divide", "reciprocal", "sqrt", "floor_divide", "remainder", "fmod"))
_LOADS_FIRST = 8


def loads_first(instructions: list[Instruction]) -> list[Instruction]:
    """Loads before what may branch, behind which they would wait for one another: the compiler moves none across.

    Many would take registers for long.
    """
    branching = [
        k for k, i in enumerate(instructions) if i.op in _BRANCHING or (i.op in OPS and OPS[i.op].transcendental)
    ]
    loads = [i for i in instructions if i.op == "load"]
    if not branching or len(loads) > _LOADS_FIRST:
        return instructions
    return [*loads, *[i for i in instructions if i.op != "load"]]


def codes_of(kernel: Kernel) -> dict[int, str]:
    """The dtype of every value of a kernel."""
    found: dict[int, str] = {}
    for stage in kernel.stages:
        found |= {i.target: i.code for i in (*stage.body, *stage.after)}
        found |= {r.target: r.code for r in stage.reductions}
        if stage.scan is not None:
            found[stage.scan.target] = stage.scan.code
    return found


def recomputed(kernel: Kernel, stage: Stage, kept: int) -> list[Instruction] | None:
    """The instructions that compute a kept value again in a later stage; None where stores came between."""
    last = kernel.stages.index(stage)
    made: dict[int, tuple[int, Instruction]] = {}
    for number, earlier in enumerate(kernel.stages[:last]):
        if earlier.level == "full":
            made |= {i.target: (number, i) for i in earlier.body}
    found: dict[int, Instruction] = {}
    pending, first = [kept], last
    while pending:
        value = pending.pop()
        if value in found or value not in made:
            continue
        number, instruction = made[value]
        first = min(first, number)
        found[value] = instruction
        pending += [int(instruction.attr or 0)] if instruction.op == "recall" else instruction.args
    if kept not in found or any(s.stores for s in kernel.stages[first:last]):
        return None
    order = [i.target for s in kernel.stages for i in s.body]
    return [found[v] for v in sorted(found, key=order.index)]


def missing(kernel: Kernel, stages: Sequence[Stage], defined: Iterable[int] = ()) -> list[int]:
    """The values of rows that stages use and earlier ones define."""
    known: set[int] = set(defined)
    found: dict[int, None] = {}
    for stage in stages:
        again = [i for r in stage.body if r.op == "recall" for i in recomputed(kernel, stage, int(r.attr or 0)) or ()]
        inside = {i.target for i in (*again, *stage.body, *stage.after)}
        used = [a for i in (*again, *stage.body, *stage.after) for a in i.args]
        used += [v for r in stage.reductions for v in (r.value, r.where, r.start) if v is not None]
        used += [v for s in stage.stores for v in (s.value, s.mask, s.offset) if v is not None]
        used += [stage.scan.value] if stage.scan is not None else []
        mine = (
            inside | {r.target for r in stage.reductions} | ({stage.scan.target} if stage.scan is not None else set())
        )
        found |= {v: None for v in used if v not in mine and v not in known}
        if stage.level == "row":
            known |= inside
        known |= {r.target for r in stage.reductions}
    return list(found)
