"""Owns sinh, cosh, tanh and their inverses."""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.exponential import exp_pair, exp_short, expm1_half_pair, expm1_short, reduce
from lazyarray_llvm.vecmath.logarithm import log1p_pair, log1p_short
from lazyarray_llvm.vecmath.real import (
    INF,
    Real,
    domain_error,
    fast_two_sum,
    mended,
    pole,
    polynomial,
    residual,
    two_product,
    two_sum,
)
from lazyarray_llvm.vecmath.trigonometric import divide_pairs

# From here on, asinh(x) = acosh(x) = log(2 x) and 1 + x = x to a double's accuracy.
_LARGE = 2.0**55


def _quarter_exponentials(a: Real) -> tuple[Real, Real, Real]:
    """(head, tail, inverse): exp(a) / 4 = head + tail and exp(-a) / 4, for 0 <= a <= 710.5."""
    shifted, r, rest = reduce(a)
    head, tail = exp_pair(r, rest)
    head, tail = fast_two_sum(head, tail)
    power = (shifted + (1023.0 - 2.0)).power_of_two()
    head, tail = head * power, tail * power
    inverse = 0.0625 / head
    # 1 / (head + tail) to first order.
    return head, tail, inverse - (inverse * inverse) * (tail * 16.0)


def cosh(x: Real) -> Real:
    head, tail, inverse = _quarter_exponentials(abs(x).at_most(710.5))
    total, low = fast_two_sum(head, inverse)
    return (total + (low + tail)) * 2.0


def sinh(x: Real) -> Real:
    a = abs(x)
    head, tail, inverse = _quarter_exponentials(a.at_most(710.5))
    total, low = fast_two_sum(head, -inverse)
    large = (total + (low + tail)) * 2.0
    u = a * a
    small = (a * u).fma(polynomial(u, poly.SINH), a)
    return (a < 1.0).pick(small, large).copysign(x)


def tanh(x: Real) -> Real:
    """expm1(2a) / (expm1(2a) + 2), all of it halved."""
    a = abs(x).at_most(20.0)
    head, tail = expm1_half_pair(a + a)
    head, tail = fast_two_sum(head, tail)
    under, under_low = two_sum(head, Real(x.b, x.lift(1.0)))
    result = divide_pairs((head, tail), (under, under_low + tail))
    return (abs(x) < 2.0**-28).pick(x, result.copysign(x))


def _sqrt_pair(head: Real, tail: Real) -> tuple[Real, Real]:
    """sqrt(head + tail) as root and correction; head > 0."""
    root = head.sqrt()
    return root, (residual(head, root, root) + tail) / (root + root)


def arcsinh(x: Real) -> Real:
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))), the argument of log1p to twice the precision."""
    a = abs(x)
    large = a >= _LARGE
    c = large.pick(1.0, a)
    square, square_low = two_product(c, c)
    total, low = two_sum(square, Real(x.b, x.lift(1.0)))
    root, root_low = _sqrt_pair(total, low + square_low)
    under = root + 1.0
    # 1 + sqrt(1 + a**2) lies above 2 and sqrt above 1: the larger one is first.
    under_low = ((root - under) + 1.0) + root_low
    quotient = square / under
    error = residual(square, quotient, under) + (square_low - quotient * under_low)
    z, rest = two_sum(c, quotient)
    head, tail = log1p_pair(
        large.pick(a.at_most(1.7976931348623157e308), z),
        large.pick(0.0, rest + error / under),
        large.pick(1.0, 0.0),
    )
    result = (a < 2.0**-28).pick(a, a.equals(INF).pick(INF, head + tail))
    return (x + x).compare("uno", 0.0).pick(x, result.copysign(x))


def arccosh(x: Real) -> Real:
    """log1p(t + sqrt(t (t + 2))), t = x - 1, the argument of log1p to twice the precision."""
    large = x >= _LARGE
    usual = x >= 1.0
    c = (usual & (x < _LARGE)).pick(x, 2.0)
    t = c - 1.0
    t_low = (c - t) - 1.0
    # t (t + 2) = t**2 + 2 t, and t_low is not zero only from 2 on, where it counts to first order.
    square, square_low = two_product(t, t)
    total, low = two_sum(square, t + t)
    low = (t + 1.0).fma(t_low + t_low, low + square_low)
    positive = total > 0.0
    root, root_low = _sqrt_pair(positive.pick(total, 1.0), low)
    z, rest = two_sum(root, t)
    head, tail = log1p_pair(
        large.pick(x.at_most(1.7976931348623157e308), z),
        large.pick(0.0, rest + (root_low + t_low)),
        large.pick(1.0, 0.0),
    )
    result = positive.pick(head + tail, 0.0)
    return mended(~(usual & (x < INF)), result, lambda kept: _below_one(x, kept))


def _below_one(x: Real, kept: Real) -> Real:
    below = x < 1.0
    return below.pick(domain_error(below, x), (x < INF).pick(kept, x))


def arctanh(x: Real) -> Real:
    """log1p(2a / (1 - a)) / 2, the quotient to twice the precision."""
    a = abs(x)
    inside = a < 1.0
    c = inside.pick(a, 0.5)
    under = 1.0 - c
    under_low = (1.0 - under) - c
    double = c + c
    quotient = double / under
    error = residual(double, quotient, under) - quotient * under_low
    head, tail = log1p_pair(quotient, error / under)
    result = (head + tail) * 0.5
    result = mended(~inside, result, lambda kept: _at_least_one(a, kept))
    return (a < 2.0**-28).pick(x, result.copysign(x))


def _at_least_one(a: Real, kept: Real) -> Real:
    edge, above = a.equals(1.0), a > 1.0
    value = edge.pick(pole(edge, 1.0 - a), (a < 1.0).pick(kept, a))
    return above.pick(domain_error(above, a), value)


def sinh_float(x: Real) -> Real:
    """(e + e / (e + 1)) / 2 with e = expm1(a)."""
    grown = expm1_short(abs(x).at_most(91.0))
    return ((grown + grown / (grown + 1.0)) * 0.5).copysign(x)


def cosh_float(x: Real) -> Real:
    grown = exp_short(abs(x).at_most(91.0))
    return grown.fma(0.5, 0.5 / grown)


def tanh_float(x: Real) -> Real:
    bounded = x.at_most(10.0).at_least(-10.0)
    grown = expm1_short(bounded + bounded)
    return x.equals(0.0).pick(x, grown / (grown + 2.0))


def arcsinh_float(x: Real) -> Real:
    a = abs(x).at_most(2.0**130)
    square = a * a
    result = log1p_short(a + square / ((square + 1.0).sqrt() + 1.0))
    return (abs(x) < INF).pick(result.copysign(x), x)


def arccosh_float(x: Real) -> Real:
    t = (x >= 1.0).pick(x.at_most(2.0**130), 1.0) - 1.0
    result = log1p_short(t + (t * (t + 2.0)).sqrt())
    return mended(~((x >= 1.0) & (x < INF)), result, lambda kept: _below_one(x, kept))


def arctanh_float(x: Real) -> Real:
    a = abs(x)
    c = (a < 1.0).pick(a, 0.5)
    result = log1p_short((c + c) / (1.0 - c)) * 0.5
    return mended(~(a < 1.0), result, lambda kept: _at_least_one(a, kept)).copysign(x)
