"""The JIT engine: LLVM IR text to machine code in this process, and object code to and from the disk cache.

Code is emitted to an object file first and the object file is linked into the process, so that a kernel that
comes from the disk cache and one compiled just now take the same way in. llvmlite is imported at the first
compile.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from lazyarray.ir.installed import HALVES_KEEP_ZERO, POWER_HAS_SHORTCUTS
from lazyarray.records import NamedTuple
from lazyarray.runtime.backend import Once
from lazyarray.runtime.cache import KernelCache
from lazyarray_llvm import hosts, image
from lazyarray_llvm.background import Background
from lazyarray_llvm.codegen import EngineError, Generator, ObjectCode

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Counters",
    "Engine",
    "EngineError",
    "Host",
    "JitModule",
    "add_symbol",
    "compile_ir",
    "counters",
    "engine",
    "expect",
    "find_symbol",
    "host",
    "load",
    "narrow",
    "system_libraries",
    "warm",
]

# Raise it whenever the same IR text would give other code: it is part of every disk entry's fingerprint.
_CODEGEN_VERSION = 2
_OF_IMAGE: Final = b"I"
_OF_OBJECT: Final = b"O"

_UNARY = (
    "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p cbrt "
    "sqrt floor ceil trunc rint round nearbyint fabs erf erfc lgamma tgamma"
)
_OTHER = "pow atan2 hypot fmod remainder fma fmin fmax copysign ldexp frexp modf nextafter sincos"
_MEMORY = "memcpy memmove memset memcmp"
# What instruction selection may call for operations that the CPU lacks (compiler-rt and libgcc names).
_COMPILER_RT = (
    "__truncdfhf2 __truncsfhf2 __extendhfsf2 __extendhfdf2 __gnu_h2f_ieee __gnu_f2h_ieee "
    "__udivti3 __divti3 __umodti3 __modti3 __multi3"
)


class Host(NamedTuple):
    """The CPU that code is generated for."""

    cpu: str
    features: str
    vector_bytes: int
    triple: str
    has_fma: bool

    @property
    def has_avx2(self) -> bool:
        """Whether code may use AVX2, or what is wider."""
        return self.vector_bytes >= 32 and self.triple.startswith(("x86", "amd64", "i686"))

    @property
    def has_avx512(self) -> bool:
        """Whether code may use AVX-512's F, VL and DQ, without which vectors are narrower."""
        return self.vector_bytes == 64

    @property
    def slow_division(self) -> bool:
        """Whether a vector of eight float64 takes longer to divide than twenty other instructions.

        So it does on Intel's CPUs, 16 cycles, a root 20; AMD's divide in 10.
        """
        return self.has_avx512 and not self.cpu.startswith("znver")

    @property
    def halves_vectors(self) -> bool:
        """Whether an instruction on the widest vectors takes two turns of a unit that is half as wide."""
        return self.vector_bytes == 32 and self.cpu in ("znver1", "btver2", "bdver4")

    @property
    def abilities(self) -> dict[str, bool]:
        """What code for it depends on, as a `Builder` takes it."""
        return {
            "has_fma": self.has_fma,
            "has_avx2": self.has_avx2,
            "has_avx512": self.has_avx512,
            "slow_division": self.slow_division,
        }


# No dataclasses, whose making takes as long as reading ten kernels from disk.
class Counters:
    """What the engine did in this process."""

    __slots__ = ("compile_seconds", "compiles", "disk_hits", "link_seconds", "memory_hits")

    def __init__(self) -> None:
        self.compiles = self.disk_hits = self.memory_hits = 0
        self.compile_seconds = self.link_seconds = 0.0


class JitModule:
    """Machine code linked into this process; the engine keeps it for the life of the process."""

    __slots__ = ("_addresses", "_linked", "from_disk", "name", "object_bytes")

    def __init__(self, name: str, from_disk: bool, object_bytes: int, linked: Any) -> None:
        self.name, self.from_disk, self.object_bytes = name, from_disk, object_bytes
        self._linked = linked
        self._addresses: dict[str, int] = {}

    def address(self, symbol: str) -> int:
        """The address of a function or global that the module defines."""
        found = self._addresses.get(symbol)
        if found is None:
            found = int(self._linked.get_function_address(symbol))
            if not found:
                raise EngineError(f"module {self.name!r} defines no symbol {symbol!r}")
            self._addresses[symbol] = found
        return found


def _read_host(binding: Any) -> Host:
    features = binding.get_host_cpu_features()
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512dq"):
        vector_bytes = 64
    elif features.get("avx2") and features.get("fma"):
        vector_bytes = 32
    else:
        vector_bytes = 16
    # LLVM's feature map is empty for some ARM cores, where FMA belongs to the base instruction set.
    triple = str(binding.get_process_triple())
    is_arm = triple.startswith(("arm64", "aarch64"))
    return Host(
        cpu=str(binding.get_host_cpu_name()),
        features=str(features.flatten()),
        vector_bytes=vector_bytes,
        triple=triple,
        has_fma=bool(is_arm or features.get("fma")),
    )


def narrow(wide: Host, vector_bytes: int) -> Host:
    """The same CPU limited to narrower vectors (x86: 32 is AVX2 and FMA, 16 the SSE2 baseline)."""
    if vector_bytes >= wide.vector_bytes:
        return wide
    x86 = wide.triple.startswith(("x86_64", "i686", "amd64"))
    if not x86:
        return Host(wide.cpu, wide.features, vector_bytes, wide.triple, wide.has_fma)
    cpu = "haswell" if vector_bytes == 32 else "x86-64"
    return Host(cpu, "", vector_bytes, wide.triple, vector_bytes == 32)


@functools.cache
def system_libraries() -> list[ctypes.CDLL]:
    """The libraries of C, its mathematics and the compiler's helpers."""
    if sys.platform == "win32":
        names: list[str | None] = ["ucrtbase", "msvcrt", "vcruntime140", "kernel32"]
    elif sys.platform == "darwin":
        names = [None, "/usr/lib/libSystem.B.dylib"]
    else:
        names = [None, "libm.so.6", "libgcc_s.so.1"]
    libraries = []
    for name in names:
        try:
            libraries.append(ctypes.CDLL(name))
        except OSError:
            continue
    return libraries


_added: dict[str, int] = {}  # C symbols that `add_symbol` was given


@functools.cache
def _known_symbols() -> dict[str, int]:
    """The C functions that LLVM is told of, by name."""
    names = [variant for name in f"{_UNARY} {_OTHER}".split() for variant in (name, name + "f")]
    found = {name: _look_up(name) for name in [*names, *_MEMORY.split(), *_COMPILER_RT.split()]}
    return {name: address for name, address in found.items() if address}


def _look_up(name: str) -> int:
    for library in system_libraries():
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


def find_symbol(name: str) -> int:
    """The address of a C function; 0 if nobody provides it."""
    return _added.get(name) or _look_up(name)


class Engine:
    """Compiles and links modules for one host, looking in memory, then on disk, before generating code."""

    def __init__(self, target: Host | None = None, cache_root: Path | None = None) -> None:
        self.counters = Counters()
        self._wanted = target
        self._cache_root = cache_root
        self._cache: KernelCache | None = None
        self._host: Host | None = None
        self._lock = threading.RLock()
        self._modules: dict[str, JitModule] = {}
        self._kept: list[Any] = image.outlive([])
        self._binding: Any = None
        self._generator: Generator | None = None
        self._background: Background | None = None

    @property
    def host(self) -> Host:
        """The CPU that this engine generates code for."""
        self._identify()
        assert self._host is not None
        return self._host

    @property
    def cache(self) -> KernelCache:
        """The disk cache of this engine's object code."""
        self._identify()
        assert self._cache is not None
        return self._cache

    def _identify(self) -> None:
        """Learns the host and opens the cache; loads LLVM only where no run before noted what it says of the CPU."""
        if self._cache is not None:
            return
        with self._lock:
            if self._cache is not None:
                return
            found = hosts.recall(self._cache_root)
            if found is None:
                binding = self._load_binding()
                found = hosts.Described(_versions(binding), *_read_host(binding))
                hosts.remember(found, self._cache_root)
            at = self._wanted if self._wanted is not None else Host(*found[1:])
            numpys = f"{HALVES_KEEP_ZERO}|{POWER_HAS_SHORTCUTS}"
            made_for = f"{_CODEGEN_VERSION}|{found.versions}|{at.triple}|{at.cpu}|{at.features}|{numpys}"
            self._host = at
            self._cache = KernelCache(self._cache_root, made_for)

    def _load_binding(self) -> Any:
        if self._binding is None:
            with contextlib.suppress(Exception):  # the import meets the same failure and words it
                _load_llvm()
            import llvmlite.binding as binding

            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            for name, address in {**_known_symbols(), **_added}.items():
                binding.add_symbol(name, address)
            self._binding = binding
        return self._binding

    @property
    def generator(self) -> Generator:
        """The code generator; loads LLVM, for code that is not in the cache."""
        if self._generator is None:
            with self._lock:
                if self._generator is None:
                    at = self.host
                    self._generator = Generator(self._load_binding(), at)
        return self._generator

    def load(self, key: str, name: str = "kernel") -> JitModule | None:
        """The module compiled under a key by this process, or by any process that shares the disk cache."""
        known = self._modules.get(key)
        if known is not None:
            self.counters.memory_hits += 1
            return known
        payload = self.cache.load(key)
        if payload is None:
            return None
        size = int.from_bytes(payload[1:5], "little")
        externals, code = payload[5 : 5 + size].decode().split(), payload[5 + size :]
        if payload[:1] == _OF_OBJECT:
            if self.generator.unresolved(externals):
                return None
        elif not image.runs_here() or not all(map(find_symbol, externals)):
            return None
        with self._lock:
            module = self._put(payload[:1], code, name, from_disk=True)
            self.counters.disk_hits += 1
            return self._modules.setdefault(key, module)

    def compile_ir(
        self, ir_text: str, name: str, key: str | None = None, passes: bool = False, level: int = 2
    ) -> JitModule:
        """Compile IR text, or find what its key (the text's identity) was compiled to.

        No optimisation pass runs unless asked for: kernels are explicit vector IR already. `passes` is for
        modules that want inlining, loop invariant motion and the like (LLVM's -O2 without vectorisers).
        `level` is that of code generation, from 0 to 3.
        """
        if key is not None:
            found = self.load(key, name)
            if found is not None:
                return found
        with self._lock:
            if key is not None and key in self._modules:  # by another thread, since the look above
                self.counters.memory_hits += 1
                return self._modules[key]
            started = time.perf_counter()
            made = self._background.take(key) if self._background is not None and key is not None else None
            code, externals = made or self._generate(ir_text, name, passes, level)
            self.counters.compiles += 1
            self.counters.compile_seconds += time.perf_counter() - started
            kind, code = _prepare(code)
            module = self._put(kind, code, name, from_disk=False)
            if key is None:
                return module
            self._modules[key] = module
        listed = " ".join(externals).encode()
        self.cache.store(key, kind + len(listed).to_bytes(4, "little") + listed + code)
        return module

    def expect(self, ir_text: str, name: str, key: str, threads: int) -> None:
        """Begin to compile on one of so many other threads what `compile_ir` is going to be asked for."""
        if self._background is None:
            with self._lock:
                if self._background is None:
                    self._background = Background()
        parsed = self.generator.parse(ir_text, name)
        self._background.submit(key, lambda: self.generator.generate(parsed), threads)

    def _generate(self, ir_text: str, name: str, passes: bool = False, level: int = 2) -> ObjectCode:
        return self.generator.generate(self.generator.parse(ir_text, name), passes, level)

    def pause(self) -> None:
        """Waits until nobody compiles; nobody begins before `resume`."""
        self._lock.acquire()
        if self._generator is not None:
            self._generator.pause()

    def resume(self) -> None:
        """Ends a pause."""
        if self._generator is not None:
            self._generator.resume()
        self._lock.release()

    def assembly(self, ir_text: str, passes: bool = False) -> str:
        """The assembler text that IR compiles to (for dumps; nothing is linked or kept)."""
        return self.generator.assembly(ir_text, passes)

    def _put(self, kind: bytes, code: bytes, name: str, from_disk: bool) -> JitModule:
        """Puts an image or an object file into this process."""
        started = time.perf_counter()
        linked = image.Loaded(image.unpack(code), find_symbol) if kind == _OF_IMAGE else self._link(code)
        module = JitModule(name, from_disk, len(code), linked)
        # Kept for ever: addresses are handed out as integers, so no count of their users exists.
        self._kept.append(module)
        self.counters.link_seconds += time.perf_counter() - started
        return module

    def _link(self, code: bytes) -> Any:
        binding = self._binding
        execution = binding.create_mcjit_compiler(binding.parse_assembly(""), self.generator.target_machine())
        execution.add_object_file(binding.ObjectFileRef.from_data(code))
        execution.finalize_object()
        return execution


def _prepare(code: bytes) -> tuple[bytes, bytes]:
    """What is kept of an object file: its image if it has one that this process can resolve, else itself."""
    laid = image.lay_out(code)
    if laid is None or not image.runs_here() or not all(map(find_symbol, laid.externals)):
        return _OF_OBJECT, code
    return _OF_IMAGE, laid.pack()


def _versions(binding: Any) -> str:
    import llvmlite

    return f"{llvmlite.__version__}|{'.'.join(map(str, binding.llvm_version_info))}"


_engine: Engine | None = None
_engine_lock = Once()


def engine() -> Engine:
    """The engine for this machine's CPU; every kernel of the process goes through it."""
    global _engine
    if _engine is None:
        with _engine_lock:
            if _engine is None:
                made = Engine()
                if hasattr(os, "register_at_fork"):  # a child must not inherit LLVM in the middle of a compile
                    os.register_at_fork(before=made.pause, after_in_parent=made.resume, after_in_child=made.resume)
                _engine = made
    return _engine


def host() -> Host:
    """The CPU that kernels are compiled for."""
    return engine().host


def counters() -> Counters:
    """What the process's engine did so far."""
    return engine().counters


def load(key: str, name: str = "kernel") -> JitModule | None:
    """The module of a key from memory or disk; None when it must be compiled."""
    return engine().load(key, name)


def compile_ir(ir_text: str, name: str, key: str | None = None, passes: bool = False, level: int = 2) -> JitModule:
    """Compile IR text with the process's engine, or find what its key was compiled to."""
    return engine().compile_ir(ir_text, name, key, passes, level)


def expect(ir_text: str, name: str, key: str, threads: int) -> None:
    """Begin to compile with the process's engine, on other threads, what `compile_ir` is going to be asked for."""
    engine().expect(ir_text, name, key, threads)


def add_symbol(name: str, address: int) -> None:
    """Give a C symbol to modules compiled or loaded from now on."""
    _added[name] = address
    # A thread in the middle of importing it takes what was added until then (`Engine._load_binding`).
    give = getattr(sys.modules.get("llvmlite.binding"), "add_symbol", None)
    if give is not None:
        give(name, address)


def _load_llvm() -> None:
    """Load llvmlite's library with the interpreter's lock released, which its own import does not do."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or not spec.origin or os.name != "posix":
        return
    suffix = "dylib" if sys.platform == "darwin" else "so"
    path = os.path.join(os.path.dirname(spec.origin), "binding", "libllvmlite." + suffix)
    dlopen = ctypes.CDLL(None).dlopen
    dlopen.argtypes, dlopen.restype = [ctypes.c_char_p, ctypes.c_int], ctypes.c_void_p
    dlopen(os.fsencode(path), os.RTLD_NOW)


def _start_engine() -> None:
    with contextlib.suppress(Exception):  # the first compile meets the same failure and words it
        host()


def warm() -> None:
    """Start loading LLVM on another thread, so that the first compile finds it done."""
    if engine()._generator is None and "llvmlite.binding" not in sys.modules:
        threading.Thread(target=_start_engine, name="lazyarray-llvm-start", daemon=True).start()
