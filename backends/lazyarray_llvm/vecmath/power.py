"""Owns power, cbrt, hypot."""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.exponential import LN2, LN2_REST, LOG2E, exp2_short, exp_pair, scale
from lazyarray_llvm.vecmath.logarithm import LOG2E_REST, mantissa_terms, split
from lazyarray_llvm.vecmath.real import (
    INF,
    MAGIC,
    NAN,
    Real,
    domain_error,
    fast_two_sum,
    horner,
    mended,
    pole,
    polynomial,
    rarely,
    residual,
    two_product,
)

TWO_THIRDS = 0.6666666666666666
TWO_THIRDS_REST = 3.700743415417188e-17
_EXPONENT_LIMIT = 2.0**900


def _log2_pair(k: Real, m: Real) -> tuple[Real, Real]:
    """k + log2(m) as a sum of two doubles, to a relative error of about 2**-65."""
    f = m - 1.0
    under = m + 1.0
    inverse = 1.0 / under
    s = f * inverse
    # `under` is 2 + f rounded.
    s_low = (residual(f, s, under) - s * (f - (under - 2.0))) * inverse
    z, z_low = two_product(s, s)
    z_low = (s + s).fma(s_low, z_low)
    # log(m) = 2s + s z (2/3 + z T(z)), all but T to twice the precision.
    head, tail = fast_two_sum(TWO_THIRDS, z * horner(z, poly.LOG_TAIL))
    tail = tail + TWO_THIRDS_REST
    w, w_low = two_product(z, head)
    w_low = z.fma(tail, z_low.fma(head, w_low))
    v, v_low = two_product(s, w)
    v_low = s.fma(w_low, s_low.fma(w, v_low))
    head, tail = fast_two_sum(s + s, v)
    tail = tail + (s_low + s_low + v_low)
    product, low = two_product(head, LOG2E)
    low = tail.fma(LOG2E, head.fma(LOG2E_REST, low))
    total, error = fast_two_sum(k, product)
    return total, error + low


def power(x: Real, y: Real) -> Real:
    a = abs(x)
    k, m = split(a)
    log_head, log_tail = _log2_pair(k, m)
    head, low = two_product(y, log_head)
    tail = y.fma(log_tail, low)
    clamped = head.at_most(1024.0).at_least(-1080.0)
    tail = clamped.equals(head).pick(tail, 0.0)
    shifted = clamped + MAGIC
    part = clamped - (shifted - MAGIC)
    r, rest = two_product(part, LN2)
    rest = tail.fma(LN2, part.fma(LN2_REST, rest))
    one, more = exp_pair(*fast_two_sum(r, rest))
    result = scale(one + more, shifted, clamped < 0.0)

    def mend(kept: Real) -> Real:
        subnormal = (a < 2.0**-1022) & (a > 0.0)
        # Products with exponents that large leave the range of double.
        large = (abs(y) > _EXPONENT_LIMIT) & (a < INF)
        return rarely(subnormal | large, _special_powers(x, y, a, kept), "pow", [x, y])

    usual = (x >= 2.0**-1022) & (x < INF) & (abs(y) <= _EXPONENT_LIMIT)
    return mended(~usual, result, mend)


def _special_powers(x: Real, y: Real, a: Real, result: Real) -> Real:
    """C99's rules: negative bases, domain errors, 0 and infinity as bases, pow(x, 0), pow(1, y)."""
    growing = y > 0.0
    zero, infinite = a.equals(0.0), a.equals(INF)
    poles = zero & (y < 0.0)
    result = (zero | infinite).pick(poles.pick(pole(poles, a), (zero ^ growing).pick(INF, 0.0)), result)
    whole = y.trunc().equals(y)
    half = y * 0.5
    odd = whole & half.trunc().compare("one", half)
    negative = x < 0.0
    result = odd.pick(result.copysign(x), result)
    domain = negative & y.trunc().compare("one", y) & (a < INF)
    result = domain.pick(domain_error(domain, a), result)
    result = x.compare("uno", y).pick(NAN, result)
    return (y.equals(0.0) | x.equals(1.0)).pick(1.0, result)


def power_float(x: Real, y: Real) -> Real:
    a = abs(x)
    k, m = split(a)
    head, tail, rest, _ = mantissa_terms(m - 1.0)
    # Bounded, for infinite exponents of -1.
    bounded = y.at_most(2.0**130).at_least(-(2.0**130))
    product = bounded * (head + (tail + rest)).fma(LOG2E, k)
    result = exp2_short(product.at_most(1000.0).at_least(-1000.0))
    usual = (x > 0.0) & (x < INF) & (abs(y) < INF)
    return mended(~usual, result, lambda kept: _special_powers(x, y, a, kept))


def _cube_root_start(x: Real, coefficients: tuple[float, ...]) -> tuple[Real, Real, Real]:
    """(m, t, 2**q): |x| = 2**(3q) m, t near the cube root of m, 1/2 < m < 8; x normal."""
    k, m = split(x)
    shifted = (k - 1.0).fma(1.0 / 3.0, MAGIC)
    q = shifted - MAGIC
    left = (-q).fma(3.0, k)
    one, two = left.equals(1.0), left.equals(2.0)
    factor = one.pick(2.0, two.pick(4.0, 1.0))
    root = one.pick(1.2599210498948732, two.pick(1.5874010519681996, 1.0))
    return m * factor, polynomial(m, coefficients) * root, (shifted + 1023.0).power_of_two()


def cbrt(x: Real) -> Real:
    a = abs(x)
    usual = (a > 0.0) & (a < INF)
    c = usual.pick(a, 1.0)
    small = c < 2.0**-1022
    m, t, power_ = _cube_root_start(small.pick(c * 2.0**54, c), poly.CBRT)
    # Newton once to a double's precision, then once more with the residual m - t**3 taken exactly.
    inverse = 1.0 / (t * t * 3.0)
    t = (m - t * t * t).fma(inverse, t)
    square, square_low = two_product(t, t)
    cube = residual(m, square, t) - square_low * t
    t = cube.fma(inverse, t)
    result = t * (power_ * small.pick(2.0**-18, 1.0))
    return usual.pick(result, a).copysign(x)


def cbrt_float(x: Real) -> Real:
    a = abs(x)
    usual = (a > 0.0) & (a < INF)
    m, t, power_ = _cube_root_start(usual.pick(a, 1.0), poly.CBRT_SHORT)
    t = t - (t * t * t - m) / (t * t * 3.0)
    return usual.pick(t * power_, a).copysign(x)


def hypot(x: Real, y: Real) -> Real:
    a, c = abs(x), abs(y)
    swap = c.above(a)
    large, small = swap.pick(c, a), swap.pick(a, c)
    huge, tiny = large > 2.0**510, large < 2.0**-450
    factor = huge.pick(2.0**-600, tiny.pick(2.0**600, 1.0))
    back = huge.pick(2.0**600, tiny.pick(2.0**-600, 1.0))
    large, small = large * factor, small * factor
    square, low = two_product(large, large)
    other, other_low = two_product(small, small)
    total, error = fast_two_sum(square, other)
    usual = (total > 0.0) & (total < INF)
    total = usual.pick(total, 1.0)
    root = total.sqrt()
    correction = (residual(total, root, root) + (error + (low + other_low))) / (root + root)
    result = usual.pick((root + correction) * back, square + other)
    return _infinite(a, c, result)


def _infinite(a: Real, c: Real, result: Real) -> Real:
    """Infinity if either is, even beside nan."""
    return (a.equals(INF) | c.equals(INF)).pick(INF, result)


def hypot_float(x: Real, y: Real) -> Real:
    return _infinite(abs(x), abs(y), (x * x + y * y).sqrt())
