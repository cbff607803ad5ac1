"""Owns what a profile says kept a program from being faster: the reasons with their lines and edits, dearest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from lazyarray import native
from lazyarray.inspect.ahead import Made
from lazyarray.inspect.edits import edit_for
from lazyarray.inspect.explain import computed_before, describe, reasons_of, used_later
from lazyarray.inspect.lines import Line, find_line
from lazyarray.inspect.notes import KINDS, Explanation, Reason, grouped, more
from lazyarray.inspect.profile import Profile
from lazyarray.inspect.text import bytes_text, seconds_text
from lazyarray.runtime.evaluate import ASKED
from lazyarray.runtime.ledger import Runs

_MOST: Final = 12  # findings told of each kind
_FEWEST: Final = 10  # evaluations of one line from which they are worth telling


def findings(found: Profile) -> list[str]:
    """What kept the block from being faster, as lines of text."""
    lines = [*general(found)]
    reasons = grouped(causes(found.runs))
    for kind in KINDS:
        told = [reason for reason in reasons if reason.kind == kind]
        for reason in told[:_MOST]:
            size = (
                f" [{bytes_text(reason.nbytes)}]"
                if reason.nbytes and bytes_text(reason.nbytes) not in reason.what
                else ""
            )
            place = "" if reason.line is None else f"    {reason.line}"
            what = "a nest of its own" if reason.kind == "cut" else reason.what  # kernels have numbers within a plan
            lines.append(f"  {what}{size}{more(reason)}: {reason.why}{place}")
            if reason.edit:
                lines.append(f"      to avoid it: {reason.edit}")
        if len(told) > _MOST:
            lines.append(f"  and {len(told) - _MOST} more of this kind")
    return ["what kept it from being faster:", *(lines or ["  nothing that lazyarray knows of"])]


def general(found: Profile) -> Iterator[str]:
    """What concerns the whole block."""
    if not native.COMPILED:
        yield f"  the hot modules run as Python: {native.WHY_PYTHON}"
        yield "      to avoid it: python -m lazyarray.native.build"
    if found.runs.compiles and found.compile_seconds > 0.1 * found.seconds:
        yield (
            f"  {found.runs.compiles} kernels were compiled in {seconds_text(found.compile_seconds)}; "
            "they are on disk now, where the next run finds them"
        )


def causes(runs: Runs) -> list[Reason]:
    """All reasons of a recording: those of the plans that ran, and those of what happened around them."""
    counts: dict[Any, int] = {}
    plans: dict[Any, tuple[Made, frozenset[int]]] = {}
    for made, used in zip(runs.plans, used_later(runs), strict=True):
        plan, sites, wanted = made
        key = id(plan), wanted, used, tuple(site and (id(site[0]), site[1]) for site in sites)
        counts[key] = counts.get(key, 0) + 1
        plans[key] = made, used
    reasons: list[Reason] = []
    for key, (made, used) in plans.items():
        told = Explanation(evaluated=True)
        describe(told, (made,), used)
        times = counts[key]
        reasons += [r.told_of(r.nbytes * times, r.times * times) for r in told.reasons if r.kind != "copy"]
    return reasons + computed_before(runs) + reasons_of(runs) + often_asked(runs)


def often_asked(runs: Runs) -> list[Reason]:
    """Lines that evaluate again and again because the program says so."""
    counted: dict[Line | None, int] = {}
    for run in runs.evaluation_runs:
        if run.reason == ASKED:
            line = find_line(run.site)
            counted[line] = counted.get(line, 0) + 1
    edit = edit_for("asked for")
    return [
        Reason(f"evaluated {number} times", ASKED, edit, line, "evaluation")
        for line, number in counted.items()
        if number >= _FEWEST
    ]
