"""Owns cbrt, hypot."""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.formats import Format
from lazyarray_llvm.vecmath.logarithm import split
from lazyarray_llvm.vecmath.real import (
    INF,
    MAGIC,
    MAGIC_SHORT,
    Mask,
    Real,
    fast_two_sum,
    horner,
    mended,
    polynomial,
    residual,
    two_product,
)
from lazyarray_llvm.vecmath.registers import abnormal, format_of


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


# The bits of a float, read as an integer, are a logarithm of it within 0.09: a constant less a third of them are those
# of the inverse cube root to 3.4 %.  These constants leave |1 - x s**3| < 0.1025, in units of what is kept.
_KEPT_FLOAT = 12  # bits below are zero, so that squares are exact
_INVERSE_FLOAT = 346655.0
_INVERSE_DOUBLE = 1430186240.0
_TWO_52 = 2.0**52


def _inverse_cube_root(a: Real) -> Real:
    """s = a**(-1/3) to 3.4 %, of so few bits that s**2 is exact; a normal or 0."""
    b, bits = a.b, a.bits()
    if a.v.code == "f4":
        whole = Real(b, b.convert("sitofp", bits, "f4"))
        shifted = whole.fma(-1.0 / (3 << _KEPT_FLOAT), _INVERSE_FLOAT + MAGIC_SHORT).bits()
        return Real(b, b.bitcast(b.binary("shl", shifted, b.like(shifted, _KEPT_FLOAT)), "f4"))
    # The upper half of the bits beside 2**52: AVX2 has no conversion from i64.
    upper = b.binary("lshr", bits, b.like(bits, 32))
    whole = Real(b, b.bitcast(b.or_(upper, b.const("i8", 0x433 << 52, upper.lanes)), "f8"))
    shifted = whole.fma(-1.0 / 3.0, _INVERSE_DOUBLE + _TWO_52 / 3.0 + MAGIC).bits()
    return Real(b, b.bitcast(b.binary("shl", shifted, b.like(shifted, 32)), "f8"))


def _distance(a: Real, s: Real) -> tuple[Real, Real]:
    """t = a s**2 and 1 - t s, for an s whose square is exact."""
    t = a * (s * s)
    return t, residual(Real(a.b, a.lift(1.0)), t, s)


def cbrt(x: Real) -> Real:
    """a s**2 for s near the inverse root, corrected by how far a s**3 is from one: no division, no table."""
    form, a = format_of(x), abs(x)
    odd = abnormal(x)
    c = mended(odd, a, lambda a: _subnormal(a, form).pick(a * 2.0**form.lift, (~odd).pick(a, 1.0)))
    s = _inverse_cube_root(c)
    t, error = _distance(c, s)
    if form.cbrt_start:
        s = (s * error).fma(horner(error, form.cbrt_start), s).masked(-(1 << (form.fraction_bits // 2 + 1)))
        t, error = _distance(c, s)
    # What t is rounded by, counts a third: the equation for the root holds with it.
    result = (t * error).fma(horner(error, form.cbrt_series), t)
    result = mended(
        odd, result, lambda kept: _subnormal(a, form).pick(kept * 2.0 ** (-form.lift // 3), (~odd).pick(kept, a))
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
