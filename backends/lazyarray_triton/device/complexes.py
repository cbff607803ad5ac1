"""Owns complex arithmetic and comparisons on pairs of real and imaginary parts, by NumPy's own formulas."""

import triton
import triton.language as tl
from triton.language.extra.cuda import libdevice

from lazyarray_triton.device.elementary import hypot
from lazyarray_triton.device.exact import divide, sqrt
from lazyarray_triton.device.real import copysign, fabs, isfinite, isinf, negative


@triton.jit
def unpacked(word):
    """The parts of a complex64 that was read as one word."""
    re, im = word.to(tl.int32), (word >> 32).to(tl.int32)
    return re.to(tl.float32, bitcast=True), im.to(tl.float32, bitcast=True)


@triton.jit
def packed(re, im):
    """One word of the parts of a complex64."""
    low = re.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF
    return (im.to(tl.int32, bitcast=True).to(tl.int64) << 32) | low


@triton.jit
def add(xr, xi, yr, yi):
    return xr + yr, xi + yi


@triton.jit
def subtract(xr, xi, yr, yi):
    return xr - yr, xi - yi


@triton.jit
def multiply(xr, xi, yr, yi):
    """With the one fused multiply-add per part that NumPy's vector loops have."""
    return tl.fma(xr, yr, negative(xi * yi)), tl.fma(xr, yi, xi * yr)


@triton.jit
def plain_product(xr, xi, yr, yi):
    """npy_cmul: without fused multiply-add."""
    return xr * yr - xi * yi, xr * yi + xi * yr


@triton.jit
def square(xr, xi):
    return multiply(xr, xi, xr, xi)


@triton.jit
def both_negative(xr, xi):
    return negative(xr), negative(xi)


@triton.jit
def conjugate(xr, xi):
    return xr, negative(xi)


@triton.jit
def complex_divide(xr, xi, yr, yi):
    """Smith's algorithm; 0 + 0j divides each part by 0, giving infinities and NaNs."""
    one = tl.full([], 1, xr.dtype)
    size_re, size_im = tl.abs(yr), tl.abs(yi)
    by_real = size_re >= size_im
    none = (size_re == 0) & (size_im == 0)
    large = tl.where(by_real, yr, yi)
    small = tl.where(by_real, yi, yr)
    ratio = divide(small, tl.where(none, one, large))
    scale = divide(one, tl.where(none, one, large + small * ratio))
    first, second = xr * ratio, xi * ratio
    re = tl.where(by_real, xr + second, first + xi) * scale
    im = tl.where(by_real, xi - first, second - xr) * scale
    return tl.where(none, divide(xr, size_re), re), tl.where(none, divide(xi, size_re), im)


@triton.jit
def complex_reciprocal(xr, xi):
    one = tl.full([], 1, xr.dtype)
    by_real = tl.abs(xi) <= tl.abs(xr)
    large = tl.where(by_real, xr, xi)
    small = tl.where(by_real, xi, xr)
    ratio = divide(small, large)
    divisor = large + small * ratio
    return divide(tl.where(by_real, one, ratio), divisor), divide(negative(tl.where(by_real, ratio, one)), divisor)


@triton.jit
def absolute(xr, xi):
    """NumPy's vector loop: the larger part times sqrt(1 + ratio^2), infinite if any part is."""
    one = tl.full([], 1, xr.dtype)
    re, im = tl.abs(xr), tl.abs(xi)
    infinite = isinf(xr) | isinf(xi)
    nan = (xr != xr) | (xi != xi)
    large, small = tl.where(re > im, re, im), tl.where(re > im, im, re)
    ratio = tl.where(large == 0, large, divide(small, tl.where(large == 0, one, large)))
    size = sqrt(tl.fma(ratio, ratio, one)) * large
    infinity = tl.full([], float("inf"), xr.dtype)
    return tl.where(infinite, infinity, tl.where(nan, tl.full([], float("nan"), xr.dtype), size))


@triton.jit
def sign(xr, xi):
    """x / |x|, with the parts of an infinite x as 1, -1 and 0."""
    one, zero = tl.full([], 1, xr.dtype), tl.full([], 0, xr.dtype)
    size = hypot(xr, xi)
    # libdevice's hypot is an ULP off, and overflows where the magnitude is the largest number: there the part by which
    # the magnitude is larger than the larger part is added to that.
    high, low = tl.where(fabs(xr) < fabs(xi), fabs(xi), fabs(xr)), tl.where(fabs(xr) < fabs(xi), fabs(xr), fabs(xi))
    ratio = divide(low, high)
    beyond = high * divide(ratio * ratio, sqrt(ratio * ratio + one) + one)
    size = tl.where(isinf(size) & (high < float("inf")), high + beyond, size)
    re_infinite, im_infinite = isinf(xr), isinf(xi)
    bad = (size != size) | (re_infinite & im_infinite)
    infinite = isinf(size)
    none = size == 0
    divisor = tl.where(infinite | none, one, size)
    # A magnitude that overflows from finite parts counts as an infinite imaginary part.
    limit_re = tl.where(re_infinite, copysign(one, xr), zero)
    limit_im = tl.where(re_infinite, zero, copysign(one, xi))
    re = tl.where(infinite, limit_re, divide(tl.where(none, zero, xr), divisor))
    im = tl.where(infinite, limit_im, divide(tl.where(none, zero, xi), divisor))
    nan = tl.full([], float("nan"), xr.dtype)
    return tl.where(bad, nan, re), tl.where(bad, nan, im)


@triton.jit
def rint(xr, xi):
    return libdevice.rint(xr), libdevice.rint(xi)


@triton.jit
def choose(mask, xr, xi, yr, yi):
    return tl.where(mask, xr, yr), tl.where(mask, xi, yi)


# -- truth and order -----------------------------------------------------------------------------------------------
@triton.jit
def has_nan(xr, xi):
    return (xr != xr) | (xi != xi)


@triton.jit
def has_infinity(xr, xi):
    return isinf(xr) | isinf(xi)


@triton.jit
def all_finite(xr, xi):
    return isfinite(xr) & isfinite(xi)


@triton.jit
def truth(xr, xi):
    return (xr != 0) | (xi != 0)


@triton.jit
def logical_not(xr, xi):
    return (xr == 0) & (xi == 0)


@triton.jit
def logical_and(xr, xi, yr, yi):
    return truth(xr, xi) & truth(yr, yi)


@triton.jit
def logical_or(xr, xi, yr, yi):
    return truth(xr, xi) | truth(yr, yi)


@triton.jit
def logical_xor(xr, xi, yr, yi):
    return truth(xr, xi) ^ truth(yr, yi)


@triton.jit
def equal(xr, xi, yr, yi):
    return (xr == yr) & (xi == yi)


@triton.jit
def not_equal(xr, xi, yr, yi):
    return (xr != yr) | (xi != yi)


@triton.jit
def ordered(x, y):
    return (x == x) & (y == y)


@triton.jit
def greater(xr, xi, yr, yi):
    """Lexicographic; false where the deciding real parts come with a NaN imaginary part."""
    return ((xr > yr) & ordered(xi, yi)) | ((xr == yr) & (xi > yi))


@triton.jit
def at_least(xr, xi, yr, yi):
    return ((xr > yr) & ordered(xi, yi)) | ((xr == yr) & (xi >= yi))


@triton.jit
def less(xr, xi, yr, yi):
    return greater(yr, yi, xr, xi)


@triton.jit
def at_most(xr, xi, yr, yi):
    return at_least(yr, yi, xr, xi)


@triton.jit
def maximum(xr, xi, yr, yi):
    return choose(at_least(xr, xi, yr, yi) | has_nan(xr, xi), xr, xi, yr, yi)


@triton.jit
def minimum(xr, xi, yr, yi):
    return choose(at_most(xr, xi, yr, yi) | has_nan(xr, xi), xr, xi, yr, yi)


@triton.jit
def fmax(xr, xi, yr, yi):
    return choose(at_least(xr, xi, yr, yi) | has_nan(yr, yi), xr, xi, yr, yi)


@triton.jit
def fmin(xr, xi, yr, yi):
    return choose(at_most(xr, xi, yr, yi) | has_nan(yr, yi), xr, xi, yr, yi)
