"""Owns `profile`: what ran inside a block and where its time went, as a table, HTML, a trace file or a figure."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lazyarray.config import config
from lazyarray.inspect.lines import Line, find_line
from lazyarray.ir.node import Site
from lazyarray.ir.ops import OPS
from lazyarray.runtime.device import configured
from lazyarray.runtime.ledger import EvaluationRun, KernelRun, LibraryRun, Runs, ledger

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
    is_library: bool = False

    @property
    def label(self) -> str:
        """Its name and place, short."""
        return self.name if self.line is None else f"{self.name}  {Path(self.line.file).name}:{self.line.number}"

    @property
    def bandwidth(self) -> float:
        """Bytes read and written a second."""
        return self.nbytes / self.seconds if self.seconds else 0.0

    @property
    def lost(self) -> float:
        """Seconds beyond those that moving the bytes at the memory's speed takes."""
        return max(0.0, self.seconds - self.nbytes / copy_bandwidth())


@dataclass(frozen=True, slots=True)
class Event:
    """What happened at one line for one reason: evaluations, fallbacks, transfers, copies before writes."""

    kind: str  # "evaluation", "fallback", "transfer", "copy"
    what: str
    line: Line | None
    count: int
    nbytes: int = 0
    seconds: float = 0.0  # of fallbacks


@dataclass(slots=True)
class Profile:
    """What a block ran. `print` shows it as a table ordered by time lost; notebooks show HTML."""

    runs: Runs = field(default_factory=Runs)
    seconds: float = 0.0
    start: float = 0.0
    peak_memory: int = 0  # of the process, in bytes, since it began
    peak_rise: int = 0  # by how much the block raised that

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

    @property
    def fallbacks(self) -> list[Event]:
        """Functions that ran in NumPy, by line, the longest first."""
        found = together((("fallback", run.name, run.site), run.nbytes, run.seconds) for run in self.runs.fallback_runs)
        return sorted(found, key=lambda event: (-event.seconds, -event.nbytes))

    @property
    def rows(self) -> list[Row]:
        """The table: kernels and fallbacks, those that lost most time first, then library calls."""
        numpys = [Row(f"{e.what} (NumPy)", e.line, e.count, e.seconds, e.nbytes, 0) for e in self.fallbacks]
        return [*sorted([*self.kernels, *numpys], key=lambda row: -row.lost), *self.library_calls]

    @property
    def evaluations(self) -> list[Event]:
        """Evaluations by reason and line, the most frequent first."""
        found = together((("evaluation", self.reason(run), run.site), 0, 0.0) for run in self.runs.evaluation_runs)
        return sorted(found, key=lambda event: -event.count)

    def reason(self, run: EvaluationRun) -> str:
        """Why an evaluation came."""
        fallback = self.runs.fallback_around(run)
        return run.reason if fallback is None else f"{fallback.name} runs in NumPy"

    @property
    def transfers(self) -> list[Event]:
        """Copies between host and devices by line and reason, those with most bytes first."""
        found = together((("transfer", f"{t.way}: {t.reason}", t.site), t.nbytes, 0.0) for t in self.runs.transfers)
        return sorted(found, key=lambda event: -event.nbytes)

    @property
    def copies(self) -> list[Event]:
        """Values copied though nobody asked for it, by line."""
        return together((("copy", f"{c.what}: {c.reason}", c.site), c.nbytes, 0.0) for c in self.runs.materialisations)

    def __str__(self) -> str:
        from lazyarray.inspect.tables import lines_of

        return "\n".join(lines_of(self))

    def _repr_html_(self) -> str:
        from lazyarray.inspect.tables import html_of

        return html_of(self)

    def save(self, file: str | Path) -> None:
        """Writes the block's events as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open."""
        from lazyarray.inspect.trace import events_of

        Path(file).write_text(json.dumps({"traceEvents": events_of(self), "displayTimeUnit": "ms"}), encoding="utf-8")

    def plot(self) -> Any:
        """A Matplotlib figure: the longest kernels, calls and fallbacks, and what of it moving the bytes takes."""
        from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

        rows = sorted(self.rows, key=lambda row: row.seconds)[-20:]
        figure = Figure(figsize=(9, 1 + 0.35 * len(rows)), layout="constrained")
        axes = figure.subplots()
        places = range(len(rows))
        axes.barh(places, [1e3 * row.seconds for row in rows], label="time")
        axes.barh(places, [1e3 * (row.seconds - row.lost) for row in rows], label="at the memory's speed")
        axes.set_yticks(places, [row.label for row in rows])
        axes.set_xlabel("milliseconds")
        axes.legend(loc="lower right")
        return figure


@contextmanager
def profile() -> Iterator[Profile]:
    """`with lazyarray.profile() as p:` and then `print(p)`, `p.kernels`, `p.save("trace.json")`, `p.plot()`.

    What the block records and leaves pending runs later and is not part of it: `evaluate()` inside the block.
    """
    before = peak_memory()
    with ledger.recording() as runs:
        found = Profile(runs, start=time.perf_counter())
        try:
            yield found
        finally:
            found.seconds = time.perf_counter() - found.start
            found.peak_memory = peak_memory()
            found.peak_rise = found.peak_memory - before


def peak_memory() -> int:
    """The most bytes that this process has had in memory; 0 where the system does not tell."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return 0
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def copy_bandwidth() -> float:
    """Bytes a second that a copy reads and writes where evaluation runs: the cores, or the configured device."""
    return _measured(config.device)


@functools.cache
def _measured(place: str) -> float:
    """`copy_bandwidth` of a device; measured once."""
    from lazyarray.frontend.boundary import evaluate_all
    from lazyarray.frontend.creation import zeros

    device = configured()
    source = zeros(_COPIED // 16)
    evaluate_all((source,))
    best = 0.0
    for _ in range(4):
        start = time.perf_counter()
        evaluate_all((source.copy(),))
        if device is not None:
            device.wait()
        best = max(best, _COPIED / (time.perf_counter() - start))
    return best


def together(found: Iterable[tuple[tuple[str, str, Site | None], int, float]]) -> list[Event]:
    """Events of one kind, text and line as one."""
    groups: dict[tuple[str, str, Line | None], list[tuple[int, float]]] = {}
    for (kind, what, site), nbytes, seconds in found:
        groups.setdefault((kind, what, find_line(site)), []).append((nbytes, seconds))
    return [
        Event(kind, what, line, len(same), sum(n for n, _ in same), sum(s for _, s in same))
        for (kind, what, line), same in groups.items()
    ]


def rows_of(found: list[KernelRun] | list[LibraryRun]) -> list[Row]:
    """Runs of the same name and line as one row."""
    groups: dict[Any, list[Any]] = {}
    for run in found:
        groups.setdefault((run.name, None if run.site is None else run.site[:2]), []).append(run)
    return [
        Row(
            same[0].name,
            find_line(same[0].site),
            len(same),
            sum(run.seconds for run in same),
            sum(run.bytes_read + run.bytes_written for run in same),
            sum(run.elements * arithmetic(run.ops) for run in same if isinstance(run, KernelRun)),
            isinstance(same[0], LibraryRun),
        )
        for same in groups.values()
    ]


def arithmetic(ops: tuple[str, ...]) -> int:
    """How many of a kernel's operations compute: copies, casts and selections do not."""
    return sum(
        (op in OPS and op not in ("cast", "where", "real", "imag", "complex")) or op in ("sum", "prod") for op in ops
    )
