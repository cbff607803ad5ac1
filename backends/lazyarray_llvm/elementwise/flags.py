"""Owns what keeps the floating-point status as NumPy's loops leave it: quiet comparisons, safe divisors."""

from __future__ import annotations

import platform
from typing import Final

from ..builder import Builder, Predicate, Value, llvm_type

_X86: Final = platform.machine().lower() in ("x86_64", "amd64")


def quiet(b: Builder, predicate: Predicate, x: Value, y: Value) -> Value:
    """Compares floats; a NaN raises no flag, so that it warns no more than in NumPy.

    LLVM's plain ordered comparisons are x86's signalling ones; its constrained comparison picks the quiet
    ones, which exist from AVX on (has_fma) and would be taken apart lane by lane before.
    """
    if not (_X86 and b.has_fma):
        return b.compare(predicate, x, y)
    element = {"f2": "f16", "f4": "f32", "f8": "f64"}[x.code]
    suffix = element if x.lanes == 1 else f"v{x.lanes}{element}"
    name = f"llvm.experimental.constrained.fcmp.{suffix}"
    result = llvm_type("b1", x.lanes)
    b.module.declare(name, result, [x.type, y.type, "metadata", "metadata"])
    how = f'metadata !"{predicate}", metadata !"fpexcept.ignore"'
    return b.emit(f"call {result} @{name}({x}, {y}, {how})", "b1", x.lanes, "cmp")


def never_zero(b: Builder, x: Value, is_zero: Value) -> Value:
    """x, and ±1 where it is zero: a divisor that raises no flag.

    By bits, as LLVM moves a division into the choice of a constant divisor and so divides by the zeros
    after all.
    """
    code = "i" + x.code[1:]
    mask = b.convert("sext", is_zero, code)
    one = b.bitcast(b.like(x, 1.0), code)
    return b.bitcast(b.or_(b.bitcast(x, code), b.and_(mask, one)), x.code)
