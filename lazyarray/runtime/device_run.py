"""Owns the running of plans on a device: memory of slots there, launches that are queued, library calls, round trips.

As `runtime/execute.py` for the host.  Nothing here waits for the device, but for what only the host can do: kernels
and library calls that the device has no counterpart of run on the host, and are counted.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np

from lazyarray.errors import CompileError
from lazyarray.ir.index_map import IndexMap, apply, size_of
from lazyarray.ir.node import Site, spec_of
from lazyarray.ir.ops import dtype_of
from lazyarray.runtime import backend as backends
from lazyarray.runtime.device import (
    Device,
    DeviceArray,
    DeviceLauncher,
    DeviceProgram,
    compiler_for,
    download,
    send,
    upload,
)
from lazyarray.runtime.device_errors import equal_sources, words_of
from lazyarray.runtime.device_graphs import take_graph
from lazyarray.runtime.dump import saves_launches
from lazyarray.runtime.floating import Told, modes_of
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.recovery import forget_old, writes_over
from lazyarray.runtime.warned import at
from lazyarray.schedule.kernel import Binding
from lazyarray.schedule.moments import join_moments
from lazyarray.schedule.plan import CallStep, ClaimStep, EmptyStep, KernelStep, Plan

# The build reads such imports by the line.
# isort: split
from lazyarray.ir.node import Node  # cimport
from lazyarray.native.primitives import count  # cimport
from lazyarray.runtime.floating import are_told_so, hand_over, wanted  # cimport
from lazyarray.runtime.remote import Remote, reserve  # cimport
from lazyarray.runtime.run import AnyRun, numbers_of  # cimport

Array = np.ndarray[Any, Any]
SPECS: Final = -1  # what a plan keeps for all runs: no id of a step is negative
FORESEEN: Final = 1 << 32  # stands for an address
AN_INPUT: Final = "an input of an evaluation there"


def _count_of_leaf(sources: list[Any], place: int) -> int:
    node = sources[place]
    return count(node)


UNNAMED: Final = _count_of_leaf([object()], 0)  # as in `runtime/execute.py`


def plan_there(plan: Plan, device: Device) -> Plan:
    """The plan as a device runs it, with the same slots."""
    found: Plan | None = plan.programs.get(("there", device.name))
    if found is None:
        joins = getattr(compiler_for(device), "joins_moments", False)
        found = plan.programs["there", device.name] = join_moments(plan) if joins else plan
    return found


class Ready:
    """A kernel step on one device, with all that does not change from run to run."""

    __slots__ = (
        "launcher", "loaded", "name", "notes", "offsets", "ops", "origins", "refused", "slots", "stored", "tolds",
        "watching", "words", "writes",
    )  # fmt: skip

    def __init__(self, run: DeviceRun, step: KernelStep) -> None:
        plan = run.plan
        self.refused: str | None = None  # why the device cannot run it
        self.name, self.ops, self.loaded, self.stored = step.name, step.ops, step.loaded, step.stored
        self.writes = step.writes
        self.slots = tuple([walk.slot for walk in step.walks])
        self.offsets = tuple([walk.offset for walk in step.walks])
        # Of each scalar: the place of its source, or the literal in a tuple.
        self.origins = tuple([(s.value,) if s.slot is None else plan.origins[s.slot] for s in step.scalars])
        self.watching: list[tuple[int, list[int]]] = []  # words for errors, with the places of the nodes that raise
        self.words = 0
        self.notes: list[
            tuple[int, Told]
        ] = []  # what the last run was to tell, and in which words: loops tell the same
        self.tolds: list[tuple[Any, ...]] | None = None
        try:
            program: DeviceProgram = compiler_for(run.device).compile_for(run.device, step.kernel)
        except CompileError as error:
            self.refused = str(error)
            return
        if saves_launches():
            from lazyarray.runtime.saved import save_launch

            save_launch(plan, step, program.source, run.on_host, run.sources)
        sizes = tuple([plan.nbytes(slot) for slot in self.slots])
        self.launcher: DeviceLauncher = program.launcher(step.extents, step.strides, sizes)
        if step.raising:
            # What stands for a jit-compiled function's nodes has no arguments, by which it could be told apart.
            equal = None if run.memo is None else run.memo.get("equal")
            if equal is None:
                equal = equal_sources(run.sources)
            self.words = len(program.words) + 1
            for target, slot in step.raising:
                origin = plan.origins[slot]
                if origin is not None and target in program.words:
                    self.watching.append((program.words[target], equal.get(origin, [origin])))


class DeviceRun(AnyRun):
    """One evaluation of a plan on a device: a value per slot."""

    __slots__ = ("device", "flags", "free", "listening", "memo", "readies", "specs")

    def __init__(self, plan: Plan, sources: list[Any], device: Device, uses: dict[int, int] | None = None) -> None:
        plan = plan_there(plan, device)
        AnyRun.__init__(self, plan, sources, uses)
        self.device = device
        self.listening = False  # somebody records what runs
        # By id of a step: what is kept of it on this device.
        self.readies: dict[int, Ready] = plan.programs.setdefault(("ready", device.name), {})
        specs = plan.ready.get(SPECS)
        if specs is None:
            codes = zip(plan.shapes, plan.codes, strict=True)
            specs = plan.ready[SPECS] = [spec_of(shape, dtype_of(code)) for shape, code in codes]
        self.specs = specs
        # Of runs that are recorded (`device_graphs.py`): by slot, whether a claim takes memory over; by id of a step,
        # where its words are.
        self.free: dict[int, bool] | None = None
        self.flags: dict[int, int] | None = None
        # Of runs whose nodes are always the same (`frontend/jit.py`): what is kept of the errors that they tell.
        self.memo: dict[str, Any] | None = None

    def run(self) -> None:
        """Queues all steps in order. What is asked for is in `memory` afterwards."""
        self.listening = ledger.listening
        with self.device.active():
            if not self.listening and take_graph(self):
                return
            if not self.readies and not saves_launches():
                foresee(self)
            steps, frees = self.plan.steps, self.plan.frees
            for place in range(len(steps)):
                self.step(steps[place])
                for slot in frees[place]:
                    self.memory[slot] = None

    def step(self, step: Any) -> None:
        """Queues one step."""
        if type(step) is KernelStep:
            if self.taken:
                writes_over(self, step.writes)
            self.kernel(step)
            self.done.update(step.writes)
            if self.taken:
                forget_old(self, step.writes)
                self.over = ()
        else:
            RULES[type(step)](self, step)
            if type(step) is not ClaimStep:
                self.done.add(step.result)

    # -- memory ----------------------------------------------------------------------------------------------------
    def source(self, slot: int) -> Any:
        """The node or number that the slot stands for."""
        origin = self.plan.origins[slot]
        assert origin is not None
        return self.sources[origin]

    def value(self, slot: int) -> Remote:
        """The slot's value on the device; inputs are sent there."""
        found: Remote | None = self.memory[slot]
        if found is None:
            source = self.source(slot)
            if type(source) is Node:
                array = send(source, self.device, AN_INPUT)
                remote = source.remote
                found = remote if remote.array is array else Remote(array, self.device)
            else:
                number = np.asarray(source, dtype_of(self.plan.codes[slot]))
                found = Remote(upload(number, self.device, AN_INPUT), self.device)
            self.memory[slot] = found
        return found

    def array(self, slot: int) -> DeviceArray:
        return self.value(slot).array

    def on_host(self, slot: int) -> Array:
        """A copy of the slot's value for a dump."""
        return download([self.array(slot)], [self.specs[slot]], self.device, "a launch is saved")[0]

    def make(self, slot: int) -> Remote:
        """New memory for the slot."""
        spec = self.specs[slot]
        found = self.memory[slot] = reserve(self.device, spec)
        ledger.allocation(spec.nbytes)
        return found

    def seen(self, arg: tuple[int, IndexMap | None]) -> DeviceArray:
        slot, view = arg
        array = self.array(slot)
        return array if view is None else self.device.view(array, view)

    def site_of(self, slots: tuple[int, ...]) -> Site | None:
        """The line that recorded the last of the slots of which that is known."""
        for slot in reversed(slots):
            origin = self.plan.origins[slot]
            node = None if origin is None else self.sources[origin]
            if type(node) is Node and node.site is not None:
                return node.site
        return None

    # -- steps -----------------------------------------------------------------------------------------------------
    def ready(self, step: KernelStep) -> Ready:
        """What is kept of a step."""
        found = self.readies.get(id(step))
        if found is None:
            if saves_launches():
                for slot in step.writes:
                    if self.memory[slot] is None:
                        self.make(slot)
            found = self.readies[id(step)] = Ready(self, step)
        return found

    def kernel(self, step: KernelStep) -> None:
        ready = self.ready(step)
        memory = self.memory
        remote: Remote | None
        for slot in ready.writes:
            if memory[slot] is None:
                self.make(slot)
        pointers: list[int] = []
        bases: list[int] = []
        place = 0
        for slot in ready.slots:
            remote = memory[slot]
            if remote is None:
                remote = self.value(slot)
            base = remote.address
            bases.append(base)
            pointers.append(base + ready.offsets[place])
            place += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        scalars = numbers_of(ready.origins, self.sources)
        if ready.refused is None:
            start = compiling = 0.0
            if self.listening:
                self.device.wait()
                start, compiling = time.perf_counter(), ledger.compile_seconds
            try:
                flags = self.watched(step, ready) if ready.watching else 0
                ready.launcher.start(pointers, scalars, bases, flags, self if self.over else None)
            except CompileError as error:
                ready.refused = str(error)
            else:
                if not self.listening:
                    ledger.kernel(ready.name, ready.ops, ready.loaded, ready.stored)
                    return
                self.device.wait()
                end = time.perf_counter()
                seconds = end - start - (ledger.compile_seconds - compiling)
                site, elements = self.site_of((*step.writes, *step.computes)), size_of(step.extents)
                ledger.kernel(step.name, step.ops, step.loaded, step.stored, site, seconds, end - seconds, elements)
                return
        self.kernel_on_host(step, tuple(scalars), ready.refused or "")

    def asked(self, ready: Ready) -> list[tuple[int, Node]]:
        """The words in which the user wants errors to be noted, each with a node that it tells of."""
        found = []
        sources = self.sources
        for word, places in ready.watching:
            for place in places:
                source = sources[place]
                if type(source) is Node:
                    node: Node = source
                    if wanted(node):
                        found.append((word, node))
        return found

    def watched(self, step: KernelStep, ready: Ready) -> int:
        """Where the kernel is to leave the errors that the user wants to be told of; 0 where there are none."""
        if self.flags is not None:
            return self.flags.get(id(step), 0)
        asked = self.asked(ready)
        if not asked:
            return 0
        words = words_of(self.device)
        first, address = words.take(ready.words)
        nodes = [node for _, node in asked]
        known = ready.tolds
        if known is None or len(known) != len(nodes) or not are_told_so(nodes, known):
            ready.notes = [(asked[place][0], hand_over(nodes[place])) for place in range(len(nodes))]
            ready.tolds = [tuple(told) for _, told in ready.notes]
        words.note(first, ready.notes)
        return address

    def kernel_on_host(self, step: KernelStep, scalars: tuple[Any, ...], why: str) -> None:
        """Runs a kernel that the device cannot run on copies of its memory, and sends back what it writes."""
        reason = f"{step.name} runs on the host: {why}"
        slots = list(dict.fromkeys([walk.slot for walk in step.walks]))
        specs = [spec_of(self.plan.shapes[s], dtype_of(self.plan.codes[s])) for s in slots]
        here = dict(zip(slots, download([self.array(s) for s in slots], specs, self.device, reason), strict=True))
        pointers = [here[w.slot].__array_interface__["data"][0] + w.offset for w in step.walks]
        program = backends.current().compile(step.kernel)
        binding = Binding(step.extents, tuple(pointers), step.strides, scalars)
        if step.raising:
            found = program.watch(binding)
            for target, slot in step.raising:
                node = self.source(slot) if self.plan.origins[slot] is not None else None
                if found.get(target) and type(node) is Node and wanted(node):
                    self.raised.append((node, found[target]))
        else:
            program.launch(binding)
        for slot in slots:
            if slot in step.writes:
                self.memory[slot] = Remote(upload(here[slot], self.device, reason), self.device)
        ledger.kernel(step.name, step.ops, step.loaded, step.stored)

    def is_free(self, step: ClaimStep) -> bool:
        """True if only this plan can still read the old value's memory."""
        origin = self.plan.origins[step.old]
        node = self.sources[origin] if origin is not None else None
        if step.copy or self.value(step.old).exported:
            return False
        if type(node) is Node and node.remote is self.memory[step.old]:
            return count(node) <= UNNAMED + self.uses.get(id(node), 0)
        return True

    def claim(self, step: ClaimStep) -> None:
        """Takes the old value's memory over if only this plan can still read it, else copies it."""
        found = self.value(step.old)
        if self.is_free(step) if self.free is None else self.free[step.result]:
            origin = self.plan.origins[step.old]
            node = self.sources[origin] if origin is not None else None
            if type(node) is Node and node.remote is found:
                self.memory[step.old] = None
                found = Remote(found.array, self.device)
            self.memory[step.result] = found
            self.taken[step.result] = step.old
            return
        site = self.site_of((step.result,)) if ledger.listening else None
        size = self.plan.nbytes(step.old)
        ledger.materialisation("copy", size, "the value before a write is still needed", site)
        made = self.memory[step.result] or self.make(step.result)
        self.device.put(made.address, found.array)

    def call(self, step: CallStep) -> None:
        library, device = step.library, self.device
        args = [self.seen(arg) for arg in step.args]
        if ledger.listening:
            device.wait()
        start = time.perf_counter()
        shape, dtype = self.plan.shapes[step.result], dtype_of(self.plan.codes[step.result])
        into = (self.memory[step.result] or self.make(step.result)).array if library.into else None
        made = device.call(library, args, into)
        if made is NotImplemented:
            self.call_on_host(step)
        else:
            if made.dtype != dtype or made.shape != shape or not made.flags.c_contiguous:
                target = device.empty(shape, dtype)
                target[...] = made.reshape(shape)
                made = target
            if made is not into:
                self.memory[step.result] = Remote(made, device)
        if ledger.listening:
            device.wait()
        seconds = time.perf_counter() - start
        site = self.site_of((step.result,)) if ledger.listening else None
        read = sum([a.nbytes for a in args])
        ledger.library_call(library.name, read, self.plan.nbytes(step.result), site, seconds, start)

    def call_on_host(self, step: CallStep) -> None:
        """The library call in NumPy, on copies of its arguments."""
        library = step.library
        reason = f"{library.name} runs on the host: {self.device.name} has none that means the same"
        slots = list(dict.fromkeys([slot for slot, _ in step.args]))
        specs = [spec_of(self.plan.shapes[s], dtype_of(self.plan.codes[s])) for s in slots]
        here = dict(zip(slots, download([self.array(s) for s in slots], specs, self.device, reason), strict=True))
        args = [here[slot] if view is None else apply(view, here[slot]) for slot, view in step.args]
        shape, dtype = self.plan.shapes[step.result], dtype_of(self.plan.codes[step.result])
        origin = self.plan.origins[step.result]
        node = None if origin is None else self.sources[origin]
        options = dict(library.options)
        if type(node) is Node and node.errors is not None:
            with np.errstate(**modes_of(node)), at(node.site):
                made = library.function(*args, **options)
            node.errors = None
        else:
            made = library.function(*args, **options)
        result = np.ascontiguousarray(np.asarray(made, dtype)).reshape(shape)
        self.memory[step.result] = Remote(upload(result, self.device, reason), self.device)

    def empty(self, step: EmptyStep) -> None:
        if self.memory[step.result] is None:
            self.make(step.result)


def foresee(run: DeviceRun) -> None:
    """Tells the device of all kernels of a plan before the first of them runs, where it wants to know.

    It may compile them at the same time. What lies where is not known of memory that is made on the way: each slot has
    an address that is aligned as new memory is.
    """
    steps = [step for step in run.plan.steps if type(step) is KernelStep]
    if len(steps) < 2:
        return
    places: dict[int, int] = {}
    for step in run.plan.steps:
        if type(step) is ClaimStep and not step.copy:
            places[step.result] = _place_of(run, step.old, places)
    told: set[int] = set()  # nodes whose errors an earlier kernel tells
    for step in steps:
        ready = run.ready(step)
        tell: Any = None if ready.refused is not None else getattr(ready.launcher, "foresee", None)
        if tell is None:
            continue
        bases = [_place_of(run, slot, places) for slot in ready.slots]
        pointers = [base + offset for base, offset in zip(bases, ready.offsets, strict=True)]
        asked = {id(node) for _, node in run.asked(ready)} - told
        told |= asked
        tell(pointers, numbers_of(ready.origins, run.sources), bases, FORESEEN if asked else 0)


def _place_of(run: DeviceRun, slot: int, places: dict[int, int]) -> int:
    """Where a slot's value lies, as far as that is known."""
    found = places.get(slot)
    if found is None:
        origin = run.plan.origins[slot]
        source = None if origin is None else run.sources[origin]
        remote: Any = source.remote if type(source) is Node else None
        there = remote is not None and remote.device is run.device
        found = places[slot] = remote.address if there else FORESEEN * (slot + 1)
    return found


RULES: dict[type, Any] = {
    ClaimStep: DeviceRun.claim,
    CallStep: DeviceRun.call,
    EmptyStep: DeviceRun.empty,
}
