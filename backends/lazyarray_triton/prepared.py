"""Owns launches that are made again: everything but addresses and scalars is packed once, for least host time."""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from lazyarray.runtime.recovery import Queued
from lazyarray.runtime.run import AnyRun
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_triton import launch, model
from lazyarray_triton.launcher import FLAGS, Driver, Launcher
from lazyarray_triton.ones import with_ones
from lazyarray_triton.source import Watched

_STREAMS: Final = 16  # whose launches have counts of their own


class _Step(NamedTuple):
    """One function: how its addresses are packed, and what the driver is given."""

    pack: Callable[..., None]
    block: Any
    pointers: tuple[int, ...]  # accesses whose addresses come first
    works: tuple[int, ...]  # then work memory
    fixed: tuple[int, int, int, int, int, int, int, int]  # handle, grid, block of threads, shared bytes
    slots: int  # address of the array of pointers to the arguments


class Prepared:
    """A kernel at fixed extents, strides and alignments, to be launched any number of times with other memory.

    Scalars that are divided into something stay 1 if they are (`ones.py`). Not `at_once`, the functions are being
    compiled when it is made, and it is launched after `load`.

    A launch returns before the GPU has run it. Whoever calls holds the memory until then; CuPy's pool gives freed
    memory to later work of the same stream only, so it may be freed as soon as the call has returned.
    """

    __slots__ = (
        "_aligned",
        "_counts",
        "_driver",
        "_given",
        "_keeps",
        "_launch_kernel",
        "_launcher",
        "_lock",
        "_made",
        "_scalars",
        "_steps",
        "_works",
        "guess",
        "source",
    )

    def __init__(
        self,
        launcher: Launcher,
        kernel: Kernel,
        binding: Binding,
        guess: model.Guess | None = None,
        origins: launch.Origins | None = None,
        watched: Watched = "",
        at_once: bool = True,
    ) -> None:
        driver: Driver = launcher.driver
        kernel = with_ones(kernel, binding.scalars)
        shift = launch.shift_of(kernel, binding)
        if guess is None:
            many = driver.multiprocessors
            guess = model.guess(kernel, binding.extents, many, shifted=shift > 0, watched=watched != "")
        chosen = guess
        self.guess = chosen
        self.source = source = launcher.source(kernel, chosen.form, watched)
        plan = launch.plan_launches(source, binding.extents, chosen, shift)
        index = launch.choose_index(plan, binding)
        self._driver = driver
        self._launcher = launcher
        self._counts: dict[int, list[Any]] = {}
        self._launch_kernel = driver.launch_kernel
        self._works = tuple(
            (launcher.target_bytes(source, work, origins) if size == -1 else size, work.fill, work.size == "arrivals")
            for work, size in zip(source.works, plan.works, strict=True)
        )
        self._given: tuple[complex, ...] = tuple(binding.scalars)
        self._lock = threading.Lock()  # the driver releases the interpreter's lock while it reads the slots
        self._keeps: list[Any] = []
        self._scalars: list[tuple[struct.Struct, Any, int, int, tuple[int, ...]]] = []
        self._steps: tuple[_Step, ...] = ()
        self._made: list[launch.Variant] = []
        empty = any(n == 0 for n, role in zip(binding.extents, kernel.roles, strict=True) if role == "p")
        # The pool aligns what it hands out to 512 bytes.
        addresses = [512] * len(self._works)
        aligned: set[int] = set()
        for step in () if empty else plan.steps:
            values = launch.arguments(plan, step, binding, addresses, origins)
            made = launch.variant(step, index, values)
            launcher.foresee(source, made)
            self._made.append(made)
            self._steps += (self._packed(step, made, index, values),)
            known = {k for k, power in made.aligned if power == 16}
            arguments = step.function.arguments
            aligned |= {a.which[0] for k, a in enumerate(arguments) if a.kind == "pointer" and k in known}
        self._aligned = tuple(sorted(aligned))
        if at_once:
            self.load()

    def _packed(
        self, step: launch.Step, made: launch.Variant, index: launch.Index, values: Sequence[int | float]
    ) -> _Step:
        """A function that is not loaded, with its arguments in their slots."""
        packer = launch.packer(made)
        block = ctypes.create_string_buffer(packer.size)
        packer.pack_into(block, 0, *values, 0, 0)
        base, count = ctypes.addressof(block), len(values) + 2
        slots = (ctypes.c_void_p * count)(*[base + 8 * k for k in range(count)])
        self._keeps += [block, slots]
        arguments = step.function.arguments
        pointers = tuple(a.which[0] for a in arguments if a.kind == "pointer")
        works = tuple(a.which[0] for a in arguments if a.kind == "work")
        first = len(pointers) + len(works)
        assert [a.kind for a in arguments[:first]] == ["pointer"] * len(pointers) + ["work"] * len(works)
        for k, a in enumerate(arguments):
            if a.kind == "scalar":
                one = launch.packer(launch.Variant("", index, (), 1, 0, (made.types[k],), ()))
                self._scalars.append((struct.Struct(one.format[:-2]), block, 8 * k, a.which[0], a.which[1:]))
        pack = struct.Struct(f"<{first}Q").pack_into
        return _Step(pack, block, pointers, works, (0, step.grid, 1, 1, 0, 1, 1, 0), ctypes.addressof(slots))

    def load(self) -> None:
        """Loads the functions when they are compiled: before the first launch."""
        steps = []
        for made, step in zip(self._made, self._steps, strict=True):
            ready = self._launcher.variant(self.source, made)
            fixed = (ready.handle, step.fixed[1], 1, 1, ready.threads, 1, 1, ready.shared)
            steps.append(step._replace(fixed=fixed))
        self._steps = tuple(steps)

    def set_scalars(self, scalars: Sequence[complex]) -> None:
        """Other scalars for the launches that follow."""
        given = tuple(scalars)
        if given == self._given and 0 not in given:  # zeros of both signs are equal
            return
        codes = self.source.kernel.scalars
        with self._lock:
            self._given = given
            for packer, block, place, number, part_of in self._scalars:
                packer.pack_into(block, place, launch.scalar(codes[number], scalars[number], part_of))

    def launch(
        self, pointers: Sequence[int], stream: int | None = None, flags: int = 0, run: AnyRun | None = None
    ) -> None:
        """Launches on the current stream, whose address may be given; `pointers` as in a binding.

        `flags`: where the words of errors are, for a launch that was prepared to look for them. `run`: its `launched`
        is to know whether this launch was queued.
        """
        together = 0
        for k in self._aligned:
            together |= pointers[k]
        if together & 15:
            raise ValueError("this launch was prepared for memory that is aligned to 16 bytes")
        if stream is None:
            stream = self._driver.stream()
        launch_kernel = self._launch_kernel
        if run is not None:
            run.launched = queued = Queued(len(self._steps))
            launch_kernel = functools.partial(queued.call, launch_kernel)
        if not self._works:
            with self._lock:
                for pack, block, which, _, fixed, slots in self._steps:
                    pack(block, 0, *[pointers[k] for k in which])
                    launch_kernel(*fixed, stream, slots, 0)
            return
        counts = self._counts.get(stream)
        if counts is None:
            counts = self._counts_for(stream)
        memory: list[Any] = []
        place = 0
        for size, fill, counting in self._works:
            if size == FLAGS:
                memory.append(flags)
            else:
                memory.append(counts[place] if counting else self._driver.allocate(size, fill))
            place += 1  # noqa: SIM113  (C counts faster than `enumerate`)
        addresses = [int(m) for m in memory]
        with self._lock:
            for pack, block, which, works, fixed, slots in self._steps:
                pack(block, 0, *[pointers[k] for k in which], *[addresses[k] for k in works])
                launch_kernel(*fixed, stream, slots, 0)

    def _counts_for(self, stream: int) -> list[Any]:
        """Where programs of launches on a stream count one another: zeros, as every launch leaves them again.

        What is recorded has those of an earlier launch: it is not run at the same time.
        """
        if getattr(self._driver, "kept", None) is not None and self._counts:
            return next(iter(self._counts.values()))
        made = [self._driver.allocate(size, fill) if counting else None for size, fill, counting in self._works]
        if len(self._counts) >= _STREAMS:
            self._counts.clear()
        self._counts[stream] = made
        return made
