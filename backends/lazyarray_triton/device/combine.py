"""Owns what reductions and scans combine two elements with: functions for `tl.reduce` and `tl.associative_scan`."""

import triton
import triton.language as tl

from lazyarray_triton.device.complexes import at_least, at_most, has_nan


@triton.jit
def add(a, b):
    return a + b


@triton.jit
def multiply(a, b):
    return a * b


@triton.jit
def bit_and(a, b):
    return a & b


@triton.jit
def bit_or(a, b):
    return a | b


@triton.jit
def bit_xor(a, b):
    return a ^ b


@triton.jit
def larger(a, b):
    """NaN wins; of numbers that compare equal, the first."""
    return tl.where((a >= b) | (a != a), a, b)


@triton.jit
def smaller(a, b):
    return tl.where((a <= b) | (a != a), a, b)


@triton.jit
def largest(a, b):
    """NaN wins, and of zeros the positive one: for float32 that is one instruction of the GPU's, and not three."""
    if a.dtype == tl.float32:
        found = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    else:
        found = larger(a, b)
    return found


@triton.jit
def least(a, b):
    """NaN wins, and of zeros of float32 the negative one."""
    if a.dtype == tl.float32:
        found = tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)
    else:
        found = smaller(a, b)
    return found


@triton.jit
def larger_number(a, b):
    """NaN loses."""
    return tl.where((a >= b) | (b != b), a, b)


@triton.jit
def smaller_number(a, b):
    return tl.where((a <= b) | (b != b), a, b)


@triton.jit
def first_larger(a, i, b, j):
    """The larger with its index: NaN wins, of equals the lower index; index -1 is nothing."""
    nan_a, nan_b = a != a, b != b
    tie = (a == b) | (nan_a & nan_b)
    ahead = (nan_a & (nan_b == 0)) | ((nan_b == 0) & (a > b)) | (tie & (i < j))
    take = ((i >= 0) & ahead) | (j < 0)
    return tl.where(take, a, b), tl.where(take, i, j)


@triton.jit
def first_smaller(a, i, b, j):
    nan_a, nan_b = a != a, b != b
    tie = (a == b) | (nan_a & nan_b)
    ahead = (nan_a & (nan_b == 0)) | ((nan_b == 0) & (a < b)) | (tie & (i < j))
    take = ((i >= 0) & ahead) | (j < 0)
    return tl.where(take, a, b), tl.where(take, i, j)


# -- pairs of real and imaginary parts -----------------------------------------------------------------------------
@triton.jit
def add_pairs(ar, ai, br, bi):
    return ar + br, ai + bi


@triton.jit
def multiply_pairs(ar, ai, br, bi):
    return ar * br - ai * bi, ar * bi + ai * br


@triton.jit
def larger_pair(ar, ai, br, bi):
    take = at_least(ar, ai, br, bi) | has_nan(ar, ai)
    return tl.where(take, ar, br), tl.where(take, ai, bi)


@triton.jit
def smaller_pair(ar, ai, br, bi):
    take = at_most(ar, ai, br, bi) | has_nan(ar, ai)
    return tl.where(take, ar, br), tl.where(take, ai, bi)


@triton.jit
def larger_number_pair(ar, ai, br, bi):
    take = at_least(ar, ai, br, bi) | has_nan(br, bi)
    return tl.where(take, ar, br), tl.where(take, ai, bi)


@triton.jit
def smaller_number_pair(ar, ai, br, bi):
    take = at_most(ar, ai, br, bi) | has_nan(br, bi)
    return tl.where(take, ar, br), tl.where(take, ai, bi)


@triton.jit
def first_larger_pair(ar, ai, i, br, bi, j):
    nan_a, nan_b = has_nan(ar, ai), has_nan(br, bi)
    tie = ((ar == br) & (ai == bi)) | (nan_a & nan_b)
    more = (at_least(ar, ai, br, bi)) & (tie == 0)
    ahead = (nan_a & (nan_b == 0)) | ((nan_b == 0) & more) | (tie & (i < j))
    take = ((i >= 0) & ahead) | (j < 0)
    return tl.where(take, ar, br), tl.where(take, ai, bi), tl.where(take, i, j)


@triton.jit
def first_smaller_pair(ar, ai, i, br, bi, j):
    nan_a, nan_b = has_nan(ar, ai), has_nan(br, bi)
    tie = ((ar == br) & (ai == bi)) | (nan_a & nan_b)
    more = (at_most(ar, ai, br, bi)) & (tie == 0)
    ahead = (nan_a & (nan_b == 0)) | ((nan_b == 0) & more) | (tie & (i < j))
    take = ((i >= 0) & ahead) | (j < 0)
    return tl.where(take, ar, br), tl.where(take, ai, bi), tl.where(take, i, j)
