"""Owns truth, comparisons of mixed or boolean operands, and minimum and maximum of what is no float."""

import triton
import triton.language as tl


@triton.jit
def truth(x):
    """x != 0 (NaN is true)."""
    if x.dtype == tl.int1:
        found = x
    else:
        found = x != 0
    return found


@triton.jit
def logical_not(x):
    return truth(x) == 0


@triton.jit
def logical_and(x, y):
    return truth(x) & truth(y)


@triton.jit
def logical_or(x, y):
    return truth(x) | truth(y)


@triton.jit
def logical_xor(x, y):
    return truth(x) ^ truth(y)


@triton.jit
def invert(x):
    if x.dtype == tl.int1:
        found = x == 0
    else:
        found = (0 - x) - 1
    return found


@triton.jit
def zero(x):
    """0 in the dtype of x."""
    return tl.full([], 0, x.dtype)


@triton.jit
def never(x):
    return x != x


@triton.jit
def always(x):
    return x == x


@triton.jit
def comparable(x):
    """Booleans as numbers: one bit has no order that all targets agree on."""
    if x.dtype == tl.int1:
        found = x.to(tl.int32)
    else:
        found = x
    return found


@triton.jit
def below(x, y):
    """x < y, also of int64 with uint64, exactly: a negative number is below every unsigned one."""
    if x.dtype == tl.int64 and y.dtype == tl.uint64:
        found = (x < 0) | (x.to(tl.uint64) < y)
    elif x.dtype == tl.uint64 and y.dtype == tl.int64:
        found = (y > 0) & (x < y.to(tl.uint64))
    else:
        found = comparable(x) < comparable(y)
    return found


@triton.jit
def same(x, y):
    if x.dtype == tl.int64 and y.dtype == tl.uint64:
        found = (x >= 0) & (x.to(tl.uint64) == y)
    elif x.dtype == tl.uint64 and y.dtype == tl.int64:
        found = (y >= 0) & (x == y.to(tl.uint64))
    else:
        found = comparable(x) == comparable(y)
    return found


@triton.jit
def less(x, y):
    return below(x, y)


@triton.jit
def greater(x, y):
    return below(y, x)


@triton.jit
def less_equal(x, y):
    return below(y, x) == 0


@triton.jit
def greater_equal(x, y):
    return below(x, y) == 0


@triton.jit
def equal(x, y):
    return same(x, y)


@triton.jit
def not_equal(x, y):
    return same(x, y) == 0


@triton.jit
def maximum(x, y):
    return tl.where(x >= y, x, y)


@triton.jit
def minimum(x, y):
    return tl.where(x <= y, x, y)
