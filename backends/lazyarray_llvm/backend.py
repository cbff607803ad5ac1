"""The LLVM backend's entry: kernels to programs, and programs to launches on the thread pool."""

from __future__ import annotations

import ctypes
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


class Launch:
    """A program bound to extents and memory, ready to run any number of times; `pointers` may be rewritten between."""

    __slots__ = ("_arguments", "_block", "_keeps", "_steps", "pointers")

    def __init__(self, program: Program, binding: Binding, geometry: Geometry) -> None:
        signature = program.signature
        size = signature.packer.size
        block = bytearray(size)
        pool = threads.get_pool()
        self._keeps: list[Any] = []
        scratch = self._reserve(geometry.scratch * (1 if geometry.shared else pool.nthreads))
        partials, values = self._reserve(geometry.partials), self._reserve(geometry.values)
        stride = 0 if geometry.shared else geometry.scratch
        numbers = (
            geometry.rows, geometry.run, geometry.blocks, geometry.block,
            scratch, stride, geometry.plane, geometry.strip, geometry.depth, partials, values,
        )  # fmt: skip
        signature.pack(block, numbers, binding)
        self._block = block
        holder = (ctypes.c_char * size).from_buffer(block)
        self._keeps.append(holder)
        self._arguments = ctypes.addressof(holder)
        first = signature.pointer_slot
        self.pointers = memoryview(block).cast("Q")[first : first + len(binding.pointers)]
        self._steps: list[tuple[Callable[..., None], int, int]] = []
        addresses = program.addresses("split" if geometry.split else "whole")
        for phase in geometry.phases:
            address = addresses[phase.function]
            if phase.parallel and phase.tasks > 1 and pool.nthreads > 1:
                self._steps.append((pool.run, address, phase.tasks))
            else:
                self._steps.append((_call_all, address, phase.tasks))

    def _reserve(self, size: int) -> int:
        if not size:
            return 0
        memory = ctypes.create_string_buffer(size + _ALIGNMENT) if size < 4096 else _raw(size + _ALIGNMENT)
        self._keeps.append(memory)
        return (ctypes.addressof(memory) + _ALIGNMENT - 1) & -_ALIGNMENT

    def run(self) -> None:
        """Run the program once."""
        arguments = self._arguments
        for call, address, tasks in self._steps:
            call(address, arguments, tasks)


def _raw(size: int) -> Any:
    """Memory that nobody clears."""
    holder = (ctypes.c_char * size).from_buffer(memoryview(_empty(size)))
    return holder


def _empty(size: int) -> Any:
    import numpy

    return numpy.empty(size, numpy.uint8)


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

    def addresses(self, form: Form) -> list[int]:
        """The functions of one form of the kernel, compiled when first asked for."""
        found = self._addresses.get(form)
        if found is None:
            spelled = f"{emitter_version()}|{form}|{self.kernel!r}"
            key = hashlib.sha256(spelled.encode()).hexdigest()
            module = engine.load(key, "kernel")
            if module is None:
                module = engine.compile_ir(self._text(form), "kernel", key)
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
        return "\n".join(self._text(form) for form in self._addresses or ("whole",))

    def prepare(self, binding: Binding) -> Launch:
        """A launch that can be run many times."""
        if not binding.extents:
            ones = tuple((0,) for _ in binding.strides)
            binding = Binding((1,), binding.pointers, ones, binding.scalars)
        geometry = self._geometries.get(binding.extents)
        if geometry is None:
            if len(self._geometries) > 256:
                self._geometries.clear()
            geometry = self._geometries[binding.extents] = self._cut(binding.extents)
        return Launch(self, binding, geometry)

    def launch(self, binding: Binding) -> None:
        """Run the program once."""
        self.prepare(binding).run()


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
