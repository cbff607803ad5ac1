"""The LLVM backend's entry: kernels to programs, and programs to launches on the thread pool."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lazyarray.ir.ops import OPS
from lazyarray.runtime.ledger import ledger
from lazyarray.schedule.kernel import Binding, Kernel
from lazyarray_llvm import engine, threads
from lazyarray_llvm.lower.geometry import Geometry
from lazyarray_llvm.lower.kernel import Form, cutter, emit, functions_of, normalise
from lazyarray_llvm.lower.signature import Signature


@functools.cache
def emitter_version() -> str:
    """Identifies the code that lowers kernels, by the package's files: part of every disk entry's key."""
    here = Path(__file__).parent
    marks = [
        f"{path.relative_to(here)}:{path.stat().st_mtime_ns}:{path.stat().st_size}"
        for path in sorted(here.rglob("*.py"))
    ]
    return hashlib.sha256("|".join(marks).encode()).hexdigest()


_ALIGNMENT = 64
_IDLE_BYTES = 1 << 18  # launches that hold more scratch memory are not kept
_IDLE_EXTENTS = 64


class Launch:
    """A program bound to extents and memory, ready to run any number of times; `pointers` may be rewritten between."""

    __slots__ = ("_arguments", "_block", "_geometry", "_keeps", "_signature", "_steps", "pointers", "pool", "reserved")

    def __init__(self, program: Program, geometry: Geometry, pool: threads.Pool) -> None:
        signature = program.signature
        self.pool = pool
        self.reserved = 0
        self._keeps: list[Any] = []
        shared = geometry.shared
        scratch = self._reserve(geometry.scratch * (1 if shared else pool.nthreads))
        partials, values = self._reserve(geometry.partials), self._reserve(geometry.values)
        self._geometry = (
            geometry.rows, geometry.run, geometry.blocks, geometry.block,
            scratch, 0 if shared else geometry.scratch, geometry.plane, geometry.strip, geometry.depth,
            partials, values,
        )  # fmt: skip
        self._signature = signature
        self._block = ctypes.create_string_buffer(signature.packer.size)
        self._arguments = ctypes.addressof(self._block)
        first = signature.pointer_slot
        count = len(program.kernel.accesses)
        self.pointers = memoryview(self._block).cast("B").cast("Q")[first : first + count]
        self._steps: list[tuple[Callable[..., None], int, int]] = []
        addresses = program.addresses("split" if geometry.split else "whole")
        for phase in geometry.phases:
            many = phase.parallel and phase.tasks > 1 and pool.nthreads > 1
            self._steps.append((pool.run if many else _call_all, addresses[phase.function], phase.tasks))

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
        """Write the argument block."""
        self._signature.pack(self._block, self._geometry, binding)

    def run(self) -> None:
        """Run the program once."""
        arguments = self._arguments
        for call, address, tasks in self._steps:
            call(address, arguments, tasks)


def _call_all(address: int, arguments: int, tasks: int) -> None:
    threads.call(address, arguments, 0, tasks)


class Program:
    """One kernel compiled for this machine."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = normalise(kernel)
        self.signature = Signature(self.kernel)
        self._sources: dict[Form, str] = {}
        self._addresses: dict[Form, list[int]] = {}
        self._cut = cutter(self.kernel)
        self._geometries: dict[tuple[int, ...], Geometry] = {}
        self._idle: dict[tuple[int, ...], list[Launch]] = {}  # launches to be bound again, by extents

    def addresses(self, form: Form) -> list[int]:
        """The functions of one form of the kernel, compiled when first asked for."""
        found = self._addresses.get(form)
        if found is None:
            spelled = f"{emitter_version()}|{form}|{self.kernel!r}"
            key = hashlib.sha256(spelled.encode()).hexdigest()
            module = engine.load(key, "kernel")
            if module is None:
                module = engine.compile_ir(self._text(form), "kernel", key)
                ledger.compiled()
            else:
                ledger.disk_hit()
            found = [module.address(name) for name in functions_of(self.kernel, form)]
            self._addresses[form] = found
        return found

    def _text(self, form: Form) -> str:
        text = self._sources.get(form)
        if text is None:
            text = self._sources[form] = emit(self.kernel, engine.host(), form)
        return text

    @property
    def source(self) -> str:
        """The LLVM IR text of every form that was used so far (of the usual one before the first launch)."""
        forms: list[Form] = list(self._addresses) or ["whole"]
        return "\n".join(self._text(form) for form in forms)

    def prepare(self, binding: Binding) -> Launch:
        """A launch that can be run many times."""
        binding = _with_an_axis(binding)
        made = Launch(self, self._geometry(binding.extents), threads.get_pool())
        made.bind(binding)
        return made

    def launch(self, binding: Binding) -> None:
        """Run the program once."""
        binding = _with_an_axis(binding)
        pool = threads.get_pool()
        idle = self._idle.get(binding.extents)
        # Taking from and adding to a list are single steps of the interpreter: no two threads get one launch.
        ready = idle.pop() if idle else None
        if ready is None or ready.pool is not pool:
            ready = Launch(self, self._geometry(binding.extents), pool)
        ready.bind(binding)
        ready.run()
        if ready.reserved <= _IDLE_BYTES:
            if len(self._idle) > _IDLE_EXTENTS:
                self._idle.clear()
            self._idle.setdefault(binding.extents, []).append(ready)

    def _geometry(self, extents: tuple[int, ...]) -> Geometry:
        found = self._geometries.get(extents)
        if found is None:
            if len(self._geometries) > _IDLE_EXTENTS:
                self._geometries.clear()
            found = self._geometries[extents] = self._cut(extents)
        return found


def _with_an_axis(binding: Binding) -> Binding:
    if binding.extents:
        return binding
    return Binding((1,), binding.pointers, tuple((0,) for _ in binding.strides), binding.scalars)


class Backend:
    """Compiles kernels with LLVM; programs are kept by their kernel for the life of the process."""

    name = "llvm"

    def __init__(self) -> None:
        self._programs: dict[Kernel, Program] = {}

    def compile(self, kernel: Kernel) -> Program:
        """The program of a kernel, from memory, from disk or compiled now."""
        program = self._programs.get(kernel)
        if program is None:
            program = self._programs[kernel] = Program(kernel)
        return program

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        """A ufunc with the bits of compiled kernels, for the transcendental ops; for others NumPy's own has them."""
        if not OPS[op].transcendental:
            return None
        from lazyarray_llvm import inner_loops

        return inner_loops.eager_ufunc(op)

    def warm(self) -> None:
        """Loads LLVM and makes the workers, ahead of the first kernel."""
        engine.host()
        threads.get_pool().start()
