"""Owns the trace of `profile`: a block's events in Chrome's trace event format, which Perfetto opens."""

from __future__ import annotations

from typing import Any, Final

from lazyarray.inspect.lines import find_line
from lazyarray.inspect.profile import Profile
from lazyarray.ir.node import Site

_KINDS: Final = ("block", "evaluation", "kernel", "library call", "fallback", "compile", "transfer")
_LANES: Final = 100  # tracks that one kind may need
_PROCESS: Final = 1


class Trace:
    """Events in the making; each kind has a track of its own, and more where several threads were at it at once."""

    def __init__(self, begin: float) -> None:
        self.begin = begin
        self.spans: list[tuple[str, dict[str, Any]]] = []
        self.moments: list[tuple[str, dict[str, Any]]] = []

    def event(self, name: str, kind: str, start: float, site: Site | None, args: dict[str, Any]) -> dict[str, Any]:
        """What all events have; times are in microseconds since the block began."""
        line = find_line(site)
        if line is not None:
            args["line"] = str(line)
        return {"name": name, "cat": kind, "ts": max(0.0, 1e6 * (start - self.begin)), "pid": _PROCESS, "args": args}

    def span(self, name: str, kind: str, start: float, seconds: float, site: Site | None = None, **args: Any) -> None:
        """Something that took time."""
        made = self.event(name, kind, start, site, args)
        self.spans.append((kind, {**made, "ph": "X", "dur": 1e6 * seconds}))

    def moment(self, name: str, kind: str, start: float, site: Site | None = None, **args: Any) -> None:
        """Something that happened."""
        self.moments.append((kind, {**self.event(name, kind, start, site, args), "ph": "i", "s": "t"}))

    def events(self) -> list[dict[str, Any]]:
        """The tracks' names, then all events in order of time."""
        lanes: dict[int, list[float]] = {}  # track -> the ends of the spans that are open there, outermost first
        made = []
        # What begins first, and of those the longest, holds what follows.
        for kind, span in sorted(self.spans, key=lambda item: (item[1]["ts"], -item[1]["dur"])):
            track, end = (_KINDS.index(kind) + 1) * _LANES, span["ts"] + span["dur"]
            while not is_nested(lanes.setdefault(track, []), span["ts"], end):
                track += 1
            lanes[track].append(end)
            made.append({**span, "tid": track})
        for kind, moment in self.moments:
            track = (_KINDS.index(kind) + 1) * _LANES
            lanes.setdefault(track, [])
            made.append({**moment, "tid": track})
        made.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))
        return [*names(lanes), *made]


def is_nested(open_ends: list[float], start: float, end: float) -> bool:
    """Whether a span may follow on a track: spans there lie inside one another or one after another."""
    while open_ends and open_ends[-1] <= start:
        open_ends.pop()
    return not open_ends or end <= open_ends[-1]


def names(tracks: dict[int, list[float]]) -> list[dict[str, Any]]:
    """The names of the process and of the tracks, and the tracks' order."""
    made: list[dict[str, Any]] = [{"name": "process_name", "tid": 0, "args": {"name": "lazyarray"}}]
    for track in sorted(tracks):
        kind, lane = _KINDS[track // _LANES - 1], track % _LANES
        made.append({"name": "thread_name", "tid": track, "args": {"name": f"{kind} {lane + 1}" if lane else kind}})
        made.append({"name": "thread_sort_index", "tid": track, "args": {"sort_index": track}})
    return [{**event, "ph": "M", "ts": 0.0, "pid": _PROCESS} for event in made]


def events_of(found: Profile) -> list[dict[str, Any]]:
    """All that a profile's block ran, as the format has it."""
    trace = Trace(found.start)
    trace.span("block", "block", found.start, found.seconds)
    for run in found.runs.kernels:
        trace.span(run.name, "kernel", run.start, run.seconds, run.site, read=run.bytes_read, written=run.bytes_written)
    for call in found.runs.library_runs:
        trace.span(call.name, "library call", call.start, call.seconds, call.site)
    for fallback in found.runs.fallback_runs:
        start = fallback.end - fallback.seconds if fallback.end else fallback.start  # its arguments come before
        trace.span(fallback.name, "fallback", start, fallback.seconds, fallback.site, nbytes=fallback.nbytes)
    for compiled in found.runs.compiled:
        trace.span("from disk" if compiled.from_disk else "compile", "compile", compiled.start, compiled.seconds)
    for evaluation in found.runs.evaluation_runs:
        trace.moment(found.reason(evaluation), "evaluation", evaluation.start, evaluation.site)
    for transfer in found.runs.transfers:
        name = f"{transfer.way}: {transfer.reason}"
        trace.moment(name, "transfer", transfer.start, transfer.site, nbytes=transfer.nbytes)
    return trace.events()
