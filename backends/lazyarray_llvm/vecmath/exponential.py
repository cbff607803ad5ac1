"""Owns exp, exp2, expm1, and the reduced exponential that the hyperbolic functions and power share.

exp(x) = 2**n exp(r) with r = x - n ln 2 kept as a sum of two doubles, so that what is rounded last is nearly
exact.  Functions whose name ends in `_short` serve float32: they compute in double to 2**-29 or better.
"""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.real import MAGIC, MAGIC_SHORT, Mask, Real, fast_two_sum, horner, polynomial, two_product
from lazyarray_llvm.vecmath.tables import MAGIC_STEP, POWERS, POWERS_REST, lookup, scaled

LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_REST = 2.3190468138462996e-17
# float32's ln 2 and what it leaves out.
LN2_FLOAT = 0.6931471824645996
LN2_FLOAT_REST = -1.9046542121259336e-09
# 33 bits, so that its products with exponents are exact, and the rest.
LN2_HEAD = 0.6931471804855391
LN2_TAIL = 7.440617110012397e-11


def round_exponent(x: Real) -> tuple[Real, Real]:
    """The integer nearest to x / ln 2, as MAGIC plus itself and as itself."""
    shifted = x.fma(LOG2E, MAGIC)
    return shifted, shifted - MAGIC


def reduce(x: Real) -> tuple[Real, Real, Real]:
    """(MAGIC + n, r, what r leaves out) for |x| < 2**11."""
    shifted, n = round_exponent(x)
    head = (-n).fma(LN2_HEAD, x)
    r = (-n).fma(LN2_TAIL, head)
    return shifted, r, (-n).fma(LN2_TAIL, head - r)


def exp_pair(r: Real, rest: Real) -> tuple[Real, Real]:
    """exp(r + rest) as an unrounded sum, for |r| <= 0.3467."""
    head, tail = fast_two_sum(1.0, r)
    return head, tail + (r * r).fma(polynomial(r, poly.EXP), rest)


def exp_fine(r: Real, rest: Real) -> tuple[Real, Real]:
    """`exp_pair` to 2**-60, normalised."""
    u, low = two_product(r, r)
    head, first = fast_two_sum(1.0, r)
    head, second = fast_two_sum(head, u * 0.5)
    tail = (u * r).fma(horner(r, poly.EXPM1), low.fma(0.5, rest * head))
    return fast_two_sum(head, tail + (first + second))


def scale(y: Real, shifted: Real, negative: Mask) -> Real:
    """y * 2**n for n = shifted - MAGIC in [-1088, 1025], `negative` telling its sign.

    Two factors, both of them normal numbers, also where the result is subnormal or 2**n would overflow alone.
    """
    power = (shifted + negative.pick(1023.0 + 64.0, 1023.0 - 1.0)).power_of_two()
    return y * power * negative.pick(2.0**-64, 2.0)


def round_step(x: Real) -> tuple[Real, Real]:
    """The multiple of 1/16 nearest to x / ln 2, as MAGIC_STEP plus itself and as itself."""
    shifted = x.fma(LOG2E, MAGIC_STEP)
    return shifted, shifted - MAGIC_STEP


def step_power(shifted: Real) -> tuple[Real, Real]:
    """(p, rest): 2**f = p + p rest, for the fraction f of shifted - MAGIC_STEP."""
    bits = shifted.bits()
    return lookup(shifted.b, POWERS, bits), lookup(shifted.b, POWERS_REST, bits)


def reduce_step(x: Real) -> tuple[Real, Real, Real]:
    """(MAGIC_STEP + n, r, rest): x = n ln 2 + r + rest, |r| <= ln(2)/32, |rest| < 2**-45, for |x| < 2**11."""
    shifted, n = round_step(x)
    if x.b.has_fma:
        # Exact: a multiple of 2**-58, as x is if n is not zero, and less than 2**-5.
        return shifted, (-n).fma(LN2, x), n * -LN2_REST
    head, tail = (-n).fma(LN2_HEAD, x), n * LN2_TAIL
    r = head - tail
    return shifted, r, (head - r) - tail


def reduce_rounded(x: Real) -> tuple[Real, Real]:
    """(MAGIC_STEP + n, r): x = n ln 2 + r to 2**-59, |r| <= ln(2)/32, for |x| < 2**11."""
    shifted, n = round_step(x)
    return shifted, (-n).fma(LN2_TAIL, (-n).fma(LN2_HEAD, x))


def exp(x: Real) -> Real:
    """2**k 2**(j/16) exp(r): the nearer the table brings r to zero, the shorter is its polynomial (Tang 1989)."""
    x = x.at_most(710.0).at_least(-746.0)
    shifted, r = reduce_rounded(x)
    power, rest = step_power(shifted)
    grown = (r * r).fma(polynomial(r, poly.EXP_STEP), r + rest)
    return scaled(power.fma(grown, power), shifted)


def exp2(x: Real) -> Real:
    x = x.at_most(1024.0).at_least(-1080.0)
    shifted = x + MAGIC_STEP
    r = x - (shifted - MAGIC_STEP)
    power, rest = step_power(shifted)
    return scaled(power.fma(r.fma(polynomial(r, poly.EXP2_STEP), rest), power), shifted)


def expm1_half_pair(x: Real) -> tuple[Real, Real]:
    """expm1(x) / 2 = 2**n / 2 * (1 + r + r**2 / 2 + ...) - 1 / 2 as an unrounded sum, for -40 <= x <= 710."""
    shifted, r, rest = reduce(x)
    power = (shifted + (1023.0 - 1.0)).power_of_two()
    u = r * r
    cubic = (u * r).fma(horner(r, poly.EXPM1), rest)
    base, low = fast_two_sum(power, Real(x.b, x.lift(-0.5)))
    head, tail = fast_two_sum(base, power * r)
    # Near n = 1, r = -0.34, the terms cancel by half.
    head, more = fast_two_sum(head, (power * 0.5) * u)
    return head, power.fma(cubic, (tail + more) + low)


def expm1(x: Real) -> Real:
    bounded = x.at_most(710.0).at_least(-40.0)
    head, tail = expm1_half_pair(bounded)
    # Below, halves would be subnormal, and the sign of zero would be lost.
    return (abs(x) < 2.0**-54).pick(x, (head + tail) * 2.0)


def exp_scale_short(y: Real, shifted: Real) -> Real:
    """y * 2**n where no double over- or underflows."""
    return y * (shifted + 1023.0).power_of_two()


def exp_short(x: Real) -> Real:
    """exp for -700 <= x <= 700."""
    shifted, n = round_exponent(x)
    r = (-n).fma(LN2, x)
    return exp_scale_short(polynomial(r, poly.EXP_SHORT), shifted)


def _scale_float(y: Real, shifted: Real, negative: Mask) -> Real:
    """`scale` in f4, for n in [-158, 129]."""
    power = (shifted + negative.pick(127.0 + 32.0, 127.0 - 1.0, "f4")).power_of_two()
    return y * power * negative.pick(2.0**-32, 2.0, "f4")


def exp_fused(x: Real) -> Real:
    """exp of f4 in f4; needs FMA."""
    x = x.at_most(89.0).at_least(-104.0)
    shifted = x.fma(LOG2E, MAGIC_SHORT)
    n = shifted - MAGIC_SHORT
    # The first step is exact: a multiple of 2**-24 below 0.4.
    head, rest = (-n).fma(LN2_FLOAT, x), n * -LN2_FLOAT_REST
    r = head + rest
    y = (head + (r * r).fma(polynomial(r, poly.EXP_FLOAT), rest)) + 1.0
    return _scale_float(y, shifted, x < 0.0)


def exp2_fused(x: Real) -> Real:
    x = x.at_most(128.0).at_least(-151.0)
    shifted = x + MAGIC_SHORT
    r = x - (shifted - MAGIC_SHORT)
    linear = r * LN2_FLOAT
    rest = r.fma(LN2_FLOAT, -linear) + r * LN2_FLOAT_REST
    y = (linear + (r * r).fma(polynomial(r, poly.EXP2_FLOAT), rest)) + 1.0
    return _scale_float(y, shifted, x < 0.0)


def exp_float(x: Real) -> Real:
    return exp_short(x.at_most(89.0).at_least(-105.0))


def exp2_short(x: Real) -> Real:
    """2**x for -1022 <= x <= 1023."""
    shifted = x + MAGIC
    return exp_scale_short(polynomial(x - (shifted - MAGIC), poly.EXP2_SHORT), shifted)


def exp2_step_short(x: Real) -> Real:
    """2**x to 2**-29 for -1000 <= x <= 1000."""
    shifted = x + MAGIC_STEP
    r = x - (shifted - MAGIC_STEP)
    bits = shifted.bits()
    power = lookup(x.b, POWERS, bits).times_power_of_two(x.b.binary("ashr", bits, x.b.like(bits, 4)))
    return power.fma(r * polynomial(r, poly.EXP2_STEP_SHORT), power)


def exp2_float(x: Real) -> Real:
    return exp2_short(x.at_most(129.0).at_least(-151.0))


def expm1_short(x: Real) -> Real:
    """expm1 with a relative error of 2**-31, for -700 <= x <= 700."""
    shifted, n = round_exponent(x)
    r = (-n).fma(LN2, x)
    power = (shifted + 1023.0).power_of_two()
    return power.fma(r * polynomial(r, poly.EXPM1_SHORT), power - 1.0)


def expm1_float(x: Real) -> Real:
    return (x.equals(0.0)).pick(x, expm1_short(x.at_most(89.0).at_least(-20.0)))
