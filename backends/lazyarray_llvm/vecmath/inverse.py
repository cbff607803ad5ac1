"""Owns arctan, arctan2, arcsin, arccos."""

from __future__ import annotations

from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.formats import Format
from lazyarray_llvm.vecmath.real import INF, NAN, Mask, Real, fast_two_sum, mended_all, polynomial, residual
from lazyarray_llvm.vecmath.registers import between, format_of, lookup, rough_inverse
from lazyarray_llvm.vecmath.tables import TANGENTS

PI = 3.141592653589793
PI_2 = PI / 2


def _octant(small: Real, large: Real) -> tuple[Mask, Real, Real, Real]:
    """(mid, n, d, what d leaves out): arctan(small / large) = arctan(n / d), plus pi/4 if mid.

    |n / d| <= 1/2, for 0 <= small <= large.
    """
    mid = small + small > large
    # Exact in the lanes that take it (Sterbenz).
    difference = small - large
    total, low = fast_two_sum(large, small)
    return mid, mid.pick(difference, small), mid.pick(total, large), mid.pick(low, 0.0)


def _arctan_tail(t: Real, rest: Real) -> Real:
    """arctan(t + rest) - t, |t| <= 1/2."""
    u = t * t
    # 1 - u + 3/4 u**2 is the derivative of arctan to more bits than `rest` needs.
    return (t * u).fma(polynomial(u, format_of(t).atan), rest * u.fma(u.fma(0.75, -1.0), 1.0))


def arctan(x: Real) -> Real:
    """arctan(c) + arctan((a - c) / (1 + a c)), where a table has c near a = |x|: the quotient is at most 1/8."""
    b, form = x.b, format_of(x)
    # The quotient from infinity on, -1/a, is that from 2**60.
    a = abs(x).at_most(2.0**60)
    # The half octave that a lies in, or those next to the table's first and last.
    bits = a.at_most(16.0).at_least(0.09375).bits()
    place = b.binary("lshr", bits, b.like(bits, form.fraction_bits - 1))
    tangent = lookup(b, TANGENTS, place)
    t = (a - tangent) / a.fma(tangent, 1.0)
    u = t * t
    total, low = fast_two_sum(lookup(b, form.angles, place), t)
    tail = (t * u).fma(polynomial(u, form.atan_step), lookup(b, form.angles_rest, place))
    return (total + (low + tail)).copysign(x)


def arctan2(y: Real, x: Real) -> Real:
    form, a, c = format_of(x), abs(y), abs(x)
    steep = a.above(c)
    small, large = steep.pick(c, a), steep.pick(a, c)
    # Scaling keeps sums and the quotient's error term in range; what it rounds has a quotient of zero.
    rare = ~between(large, form.small_divisor[0], form.large_divisor[0])
    numerator, divisor = mended_all(rare, (small, large), lambda: _mend_quotient(small, large, form))
    mid, n, d, d_low = _octant(numerator, divisor)
    quotient = n / d
    rest = (-quotient).fma(d_low, residual(n, quotient, d)) * rough_inverse(d)
    if not x.b.has_fma:
        # The halves of Dekker's product underflow before a fused one does; so small a quotient needs no rest.
        rest = (abs(n) < d * 2.0**-300).pick(0.0, rest)
    tail = _arctan_tail(quotient, rest)
    left = _negative(x)
    parts = (form.pi, form.pi_3_4), (form.pi_rest, form.pi_3_4_rest)
    base, base_rest = (
        mid.pick(left.pick(three_quarters, pi / 4, form.code), steep.pick(pi / 2, left.pick(pi, 0.0, form.code)))
        for pi, three_quarters in parts
    )
    minus = steep ^ left
    total, low = fast_two_sum(base, minus.pick(-quotient, quotient))
    return (total + (low + (minus.pick(-tail, tail) + base_rest))).copysign(y)


def _mend_quotient(small: Real, large: Real, form: Format) -> tuple[Real, Real]:
    """Numbers with the same quotient that are neither tiny nor huge; 1 and 1 for infinities, 0 and 1 for zeros."""
    both = small.equals(INF) & large.equals(INF)
    none = (large.equals(0.0) & small.equals(0.0)) | (large.equals(INF) & (small < INF))
    down = (large > form.large_divisor[0]).pick(form.large_divisor[1], 1.0, form.code)
    factor = (large < form.small_divisor[0]).pick(form.small_divisor[1], down)
    return both.pick(1.0, none.pick(0.0, small * factor)), (both | none).pick(1.0, large * factor)


def _negative(x: Real) -> Mask:
    b = x.b
    return Mask(b, b.compare("slt", x.bits(), b.const(format_of(x).integer, 0, x.v.lanes)))


def _arcsin_parts(x: Real) -> tuple[Mask, Real, Real]:
    """(far, t, tail): arcsin(a) = t + tail, a = |x| or, if far (|x| > 1/2), sqrt((1 - |x|) / 2)."""
    a = abs(x)
    far = a > 0.5
    w = (1.0 - a) * 0.5
    u = far.pick(w, a * a)
    root = w.sqrt()
    rest = far.pick(residual(w, root, root) * rough_inverse(root, halvings=1), 0.0)
    t = far.pick(root, a)
    return far, t, (t * u).fma(polynomial(u, format_of(x).asin), rest)


def arcsin(x: Real) -> Real:
    form = format_of(x)
    far, t, tail = _arcsin_parts(x)
    base, low = fast_two_sum(form.pi / 2, t * -2.0)
    distant = base + (low + tail.fma(-2.0, form.pi_rest / 2))
    return (abs(x) < form.tiny).pick(x, far.pick(distant, t + tail).copysign(x))


def arccos(x: Real) -> Real:
    form = format_of(x)
    far, t, tail = _arcsin_parts(x)
    left = x < 0.0
    # near: pi/2 - arcsin(x); far right: 2 arcsin(t); far left: pi - 2 arcsin(t).
    factor = far.pick(left.pick(-2.0, 2.0, form.code), left.pick(1.0, -1.0, form.code))
    base = far.pick(left.pick(form.pi, 0.0, form.code), form.pi / 2)
    base_rest = far.pick(left.pick(form.pi_rest, 0.0, form.code), form.pi_rest / 2)
    total, low = fast_two_sum(base, t * factor)
    return total + (low + tail.fma(factor, base_rest))


def _arctan_short(t: Real) -> Real:
    return t * polynomial(t * t, poly.ATAN_SHORT)


def arctan_float(x: Real) -> Real:
    a = abs(x)
    inverted = a > 1.0
    angle = _arctan_short(inverted.pick(1.0 / inverted.pick(a, 1.0), a))
    return inverted.pick(PI_2 - angle, angle).copysign(x)


def arctan2_float(y: Real, x: Real) -> Real:
    a, c = abs(y), abs(x)
    steep = a.above(c)
    small, large = steep.pick(c, a), steep.pick(a, c)
    both = small.equals(INF) & large.equals(INF)
    # Added to, as a choice of divisors would let LLVM divide by both, and 0 / 0 raises the invalid flag.
    divisor = both.pick(1.0, large) + large.equals(0.0).pick(1.0, 0.0)
    quotient = both.pick(1.0, small / divisor)
    angle = _arctan_short(quotient)
    left = _negative(x)
    base = steep.pick(PI_2, left.pick(PI, 0.0))
    result = base + (steep ^ left).pick(-angle, angle)
    return y.compare("uno", x).pick(NAN, result.copysign(y))


def _arcsin_short(x: Real) -> tuple[Mask, Real]:
    a = abs(x)
    far = a > 0.5
    w = (1.0 - a) * 0.5
    u = far.pick(w, a * a)
    return far, far.pick(w.sqrt(), a) * polynomial(u, poly.ASIN_SHORT)


def arcsin_float(x: Real) -> Real:
    far, angle = _arcsin_short(x)
    return far.pick(angle.fma(-2.0, PI_2), angle).copysign(x)


def arccos_float(x: Real) -> Real:
    far, angle = _arcsin_short(x)
    left = x < 0.0
    factor = far.pick(left.pick(-2.0, 2.0), left.pick(1.0, -1.0))
    return angle.fma(factor, far.pick(left.pick(PI, 0.0), PI_2))
