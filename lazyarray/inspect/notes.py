"""Owns the records of `explain`, and their text and HTML: kernels, library calls and reasons, with the user's lines."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from lazyarray.config import config
from lazyarray.inspect.lines import Line
from lazyarray.inspect.text import bytes_text, page, table

_LONGEST_NEST: Final = 16  # lines of a loop nest in the text; the record has all

Kind: TypeAlias = Literal["fallback", "transfer", "copy", "evaluation", "materialisation", "recomputation", "cut"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)  # in the order in which they are told
AT_ONCE: Final = (
    "no kernel was needed: operations on arrays of fewer than {} elements (config.eager_below) run at once, in NumPy"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a kernel and the line that wrote it."""

    name: str
    line: Line | None


@dataclass(frozen=True, slots=True)
class Operand:
    """An array that a kernel or library call reads or makes. `line`: where it was written; None for an input."""

    dtype: str
    shape: tuple[int, ...]
    line: Line | None
    where: str = "input"  # "input", "memory" (made by an earlier step), "result" (asked for), "kept"

    def __str__(self) -> str:
        made = "" if self.line is None else f" of {Path(self.line.file).name}:{self.line.number}"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}] {self.where}{made}"


@dataclass(frozen=True, slots=True)
class KernelNote:
    """One kernel: what is fused in it and what it moves. `unfused`: bytes that NumPy moves for the same operations."""

    name: str
    operations: tuple[Operation, ...]
    loops: str
    bytes_read: int
    bytes_written: int
    unfused: int
    apart: str = ""  # why it is not one nest with an earlier kernel; empty if nothing spoke for that
    earlier: int | None = field(default=None, compare=False)  # the place of that kernel
    inputs: tuple[Operand, ...] = ()
    outputs: tuple[Operand, ...] = ()
    together: int = 1  # how many kernels run at once, in bands of rows, this one among them


@dataclass(frozen=True, slots=True)
class CallNote:
    """One library call."""

    name: str
    line: Line | None
    bytes_read: int = 0
    bytes_written: int = 0
    inputs: tuple[Operand, ...] = ()
    outputs: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that costs, why it is so, and the edit that removes it (empty where there is none)."""

    what: str
    why: str
    edit: str
    line: Line | None
    kind: Kind = "evaluation"
    nbytes: int = 0
    times: int = 1  # how many values, evaluations or kernels it is told of

    @property
    def subject(self) -> tuple[str, ...]:
        """What it is of, whatever its size: reasons of one subject are told together."""
        # Cuts differ in the numbers of kernels, which mean little in a loop.
        what = "" if self.kind == "cut" else self.what.replace(bytes_text(self.nbytes), "")
        return self.kind, what, self.why, self.edit

    def told_of(self, nbytes: int, times: int) -> Reason:
        """The same reason, of other bytes and so many values."""
        what = self.what.replace(bytes_text(self.nbytes), bytes_text(nbytes)) if self.nbytes else self.what
        return replace(self, what=what, nbytes=nbytes, times=times)


@dataclass(slots=True)
class Explanation:
    """What evaluation does. `str()` is text for a terminal; notebooks show HTML."""

    evaluated: bool
    steps: list[KernelNote | CallNote] = field(default_factory=list)  # in the order in which they run
    reasons: list[Reason] = field(default_factory=list)
    at_once: int = 0  # arrays that hold memory no plan made: small ones, inputs

    @property
    def kernels(self) -> list[KernelNote]:
        """The kernels, in order."""
        return [step for step in self.steps if isinstance(step, KernelNote)]

    @property
    def calls(self) -> list[CallNote]:
        """The library calls, in order."""
        return [step for step in self.steps if isinstance(step, CallNote)]

    @property
    def is_empty(self) -> bool:
        """True where a call ran, and nothing of it in kernels or libraries that are known here."""
        return self.evaluated and not self.steps and not self.at_once

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
        return html_of(self)


# ---- text


def headline(found: Explanation) -> str:
    """All of it in a line."""
    did = "ran" if found.evaluated else "will run"
    return (
        f"{did} {count(len(found.kernels), 'kernel')} and {count(len(found.calls), 'library call')}; kernels move "
        f"{bytes_text(found.bytes_moved)}, NumPy {bytes_text(found.unfused)}"
    )


def lines_of(found: Explanation) -> list[str]:
    """An explanation as lines of text."""
    lines = [headline(found)]
    if found.is_empty:
        lines.append(AT_ONCE.format(config.eager_below))
    if found.at_once:
        why = "an input, a small array, or a first evaluation's"
        lines.append(f"{count(found.at_once, 'array')} in memory that no kernel made ({why})")
    for step, number, times in numbered(found):
        if isinstance(step, KernelNote):
            lines += kernel_lines(step, number, times)
        else:
            place = "" if step.line is None else f"    {step.line}"
            lines.append(f"library call {step.name}, {moved(step)}{times}{place}")
            lines += ["    " + line for line in operand_lines(step)]
    for reason in grouped(found.reasons):
        place = "" if reason.line is None else f"    {reason.line}"
        lines.append(f"{reason.what}{more(reason)}: {reason.why}{place}")
        if reason.edit:
            lines.append(f"    to avoid it: {reason.edit}")
    return lines


def numbered(found: Explanation) -> Iterator[tuple[KernelNote | CallNote, int, str]]:
    """Each step once, with the number of its kernel and how often it runs, in words: loops repeat them."""
    counts: dict[KernelNote | CallNote, int] = {}
    for step in found.steps:
        counts[step] = counts.get(step, 0) + 1
    number, told = 0, set()
    for step in found.steps:
        number += isinstance(step, KernelNote)
        if step not in told:
            told.add(step)
            yield step, number, f", {counts[step]} times" if counts[step] > 1 else ""


def grouped(reasons: Iterable[Reason]) -> list[Reason]:
    """Reasons that say the same of one line as one, with the bytes of all; of each kind the dearest first."""
    groups: dict[tuple[tuple[str, ...], Line | None], Reason] = {}
    for reason in reasons:
        key = reason.subject, reason.line
        known = groups.get(key)
        if known is not None:
            reason = known.told_of(known.nbytes + reason.nbytes, known.times + reason.times)
        groups[key] = reason
    return sorted(groups.values(), key=lambda reason: (KINDS.index(reason.kind), -reason.nbytes))


def more(reason: Reason) -> str:
    """Of how many it is told, in words."""
    if reason.times == 1:
        return ""
    return f", in {reason.times} values" if reason.nbytes else f" (and {reason.times - 1} more like it)"


def kernel_lines(kernel: KernelNote, number: int, times: str) -> Iterator[str]:
    """One kernel: bytes, operations by line, operands, loops."""
    others = "" if kernel.together == 1 else f", in bands of rows with {count(kernel.together - 1, 'other kernel')}"
    yield f"kernel {number}: {kernel.name}, {moved(kernel)} (NumPy {bytes_text(kernel.unfused)}){times}{others}"
    for line, names in by_line(kernel.operations).items():
        yield f"    {' '.join(names)}" + (f"    {line}" if line is not None else "")
    for text in operand_lines(kernel):
        yield "    " + text
    nest = kernel.loops.splitlines()
    for text in nest[:_LONGEST_NEST]:
        yield "    | " + text
    if len(nest) > _LONGEST_NEST:
        yield f"    | ... ({len(nest) - _LONGEST_NEST} more lines in kernels[{number - 1}].loops)"


def operand_lines(step: KernelNote | CallNote) -> Iterator[str]:
    """What a step reads and makes, equal ones together."""
    for word, operands in (("reads", step.inputs), ("makes", step.outputs)):
        if operands:
            counted: dict[str, int] = {}
            for operand in operands:
                counted[str(operand)] = counted.get(str(operand), 0) + 1
            yield f"{word} " + ", ".join(f"{n} x {text}" if n > 1 else text for text, n in counted.items())


def moved(step: KernelNote | CallNote) -> str:
    """The bytes of a step."""
    return f"reads {bytes_text(step.bytes_read)}, writes {bytes_text(step.bytes_written)}"


def by_line(operations: Iterable[Operation]) -> dict[Line | None, list[str]]:
    """The operations' names, line by line."""
    found: dict[Line | None, list[str]] = {}
    for operation in operations:
        found.setdefault(operation.line, []).append(operation.name)
    return found


def count(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# ---- HTML


def html_of(found: Explanation) -> str:
    """An explanation as notebooks show it."""
    rows: list[list[str]] = []
    nests: list[str] = []
    for step, number, times in numbered(found):
        if isinstance(step, KernelNote):
            lines = by_line(step.operations)
            fused = "<br>".join(html.escape(f"{' '.join(names)}    {line or ''}") for line, names in lines.items())
            cells = (f"kernel {number}: {step.name}{times}", moved(step), bytes_text(step.unfused))
            nests.append(
                f"<details><summary>loops of kernel {number}</summary><pre>{html.escape(step.loops)}</pre></details>"
            )
        else:
            fused = html.escape(str(step.line or ""))
            cells = (f"library call {step.name}{times}", moved(step), "")
        operands = "<br>".join(map(html.escape, operand_lines(step)))
        rows.append([*map(html.escape, cells), fused, operands])
    reasons = [
        [html.escape(text) for text in (reason.what + more(reason), reason.why, reason.edit, str(reason.line or ""))]
        for reason in grouped(found.reasons)
    ]
    told = [f"<p>{html.escape(AT_ONCE.format(config.eager_below))}</p>"] if found.is_empty else []
    return page(
        headline(found),
        *told,
        table(("step", "moves", "NumPy moves", "operations and lines", "operands"), rows),
        *nests,
        table(("what costs", "why", "the edit that removes it", "line"), reasons),
    )
