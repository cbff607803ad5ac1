"""Owns the running of plans: gives slots memory, launches kernels, calls libraries, hands results to nodes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

import numpy as np

from lazyarray.ir.index_map import IndexMap, apply, size_of
from lazyarray.ir.node import Node  # cimport
from lazyarray.ir.ops import dtype_of
from lazyarray.native.primitives import address_of, count, create  # cimport
from lazyarray.runtime.backend import Backend, Program
from lazyarray.runtime.banded import Banded, bands_of, run_in_bands
from lazyarray.runtime.dump import saves_launches
from lazyarray.runtime.floating import modes_of, tells_as_now
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.pool import reserve
from lazyarray.runtime.recovery import uninterrupted
from lazyarray.runtime.resting import rest_for
from lazyarray.runtime.run import AnyLauncher, AnyRun, numbers_of  # cimport
from lazyarray.runtime.warned import at
from lazyarray.schedule.columns import by_columns
from lazyarray.schedule.heirs import heirs_of
from lazyarray.schedule.kernel import Binding
from lazyarray.schedule.plan import CallStep, ClaimStep, EmptyStep, KernelStep, Plan

# The build reads such imports by the line.
# isort: split
from lazyarray.native.leases import stands_alone  # cimport
from lazyarray.runtime.floating import wanted  # cimport
from lazyarray.runtime.recovery import forget_old, writes_over  # cimport

Array = np.ndarray[Any, Any]
_uninterrupted: Final = uninterrupted  # in C


def _count_of_leaf(sources: list[Any], place: int) -> int:
    node = sources[place]
    return count(node)


# What counting shows of a leaf that only the list of sources and a local name refer to (arguments of the evaluated
# nodes come on top): measured, since calls add other numbers in other versions of Python.
UNNAMED: Final = _count_of_leaf([object()], 0)


def _count_of_data(holders: list[Any]) -> int:
    data = holders[0]
    return count(data)


# What counting shows in `Run.ends` of memory that nobody refers to; the list does.
ALONE: Final = _count_of_data([np.empty(1)]) - 1


class BoundLauncher(AnyLauncher):
    """Launches a step's kernel through `Program.launch`, for backends without launchers of their own."""

    __slots__ = ("extents", "program", "strides")

    def __init__(self, program: Program, extents: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> None:
        self.program, self.extents, self.strides = program, extents, strides

    def launch(self, pointers: list[int], scalars: list[Any], run: AnyRun | None = None) -> int:
        """Runs the kernel once; returns what `Program.launch` returns."""
        return self.program.launch(Binding(self.extents, tuple(pointers), self.strides, tuple(scalars)))

    def watch(self, pointers: list[int], scalars: list[Any], run: AnyRun | None = None) -> dict[int, int]:
        """Runs the kernel once in its watched form; returns what `Program.watch` returns."""
        return self.program.watch(Binding(self.extents, tuple(pointers), self.strides, tuple(scalars)))


class Ready:
    """A step with all that does not change from run to run."""

    __slots__ = (
        "adds", "backend", "blind", "launcher", "loaded", "name", "offsets", "ops", "origins", "program", "raising",
        "read", "rewrites", "slots", "step", "stored", "writes",
    )  # fmt: skip

    def __init__(self, step: KernelStep, backend: Backend, program: Program, origins: Sequence[int | None]) -> None:
        self.step = step
        self.backend = backend
        self.program = program
        make: Any = getattr(program, "launcher", None)
        self.launcher: AnyLauncher = (make or partial(BoundLauncher, program))(step.extents, step.strides)
        self.blind = program.blind
        self.raising, self.rewrites = bool(step.raising), step.rewrites
        self.name, self.ops, self.loaded, self.stored = step.name, step.ops, step.loaded, step.stored
        self.writes = step.writes
        self.slots = tuple([walk.slot for walk in step.walks])
        self.read = tuple([slot for slot in dict.fromkeys(self.slots) if slot not in step.writes])
        self.adds = step.kernel.adds
        self.offsets = tuple([walk.offset for walk in step.walks])
        # Of each scalar: the place of its source, or the literal in a tuple.
        self.origins = tuple([(s.value,) if s.slot is None else origins[s.slot] for s in step.scalars])


class Layout:
    """A plan with all that does not change from run to run."""

    __slots__ = (
        "bands", "dtypes", "foreseen", "frees", "heirs", "kin", "nbytes", "origins", "outputs", "readies", "shapes",
        "steps",
    )  # fmt: skip

    def __init__(self, plan: Plan) -> None:
        self.steps = tuple([by_columns(step) if type(step) is KernelStep else step for step in plan.steps])
        self.frees, self.origins, self.outputs = plan.frees, plan.origins, plan.outputs
        self.shapes = plan.shapes
        self.kin: Layout | None = None if plan.kin is None else plan.kin.layout
        self.dtypes = tuple([dtype_of(code) for code in plan.codes]) if self.kin is None else self.kin.dtypes
        self.nbytes = tuple([plan.nbytes(slot) for slot in range(len(plan.shapes))])
        self.heirs = heirs_of(plan)  # of the last step
        self.readies: list[Ready | None] = [None] * len(plan.steps)
        self.foreseen = False  # whether the backend was told of the kernels
        self.bands: dict[int, Banded] = {}  # what runs in bands, by the place of the first step

    def foresee(self, run: Run) -> None:
        """Tells the backend of all kernels before the first of them runs, if it wants to know.

        Those that may write over what they read run in their watched form alone where errors are to be told.
        """
        self.foreseen = True
        self.bands = bands_of(run.plan, run.backend)
        if self.kin is not None and self.kin.foreseen:
            return
        tell: Any = getattr(run.backend, "foresee", None)
        if tell is not None:
            steps = [step for step in self.steps if type(step) is KernelStep]
            rewrites = [step.rewrites for step in steps]
            if any([run.ends(old) for _, old in self.heirs]):
                rewrites[-1] = True
            watched = [over and bool(run.wanted_nodes(step)) for step, over in zip(steps, rewrites, strict=True)]
            tell([(step.kernel, step.extents, over) for step, over in zip(steps, watched, strict=True)])


def layout_of(plan: Plan) -> Layout:
    """The layout of a plan, made once."""
    found: Layout | None = plan.layout
    if found is None:
        found = plan.layout = Layout(plan)
    return found


class Run(AnyRun):
    """One evaluation of a plan on the host: memory per slot."""

    __slots__ = ("backend", "layout")

    backend: Backend
    layout: Layout

    def __init__(self, plan: Plan, sources: list[Any], backend: Backend, uses: dict[int, int] | None = None) -> None:
        AnyRun.__init__(self, plan, sources, uses)
        self.layout = layout_of(plan)
        self.backend = backend

    def run(self) -> None:
        """All steps in order. What is asked for is in `memory` afterwards."""
        layout = self.layout
        if not layout.foreseen:
            layout.foresee(self)
        if layout.bands:
            run_in_bands(self)
            return
        for place in range(len(layout.steps)):
            self.step(place)
            for slot in layout.frees[place]:
                self.memory[slot] = None

    def step(self, place: int) -> None:
        """One step. What nobody needs after it is still there."""
        step: Any = self.layout.steps[place]
        if type(step) is KernelStep:
            self.kernel(place, step)
            if self.taken:
                forget_old(self, step.writes)
        else:
            RULES[type(step)](self, step)
            if type(step) is not ClaimStep:
                self.done.add(step.result)

    def source(self, slot: int) -> Any:
        """The node or number that the slot stands for."""
        origin = self.layout.origins[slot]
        assert origin is not None
        return self.sources[origin]

    def array(self, slot: int) -> Array:
        """The slot's memory, or its input's."""
        found: Array | None = self.memory[slot]
        if found is None:
            source = self.source(slot)
            if type(source) is Node:
                node: Node = source
                found = node.data
            else:
                found = np.asarray(source, self.layout.dtypes[slot])
            assert found is not None, slot
            self.memory[slot] = found
        return found

    def make(self, slot: int) -> Array:
        """New memory for the slot."""
        layout = self.layout
        shape, dtype = layout.shapes[slot], layout.dtypes[slot]
        nbytes = layout.nbytes[slot]
        self.memory[slot] = made = reserve(shape, dtype, nbytes)
        ledger.allocation(nbytes)
        return made

    def seen(self, arg: tuple[int, IndexMap | None]) -> Array:
        slot, view = arg
        data = self.array(slot)
        return data if view is None else apply(view, data)

    # -- steps -----------------------------------------------------------------------------------------------------
    def kernel(self, place: int, step: KernelStep) -> None:
        if self.layout.heirs and place == len(self.layout.steps) - 1:
            self.inherit()
        if self.taken and writes_over(self, step.writes):
            _uninterrupted.begin()
            try:
                self.launch(place, step)
                self.over = ()
            finally:
                _uninterrupted.end()
        else:
            self.launch(place, step)

    def launch(self, place: int, step: KernelStep) -> None:
        memory = self.memory
        ready: Ready | None = self.layout.readies[place]
        writes = step.writes if ready is None else ready.writes
        for slot in writes:
            if memory[slot] is None:
                self.make(slot)
        if ready is None or ready.backend is not self.backend:
            ready = self.ready_for(place, step)
        pointers = self.pointers(ready)
        scalars = numbers_of(ready.origins, self.sources)
        if not ledger._open:
            if ready.raising:
                self.launch_watched(ready, pointers, scalars)
            else:
                ready.launcher.launch(pointers, scalars, self.watching())
            ledger.kernel(ready.name, ready.ops, ready.loaded, ready.stored)
        else:
            self.timed(ready, pointers, scalars)
        for slot in writes:
            self.done.add(slot)

    def ready_for(self, place: int, step: KernelStep) -> Ready:
        """The kernel of a step, compiled; its slots have memory."""
        ready: Ready | None = self.layout.readies[place]
        if ready is None or ready.backend is not self.backend:
            kin: Ready | None = None if self.layout.kin is None else self.layout.kin.readies[place]
            if kin is not None and kin.backend is self.backend:
                program = kin.program
            else:
                program = self.backend.compile(step.kernel)
            self.layout.readies[place] = ready = Ready(step, self.backend, program, self.layout.origins)
            if saves_launches():
                from lazyarray.runtime.saved import save_launch

                save_launch(self.plan, step, program.source, self.array, self.sources)
        return ready

    def pointers(self, ready: Ready) -> list[int]:
        """The addresses of the step's accesses."""
        memory = self.memory
        found: list[int] = []
        at = 0
        for slot in ready.slots:
            data = memory[slot]
            if data is None:
                data = self.array(slot)
            found.append(address_of(data) + ready.offsets[at])
            at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        return found

    def watching(self) -> Any:
        """The run, for launches of what writes over values; else None."""
        return self if self.over else None

    def timed(self, ready: Ready, pointers: list[int], scalars: list[Any]) -> None:
        """Launches a kernel while somebody records."""
        step = ready.step
        start, compiling = time.perf_counter(), ledger.compile_seconds
        if step.raising:
            self.launch_watched(ready, pointers, scalars)
        else:
            ready.launcher.launch(pointers, scalars, self.watching())
        end = time.perf_counter()
        seconds = end - start - (ledger.compile_seconds - compiling)
        site, elements = self.site_of((*step.writes, *step.computes)), size_of(step.extents)
        ledger.kernel(step.name, step.ops, step.loaded, step.stored, site, seconds, end - seconds, elements)

    def site_of(self, slots: tuple[int, ...]) -> Any:
        """The line that recorded the last of the slots of which that is known."""
        for slot in reversed(slots):
            origin = self.plan.origins[slot]
            node = None if origin is None else self.sources[origin]
            if type(node) is Node and node.site is not None:
                return node.site
        return None

    def launch_watched(self, ready: Ready, pointers: list[int], scalars: list[Any]) -> None:
        """Launches, and notes which nodes raised floating-point errors that the user is to be told.

        A launch says at no cost which errors were raised, or may have been; a second run of the kernel, in a form
        that watches each value, then says where. A kernel that changes what it reads cannot run twice: it is watched
        at once.
        """
        step, launcher = ready.step, ready.launcher
        if ready.blind or ((ready.rewrites or self.taken) and self.in_place(ready)):
            wanted_nodes = self.wanted_nodes(step)
            if not wanted_nodes:
                launcher.launch(pointers, scalars, self.watching())
                return
        else:
            raised = launcher.launch(pointers, scalars)
            if not raised:
                return
            wanted_nodes = [(t, node) for t, node in self.wanted_nodes(step) if node.key.raises & raised]
            if not wanted_nodes:
                return
        found = launcher.watch(pointers, scalars, self.watching())
        if found:
            self.raised += [(node, found[target]) for target, node in wanted_nodes if found.get(target)]

    def wanted_nodes(self, step: KernelStep) -> list[tuple[int, Node]]:
        """Values of the kernel that can raise errors of which the user is to be told, with the nodes they compute."""
        found = []
        for target, slot in step.raising:
            origin = self.layout.origins[slot]
            if origin is not None and type(self.sources[origin]) is Node:
                node: Node = self.sources[origin]
                if wanted(node):
                    found.append((target, node))
        return found

    def in_place(self, ready: Ready) -> bool:
        """True when what the step writes is memory that it reads."""
        if ready.adds:
            return True
        memory = self.memory
        for slot in ready.writes:
            written = memory[slot]
            for other in ready.read:
                if memory[other] is written:
                    return True
        return False

    def inherit(self) -> None:
        """The last step's results get the memory of values that end with it."""
        for result, old in self.layout.heirs:
            if self.memory[result] is None and self.ends(old):
                self.memory[result] = self.array(old)
                self.taken[result] = old

    def ends(self, slot: int) -> bool:
        """Whether a slot's value is this plan's alone, and its memory nobody else's.

        Only of what the evaluation counted the references that end with it. Values that others lent it (arguments of a
        compiled function, operands of a span) are theirs.
        """
        origin = self.layout.origins[slot]
        held = 1 if self.memory[slot] is not None else 0
        if origin is None:
            data = self.memory[slot]
        else:
            source = self.sources[origin]
            if type(source) is not Node:
                return False
            node: Node = source
            source = None
            data = node.data
            if data is None:
                data = self.memory[slot]  # of a step of this run, and no result: nobody else has it
            elif id(node) not in self.uses or count(node) > UNNAMED + self.uses[id(node)]:
                return False
            else:
                held += 1
        return data is not None and count(data) <= ALONE + held and stands_alone(data)

    def is_free(self, slot: int) -> bool:
        """Whether only this plan can still read a slot's value, whose memory may then be written over."""
        origin = self.plan.origins[slot]
        node = self.sources[origin] if origin is not None else None
        if type(node) is Node and node.data is not None:
            return bool(node.data.flags.writeable) and count(node) <= UNNAMED + self.uses.get(id(node), 0)
        data = self.memory[slot]
        return data is None or bool(data.flags.writeable)

    def claim(self, step: ClaimStep) -> None:
        """Takes the old value's memory over if only this plan can still read it, else copies it."""
        self.memory[step.result] = None
        data = self.array(step.old)
        if step.copy or not self.is_free(step.old):
            copied = reserve(data.shape, data.dtype, data.nbytes)
            np.copyto(copied, data)
            site = self.site_of((step.result,)) if ledger.listening else None
            ledger.materialisation("copy", data.nbytes, "the value before a write is still needed", site)
            data = copied
        else:
            self.taken[step.result] = step.old
            node = None if self.plan.origins[step.old] is None else self.source(step.old)
            if type(node) is Node and node.data is not None:
                self.memory[step.old] = None
        self.memory[step.result] = data

    def call(self, step: CallStep) -> None:
        args = [self.seen(arg) for arg in step.args]
        library = step.library
        origin = self.plan.origins[step.result]
        node = None if origin is None else self.sources[origin]
        start = time.perf_counter()
        if type(node) is Node and node.errors is not None:
            with nullcontext() if tells_as_now(node) else np.errstate(**modes_of(node)), at(node.site):
                self.library_call(step, args)
            node.errors = None
        else:
            self.library_call(step, args)
        seconds = time.perf_counter() - start
        site = self.site_of((step.result,)) if ledger.listening else None
        read = sum([a.nbytes for a in args])
        ledger.library_call(library.name, read, self.plan.nbytes(step.result), site, seconds, start)

    def library_call(self, step: CallStep, args: list[Array]) -> None:
        library = step.library
        rest_for(*args)
        options = dict(library.options)
        if library.into:
            library.function(*args, out=self.make(step.result), **options)
        else:
            shape, code = self.plan.shapes[step.result], self.plan.codes[step.result]
            made = np.asarray(library.function(*args, **options), dtype_of(code))
            self.memory[step.result] = np.ascontiguousarray(made).reshape(shape)

    def empty(self, step: EmptyStep) -> None:
        self.make(step.result)


def new_run(plan: Plan, sources: list[Any], backend: Backend, uses: dict[int, int]) -> Run:
    """A run of a plan on the host: as `Run(...)`, for speed."""
    run: Run = create(Run)
    run.layout = layout = layout_of(plan)
    run.begin(plan, sources, uses, len(layout.shapes), layout.outputs)
    run.backend = backend
    return run


RULES: dict[type, Any] = {
    ClaimStep: Run.claim,
    CallStep: Run.call,
    EmptyStep: Run.empty,
}
