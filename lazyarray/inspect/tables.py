"""Owns the tables of `profile`: as text for a terminal and as HTML for notebooks."""

from __future__ import annotations

import html
from typing import Final

from lazyarray.config import config
from lazyarray.inspect.notes import AT_ONCE
from lazyarray.inspect.profile import Event, Profile, Row, copy_bandwidth
from lazyarray.inspect.text import bytes_text, page, seconds_text, table

_HEADS: Final = ("lost", "time", "calls", "GB/s", "of copy", "GFLOP/s", "kernel", "line")


def summary(found: Profile) -> list[str]:
    """The block as a whole: where its time went, and its memory."""
    runs = found.runs
    busy = sum(row.seconds for row in (*found.kernels, *found.library_calls))
    numpys = sum(event.seconds for event in found.fallbacks)
    rise = f", {bytes_text(found.peak_rise)} more than before" if found.peak_rise else ""
    return [
        f"{seconds_text(found.seconds)}: kernels and calls {seconds_text(busy)}, "
        f"fallbacks {seconds_text(numpys)}, "
        f"compiling {seconds_text(found.compile_seconds)} ({runs.compiles} compiled, {runs.disk_hits} from disk), "
        "the rest Python",
        f"peak memory of the process {bytes_text(found.peak_memory)}{rise}; "
        f"a copy runs at {copy_bandwidth() / 1e9:.1f} GB/s here",
    ]


def cells(row: Row) -> tuple[str, ...]:
    """The figures of a row of the table, under `_HEADS`."""
    calls = str(row.calls)
    if row.is_library:
        return "", seconds_text(row.seconds), calls, f"{row.bandwidth / 1e9:.1f}", "", ""
    share = f"{row.bandwidth / copy_bandwidth():.0%}"
    flops = f"{row.operations / row.seconds / 1e9:.1f}" if row.operations and row.seconds else ""
    return seconds_text(row.lost), seconds_text(row.seconds), calls, f"{row.bandwidth / 1e9:.1f}", share, flops


def lines_of(found: Profile) -> list[str]:
    """A profile as lines of text."""
    if not found.rows:
        return [*summary(found), AT_ONCE.format(config.eager_below), *map(event_text, events(found))]
    widths = (9, 9, 6, 6, 7, 7)
    lines = [*summary(found), row_text(_HEADS[:6], widths) + "  kernel"]
    for row in found.rows:
        name = f"{row.name} (library call)" if row.is_library else row.name
        lines.append(f"{row_text(cells(row), widths)}  {name}")
        if row.line is not None:
            lines.append(f"{'':>51}{row.line}")
    return [*lines, *map(event_text, events(found))]


def row_text(texts: tuple[str, ...], widths: tuple[int, ...]) -> str:
    """Cells of fixed widths."""
    return " ".join(f"{text:>{width}}" for text, width in zip(texts, widths, strict=True))


def events(found: Profile) -> list[Event]:
    """What is told below the table."""
    return [*found.evaluations, *found.transfers, *found.copies]


def event_text(event: Event) -> str:
    """One event as a line of text."""
    times = "once" if event.count == 1 else f"{event.count} times"
    size = f", {bytes_text(event.nbytes)}" if event.nbytes else ""
    place = "" if event.line is None else f"    {event.line}"
    if event.kind == "evaluation":
        return f"evaluated {times}: {event.what}{place}"
    return f"{event.kind} {event.what}, {times}{size}{place}"


def html_of(found: Profile) -> str:
    """A profile as notebooks show it."""
    rows = [[*map(html.escape, (*cells(row), row.name, str(row.line or "")))] for row in found.rows]
    told = [
        [*map(html.escape, (e.kind, e.what, str(e.count), bytes_text(e.nbytes) if e.nbytes else "", str(e.line or "")))]
        for e in events(found)
    ]
    first, *more = summary(found) if found.rows else [*summary(found), AT_ONCE.format(config.eager_below)]
    return page(
        first,
        *(f"<p>{html.escape(line)}</p>" for line in more),
        table(_HEADS, rows),
        table(("event", "what", "times", "bytes", "line"), told),
    )
