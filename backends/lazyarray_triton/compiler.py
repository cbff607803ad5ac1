"""Owns the use of Triton's compiler: module text to functions, a variant of a function to a cubin for a target."""

from __future__ import annotations

import hashlib
import linecache
import types
from dataclasses import dataclass
from typing import Any

from lazyarray_triton.launch import Variant
from lazyarray_triton.model import widest
from lazyarray_triton.source import TritonSource


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled variant: what a launcher loads and launches with."""

    cubin: bytes
    name: str
    shared: int  # bytes of dynamic shared memory
    threads: int
    scratch: tuple[int, int]  # bytes of global and of profile scratch memory that each program asks for
    ptx: str


def load_functions(source: TritonSource) -> dict[str, Any]:
    """The functions of a module, by name. Its text stands in `linecache`, where Triton reads it."""
    digest = hashlib.sha256(source.text.encode()).hexdigest()[:16]
    file = f"<lazyarray-{digest}>"
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)
    module = types.ModuleType(f"lazyarray_kernel_{digest}")
    exec(compile(source.text, file, "exec"), module.__dict__)
    return {f.name: getattr(module, f.name) for f in source.functions}


def compile_variant(functions: dict[str, Any], source: TritonSource, made: Variant, capability: int) -> Binary:
    """The cubin of a variant for a compute capability (80, 90, 100, ...); no GPU is needed."""
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    (record,) = [f for f in source.functions if f.name == made.function]
    names = [a.name for a in record.arguments]
    signature = dict(zip(names, made.types, strict=True)) | dict.fromkeys(record.constants, "constexpr")
    constants: dict[str, Any] = dict(made.constants) | {"INDEX": tl.int32 if made.index == "i32" else tl.int64}
    # NumPy's bits: no contraction; subnormal numbers stay.
    options: dict[str, Any] = {"num_warps": made.warps, "enable_fp_fusion": False, "enable_reflect_ftz": False}
    if made.registers:
        options["maxnreg"] = made.registers
    elif source.watched == "apart" and not record.looks:
        # What is noted of errors takes registers, and would leave room for fewer programs: a layer norm took twice as
        # long with 78 registers as with the 64 that it has otherwise.
        options["maxnreg"] = 64 if made.warps >= 16 or widest(source.kernel) > 4 else 56
    ast = ASTSource(
        fn=functions[made.function],
        signature=signature,
        constexprs=constants,
        attrs={(k,): [["tt.divisibility", power]] for k, power in made.aligned},
    )
    with triton.knobs.compilation.scope():
        # Lines of emitted text are nobody's, and double what is kept and loaded.
        triton.knobs.compilation.disable_line_info = True
        compiled = triton.compile(ast, target=GPUTarget("cuda", capability, 32), options=options)
    meta = compiled.metadata
    return Binary(
        compiled.asm["cubin"],
        meta.name,
        meta.shared,
        32 * meta.num_warps,
        (getattr(meta, "global_scratch_size", 0) or 0, getattr(meta, "profile_scratch_size", 0) or 0),
        compiled.asm["ptx"],
    )
