"""Owns plans on a GPU: a recorded program's kernel steps, prepared on CuPy memory. Library calls are not run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

import lazyarray
from lazyarray.config import config
from lazyarray.frontend.array import from_node, value
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.expression import capture, expression_of, pending_closure
from lazyarray.ir.node import Node, leaf
from lazyarray.ir.ops import dtype_of
from lazyarray.schedule.kernel import Binding
from lazyarray.schedule.moments import join_moments
from lazyarray.schedule.plan import ClaimStep, EmptyStep, KernelStep, Plan
from lazyarray.schedule.schedule import schedule
from lazyarray_triton.launcher import Launcher
from lazyarray_triton.model import Guess
from lazyarray_triton.prepared import Prepared


class Recorded:
    """What a program records on inputs of given shapes and dtypes: its plan, and which input each slot is."""

    def __init__(self, run: Callable[..., Sequence[Any]], inputs: Sequence[tuple[tuple[int, ...], Any]]) -> None:
        # Memory that nobody touches takes no time, and only gathers look into it while a program is recorded.
        with config.set(eager_below=0, memory_budget="100T"):
            leaves = [leaf(numpy.zeros(shape, dtype)) for shape, dtype in inputs]
            results = run(lazyarray, *[from_node(node) for node in leaves])
            nodes = [r._node if type(r) is LazyScalar else value(r) for r in results]
            signature, sources = capture(pending_closure(nodes), nodes)
        self.plan: Plan = join_moments(schedule(expression_of(signature)))
        # Nodes that are still pending would be evaluated when anything warns.
        self.numbers = {k: s for k, s in enumerate(sources) if type(s) is not Node}
        number = {id(node): k for k, node in enumerate(leaves)}
        self.inputs = {
            slot: number[id(sources[origin])]
            for slot, origin in enumerate(self.plan.origins)
            if origin is not None and id(sources[origin]) in number
        }

    def number(self, slot: int) -> Any:
        origin = self.plan.origins[slot]
        assert origin is not None
        source = self.numbers[origin]
        return source.item() if isinstance(source, numpy.generic) else source


class DevicePlan:
    """A plan bound to several sets of memory, which take turns so that no cache holds what a launch reads.

    A write takes its array's memory over, as it does where nobody else can read the array.
    """

    def __init__(
        self,
        recorded: Recorded,
        launcher: Launcher,
        cupy: Any,
        sets: Sequence[Sequence[Any]],
        guesses: dict[int, Guess] | None = None,
    ) -> None:
        self.recorded = recorded
        self.outputs: list[list[Any]] = []
        self.calls: list[list[tuple[Prepared, tuple[int, ...]]]] = []
        self.prepared: list[Prepared] = []
        self._keeps: list[Any] = []
        for arrays in sets:
            memory: dict[int, Any] = {slot: arrays[k] for slot, k in recorded.inputs.items()}
            calls = [
                c for c in (self._step(s, memory, launcher, cupy, guesses or {}) for s in recorded.plan.steps) if c
            ]
            self.calls.append(
                [(self._prepare(k, c, launcher, guesses or {}), c[1].pointers) for k, c in enumerate(calls)]
            )
            self.outputs.append([memory[slot] for slot in recorded.plan.outputs])
            self._keeps.append(memory)

    def _step(
        self, step: Any, memory: dict[int, Any], launcher: Launcher, cupy: Any, guesses: dict[int, Guess]
    ) -> tuple[KernelStep, Binding] | None:
        plan = self.recorded.plan
        if isinstance(step, ClaimStep):
            if step.copy:
                raise NotImplementedError("a copy between kernels")
            memory[step.result] = memory[step.old]
            return None
        if isinstance(step, EmptyStep):
            memory[step.result] = cupy.empty(plan.shapes[step.result], dtype_of(plan.codes[step.result]))
            return None
        if not isinstance(step, KernelStep):
            raise NotImplementedError("a library call")
        for slot in step.writes:
            if slot not in memory:
                memory[slot] = cupy.empty(plan.shapes[slot], dtype_of(plan.codes[slot]))
        pointers = tuple(memory[w.slot].data.ptr + w.offset for w in step.walks)
        scalars = tuple(s.value if s.slot is None else self.recorded.number(s.slot) for s in step.scalars)
        return step, Binding(step.extents, pointers, step.strides, scalars)

    def _prepare(
        self, number: int, call: tuple[KernelStep, Binding], launcher: Launcher, guesses: dict[int, Guess]
    ) -> Prepared:
        if number == len(self.prepared):
            self.prepared.append(Prepared(launcher, call[0].kernel, call[1], guesses.get(number)))
        return self.prepared[number]

    def __call__(self, turn: int) -> None:
        for prepared, pointers in self.calls[turn % len(self.calls)]:
            prepared.launch(pointers, stream=0)
