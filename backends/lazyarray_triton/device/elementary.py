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
    return libdevice.cosh(x)


@triton.jit
def tanh(x):
    return libdevice.tanh(x)


@triton.jit
def arcsin(x):
    return libdevice.asin(x)


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
    return libdevice.atanh(x.to(tl.float64)).to(x.dtype)


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
    tail = libdevice.log1p(libdevice.exp2(-fabs(difference))) * tl.full([], 1.4426950408889634, tl.float64)
    larger = tl.where(difference > 0, a, b)
    total = larger + tl.where(equal, tl.full([], 1, tl.float64), tail)
    return tl.where(difference != difference, difference, total).to(x.dtype)
