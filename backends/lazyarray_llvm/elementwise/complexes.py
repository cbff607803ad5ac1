"""Owns complex arithmetic and powers, by NumPy's own formulas."""

from __future__ import annotations

import functools

from ..builder import Builder, Complex, Value
from . import exact
from .casts import cast_real
from .comparison import isinf, isnan
from .flags import never_zero, quiet
from .libm import call_pair, call_real, define_adapter


def multiply(b: Builder, x: Complex, y: Complex) -> Complex:
    """With NumPy's one fused multiply-add per part, where the host has it."""
    real = b.fma(x.re, y.re, b.fneg(b.mul(x.im, y.im)))
    return Complex(real, b.fma(x.re, y.im, b.mul(x.im, y.re)))


def square(b: Builder, x: Complex) -> Complex:
    return multiply(b, x, x)


def _fabs(b: Builder, x: Value) -> Value:
    return b.intrinsic("fabs", [x])


def divide(b: Builder, x: Complex, y: Complex) -> Complex:
    """Smith's algorithm; 0 + 0j divides each part by 0, giving infinities and NaNs."""
    one, zero = b.like(y.re, 1.0), b.like(y.re, 0.0)
    size_re, size_im = _fabs(b, y.re), _fabs(b, y.im)
    by_real = b.compare("oge", size_re, size_im)
    none = b.and_(b.compare("oeq", size_re, zero), b.compare("oeq", size_im, zero))
    large = b.select(by_real, y.re, y.im)
    small = b.select(by_real, y.im, y.re)
    quotient = b.fdiv if b.is_uniform(y.re) and b.is_uniform(y.im) else functools.partial(exact.divide, b)
    ratio = quotient(small, never_zero(b, large, none))
    scale = quotient(one, never_zero(b, b.add(large, b.mul(small, ratio)), none))
    first, second = b.mul(x.re, ratio), b.mul(x.im, ratio)
    real = b.mul(b.select(by_real, b.add(x.re, second), b.add(first, x.im)), scale)
    imag = b.mul(b.select(by_real, b.sub(x.im, first), b.sub(second, x.re)), scale)
    divisor = never_zero(b, zero, b.not_(none))  # 0 where y is

    def poles() -> list[Value]:
        return [b.select(none, b.fdiv(part, divisor), usual) for part, usual in ((x.re, real), (x.im, imag))]

    if b.observer is not None:
        return Complex(*poles())
    return Complex(*b.unless(none, "complex", lambda: [real, imag], poles))


def reciprocal(b: Builder, x: Complex) -> Complex:
    by_real = b.compare("ole", _fabs(b, x.im), _fabs(b, x.re))
    one = b.like(x.re, 1.0)
    large = b.select(by_real, x.re, x.im)
    small = b.select(by_real, x.im, x.re)
    ratio = exact.divide(b, small, large)
    divisor = b.add(large, b.mul(small, ratio))
    return Complex(
        exact.divide(b, b.select(by_real, one, ratio), divisor),
        b.fdiv(b.fneg(b.select(by_real, ratio, one)), divisor),  # while the others are products
    )


def absolute(b: Builder, x: Complex) -> Value:
    """NumPy's vector loop: the larger part times sqrt(1 + ratio^2), infinite if any part is."""
    zero, infinity = b.like(x.re, 0.0), b.like(x.re, float("inf"))
    re, im = _fabs(b, x.re), _fabs(b, x.im)
    re_infinite, im_infinite = b.compare("oeq", re, infinity), b.compare("oeq", im, infinity)
    im, re = b.select(re_infinite, infinity, im), b.select(im_infinite, infinity, re)
    nan = b.compare("uno", re, im)
    larger = b.select(quiet(b, "ogt", re, im), re, im)
    smaller = b.select(quiet(b, "olt", im, re), im, re)
    smaller = b.select(b.compare("oeq", smaller, infinity), zero, smaller)
    ratio = exact.divide(b, smaller, never_zero(b, larger, b.compare("oeq", larger, zero)))
    root = b.intrinsic("sqrt", [b.fma(ratio, ratio, b.like(re, 1.0))])  # while the quotient is products
    return b.select(nan, b.like(re, float("nan")), b.mul(root, larger))


def sign(b: Builder, x: Complex) -> Complex:
    """x / |x|, with the parts of an infinite x as ±1 and 0."""
    zero, one = b.like(x.re, 0.0), b.like(x.re, 1.0)
    size = call_real(b, "hypot", [x.re, x.im])
    re_infinite, im_infinite = isinf(b, x.re), isinf(b, x.im)
    both = b.and_(re_infinite, im_infinite)
    bad = b.or_(isnan(b, size), both)
    infinite = isinf(b, size)
    none = b.compare("oeq", size, zero)
    divisor = b.select(b.or_(infinite, none), one, size)

    def part(value: Value, rules: Value) -> Value:
        unit = b.intrinsic("copysign", [one, value])
        limit = b.select(rules, unit, zero)
        usual = b.fdiv(b.select(none, zero, value), divisor)
        return b.select(bad, b.like(value, float("nan")), b.select(infinite, limit, usual))

    # A magnitude that overflows from finite parts counts as an infinite imaginary part.
    return Complex(part(x.re, re_infinite), part(x.im, b.not_(re_infinite)))


def rint(b: Builder, x: Complex) -> Complex:
    return Complex(b.intrinsic("rint", [x.re]), b.intrinsic("rint", [x.im]))


def power(b: Builder, x: Complex, y: Complex) -> Complex:
    symbol = _define_power(b, x.re.code)
    return call_pair(b, symbol, [x.re, x.im, y.re, y.im])


def _plain_product(b: Builder, x: Complex, y: Complex) -> Complex:
    """npy_cmul: without fused multiply-add."""
    real = b.sub(b.mul(x.re, y.re), b.mul(x.im, y.im))
    return Complex(real, b.add(b.mul(x.re, y.im), b.mul(x.im, y.re)))


def _define_power(b: Builder, code: str) -> str:
    """npy_cpow on scalars: small integer powers by multiplication, the others by cpow."""
    name = f"npy_cpow.{code}"
    if b.module.has(name):
        return name
    f = Builder(b.module, has_fma=b.has_fma, has_avx2=b.has_avx2, has_avx512=b.has_avx512)
    x = Complex(Value("%ar", code, 1), Value("%ai", code, 1))
    y = Complex(Value("%br", code, 1), Value("%bi", code, 1))
    zero, one = f.const(code, 0.0, 1), f.const(code, 1.0, 1)

    def leave(result: Complex) -> None:
        t = result.re.type
        f.line(f"%{(half := f.fresh('r'))} = insertvalue {{ {t}, {t} }} poison, {result.re}, 0")
        f.line(f"%{(full := f.fresh('r'))} = insertvalue {{ {t}, {t} }} %{half}, {result.im}, 1")
        f.line(f"ret {{ {t}, {t} }} %{full}")

    def leave_if(condition: Value, result: Complex) -> None:
        then, otherwise = f.fresh("then"), f.fresh("otherwise")
        f.branch(condition, then, otherwise)
        f.start(then)
        leave(result)
        f.start(otherwise)

    real_power = f.compare("oeq", y.im, zero)
    leave_if(f.and_(f.compare("oeq", y.re, zero), real_power), Complex(one, zero))
    at_zero = f.and_(f.compare("oeq", x.re, zero), f.compare("oeq", x.im, zero))
    positive = f.compare("ogt", y.re, zero)
    # Infinity less infinity: NaN, and the invalid flag as NumPy raises it.
    operand = f.select(positive, zero, f.const(code, float("inf"), 1))
    limit = f.sub(operand, operand)
    leave_if(at_zero, Complex(limit, limit))

    fits = f.compare("olt", _fabs(f, y.re), f.const(code, 100.0, 1))
    whole = f.and_(f.and_(real_power, fits), f.compare("oeq", f.intrinsic("trunc", [y.re]), y.re))
    powers, library = f.fresh("powers"), f.fresh("library")
    f.branch(whole, powers, library)
    f.start(powers)
    exponent = cast_real(f, y.re, "i8")
    # Up to 3 NumPy multiplies without a leading 1 + 0j, which matters for infinities.
    leave_if(f.compare("eq", exponent, f.like(exponent, 1)), x)
    squared = _plain_product(f, x, x)
    leave_if(f.compare("eq", exponent, f.like(exponent, 2)), squared)
    leave_if(f.compare("eq", exponent, f.like(exponent, 3)), _plain_product(f, x, squared))
    product = _power_loop(f, x, f.intrinsic("abs", [exponent], "i1 false"))
    leave_if(f.compare("sgt", exponent, f.like(exponent, 0)), product)
    leave(_divide_one(f, product))
    f.start(library)
    leave(call_pair(f, define_adapter(b.module, "cpow", code, 2), [x.re, x.im, y.re, y.im]))
    t = one.type
    body = "\n".join(f.lines)
    head = f"define internal {{ {t}, {t} }} @{name}({t} %ar, {t} %ai, {t} %br, {t} %bi) {{"
    b.module.define(name, f"{head}\nentry:\n{body}\n}}")
    return name


def _power_loop(f: Builder, x: Complex, exponent: Value) -> Complex:
    """Square and multiply from 1 + 0j, in NumPy's order."""
    code, t = x.re.code, x.re.type
    before, head, again = f.block, f.fresh("loop"), f.fresh("again")
    f.jump(head)
    f.start(head)
    now = [Value("%" + f.fresh("now"), code, 1) for _ in range(4)]
    after = ["%" + f.fresh("after") for _ in range(4)]
    start = [f.const(code, 1.0, 1), f.const(code, 0.0, 1), x.re, x.im]
    for value, first, following in zip(now, start, after, strict=True):
        f.line(f"{value.ref} = phi {t} [ {first.ref}, %{before} ], [ {following}, %{again} ]")
    left = Value("%" + f.fresh("left"), "i8", 1)
    fewer = "%" + f.fresh("fewer")
    f.line(f"{left.ref} = phi i64 [ {exponent.ref}, %{before} ], [ {fewer}, %{again} ]")
    product, base = Complex(now[0], now[1]), Complex(now[2], now[3])
    odd = f.compare("ne", f.and_(left, f.like(left, 1)), f.like(left, 0))
    times = _plain_product(f, product, base)
    product = Complex(f.select(odd, times.re, product.re), f.select(odd, times.im, product.im))
    f.line(f"{fewer} = lshr i64 {left.ref}, 1")
    done = f.fresh("done")
    f.branch(f.compare("eq", Value(fewer, "i8", 1), f.like(left, 0)), done, again)
    f.start(again)
    squared = _plain_product(f, base, base)
    for name, value in zip(after, (product.re, product.im, squared.re, squared.im), strict=True):
        f.line(f"{name} = select i1 true, {value}, {value}")
    f.jump(head)
    f.start(done)
    return product


def _divide_one(f: Builder, y: Complex) -> Complex:
    one = f.like(y.re, 1.0)
    return divide(f, Complex(one, f.like(y.re, 0.0)), y)
