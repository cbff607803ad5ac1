"""Owns integer operations: division without traps, shifts beyond the width, powers, gcd and lcm, bit counts."""

import triton
import triton.language as tl


@triton.jit
def quotient(x, y):
    """x / y rounded toward zero; 0 where y is 0, the smallest number for smallest / -1."""
    one = tl.full([], 1, x.dtype)
    if x.dtype.is_int_signed():
        back = y == -1
        whole = x // tl.where((y == 0) | back, one, y)
        whole = tl.where(back, 0 - x, whole)
    else:
        whole = x // tl.where(y == 0, one, y)
    return tl.where(y == 0, tl.full([], 0, x.dtype), whole)


@triton.jit
def fmod(x, y):
    """The remainder with the sign of x; 0 where y is 0."""
    return tl.where(y == 0, tl.full([], 0, x.dtype), x - quotient(x, y) * y)


@triton.jit
def floored(x, y):
    """Quotient rounded down and remainder with the sign of y; both 0 where y is 0."""
    whole = quotient(x, y)
    rest = tl.where(y == 0, tl.full([], 0, x.dtype), x - whole * y)
    if x.dtype.is_int_signed():
        adjust = (rest != 0) & ((rest < 0) != (y < 0))
        whole = tl.where(adjust, whole - 1, whole)
        rest = tl.where(adjust, rest + y, rest)
    return whole, rest


@triton.jit
def floor_divide(x, y):
    whole, _ = floored(x, y)
    return whole


@triton.jit
def remainder(x, y):
    _, rest = floored(x, y)
    return rest


@triton.jit
def power(x, exponent):
    """Square and multiply, wrapping; negative exponents were refused before."""
    out = tl.full([], 1, x.dtype) + (x ^ x) + (exponent ^ exponent)
    base = x + (out ^ out)
    left = exponent + (out ^ out)
    for _ in range(x.dtype.primitive_bitwidth):
        out = tl.where((left & 1) != 0, out * base, out)
        base = base * base
        left = left >> 1
    return out


@triton.jit
def negative(x):
    return 0 - x


@triton.jit
def absolute(x):
    if x.dtype.is_int_signed():
        size = tl.where(x < 0, 0 - x, x)
    else:
        size = x
    return size


@triton.jit
def sign(x):
    if x.dtype.is_int_signed():
        unit = (x > 0).to(x.dtype) - (x < 0).to(x.dtype)
    else:
        unit = (x != 0).to(x.dtype)
    return unit


@triton.jit
def reciprocal(x):
    """1.0 / x cast back, as NumPy: 0 but for 1 and -1, and for 0 what the cast of an infinity gives."""
    zero = tl.full([], 0, x.dtype)
    unit = tl.where(x == 1, tl.full([], 1, x.dtype), zero)
    if x.dtype.is_int_signed():
        unit = tl.where(x == -1, x, unit)
    if x.dtype.primitive_bitwidth >= 32:
        if x.dtype == tl.int32:
            unit = tl.where(x == 0, tl.full([], -0x80000000, tl.int32), unit)
        elif x.dtype == tl.int64:
            unit = tl.where(x == 0, tl.full([], -0x8000000000000000, tl.int64), unit)
    return unit


@triton.jit
def left_shift(x, count):
    """0 where the count is negative or not below the width."""
    inside = (count >= 0) & (count < x.dtype.primitive_bitwidth)
    zero = tl.full([], 0, x.dtype)
    return tl.where(inside, x << tl.where(inside, count, zero), zero)


@triton.jit
def right_shift(x, count):
    """0, or -1 for negative numbers, where the count is negative or not below the width."""
    inside = (count >= 0) & (count < x.dtype.primitive_bitwidth)
    if x.dtype.is_int_signed():
        shifted = x >> tl.where(inside, count, tl.full([], x.dtype.primitive_bitwidth - 1, x.dtype))
    else:
        zero = tl.full([], 0, x.dtype)
        shifted = tl.where(inside, x >> tl.where(inside, count, zero), zero)
    return shifted


@triton.jit
def unsigned(x):
    if x.dtype.primitive_bitwidth == 64:
        found = x.to(tl.uint64)
    elif x.dtype.primitive_bitwidth == 32:
        found = x.to(tl.uint32)
    elif x.dtype.primitive_bitwidth == 16:
        found = x.to(tl.uint16)
    else:
        found = x.to(tl.uint8)
    return found


@triton.jit
def count_ones(x):
    """The set bits of an unsigned number, as uint64: pairs, nibbles, bytes, then all bytes summed by one product."""
    v = x.to(tl.uint64)
    v = v - ((v >> 1) & 0x5555555555555555)
    v = (v & 0x3333333333333333) + ((v >> 2) & 0x3333333333333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0F
    return (v * 0x0101010101010101) >> 56


@triton.jit
def bitwise_count(x):
    """The set bits of |x|, as u1."""
    return count_ones(unsigned(absolute(x))).to(tl.uint8)


@triton.jit
def trailing_zeros(x):
    """The zeros below the lowest set bit of an unsigned number; all bits of the dtype for 0."""
    return count_ones((x & (0 - x)) - 1).to(x.dtype)


@triton.jit
def common_divisor(x, y):
    """The greatest common divisor of unsigned numbers: Stein's algorithm, one bit of u and v a step."""
    blank = (x ^ x) + (y ^ y)
    x, y = x + blank, y + blank
    either = x | y
    top = tl.full([], x.dtype.primitive_bitwidth - 1, x.dtype)
    shift = tl.minimum(trailing_zeros(either), top)
    u = tl.where(x == 0, y, x)
    u = u >> tl.minimum(trailing_zeros(u), top)
    v = tl.where(x == 0, blank, y)
    for _ in range(2 * x.dtype.primitive_bitwidth):
        even = (v & 1) == 0
        low = tl.where(even, u, tl.minimum(u, v))
        v = tl.where(even, v >> 1, (tl.maximum(u, v) - low) >> 1)
        u = low
    return u << shift


@triton.jit
def gcd(x, y):
    return common_divisor(unsigned(absolute(x)), unsigned(absolute(y))).to(x.dtype)


@triton.jit
def lcm(x, y):
    """|x| / gcd * |y|, wrapping; 0 where both are 0."""
    first, second = unsigned(absolute(x)), unsigned(absolute(y))
    common = common_divisor(first, second)
    return (quotient(first, common) * second).to(x.dtype)
