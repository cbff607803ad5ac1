"""Owns the running of plans on a device: memory of slots there, launches that are queued, library calls, round trips.

As `runtime/execute.py` for the host.  Nothing here waits for the device, but for what only the host can do: kernels
and library calls that the device has no counterpart of run on the host, and are counted.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Final

import numpy as np

from lazyarray.errors import CompileError
from lazyarray.ir.index_map import IndexMap, apply, size_of
from lazyarray.ir.node import Node, Site, spec_of
from lazyarray.ir.ops import dtype_of
from lazyarray.runtime import backend as backends
from lazyarray.runtime.device import (
    Device,
    DeviceArray,
    DeviceProgram,
    Remote,
    compiler_for,
    download,
    send,
    upload,
)
from lazyarray.runtime.device_errors import equal_sources, words_of
from lazyarray.runtime.floating import hand_over, modes_of, wanted
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.recovery import forget_old
from lazyarray.runtime.warned import at
from lazyarray.schedule.kernel import Binding
from lazyarray.schedule.plan import CallStep, ClaimStep, EmptyStep, KernelStep, Plan

Array = np.ndarray[Any, Any]
AN_INPUT: Final = "an input of an evaluation there"


def _count_of_leaf(sources: list[Any], place: int) -> int:
    node = sources[place]
    return sys.getrefcount(node)


UNNAMED: Final = _count_of_leaf([object()], 0)  # as in `runtime/execute.py`


class DeviceRun:
    """One evaluation of a plan on a device: a value per slot."""

    def __init__(self, plan: Plan, sources: list[Any], device: Device, uses: dict[int, int] | None = None) -> None:
        self.plan = plan
        self.uses = uses or {}  # id of a leaf -> references to it that end with this evaluation
        self.sources = sources
        self.device = device
        self.compiler = compiler_for(device)
        self.memory: list[Remote | None] = [None] * len(plan.shapes)
        self.done: set[int] = set()  # slots whose values are complete and not written over
        self.taken: dict[int, int] = {}  # by slot to be written in place of another: that other one
        self.raised: list[tuple[Node, int]] = []  # floating-point errors to be told, as NumPy's bits

    def run(self) -> None:
        """Queues all steps in order. What is asked for is in `memory` afterwards."""
        with self.device.active():
            for step, frees in zip(self.plan.steps, self.plan.frees, strict=True):
                RULES[type(step)](self, step)
                if isinstance(step, KernelStep):
                    self.done.update(step.writes)
                    forget_old(self, step.writes)
                elif not isinstance(step, ClaimStep):
                    self.done.add(step.result)
                for slot in frees:
                    self.memory[slot] = None

    # -- memory ----------------------------------------------------------------------------------------------------
    def source(self, slot: int) -> Any:
        """The node or number that the slot stands for."""
        origin = self.plan.origins[slot]
        assert origin is not None
        return self.sources[origin]

    def number(self, slot: int) -> Any:
        source = self.sources[self.plan.origins[slot]]  # type: ignore[index]
        return source if type(source) is float or not isinstance(source, np.generic) else source.item()

    def value(self, slot: int) -> Remote:
        """The slot's value on the device; inputs are sent there."""
        found = self.memory[slot]
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

    def make(self, slot: int) -> DeviceArray:
        """New memory for the slot."""
        made = self.device.empty(self.plan.shapes[slot], dtype_of(self.plan.codes[slot]))
        self.memory[slot] = Remote(made, self.device)
        ledger.allocation(self.plan.nbytes(slot))
        return made

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
    def kernel(self, step: KernelStep) -> None:
        for slot in step.writes:
            if self.memory[slot] is None:
                self.make(slot)
        device = self.device
        addresses: dict[int, int] = {}
        pointers = []
        origins = {}
        for number, walk in enumerate(step.walks):
            base = addresses.get(walk.slot)
            if base is None:
                base = addresses[walk.slot] = device.address(self.array(walk.slot))
            pointers.append(base + walk.offset)
            origins[number] = (base, self.plan.nbytes(walk.slot))
        scalars = tuple([s.value if s.slot is None else self.number(s.slot) for s in step.scalars])
        binding = Binding(step.extents, tuple(pointers), step.strides, scalars)
        key = (device.name, id(step.kernel))
        program: DeviceProgram | str | None = self.plan.programs.get(key)
        if program is None:
            try:
                program = self.compiler.compile_for(device, step.kernel)
            except CompileError as error:
                program = str(error)
            self.plan.programs[key] = program
        if isinstance(program, str):
            self.kernel_on_host(step, scalars, program)
            return
        if ledger.listening:
            device.wait()
        start, compiling = time.perf_counter(), ledger.compile_seconds
        try:
            program.start(binding, origins, self.watched(step, program) if step.raising else 0)
        except CompileError as error:
            self.plan.programs[key] = str(error)
            self.kernel_on_host(step, scalars, str(error))
            return
        if not ledger.listening:
            ledger.kernel(step.name, step.ops, step.loaded, step.stored)
            return
        device.wait()
        seconds = time.perf_counter() - start - (ledger.compile_seconds - compiling)
        site, elements = self.site_of(step.computes), size_of(step.extents)
        ledger.kernel(step.name, step.ops, step.loaded, step.stored, site, seconds, start, elements)

    def watched(self, step: KernelStep, program: DeviceProgram) -> int:
        """Where the kernel is to leave the errors that the user wants to be told of; 0 where there are none."""
        memo = ("raising", id(step))
        known: list[tuple[int, list[int]]] | None = self.plan.programs.get(memo)
        if known is None:
            equal = equal_sources(self.sources)
            known = []
            for target, slot in step.raising:
                origin = self.plan.origins[slot]
                if origin is not None and target in program.words:
                    known.append((program.words[target], equal.get(origin, [origin])))
            self.plan.programs[memo] = known
        asked = [
            (word, node)
            for word, places in known
            for node in [self.sources[place] for place in places]
            if type(node) is Node and wanted(node)
        ]
        if not asked:
            return 0
        words = words_of(self.device)
        first, address = words.take(len(program.words) + 1)
        for word, node in asked:
            words.note(first + word, hand_over(node))
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

    def claim(self, step: ClaimStep) -> None:
        """Takes the old value's memory over if only this plan can still read it, else copies it."""
        self.memory[step.result] = None
        found = self.value(step.old)
        origin = self.plan.origins[step.old]
        node = self.sources[origin] if origin is not None else None
        free = not step.copy and not found.exported
        if free and type(node) is Node and node.remote is found:
            free = sys.getrefcount(node) <= UNNAMED + self.uses.get(id(node), 0)
        if not free:
            site = self.site_of((step.result,)) if ledger.listening else None
            size = self.plan.nbytes(step.old)
            ledger.materialisation("copy", size, "the value before a write is still needed", site)
            found = Remote(self.device.copy(found.array), self.device)
        else:
            self.taken[step.result] = step.old
            if type(node) is Node and node.remote is found:
                self.memory[step.old] = None
                found = Remote(found.array, self.device)
        self.memory[step.result] = found

    def call(self, step: CallStep) -> None:
        library, device = step.library, self.device
        args = [self.seen(arg) for arg in step.args]
        if ledger.listening:
            device.wait()
        start = time.perf_counter()
        shape, dtype = self.plan.shapes[step.result], dtype_of(self.plan.codes[step.result])
        made = device.call(library, args, self.make(step.result) if library.into else None)
        if made is NotImplemented:
            self.call_on_host(step)
        else:
            if made.dtype != dtype or made.shape != shape or not made.flags.c_contiguous:
                target = device.empty(shape, dtype)
                target[...] = made.reshape(shape)
                made = target
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
        self.make(step.result)


RULES: dict[type, Any] = {
    KernelStep: DeviceRun.kernel,
    ClaimStep: DeviceRun.claim,
    CallStep: DeviceRun.call,
    EmptyStep: DeviceRun.empty,
}
