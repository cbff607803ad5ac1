"""Owns `profile`: what ran inside a block and where its time went, as a table, HTML, a trace file or a figure."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lazyarray.inspect.lines import Line, find_line
from lazyarray.inspect.text import bytes_text, html_of, seconds_text
from lazyarray.ir.ops import OPS
from lazyarray.runtime.ledger import KernelRun, LibraryRun, Runs, ledger

_COPIED: Final = 1 << 27  # bytes of the copy by which the memory's speed is measured: far beyond caches


@dataclass(frozen=True, slots=True)
class Row:
    """All launches of one kernel, or calls of one library function, from one line."""

    name: str
    line: Line | None
    calls: int
    seconds: float
    nbytes: int  # read and written, of all calls
    operations: int  # arithmetic operations on elements, of all calls; 0 for library calls

    @property
    def bandwidth(self) -> float:
        """Bytes read and written a second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def lost(self) -> float:
        """Seconds beyond those that moving the bytes at the memory's speed takes."""
        return max(0.0, self.seconds - self.nbytes / copy_bandwidth())


@dataclass(slots=True)
class Profile:
    """What a block ran. `print` shows it as a table ordered by time lost; notebooks show HTML."""

    runs: Runs = field(default_factory=Runs)
    seconds: float = 0.0
    start: float = 0.0
    peak_memory: int = 0  # of the process, in bytes

    @property
    def kernels(self) -> list[Row]:
        """Kernels, those that lost most time first."""
        return sorted(rows_of(self.runs.kernels), key=lambda row: -row.lost)

    @property
    def library_calls(self) -> list[Row]:
        """Library calls, longest first."""
        return sorted(rows_of(self.runs.library_runs), key=lambda row: -row.seconds)

    @property
    def compile_seconds(self) -> float:
        """Time spent compiling kernels and loading them from disk."""
        return sum(compiled.seconds for compiled in self.runs.compiled)

    def __str__(self) -> str:
        return "\n".join(lines_of(self))

    def _repr_html_(self) -> str:
        return html_of(str(self))

    def save(self, file: str | Path) -> None:
        """Writes the block's events as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open."""
        Path(file).write_text(json.dumps({"traceEvents": events_of(self), "displayTimeUnit": "ms"}), encoding="utf-8")

    def plot(self) -> Any:
        """A Matplotlib figure: time of the longest kernels and calls, and what of it moving the bytes takes."""
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

        rows = sorted([*self.kernels, *self.library_calls], key=lambda row: row.seconds)[-20:]
        figure = Figure(figsize=(9, 1 + 0.35 * len(rows)), layout="constrained")
        axes = figure.subplots()
        places = range(len(rows))
        axes.barh(places, [1e3 * row.seconds for row in rows], label="time")
        axes.barh(places, [1e3 * (row.seconds - row.lost) for row in rows], label="at the memory's speed")
        axes.set_yticks(places, [label_of(row) for row in rows])
        axes.set_xlabel("milliseconds")
        axes.legend(loc="lower right")
        return figure


@contextmanager
def profile() -> Iterator[Profile]:
    """`with lazyarray.profile() as p:` and then `print(p)`, `p.kernels`, `p.save("trace.json")`, `p.plot()`.

    What the block records and leaves pending runs later and is not part of it: `evaluate()` inside the block.
    """
    with ledger.recording() as runs:
        found = Profile(runs, start=time.perf_counter())
        try:
            yield found
        finally:
            found.seconds = time.perf_counter() - found.start
            found.peak_memory = peak_memory()


def peak_memory() -> int:
    """The most bytes that this process has had in memory; 0 where the system does not tell."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return 0
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@functools.cache
def copy_bandwidth() -> float:
    """Bytes a second that a copy reads and writes on this machine, on all cores; measured once."""
    from lazyarray.frontend.boundary import evaluate_all
    from lazyarray.frontend.creation import zeros

    source = zeros(_COPIED // 16)
    evaluate_all((source,))
    best = 0.0
    for _ in range(4):
        start = time.perf_counter()
        evaluate_all((source.copy(),))
        best = max(best, _COPIED / (time.perf_counter() - start))
    return best


def rows_of(found: list[KernelRun] | list[LibraryRun]) -> list[Row]:
    """Runs of the same name and line as one row."""
    together: dict[Any, list[Any]] = {}
    for run in found:
        together.setdefault((run.name, None if run.site is None else run.site[:2]), []).append(run)
    return [
        Row(
            same[0].name,
            find_line(same[0].site),
            len(same),
            sum(run.seconds for run in same),
            sum(run.bytes_read + run.bytes_written for run in same),
            sum(run.elements * arithmetic(run.ops) for run in same if isinstance(run, KernelRun)),
        )
        for same in together.values()
    ]


def arithmetic(ops: tuple[str, ...]) -> int:
    """How many of a kernel's operations compute: copies, casts and selections do not."""
    return sum(
        (op in OPS and op not in ("cast", "where", "real", "imag", "complex")) or op in ("sum", "prod") for op in ops
    )


def label_of(row: Row) -> str:
    """A row's name and place, short."""
    return row.name if row.line is None else f"{row.name}  {Path(row.line.file).name}:{row.line.number}"


def lines_of(found: Profile) -> list[str]:
    """A profile as lines of text."""
    runs = found.runs
    speed, compiling = copy_bandwidth(), seconds_text(found.compile_seconds)
    busy = sum(row.seconds for row in (*found.kernels, *found.library_calls))
    lines = [
        f"{seconds_text(found.seconds)}: kernels and calls {seconds_text(busy)}, compiling {compiling} "
        f"({runs.compiles} compiled, {runs.disk_hits} from disk), the rest Python",
        f"peak memory of the process {bytes_text(found.peak_memory)}; a copy runs at {speed / 1e9:.1f} GB/s here",
        f"{'lost':>9} {'time':>9} {'calls':>6} {'GB/s':>6} {'of copy':>7} {'GFLOP/s':>7}  kernel",
    ]
    for row in found.kernels:
        rate = row.operations / row.seconds / 1e9 if row.seconds else 0.0
        lines.append(
            f"{seconds_text(row.lost):>9} {seconds_text(row.seconds):>9} {row.calls:>6} {row.bandwidth / 1e9:>6.1f} "
            f"{row.bandwidth / speed:>7.0%} {rate:>7.1f}  {row.name}"
        )
        if row.line is not None:
            lines.append(f"{'':>50}  {row.line}")
    for row in found.library_calls:
        lines.append(f"{'':>9} {seconds_text(row.seconds):>9} {row.calls:>6} {'':>22}  {label_of(row)} (library call)")
    for name, count in runs.fallbacks.items():
        lines.append(f"{'':>9} {'':>9} {count:>6} {'':>22}  {name} (fallback to NumPy)")
    for reason in dict.fromkeys(runs.evaluations):
        lines.append(f"evaluated {runs.evaluations.count(reason)} times: {reason}")
    for copy in runs.materialisations:
        place = find_line(copy.site)
        lines.append(
            f"{copy.what} of {bytes_text(copy.nbytes)}: {copy.reason}" + ("" if place is None else f"    {place}")
        )
    return lines


def events_of(found: Profile) -> list[dict[str, Any]]:
    """The block's events in Chrome's trace format (times in microseconds since the block began)."""

    def event(name: str, kind: str, start: float, seconds: float, **args: Any) -> dict[str, Any]:
        begin = 1e6 * (start - found.start)
        return {
            "name": name,
            "cat": kind,
            "ph": "X",
            "ts": begin,
            "dur": 1e6 * seconds,
            "pid": 1,
            "tid": 1,
            "args": args,
        }

    events = [event("block", "block", found.start, found.seconds)]
    for run in found.runs.kernels:
        line = str(find_line(run.site) or "")
        events.append(
            event(run.name, "kernel", run.start, run.seconds, line=line, read=run.bytes_read, written=run.bytes_written)
        )
    for call in found.runs.library_runs:
        events.append(event(call.name, "library call", call.start, call.seconds, line=str(find_line(call.site) or "")))
    for compiled in found.runs.compiled:
        kind = "from disk" if compiled.from_disk else "compile"
        events.append(event(kind, "compile", compiled.start, compiled.seconds))
    return events
