"""Owns sin, cos, tan.

Doubles are reduced by multiples of pi/2 in three parts of few enough bits that what must be exact is (Cody
and Waite); larger arguments, which are rare, go to the C library.
"""

from __future__ import annotations

from lazyarray_llvm.builder import Value
from lazyarray_llvm.vecmath import polynomial as poly
from lazyarray_llvm.vecmath.real import (
    MAGIC,
    MAGIC_SHORT,
    Mask,
    Real,
    fast_two_sum,
    horner,
    polynomial,
    rarely,
    residual,
)
from lazyarray_llvm.vecmath.registers import rough_inverse

TWO_OVER_PI = 0.6366197723675814
ONE_OVER_PI = 0.3183098861837907
PI_2_PARTS = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
PI_PARTS = (3.1415926534682512, 1.2154201012607932e-10, 4.044532497591901e-21)
PI_FULL_PARTS = (3.141592653589793, 1.2246467991473532e-16)
# 53 bits, which one FMA subtracts exactly, then 29 bits, exact in products with n < 2**24.
PI_2_FUSED = (1.5707963267948966, 6.12323399409214e-17, 1.6446256936324258e-26)
# Below, n < 2**24, or without FMA n < 2**20.
LIMIT = 2.6e7
LIMIT_UNFUSED = 1.6e6
# Below, float32 arguments leave at least 2**-25 of accuracy: n < 2**27, and pi is taken to 2**-107.
LIMIT_SHORT = 2.0**28
# For float32 in float32: 24 bits, 12 bits, which are exact in products with n < 2**12, and the rest.
PI_2_FLOAT = (1.5707963705062866, -4.371395334601402e-08, 2.5633440682570896e-12)
LIMIT_FLOAT = 6000.0


def reduce(x: Real) -> tuple[Value, Real, Real]:
    """(the bits of n, r, what r leaves out), x = n pi/2 + r, |r| <= pi/4."""
    shifted = x.fma(TWO_OVER_PI, MAGIC)
    n = shifted - MAGIC
    parts = PI_2_FUSED if x.b.has_fma else PI_2_PARTS
    # Exact: a multiple of 2**-53 that is less than one.
    first = (-n).fma(parts[0], x)
    product = n * parts[1]
    r = first - product
    # `first` is a multiple of the last place of the product, so this is exact whichever of them is larger.
    rest = (first - r) - product
    rest = (-n).fma(parts[2], rest)
    if not x.b.has_fma:
        r, rest = fast_two_sum(r, rest)
    return shifted.bits(), r, rest


def kernels(r: Real, rest: Real) -> tuple[tuple[Real, Real], tuple[Real, Real]]:
    """sin(r + rest) and cos(r + rest), each an unrounded sum."""
    u = r * r
    half = u * 0.5
    sine = (r * u).fma(horner(u, poly.SIN), (-rest).fma(half, rest))
    head = 1.0 - half
    # (1 - head) - half is exact; the last place of r**2 counts too.
    low = residual(u, r, r).fma(0.5, (1.0 - head) - half)
    low = (-r).fma(rest, low)
    return (r, sine), (head, (u * u).fma(horner(u, poly.COS), low))


def sin(x: Real) -> Real:
    bits, r, rest = reduce(x)
    sine, cosine = kernels(r, rest)
    odd = _is_odd(x, bits)
    result = odd.pick(cosine[0] + cosine[1], sine[0] + sine[1]).flip_sign(bits, 62)
    # -0.0 loses its sign in the reduction.
    result = x.equals(0.0).pick(x, result)
    return rarely(abs(x) > limit(x), result, "sin", [x])


def cos(x: Real) -> Real:
    bits, r, rest = reduce(x)
    sine, cosine = kernels(r, rest)
    odd = _is_odd(x, bits)
    b = x.b
    # Negative in quadrants 1 and 2.
    bits = b.add(bits, b.like(bits, 1))
    result = odd.pick(sine[0] + sine[1], cosine[0] + cosine[1]).flip_sign(bits, 62)
    return rarely(abs(x) > limit(x), result, "cos", [x])


def _is_odd(x: Real, bits: Value) -> Mask:
    b = x.b
    return Mask(b, b.compare("ne", b.and_(bits, b.like(bits, 1)), b.like(bits, 0)))


def divide_pairs(a: tuple[Real, Real], d: tuple[Real, Real]) -> Real:
    """(a0 + a1) / (d0 + d1), rounded nearly correctly; the pairs are normalised."""
    inverse = 1.0 / d[0]
    quotient = a[0] * inverse
    error = residual(a[0], quotient, d[0]) + (-quotient).fma(d[1], a[1])
    return error.fma(inverse, quotient)


def tan(x: Real) -> Real:
    bits, r, rest = reduce(x)
    sine, cosine = kernels(r, rest)
    odd = _is_odd(x, bits)
    top = odd.pick(cosine[0], sine[0]), odd.pick(cosine[1], sine[1])
    bottom = odd.pick(sine[0], cosine[0]), odd.pick(sine[1], cosine[1])
    head, bottom_head = top[0] + top[1], bottom[0] + bottom[1]
    pair = head, (top[0] - head) + top[1]
    under = bottom_head, (bottom[0] - bottom_head) + bottom[1]
    result = divide_pairs(pair, under).flip_sign(bits, 63)
    return rarely(abs(x) > limit(x), (abs(x) < 2.0**-27).pick(x, result), "tan", [x])


def _reduce_half_turn(x: Real, n: Real) -> Real:
    parts = PI_FULL_PARTS if x.b.has_fma else PI_PARTS
    for part in parts:
        x = (-n).fma(part, x)
    return x


def limit(x: Real) -> float:
    return LIMIT if x.b.has_fma else LIMIT_UNFUSED


def limit_short(x: Real) -> float:
    return LIMIT_SHORT if x.b.has_fma else LIMIT_UNFUSED


def _half_turn(r: Real, shifted: Real) -> Real:
    u = r * r
    return (r * polynomial(u, poly.SIN_HALF_TURN)).flip_sign(shifted.bits(), 63)


def sin_short(x: Real) -> Real:
    """sin to 2**-35, by one polynomial over half a turn."""
    shifted = x.fma(ONE_OVER_PI, MAGIC)
    return _half_turn(_reduce_half_turn(x, shifted - MAGIC), shifted)


def cos_short(x: Real) -> Real:
    """cos(x) = sin(x + pi/2): the multiples of pi next to x are odd multiples of pi/2."""
    shifted = x.fma(ONE_OVER_PI, 0.5) + MAGIC
    return _half_turn(_reduce_half_turn(x, (shifted - MAGIC) - 0.5), shifted)


def tan_short(x: Real) -> Real:
    shifted = x.fma(TWO_OVER_PI, MAGIC)
    n = shifted - MAGIC
    parts = [p * 0.5 for p in PI_FULL_PARTS] if x.b.has_fma else PI_2_PARTS
    r = x
    for part in parts:
        r = (-n).fma(part, r)
    u = r * r
    sine, cosine = r * polynomial(u, poly.SIN_SHORT), polynomial(u, poly.COS_SHORT)
    odd = _is_odd(x, shifted.bits())
    return (odd.pick(cosine, sine) / odd.pick(sine, cosine)).flip_sign(shifted.bits(), 63)


def _reduce_fused(x: Real, far: Mask) -> tuple[Value, Real, Real]:
    """(the bits of n, r, what r leaves out), |x| = n pi/2 + r in float32; `far` where |x| > LIMIT_FLOAT."""
    # Zero where |x| is beyond, as the polynomial of a remainder that is none would overflow.
    a = far.pick(0.0, abs(x))
    shifted = a.fma(TWO_OVER_PI, MAGIC_SHORT)
    n = shifted - MAGIC_SHORT
    # Exact: a multiple of 2**-23 that is less than one.
    first = (-n).fma(PI_2_FLOAT[0], a)
    head = (-n).fma(PI_2_FLOAT[1], first)
    r = (-n).fma(PI_2_FLOAT[2], head)
    # The last part counts where the others leave little, and their rounding errors where they leave much.
    return shifted.bits(), r, (-n).fma(PI_2_FLOAT[1], first - head) + (-n).fma(PI_2_FLOAT[2], head - r)


def _signed(result: Real, bits: Value) -> Real:
    """`result`, its sign changed by that of `bits`."""
    b = result.b
    sign = b.and_(bits, b.like(bits, -1 << 31))
    return Real(b, b.bitcast(b.xor(result.bits(), sign), "f4"))


def _kernels_fused(r: Real, rest: Real) -> tuple[tuple[Real, Real], tuple[Real, Real]]:
    """sin(r + rest) and cos(r + rest), each an unrounded sum."""
    u = r * r
    head = u.fma(-0.5, 1.0)
    low = (-r).fma(rest, u.fma(-0.5, 1.0 - head))
    return (r, (r * u).fma(horner(u, poly.SIN_FLOAT), rest)), (head, (u * u).fma(horner(u, poly.COS_FLOAT), low))


def _wave_fused(x: Real, far: Mask, shifted: bool) -> tuple[Value, Real]:
    """The bits of n, and the sine, or the cosine if `shifted`, of |x| = n pi/2 + r but for its sign."""
    bits, r, rest = _reduce_fused(x, far)
    sine, cosine = _kernels_fused(r, rest)
    even, other = (cosine, sine) if shifted else (sine, cosine)
    odd = _is_odd(x, bits)
    return bits, odd.pick(other[0], even[0]) + odd.pick(other[1], even[1])


def sin_fused(x: Real, far: Mask) -> Real:
    b = x.b
    bits, result = _wave_fused(x, far, shifted=False)
    return _signed(result, b.xor(b.binary("shl", bits, b.like(bits, 30)), x.bits()))


def cos_fused(x: Real, far: Mask) -> Real:
    b = x.b
    bits, result = _wave_fused(x, far, shifted=True)
    # Negative in quadrants 1 and 2.
    return _signed(result, b.binary("shl", b.add(bits, b.like(bits, 1)), b.like(bits, 30)))


def tan_fused(x: Real, far: Mask) -> Real:
    """r / g or, in odd quadrants, -g / r, with g = r cot(r)."""
    b = x.b
    bits, r, rest = _reduce_fused(x, far)
    u = r * r
    series = horner(u, poly.COT_FLOAT)
    g = (-u).fma(series, 1.0)
    # What u leaves out of (r + rest)**2 counts a third, and somewhat more next to pi/4.
    u_rest = (r + r).fma(rest, r.fma(r, -u))
    g_rest = u_rest.fma(-0.37, (-u).fma(series, 1.0 - g))
    odd = _is_odd(x, bits)
    top, under = odd.pick(g, r), odd.pick(r, g)
    top_rest, under_rest = odd.pick(g_rest, rest), odd.pick(rest, g_rest)
    quotient = top / under
    error = (-quotient).fma(under_rest, residual(top, quotient, under) + top_rest)
    result = error.fma(rough_inverse(under), quotient)
    return _signed(result, b.xor(b.binary("shl", bits, b.like(bits, 31)), x.bits()))
