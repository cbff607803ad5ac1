"""Owns the use of Triton's compiler: jobs, which are plain data, to cubins for a target.

It imports nothing of lazyarray, so that a process which only compiles (`worker.py`) starts soon.
"""

from __future__ import annotations

import functools
import hashlib
import linecache
import types
from dataclasses import dataclass
from typing import Any, NamedTuple


class Job(NamedTuple):
    """What is compiled: one function of a module in one variant, for a compute capability (80, 90, 100, ...)."""

    text: str
    function: str
    signature: tuple[tuple[str, str], ...]  # arguments with their types, "constexpr" for constants
    constants: tuple[tuple[str, int], ...]
    integers: str  # the type of indices, which is a constant of the name INDEX
    aligned: tuple[tuple[int, int], ...]
    warps: int
    registers: int  # that a thread may have at most; 0: the compiler chooses
    capability: int


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled variant: what a launcher loads and launches with."""

    cubin: bytes
    name: str
    shared: int  # bytes of dynamic shared memory
    threads: int
    scratch: tuple[int, int]  # bytes of global and of profile scratch memory that each program asks for
    ptx: str


@functools.lru_cache(maxsize=64)
def load_module(text: str) -> dict[str, Any]:
    """The functions of a module, by name. Its text stands in `linecache`, where Triton reads it."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = f"<lazyarray-{digest}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module = types.ModuleType(f"lazyarray_kernel_{digest}")
    exec(compile(text, file, "exec"), module.__dict__)
    return module.__dict__


def compile_job(job: Job) -> Binary:
    """The cubin of a job; no GPU is needed."""
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    # NumPy's bits: no contraction; subnormal numbers stay.
    options: dict[str, Any] = {"num_warps": job.warps, "enable_fp_fusion": False, "enable_reflect_ftz": False}
    if job.registers:
        options["maxnreg"] = job.registers
    ast = ASTSource(
        fn=load_module(job.text)[job.function],
        signature=dict(job.signature),
        constexprs=dict(job.constants) | {"INDEX": tl.int32 if job.integers == "i32" else tl.int64},
        attrs={(k,): [["tt.divisibility", power]] for k, power in job.aligned},
    )
    with triton.knobs.compilation.scope():
        # Lines of emitted text are nobody's, and double what is kept and loaded.
        triton.knobs.compilation.disable_line_info = True
        compiled = triton.compile(ast, target=GPUTarget("cuda", job.capability, 32), options=options)
    meta = compiled.metadata
    return Binary(
        compiled.asm["cubin"],
        meta.name,
        meta.shared,
        32 * meta.num_warps,
        (getattr(meta, "global_scratch_size", 0) or 0, getattr(meta, "profile_scratch_size", 0) or 0),
        compiled.asm["ptx"],
    )
