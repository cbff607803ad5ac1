"""Owns the ledger: the public record of what ran, as counts since the start and as lists while recording.

Whoever launches, compiles, calls a library or falls back says so here; tests, the runner's report and `profile` read
it. Nothing here changes what runs.
"""

from __future__ import annotations

import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from lazyarray.config import config
from lazyarray.ir.node import Node, Site
from lazyarray.native.primitives import find_site
from lazyarray.records import NamedTuple
from lazyarray.runtime.warned import line_of


def tell(record: Any) -> str:
    """A record as it is printed: its site by file and line, without the namespace that the site holds."""
    site = record.site
    values = dict(zip(record._fields, record, strict=True))
    values["site"] = None if site is None else f"{site[0].co_filename}:{line_of(site)}"
    return f"{type(record).__name__}({', '.join(f'{name}={value!r}' for name, value in values.items())})"


class KernelRun(NamedTuple):
    """One launch of a compiled kernel, compiling before it left out; `start`: by `time.perf_counter`."""

    name: str
    ops: tuple[str, ...]
    bytes_read: int
    bytes_written: int
    site: Site | None
    seconds: float
    start: float
    elements: int  # points of the loop nest
    together: int = 1  # how many kernels ran at once, in bands of rows, this one among them; the time is its share

    def __repr__(self) -> str:
        return tell(self)


class LibraryRun(NamedTuple):
    """One call of a library (BLAS, FFT, ...) on evaluated arguments."""

    name: str
    bytes_read: int
    bytes_written: int
    site: Site | None
    seconds: float
    start: float

    def __repr__(self) -> str:
        return tell(self)


class Compile(NamedTuple):
    """A kernel that was compiled or loaded from disk."""

    seconds: float
    start: float
    from_disk: bool


class Materialisation(NamedTuple):
    """A value written to memory that nobody asked for, and why."""

    what: str
    nbytes: int
    reason: str
    site: Site | None

    def __repr__(self) -> str:
        return tell(self)


class Transfer(NamedTuple):
    """Values copied between the host and a device, and why."""

    way: str  # "to cuda:0", "from cuda:0"
    nbytes: int
    reason: str
    site: Site | None = None
    start: float = 0.0

    def __repr__(self) -> str:
        return tell(self)


class FallbackRun:
    """One call that ran in NumPy in the place of compiled code; `nbytes`: of the arrays it was given.

    `seconds`: NumPy's own time, kernels, library calls and compiling for its arguments left out. `end`, and with it
    `seconds`, is 0 where that was not measured.
    """

    __slots__ = ("busy", "end", "name", "nbytes", "seconds", "site", "start")

    def __init__(
        self,
        name: str,
        nbytes: int,
        site: Site | None,
        start: float,
        busy: float,
        seconds: float = 0.0,
        end: float = 0.0,
    ) -> None:
        self.name = name
        self.nbytes = nbytes
        self.site = site
        self.start = start
        self.busy = busy  # seconds of kernels, library calls and compiling before it
        self.seconds = seconds
        self.end = end


class EvaluationRun(NamedTuple):
    """One evaluation, why it came, and the line at which the program was."""

    reason: str
    site: Site | None
    start: float

    def __repr__(self) -> str:
        return tell(self)


class Runs:
    """What ran while it was recorded."""

    __slots__ = ("allocations", "bytes_allocated", "compiled", "compiles", "disk_hits", "evaluation_runs",
                 "evaluations", "fallback_runs", "fallbacks", "kernels", "library_runs", "materialisations", "nodes",
                 "plans", "transfers")  # fmt: skip

    def __init__(self) -> None:
        self.kernels: list[KernelRun] = []
        self.library_runs: list[LibraryRun] = []
        self.fallbacks: dict[str, int] = {}
        self.materialisations: list[Materialisation] = []
        self.evaluations: list[str] = []
        self.plans: list[tuple[Any, ...]] = []  # what ran: plan, sites per entry, why outputs are wanted
        self.nodes: list[tuple[int, ...]] = []  # per plan that ran: its entries' nodes, by number
        self.compiled: list[Compile] = []
        self.compiles = 0
        self.disk_hits = 0
        self.allocations = 0
        self.bytes_allocated = 0
        self.transfers: list[Transfer] = []
        self.fallback_runs: list[FallbackRun] = []
        self.evaluation_runs: list[EvaluationRun] = []

    @property
    def bytes_read(self) -> int:
        """Bytes that kernels and library calls read."""
        return sum(run.bytes_read for run in self.kernels) + sum(run.bytes_read for run in self.library_runs)

    @property
    def bytes_written(self) -> int:
        """Bytes that kernels and library calls wrote."""
        kernels = sum(run.bytes_written for run in self.kernels)
        return kernels + sum(run.bytes_written for run in self.library_runs)

    def fallback_around(self, evaluation: EvaluationRun) -> FallbackRun | None:
        """The call that an evaluation makes arguments for, where that ran in NumPy."""
        after = bisect_right(self.fallback_runs, evaluation.start, key=lambda run: run.start)
        for run in self.fallback_runs[max(0, after - 1) : after + 1]:
            if run.start <= evaluation.start <= run.end:
                return run
            here = evaluation.site is not None and run.site is not None and evaluation.site[:2] == run.site[:2]
            if not run.end and here:
                return run
        return None

    @property
    def library_calls(self) -> list[str]:
        """Names of the library calls, in order."""
        return [run.name for run in self.library_runs]


COUNTS: Final = (
    "evaluations",
    "interpreted",
    "launches",
    "in_bands",
    "compiles",
    "disk_hits",
    "library_calls",
    "fallbacks",
    "materialisations",
    "allocations",
    "bytes_allocated",
    "bytes_read",
    "bytes_written",
    "transfers",
    "bytes_transferred",
)  # since the process began


class Ledger:
    """Counts, and the recordings that are open now (innermost last)."""

    __slots__ = (
        "_fallbacks",
        "_open",
        "allocations",
        "busy_seconds",
        "bytes_allocated",
        "bytes_read",
        "bytes_transferred",
        "bytes_written",
        "compile_seconds",
        "compiles",
        "disk_hits",
        "evaluations",
        "fallbacks",
        "in_bands",
        "interpreted",
        "launches",
        "library_calls",
        "materialisations",
        "refusing",
        "transfers",
    )  # fmt: skip

    evaluations: int
    interpreted: int  # those of them that NumPy did operation by operation (`runtime/first.py`)
    launches: int
    in_bands: int  # those of them that ran with others in bands of rows
    compiles: int
    disk_hits: int
    library_calls: int
    fallbacks: int
    materialisations: int
    allocations: int
    bytes_allocated: int
    bytes_read: int
    bytes_written: int
    transfers: int
    bytes_transferred: int

    def __init__(self) -> None:
        self.compile_seconds = 0.0  # since the start, loading from disk included
        self.busy_seconds = 0.0  # of kernels and library calls that somebody recorded
        self.refusing: list[Callable[[str, str], None]] = []  # told of events before they happen, and may raise
        self._open: list[Runs] = []
        self._fallbacks: dict[str, int] = {}
        for name in COUNTS:
            setattr(self, name, 0)

    def kernel(
        self,
        name: str,
        ops: tuple[str, ...],
        bytes_read: int,
        bytes_written: int,
        site: Site | None = None,
        seconds: float = 0.0,
        start: float = 0.0,
        elements: int = 0,
        together: int = 1,
    ) -> None:
        """A kernel was launched; `together`: with so many, itself among them, in bands of rows."""
        self.launches += 1
        if together > 1:
            self.in_bands += 1
        self.bytes_read += bytes_read
        self.bytes_written += bytes_written
        if self._open:
            self.busy_seconds += seconds
            run = KernelRun(name, ops, bytes_read, bytes_written, site, seconds, start, elements, together)
            for runs in self._open:
                runs.kernels.append(run)

    def library_call(
        self,
        name: str,
        bytes_read: int = 0,
        bytes_written: int = 0,
        site: Site | None = None,
        seconds: float = 0.0,
        start: float = 0.0,
    ) -> None:
        """A library function ran on evaluated arguments."""
        self.library_calls += 1
        self.bytes_read += bytes_read
        self.bytes_written += bytes_written
        if self._open:
            self.busy_seconds += seconds
            place = find_site(sys._getframe()) if site is None else site
            run = LibraryRun(name, bytes_read, bytes_written, place, seconds, start)
            for runs in self._open:
                runs.library_runs.append(run)

    def replayed(
        self,
        launches: int,
        calls: int,
        bytes_read: int,
        bytes_written: int,
        allocations: int = 0,
        bytes_allocated: int = 0,
    ) -> None:
        """Kernels and library calls ran as one; only while nobody records."""
        self.launches += launches
        self.library_calls += calls
        self.bytes_read += bytes_read
        self.bytes_written += bytes_written
        self.allocations += allocations
        self.bytes_allocated += bytes_allocated

    def fallback(self, name: str, given: Iterable[Any] = ()) -> FallbackRun | None:
        """NumPy runs in the place of something that is not compiled; `given`: its arguments.

        Who can tell when it has run gives what this returns to `ended`.
        """
        for refuse in self.refusing:
            refuse("fallback", name)
        self.fallbacks += 1
        self._fallbacks[name] = self._fallbacks.get(name, 0) + 1
        run = None
        if self._open:
            busy = self.busy_seconds + self.compile_seconds
            run = FallbackRun(name, bytes_of(given), find_site(sys._getframe()), time.perf_counter(), busy)
            for runs in self._open:
                runs.fallbacks[name] = runs.fallbacks.get(name, 0) + 1
                runs.fallback_runs.append(run)
        if "fallback" in config.debug:
            print(f"lazyarray: {name} runs in NumPy", file=sys.stderr)
        return run

    def ended(self, run: FallbackRun | None) -> None:
        """A fallback has returned."""
        if run is not None:
            busy = self.busy_seconds + self.compile_seconds - run.busy
            run.end = time.perf_counter()
            run.seconds = max(0.0, run.end - run.start - busy)

    def plan(self, made: tuple[Any, ...], sources: Iterable[Any] = ()) -> None:
        """A plan ran on nodes and numbers; `made`: the plan, sites per entry, why its outputs are wanted."""
        if self._open:
            nodes = tuple([source.sequence if type(source) is Node else -1 for source in sources])
            for runs in self._open:
                runs.plans.append(made)
                runs.nodes.append(nodes)

    @property
    def listening(self) -> bool:
        """True while somebody records: then launches are timed."""
        return bool(self._open)

    def is_attended(self) -> bool:
        """True while somebody records, or may refuse what happens."""
        return bool(self._open or self.refusing)

    def compiled(self, seconds: float = 0.0, start: float = 0.0) -> None:
        """A kernel was compiled."""
        self.compiles += 1
        self.compile_seconds += seconds
        for runs in self._open:
            runs.compiles += 1
            runs.compiled.append(Compile(seconds, start, False))

    def emitted(self, seconds: float, start: float) -> None:
        """Kernels were emitted, to be compiled on other threads until they run."""
        self.compile_seconds += seconds
        for runs in self._open:
            runs.compiled.append(Compile(seconds, start, False))

    def disk_hit(self, seconds: float = 0.0, start: float = 0.0) -> None:
        """A kernel was loaded from the cache on disk."""
        self.disk_hits += 1
        self.compile_seconds += seconds
        for runs in self._open:
            runs.disk_hits += 1
            runs.compiled.append(Compile(seconds, start, True))

    def evaluation(self, reason: str) -> None:
        """Pending nodes are being evaluated."""
        for refuse in self.refusing:
            refuse("evaluation", reason)
        self.evaluations += 1
        if self._open:
            run = EvaluationRun(reason, find_site(sys._getframe()), time.perf_counter())
            for runs in self._open:
                runs.evaluations.append(reason)
                runs.evaluation_runs.append(run)

    def run_first(self) -> None:
        """NumPy did an evaluation operation by operation: compiling would have taken longer."""
        self.interpreted += 1

    def allocation(self, nbytes: int) -> None:
        """Memory for a result was taken from the pool."""
        self.allocations += 1
        self.bytes_allocated += nbytes
        for runs in self._open:
            runs.allocations += 1
            runs.bytes_allocated += nbytes

    def transfer(self, way: str, nbytes: int, reason: str, count: int = 1) -> None:
        """Values are being copied between the host and a device."""
        for refuse in self.refusing:
            refuse("transfer", f"{nbytes} bytes {way}: {reason}")
        self.transfers += count
        self.bytes_transferred += nbytes
        if self._open:
            transfer = Transfer(way, nbytes, reason, find_site(sys._getframe()), time.perf_counter())
            for runs in self._open:
                runs.transfers.append(transfer)

    def materialisation(self, what: str, nbytes: int, reason: str, site: Site | None = None) -> None:
        """A value was written to memory though nobody asked for it."""
        self.materialisations += 1
        if self._open:
            entry = Materialisation(what, nbytes, reason, site)
            for runs in self._open:
                runs.materialisations.append(entry)

    def counters(self) -> dict[str, Any]:
        """All counts since the process began; under "fallbacks_by_name" the fallbacks one by one."""
        return {**{name: getattr(self, name) for name in COUNTS}, "fallbacks_by_name": dict(self._fallbacks)}

    @contextmanager
    def recording(self) -> Iterator[Runs]:
        """What runs inside the block, as a fresh record. Recordings nest."""
        runs = Runs()
        self._open.append(runs)
        try:
            yield runs
        finally:
            self._open = [other for other in self._open if other is not runs]


ledger: Final = Ledger()


def record_runs() -> Any:
    """`with lazyarray.record_runs() as r:` and then `r.kernels`, `r.bytes_read`, `r.fallbacks`, ..."""
    return ledger.recording()


def counters() -> dict[str, Any]:
    """A snapshot of all counts since the process began."""
    return ledger.counters()


def bytes_of(given: Iterable[Any]) -> int:
    """Bytes of the arrays among a call's arguments, those inside lists and tuples included. Evaluates nothing."""
    total = 0
    for item in given:
        if isinstance(item, list | tuple):
            total += bytes_of(item)
        elif hasattr(type(item), "__array_ufunc__"):
            total += int(item.nbytes) if hasattr(type(item), "nbytes") else 0
    return total
