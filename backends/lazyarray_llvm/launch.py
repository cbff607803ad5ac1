"""Owns launches: argument blocks that are bound to extents, rewritten and run.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from math import prod
from operator import or_
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lazyarray.ir.ops import OPS
from lazyarray.native.launches import run_alone  # cimport
from lazyarray.runtime.run import AnyLauncher, AnyRun  # cimport
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_llvm import engine, threads
from lazyarray_llvm.lower.geometry import Geometry
from lazyarray_llvm.lower.kernel import Form
from lazyarray_llvm.lower.status import LOOP_SHIFT, SOFT_SHIFT, status_of
from lazyarray_llvm.lower.streaming import LINE
from lazyarray_llvm.workers import chosen

if TYPE_CHECKING:
    from lazyarray_llvm.program import Program

_ALIGNMENT: Final = 64
IDLE_BYTES: Final = 1 << 18  # launches that hold more scratch memory are not kept
IDLE_EXTENTS: Final = 64
# Launches that move no more find some of it in caches, and begin where the last one ended: a pass over 1 to 2 MiB for
# each core takes 0.75 to 0.85 of the time then.
CACHED_BYTES: Final = 8 << 20
_call: Final = threads.call
_chosen: Final = chosen  # in C
_WATCHED: Final[dict[Form, Form]] = {"whole": "whole watched", "split": "split watched", "lines": "lines watched"}
# Launches of so much wake workers at once: 80 us and more on one thread. Less, in caches, takes 12 to 120 us, and the
# first tasks tell: a launch of 1.6 MB took 24 us alone and 50 with a worker that was woken.
LONG_BYTES: Final = 1 << 22
LONG_WORK: Final = 1 << 22  # elements times work: some 0.1 to 1 ms
SLICE_WORK: Final = 1 << 28  # elements times work of a launch's first slice: some 5 to 100 ms


def form_of(geometry: Geometry, watched: bool = False) -> Form:
    """The form of a kernel that a launch of this geometry runs."""
    return _WATCHED[geometry.form] if watched else geometry.form


class Step:
    """One function of a launch. `call`: what runs it, where that is not one thread alone."""

    __slots__ = ("call", "function", "grain", "shares", "tasks")

    def __init__(self, call: Callable[..., None] | None, function: int, tasks: int, grain: int, shares: int) -> None:
        self.call = call
        self.function = function
        self.tasks = tasks
        self.grain = grain
        self.shares = shares  # what `Workers.share` is told; 0: `call` is the only way


class Launch:
    """A program bound to extents and memory, ready to run any number of times; `pointers` may be rewritten between."""

    __slots__ = (
        "_arguments", "_block", "_doubles", "_first", "_keeps", "_masks", "_numbers", "_plain_numbers", "_raised",
        "_ran", "_signature", "_slots", "_steps", "_stream", "_workers",
        "flags", "pointers", "pool", "reserved",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        extents: tuple[int, ...],
        geometry: Geometry,
        pool: threads.Pool,
        *,
        watched: bool = False,
    ) -> None:
        signature = program.signature
        self.pool = pool
        self.reserved = 0
        self.flags = np.zeros(len(program.words) if watched or program.loops else 0, np.int64)
        self._keeps: list[Any] = []
        shared = geometry.shared
        scratch = self._reserve(geometry.scratch * (1 if shared else pool.nthreads))
        partials, values = self._reserve(geometry.partials), self._reserve(geometry.values)
        self._signature = signature
        self._block = ctypes.create_string_buffer(signature.size)
        self._arguments = ctypes.addressof(self._block)
        fixed = (
            geometry.rows, geometry.run, geometry.blocks, geometry.block,
            scratch, 0 if shared else geometry.scratch, geometry.plane, geometry.strip, geometry.depth,
            partials, values, 0, self.flags.ctypes.data, 0, 0,
        )  # fmt: skip
        signature.pack_fixed(self._block, fixed, extents)
        first, raised = signature.pointer_slot, signature.slots["raised"]
        slots = memoryview(self._block).cast("B").cast("Q")
        self.pointers = slots[first : first + len(program.kernel.accesses)]
        self._slots = slots
        self._doubles = memoryview(self._block).cast("B").cast("d")
        self._first, self._raised, self._stream = first, raised, signature.slots["stream"]
        self._ran = signature.slots["ran"]
        self._plain_numbers, self._numbers, self._masks = signature.simple, signature.scalar_slot, signature.masks
        self._workers = pool.workers
        self._steps: list[Step] = []
        addresses = program.addresses(form_of(geometry, watched))
        points = prod(extents)
        moved, work = points * program.moved, points * program.work
        for phase in geometry.phases:
            call: Callable[..., None] | None = None
            grain = shares = 0
            if phase.parallel and phase.tasks > 1:
                tasks = phase.tasks * SLICE_WORK // work
                if tasks < phase.tasks // 2:
                    call = functools.partial(pool.run_in_slices, slice_tasks=max(tasks, 1))
                elif pool.nthreads > 1:
                    call = pool.run
                    long = moved >= LONG_BYTES or work >= LONG_WORK
                    grain = pool.grain_of(phase.tasks)
                    shares = pool.shares_of(phase.tasks, grain, moved <= CACHED_BYTES, long)
            self._steps.append(Step(call, addresses[phase.function], phase.tasks, grain, shares))

    def _reserve(self, size: int) -> int:
        """Memory for this launch alone, aligned; nobody clears it."""
        if not size:
            return 0
        memory = np.empty(size + _ALIGNMENT, np.uint8)
        self._keeps.append(memory)
        self.reserved += size
        address: int = memory.ctypes.data
        return (address + _ALIGNMENT - 1) & -_ALIGNMENT

    def bind(self, binding: Binding) -> None:
        """Write what this launch's extents leave open into the argument block."""
        self._signature.pack(self._block, binding)

    def rebind(self, pointers: list[int], scalars: list[Any]) -> None:
        """Write what differs between launches of one step into the argument block."""
        slots = self._slots
        at = self._first
        for pointer in pointers:
            slots[at] = pointer
            at += 1
        if not scalars:
            return
        if not self._plain_numbers:
            self._signature.pack_scalars(self._block, scalars)
            return
        at = self._numbers
        doubles = self._doubles
        masks = self._masks
        place = 0
        for scalar in scalars:
            mask = masks[place]
            if mask is None:
                doubles[at] = scalar
            else:
                slots[at] = int(scalar) & mask
            at += 1
            place += 1  # noqa: SIM113  (C counts faster than `enumerate`)

    def stream(self, wanted: bool) -> None:
        """Whether whole vectors are written past the caches."""
        self._slots[self._stream] = 1 if wanted else 0

    def watched_by(self, run: AnyRun | None) -> None:
        """The next run writes over what it reads: `run.launched` is asked then whether it has run."""
        if run is not None:
            self._slots[self._ran] = 0
            run.launched = self

    def ran(self) -> bool:
        """Whether the program has run since `watched_by`; of one that nothing cut into slices, all of it."""
        return self._slots[self._ran] != 0

    def run(self) -> int:
        """Run the program once: the word of errors that its functions left."""
        arguments = self._arguments
        for step in self._steps:
            if step.call is None:
                run_alone(_call, step.function, arguments, 0, step.tasks)
            elif step.shares and self._workers.entry:
                self._workers.share(step.function, arguments, step.tasks, step.grain, step.shares, 0)
            else:
                step.call(step.function, arguments, step.tasks)
        return self.seen()

    def seen(self) -> int:
        """The word of errors that functions left since it was last asked for."""
        raised: int = self._slots[self._raised]
        if raised:
            self._slots[self._raised] = 0
        return raised

    def raised(self) -> int:
        """The word of errors, which stays."""
        return self._slots[self._raised]

    def errors(self) -> int:
        """The address of the word of errors."""
        return self._arguments + 8 * self._raised

    def entry(self) -> tuple[int, int]:
        """The address of the first function, and of its argument block."""
        return self._steps[0].function, self._arguments


class Launcher(AnyLauncher):
    """A program at fixed extents and strides; its launches are kept to be run again."""

    __slots__ = ("_extents", "_idle", "_past", "_program", "_strides", "_told", "_watching")

    def __init__(self, program: Program, extents: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> None:
        self._program = program
        self._extents = extents or (1,)
        self._strides = strides if extents else tuple([(0,) for _ in strides])
        self._idle: list[Launch] = []
        self._watching: list[Launch] = []  # the same of the watched form
        self._past = program.streams(self._extents, self._strides)  # accesses that may be written past the caches
        self._told: tuple[list[int], dict[int, int]] | None = None  # a launch's pointers, and what raised what in it

    def launch(self, pointers: list[int], scalars: list[Any], run: AnyRun | None = None) -> int:
        """Run the program once: NumPy's bits of the floating-point errors that the CPU saw, rather too many.

        `run`: one whose values this launch writes over.
        """
        program = self._program
        if program.alarms:
            program.alarms -= 1
            return functools.reduce(or_, self.watch(pointers, scalars, run).values(), 0)
        ready = self._ready(self._idle, pointers, scalars, False)
        if self._past:
            ready.stream(self._passes(pointers))
        ready.watched_by(run)
        raised = ready.run()
        if ready.reserved <= IDLE_BYTES:
            self._idle.append(ready)
        if raised:
            if raised >> LOOP_SHIFT:
                found = program.raised_by(ready)
                if not raised & ((1 << LOOP_SHIFT) - 1):
                    self._told = (pointers, found)
                    return functools.reduce(or_, found.values(), 0)
            raised = program.suspected = numpy_bits(raised)
        return raised

    def _ready(self, idle: list[Launch], pointers: list[int], scalars: list[Any], watched: bool) -> Launch:
        """A launch bound to memory, out of `idle` or new."""
        # Taking from and adding to a list are single steps of the interpreter: no two threads get one launch.
        ready: Launch | None = idle.pop() if idle else None
        if ready is None or ready.pool is not (_chosen.pool or threads.get_pool()):
            ready = self._program.new_launch(self._extents, watched=watched)
            ready.bind(self.binding(pointers, scalars))
        else:
            ready.rebind(pointers, scalars)
        return ready

    def _passes(self, pointers: list[int]) -> bool:
        """Whether what is written begins lines, and is none of what is read: that is in the caches."""
        return all([pointers[n] % LINE == 0 and pointers.count(pointers[n]) == 1 for n in self._past])

    def watch(self, pointers: list[int], scalars: list[Any], run: AnyRun | None = None) -> dict[int, int]:
        """Run the watched form of the program once: NumPy's bits of the errors of each value that raised any.

        Not if the launch just done has told all of it, because NumPy's loops alone raised any. `run`: as for `launch`.
        """
        told, self._told = self._told, None
        if told is not None and told[0] is pointers:
            return told[1]
        program = self._program
        if not program.words:
            self.launch(pointers, scalars, run)
            return {}
        ready = self._ready(self._watching, pointers, scalars, True)
        ready.watched_by(run)
        found = program.raised_by(ready) if ready.run() else {}
        if ready.reserved <= IDLE_BYTES:
            self._watching.append(ready)
        program.watched(bool(found))
        return found

    def binding(self, pointers: list[int], scalars: list[Any]) -> Binding:
        """The launch as a record."""
        return Binding(self._extents, tuple(pointers), self._strides, tuple(scalars))


def work_of(kernel: Kernel) -> int:
    """What one element of the kernel costs, in additions, roughly."""
    bodies = [(*stage.body, *stage.after) for stage in kernel.stages]
    return 1 + sum([OPS[one.op].cost if one.op in OPS else 1 for body in bodies for one in body])


def keep(idle: dict[tuple[int, ...], list[Launch]], extents: tuple[int, ...], launch: Launch) -> None:
    """Puts a launch aside for the next run at these extents."""
    if len(idle) > IDLE_EXTENTS:
        idle.clear()
    idle.setdefault(extents, []).append(launch)


def numpy_bits(raised: int) -> int:
    """A launch's word of errors as NumPy counts them."""
    status = status_of(engine.host().triple)
    return status.numpy_bits(raised) if status is not None else raised >> SOFT_SHIFT


def word_bits(errors: int) -> int:
    """The bits of a launch's word of errors that stand for these of NumPy's."""
    status = status_of(engine.host().triple)
    return status.bits_of(errors) if status is not None else errors << SOFT_SHIFT
