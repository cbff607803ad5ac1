"""Owns power."""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.exponential import exp2_step_short, reduce_step, step_power, vanishing
from lazyarray_llvm.vecmath.formats import DOUBLE
from lazyarray_llvm.vecmath.logarithm import log_terms, split_step
from lazyarray_llvm.vecmath.real import (
    INF,
    NAN,
    Real,
    domain_error,
    fast_two_sum,
    mended,
    pole,
    polynomial,
    rarely,
    two_product,
)
from lazyarray_llvm.vecmath.registers import lookup, scaled

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
    result = scaled(vanishing(head, DOUBLE.exp_zero, step.fma(grown, step)), shifted)

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
