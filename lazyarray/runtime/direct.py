"""Owns plans that are one kernel from values in memory to what is asked for: launched without a run (`execute.py`).

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.ir.node import Node  # cimport
from lazyarray.native.primitives import address_of  # cimport
from lazyarray.runtime.execute import Ready, layout_of  # cimport
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.pool import reserve  # cimport
from lazyarray.runtime.run import AnyDirect, numbers_of  # cimport
from lazyarray.schedule.plan import KernelStep, Plan

_ledger: Final = ledger  # in C


class Direct(AnyDirect):
    """Such a plan: its kernel, what that walks over, and what its results are."""

    __slots__ = ("_allocated", "_count", "_loaded", "_results", "_stored", "_walks", "ready")

    def __init__(self, ready: Ready, results: list[tuple[Any, Any, int]], walks: tuple[int, ...]) -> None:
        self.ready = ready
        self.backend = ready.backend
        self._results = results  # shapes, dtypes and bytes
        self._walks = walks  # of each access, the place of a value; of a result from -1 down
        self._count = len(results)
        self._allocated = sum([nbytes for _, _, nbytes in results])
        self._loaded, self._stored = ready.loaded, ready.stored

    def launch(self, values: list[Any], scalars: list[Any]) -> list[Any] | None:
        """The results; None where the kernel says that errors may be to be told: then it is as if nothing had run.

        `values`: arrays in C order or nodes that have them, of the shapes and dtypes that the plan was made for. Nobody
        may be recording.
        """
        ready = self.ready
        made: list[Any] = [reserve(shape, dtype, nbytes) for shape, dtype, nbytes in self._results]
        pointers: list[Any] = [None] * len(self._walks)
        at = 0
        for walk in self._walks:
            data = values[walk] if walk >= 0 else made[-1 - walk]
            if type(data) is Node:
                node: Node = data
                data = node.data
            pointers[at] = address_of(data) + ready.offsets[at]
            at += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        if ready.launcher.launch(pointers, scalars) and ready.raising:
            return None
        _ledger.replayed(1, 0, self._loaded, self._stored, self._count, self._allocated)
        return made

    def numbers(self, sources: list[Any]) -> list[Any]:
        """The kernel's scalars, of the plan's sources."""
        return numbers_of(self.ready.origins, sources)


def direct_of(plan: Plan, backend: Any, places: dict[int, int]) -> Direct | None:
    """A plan that has run as what is launched directly; None where it is more than one kernel, or writes over values.

    `places`: by place among the plan's sources, those of the values that `launch` will be given.
    """
    if len(plan.steps) != 1:
        return None
    step = plan.steps[0]
    if type(step) is not KernelStep:
        return None
    layout = layout_of(plan)
    ready: Ready | None = layout.readies[0]
    if ready is None or ready.backend is not backend or ready.blind or ready.rewrites or ready.adds:
        return None
    outputs = list(plan.outputs)
    if len(outputs) != len(step.writes) or set(outputs) != set(step.writes):
        return None
    walks: list[int] = []
    for slot in ready.slots:
        if slot in step.writes:
            walks.append(-1 - outputs.index(slot))
        else:
            origin = plan.origins[slot]
            if origin is None or origin not in places:
                return None
            walks.append(places[origin])
    results = [(layout.shapes[slot], layout.dtypes[slot], layout.nbytes[slot]) for slot in outputs]
    return Direct(ready, results, tuple(walks))
