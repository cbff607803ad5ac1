"""Owns the running of kernels in bands (`schedule/bands.py`): slots get memory, then all kernels run at once by rows.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lazyarray.ir.index_map import size_of
from lazyarray.runtime.dump import saves_launches
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.recovery import forget_old, uninterrupted
from lazyarray.runtime.run import numbers_of
from lazyarray.schedule.bands import Bands, find_bands, results_of
from lazyarray.schedule.plan import KernelStep, Plan

if TYPE_CHECKING:
    from lazyarray.runtime.execute import Ready, Run


class Banded:
    """Steps of a plan that run in bands, with all that does not change from run to run."""

    def __init__(self, plan: Plan, bands: Bands, backend: Any) -> None:
        self.bands = bands
        self.reuse = dict(bands.reuse)
        self.steps: list[Any] = [plan.steps[part.place] for part in bands.parts]
        self.after = frozenset(bands.after)
        self.workers: int = backend.workers()
        self._backend = backend
        self._idle: list[Any] = []  # launches of the backend's
        self._refused = False

    def launch(self) -> Any:
        """A launch that nobody uses; None where the backend does not run these kernels in bands."""
        if self._idle:
            return self._idle.pop()
        made = None if self._refused else self._backend.banded(self.steps, self.bands)
        self._refused = made is None
        return made

    def keep(self, launch: Any) -> None:
        """Takes a launch back."""
        self._idle.append(launch)


def bands_of(plan: Plan, backend: Any) -> dict[int, Banded]:
    """What of a plan runs in bands, by the place of the first step."""
    if not hasattr(backend, "banded"):
        return {}
    return {bands.first: Banded(plan, bands, backend) for bands in find_bands(plan, backend.workers())}


def run_in_bands(run: Run) -> None:
    """All steps of a run: in order, but those that run in bands."""
    layout = run.layout
    backend: Any = run.backend
    if any([banded.workers != backend.workers() for banded in layout.bands.values()]):
        layout.bands = bands_of(run.plan, backend)
    place = 0
    while place < len(layout.steps):
        banded = layout.bands.get(place)
        launch = None if banded is None or saves_launches() else banded.launch()
        if banded is None or launch is None:
            run.step(place)
            last = place
        else:
            run_group(run, banded, launch)
            banded.keep(launch)
            last = banded.bands.last
        for done in range(place, last + 1):
            for slot in layout.frees[done]:
                run.memory[slot] = None
        place = last + 1


def run_group(run: Run, banded: Banded, launch: Any) -> None:
    """Runs steps in bands. Until the kernels run nothing is written, so an error loses nothing."""
    readies, pointers, scalars = give_memory(run, banded)
    told = [to_be_told(run, ready) for ready in readies]
    launch.bind(pointers, scalars, told)
    start = time.perf_counter() if ledger.listening else 0.0
    uninterrupted.begin()
    try:
        interrupt = launch.run()
    finally:
        if launch.ran():
            complete_group(run, banded)
        uninterrupted.end()
    if interrupt is not None:
        raise interrupt
    tell_ledger(run, readies, start)
    for number, ready in enumerate(readies):
        if told[number] and (found := launch.found(number)):
            nodes = run.wanted_nodes(ready.step)
            run.raised += [(node, found[target]) for target, node in nodes if found.get(target)]


def complete_group(run: Run, banded: Banded) -> None:
    """Runs the small kernels that come after the bands, and notes what is complete."""
    bands = banded.bands
    for place in bands.after:
        last: Any = run.layout.steps[place]
        run.launch(place, last)
    for place in range(bands.first, bands.last + 1):
        step: Any = run.layout.steps[place]
        if type(step) is KernelStep:
            run.done.update(step.writes)
            if run.taken:
                forget_old(run, step.writes)


def give_memory(run: Run, banded: Banded) -> tuple[list[Ready], list[list[int]], list[list[Any]]]:
    """Claims and allocations of the steps, in order: each kernel with its addresses and numbers."""
    layout, bands = run.layout, banded.bands
    readies: list[Ready] = []
    pointers: list[list[int]] = []
    scalars: list[list[Any]] = []
    for place in range(bands.first, bands.last + 1):
        step = layout.steps[place]
        for slot in results_of(step):
            if slot in banded.reuse:
                run.memory[slot] = run.memory[banded.reuse[slot]]
        if not isinstance(step, KernelStep):
            if run.memory[step.result] is None:
                run.step(place)
            continue
        for slot in step.writes:
            if run.memory[slot] is None:
                run.make(slot)
        ready = run.ready_for(place, step)
        if place in banded.after:
            continue
        readies.append(ready)
        pointers.append(run.pointers(ready))
        scalars.append(numbers_of(ready.origins, run.sources))
    return readies, pointers, scalars


def to_be_told(run: Run, ready: Ready) -> int:
    """The floating-point errors of a kernel, as NumPy's bits, of which the user is to be told."""
    bits = 0
    if ready.raising:
        for _, node in run.wanted_nodes(ready.step):
            bits |= node.key.raises
    return bits


def tell_ledger(run: Run, readies: list[Ready], start: float) -> None:
    """Tells the ledger of all kernels: each with its share of the time, by the bytes that it moves."""
    together = len(readies)
    if not ledger.listening:
        for ready in readies:
            ledger.kernel(ready.name, ready.ops, ready.loaded, ready.stored, None, 0.0, 0.0, 0, together)
        return
    seconds = time.perf_counter() - start
    total = sum([ready.loaded + ready.stored for ready in readies]) or 1
    for ready in readies:
        step, share = ready.step, seconds * (ready.loaded + ready.stored) / total
        site, elements = run.site_of((*step.writes, *step.computes)), size_of(step.extents)
        ledger.kernel(step.name, step.ops, step.loaded, step.stored, site, share, start, elements, together)
        start += share
