"""Owns operations on the parts of a float: division with rest, neighbours, exponents, integer parts."""

from __future__ import annotations

from lazyarray.ir.installed import HALVES_KEEP_ZERO

from ..builder import Builder, Value
from .casts import cast_real, resize
from .comparison import isnan
from .exact import divide
from .flags import quiet

_MANTISSA = {"f2": 10, "f4": 23, "f8": 52}
_BIAS = {"f2": 15, "f4": 127, "f8": 1023}


def _magnitude_mask(x: Value) -> int:
    return (1 << (8 * int(x.code[1:]) - 1)) - 1


def copysign(b: Builder, x: Value, sign: Value) -> Value:
    if x.code != "f2":
        return b.intrinsic("copysign", [x, sign])
    first, second = b.bits(x), b.bits(sign)
    top = b.and_(second, b.like(second, 0x8000))
    return b.bitcast(b.or_(b.and_(first, b.like(first, 0x7FFF)), top), "f2")


def fmod(b: Builder, x: Value, y: Value) -> Value:
    """C's fmod, exactly.

    While |x / y| stays below 2^53 (or what products the host can form exactly) the truncated rounded
    quotient is at most 1 too large and x - q*y has no rounding error; otherwise all lanes call libm.
    """
    if x.code == "f4":
        divisor = b.of_number(y, "wide", lambda one: cast_real(b, one, "f8"))
        wide = _fmod_wide(b, cast_real(b, x, "f8"), divisor, 2.0**53 if b.has_fma else 2.0**28)
        return copysign(b, cast_real(b, wide, "f4"), x)
    if not b.has_fma:
        return _fmod_library(b, x, y)
    return copysign(b, _fmod_wide(b, x, y, 2.0**53), x)


def _fmod_library(b: Builder, x: Value, y: Value) -> Value:
    return b.binary("frem", x, y)


def _fmod_wide(b: Builder, x: Value, y: Value, limit: float) -> Value:
    """fmod on f8, but for the sign of a zero result."""
    infinity = b.like(x, float("inf"))
    # A zero divisor takes the slow way (quietly: NaN divides without flags), an infinite one is never
    # multiplied.
    divisor = b.of_number(y, "divisor", lambda one: _unless_zero(b, one, float("nan")))
    whole = b.intrinsic("trunc", [divide(b, x, divisor)])
    quick = quiet(b, "olt", b.intrinsic("fabs", [whole]), b.like(x, limit))
    size = b.intrinsic("fabs", [y])
    factor = b.select(b.compare("oeq", size, infinity), b.like(y, 1.0), y)
    rest = b.fma(b.fneg(whole), factor, x)
    # One too large a quotient leaves a rest of the other sign.
    wrong = quiet(b, "olt", b.mul(rest, b.intrinsic("copysign", [b.like(x, 1.0), x])), b.like(x, 0.0))
    fixed = b.add(rest, b.intrinsic("copysign", [size, x]))
    rest = b.select(wrong, fixed, rest)
    return b.unless(b.not_(quick), "fmod", lambda: [rest], lambda: [_fmod_library(b, x, y)])[0]


def _unless_zero(b: Builder, y: Value, other: float) -> Value:
    return b.select(b.compare("oeq", y, b.like(y, 0.0)), b.like(y, other), y)


def _floored(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """npy_divmod after CPython's float divmod: floored quotient and remainder with the sign of y."""
    zero = b.like(x, 0.0)
    rest = fmod(b, x, y)
    ratio = divide(b, b.sub(x, rest), y)
    exact = b.compare("oeq", rest, zero)
    differ = b.xor(quiet(b, "olt", y, zero), quiet(b, "olt", rest, zero))
    adjust = b.and_(differ, b.not_(exact))
    ratio = b.select(adjust, b.sub(ratio, b.like(x, 1.0)), ratio)
    rest = b.select(adjust, b.add(rest, y), rest)
    rest = b.select(exact, copysign(b, zero, y), rest)
    floor = b.intrinsic("floor", [ratio])
    above = quiet(b, "ogt", b.sub(ratio, floor), b.like(x, 0.5))
    floor = b.select(above, b.add(floor, b.like(x, 1.0)), floor)
    signed_zero = copysign(b, zero, b.bitcast(b.xor(b.bits(x), b.bits(y)), x.code))
    return b.select(b.compare("oeq", ratio, zero), signed_zero, floor), rest


def _nonzero(b: Builder, y: Value) -> Value:
    """y, and 1 where it is zero."""
    return b.of_number(y, "nonzero", lambda one: _unless_zero(b, one, 1.0))


def floor_divide(b: Builder, x: Value, y: Value) -> Value:
    by_zero = b.compare("oeq", y, b.like(y, 0.0))
    return b.select(by_zero, b.fdiv(x, y), _floored(b, x, _nonzero(b, y))[0])


def remainder(b: Builder, x: Value, y: Value) -> Value:
    by_zero = b.compare("oeq", y, b.like(y, 0.0))
    rest = _floored(b, x, _nonzero(b, y))[1]
    # 0 / 0 raises the invalid flag as fmod(x, 0) does.
    bad = b.fdiv(b.select(by_zero, b.like(x, 0.0), b.like(x, 1.0)), b.select(by_zero, y, b.like(y, 1.0)))
    return b.select(by_zero, bad, rest)


def nextafter(b: Builder, x: Value, y: Value) -> Value:
    """The neighbour of x toward y; y where equal; half floats keep x's own zero where NumPy's routine does."""
    first, second = b.bits(x), b.bits(y)
    mask = b.like(first, _magnitude_mask(x))
    high = b.like(first, ~_magnitude_mask(x))
    wide_x = cast_real(b, x, "f4") if x.code == "f2" else x
    wide_y = cast_real(b, y, "f4") if x.code == "f2" else y
    same = b.compare("oeq", wide_x, wide_y)
    at_zero = b.compare("eq", b.and_(first, mask), b.like(first, 0))
    tiny = b.or_(b.and_(second, high), b.like(first, 1))
    # Away from zero when x < y with x positive or x > y with x negative.
    rising = quiet(b, "olt", wide_x, wide_y)
    negative = b.compare("slt", first, b.like(first, 0))
    step = b.select(b.xor(rising, negative), b.like(first, 1), b.like(first, -1))
    moved = b.select(at_zero, tiny, b.add(first, step))
    moved = b.select(same, first if x.code == "f2" and HALVES_KEEP_ZERO else second, moved)
    unordered = b.compare("uno", wide_x, wide_y)
    nan = b.like(x, float("nan"))
    return b.select(unordered, nan, b.bitcast(moved, x.code))


def spacing(b: Builder, x: Value) -> Value:
    """The distance to the next number away from zero, for f4 and f8: negative for negative x."""
    bits = b.bits(x)
    away = b.bitcast(b.add(bits, b.like(bits, 1)), x.code)
    tiny = b.bitcast(b.like(bits, 1), x.code)
    size = b.intrinsic("fabs", [x])
    zero = b.compare("oeq", x, b.like(x, 0.0))
    usable = b.compare("one", size, b.like(x, float("inf")))
    gap = b.sub(b.select(usable, away, b.like(x, 0.0)), b.select(usable, x, b.like(x, 0.0)))
    return b.select(usable, b.select(zero, tiny, gap), b.like(x, float("nan")))


def spacing_half(b: Builder, x: Value) -> Value:
    """npy_half_spacing: the distance to the next larger half, positive for negative x too."""
    bits = b.bitcast(x, "u2")
    exponent = b.and_(bits, b.like(bits, 0x7C00))
    boundary = b.and_(
        b.compare("uge", bits, b.like(bits, 0x8000)),
        b.compare("eq", b.and_(bits, b.like(bits, 0x3FF)), b.like(bits, 0)),
    )
    # At a power of two a negative number's larger neighbour is half as far: one exponent less.
    less = b.select(boundary, b.like(bits, 0x400), b.like(bits, 0))
    shifted = b.intrinsic("usub.sat", [exponent, less])
    normal = b.compare("ugt", shifted, b.like(bits, 0x2800))
    place = b.binary("lshr", shifted, b.like(bits, 10))
    count = b.intrinsic("umin", [b.intrinsic("usub.sat", [place, b.like(bits, 1)]), b.like(bits, 15)])
    gap = b.select(normal, b.sub(shifted, b.like(bits, 0x2800)), b.binary("shl", b.like(bits, 1), count))
    gap = b.select(b.compare("eq", bits, b.like(bits, 0x7BFF)), b.like(bits, 0x7C00), gap)
    gap = b.select(b.compare("eq", exponent, b.like(bits, 0x7C00)), b.like(bits, 0x7E00), gap)
    return b.bitcast(gap, "f2")


def ldexp(b: Builder, x: Value, exponent: Value) -> Value:
    """x * 2**exponent rounded once; the exponent is an i4 or i8 of any size."""
    if x.code == "f4":
        wide = b.mul(cast_real(b, x, "f8"), _two_to(b, _clamp(b, exponent, 400)))
        return cast_real(b, wide, "f4")
    left = _clamp(b, exponent, 3000)
    # Two steps that are exact or overflow for good, and one that rounds; going down each leaves 53 bits of
    # room, so that no step before the last makes a subnormal number that still has to be rounded again.
    for _ in range(2):
        up = b.compare("sgt", left, b.like(left, 1023))
        down = b.compare("slt", left, b.like(left, -1022))
        step = b.select(up, b.like(left, 1023), b.select(down, b.like(left, -969), b.like(left, 0)))
        x = b.mul(x, _two_to(b, step))
        left = b.sub(left, step)
    return b.mul(x, _two_to(b, _clamp_to(b, left, -1022, 1023)))


def _clamp(b: Builder, exponent: Value, limit: int) -> Value:
    return resize(b, _clamp_to(b, exponent, -limit, limit), "i8")


def _clamp_to(b: Builder, number: Value, low: int, high: int) -> Value:
    return b.intrinsic("smin", [b.intrinsic("smax", [number, b.like(number, low)]), b.like(number, high)])


def _two_to(b: Builder, exponent: Value) -> Value:
    """2**exponent in f8, from an i8 between -1022 and 1023."""
    biased = b.add(exponent, b.like(exponent, 1023))
    return b.bitcast(b.binary("shl", biased, b.like(biased, 52)), "f8")


def _split(b: Builder, x: Value) -> tuple[Value, Value]:
    """frexp: a mantissa in [0.5, 1), its exponent as i4; zeros, infinities and NaNs stay, with exponent 0."""
    mantissa, bias = _MANTISSA[x.code], _BIAS[x.code]
    scale = mantissa + 2
    size = b.intrinsic("fabs", [x])
    subnormal = quiet(b, "olt", size, b.like(x, 2.0 ** (1 - bias)))
    scaled = b.select(subnormal, b.mul(x, b.like(x, 2.0**scale)), x)
    bits = b.bits(scaled)
    field = b.and_(b.binary("lshr", bits, b.like(bits, mantissa)), b.like(bits, 2 * bias + 1))
    start = b.select(subnormal, b.like(bits, bias - 1 + scale), b.like(bits, bias - 1))
    exponent = resize(b, b.sub(field, start), "i4")
    keep = ~((2 * bias + 1) << mantissa)
    fraction = b.or_(b.and_(bits, b.like(bits, keep)), b.like(bits, (bias - 1) << mantissa))
    special = b.or_(b.compare("oeq", x, b.like(x, 0.0)), b.not_(b.compare("one", size, b.like(x, float("inf")))))
    return (
        b.select(special, x, b.bitcast(fraction, x.code)),
        b.select(special, b.like(exponent, 0), exponent),
    )


def frexp_mantissa(b: Builder, x: Value) -> Value:
    return _split(b, x)[0]


def frexp_exponent(b: Builder, x: Value) -> Value:
    return _split(b, x)[1]


def modf_integer(b: Builder, x: Value) -> Value:
    return b.intrinsic("trunc", [x])


def modf_fraction(b: Builder, x: Value) -> Value:
    """x less its integer part, with x's sign also when zero; 0 for infinities."""
    infinite = b.compare("oeq", b.intrinsic("fabs", [x]), b.like(x, float("inf")))
    whole = b.select(infinite, b.like(x, 0.0), b.intrinsic("trunc", [x]))
    rest = b.sub(b.select(infinite, b.like(x, 0.0), x), whole)
    return b.select(isnan(b, x), x, b.intrinsic("copysign", [rest, x]))
