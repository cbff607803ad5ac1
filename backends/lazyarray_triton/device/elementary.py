"""Owns the elementary functions of real floats: libdevice's, in float64 where its float32 form is off by over 2 ULP.

Exponentials and logarithms are `exponential`'s.
Sine and cosine of float64 have a form of their own for arguments below 2**20: libdevice's reads a table for each
element, and branches for each. On an H200 an activation of 20 Mi elements takes 119 us so, and 151 with libdevice's.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from lazyarray_triton.device import exact, exponential
from lazyarray_triton.device.real import fabs


@triton.jit
def exp(x):
    return exponential.exp(x)


@triton.jit
def exp2(x):
    return libdevice.exp2(x)


@triton.jit
def expm1(x):
    return libdevice.expm1(x)


@triton.jit
def log(x):
    return exponential.log(x)


@triton.jit
def log2(x):
    return libdevice.log2(x)


@triton.jit
def log10(x):
    return libdevice.log10(x)


@triton.jit
def log1p(x):
    return libdevice.log1p(x)


# Pi / 2 in three parts (the first two cut off, so that no part is negative), for quotients below 2**20.
_HALF_PI = tl.constexpr(1.5707963267948966)
_HALF_PI_NEXT = tl.constexpr(6.123233995736765e-17)
_HALF_PI_LAST = tl.constexpr(1.082856673921914e-32)
_PER_HALF_PI = tl.constexpr(0.6366197723675814)
_ROUNDING = tl.constexpr(6755399441055744.0)  # 1.5 * 2**52: what is added to it is rounded to a whole number
_SMALL = tl.constexpr(1048576.0)


@triton.jit
def fma(x, y, z: tl.constexpr):
    """x * y + z, rounded once, with a number for z."""
    return tl.fma(x, y, tl.full([], z, tl.float64))


@triton.jit
def turned_sine(x, quarters: tl.constexpr):
    """sin(x + quarters * pi / 2) of float64 below `_SMALL`: off by 1.47 ULP at most, of those tried.

    x is brought to [-pi/4, pi/4]; there both functions are polynomials, computed by Remez' exchange algorithm in
    140-bit arithmetic: off by 2**-56.4 of the sine and 2**-59.5 of the cosine.
    """
    shifted = fma(x, tl.full([], _PER_HALF_PI, tl.float64), _ROUNDING)
    quarter = shifted.to(tl.int64, bitcast=True) + quarters
    whole = _ROUNDING - shifted
    r = tl.fma(whole, tl.full([], _HALF_PI, tl.float64), x)
    r = tl.fma(whole, tl.full([], _HALF_PI_NEXT, tl.float64), r)
    r = tl.fma(whole, tl.full([], _HALF_PI_LAST, tl.float64), r)
    z = r * r
    s = fma(z, tl.full([], 1.5896148857506774e-10, tl.float64), -2.5050746401108474e-08)
    s = fma(z, s, 2.755731361296315e-06)
    s = fma(z, s, -1.9841269829566098e-04)
    s = fma(z, s, 8.33333333332209e-03)
    s = fma(z, s, -1.666666666666663e-01)
    s = tl.fma(z * r, s, r)
    c = fma(z, tl.full([], -1.1358480066497689e-11, tl.float64), 2.0875699776494968e-09)
    c = fma(z, c, -2.7557314171648255e-07)
    c = fma(z, c, 2.4801587288825913e-05)
    c = fma(z, c, -1.3888888888873017e-03)
    c = fma(z, c, 4.1666666666666595e-02)
    c = fma(z, c, -0.5)
    c = fma(z, c, 1.0)
    found = tl.where((quarter & 1) == 0, s, c).to(tl.int64, bitcast=True)
    return (found ^ ((quarter & 2) << 62)).to(tl.float64, bitcast=True)


@triton.jit
def beyond(x):
    """True where some element is too large for `turned_sine`, infinite or NaN."""
    return tl.max((tl.abs(x) < _SMALL).to(tl.int32) ^ 1) != 0


@triton.jit
def sin(x):
    if x.dtype == tl.float64 and x.type.is_block():
        found = tl.where(x == 0, x, turned_sine(x, 0))
        if beyond(x):
            found = libdevice.sin(x)
    else:
        found = libdevice.sin(x)
    return found


@triton.jit
def cos(x):
    if x.dtype == tl.float64 and x.type.is_block():
        found = turned_sine(x, 1)
        if beyond(x):
            found = libdevice.cos(x)
    else:
        found = libdevice.cos(x)
    return found


@triton.jit
def cosh(x):
    return libdevice.cosh(x.to(tl.float64)).to(x.dtype)


@triton.jit
def tanh(x):
    return libdevice.tanh(x)


@triton.jit
def arcsin(x):
    return libdevice.asin(x.to(tl.float64)).to(x.dtype)


@triton.jit
def arccos(x):
    return libdevice.acos(x)


@triton.jit
def arctan(x):
    return libdevice.atan(x)


@triton.jit
def cbrt(x):
    return libdevice.cbrt(x)


# The float32 forms of these are off by up to 3 or 4 ULP (measured, or else CUDA's table of maximum errors).
@triton.jit
def tan(x):
    return libdevice.tan(x.to(tl.float64)).to(x.dtype)


@triton.jit
def sinh(x):
    return libdevice.sinh(x.to(tl.float64)).to(x.dtype)


@triton.jit
def arcsinh(x):
    return libdevice.asinh(x.to(tl.float64)).to(x.dtype)


@triton.jit
def arccosh(x):
    return libdevice.acosh(x.to(tl.float64)).to(x.dtype)


@triton.jit
def arctanh(x):
    """fdlibm's formula; libdevice's float64 form is off by up to 2.3 ULP."""
    wide = x.to(tl.float64)
    a = fabs(wide)
    twice = a + a
    # Below 1/2 the exact part of 2a / (1 - a) is kept apart.
    inner = tl.where(a < 0.5, twice + twice * a / (1 - a), twice / (1 - a))
    half = 0.5 * libdevice.log1p(inner)
    return libdevice.copysign(half, wide).to(x.dtype)


@triton.jit
def arctan2(y, x):
    return libdevice.atan2(y.to(tl.float64), x.to(tl.float64)).to(x.dtype)


@triton.jit
def hypot(x, y):
    return libdevice.hypot(x.to(tl.float64), y.to(tl.float64)).to(x.dtype)


@triton.jit
def power(x, y):
    return libdevice.pow(x.to(tl.float64), y.to(tl.float64)).to(x.dtype)


@triton.jit
def power_by_number(x, y):
    """`power` by one number for all elements, as NumPy's loops have it: products, quotients and roots are exact."""
    found = x
    if y == 2.0:
        found = x * x
    elif y == 0.5:
        found = exact.sqrt(x)
    elif y == -1.0:
        found = exact.reciprocal(x)
    elif y == 0.0:
        found = tl.full(x.shape, 1.0, x.dtype)
    elif y != 1.0:
        found = power(x, y)
    return found


@triton.jit
def logaddexp(x, y):
    """npy_logaddexp in float64: the larger plus log1p(exp(-|x - y|)); equal infinities give no NaN."""
    a, b = x.to(tl.float64), y.to(tl.float64)
    equal = a == b
    difference = tl.where(equal, tl.full([], 0, tl.float64), a - b)
    tail = libdevice.log1p(libdevice.exp(-fabs(difference)))
    larger = tl.where(difference > 0, a, b)
    total = larger + tl.where(equal, tl.full([], 0.6931471805599453, tl.float64), tail)
    return tl.where(difference != difference, difference, total).to(x.dtype)


@triton.jit
def logaddexp2(x, y):
    a, b = x.to(tl.float64), y.to(tl.float64)
    equal = a == b
    difference = tl.where(equal, tl.full([], 0, tl.float64), a - b)
    e = libdevice.exp2(-fabs(difference))
    s = 1 + e
    # What rounding 1 + e lost is added again: log1p(e) / log(2) is off by up to 2.7 ULP.
    per = tl.full([], 1.4426950408889634, tl.float64)  # 1 / log(2), and what its rounding lost
    log = libdevice.log(s)
    high = log * per
    low = tl.fma(log, per, -high) + log * 2.035527374093103e-17 + (e - (s - 1)) * per / s
    tail = high + low
    larger = tl.where(difference > 0, a, b)
    total = larger + tl.where(equal, tl.full([], 1, tl.float64), tail)
    return tl.where(difference != difference, difference, total).to(x.dtype)
