"""Owns launches on a device: variants compiled and loaded once, arguments packed, functions launched on a stream.

The driver is the device's (CuPy's, in `lazyarray_cupy`); PyTorch is not needed. Pointers of bindings are device
addresses here.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lazyarray.runtime.dump import is_wanted, show
from lazyarray.runtime.ledger import ledger
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton import launch, model
from lazyarray_triton.compiler import Binary
from lazyarray_triton.cubins import Cubins
from lazyarray_triton.emit import emit, normalise
from lazyarray_triton.jobs import job_of
from lazyarray_triton.source import Form, TritonSource, Watched, Work
from lazyarray_triton.sources import Sources
from lazyarray_triton.tuning import Choices
from lazyarray_triton.workers import begin

FLAGS = -2  # the size of work memory that whoever launches gives


class Driver(Protocol):
    """What launches need of a device."""

    capability: int
    multiprocessors: int
    launch_kernel: Callable[..., None]  # cuLaunchKernel, for launches that are prepared

    def load(self, binary: Binary) -> int:
        """The handle of a compiled function."""
        ...

    def allocate(self, size: int, fill: int | None) -> Any:
        """Memory of `size` bytes, alive as long as the object; its address is `int(memory)`."""
        ...

    def launch(self, handle: int, grid: int, threads: int, shared: int, arguments: int) -> None:
        """Launches on the current stream; `arguments` is the address of an array of pointers to the arguments."""
        ...

    def stream(self) -> int:
        """The address of the current stream."""
        ...

    # Only asked of devices that are measured on: `event() -> event` on the current stream, `is_over(event) -> bool`,
    # `seconds_between(before, after) -> float`.


@dataclass(slots=True)
class Ready:
    """A loaded variant, with the slots that its arguments are packed into."""

    handle: int
    threads: int
    shared: int
    packer: struct.Struct


class Launcher:
    """Kernels on one device, in launches that do not wait for it; compiled ones are kept in `cubins`, if given.

    `stored`: emitted modules on disk.
    """

    def __init__(
        self,
        driver: Driver,
        cubins: Cubins | None = None,
        choices: Choices | None = None,
        stored: Sources | None = None,
    ) -> None:
        self.driver = driver
        self.choices = choices  # of block shapes, by measuring; None: the model's are kept
        self._cubins = cubins
        self._stored = stored
        self._sources: dict[tuple[Kernel, Form, Watched], TritonSource] = {}
        self._begun: dict[tuple[str, launch.Variant], Callable[[], Binary]] = {}
        self._ready: dict[tuple[str, launch.Variant], Ready] = {}

    def run(
        self,
        kernel: Kernel,
        binding: Binding,
        guess: model.Guess | None = None,
        origins: launch.Origins | None = None,
        flags: int = 0,
    ) -> TritonSource | None:
        """Launches a kernel once; None where an extent is 0 and nothing is to be done.

        `flags`: where the words of its errors are, if they are looked for.
        """
        if any(n == 0 for n, role in zip(binding.extents, kernel.roles, strict=True) if role == "p"):
            return None
        shift = launch.shift_of(kernel, binding)
        if guess is None:
            many = self.driver.multiprocessors
            guess = model.guess(kernel, binding.extents, many, shifted=shift > 0, watched=flags != 0)
        source = self.source(kernel, guess.form, "exact" if flags else "")
        plan = launch.plan_launches(source, binding.extents, guess, shift)
        works = [
            flags
            if size == FLAGS
            else self.driver.allocate(size if size >= 0 else self.target_bytes(source, work, origins), work.fill)
            for work, size in zip(source.works, plan.works, strict=True)
        ]
        addresses = [int(w) for w in works]
        index = launch.choose_index(plan, binding)
        given = [launch.arguments(plan, step, binding, addresses, origins) for step in plan.steps]
        made = [launch.variant(step, index, values) for step, values in zip(plan.steps, given, strict=True)]
        for one in made:
            self.foresee(source, one)
        for step, one, values in zip(plan.steps, made, given, strict=True):
            self._launch(self.variant(source, one), step.grid, values)
        return source

    def source(self, kernel: Kernel, form: Form, watched: Watched = "") -> TritonSource:
        """The module of a kernel, emitted once."""
        found = self._sources.get((kernel, form, watched))
        if found is None:
            if self._stored is not None:
                found = self._stored.load(kernel, form, watched)
            if found is None:
                found = emit(kernel, form, watched)
                if self._stored is not None:
                    self._stored.store(kernel, watched, found)
            self._sources[kernel, form, watched] = found
        return found

    def target_bytes(self, source: TritonSource, work: Work, origins: launch.Origins | None) -> int:
        """The size of work memory that has 8 bytes for each element of the memory behind an access."""
        assert origins is not None, "a scatter has to know the memory that it writes"
        code = normalise(source.kernel).accesses[work.access].code
        return origins[work.access][1] // int(code[1:]) * 8

    def foresee(self, source: TritonSource, made: launch.Variant) -> None:
        """Has a variant read from disk, or compiled while this thread does something else; `variant` waits for it."""
        key = (source.text, made)  # a text keeps its hash, a kernel would find it anew
        if key not in self._ready and key not in self._begun:
            self._begun[key] = self._begin(source, made)

    def variant(self, source: TritonSource, made: launch.Variant) -> Ready:
        """A variant, loaded: from memory, from disk, or compiled."""
        key = (source.text, made)
        found = self._ready.get(key)
        if found is None:
            taken = self._begun.pop(key, None) or self._begin(source, made)
            binary = taken()
            if any(binary.scratch):
                raise NotImplementedError(f"{binary.name} asks for scratch memory of {binary.scratch} bytes a program")
            handle = self.driver.load(binary)
            found = self._ready[key] = Ready(handle, binary.threads, binary.shared, launch.packer(made))
        return found

    def _begin(self, source: TritonSource, made: launch.Variant) -> Callable[[], Binary]:
        """What gives a variant's binary: read now, or being compiled."""
        capability = self.driver.capability
        start = time.perf_counter()
        if self._cubins is not None and not is_wanted("asm"):  # cubins on disk are without their PTX
            stored = self._cubins.load(source, made, capability)
            if stored is not None:
                ledger.disk_hit(time.perf_counter() - start, start)
                show("cache", "found", lambda: f"{made}: found on disk")
                return lambda: stored
        awaited = begin(job_of(source, made, capability))

        def take() -> Binary:
            start = time.perf_counter()
            binary = awaited()
            ledger.compiled(time.perf_counter() - start, start)
            show("cache", "compiled", lambda: f"{made}: compiled")
            show("asm", binary.name, lambda: binary.ptx, "ptx")
            if self._cubins is not None:
                self._cubins.store(source, made, capability, binary)
            return binary

        return take

    def _launch(self, ready: Ready, grid: int, values: Sequence[int | float]) -> None:
        block = ctypes.create_string_buffer(ready.packer.size)
        ready.packer.pack_into(block, 0, *values, 0, 0)
        base = ctypes.addressof(block)
        count = len(values) + 2
        pointers = (ctypes.c_void_p * count)(*[base + 8 * k for k in range(count)])
        # The driver has read the arguments when it returns.
        self.driver.launch(ready.handle, grid, ready.threads, ready.shared, ctypes.addressof(pointers))
