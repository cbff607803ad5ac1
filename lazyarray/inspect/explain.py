"""Owns `explain`: what an evaluation runs or ran, kernel by kernel, with the user's lines and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod
from typing import Any, Final

from lazyarray.errors import InspectError
from lazyarray.frontend import array as core
from lazyarray.frontend.boundary import evaluate_all
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.inspect.ahead import Made, Sites, foresee
from lazyarray.inspect.edits import ALONG, NAMED, READ_FIRST, RELEASES, edit_for, edit_for_fallback
from lazyarray.inspect.lines import Line, find_line, is_assignment
from lazyarray.inspect.notes import CallNote, KernelNote, Operand, Operation, Reason
from lazyarray.inspect.notes import Explanation as Explanation
from lazyarray.inspect.text import bytes_text
from lazyarray.ir.expression import Entry
from lazyarray.ir.node import Node, Site
from lazyarray.runtime.along import SMALL_RESULT, is_pending
from lazyarray.runtime.device import placement
from lazyarray.runtime.device_run import AN_INPUT
from lazyarray.runtime.evaluate import ASKED, JOINED
from lazyarray.runtime.ledger import Runs, ledger
from lazyarray.runtime.settling import Wanted
from lazyarray.schedule.demand import RESHAPED
from lazyarray.schedule.plan import CallStep, ClaimStep, KernelStep, Plan
from lazyarray.schedule.printer import format_kernel

_COPY: Final = "use or evaluate what was made of the array before writing into it"


def explain(*given: Any) -> Explanation:
    """What evaluating arrays runs, or ran; or what a call runs: `explain(a, b)`, `explain(function, arg, ...)`.

    Pending arrays are planned and stay pending. For arrays that are evaluated already, the evaluation that made them
    is told. A function is called with the arguments, and its result is evaluated.
    """
    if not given:
        raise InspectError("explain() takes arrays, or a function and its arguments")
    if callable(given[0]) and not isinstance(given[0], core.ndarray | LazyScalar):
        return explain_call(given[0], given[1:])
    nodes = [node for node in map(node_of, given) if node is not None]
    found = Explanation(evaluated=not any(is_pending(node) for node in nodes), at_once=len(given) - len(nodes))
    made, untold = plans_behind(nodes)
    found.at_once += untold
    describe(found, made)
    pending = [node for node in nodes if is_pending(node)]
    if pending:
        found.reasons += transfers_ahead(foresee(pending)[2])
    return found


def plans_behind(nodes: list[Node]) -> tuple[list[Made], int]:
    """The plans that will make or made the nodes, and how many nodes no plan made."""
    made: list[Made] = []
    pending = [node for node in nodes if is_pending(node)]
    if pending:
        made.append(foresee(pending)[0])
    untold = 0
    for node in nodes:
        known: Made | None = node.made
        if is_pending(node):
            continue
        if known is None:
            untold += 1
        elif all(known[1] is not other[1] for other in made):
            made.append(known)
    return made, untold


def explain_call(function: Callable[..., Any], args: Iterable[Any]) -> Explanation:
    """What a call and the evaluation of its result run."""
    with ledger.recording() as runs:
        evaluate_all((function(*args),))
    found = Explanation(evaluated=True)
    for made, used in zip(runs.plans, used_later(runs), strict=True):
        describe(found, (made,), used)
    found.reasons += computed_before(runs)
    found.reasons = [reason for reason in found.reasons if reason.kind != "copy"] + reasons_of(runs)  # as they happened
    return found


def node_of(value: Any) -> Node | None:
    """The node of an array or scalar; None for what never was recorded."""
    if isinstance(value, LazyScalar):
        return value._node
    if not isinstance(value, core.ndarray):
        raise InspectError(f"expected lazyarray's arrays, not {type(value).__name__}; np.asarray() makes one")
    if value._np is not None:
        return None
    node: Node | None = value._node
    return value._base.node if node is None else node


# ---- steps


def describe(found: Explanation, made: Iterable[Made], used: frozenset[int] = frozenset()) -> None:
    """Adds the steps of plans, and the reasons for their number and their memory.

    `used`: results that later evaluations read, so that nobody can say that they were kept in vain.
    """
    for plan, sites, wanted in made:
        numbers: dict[int, int] = {}
        for place, step in enumerate(plan.steps):
            if isinstance(step, KernelStep):
                numbers[place] = len(found.kernels)
                note = kernel_note(plan, place, step, sites, numbers, wanted)
                found.steps.append(note)
                if note.apart:
                    what = f"kernel {numbers[place] + 1} is a nest of its own"
                    if note.earlier is not None:
                        what = f"kernel {numbers[place] + 1} is not part of kernel {note.earlier + 1}"
                    line = next((o.line for o in reversed(note.operations) if o.line is not None), None)
                    edit = edit_for(plan.apart[place][1])
                    found.reasons.append(Reason(what, note.apart, edit, line, "cut"))
            elif isinstance(step, CallStep):
                found.steps.append(call_note(plan, step, sites, wanted))
            elif isinstance(step, ClaimStep) and step.copy:
                why, size = "older values of it are still to be read", plan.nbytes(step.result)
                line = line_at(plan, step.result, sites)
                found.reasons.append(Reason("copy before a write", why, _COPY, line, "copy", size))
        found.reasons += memory_reasons(plan, sites) + unasked_reasons(plan, sites, wanted, used)


def memory_reasons(plan: Plan, sites: Sites) -> list[Reason]:
    """Values in memory that nobody asked for, and values computed more than once."""
    found = []
    fresh = made_first(plan)
    for slot, why in plan.why.items():
        if slot in fresh and not is_filled(plan, slot, sites):
            size = plan.nbytes(slot)
            what = f"{bytes_text(size)} in memory that nobody asked for"
            edit = "" if is_copied(plan.entries[slot], why) else edit_for(why, written_at(plan, slot, sites))
            found.append(Reason(what, why, edit, line_at(plan, slot, sites), "materialisation", size))
    for slot, times in plan.again.items():
        what = f"{plan.entries[slot].attr[0]} is computed {times:.0f} times for each element"
        why = "that costs less than putting it into memory and reading it again"
        edit = "np.evaluate() it first, where it is wanted in memory anyway"
        found.append(Reason(what, why, edit, line_at(plan, slot, sites), "recomputation"))
    return found


def made_first(plan: Plan) -> set[int]:
    """The slots that kernels write into new memory: all but those that take over an input's or a kernel's."""
    written = {slot for step in plan.steps if isinstance(step, KernelStep) for slot in step.writes}
    before: dict[int, int] = {}  # slot -> the one whose memory it takes over, past those that nothing writes
    for step in plan.steps:
        if isinstance(step, ClaimStep) and not step.copy:
            before[step.result] = step.old if step.old in written else before.get(step.old, step.old)
    taken = {s for s, old in before.items() if old in written or plan.entries[old].kind == "leaf"}
    return written - taken


def is_filled(plan: Plan, slot: int, sites: Sites) -> bool:
    """True for an array that the program makes empty, or of one number, and assigns items to: it asked for that."""
    origin, entry = plan.origins[slot], plan.entries[slot]
    if entry.kind not in ("update", "scatter") or origin is None or not is_assignment(sites[origin]):
        return False
    while entry.kind in ("update", "scatter"):
        entry = plan.entries[entry.args[0]]
    return entry.kind in ("empty", "fill")


def is_copied(entry: Entry, why: str) -> bool:
    """True for what a reshape or a repetition copies: nothing is computed there that could come after it."""
    return why == RESHAPED and (entry.kind != "map" or entry.attr[0] == "copy")


def written_at(plan: Plan, slot: int, sites: Sites) -> Site | None:
    """Where the write is whose new values a slot holds."""
    for position, entry in enumerate(plan.entries):
        if entry.kind in ("update", "scatter") and slot in entry.args[1:]:
            origin = plan.origins[position]
            return None if origin is None else sites[origin]
    return None


def unasked_reasons(plan: Plan, sites: Sites, wanted: Wanted, used: frozenset[int]) -> list[Reason]:
    """Results that were not asked for; what is kept of small ones costs nothing and is not told."""
    asked, along, readers, holders = wanted
    found, fresh = [], made_first(plan)
    olds = {step.old for step in plan.steps if isinstance(step, ClaimStep)}
    for place, slot in enumerate(plan.outputs[asked:], asked):
        if slot in plan.outputs[:asked]:
            continue
        size, line = plan.nbytes(slot), line_at(plan, slot, sites)
        if place < holders:
            what = f"early evaluation of {bytes_text(size)}"
            why = ALONG if place < along else READ_FIRST if place < readers else RELEASES
            found.append(Reason(what, why, edit_for(why), line, "evaluation", size))
        elif slot in fresh and slot not in used and prod(plan.shapes[slot]) > SMALL_RESULT:
            what = f"{bytes_text(size)} in memory that nobody asked for"
            why = NAMED if olds.isdisjoint(plan.entries[slot].args) else READ_FIRST
            found.append(Reason(what, why, edit_for(why), line, "materialisation", size))
    return found


def kernel_note(
    plan: Plan, place: int, step: KernelStep, sites: Sites, numbers: dict[int, int], wanted: Wanted
) -> KernelNote:
    """One kernel step as users read it."""
    operations = tuple(
        Operation(name, line_at(plan, slot, sites)) for name, slot in zip(step.ops, step.computes, strict=True)
    )
    if not operations:
        operations = tuple(Operation("copy", line_at(plan, slot, sites)) for slot in step.writes)
    other, apart = plan.apart.get(place, (-1, ""))
    slots = dict.fromkeys(walk.slot for walk in step.walks)
    reads = tuple(operand(plan, slot, sites, wanted) for slot in slots if slot not in step.writes)
    makes = tuple(operand(plan, slot, sites, wanted) for slot in step.writes)
    loops = format_kernel(step.kernel)
    return KernelNote(
        step.name, operations, loops, step.loaded, step.stored, step.unfused, apart, numbers.get(other), reads, makes,
        together_at(plan, place),
    )  # fmt: skip


def together_at(plan: Plan, place: int) -> int:
    """How many kernels of a plan that has run ran at once, the one at this place among them."""
    groups = plan.layout.bands.values() if plan.layout is not None else ()
    return next((len(g.steps) for g in groups if place in {part.place for part in g.bands.parts}), 1)


def call_note(plan: Plan, step: CallStep, sites: Sites, wanted: Wanted) -> CallNote:
    """One library call as users read it."""
    slots = [slot for slot, _ in step.args]
    read = sum(plan.nbytes(slot) for slot in dict.fromkeys(slots))
    inputs, outputs = [tuple(operand(plan, slot, sites, wanted) for slot in group) for group in (slots, (step.result,))]
    line = line_at(plan, step.result, sites)
    return CallNote(step.library.name, line, read, plan.nbytes(step.result), inputs, outputs)


def operand(plan: Plan, slot: int, sites: Sites, wanted: Wanted) -> Operand:
    """A slot as users read it."""
    if slot in plan.outputs:
        where = "result" if slot in plan.outputs[: wanted[0]] else "kept"
    else:
        where = "input" if plan.entries[slot].kind in ("leaf", "scalar") else "memory"
    return Operand(plan.codes[slot], plan.shapes[slot], line_at(plan, slot, sites), where)


def line_at(plan: Plan, slot: int, sites: Sites) -> Line | None:
    """The line that wrote what a slot holds.

    Of what the passes made: the line of the last that it is made of, or else of the first that is made of it.
    """
    while plan.entries[slot].kind != "leaf":
        found = made_at(plan, slot, sites)
        if found is not None:
            return found
        slot = next((p for p, e in enumerate(plan.entries) if p > slot and slot in e.args), -1)
        if slot < 0:
            break
    return None


def made_at(plan: Plan, slot: int, sites: Sites) -> Line | None:
    """The line that wrote an operation, or the last of those that it is made of."""
    origin, entry = plan.origins[slot], plan.entries[slot]
    if entry.kind == "leaf":
        return None
    if origin is not None:
        return find_line(sites[origin])
    return next((line for a in reversed(entry.args) if (line := made_at(plan, a, sites)) is not None), None)


# ---- what happened around the plans


def used_later(runs: Runs) -> list[frozenset[int]]:
    """For each plan that ran, its results that a later one read."""
    last = {node: number for number, nodes in enumerate(runs.nodes) for node in nodes}
    found = []
    for number, ((plan, _sites, _wanted), nodes) in enumerate(zip(runs.plans, runs.nodes, strict=True)):
        origins = [(slot, plan.origins[slot]) for slot in plan.outputs]
        found.append(frozenset(s for s, origin in origins if origin is not None and last[nodes[origin]] > number))
    return found


def computed_before(runs: Runs) -> list[Reason]:
    """Operations that an evaluation computed though one before it had, by line."""
    known: dict[int, int] = {}  # node -> the evaluation that computed it first
    again: dict[Line | None, dict[str, None]] = {}
    for number, ((plan, sites, _wanted), nodes) in enumerate(zip(runs.plans, runs.nodes, strict=True)):
        for step in plan.steps:
            if not isinstance(step, KernelStep):
                continue
            for name, slot in zip(step.ops, step.computes, strict=True):
                origin = plan.origins[slot]
                if origin is not None and known.setdefault(nodes[origin], number) != number:
                    again.setdefault(line_at(plan, slot, sites), {})[name] = None
    why = "an evaluation before needed it too, and did not keep it: it is cheap"
    edit = "evaluate what needs it together, np.evaluate(a, b), or np.evaluate() it first"
    return [
        Reason(f"{' '.join(names)} computed again", why, edit, line, "recomputation") for line, names in again.items()
    ]


def transfers_ahead(sources: list[Any]) -> list[Reason]:
    """Inputs that an evaluation on a device will send there first."""
    device = placement(sources)
    if device is None:
        return []
    found = []
    for node in sources:
        if type(node) is Node and node.data is not None and (node.remote is None or node.remote.device is not device):
            size = node.key.spec.nbytes
            what = f"{bytes_text(size)} go to {device.name}"
            found.append(Reason(what, AN_INPUT, edit_for(AN_INPUT), None, "transfer", size))
    return found


def reasons_of(runs: Runs) -> list[Reason]:
    """What a recording tells of fallbacks, evaluations, copies and transfers, by line."""
    found = []
    fallbacks: dict[tuple[str, Line | None], list[int]] = {}
    for run in runs.fallback_runs:
        fallbacks.setdefault((run.name, find_line(run.site)), []).append(run.nbytes)
    for (name, line), sizes in fallbacks.items():
        what, why = (
            f"{name} ran in NumPy, {times(len(sizes))}",
            "it is not compiled: its arguments were evaluated first",
        )
        found.append(Reason(what, why, edit_for_fallback(name), line, "fallback", sum(sizes)))
    evaluations: dict[tuple[str, str, Line | None], int] = {}
    for evaluation in runs.evaluation_runs:
        why = evaluation.reason
        if why not in (ASKED, JOINED) and runs.fallback_around(evaluation) is None:
            key = why, edit_for(why, evaluation.site), find_line(evaluation.site)
            evaluations[key] = evaluations.get(key, 0) + 1
    for (why, edit, line), number in evaluations.items():
        found.append(Reason(f"early evaluation, {times(number)}", why, edit, line, "evaluation"))
    for copy in runs.materialisations:
        what, line = f"{copy.what} of {bytes_text(copy.nbytes)}", find_line(copy.site)
        found.append(Reason(what, copy.reason, _COPY if copy.what == "copy" else "", line, "copy", copy.nbytes))
    transfers: dict[tuple[str, str, Line | None], list[int]] = {}
    for transfer in runs.transfers:
        transfers.setdefault((transfer.way, transfer.reason, find_line(transfer.site)), []).append(transfer.nbytes)
    for (way, why, line), sizes in transfers.items():
        what = f"{bytes_text(sum(sizes))} {way}, {times(len(sizes))}"
        found.append(Reason(what, why, edit_for(why), line, "transfer", sum(sizes)))
    return found


def times(number: int) -> str:
    """A number of times in words."""
    return "1 time" if number == 1 else f"{number} times"
