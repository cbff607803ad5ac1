"""Owns the running of plans: gives slots memory, launches kernels, calls libraries, hands results to nodes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lazyarray.ir.index_map import IndexMap, apply
from lazyarray.ir.node import Node
from lazyarray.ir.ops import dtype_of
from lazyarray.runtime.backend import Backend
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.pool import allocate
from lazyarray.schedule.kernel import Binding
from lazyarray.schedule.plan import CallStep, ClaimStep, EmptyStep, KernelStep, Plan

Array = np.ndarray[Any, Any]

# What getrefcount says of a leaf that only the list of sources, a local name and its own argument refer to
# (arguments of the evaluated nodes come on top).
UNNAMED = 3


class Run:
    """One evaluation of a plan: memory per slot."""

    def __init__(self, plan: Plan, sources: list[Any], backend: Backend, uses: dict[int, int] | None = None) -> None:
        self.plan = plan
        self.uses = uses or {}  # id of a leaf -> references to it that end with this evaluation
        self.sources = sources
        self.backend = backend
        self.memory: list[Array | None] = [None] * len(plan.shapes)
        self.done: set[int] = set()  # slots whose values are complete

    def run(self) -> None:
        """All steps in order. What is asked for is in `memory` afterwards."""
        for step, frees in zip(self.plan.steps, self.plan.frees, strict=True):
            RULES[type(step)](self, step)
            self.done.update(step.writes if isinstance(step, KernelStep) else (step.result,))
            for slot in frees:
                self.memory[slot] = None

    def source(self, slot: int) -> Any:
        """The node or number that the slot stands for."""
        origin = self.plan.origins[slot]
        assert origin is not None
        return self.sources[origin]

    def array(self, slot: int) -> Array:
        """The slot's memory, or its input's."""
        found = self.memory[slot]
        if found is None:
            node = self.source(slot)
            found = node.data if type(node) is Node else np.asarray(node, dtype_of(self.plan.codes[slot]))
            assert found is not None, slot
            self.memory[slot] = found
        return found

    def make(self, slot: int) -> Array:
        """New memory for the slot."""
        made = self.memory[slot] = allocate(self.plan.shapes[slot], dtype_of(self.plan.codes[slot]))
        ledger.allocation(made.nbytes)
        return made

    def seen(self, arg: tuple[int, IndexMap | None]) -> Array:
        slot, view = arg
        data = self.array(slot)
        return data if view is None else apply(view, data)

    # -- steps -----------------------------------------------------------------------------------------------------
    def kernel(self, step: KernelStep) -> None:
        for slot in step.writes:
            if self.memory[slot] is None:
                self.make(slot)
        addresses: dict[int, int] = {}
        pointers = []
        for walk in step.walks:
            base = addresses.get(walk.slot)
            if base is None:
                base = addresses[walk.slot] = self.array(walk.slot).__array_interface__["data"][0]
            pointers.append(base + walk.offset)
        scalars = tuple([s.value if s.slot is None else self.number(s.slot) for s in step.scalars])
        binding = Binding(step.extents, tuple(pointers), step.strides, scalars)
        # Hashing a kernel takes longer than launching it.
        key = (self.backend.name, id(step.kernel))
        program = self.plan.programs.get(key)
        if program is None:
            program = self.plan.programs[key] = self.backend.compile(step.kernel)
        program.launch(binding)
        ledger.kernel(step.name, step.ops, step.loaded, step.stored)

    def number(self, slot: int) -> Any:
        source = self.source(slot)
        return source.item() if isinstance(source, np.generic) else source

    def claim(self, step: ClaimStep) -> None:
        """Takes the old value's memory over if only this plan can still read it, else copies it."""
        self.memory[step.result] = None
        data = self.array(step.old)
        origin = self.plan.origins[step.old]
        node = self.sources[origin] if origin is not None else None
        free = not step.copy and data.flags.writeable
        if free and type(node) is Node and node.data is not None:
            free = sys.getrefcount(node) <= UNNAMED + self.uses.get(id(node), 0)
        if not free:
            copied = allocate(data.shape, data.dtype)
            np.copyto(copied, data)
            ledger.materialisation("copy", data.nbytes, "the value before a write is still needed")
            data = copied
        elif type(node) is Node and node.data is not None:
            self.memory[step.old] = None
        self.memory[step.result] = data

    def call(self, step: CallStep) -> None:
        args = [self.seen(arg) for arg in step.args]
        library = step.library
        options = dict(library.options)
        if library.into:
            library.function(*args, out=self.make(step.result), **options)
        else:
            shape, code = self.plan.shapes[step.result], self.plan.codes[step.result]
            made = np.asarray(library.function(*args, **options), dtype_of(code))
            self.memory[step.result] = np.ascontiguousarray(made).reshape(shape)
        ledger.library_call(library.name)

    def empty(self, step: EmptyStep) -> None:
        self.make(step.result)


RULES: dict[type, Any] = {
    KernelStep: Run.kernel,
    ClaimStep: Run.claim,
    CallStep: Run.call,
    EmptyStep: Run.empty,
}
