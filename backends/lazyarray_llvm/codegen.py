"""Owns the generation of code: LLVM IR text to object code, on as many threads at once as ask for it."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from lazyarray.records import NamedTuple

if TYPE_CHECKING:
    from lazyarray_llvm.engine import Host


class EngineError(RuntimeError):
    """IR that does not parse or verify, or that names a symbol nobody provides."""


class ObjectCode(NamedTuple):
    """An object file, and the names of the symbols that it takes from the process."""

    code: bytes
    externals: list[str]


class Parsed(NamedTuple):
    """A module in a context of its own, and the names of the symbols that it takes from the process."""

    context: Any
    module: Any
    externals: list[str]


class _Seat:
    """What one thread at a time generates code with."""

    __slots__ = ("lock", "machines")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a handler of a signal may fork, or compile, in the middle of a compile
        self.machines: dict[int, Any] = {}  # by level of code generation


class Generator:
    """LLVM's code generator for one host. Each thread has a context and target machines of its own meanwhile."""

    def __init__(self, binding: Any, at: Host) -> None:
        self.binding = binding
        self._host = at
        self._target = binding.Target.from_triple(at.triple)
        self._emit = _emit_unlocked(binding)
        self._seats: list[_Seat] = []

    def target_machine(self, level: int = 2) -> Any:
        """A new target machine. `level` is that of code generation, from 0 to 3."""
        # The large code model that "jitdefault" means on 64 bits: the sections of a module may lie further
        # apart than 2 GiB in a process that maps large arrays, and the small model would then link to wrong
        # addresses. It costs nothing that could be measured in a loop with 60 vector constants.
        at = self._host
        return self._target.create_target_machine(
            cpu=at.cpu, features=at.features, opt=level, codemodel="jitdefault", jit=True
        )

    def parse(self, ir_text: str, name: str) -> Parsed:
        """The module of an IR text, verified, whose symbols are all known."""
        # A context of its own: types and constants of a shared one stay for the life of the process, and only modules
        # of different contexts may be compiled at once.
        context = self.binding.create_context()
        try:
            module = self.binding.parse_assembly(ir_text, context)
            module.verify()
        except RuntimeError as error:
            raise EngineError(f"module {name!r}: {error}") from None
        module.triple = self._host.triple
        externals = [
            value.name
            for value in (*module.functions, *module.global_variables)
            if value.is_declaration and not value.name.startswith("llvm.")
        ]
        missing = self.unresolved(externals)
        if missing:  # LLVM ends the process at an unresolved symbol
            raise EngineError(f"module {name!r} names unknown symbols: {', '.join(missing)}")
        return Parsed(context, module, externals)

    def generate(self, parsed: Parsed, passes: bool = False, level: int = 2) -> ObjectCode:
        """The object code of a module, which is gone then (`Engine.compile_ir` says what `passes` and `level` are)."""
        with self._seat() as seat, parsed.context, parsed.module:
            machine = seat.machines.get(level)
            if machine is None:
                machine = seat.machines[level] = self.target_machine(level)
            if passes:
                self._optimise(parsed.module, machine)
            return ObjectCode(self._emit(machine, parsed.module), parsed.externals)

    def assembly(self, ir_text: str, passes: bool = False) -> str:
        """The assembler text that IR compiles to (for dumps; nothing is linked or kept)."""
        parsed = self.parse(ir_text, "assembly")
        with parsed.context, parsed.module as module:
            machine = self.target_machine()
            if passes:
                self._optimise(module, machine)
            return str(machine.emit_assembly(module))

    def unresolved(self, names: list[str]) -> list[str]:
        """Those of the names that no symbol known to LLVM has."""
        return [name for name in names if not self.binding.address_of_symbol(name)]

    def pause(self) -> None:
        """Waits until no thread generates code; none begins before `resume`, by the same thread."""
        for seat in self._seats:  # a list that grows meanwhile is gone through to its end
            seat.lock.acquire()

    def resume(self) -> None:
        """Ends a pause, in the child of a fork too."""
        for seat in self._seats:
            seat.lock.release()

    @contextlib.contextmanager
    def _seat(self) -> Iterator[_Seat]:
        free = next((seat for seat in list(self._seats) if seat.lock.acquire(blocking=False)), None)
        if free is None:
            free = _Seat()
            free.lock.acquire()
            self._seats.append(free)
        try:
            yield free
        finally:
            free.lock.release()

    def _optimise(self, module: Any, machine: Any) -> None:
        tuning = self.binding.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = False
        tuning.slp_vectorization = False
        builder = self.binding.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)


def _emit_unlocked(binding: Any) -> Callable[[Any, Any], bytes]:
    """What makes a target machine emit a module's object code, beside other threads that do.

    llvmlite holds one lock around each of its calls, since modules share a context unless told otherwise (its pull
    request 318). LLVM allows calls on different contexts at once; code generation, where the time goes, is called
    without that lock. Where the library has no such function: llvmlite's own way, one thread after another.
    """
    ffi = binding.ffi
    try:
        emit = ctypes.CDLL(ffi.lib._name).LLVMPY_TargetMachineEmitToMemory
        # The others keep the interpreter's lock: who gives it up may wait for it far longer than they take.
        quick = ctypes.PyDLL(ffi.lib._name)
        start, size, drop = quick.LLVMPY_GetBufferStart, quick.LLVMPY_GetBufferSize, quick.LLVMPY_DisposeMemoryBuffer
    except (AttributeError, OSError):
        return lambda machine, module: bytes(machine.emit_object(module))
    emit.argtypes = [ffi.LLVMTargetMachineRef, ffi.LLVMModuleRef, ctypes.c_int, ctypes.POINTER(ctypes.c_char_p)]
    emit.restype = ffi.LLVMMemoryBufferRef
    start.argtypes = size.argtypes = drop.argtypes = [ffi.LLVMMemoryBufferRef]
    start.restype, size.restype, drop.restype = ctypes.c_void_p, ctypes.c_size_t, None

    def emit_object(machine: Any, module: Any) -> bytes:
        problem = ctypes.c_char_p()
        buffer = emit(machine, module, 1, ctypes.byref(problem))
        if not buffer:
            raise EngineError(str(ffi.OutputString(init=problem)))
        try:
            return ctypes.string_at(start(buffer), size(buffer))
        finally:
            drop(buffer)

    return emit_object
