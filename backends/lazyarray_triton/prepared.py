"""Owns launches that are made again: everything but addresses and scalars is packed once, for least host time."""

from __future__ import annotations

import ctypes
import functools
import struct
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
    """One function: how its arguments are packed, and what the driver is given."""

    pack: Callable[..., None]
    block: bytes  # the arguments that it was prepared with
    pointers: tuple[int, ...]  # accesses whose addresses come first
    works: tuple[int, ...]  # then work memory
    # Scalars: how and where each is packed, its number in the kernel, and which part of it is wanted.
    scalars: tuple[tuple[struct.Struct, int, int, tuple[int, ...]], ...]
    fixed: tuple[int, int, int, int, int, int, int, int]  # handle, grid, block of threads, shared bytes


class _Arguments:
    """What one launch at a time gives to the driver: for each step its packed arguments, and where they are listed."""

    __slots__ = ("blocks", "lists", "scalars", "slots")

    def __init__(self, steps: Sequence[_Step], scalars: tuple[complex, ...]) -> None:
        self.scalars = scalars
        self.blocks: list[Any] = []
        self.lists: list[Any] = []  # the driver's arrays of pointers to the arguments
        for step in steps:
            block = ctypes.create_string_buffer(step.block, len(step.block))
            base, count = ctypes.addressof(block), len(step.block) // 8
            self.blocks.append(block)
            self.lists.append((ctypes.c_void_p * count)(*[base + 8 * k for k in range(count)]))
        self.slots: list[int] = [ctypes.addressof(one) for one in self.lists]


class Prepared:
    """A kernel at fixed extents, strides and alignments, to be launched any number of times with other memory.

    Scalars that are divided into something stay 1 if they are (`ones.py`). Not `at_once`, the functions are being
    compiled when it is made, and it is launched after `load`.

    Threads may launch it at the same time, and a signal handler in the middle of a launch: each packs arguments of its
    own, which are kept for those that follow.

    A launch returns before the GPU has run it. Whoever calls holds the memory until then; CuPy's pool gives freed
    memory to later work of the same stream only, so it may be freed as soon as the call has returned.
    """

    __slots__ = (
        "_aligned",
        "_counts",
        "_driver",
        "_launch_kernel",
        "_launcher",
        "_made",
        "_scalars",
        "_spare",
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
        self._scalars: tuple[complex, ...] = tuple(binding.scalars)
        self._spare: list[_Arguments] = []  # of launches that are over
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
        arguments = step.function.arguments
        pointers = tuple(a.which[0] for a in arguments if a.kind == "pointer")
        works = tuple(a.which[0] for a in arguments if a.kind == "work")
        first = len(pointers) + len(works)
        assert [a.kind for a in arguments[:first]] == ["pointer"] * len(pointers) + ["work"] * len(works)
        scalars = []
        for k, a in enumerate(arguments):
            if a.kind == "scalar":
                one = launch.packer(launch.Variant("", index, (), 1, 0, (made.types[k],), ()))
                scalars.append((struct.Struct(one.format[:-2]), 8 * k, a.which[0], a.which[1:]))
        pack = struct.Struct(f"<{first}Q").pack_into
        return _Step(pack, block.raw, pointers, works, tuple(scalars), (0, step.grid, 1, 1, 0, 1, 1, 0))

    def load(self) -> None:
        """Loads the functions when they are compiled: before the first launch."""
        steps = []
        for made, step in zip(self._made, self._steps, strict=True):
            ready = self._launcher.variant(self.source, made)
            fixed = (ready.handle, step.fixed[1], 1, 1, ready.threads, 1, 1, ready.shared)
            steps.append(step._replace(fixed=fixed))
        self._steps = tuple(steps)

    def _taken(self, scalars: Sequence[complex] | None) -> _Arguments:
        """Arguments that nobody else packs now, with these scalars; None for those that it was prepared with."""
        given = self._scalars if scalars is None else tuple(scalars)
        try:
            taken = self._spare.pop()
        except IndexError:
            taken = _Arguments(self._steps, self._scalars)
        if given != taken.scalars or 0 in given:  # zeros of both signs are equal
            codes = self.source.kernel.scalars
            for step, block in zip(self._steps, taken.blocks, strict=True):
                for packer, place, number, part_of in step.scalars:
                    packer.pack_into(block, place, launch.scalar(codes[number], given[number], part_of))
            taken.scalars = given
        return taken

    def launch(
        self,
        pointers: Sequence[int],
        scalars: Sequence[complex] | None = None,
        stream: int | None = None,
        flags: int = 0,
        run: AnyRun | None = None,
    ) -> None:
        """Launches on the current stream, whose address may be given; `pointers` as in a binding.

        `scalars`: None for those that it was prepared with. `flags`: the address of the words of errors, for a launch
        that was prepared to look for them. `run`: its `launched` is to know whether this launch was queued.
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
        works = self._work_memory(stream, flags) if self._works else ()  # nobody else is given it meanwhile
        addresses = [int(one) for one in works]
        taken = self._taken(scalars)
        for (pack, _, reached, worked, _, fixed), block, slots in zip(
            self._steps, taken.blocks, taken.slots, strict=True
        ):
            pack(block, 0, *[pointers[k] for k in reached], *[addresses[k] for k in worked])
            launch_kernel(*fixed, stream, slots, 0)
        self._spare.append(taken)  # the driver has read them

    def _work_memory(self, stream: int, flags: int) -> list[Any]:
        """The memory that a launch works in; `int` of each is its address."""
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
        return memory

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
