"""Owns means with squares of deviations, and sums of exponentials, of lanes, segments and rows, as tiles of floats."""

import triton
import triton.language as tl

from lazyarray_triton.device.combine import largest
from lazyarray_triton.device.elementary import exp
from lazyarray_triton.device.exact import inverse_of_count, reciprocal


@triton.jit
def step(mean, squares, x, inside, turn):
    """Means and halves of squares of lanes that have seen `turn - 1` elements, or ended before, with one more."""
    weight = inverse_of_count(tl.full([], turn, tl.int32).to(mean.dtype))
    x = tl.where(inside, x, mean)
    apart = tl.fma(mean, tl.full([], -0.5, mean.dtype), x * tl.full([], 0.5, mean.dtype))  # half does not overflow
    mean = tl.fma(apart, weight + weight, mean)
    squares = tl.fma(apart, x - mean, squares)
    return mean, squares


@triton.jit
def joined(mean, squares, count, every, axis: tl.constexpr):
    """Mean and squares of `every` element from those of parts along an axis, of so many each."""
    per = tl.where(every > 0, reciprocal(every), tl.zeros_like(every))
    whole = tl.sum(mean * (count * per), axis, keep_dims=True)
    apart = mean - whole
    more = tl.where(count > 0, apart * apart * count, tl.zeros_like(mean))
    return whole, tl.sum(squares + more, axis, keep_dims=True)


@triton.jit
def about(mean, squares, centre, every):
    """Squares of deviations from another number than the mean."""
    apart = mean - centre
    return squares + apart * apart * every.to(mean.dtype)


@triton.jit
def base(most):
    """What exponentials are relative to: the largest element, 0 where there is none above minus infinity."""
    return tl.where(most == float("-inf"), tl.zeros_like(most), most)


@triton.jit
def exponentials(most, total, x, inside, axis: tl.constexpr):
    """The largest element of rows, and sums of exponentials of lanes relative to it, with one more in each lane."""
    x = tl.where(inside, x, tl.full([], float("-inf"), x.dtype))
    found = largest(most, tl.reduce(x, axis, largest, keep_dims=True))
    return found, total * exp(most - base(found)) + exp(x - base(found))


@triton.jit
def together(most, total, axis: tl.constexpr):
    """The largest element and the sum of rows from those of parts."""
    found = tl.reduce(most, axis, largest, keep_dims=True)
    return found, tl.sum(total * exp(most - base(found)), axis, keep_dims=True)


@triton.jit
def scaled(most, total, centre):
    """The sum relative to another number than the largest."""
    return total * exp(most - centre)
