"""Owns operations on real floats (f4 and f8): rounding, extrema, parts of a number; division and roots are `exact`'s.

Every function takes tiles (or scalars) of one dtype and gives NumPy's bits.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from lazyarray_triton.device.exact import divide


@triton.jit
def bits(x):
    """The bits of a float as a signed integer of its size."""
    if x.dtype == tl.float64:
        found = x.to(tl.int64, bitcast=True)
    elif x.dtype == tl.float32:
        found = x.to(tl.int32, bitcast=True)
    else:
        found = x.to(tl.int16, bitcast=True)
    return found


@triton.jit
def fabs(x):
    return tl.abs(x)


@triton.jit
def negative(x):
    """Also the sign of NaN and zero changes."""
    number = bits(x)
    if x.dtype == tl.float64:
        flipped = number ^ tl.full([], -0x8000000000000000, tl.int64)
    else:
        flipped = number ^ tl.full([], -0x80000000, tl.int32)
    return flipped.to(x.dtype, bitcast=True)


@triton.jit
def copysign(x, sign):
    if x.dtype == tl.float64:
        low = tl.full([], 0x7FFFFFFFFFFFFFFF, tl.int64)
        high = tl.full([], -0x8000000000000000, tl.int64)
    else:
        low = tl.full([], 0x7FFFFFFF, tl.int32)
        high = tl.full([], -0x80000000, tl.int32)
    return ((bits(x) & low) | (bits(sign) & high)).to(x.dtype, bitcast=True)


@triton.jit
def signbit(x):
    return bits(x) < 0


@triton.jit
def isnan(x):
    return x != x


@triton.jit
def isinf(x):
    return tl.abs(x) == float("inf")


@triton.jit
def isfinite(x):
    return tl.abs(x) < float("inf")


@triton.jit
def sign(x):
    """-1, 0, 1; NaN stays, -0 becomes 0."""
    unit = (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
    return tl.where(x != x, x, unit)


@triton.jit
def heaviside(x, at_zero):
    step = tl.where(x == 0, at_zero, (x > 0).to(x.dtype))
    return tl.where(x != x, x, step)


@triton.jit
def maximum(x, y):
    """The larger; NaN wins, and of zeros of both signs the second, as in NumPy's vector loops."""
    return tl.where((x > y) | (x != x), x, y)


@triton.jit
def minimum(x, y):
    return tl.where((x < y) | (x != x), x, y)


@triton.jit
def fmax(x, y):
    """The larger; NaN loses."""
    return tl.where((x > y) | (y != y), x, y)


@triton.jit
def fmin(x, y):
    return tl.where((x < y) | (y != y), x, y)


@triton.jit
def floor(x):
    return tl.floor(x)


@triton.jit
def ceil(x):
    return tl.ceil(x)


@triton.jit
def rint(x):
    return libdevice.rint(x)


@triton.jit
def trunc(x):
    return libdevice.trunc(x)


@triton.jit
def fmod(x, y):
    return libdevice.fmod(x, y)


@triton.jit
def floored(x, y):
    """npy_divmod after CPython's float divmod, y not 0: floored quotient and remainder with the sign of y."""
    rest = libdevice.fmod(x, y)
    ratio = divide(x - rest, y)
    exact = rest == 0
    adjust = ((y < 0) != (rest < 0)) & (rest != 0)
    ratio = tl.where(adjust, ratio - 1, ratio)
    rest = tl.where(adjust, rest + y, rest)
    rest = tl.where(exact, copysign(rest, y), rest)
    whole = tl.floor(ratio)
    whole = tl.where(ratio - whole > 0.5, whole + 1, whole)
    whole = tl.where(ratio == 0, copysign(whole, divide(x, y)), whole)
    return whole, rest


@triton.jit
def floor_divide(x, y):
    whole, _ = floored(x, y)
    return tl.where(y == 0, divide(x, y), whole)


@triton.jit
def remainder(x, y):
    _, rest = floored(x, y)
    return tl.where(y == 0, tl.full([], float("nan"), x.dtype), rest)


@triton.jit
def degrees(x):
    # NumPy's constant is a quotient formed in the dtype itself.
    if x.dtype == tl.float64:
        factor = tl.full([], 57.29577951308232, tl.float64)
    else:
        factor = tl.full([], 57.2957763671875, tl.float32)
    return x * factor


@triton.jit
def radians(x):
    if x.dtype == tl.float64:
        factor = tl.full([], 0.017453292519943295, tl.float64)
    else:
        factor = tl.full([], 0.01745329238474369, tl.float32)
    return x * factor


# -- parts of a number ---------------------------------------------------------------------------------------------
@triton.jit
def modf_integer(x):
    return libdevice.trunc(x)


@triton.jit
def modf_fraction(x):
    """x less its integer part, with x's sign also when zero; 0 for infinities."""
    infinite = tl.abs(x) == float("inf")
    rest = tl.where(infinite, tl.full([], 0, x.dtype), x - libdevice.trunc(x))
    return tl.where(x != x, x, copysign(rest, x))


@triton.jit
def frexp(x):
    """A mantissa in [0.5, 1) and its exponent; zeros, infinities and NaNs stay, with exponent 0."""
    if x.dtype == tl.float64:
        subnormal = tl.abs(x) < tl.full([], 2.2250738585072014e-308, tl.float64)
        number = bits(tl.where(subnormal, x * 18014398509481984.0, x))
        field = (number >> 52) & 0x7FF
        exponent = (field - tl.where(subnormal, 1022 + 54, 1022)).to(tl.int32)
        fraction = (number & tl.full([], -0x7FF0000000000001, tl.int64)) | tl.full([], 0x3FE0000000000000, tl.int64)
    else:
        subnormal = tl.abs(x) < tl.full([], 1.1754943508222875e-38, tl.float32)
        number = bits(tl.where(subnormal, x * 33554432.0, x))
        field = (number >> 23) & 0xFF
        exponent = (field - tl.where(subnormal, 126 + 25, 126)).to(tl.int32)
        fraction = (number & tl.full([], -0x7F800001, tl.int32)) | tl.full([], 0x3F000000, tl.int32)
    special = (x == 0) | (x != x) | (tl.abs(x) == float("inf"))
    return tl.where(special, x, fraction.to(x.dtype, bitcast=True)), tl.where(special, 0, exponent)


@triton.jit
def frexp_mantissa(x):
    mantissa, _ = frexp(x)
    return mantissa


@triton.jit
def frexp_exponent(x):
    _, exponent = frexp(x)
    return exponent


@triton.jit
def power_of_two(exponent):
    """2**exponent in f8, from an int64 between -1022 and 1023."""
    return ((exponent + 1023) << 52).to(tl.float64, bitcast=True)


@triton.jit
def ldexp(x, exponent):
    """x * 2**exponent rounded once; the exponent is an integer of any size."""
    left = tl.minimum(tl.maximum(exponent.to(tl.int64), -3000), 3000)
    if x.dtype == tl.float32:
        scaled = (x.to(tl.float64) * power_of_two(tl.minimum(tl.maximum(left, -400), 400))).to(tl.float32)
    else:
        # Two steps that are exact or overflow for good, and one that rounds; going down each leaves 53 bits of room.
        first = tl.where(left > 1023, 1023, tl.where(left < -1022, -969, 0)).to(tl.int64)
        scaled = x * power_of_two(first)
        left = left - first
        second = tl.where(left > 1023, 1023, tl.where(left < -1022, -969, 0)).to(tl.int64)
        scaled = scaled * power_of_two(second)
        left = left - second
        scaled = scaled * power_of_two(tl.minimum(tl.maximum(left, -1022), 1023))
    return scaled


@triton.jit
def nextafter(x, y):
    """The neighbour of x toward y; y where equal."""
    first, second = bits(x), bits(y)
    if x.dtype == tl.float64:
        high = tl.full([], -0x8000000000000000, tl.int64)
    else:
        high = tl.full([], -0x80000000, tl.int32)
    away = (x < y) != (first < 0)
    moved = tl.where(x == 0, (second & high) | 1, tl.where(away, first + 1, first - 1))
    moved = tl.where(x == y, second, moved)
    found = moved.to(x.dtype, bitcast=True)
    return tl.where((x != x) | (y != y), tl.full([], float("nan"), x.dtype), found)


@triton.jit
def spacing(x):
    """The distance to the next number away from zero: negative for negative x."""
    gap = (bits(x) + 1).to(x.dtype, bitcast=True) - x
    tiny = (bits(x) * 0 + 1).to(x.dtype, bitcast=True)
    return tl.where(isfinite(x), tl.where(x == 0, tiny, gap), tl.full([], float("nan"), x.dtype))


@triton.jit
def nextafter_half(x, y):
    """As `nextafter` on f2, whose routine in NumPy keeps x where equal."""
    first, second = bits(x), bits(y)
    a, b = x.to(tl.float32), y.to(tl.float32)
    away = (a < b) != (first < 0)
    high = tl.full([], -0x8000, tl.int16)
    one = tl.full([], 1, tl.int16)
    moved = tl.where(a == 0, (second & high) | one, tl.where(away, first + one, first - one))
    found = tl.where(a == b, first, moved).to(tl.float16, bitcast=True)
    return tl.where((a != a) | (b != b), tl.full([], float("nan"), tl.float16), found)


@triton.jit
def nextafter_half_signed(x, y):
    """As `nextafter_half`, for releases of NumPy whose routine gives y where equal."""
    found = nextafter_half(x, y)
    return tl.where((x == 0) & (y == 0), y, found)


@triton.jit
def spacing_half(x):
    """npy_half_spacing: the distance to the next larger half, positive for negative x too."""
    number = bits(x).to(tl.int32) & 0xFFFF
    exponent = number & 0x7C00
    boundary = (number >= 0x8000) & ((number & 0x3FF) == 0)
    # At a power of two a negative number's larger neighbour is half as far: one exponent less.
    shifted = tl.maximum(exponent - tl.where(boundary, 0x400, 0), 0)
    count = tl.minimum(tl.maximum((shifted >> 10) - 1, 0), 15)
    gap = tl.where(shifted > 0x2800, shifted - 0x2800, 1 << count)
    gap = tl.where(number == 0x7BFF, 0x7C00, gap)
    gap = tl.where(exponent == 0x7C00, 0x7E00, gap)
    return gap.to(tl.int16).to(tl.float16, bitcast=True)
