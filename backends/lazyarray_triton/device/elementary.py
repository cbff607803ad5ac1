"""Owns the elementary functions of real floats: libdevice's, in float64 where its float32 form is off by over 2 ULP."""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from lazyarray_triton.device.real import fabs


@triton.jit
def exp(x):
    return libdevice.exp(x)


@triton.jit
def exp2(x):
    return libdevice.exp2(x)


@triton.jit
def expm1(x):
    return libdevice.expm1(x)


@triton.jit
def log(x):
    return libdevice.log(x)


@triton.jit
def log2(x):
    return libdevice.log2(x)


@triton.jit
def log10(x):
    return libdevice.log10(x)


@triton.jit
def log1p(x):
    return libdevice.log1p(x)


@triton.jit
def sin(x):
    return libdevice.sin(x)


@triton.jit
def cos(x):
    return libdevice.cos(x)


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
