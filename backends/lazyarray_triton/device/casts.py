"""Owns conversions between dtypes: NumPy's `astype` of floats to integers and half floats, bit for bit.

Floats that do not fit an integer dtype give what x86 conversion instructions give, as NumPy's loops do there: the
smallest number of the 32-bit or 64-bit type that the loop converts through. The device's own conversions saturate.
"""

import triton
import triton.language as tl


@triton.jit
def to_int32(x):
    """A float truncated; everything out of range, and NaN, is the smallest number."""
    if x.dtype == tl.float64:
        low = x > tl.full([], -2147483649.0, tl.float64)
    else:
        low = x >= -2147483648.0
    fits = low & (x < 2147483648.0)
    number = tl.where(fits, x, tl.full([], 0, x.dtype)).to(tl.int32)
    return tl.where(fits, number, tl.full([], -0x80000000, tl.int32))


@triton.jit
def to_int64(x):
    fits = (x >= -9223372036854775808.0) & (x < 9223372036854775808.0)
    number = tl.where(fits, x, tl.full([], 0, x.dtype)).to(tl.int64)
    return tl.where(fits, number, tl.full([], -0x8000000000000000, tl.int64))


@triton.jit
def to_uint32(x):
    """The upper half is shifted down, and its top bit set."""
    upper = x >= 2147483648.0
    number = to_int32(tl.where(upper, x - 2147483648.0, x))
    return tl.where(upper, number ^ tl.full([], -0x80000000, tl.int32), number).to(tl.uint32)


@triton.jit
def single_to_uint32(x):
    """NumPy converts half floats one by one, and does so through int64."""
    return to_int64(x).to(tl.uint32)


@triton.jit
def to_uint64(x):
    upper = x >= 9223372036854775808.0
    number = to_int64(tl.where(upper, x - 9223372036854775808.0, x))
    return tl.where(upper, number ^ tl.full([], -0x8000000000000000, tl.int64), number).to(tl.uint64)
