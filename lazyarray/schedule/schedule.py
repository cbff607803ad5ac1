"""Owns scheduling: expression to plan, by way of passes, fusion groups and kernel records."""

from __future__ import annotations

from collections.abc import Callable

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import IndexMap, is_identity, size_of
from lazyarray.passes.pipeline import run_passes
from lazyarray.schedule.fusion import FEWEST_AGAIN, Cut, Fusion, Group
from lazyarray.schedule.nest import nest
from lazyarray.schedule.pieces import cut_into_pieces
from lazyarray.schedule.plan import CallStep, ClaimStep, EmptyStep, KernelStep, Plan, Step


def schedule(expression: Expression, observe: Callable[[str, Expression], None] | None = None) -> Plan:
    """The plan that evaluates the expression's outputs. `observe` gets each pass' name and what it made."""
    rewritten = run_passes(expression, observe)
    while True:
        try:
            fusion = Fusion(rewritten.expression)
            break
        except Cut as cut:
            rewritten = cut_into_pieces(rewritten, cut.roots)
    entries, outputs = rewritten.expression
    return assemble(entries, outputs, fusion, rewritten.origins)


def assemble(
    entries: tuple[Entry, ...], outputs: tuple[int, ...], fusion: Fusion, origins: tuple[int | None, ...]
) -> Plan:
    """Steps of all groups in order, with what each reads, makes and frees."""
    groups = fusion.groups
    reads = [slots_read(entries, group) for group in groups]
    needed = set(outputs).union(*reads)
    steps: list[Step] = []
    last: list[int] = []  # per group its last step
    for number, group in enumerate(groups):
        later = set(outputs).union(*reads[number + 1 :])
        steps += steps_of(entries, group, needed, later)
        last.append(len(steps) - 1)
    last_use: dict[int, int] = {}
    for number, step in enumerate(steps):
        for slot in slots_of(step):
            last_use[slot] = number
    frees: list[list[int]] = [[] for _ in steps]
    for slot, number in last_use.items():
        if slot not in outputs:
            frees[number].append(slot)
    return Plan(
        tuple(steps),
        tuple(tuple(f) for f in frees),
        outputs,
        origins,
        tuple(e.shape for e in entries),
        tuple(e.code for e in entries),
        {slot: reason for slot, reason in fusion.why.items() if slot not in outputs},
        {slot: times for slot, times in fusion.times().items() if times > FEWEST_AGAIN},
        {last[number]: (last[other], reason) for number, (other, reason) in fusion.apart.items()},
        entries,
    )


def slots_read(entries: tuple[Entry, ...], group: Group) -> set[int]:
    """Slots whose memory the group reads, those of its own roots left out."""
    found: set[int] = set()
    if group.puller is not None:
        found |= {*(slot for slot, _ in group.puller.loads), *group.puller.gathered}
    root = group.roots[0]
    kind = entries[root].kind
    args = entries[root].args
    if kind in ("update", "scatter"):
        found.add(args[0])
    if kind == "call":
        found |= {memory_arg(entries, a)[0] for a in args}
    return found


def memory_arg(entries: tuple[Entry, ...], position: int) -> tuple[int, IndexMap | None]:
    """A library call's argument as a slot and the map through which it is seen."""
    entry = entries[position]
    if entry.kind != "view":
        return position, None
    offset, strides = entry.attr
    view = IndexMap(offset, entry.shape, strides)
    source = entry.args[0]
    return source, None if is_identity(view, entries[source].shape) else view


def steps_of(entries: tuple[Entry, ...], group: Group, needed: set[int], later: set[int]) -> list[Step]:
    """One group's steps."""
    root = group.roots[0]
    entry = entries[root]
    if entry.kind == "call":
        return [CallStep(entry.attr, tuple(memory_arg(entries, a) for a in entry.args), root)]
    if entry.kind == "empty":
        return [EmptyStep(root)]
    steps: list[Step] = []
    if entry.kind in ("update", "scatter"):
        old = entry.args[0]
        steps.append(ClaimStep(old, root, copy=group.copies or old in later))
        if size_of(group.domain.shape) == 0:
            return steps
        return [*steps, nest(entries, group, [root])]
    stored = [r for r in group.roots if r in needed]
    live = [r for r in stored if size_of(entries[r].shape)]
    steps += [EmptyStep(r) for r in stored if r not in live]
    return [*steps, nest(entries, group, live)] if live else steps


def slots_of(step: Step) -> set[int]:
    """Slots that a step reads or makes."""
    if isinstance(step, KernelStep):
        return {w.slot for w in step.walks}
    if isinstance(step, ClaimStep):
        return {step.old, step.result}
    if isinstance(step, CallStep):
        return {step.result, *(slot for slot, _ in step.args)}
    return {step.result}
