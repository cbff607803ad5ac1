"""Owns power, cbrt, hypot."""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.exponential import exp2_step_short, reduce_step, step_power
from lazyarray_llvm.vecmath.formats import DOUBLE, Format
from lazyarray_llvm.vecmath.logarithm import log_terms, split, split_step
from lazyarray_llvm.vecmath.real import (
    INF,
    MAGIC,
    NAN,
    Mask,
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
from lazyarray_llvm.vecmath.registers import format_of, lookup, scaled

_EXPONENT_LIMIT = 2.0**900


def _log_pair(x: Real) -> tuple[Real, Real]:
    """log(x) as a sum of two doubles, to a relative error of about 2**-64."""
    base, base_rest, r = log_terms(x)
    head, low = fast_two_sum(base, r)
    low = low + base_rest
    # r**2 / 2 to twice the precision, r**3 / 3 and on, which are 2**-11 of the logarithm, to once.
    square, square_low = two_product(r, r)
    half = square * 0.5
    total = head - half
    low = (low + ((head - total) - half)) - square_low * 0.5
    low = (r * square).fma(polynomial(r, poly.LOG_STEP_TAIL), low)
    return fast_two_sum(total, low)


def power(x: Real, y: Real) -> Real:
    """exp(y log(x)), the exponent as a sum of two doubles."""
    a = abs(x)
    log_head, log_tail = _log_pair(a)
    head, low = two_product(y, log_head)
    tail = y.fma(log_tail, low)
    clamped = head.at_most(710.0).at_least(-746.0)
    tail = clamped.equals(head).pick(tail, 0.0)
    shifted, r, rest = reduce_step(clamped)
    r = r + (rest + tail)
    step, step_rest = step_power(shifted)
    grown = (r * r).fma(polynomial(r, poly.EXP_STEP), r + step_rest)
    result = scaled(step.fma(grown, step), shifted)

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
    k, r, _, place = split_step(a)
    # Bounded, for infinite exponents of -1.
    bounded = y.at_most(2.0**130).at_least(-(2.0**130))
    logarithm = (k + lookup(x.b, DOUBLE.logs2, place)) + r * polynomial(r, poly.LOG2_STEP_SHORT)
    result = exp2_step_short((bounded * logarithm).at_most(1000.0).at_least(-1000.0))
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
    """m s**2 for s near the inverse root, corrected by how far m s**3 is from one: no division."""
    form, a = format_of(x), abs(x)
    normal = (a >= form.subnormal) & (a < INF)
    c = mended(~normal, a, lambda a: _subnormal(a, form).pick(a * 2.0**form.lift, normal.pick(a, 1.0)))
    k, m = split(c)
    shifted = k.fma(1.0 / 3.0, form.magic)
    q = shifted - form.magic
    left = (-q).fma(3.0, k).integer()
    # Of m 2**left, 0.35 < m 2**left < 2.83.
    start = polynomial(m, form.cbrt_inverse) * lookup(x.b, form.thirds, left)
    m = m.times_power_of_two(left)
    # Half the bits have an exact square, and of what m times the square is rounded by, a third is left in the root.
    start = start.masked(-(1 << (form.fraction_bits // 2 + 1)))
    t = m * (start * start)
    error = residual(Real(x.b, x.lift(1.0)), t, start)
    # (1 - error)**(-2/3) = 1 + 2/3 error + 5/9 error**2 + ...
    series = horner(error, form.cbrt_series)
    result = (t * error).fma(series, t).times_power_of_two(shifted.bits())
    result = mended(
        ~normal, result, lambda kept: _subnormal(a, form).pick(kept * 2.0 ** (-form.lift // 3), normal.pick(kept, a))
    )
    return result.copysign(x)


def _subnormal(a: Real, form: Format) -> Mask:
    return (a < form.subnormal) & (a > 0.0)


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
