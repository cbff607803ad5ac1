"""Owns exp, exp2, expm1, and the reduced exponential that the hyperbolic functions and power share.

exp(x) = 2**n exp(r) with n a multiple of 1/16, whose fraction a table serves, so that |r| <= ln(2)/32 (P. T. P. Tang,
"Table-driven implementation of the exponential function in IEEE floating-point arithmetic", 1989).
Functions whose name ends in `_short` serve float32: they compute in double to 2**-29 or better.
"""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.formats import DOUBLE
from lazyarray_llvm.vecmath.real import (
    MAGIC,
    Mask,
    Real,
    fast_two_sum,
    horner,
    polynomial,
    two_product,
    two_sum,
)
from lazyarray_llvm.vecmath.registers import format_of, lookup, scaled

LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_REST = 2.3190468138462996e-17
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


def exp_fine(r: Real, rest: Real) -> tuple[Real, Real]:
    """exp(r + rest) to 2**-60, as a normalised sum, for |r| <= 0.3467."""
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
    """The multiple of 1/16 nearest to x / ln 2, as magic_step plus itself and as itself."""
    form = format_of(x)
    shifted = x.fma(form.log2e, form.magic_step)
    return shifted, shifted - form.magic_step


def step_power(shifted: Real) -> tuple[Real, Real]:
    """(p, rest): 2**f = p + p rest, for the fraction f of shifted - magic_step."""
    form, bits = format_of(shifted), shifted.bits()
    return lookup(shifted.b, form.powers, bits), lookup(shifted.b, form.powers_rest, bits)


def reduce_step(x: Real) -> tuple[Real, Real, Real]:
    """(magic_step + n, r, rest): x = n ln 2 + r + rest, |r| <= ln(2)/32, |n| < 2**11; float32 needs FMA."""
    form = format_of(x)
    shifted, n = round_step(x)
    if x.b.has_fma:
        # Exact: a multiple of 2**-58 (2**-29), as x is if n is not zero, and less than 2**-5.
        return shifted, (-n).fma(form.ln2, x), n * -form.ln2_rest
    head, tail = (-n).fma(form.ln2_head, x), n * form.ln2_tail
    r = head - tail
    return shifted, r, (head - r) - tail


def reduce_rounded(x: Real) -> tuple[Real, Real]:
    """(magic_step + n, r): x = n ln 2 + r, r to the last bits of 2**-6, |r| <= ln(2)/32."""
    form = format_of(x)
    shifted, n = round_step(x)
    if x.b.has_fma:
        return shifted, (-n).fma(form.ln2_rest, (-n).fma(form.ln2, x))
    return shifted, (-n).fma(form.ln2_tail, (-n).fma(form.ln2_head, x))


def vanishing(x: Real, limit: float, y: Real) -> Real:
    """y, or 0 where x is below a limit: a core takes a hundred cycles or more for results that are no normal numbers.

    Masks leave minus infinity, and `exp` of that took 19 times as long as of other numbers. Kernels tell nobody of
    underflow.
    """
    return Real(x.b, x.lift(limit)).above(x).pick(0.0, y)


def exp(x: Real) -> Real:
    """2**k 2**(j/16) exp(r): the nearer the table brings r to zero, the shorter is its polynomial."""
    form, given = format_of(x), x
    x = x.at_most(form.exp_range[1]).at_least(form.exp_range[0])
    shifted, r = reduce_rounded(x)
    power, rest = step_power(shifted)
    grown = (r * r).fma(polynomial(r, form.exp), r + rest)
    return scaled(vanishing(given, form.exp_zero, power.fma(grown, power)), shifted)


def exp2(x: Real) -> Real:
    form, given = format_of(x), x
    x = x.at_most(form.exp2_range[1]).at_least(form.exp2_range[0])
    shifted = x + form.magic_step
    r = x - (shifted - form.magic_step)
    power, rest = step_power(shifted)
    result = power.fma(r.fma(polynomial(r, form.exp2), rest), power)
    return scaled(vanishing(given, form.exp2_zero, result), shifted)


def expm1(x: Real) -> Real:
    """2**n - 1 + 2**n (exp(r) - 1): exact where n = 0, all of it scaled so far down that no term overflows."""
    form = format_of(x)
    shifted, r, rest = reduce_step(x.at_most(form.exp_range[1]).at_least(-40.0))
    power, power_rest = step_power(shifted)
    power = scaled(power, shifted, form.scaled_by)
    base, low = two_sum(power, Real(x.b, x.lift(-(2.0**form.scaled_by))))
    product, product_low = two_product(power, r)
    head, more = fast_two_sum(base, product)
    rest = power_rest + rest
    low = power.fma(r.fma(rest, rest), low + (more + product_low))
    low = (product * r).fma(polynomial(r, form.expm1), low)
    # Below, scaled numbers would be subnormal, and the sign of zero would be lost.
    return (abs(x) < form.negligible).pick(x, (head + low) * 2.0**-form.scaled_by)


def exp_scale_short(y: Real, shifted: Real) -> Real:
    """y * 2**n where no double over- or underflows."""
    return y * (shifted + 1023.0).power_of_two()


def exp_short(x: Real) -> Real:
    """exp for -700 <= x <= 700."""
    shifted, n = round_exponent(x)
    r = (-n).fma(LN2, x)
    return exp_scale_short(polynomial(r, poly.EXP_SHORT), shifted)


def exp_float(x: Real) -> Real:
    return exp_short(x.at_most(89.0).at_least(-105.0))


def exp2_short(x: Real) -> Real:
    """2**x for -1022 <= x <= 1023."""
    shifted = x + MAGIC
    return exp_scale_short(polynomial(x - (shifted - MAGIC), poly.EXP2_SHORT), shifted)


def exp2_step_short(x: Real) -> Real:
    """2**x to 2**-29 for -1000 <= x <= 1000."""
    shifted = x + DOUBLE.magic_step
    r = x - (shifted - DOUBLE.magic_step)
    bits = shifted.bits()
    power = lookup(x.b, DOUBLE.powers, bits).times_power_of_two(x.b.binary("ashr", bits, x.b.like(bits, 4)))
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
