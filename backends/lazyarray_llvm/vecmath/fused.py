"""Owns float32 functions in float32, for CPUs with FMA, where shorter formulas than those of float64 suffice.

What makes them short: the part of a result that has rounding errors is a fraction of the part that is exact.
"""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath import tables
from lazyarray_llvm.vecmath.exponential import reduce_rounded
from lazyarray_llvm.vecmath.formats import FLOAT
from lazyarray_llvm.vecmath.real import Real, horner, two_sum
from lazyarray_llvm.vecmath.registers import lookup, scaled

_QUARTERS = tuple(power / 4.0 for power in FLOAT.powers)


def _part_power(x: Real) -> tuple[Real, Real]:
    """(p, g): exp(x) / 4 = p + p g, |g| < 0.0222; p is finite where the exponential is, or half of it."""
    shifted, r = reduce_rounded(x)
    bits, at_once = shifted.bits(), x.b.has_avx512
    power = lookup(x.b, _QUARTERS if at_once else FLOAT.powers, bits)
    rest = lookup(x.b, FLOAT.powers_rest, bits)
    return scaled(power, shifted, 0 if at_once else -2), (r * r).fma(horner(r, FLOAT.exp), r + rest)


def expm1(x: Real) -> Real:
    """4 (p - 1/4 + p g), of which p g is less than a fifth; a polynomial below 1/8."""
    p, g = _part_power(x.at_most(FLOAT.exp_range[1]).at_least(-40.0))
    base, low = two_sum(p, Real(x.b, x.lift(-0.25)))
    large = (base + p.fma(g, low)) * 4.0
    small = (x * x).fma(horner(x, poly.EXPM1_FLOAT), x)
    return (abs(x) < 0.125).pick(small, large).copysign(x)


def sinh(x: Real) -> Real:
    """2 (p + p g - 1 / (16 (p + p g))); a polynomial below 7/8, where the subtraction would cancel."""
    a = abs(x)
    p, g = _part_power(a.at_most(FLOAT.sinh_limit))
    large = p + p.fma(g, -0.0625 / p.fma(g, p))
    u = a * a
    small = (a * u).fma(horner(u, poly.SINH_FLOAT), a)
    return (a < 0.875).pick(small, large + large).copysign(x)


def cosh(x: Real) -> Real:
    p, g = _part_power(abs(x).at_most(FLOAT.sinh_limit))
    total = p + p.fma(g, 0.0625 / p.fma(g, p))
    return total + total


def tanh(x: Real) -> Real:
    """tanh(c + t) = tanh(c) + (1 - tanh(c)**2) tanh(t) / (1 + tanh(c) tanh(t)), where a table has c near |x|."""
    b = x.b
    a = abs(x).at_most(14.0)
    bits = (a + 1.0).bits()
    place = b.binary("lshr", bits, b.like(bits, FLOAT.fraction_bits - 2))
    height, slope = lookup(b, tables.TANHS, place), lookup(b, tables.TANH_SLOPES, place)
    t = a - lookup(b, tables.TANH_POINTS, place)
    u = t * t
    step = (t * u).fma(horner(u, poly.TANH_STEP_FLOAT), t)
    return (height + (slope * step) / height.fma(step, 1.0)).copysign(x)
