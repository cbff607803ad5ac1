"""Owns programs: one kernel in its compiled forms, and its launches on the thread pool."""

from __future__ import annotations

import functools
import time
from operator import or_

from lazyarray.digests import name_of
from lazyarray.runtime.dump import show
from lazyarray.runtime.ledger import ledger
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_llvm import engine, moves, threads
from lazyarray_llvm.launch import IDLE_BYTES, IDLE_EXTENTS, Launch, Launcher, form_of, keep, numpy_bits, work_of
from lazyarray_llvm.lower.facts import watchable
from lazyarray_llvm.lower.geometry import Geometry, point_bytes
from lazyarray_llvm.lower.kernel import Form, cutter, functions_of, normalise
from lazyarray_llvm.lower.signature import Signature
from lazyarray_llvm.lower.status import status_of
from lazyarray_llvm.lower.streaming import host_streams, streams_here
from lazyarray_llvm.lower.tiling import moved_sizes
from lazyarray_llvm.numpy_calls import provide_all
from lazyarray_llvm.version import emitter_version

# Where the CPU saw errors and none was there (NaNs in a minimum, say), the next launches probably see them too: they
# take the watched form, which costs a tenth to a half more, and not both.
_FALSE_ALARM_LAUNCHES = 15


class Program:
    """One kernel compiled for this machine."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = normalise(kernel)
        self.signature = Signature(self.kernel)
        self.words = watchable(self.kernel)  # the values that a watched form has flags for
        self.loops = bool(provide_all(self.kernel))  # whether NumPy's own run in it
        self._sources: dict[Form, str] = {}
        self._addresses: dict[Form, list[int]] = {}
        self._keys: dict[Form, str] = {}
        self._cut = cutter(self.kernel)
        self.work, self.moved = work_of(self.kernel), point_bytes(self.kernel)  # of one element
        self.suspected = 0  # what the last launch that saw errors saw
        self.alarms = 0  # how many launches to come run the watched form at once
        self._geometries: dict[tuple[int, ...], Geometry] = {}
        self._idle: dict[tuple[int, ...], list[Launch]] = {}  # launches to be bound again, by extents
        self._watching: dict[tuple[int, ...], list[Launch]] = {}  # the same of the watched form

    def addresses(self, form: Form) -> list[int]:
        """The functions of one form of the kernel, compiled when first asked for."""
        found = self._addresses.get(form)
        if found is None:
            key = self._key(form)
            start = time.perf_counter()
            module = engine.load(key, "kernel")
            if module is None:
                module = engine.compile_ir(self._text(form), "kernel", key)
                ledger.compiled(time.perf_counter() - start, start)
                show("cache", "compiled", lambda: f"{key} {form}: compiled, and stored on disk")
            else:
                ledger.disk_hit(time.perf_counter() - start, start)
                show("cache", "found", lambda: f"{key} {form}: found in memory or on disk")
            show("kernels", f"llvm-{key[:8]}", lambda: self._text(form), "ll")
            show("asm", key[:8], lambda: engine.engine().assembly(self._text(form)), "s")
            found = [module.address(name) for name in functions_of(self.kernel, form)]
            self._addresses[form] = found
        return found

    def _key(self, form: Form) -> str:
        found = self._keys.get(form)
        if found is None:
            for size in moved_sizes(self.kernel, form.startswith("lines")):
                moves.provide(size)
            found = self._keys[form] = name_of(f"{emitter_version()}|{form}|{self.kernel!r}")
        return found

    def is_missing(self, extents: tuple[int, ...], watched: bool) -> bool:
        """Whether a launch at these extents would have to compile."""
        form = form_of(self._geometry(extents), watched)
        return form not in self._addresses and engine.load(self._key(form), "kernel") is None

    def expect(self, extents: tuple[int, ...], watched: bool, threads: int) -> None:
        """Begin to compile, on other threads, what a launch at these extents runs."""
        form = form_of(self._geometry(extents), watched)
        engine.expect(self._text(form), "kernel", self._key(form), threads)

    def _text(self, form: Form) -> str:
        text = self._sources.get(form)
        if text is None:
            from lazyarray_llvm.lower.emit import emit  # the emitters: not for kernels that are on disk

            text = self._sources[form] = emit(self.kernel, engine.host(), form)
        return text

    @property
    def source(self) -> str:
        """The LLVM IR text of every form that was used so far (of the usual one before the first launch)."""
        forms: list[Form] = list(self._addresses) or ["whole"]
        return "\n".join(self._text(form) for form in forms)

    def launcher(self, extents: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> Launcher:
        """What launches the program at these extents and strides."""
        return Launcher(self, extents, strides)

    def prepare(self, binding: Binding) -> Launch:
        """A launch that can be run many times."""
        binding = _with_an_axis(binding)
        made = self.new_launch(binding.extents)
        made.bind(binding)
        return made

    @functools.cached_property
    def blind(self) -> bool:
        """True where `launch` cannot tell errors: the kernel can raise some, and the CPU has no status to read."""
        return bool(self.words) and status_of(engine.host().triple) is None

    def launch(self, binding: Binding) -> int:
        """Run the program once: NumPy's bits of the floating-point errors that the CPU saw, rather too many."""
        if self.alarms:
            self.alarms -= 1
            return functools.reduce(or_, self._run_watched(binding).values(), 0)
        binding = _with_an_axis(binding)
        pool = threads.get_pool()
        idle = self._idle.get(binding.extents)
        # Taking from and adding to a list are single steps of the interpreter: no two threads get one launch.
        ready = idle.pop() if idle else None
        if ready is None or ready.pool is not pool:
            ready = self.new_launch(binding.extents)
        ready.bind(binding)
        raised = ready.run()
        if ready.reserved <= IDLE_BYTES:
            keep(self._idle, binding.extents, ready)
        if raised:
            self.raised_by(ready)
            raised = self.suspected = numpy_bits(raised)
        return raised

    def raised_by(self, ready: Launch) -> dict[int, int]:
        """NumPy's bits of the errors of each value that raised any, as the flags of a launch say; cleared then."""
        found = {value: int(bits) for value, bits in zip(self.words, ready.flags, strict=False) if bits}
        ready.flags[:] = 0
        return found

    def watch(self, binding: Binding) -> dict[int, int]:
        """Run the watched form of the program once: NumPy's bits of the errors of each value that raised any."""
        if not self.words:
            self.launch(binding)
            return {}
        found = self._run_watched(binding)
        self.watched(bool(found))
        return found

    def watched(self, found: bool) -> None:
        """The watched form has run after a launch that saw errors, or in its place, and found some or none."""
        if self.suspected and not found:
            self.alarms = _FALSE_ALARM_LAUNCHES
        self.suspected = 0

    def _run_watched(self, binding: Binding) -> dict[int, int]:
        binding = _with_an_axis(binding)
        idle = self._watching.get(binding.extents)
        ready = idle.pop() if idle else None
        if ready is None or ready.pool is not threads.get_pool():
            ready = self.new_launch(binding.extents, watched=True)
        ready.bind(binding)
        found = self.raised_by(ready) if ready.run() else {}
        if ready.reserved <= IDLE_BYTES:
            keep(self._watching, binding.extents, ready)
        return found

    def new_launch(self, extents: tuple[int, ...], *, watched: bool = False) -> Launch:
        """A launch that nothing is bound to yet."""
        return Launch(self, extents, self._geometry(extents), threads.get_pool(), watched=watched)

    def streams(self, extents: tuple[int, ...], strides: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        """The accesses that launches may write past the caches."""
        if not host_streams(engine.host()) or len(extents) != len(self.kernel.roles):
            return ()
        return streams_here(self.kernel, self._geometry(extents), extents, strides)

    def _geometry(self, extents: tuple[int, ...]) -> Geometry:
        found = self._geometries.get(extents)
        if found is None:
            if len(self._geometries) > IDLE_EXTENTS:
                self._geometries.clear()
            found = self._geometries[extents] = self._cut(extents)
        return found


def _with_an_axis(binding: Binding) -> Binding:
    if binding.extents:
        return binding
    return Binding((1,), binding.pointers, tuple((0,) for _ in binding.strides), binding.scalars)
