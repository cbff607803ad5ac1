"""Owns log, log2, log10, log1p, logaddexp, logaddexp2.

x = 2**k m, 0.697 < m < 1.395, and a table has a number c of few bits near 1/m, and log(c): log(x) = k log(2) - log(c) +
log1p(c m - 1), where the subtraction is exact and a short polynomial does (P. T. P. Tang, "Table-driven implementation
of the logarithm function in IEEE floating-point arithmetic", 1990).
"""

from __future__ import annotations

import functools

from lazyarray_llvm.builder import Builder, Value
from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.exponential import (
    LN2,
    LN2_REST,
    LOG2E,
    exp_fine,
    reduce,
    scale,
    vanishing,
)
from lazyarray_llvm.vecmath.formats import DOUBLE, Format
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
    product_and_sum,
    rarely,
    residual,
    two_product,
    two_sum,
)
from lazyarray_llvm.vecmath.registers import between, format_of, lookup, not_positive
from lazyarray_llvm.vecmath.tables import INVERSES

LOG2E_REST = 2.0355273740931033e-17
LOG10E = 0.4342944819032518


def split(x: Real) -> tuple[Real, Real]:
    """(k, m) of a positive normal number: x = 2**k m, sqrt(1/2) <= m < sqrt(2)."""
    k, m, _ = _split_at(x, format_of(x).sqrt_half)
    return k, m


def _split_at(x: Real, least: int) -> tuple[Real, Real, Value]:
    """(k, m, bits whose low ones are those of m less `least`): x = 2**k m, m from the number of these bits on."""
    b, form = x.b, format_of(x)
    k, moved = _moved(b, x.bits(), least, form)
    fraction = b.and_(moved, b.like(moved, (1 << form.fraction_bits) - 1))
    return k, Real(b, b.bitcast(b.add(fraction, b.like(moved, least)), form.code)), moved


def _moved(b: Builder, bits: Value, least: int, form: Format) -> tuple[Real, Value]:
    """(k, moved): k counts the octaves from `least` on; the low bits of `moved` are those less the ones of `least`."""
    digits = form.fraction_bits
    if _converts(b, form):
        moved = b.sub(bits, b.like(bits, least))
        return Real(b, b.convert("sitofp", b.binary("ashr", moved, b.like(moved, digits)), form.code)), moved
    moved = b.add(bits, b.like(bits, form.one - least))
    # The biased exponent becomes a number under the exponent of 2**digits.
    biased = b.or_(b.binary("lshr", moved, b.like(moved, digits)), b.like(moved, (form.bias + digits) << digits))
    return Real(b, b.bitcast(biased, form.code)) - (2.0**digits + form.bias), moved


def _converts(b: Builder, form: Format) -> bool:
    """Whether integers are converted in one instruction: AVX2 has none for i64."""
    return form.code == "f4" or b.has_avx512


def split_step(x: Real) -> tuple[Real, Real, Real, Value]:
    """(k, r, inverse, place): x = 2**k (1 + r) / inverse of a positive normal number, r exact, -0.0344 < r < 0.0483.

    `place` is where tables hold the inverse, a number of few bits, and its logarithms.
    """
    b, form = x.b, format_of(x)
    k, m, moved = _split_at(x, form.least)
    place = b.binary("lshr", moved, b.like(moved, form.fraction_bits - 4))
    inverse = lookup(b, INVERSES, place)
    if b.has_fma:
        return k, m.fma(inverse, -1.0), inverse, place
    # The bits that the product with an inverse has room for, and the others.
    high = m.masked(-64)
    return k, (high * inverse - 1.0) + (m - high) * inverse, inverse, place


def inverse_by_bits(b: Builder, bits: Value, form: Format) -> tuple[Real, Value, Real]:
    """(k, place, s) for the bits of an x > 2**-60: s = c / 2**k is near 1 / x, and tables have -log(c) at `place`."""
    digits = form.fraction_bits
    k, moved = _moved(b, bits, form.least, form)
    place = b.binary("lshr", moved, b.like(moved, digits - 4))
    # Biased exponents are taken from numbers that are 2**bias times as large.
    lifted = lookup(b, INVERSES if _converts(b, form) else _lifted_inverses(form.bias), place).bits()
    return k, place, Real(b, b.bitcast(b.sub(lifted, b.and_(moved, b.like(moved, -1 << digits))), form.code))


@functools.cache
def halves(table: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(number / 2.0 for number in table)


@functools.cache
def _lifted_inverses(by: int) -> tuple[float, ...]:
    return tuple(c * 2.0**by for c in INVERSES)


def log_terms(x: Real) -> tuple[Real, Real, Real]:
    """(c, c_rest, r): log(x) = c + c_rest + log1p(r), c a multiple of the last place of r."""
    k, r, _, place = split_step(x)
    form = format_of(x)
    high, low = lookup(x.b, form.logs, place), lookup(x.b, form.logs_rest, place)
    return k.fma(form.ln2_head, high), k.fma(form.ln2_tail, low), r


def _mend(x: Real, result: Real, symbol: str = "") -> Real:
    """`result`, or log's limits at 0, negative numbers, infinity and nan, all of them rare.

    Subnormal numbers go to the C library's `symbol`, if there can be any.
    """
    least = (2.0**-126 if x.v.code == "f4" else 2.0**-1022) if symbol else 0.0

    def mend(kept: Real) -> Real:
        zero, negative = x.equals(0.0), x < 0.0
        usual = (x > 0.0) & (x < INF)
        code = x.v.code
        value = usual.pick(kept, zero.pick(-pole(zero, x), x, code), code)
        value = negative.pick(domain_error(negative, x), value, code)
        return rarely((x > 0.0) & (x < least), value, symbol, [x]) if symbol else value

    return mended(not_positive(x), result, mend)


def log(x: Real) -> Real:
    base, base_rest, r = log_terms(x)
    total, low = fast_two_sum(base, r)
    return _mend(x, total + (r * r).fma(polynomial(r, format_of(x).log), low + base_rest), "log")


def log2(x: Real) -> Real:
    form = format_of(x)
    k, r, _, place = split_step(x)
    high, low = lookup(x.b, form.logs2, place), lookup(x.b, form.logs2_rest, place)
    total, error = product_and_sum(r, form.log2e, k + high)
    return _mend(x, total + r.fma(_with_rest(r, form.log2e_rest, form.log2), error + low), "log2")


def log10(x: Real) -> Real:
    form = format_of(x)
    k, r, _, place = split_step(x)
    high, low = lookup(x.b, form.logs10, place), lookup(x.b, form.logs10_rest, place)
    total, error = product_and_sum(r, form.log10e, k.fma(form.log10_2_head, high))
    low = k.fma(form.log10_2_tail, error + low)
    return _mend(x, total + r.fma(_with_rest(r, form.log10e_rest, form.log10), low), "log10")


def _with_rest(r: Real, rest: float, coefficients: tuple[float, ...]) -> Real:
    """rest + r polynomial(r); of few coefficients, the scheme with the fewest instructions."""
    return horner(r, (rest, *coefficients)) if len(coefficients) < 5 else r.fma(polynomial(r, coefficients), rest)


def log_of_sum(u: Real, low: Real, *, rest: Real | None = None, extra: Real | None = None) -> tuple[Real, Real]:
    """log(u + low + rest) + extra * ln 2 as an unrounded sum; u is normal and positive, |low| within an ulp of it.

    With `rest`, what `low` leaves out, the sum is good to more than its dtype's precision.
    """
    form = format_of(u)
    k, r, inverse, place = split_step(u)
    # The bits below those of u, brought to the scale of r, times the derivative of log1p(r) to a few bits.
    factor = ((form.magic + form.bias) - k).at_least(form.magic + 1.0).power_of_two() * inverse
    low = low * factor
    low = (-r).fma(low, low)
    high, high_rest = lookup(u.b, form.logs, place), lookup(u.b, form.logs_rest, place)
    if extra is not None:
        k = k + extra
    total, error = fast_two_sum(k.fma(form.ln2_head, high), r)
    if rest is not None:
        # For u next to one, all of it is in `low`.
        total, more = two_sum(total, low)
        rest = rest * factor
        low = (-r).fma(rest, rest + more)
    low = error + k.fma(form.ln2_tail, high_rest + low)
    return total, (r * r).fma(polynomial(r, form.log), low)


def log_above_one(z: Real, rest: Real | None) -> Real:
    """log(1 + z + rest), `log1p_range` of z, |rest| within an ulp of z."""
    form = format_of(z)
    k, place, s = inverse_by_bits(z.b, (z + 1.0).bits(), form)
    # What 1 + z is rounded by does not count: s is near its inverse, that is all.
    r = residual(s - 1.0, -s, z)
    high, low = lookup(z.b, form.logs, place), lookup(z.b, form.logs_rest, place)
    total, error = fast_two_sum(k.fma(form.ln2_head, high), r)
    if rest is not None:
        rest = s * rest
        error = error + (-r).fma(rest, rest)
    return total + (r * r).fma(polynomial(r, form.log), k.fma(form.ln2_tail, error + low))


def log1p_pair(z: Real, rest: Real | None = None) -> tuple[Real, Real]:
    """log(1 + z + rest) as an unrounded sum; 0 < 1 + z < inf, |rest| within an ulp of z."""
    u = z + 1.0
    # Knuth's sum, since z may be either side of one.
    part = u - z
    return log_of_sum(u, (1.0 - part) + (z - (u - part)), rest=rest)


def log1p(x: Real) -> Real:
    form = format_of(x)
    usual = between(x + form.log1p_range[0], form.subnormal, form.log1p_range[1])
    result = log_above_one(usual.pick(x, 0.0), None)

    def mend(kept: Real) -> Real:
        # Next to -1, where the sum is exact, and above where one counts.
        u, edge, below = x + 1.0, x.equals(-1.0), x < -1.0
        finite = (u > 0.0) & (u < INF)
        head, tail = log_of_sum((finite & ~usual).pick(u, 1.0), Real(x.b, x.lift(0.0)))
        value = usual.pick(kept, finite.pick(head + tail, edge.pick(-pole(edge, u), x)))
        return below.pick(domain_error(below, x), value)

    # The sign of zero would be lost.
    return mended(~usual, result.copysign(x), mend)


def log_short(x: Real) -> Real:
    """log to a relative error of 2**-30, of a positive normal finite number."""
    k, m = split(x)
    f = m - 1.0
    return k.fma(LN2, f * polynomial(f, poly.LOG_SHORT))


def log_float(x: Real) -> Real:
    return _mend(x, log_short(x))


def log2_short(x: Real) -> Real:
    k, m = split(x)
    f = m - 1.0
    return (f * LOG2E).fma(polynomial(f, poly.LOG_SHORT), k)


def log2_float(x: Real) -> Real:
    return _mend(x, log2_short(x))


def log10_float(x: Real) -> Real:
    k, m = split(x)
    f = m - 1.0
    return _mend(x, k.fma(LN2 * LOG10E, (f * LOG10E) * polynomial(f, poly.LOG_SHORT)))


def log1p_short(x: Real) -> Real:
    """log1p to a relative error of 2**-30; x > -1, finite."""
    k, m = split(x + 1.0)
    f = k.equals(0.0).pick(x, m - 1.0)
    return k.fma(LN2, f * polynomial(f, poly.LOG_SHORT))


def log1p_float(x: Real) -> Real:
    u = x + 1.0
    return x.equals(0.0).pick(x, _mend(u, log1p_short(x)))


def _add_specials(x: Real, y: Real, large: Real, result: Real) -> Real:
    """Infinite summands: the larger one, and nan beside nan."""
    finite = (abs(x) < INF) & (abs(y) < INF)
    return finite.pick(result, x.compare("uno", y).pick(NAN, large + 0.0))


def _order(x: Real, y: Real, floor: float) -> tuple[Real, Real, Real]:
    """(max, d, what d leaves out), d = min - max, at least `floor`."""
    swap = y.above(x)
    large, small = swap.pick(y, x), swap.pick(x, y)
    d, low = two_sum(small, -large)
    bounded = d.at_least(floor)
    return large, bounded, bounded.equals(d).pick(low, 0.0)


def _small_exponential(d: Real, zero: float, head: Real, tail: Real, shifted: Real) -> tuple[Real, Real]:
    """(head + tail) * 2**n, as the exponential of d is: 0 below `zero`."""
    negative = d < 0.0
    first, second = vanishing(d, zero, head), vanishing(d, zero, tail)
    return scale(first, shifted, negative), scale(second, shifted, negative)


def logaddexp(x: Real, y: Real) -> Real:
    """max + log1p(exp(min - max)), with every part to more than a double's precision."""
    large, d, d_low = _order(x, y, -746.0)
    shifted, r, rest = reduce(d)
    head, tail = exp_fine(*fast_two_sum(r, rest + d_low))
    z, z_low = _small_exponential(d, DOUBLE.exp_zero, head, tail, shifted)
    head, tail = log1p_pair(z, z_low)
    total, low = two_sum(large, head)
    return _add_specials(x, y, large, total + (low + tail))


def logaddexp2(x: Real, y: Real) -> Real:
    large, d, d_low = _order(x, y, -1080.0)
    shifted = d + MAGIC
    part = d - (shifted - MAGIC)
    r, rest = two_product(part, LN2)
    rest = d_low.fma(LN2, part.fma(LN2_REST, rest))
    head, tail = exp_fine(*fast_two_sum(r, rest))
    z, z_low = _small_exponential(d, DOUBLE.exp2_zero, head, tail, shifted)
    head, tail = fast_two_sum(*log1p_pair(z, z_low))
    product, more = two_product(head, LOG2E)
    tail = tail.fma(LOG2E, head.fma(LOG2E_REST, more))
    total, low = two_sum(large, product)
    # log2(2) is exact, as in NumPy.
    return x.equals(y).pick(x + 1.0, _add_specials(x, y, large, total + (low + tail)))
