"""Owns the trace of `profile`: a block's events in Chrome's format, which Perfetto opens."""

from __future__ import annotations

from typing import Any, Final

from lazyarray.inspect.lines import find_line
from lazyarray.inspect.profile import Profile
from lazyarray.ir.node import Site

_TRACKS: Final = ("block", "kernel", "library call", "compile", "evaluation", "fallback")


def events_of(found: Profile) -> list[dict[str, Any]]:
    """All events, times in microseconds since the block began; each kind is a track of its own."""
    events: list[dict[str, Any]] = [
        {"name": "thread_name", "ph": "M", "pid": 1, "tid": number, "args": {"name": name}}
        for number, name in enumerate(_TRACKS, 1)
    ]

    def add(name: str, kind: str, start: float, seconds: float, site: Site | None = None, **args: Any) -> None:
        begin = max(0.0, 1e6 * (start - found.start))
        line = find_line(site)
        if line is not None:
            args["line"] = str(line)
        tid = _TRACKS.index(kind) + 1
        event = {"name": name, "cat": kind, "ph": "X", "ts": begin, "dur": 1e6 * seconds, "pid": 1, "tid": tid}
        events.append({**event, "args": args})

    add("block", "block", found.start, found.seconds)
    for run in found.runs.kernels:
        add(run.name, "kernel", run.start, run.seconds, run.site, read=run.bytes_read, written=run.bytes_written)
    for call in found.runs.library_runs:
        add(call.name, "library call", call.start or found.start, call.seconds, call.site)
    for fallback in found.runs.fallback_runs:
        add(fallback.name, "fallback", fallback.start, fallback.seconds, fallback.site, nbytes=fallback.nbytes)
    for compiled in found.runs.compiled:
        add("from disk" if compiled.from_disk else "compile", "compile", compiled.start, compiled.seconds)
    for evaluation in found.runs.evaluation_runs:
        add(evaluation.reason, "evaluation", evaluation.start, 0.0, evaluation.site)
    return events
