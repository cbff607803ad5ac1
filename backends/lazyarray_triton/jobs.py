"""Owns what is to be compiled as plain data: a variant of an emitted module as a job for the compiler."""

from __future__ import annotations

from typing import Final

from lazyarray_triton.compiler import Job
from lazyarray_triton.launch import Variant
from lazyarray_triton.model import widest
from lazyarray_triton.source import TritonSource

# What is noted of errors takes registers, and would leave room for fewer programs: a layer norm took twice as long with
# 78 registers as with the 64 that it has otherwise.
_NOTING: Final = 64
_NOTING_NARROW: Final = 56  # in programs of few warps that compute nothing of more than four bytes


def job_of(source: TritonSource, made: Variant, capability: int) -> Job:
    """The job of a variant for a compute capability."""
    (function,) = [f for f in source.functions if f.name == made.function]
    registers = made.registers
    if not registers and source.watched == "apart" and not function.looks:
        registers = _NOTING if made.warps >= 16 or widest(source.kernel) > 4 else _NOTING_NARROW
    names = [a.name for a in function.arguments]
    signature = (*zip(names, made.types, strict=True), *[(name, "constexpr") for name in function.constants])
    return Job(
        source.text,
        made.function,
        signature,
        made.constants,
        made.index,
        made.aligned,
        made.warps,
        registers,
        capability,
    )
