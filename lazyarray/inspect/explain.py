"""Owns `explain`: what an evaluation runs or ran, kernel by kernel, with the user's lines and the reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from lazyarray.errors import InspectError
from lazyarray.frontend import array as core
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.inspect.lines import Line, find_line
from lazyarray.inspect.text import bytes_text, html_of
from lazyarray.ir.expression import capture, pending_closure
from lazyarray.ir.node import Node, Site
from lazyarray.runtime.evaluate import is_pending, plan_of
from lazyarray.runtime.ledger import Runs, ledger
from lazyarray.schedule.plan import CallStep, ClaimStep, KernelStep, Plan
from lazyarray.schedule.printer import format_kernel

Made = tuple[Plan, tuple[Site | None, ...]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a kernel and the line that wrote it."""

    name: str
    line: Line | None


@dataclass(frozen=True, slots=True)
class KernelNote:
    """One kernel: what is fused in it and what it moves. `unfused`: bytes that NumPy moves for the same operations."""

    name: str
    operations: tuple[Operation, ...]
    loops: str
    bytes_read: int
    bytes_written: int
    unfused: int
    apart: str  # why it is not one nest with an earlier kernel; empty if nothing spoke for that


@dataclass(frozen=True, slots=True)
class CallNote:
    """One library call."""

    name: str
    line: Line | None


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that costs, why it is so, and the edit that removes it (empty where there is none)."""

    what: str
    why: str
    edit: str
    line: Line | None


@dataclass(slots=True)
class Explanation:
    """What evaluation does. `str()` is text for a terminal; notebooks show HTML."""

    evaluated: bool
    kernels: list[KernelNote] = field(default_factory=list)
    calls: list[CallNote] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    at_once: int = 0  # arrays that hold memory no plan made: small ones, inputs

    @property
    def bytes_moved(self) -> int:
        """Bytes that the kernels read and write."""
        return sum(k.bytes_read + k.bytes_written for k in self.kernels)

    @property
    def unfused(self) -> int:
        """Bytes that NumPy reads and writes for the kernels' operations."""
        return sum(k.unfused for k in self.kernels)

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def _repr_html_(self) -> str:
        return html_of(str(self))


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
    pending = [node for node in nodes if is_pending(node)]
    made: list[Made] = []
    if pending:
        closure = pending_closure(pending)
        signature, sources = capture(closure, pending)
        made.append((plan_of(signature), tuple([s.site if type(s) is Node else None for s in sources])))
    for node in nodes:
        known: Made | None = getattr(node, "made", None)
        if is_pending(node):
            continue
        if known is None:
            found.at_once += 1
        elif all(known[1] is not other[1] for other in made):
            made.append(known)
    describe(found, made)
    return found


def explain_call(function: Callable[..., Any], args: Iterable[Any]) -> Explanation:
    """What a call and the evaluation of its result run."""
    with ledger.recording() as runs:
        result = function(*args)
        for item in result if isinstance(result, tuple | list) else (result,):
            if isinstance(item, core.ndarray | LazyScalar):
                item.evaluate()
    found = Explanation(evaluated=True)
    describe(found, runs.plans)
    found.reasons += reasons_of(runs)
    return found


def node_of(value: Any) -> Node | None:
    """The node of an array or scalar; None for what never was recorded."""
    if isinstance(value, LazyScalar):
        return value._node
    if not isinstance(value, core.ndarray):
        raise InspectError(f"explain() takes lazyarray's arrays, not {type(value).__name__}; np.asarray() makes one")
    if value._np is not None:
        return None
    node: Node | None = value._node
    return value._base.node if node is None else node


def describe(found: Explanation, made: Iterable[Made]) -> None:
    """Adds the steps of plans."""
    for plan, sites in made:
        numbers: dict[int, int] = {}
        for place, step in enumerate(plan.steps):
            if isinstance(step, KernelStep):
                numbers[place] = len(found.kernels)
                found.kernels.append(kernel_note(plan, place, step, sites, numbers))
            elif isinstance(step, CallStep):
                found.calls.append(CallNote(step.library.name, line_at(plan, step.result, sites)))
            elif isinstance(step, ClaimStep) and step.copy:
                why = "older values of it are still to be read"
                edit = "use or evaluate what was made of the array before writing into it"
                found.reasons.append(Reason("copy before a write", why, edit, line_at(plan, step.result, sites)))
        for slot, why in plan.why.items():
            if any(isinstance(s, KernelStep) and slot in s.writes for s in plan.steps):
                size = plan.nbytes(slot)
                found.reasons.append(
                    Reason(f"{bytes_text(size)} in memory that nobody asked for", why, "", line_at(plan, slot, sites))
                )


def kernel_note(
    plan: Plan, place: int, step: KernelStep, sites: tuple[Site | None, ...], numbers: dict[int, int]
) -> KernelNote:
    """One kernel step as users read it."""
    operations = tuple(
        Operation(name, line_at(plan, slot, sites)) for name, slot in zip(step.ops, step.computes, strict=True)
    )
    apart = ""
    if place in plan.apart:
        other, why = plan.apart[place]
        apart = f"not part of kernel {numbers[other] + 1}: {why}" if other in numbers else why
    loops = format_kernel(step.kernel)
    return KernelNote(step.name, operations, loops, step.loaded, step.stored, step.unfused, apart)


def line_at(plan: Plan, slot: int, sites: tuple[Site | None, ...]) -> Line | None:
    """The line that wrote what a slot holds."""
    origin = plan.origins[slot]
    return None if origin is None else find_line(sites[origin])


# What can be done about an evaluation, by its reason as `runtime/evaluate.py` gives it.
_EDITS = {
    "the recording reached its budget": "nothing to do: long recordings are evaluated piece by piece",
    "a catch_warnings block begins": "use np.errstate in its place for floating-point errors",
    "a catch_warnings block ends": "use np.errstate in its place for floating-point errors",
    "the error state is to be obeyed at once": 'let np.errstate warn or ignore: "raise", "call", "print" and "log" '
    "run each operation at once",
}


def reasons_of(runs: Runs) -> list[Reason]:
    """What a recording tells of fallbacks, evaluations and copies."""
    found = []
    for name, count in runs.fallbacks.items():
        what = f"{name} ran in NumPy, {count} time{'s' if count > 1 else ''}"
        found.append(Reason(what, "it is not compiled: its arguments were evaluated first", "", None))
    for reason in dict.fromkeys(runs.evaluations):
        if reason in _EDITS:
            what = f"early evaluation, {runs.evaluations.count(reason)} times"
            found.append(Reason(what, reason, _EDITS[reason], None))
    for copy in runs.materialisations:
        found.append(Reason(f"{copy.what} of {bytes_text(copy.nbytes)}", copy.reason, "", find_line(copy.site)))
    return found


def lines_of(found: Explanation) -> list[str]:
    """An explanation as lines of text."""
    did = "ran" if found.evaluated else "will run"
    lines = [
        f"{did} {count(len(found.kernels), 'kernel')} and {count(len(found.calls), 'library call')}; kernels move "
        f"{bytes_text(found.bytes_moved)}, NumPy {bytes_text(found.unfused)}"
    ]
    if found.at_once:
        lines.append(f"{count(found.at_once, 'array')} in memory that no kernel made (an input, or a small array)")
    for number, kernel in enumerate(found.kernels, 1):
        read, written = bytes_text(kernel.bytes_read), bytes_text(kernel.bytes_written)
        lines.append(
            f"kernel {number}: {kernel.name}, reads {read}, writes {written} (NumPy {bytes_text(kernel.unfused)})"
        )
        for line, names in by_line(kernel.operations).items():
            lines.append(f"    {' '.join(names)}" + (f"    {line}" if line is not None else ""))
        if kernel.apart:
            lines.append(f"    {kernel.apart}")
    for call in found.calls:
        lines.append(f"library call {call.name}" + (f"    {call.line}" if call.line is not None else ""))
    for reason in found.reasons:
        lines.append(f"{reason.what}: {reason.why}" + (f"    {reason.line}" if reason.line is not None else ""))
        if reason.edit:
            lines.append(f"    to avoid it: {reason.edit}")
    return lines


def by_line(operations: Iterable[Operation]) -> dict[Line | None, list[str]]:
    """The operations' names, line by line."""
    found: dict[Line | None, list[str]] = {}
    for operation in operations:
        found.setdefault(operation.line, []).append(operation.name)
    return found


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
