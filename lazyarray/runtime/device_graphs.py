"""Owns plans that come again with the same memory on a device: what they queue is recorded once, and queued as one.

A record (a CUDA graph) holds addresses and numbers. A loop that frees what it no longer needs is given the same
memory again, since the device's pool hands out first what was freed last: so a record is found by the addresses of
what a run reads and makes, and by its numbers. Results lie where an ordinary run would have put them, and no value is
copied; only what nobody sees, between the steps, has memory of the record's own. A run that finds no record is an
ordinary one, and the same kernels compute the same bits in both.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import WeakSet

from lazyarray.ir.node import spec_of
from lazyarray.ir.ops import dtype_of
from lazyarray.runtime.floating import Told
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.recovery import Queued
from lazyarray.schedule.plan import CallStep, ClaimStep, EmptyStep, KernelStep, Plan

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.node import Node, Spec  # cimport
from lazyarray.runtime.device_errors import Log  # cimport
from lazyarray.runtime.floating import are_told_so, hand_over  # cimport
from lazyarray.runtime.remote import Remote, reserve, share  # cimport

OWN_BYTES: Final = 16 << 20  # memory of a record's own; plans that need more are bound by the device and not the host
LONG_BYTES: Final = 32 << 20  # that a launch moves on average; the host is done with such a launch before the device
ALL_BYTES: Final = 256 << 20  # of all records together
GRAPHS_LIMIT: Final = 8  # of one plan
SEEN_LIMIT: Final = 64  # places of memory that were seen and not recorded
AWAITED: Final = 4  # times that memory comes before a run is recorded,
SHORT: Final = 24  # and so many more, shared by the launches: what a record costs, and what it saves each time
REFUSALS: Final = (RuntimeError, MemoryError)  # of devices and their libraries; what else is raised is a handler's
MISSES_LIMIT: Final = 256  # runs without a record after which a plan is not looked at again


class Graph:
    """What one run of a plan queued."""

    __slots__ = ("__weakref__", "firsts", "keeps", "launch", "log", "nbytes", "notes", "tolds")

    def __init__(self) -> None:
        self.launch: Callable[[], None]
        self.log: Log | None = None  # of floating-point errors
        self.firsts: list[int] = []  # for each step that may raise some: the number of its first word
        self.tolds: list[tuple[Any, ...]] | None = (
            None  # what the last run was to tell, and in which words: loops tell the same
        )
        self.notes: list[tuple[int, Told]] = []
        self.keeps: list[Any] = []
        self.nbytes = 0


_alive: Final[WeakSet[Graph]] = WeakSet()


class Graphs:
    """The records of one plan on one device."""

    __slots__ = (
        "_awaited", "_calls", "_claims", "_graphs", "_heirs", "_inputs", "_kernels", "_launches", "_made", "_misses",
        "_numbers", "_outputs", "_plain", "_plan", "_raising", "_reads", "_runs", "_seen", "_specs", "_taken", "_ways",
        "_writes",
    )  # fmt: skip

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._graphs: dict[Any, Graph] = {}
        self._ways: list[dict[Any, Graph]] = []  # the same by addresses alone, for each of the runs that `again` knows
        self._seen: dict[Any, int] = {}
        launches = sum([type(step) in (CallStep, KernelStep) for step in plan.steps])
        self._awaited = AWAITED + SHORT // max(launches, 1)
        self._misses = 0
        self._runs = 0
        self._kernels = tuple([step for step in plan.steps if type(step) is KernelStep])
        self._launches = len(self._kernels)
        self._raising = tuple([step for step in self._kernels if step.raising])
        self._claims = tuple([step for step in plan.steps if type(step) is ClaimStep])
        self._made = _made(plan)
        self._heirs = _heirs(plan, self._made)
        claimed = {step.result for step in self._claims}
        reads = [slot for step in plan.steps for slot in _reads(step)]
        inputs = [s for s in dict.fromkeys(reads) if s not in self._made and s not in claimed]
        self._inputs = tuple([(slot, plan.origins[slot]) for slot in inputs])
        self._outputs = tuple(dict.fromkeys(plan.outputs))
        # What a run gives is memory that it makes, each result its own.
        self._plain = not self._claims and len(self._outputs) == len(plan.outputs)
        self._plain = self._plain and all(slot in self._made for slot in self._outputs)
        self._specs = [spec_of(plan.shapes[slot], dtype_of(plan.codes[slot])) for slot in self._outputs]
        self._taken = sum([spec.nbytes for spec in self._specs])
        scalars = [s.slot for step in self._kernels for s in step.scalars if s.slot is not None]
        self._numbers = tuple(dict.fromkeys([plan.origins[slot] for slot in scalars]))
        calls = [step for step in plan.steps if type(step) is CallStep]
        self._calls = len(calls)
        self._reads = sum([step.loaded for step in self._kernels])
        self._reads += sum([plan.nbytes(slot) for step in calls for slot, _ in step.args])
        self._writes = sum([step.stored for step in self._kernels]) + sum([plan.nbytes(c.result) for c in calls])

    def take(self, run: Any) -> bool:
        """Queues a run as it was recorded before; False where its steps have to be queued one by one."""
        self._runs += 1
        if self._runs == 1 or self._misses > MISSES_LIMIT:
            return False  # the first run prepares the steps
        free: dict[int, bool] = {}
        roots: dict[int, int] = {}
        if self._claims:
            free = {step.result: self._is_taken_over(run, step) for step in self._claims}
            roots = self._roots(free)
        key = self._key(run, roots)
        if key is None:
            self._misses += 1
            return False
        memo = run.memo
        asked: list[Any] | None = None if memo is None else memo.get("asked")
        if asked is None:
            asked = [run.asked(run.ready(step)) for step in self._raising]
            if memo is not None:
                memo["asked"] = asked
        for nodes in asked:
            key.append(not nodes)
        found = tuple(key)
        graph = self._graphs.get(found)
        if graph is None:
            graph = self._new(run, found, free, asked)
            if graph is None:
                return False
        else:
            self._misses = 0
        if graph.log is not None:
            notes = None if memo is None else memo.get("notes")
            if notes is None:
                notes = self._notes(graph, asked)
                if memo is not None:
                    memo["notes"] = notes
            graph.log.note(notes)
        for slot, root in roots.items():
            memory = run.memory[root]
            if memory is not None:
                run.memory[slot] = memory if root in self._made else Remote(memory.array, run.device)
        if roots:
            run.over, run.launched = self._outputs, Queued()
            run.launched.call(graph.launch)
        else:
            graph.launch()
        if memo is not None and self._plain and "tail" not in memo:
            # A run of the same nodes differs from this one in its memory alone.
            memo["tail"] = key[len(self._inputs) + len(self._outputs) :]
            memo["graphs"] = self
        run.done.update(self._outputs)
        ledger.replayed(self._launches, self._calls, self._reads, self._writes)
        return True

    @property
    def is_plain(self) -> bool:
        """True if a run writes no memory that was there before, and `again` may queue it."""
        return bool(self._plain)

    @property
    def origins(self) -> list[Any]:
        """The places of the sources that `again` is given the memory of."""
        return [origin for _, origin in self._inputs]

    def again(self, given: list[Any], device: Any, memo: dict[str, Any]) -> list[Any] | None:
        """The results of a run of the same nodes that is queued as it was before; None where it was not.

        `given`: the values that it reads, on the device.
        """
        key: list[Any] = []
        made: list[Any] = []
        remote: Remote
        spec: Spec
        ways: dict[Any, Graph] | None = memo.get("ways")
        if ways is None:
            ways = memo["ways"] = {}
            self._ways.append(ways)
        for remote in given:
            key.append(remote.address)
        for spec in self._specs:
            remote = reserve(device, spec)
            made.append(remote)
            key.append(remote.address)
        addresses = tuple(key)
        graph = ways.get(addresses)
        if graph is None:
            key += memo["tail"]
            graph = self._graphs.get(tuple(key))
            if graph is not None:
                ways[addresses] = graph
        if graph is None:
            # Memory that was taken last goes back first: the run that follows is given it in the same order.
            remote = None  # type: ignore[assignment]
            while made:
                made.pop()
            return None
        if graph.log is None:
            graph.launch()
        else:
            notes = memo.get("notes")
            if notes is None:
                return None
            graph.log.note(notes)
            graph.launch()
        ledger.replayed(self._launches, self._calls, self._reads, self._writes, len(made), self._taken)
        self._misses = 0
        return made

    def _notes(self, graph: Graph, asked: list[Any]) -> list[tuple[int, Told]]:
        """What is to be told, with its words: one list for as long as that is the same."""
        raising = [node for nodes in asked for _, node in nodes]
        if graph.tolds is not None and len(raising) == len(graph.tolds) and are_told_so(raising, graph.tolds):
            return graph.notes
        tolds = [hand_over(node) for node in raising]
        graph.tolds = [tuple(told) for told in tolds]
        words = [first + w for first, nodes in zip(graph.firsts, asked, strict=True) for w, _ in nodes]
        graph.notes = list(zip(words, tolds, strict=True))
        return graph.notes

    def _new(self, run: Any, found: Any, free: dict[int, bool], asked: list[Any]) -> Graph | None:
        """A record of this run, if it has come so often that one would have paid by now."""
        self._misses += 1
        seen = self._seen.get(found, 0) + 1
        if seen <= self._awaited:
            if len(self._seen) >= SEEN_LIMIT:
                self._seen.clear()
            self._seen[found] = seen
            return None
        del self._seen[found]
        graph = self._record(run, free, asked)
        if graph is None:
            self._misses = MISSES_LIMIT + 1
            return None
        if len(self._graphs) >= GRAPHS_LIMIT:
            del self._graphs[next(iter(self._graphs))]
            for ways in self._ways:
                ways.clear()
        self._graphs[found] = graph
        return graph

    def _is_taken_over(self, run: Any, step: ClaimStep) -> bool:
        origin = self._plan.origins[step.old]
        source = None if origin is None else run.sources[origin]
        # What is sent only now may be shared there already, or be wanted later.
        there = type(source) is Node and (source.remote is not None or source.data is not None)
        source = None  # references are counted
        return bool(run.is_free(step)) if there else not step.copy

    def _roots(self, free: dict[int, bool]) -> dict[int, int]:
        """For what claims give: the slot whose memory it is."""
        roots: dict[int, int] = {}
        for step in self._claims:
            roots[step.result] = roots.get(step.old, step.old) if free[step.result] else step.result
        return roots

    def _key(self, run: Any, roots: dict[int, int]) -> list[Any] | None:
        """What a record of this run is found by, its results having memory; None where there is none."""
        key: list[Any] = []
        memory = run.memory
        sources = run.sources
        remote: Remote | None
        for slot, origin in self._inputs:
            source = sources[origin]
            if type(source) is not Node:
                return None
            node: Node = source
            remote = node.remote
            if remote is None or remote.device is not run.device:
                remote = run.value(slot)
            memory[slot] = remote
            key.append(remote.address)
        for slot in self._outputs:
            root = roots.get(slot, slot)
            if root in self._made or root in roots:
                remote = memory[root]
                if remote is None:
                    remote = run.make(root)
                key.append(remote.address)
            else:
                key.append(root)
        for place in self._numbers:
            number = sources[place]
            key.append(number)
            key.append(type(number))
            if not number:
                key.append(str(number))  # zeros of both signs are equal
        return key

    def _record(self, run: Any, free: dict[int, bool], asked: list[list[tuple[int, Any]]]) -> Graph | None:
        device: Any = run.device
        if any(run.ready(step).refused is not None for step in self._kernels):
            return None
        words = 0
        graph = Graph()
        for step, nodes in zip(self._raising, asked, strict=True):
            graph.firsts.append(words)
            if nodes:
                words += run.ready(step).words + 3 & -4  # aligned to 16 bytes
        again = type(run)(self._plan, run.sources, device, run.uses)
        again.memory = list(run.memory)
        again.free = free
        again.flags = {}
        if words:
            log = graph.log = Log(device, words)
            again.flags = {
                id(step): log.address + 4 * first
                for step, first, nodes in zip(self._raising, graph.firsts, asked, strict=True)
                if nodes
            }
        for slot in [*self._made, *[slot for slot, taken in free.items() if not taken]]:
            if again.memory[slot] is None:
                before = self._heirs.get(slot)
                if before is not None:
                    again.memory[slot] = share(again.memory[before], again.specs[slot])
                    continue
                graph.keeps.append(again.make(slot))
                graph.nbytes += self._plan.nbytes(slot)
        if sum([other.nbytes for other in _alive]) + graph.nbytes > ALL_BYTES:
            return None

        def queue() -> None:
            for step in self._plan.steps:
                again.step(step)
            if graph.log is not None:
                graph.log.queue()

        try:
            graph.launch = device.record(queue)
        except REFUSALS:
            return None  # the steps are queued one by one, and whatever is wrong is raised there
        _alive.add(graph)
        return graph


def _reads(step: Any) -> list[int]:
    if type(step) is KernelStep:
        return [walk.slot for walk in step.walks if walk.slot not in step.writes]
    if type(step) is CallStep:
        return [slot for slot, _ in step.args]
    return [step.old] if type(step) is ClaimStep else []


def _made(plan: Plan) -> dict[int, None]:
    """The slots that steps give memory of their own."""
    claimed = {step.result for step in plan.steps if type(step) is ClaimStep}
    made: dict[int, None] = {}
    for step in plan.steps:
        if type(step) is KernelStep:
            made.update(dict.fromkeys([slot for slot in step.writes if slot not in claimed]))
        elif type(step) is CallStep or type(step) is EmptyStep:
            made[step.result] = None
    return made


def _heirs(plan: Plan, made: dict[int, None]) -> dict[int, int]:
    """Slots between the steps whose memory is that of an earlier one, of as many bytes, that nobody needs any more.

    What claims give shares memory with what they claim, and is left out.
    """
    apart = set(plan.outputs)
    for step in plan.steps:
        if type(step) is ClaimStep:
            apart.update((step.old, step.result))
    heirs: dict[int, int] = {}
    spare: dict[int, list[int]] = {}
    met: set[int] = set()
    for step, frees in zip(plan.steps, plan.frees, strict=True):
        for slot in step.writes if isinstance(step, KernelStep) else (step.result,):
            if slot in made and slot not in apart and slot not in met:
                met.add(slot)
                found = spare.get(plan.nbytes(slot))
                if found:
                    heirs[slot] = found.pop()
        for slot in frees:
            if slot in met:
                spare.setdefault(plan.nbytes(slot), []).append(slot)
    return heirs


def _records(plan: Plan, device: Any) -> bool:
    """True for plans that the device can record, and which need little memory between their steps."""
    if not hasattr(device, "record"):
        return False
    launches = moved = 0
    for step in plan.steps:
        if type(step) is KernelStep:
            moved += step.loaded + step.stored
        if type(step) is CallStep:
            shapes = [plan.shapes[slot] if view is None else view.shape for slot, view in step.args]
            codes = [plan.codes[slot] for slot, _ in step.args]
            if not step.library.into or not device.recordable(step.library, shapes, codes):
                return False
        launches += type(step) in (CallStep, KernelStep)
    made = _made(plan)
    heirs = _heirs(plan, made)
    own = sum([plan.nbytes(slot) for slot in made if slot not in plan.outputs and slot not in heirs])
    return launches > 0 and own <= OWN_BYTES and moved <= launches * LONG_BYTES


def take_graph(run: Any) -> bool:
    """Queues a run as it was recorded before, if it was; records one that comes again."""
    programs = run.plan.programs
    graphs = programs.get(run.device.name)
    if graphs is None:
        graphs = programs[run.device.name] = Graphs(run.plan) if _records(run.plan, run.device) else False
    return graphs is not False and graphs.take(run)


__all__ = ["take_graph"]
