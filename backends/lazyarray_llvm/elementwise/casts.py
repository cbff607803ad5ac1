"""Owns conversions between dtypes: NumPy's `astype` for every pair of compiled dtypes, bit for bit.

Floats that do not fit an integer dtype give what the x86 conversion instructions give, as NumPy's loops
do: the smallest number of the 32-bit or 64-bit type that the loop converts through.  On ARM those loops
saturate instead.
"""

from __future__ import annotations

import platform
from typing import Final

from ..builder import COMPLEX_PARTS, AnyValue, Builder, Complex, Value, is_float, is_signed, itemsize
from .flags import quiet

_SATURATES: Final = platform.machine().lower() in ("arm64", "aarch64")
_X86: Final = platform.machine().lower() in ("x86_64", "amd64", "i686")


def cast(b: Builder, value: AnyValue, code: str) -> AnyValue:
    """NumPy's `value.astype(code)`."""
    if value.code == code:
        return value
    if isinstance(value, Complex):
        if code == "b1":
            return b.or_(truth(b, value.re), truth(b, value.im))
        part = COMPLEX_PARTS.get(code)
        if part is not None:
            return Complex(cast_real(b, value.re, part), cast_real(b, value.im, part))
        return cast_real(b, value.re, code)
    part = COMPLEX_PARTS.get(code)
    if part is not None:
        real = cast_real(b, value, part)
        return Complex(real, b.like(real, 0.0))
    return cast_real(b, value, code)


def cast_real(b: Builder, value: Value, code: str) -> Value:
    """`cast` between real dtypes."""
    source = value.code
    if source == code:
        return value
    if code == "b1":
        return truth(b, value)
    if source == "f2":
        wide = widen(b, value)
        if code == "u4" and not _SATURATES:
            # Half floats go one by one in NumPy, and one number goes to uint32 through int64.
            return resize(b, _truncating(b, wide, "i8"), code)
        return wide if code == "f4" else cast_real(b, wide, code)
    if code == "f2":
        return _to_half(b, value)
    if is_float(source):
        if is_float(code):
            return b.convert("fptrunc" if itemsize(code) < itemsize(source) else "fpext", value, code)
        return _float_to_integer(b, value, code)
    if is_float(code):
        if code == "f8" and itemsize(source) == 8 and by_bits(b, value):
            return _halves_to_doubles(b, value)
        return b.convert("sitofp" if is_signed(source) else "uitofp", value, code)
    return resize(b, value, code)


def by_bits(b: Builder, value: Value) -> bool:
    """Whether the host converts between 64-bit integers and doubles one by one only."""
    return b.has_avx2 and not b.has_avx512 and value.lanes > 1


# The bits of 2^52, to which the lower half of an integer is added as its last bits, and of 2^84, to the upper half.
_LOWER, _UPPER = 0x433 << 52, 0x453 << 52


def _halves_to_doubles(b: Builder, value: Value) -> Value:
    """64-bit integers as doubles, rounded once.

    Halves of 32 bits become the last bits of two doubles, exactly. (2^84 + upper 2^32) - (2^84 + 2^52) is exact, a
    multiple of 2^32 below 2^64, and with (2^52 + lower) added the integer. The sign's bit turned, the upper half of a
    signed integer is 2^31 too large.
    """
    signed = is_signed(value.code)
    bits = Value(value.ref, "i8", value.lanes)
    lower = b.or_(b.and_(bits, b.like(bits, 0xFFFFFFFF)), b.like(bits, _LOWER))
    upper = b.xor(b.binary("lshr", bits, b.like(bits, 32)), b.like(bits, _UPPER | (1 << 31 if signed else 0)))
    above = b.bitcast(upper, "f8")
    return b.add(b.sub(above, b.like(above, 2.0**84 + (2.0**63 if signed else 0.0) + 2.0**52)), b.bitcast(lower, "f8"))


def resize(b: Builder, value: Value, code: str) -> Value:
    """Between bool and integers: wraps to fewer bits, extends by the source's signedness."""
    before = 0 if value.code == "b1" else itemsize(value.code)
    after = itemsize(code)
    if before == after:
        return Value(value.ref, code, value.lanes)
    if after < before:
        return b.convert("trunc", value, code)
    return b.convert("sext" if is_signed(value.code) else "zext", value, code)


def truth(b: Builder, value: AnyValue) -> Value:
    """value != 0 (NaN is true)."""
    if isinstance(value, Complex):
        return b.or_(truth(b, value.re), truth(b, value.im))
    if value.code == "b1":
        return value
    if value.code == "f2":
        bits = b.bitcast(value, "u2")
        return b.compare("ne", b.and_(bits, b.like(bits, 0x7FFF)), b.like(bits, 0))
    return b.compare("une" if is_float(value.code) else "ne", value, b.like(value, 0))


def widen(b: Builder, half: Value) -> Value:
    """f2 to f4, exactly."""
    known = b.widened.get(half.ref)
    return b.convert("fpext", half, "f4") if known is None else known


def narrow(b: Builder, value: Value) -> Value:
    """f4 to f2, rounded to nearest even."""
    return b.convert("fptrunc", value, "f2")


def _to_half(b: Builder, value: Value) -> Value:
    if value.code == "f8":
        return narrow(b, _round_to_odd(b, value))
    # NumPy converts integers to half through float; both roundings are exact below the overflow threshold
    # 65520.
    return narrow(b, cast_real(b, value, "f4"))


def _round_to_odd(b: Builder, value: Value) -> Value:
    """f8 to f4 with the last bit set when anything was cut off, so that rounding it to f2 is right.

    Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd".
    """
    near = b.convert("fptrunc", value, "f4")
    back = b.convert("fpext", near, "f8")
    bits = b.bitcast(near, "u4")
    above = quiet(b, "ogt", b.intrinsic("fabs", [back]), b.intrinsic("fabs", [value]))
    toward_zero = b.sub(bits, resize(b, above, "u4"))
    inexact = b.compare("one", back, value)
    return b.bitcast(b.or_(toward_zero, resize(b, inexact, "u4")), "f4")


def _float_to_integer(b: Builder, value: Value, code: str) -> Value:
    bits = 8 * itemsize(code)
    if _SATURATES:
        through = ("i" if is_signed(code) or bits < 32 else "u") + str(max(bits, 32) // 8)
        return resize(b, _saturating(b, value, through), code)
    if bits < 32:
        return resize(b, _truncating(b, value, "i4"), code)
    if is_signed(code):
        return _truncating(b, value, code)
    # What compilers make of a conversion to an unsigned type: the upper half is shifted down and its top
    # bit set.
    signed = "i" + code[1:]
    half = b.like(value, 2.0 ** (bits - 1))
    upper = b.compare("oge", value, half)
    number = _truncating(b, b.select(upper, b.sub(value, half), value), signed)
    top = b.select(upper, b.like(number, -(1 << (bits - 1))), b.like(number, 0))
    return Value(b.xor(number, top).ref, code, value.lanes)


def _truncating(b: Builder, value: Value, code: str) -> Value:
    """To i4 or i8 as cvttsd2si: everything out of range, and NaN, is the smallest number."""
    if _X86:
        # LLVM calls what does not fit poison, but selects the very instruction, flag and all, for an
        # operand that it does not know; and it folds no constant that does not fit.
        return b.convert("fptosi", value, code)
    limit = 2.0 ** (8 * itemsize(code) - 1)
    if value.code == "f8" and code == "i4":
        low = b.compare("ogt", value, b.like(value, -limit - 1.0))
    else:
        low = b.compare("oge", value, b.like(value, -limit))
    fits = b.and_(low, b.compare("olt", value, b.like(value, limit)))
    number = b.convert("fptosi", value, code)
    return b.select(fits, number, b.like(number, -int(limit)))


def _saturating(b: Builder, value: Value, code: str) -> Value:
    """To a 32 or 64-bit integer as ARM converts: clamped, NaN gives zero."""
    element = {"f4": "f32", "f8": "f64"}[value.code]
    integer = f"i{8 * itemsize(code)}"
    vector = "" if value.lanes == 1 else f"v{value.lanes}"
    name = f"llvm.fpto{'si' if is_signed(code) else 'ui'}.sat.{vector}{integer}.{vector}{element}"
    result = Value("", code, value.lanes)
    b.module.declare(name, result.type, [value.type])
    return b.call(name, code, value.lanes, [value], "sat")
