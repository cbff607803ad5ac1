"""Owns what keeps the floating-point status as NumPy's loops leave it: quiet comparisons, safe divisors."""

from __future__ import annotations

from ..builder import Builder, Predicate, Value


def quiet(b: Builder, predicate: Predicate, x: Value, y: Value) -> Value:
    """Compares floats; a NaN raises no flag."""
    return b.quiet(predicate, x, y)


def never_zero(b: Builder, x: Value, is_zero: Value) -> Value:
    """x, and ±1 where it is zero: a divisor that raises no flag.

    By bits, as LLVM moves a division into the choice of a constant divisor and so divides by the zeros
    after all.
    """
    code = "i" + x.code[1:]
    mask = b.convert("sext", is_zero, code)
    one = b.bitcast(b.like(x, 1.0), code)
    return b.bitcast(b.or_(b.bitcast(x, code), b.and_(mask, one)), x.code)
