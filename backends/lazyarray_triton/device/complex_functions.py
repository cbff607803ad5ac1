"""Owns elementary functions of complex numbers: Kahan's formulas on real functions, in float64 for both dtypes.

W. Kahan, "Branch Cuts for Complex Elementary Functions, or Much Ado About Nothing's Sign Bit". The results of complex64
are rounded once; those of complex128 are within a few ULP of the larger part. Limits at infinities follow C99 where a
formula here names them, and are NaN elsewhere.
"""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from lazyarray_triton.device.complexes import complex_divide, plain_product
from lazyarray_triton.device.real import copysign, isfinite, negative

HUGE = tl.constexpr(1e150)
TINY = tl.constexpr(1e-150)


@triton.jit
def double(x):
    return x.to(tl.float64)


@triton.jit
def times(x, factor):
    """x * factor where a zero factor gives zero also for an infinite x."""
    return tl.where(factor == 0, factor, x * factor)


@triton.jit
def root(re, im):
    """The square root with a real part that is not negative, in float64, scaled against overflow."""
    a, b = tl.abs(re), tl.abs(im)
    size = tl.where(a > b, a, b)
    huge, tiny = size > HUGE, size < TINY
    factor = tl.where(huge, 2.0**-200, tl.where(tiny, 2.0**200, 1.0)).to(tl.float64)
    back = tl.where(huge, 2.0**100, tl.where(tiny, 2.0**-100, 1.0)).to(tl.float64)
    a, b = a * factor, b * factor
    large = tl.sqrt((a + libdevice.hypot(a, b)) * 0.5)
    small = tl.where(large == 0, large, b / (2.0 * large))
    right = re >= 0
    first = tl.where(right, large, small) * back
    second = tl.where(right, small, large) * back
    first = tl.where((im == 0) & (re < 0), tl.full([], 0, tl.float64), first)
    infinity = tl.full([], float("inf"), tl.float64)
    endless = tl.abs(im) == infinity
    left_end = re == negative(infinity)
    first = tl.where(endless, infinity, tl.where(left_end & (im == im), tl.full([], 0, tl.float64), first))
    second = tl.where(endless | (left_end & (im == im)), infinity, second)
    second = tl.where((re == infinity) & (im == im) & (endless == 0), tl.full([], 0, tl.float64), second)
    first = tl.where((re == infinity) & (endless == 0), infinity, first)
    return first, copysign(second, im)


@triton.jit
def sqrt(xr, xi):
    re, im = root(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def log_size(re, im):
    """log |z|: from the logarithm of 1 + (|z|^2 - 1) where |z| is near 1."""
    a, b = tl.abs(re), tl.abs(im)
    large, small = tl.where(a > b, a, b), tl.where(a > b, b, a)
    squared = (large - 1.0) * (large + 1.0) + small * small
    near = (large > 0.5) & (large < 2.0)
    close = 0.5 * libdevice.log1p(tl.where(near, squared, tl.full([], 0, tl.float64)))
    huge = large > HUGE
    factor = tl.where(huge, 2.0**-100, 1.0).to(tl.float64)
    size = libdevice.log(libdevice.hypot(a * factor, b * factor))
    return tl.where(near, close, tl.where(huge, size + tl.full([], 69.31471805599453, tl.float64), size))


@triton.jit
def logarithm(re, im):
    return log_size(re, im), libdevice.atan2(im, re)


@triton.jit
def log(xr, xi):
    re, im = logarithm(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def log2(xr, xi):
    re, im = logarithm(double(xr), double(xi))
    factor = tl.full([], 1.4426950408889634, tl.float64)
    return (re * factor).to(xr.dtype), (im * factor).to(xr.dtype)


@triton.jit
def log10(xr, xi):
    re, im = logarithm(double(xr), double(xi))
    factor = tl.full([], 0.4342944819032518, tl.float64)
    return (re * factor).to(xr.dtype), (im * factor).to(xr.dtype)


@triton.jit
def log1p(xr, xi):
    re, im = logarithm(double(xr) + 1.0, double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def exponential(re, im):
    """exp in float64; in two steps where exp(re) alone would overflow."""
    large = (re > 700.0) & (re < 1500.0)
    size = libdevice.exp(tl.where(large, re - 500.0, re))
    more = tl.where(large, libdevice.exp(tl.full([], 500.0, tl.float64)), tl.full([], 1, tl.float64))
    zero = im == 0
    first = times(size, libdevice.cos(im)) * more
    second = tl.where(zero, im, times(size, libdevice.sin(im)) * more)
    endless = tl.abs(re) == float("inf")
    lost = endless & (isfinite(im) == 0)
    nowhere = tl.where(re < 0, size, tl.full([], float("nan"), tl.float64))
    return tl.where(lost, size, first), tl.where(lost, nowhere, second)


@triton.jit
def exp(xr, xi):
    re, im = exponential(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def exp2(xr, xi):
    factor = tl.full([], 0.6931471805599453, tl.float64)
    re, im = exponential(double(xr) * factor, double(xi) * factor)
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def expm1(xr, xi):
    re, im = double(xr), double(xi)
    half = libdevice.sin(im * 0.5)
    first = libdevice.expm1(re) * libdevice.cos(im) - 2.0 * half * half
    second = libdevice.exp(re) * libdevice.sin(im)
    return first.to(xr.dtype), second.to(xr.dtype)


@triton.jit
def hyperbolic_sine(re, im):
    first = times(libdevice.sinh(re), libdevice.cos(im))
    second = tl.where(im == 0, im, times(libdevice.cosh(re), libdevice.sin(im)))
    # The real part is known where the angle is not.
    known = (isfinite(im) == 0) & ((re == 0) | (tl.abs(re) == float("inf")))
    return tl.where(known, tl.where(re == 0, re, tl.abs(re)), first), second


@triton.jit
def hyperbolic_cosine(re, im):
    first = times(libdevice.cosh(re), libdevice.cos(im))
    second = times(libdevice.sinh(re), libdevice.sin(im))
    one = tl.full([], 1, tl.float64)
    second = tl.where((im == 0) | ((re == 0) & (isfinite(im) == 0)), copysign(im * 0.0, copysign(one, re) * im), second)
    second = tl.where((re == 0) & (isfinite(im) == 0), tl.full([], 0, tl.float64), second)
    known = (isfinite(im) == 0) & (tl.abs(re) == float("inf"))
    return tl.where(known, tl.abs(re), first), second


@triton.jit
def hyperbolic_tangent(re, im):
    """Kahan's tanh: by t = tan(im), s = sinh(re); for large |re| the limit and what is left of it."""
    far = tl.abs(re) > 20.0
    near = tl.where(far, tl.full([], 1, tl.float64), re)
    t = libdevice.tan(im)
    beta = 1.0 + t * t
    s = libdevice.sinh(near)
    rho = tl.sqrt(1.0 + s * s)
    endless = tl.abs(t) == float("inf")
    bottom = 1.0 + beta * s * s
    first = tl.where(endless, rho / s, beta * rho * s / bottom)
    second = tl.where(endless, 1.0 / t, t / bottom)
    one = tl.full([], 1, tl.float64)
    beyond = 4.0 * libdevice.sin(im) * libdevice.cos(im) * libdevice.exp(-2.0 * tl.abs(re))
    limit = tl.abs(re) == float("inf")
    beyond = tl.where(limit, tl.where(isfinite(im), beyond, tl.full([], 0, tl.float64)), beyond)
    first = tl.where(far, tl.where(limit | isfinite(im), copysign(one, re), im - im), first)
    first = tl.where((re == 0) & (isfinite(im) == 0), re, first)
    second = tl.where(far, beyond, second)
    return first, tl.where(im == 0, im, second)


@triton.jit
def sinh(xr, xi):
    re, im = hyperbolic_sine(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def cosh(xr, xi):
    re, im = hyperbolic_cosine(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def tanh(xr, xi):
    re, im = hyperbolic_tangent(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


# cos z = cosh(iz), with iz = (-im, re); sin and tan are the parts of sinh and tanh at (im, re), the other way around.
@triton.jit
def sin(xr, xi):
    re, im = hyperbolic_sine(double(xi), double(xr))
    return im.to(xr.dtype), re.to(xr.dtype)


@triton.jit
def cos(xr, xi):
    re, im = hyperbolic_cosine(negative(double(xi)), double(xr))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def tan(xr, xi):
    re, im = hyperbolic_tangent(double(xi), double(xr))
    return im.to(xr.dtype), re.to(xr.dtype)


@triton.jit
def is_far(re, im):
    """Numbers whose squares overflow: there sqrt(1 - z) is not told from sqrt(-z)."""
    return (tl.abs(re) > HUGE) | (tl.abs(im) > HUGE)


@triton.jit
def far_logarithm(re, im):
    """log |2z|."""
    return log_size(re, im) + tl.full([], 0.6931471805599453, tl.float64)


@triton.jit
def inverse_sine(re, im):
    """re = atan(x / Re(sqrt(1-z) sqrt(1+z))), im = asinh(Im(conj(sqrt(1-z)) sqrt(1+z)))."""
    ar, ai = root(1.0 - re, negative(im))
    br, bi = root(1.0 + re, im)
    far = is_far(re, im)
    first = libdevice.atan2(re, tl.where(far, tl.abs(im), ar * br - ai * bi))
    second = tl.where(far, copysign(far_logarithm(re, im), im), libdevice.asinh(ar * bi - ai * br))
    return tl.where((re == 0) & (im != im), re, first), second


@triton.jit
def arcsin(xr, xi):
    re, im = inverse_sine(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def arccos(xr, xi):
    """re = 2 atan(Re sqrt(1-z) / Re sqrt(1+z)), im = asinh(Im(conj(sqrt(1+z)) sqrt(1-z)))."""
    re, im = double(xr), double(xi)
    ar, ai = root(1.0 - re, negative(im))
    br, bi = root(1.0 + re, im)
    far = is_far(re, im)
    first = tl.where(far, libdevice.atan2(tl.abs(im), re), 2.0 * libdevice.atan2(ar, br))
    second = tl.where(far, negative(copysign(far_logarithm(re, im), im)), libdevice.asinh(br * ai - bi * ar))
    quarter = tl.full([], 1.5707963267948966, tl.float64)
    return tl.where((re == 0) & (im != im), quarter, first).to(xr.dtype), second.to(xr.dtype)


@triton.jit
def arcsinh(xr, xi):
    """asinh z = i asin(-iz)."""
    re, im = inverse_sine(double(xi), negative(double(xr)))
    # GPUs do not keep the sign of a NaN, whose infinity is positive.
    first = tl.where(xr != xr, tl.abs(im), negative(im))
    return first.to(xr.dtype), re.to(xr.dtype)


@triton.jit
def arccosh(xr, xi):
    """re = asinh(Re(conj(sqrt(z-1)) sqrt(z+1))), im = 2 atan(Im sqrt(z-1) / Re sqrt(z+1))."""
    re, im = double(xr), double(xi)
    ar, ai = root(re - 1.0, im)
    br, bi = root(re + 1.0, im)
    far = is_far(re, im)
    first = tl.where(far, far_logarithm(re, im), libdevice.asinh(ar * br + ai * bi))
    second = tl.where(far, libdevice.atan2(im, re), 2.0 * libdevice.atan2(ai, br))
    second = tl.where((re == 0) & (im != im), tl.full([], 1.5707963267948966, tl.float64), second)
    return first.to(xr.dtype), second.to(xr.dtype)


@triton.jit
def inverse_hyperbolic_tangent(re, im):
    """re = log1p(4x / ((1-x)^2 + y^2)) / 4, im = atan2(2y, (1-x)(1+x) - y^2) / 2; far away x / |z|^2, half a turn."""
    far = is_far(re, im)
    x = tl.where(far, tl.full([], 0, tl.float64), tl.abs(re))
    y = tl.where(far, tl.full([], 1, tl.float64), im)
    gap = (1.0 - x) * (1.0 - x) + y * y
    first = 0.25 * libdevice.log1p(4.0 * x / gap)
    # Next to 1 the square of the distance underflows.
    closest = 0.5 * (tl.full([], 0.6931471805599453, tl.float64) - libdevice.log(libdevice.hypot(1.0 - x, y)))
    first = tl.where(gap < TINY * TINY, closest, first)
    second = 0.5 * libdevice.atan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y)
    size = libdevice.hypot(re, im)
    endless = size == float("inf")
    rest = tl.where(endless, tl.full([], 0, tl.float64), tl.abs(re) / size / size)
    first = tl.where(far, rest, tl.where(re == 0, tl.abs(re), first))
    second = tl.where(far & (im == im), copysign(tl.full([], 1.5707963267948966, tl.float64), im), second)
    unknown = (re != re) & (endless == 0)
    second = tl.where(unknown, re, tl.where(im != im, im, second))
    return copysign(tl.where(unknown, re, first), re), second


@triton.jit
def arctanh(xr, xi):
    re, im = inverse_hyperbolic_tangent(double(xr), double(xi))
    return re.to(xr.dtype), im.to(xr.dtype)


@triton.jit
def arctan(xr, xi):
    """The parts of atanh at (im, re), the other way around."""
    re, im = inverse_hyperbolic_tangent(double(xi), double(xr))
    return im.to(xr.dtype), re.to(xr.dtype)


# -- powers --------------------------------------------------------------------------------------------------------
@triton.jit
def integer_power(xr, xi, exponent):
    """Square and multiply from 1 + 0j, in NumPy's order, for exponents below 100."""
    one, zero = tl.full([], 1, xr.dtype), tl.full([], 0, xr.dtype)
    pr, pi = one + (exponent ^ exponent).to(xr.dtype), zero + (exponent ^ exponent).to(xr.dtype)
    br, bi = xr + pi, xi + pi
    left = exponent
    for _ in range(7):
        odd = (left & 1) != 0
        tr, ti = plain_product(pr, pi, br, bi)
        pr, pi = tl.where(odd, tr, pr), tl.where(odd, ti, pi)
        br, bi = plain_product(br, bi, br, bi)
        left = left >> 1
    return pr, pi


@triton.jit
def power(xr, xi, yr, yi):
    """npy_cpow: small integer powers by multiplication, others by exp(y log x)."""
    one, zero = tl.full([], 1, xr.dtype), tl.full([], 0, xr.dtype)
    blank = (xr != xr) & (xr == xr) & (yr != yr)
    whole = (yi == 0) & (tl.abs(yr) < 100.0) & (libdevice.trunc(yr) == yr)
    number = tl.where(whole | blank, yr, one).to(tl.int32)
    pr, pi = integer_power(xr, xi, tl.abs(number))
    # Up to 3 NumPy multiplies without a leading 1 + 0j, which matters for infinities.
    sr, si = plain_product(xr, xi, xr, xi)
    cr, ci = plain_product(xr, xi, sr, si)
    pr = tl.where(number == 1, xr, tl.where(number == 2, sr, tl.where(number == 3, cr, pr)))
    pi = tl.where(number == 1, xi, tl.where(number == 2, si, tl.where(number == 3, ci, pi)))
    ir, ii = complex_divide(one, zero, pr, pi)
    pr, pi = tl.where(number < 0, ir, pr), tl.where(number < 0, ii, pi)
    lr, li = logarithm(double(xr), double(xi))
    er, ei = plain_product(double(yr), double(yi), lr, li)
    gr, gi = exponential(er, ei)
    pr, pi = tl.where(whole, pr, gr.to(xr.dtype)), tl.where(whole, pi, gi.to(xr.dtype))
    at_zero = (xr == 0) & (xi == 0)
    limit = tl.where(yr > 0, zero, tl.full([], float("nan"), xr.dtype))
    pr, pi = tl.where(at_zero, limit, pr), tl.where(at_zero, limit, pi)
    unit = (yr == 0) & (yi == 0)
    return tl.where(unit, one, pr), tl.where(unit, zero, pi)
