"""Owns sinh, cosh, tanh and their inverses."""

from __future__ import annotations

from lazyarray_llvm.vecmath.exponential import (
    exp_short,
    expm1_short,
    reduce_rounded,
    reduce_step,
    step_power,
    vanishing,
)
from lazyarray_llvm.vecmath.logarithm import halves, inverse_by_bits, log1p_short, log_above_one, log_of_sum
from lazyarray_llvm.vecmath.real import (
    INF,
    Real,
    domain_error,
    fast_two_sum,
    mended,
    pole,
    polynomial,
    product_and_sum,
    residual,
    two_product,
    two_sum,
)
from lazyarray_llvm.vecmath.registers import between, format_of, lookup, not_positive, rough_inverse, scaled
from lazyarray_llvm.vecmath.trigonometric import divide_pairs


def _powers(shifted: Real) -> tuple[tuple[Real, Real], tuple[Real, Real]]:
    """2**n and 2**-n, both scaled down, each as p (1 + rest), for n = shifted - magic_step."""
    form = format_of(shifted)
    opposite = 2.0 * form.magic_step - shifted
    (up, up_rest), (down, down_rest) = step_power(shifted), step_power(opposite)
    down = vanishing(opposite, form.magic_step - form.bias // 2, down)  # nothing beside the other, and maybe no number
    return (scaled(up, shifted, form.scaled_by), up_rest), (scaled(down, opposite, form.scaled_by), down_rest)


def sinh(x: Real) -> Real:
    """sinh(c + r) = sinh(c) cosh(r) + cosh(c) sinh(r), c = n ln 2: exact where c = 0."""
    form, a = format_of(x), abs(x)
    shifted, r, rest = reduce_step(a.at_most(form.sinh_limit))
    (up, up_rest), (down, down_rest) = _powers(shifted)
    sine, sine_low = fast_two_sum(up, -down)
    cosine, cosine_low = fast_two_sum(up, down)
    sine_low = up.fma(up_rest, (-down).fma(down_rest, sine_low))
    cosine_low = up.fma(up_rest, down.fma(down_rest, cosine_low))
    u = r * r
    product, product_low = two_product(cosine, r)
    total, low = fast_two_sum(sine, product)
    # What is left is small: the low parts, and a product with each of the polynomials.
    low = r.fma(cosine_low, cosine.fma(r.fma(rest, rest), low + (sine_low + product_low)))
    low = (sine * u).fma(polynomial(u, form.cosh), (product * u).fma(polynomial(u, form.sinh), low))
    return (a < form.tiny).pick(x, ((total + low) * 2.0 ** (-1 - form.scaled_by)).copysign(x))


def cosh(x: Real) -> Real:
    """cosh(c + r) = cosh(c) cosh(r) + sinh(c) sinh(r), c = n ln 2."""
    form = format_of(x)
    shifted, r = reduce_rounded(abs(x).at_most(form.sinh_limit))
    (up, up_rest), (down, down_rest) = _powers(shifted)
    cosine, low = fast_two_sum(up, down)
    u = r * r
    odd = (r * u).fma(polynomial(u, form.sinh), r)
    low = up.fma(up_rest, down.fma(down_rest, low))
    low = (cosine * u).fma(polynomial(u, form.cosh), low)
    return (cosine + (up - down).fma(odd, low)) * 2.0 ** (-1 - form.scaled_by)


def tanh(x: Real) -> Real:
    """expm1(2a) / (expm1(2a) + 2)."""
    form, a = format_of(x), abs(x)
    bounded = a.at_most(20.0)
    shifted, r, rest = reduce_step(bounded + bounded)
    power, power_rest = step_power(shifted)
    power = scaled(power, shifted)
    base, low = fast_two_sum(power, Real(x.b, x.lift(-1.0)))
    product, product_low = two_product(power, r)
    head, more = fast_two_sum(base, product)
    rest = power_rest + rest
    low = power.fma(r.fma(rest, rest), low + (more + product_low))
    low = (product * r).fma(polynomial(r, form.expm1), low)
    head, tail = fast_two_sum(head, low)
    under, under_low = two_sum(head, Real(x.b, x.lift(2.0)))
    result = divide_pairs((head, tail), (under, under_low + tail))
    return (a < form.tiny).pick(x, result.copysign(x))


def arcsinh(x: Real) -> Real:
    """log(a + sqrt(1 + a**2)), the sum to twice the precision: for small a, what one leaves out of it."""
    form, a = format_of(x), abs(x)
    usual = a < form.large
    c = usual.pick(a, 1.0)
    square, square_low = two_product(c, c)
    total, low = two_sum(square, Real(x.b, x.lift(1.0)))
    root = total.sqrt()
    u, u_low = fast_two_sum(root, c)
    head, tail = log_of_sum(u, u_low + (residual(total, root, root) + (low + square_low)) / (root + root))
    result = (a < form.tiny).pick(a, head + tail)
    return mended(~usual, result, lambda kept: usual.pick(kept, _log_twice(a))).copysign(x)


def arccosh(x: Real) -> Real:
    """log1p(t + sqrt(t**2 + 2 t)), t = x - 1, the sum to twice the precision."""
    form = format_of(x)
    usual = between(x, 1.0, form.large)
    t = usual.pick(x, 2.0) - 1.0
    square, square_low = product_and_sum(t, t, t + t)
    root = square.sqrt()
    root_low = (residual(square, root, root) + square_low) * rough_inverse(root, halvings=1)
    z, z_low = fast_two_sum(root, t)
    result = log_above_one(z, z_low + root_low)
    return mended(~usual, result, lambda kept: _below_one(x, usual.pick(kept, _log_twice(x))))


def _log_twice(a: Real) -> Real:
    """log(2 a), of numbers that one does not count beside; infinity and nan stay."""
    finite = (a >= 1.0) & (a < INF)
    head, tail = log_of_sum(finite.pick(a, 1.0), Real(a.b, a.lift(0.0)), extra=Real(a.b, a.lift(1.0)))
    return finite.pick(head + tail, a)


def _below_one(x: Real, kept: Real) -> Real:
    below = x < 1.0
    return below.pick(domain_error(below, x), (x < INF).pick(kept, x))


def arctanh(x: Real) -> Real:
    """log(q) / 2, q = (1 + a) / (1 - a), as atanh(w) - log(s) / 2, w = (s q - 1) / (s q + 1).

    The table of logarithms has s near 1 / q; which one, the difference of the bits of 1 + a and 1 - a tells, which is
    the logarithm of q to 0.086.  Below 1/8, where sums would have several roundings, s is 1 and w is a.
    """
    b, form, a = x.b, format_of(x), abs(x)
    over, under = 1.0 + a, 1.0 - a
    apart = b.sub(over.bits(), under.bits())
    apart = b.select((a < 0.125).v, b.like(apart, 0), apart)
    k, place, s = inverse_by_bits(b, b.add(apart, b.like(apart, form.one)), form)
    # 1 - a is exact from 1/2 on, and s + 1, s - 1 are below.
    near = a < 0.5
    w = residual(near.pick(s - 1.0, s + s), near.pick(-a, under), s + 1.0) / s.fma(over, under)
    high, low = lookup(b, halves(form.logs), place), lookup(b, halves(form.logs_rest), place)
    total, error = fast_two_sum(k.fma(form.ln2_head / 2, high), w)
    u = w * w
    tail = (w * u).fma(polynomial(u, form.atanh), k.fma(form.ln2_tail / 2, error + low))
    result = (total + tail).copysign(x)
    return mended(not_positive(under), result, lambda kept: _at_least_one(a, kept).copysign(x))


def _at_least_one(a: Real, kept: Real) -> Real:
    edge, above = a.equals(1.0), a > 1.0
    value = edge.pick(pole(edge, 1.0 - a), (a < 1.0).pick(kept, a))
    return above.pick(domain_error(above, a), value)


def sinh_float(x: Real) -> Real:
    """(e + e / (e + 1)) / 2 with e = expm1(a)."""
    grown = expm1_short(abs(x).at_most(91.0))
    return ((grown + grown / (grown + 1.0)) * 0.5).copysign(x)


def cosh_float(x: Real) -> Real:
    grown = exp_short(abs(x).at_most(91.0))
    return grown.fma(0.5, 0.5 / grown)


def tanh_float(x: Real) -> Real:
    bounded = x.at_most(10.0).at_least(-10.0)
    grown = expm1_short(bounded + bounded)
    return x.equals(0.0).pick(x, grown / (grown + 2.0))


def arcsinh_float(x: Real) -> Real:
    a = abs(x).at_most(2.0**130)
    square = a * a
    result = log1p_short(a + square / ((square + 1.0).sqrt() + 1.0))
    return (abs(x) < INF).pick(result.copysign(x), x)


def arccosh_float(x: Real) -> Real:
    t = (x >= 1.0).pick(x.at_most(2.0**130), 1.0) - 1.0
    result = log1p_short(t + (t * (t + 2.0)).sqrt())
    return mended(~((x >= 1.0) & (x < INF)), result, lambda kept: _below_one(x, kept))


def arctanh_float(x: Real) -> Real:
    a = abs(x)
    c = (a < 1.0).pick(a, 0.5)
    result = log1p_short((c + c) / (1.0 - c)) * 0.5
    return mended(~(a < 1.0), result, lambda kept: _at_least_one(a, kept)).copysign(x)
