"""Owns integer arithmetic: division without traps, shifts, powers, gcd and lcm, bit counts."""

from __future__ import annotations

from ..builder import Builder, Value, is_signed, itemsize
from .casts import cast_real, resize
from .flags import quiet


def _zero(b: Builder, x: Value) -> Value:
    return b.compare("eq", x, b.like(x, 0))


def quotient(b: Builder, x: Value, y: Value) -> Value:
    """x / y rounded toward zero; 0 where y is 0, the smallest number for smallest / -1."""
    if itemsize(x.code) <= 4:
        return _by_floats(b, x, y, "f4" if itemsize(x.code) < 4 else "f8")
    return _wide_quotient(b, x, y)


def _by_instruction(b: Builder, x: Value, y: Value) -> Value:
    bad = _zero(b, y)
    if is_signed(x.code):
        low = -(1 << (8 * itemsize(x.code) - 1))
        wraps = b.and_(b.compare("eq", x, b.like(x, low)), b.compare("eq", y, b.like(y, -1)))
        safe = b.select(b.or_(bad, wraps), b.like(y, 1), y)
        return b.select(bad, b.like(x, 0), b.binary("sdiv", x, safe))
    return b.select(bad, b.like(x, 0), b.binary("udiv", x, b.select(bad, b.like(y, 1), y)))


def _by_floats(b: Builder, x: Value, y: Value, code: str) -> Value:
    """By float division, exact after truncation: with x*y below 2^mantissa none rounds up to an integer.

    A zero divisor divides 1, so that the divide-by-zero flag is raised as NumPy raises it.
    """
    bad = _zero(b, y)
    between = "i4" if itemsize(x.code) < 4 else "i8"
    if x.code == "i4":
        # -2^31 / -1 = 2^31 wraps when the 64-bit quotient is cut to 32 bits.
        between = "i8"
    top = cast_real(b, b.select(bad, b.like(x, 1), x), code)
    ratio = b.fdiv(top, cast_real(b, y, code))
    # An infinity is cut down to what converts quietly. Choosing 0 here would let LLVM mask the division,
    # flag and all.
    finite = b.select(
        quiet(b, "olt", ratio, b.like(ratio, 2.0**30 if between == "i4" else 2.0**62)),
        ratio,
        b.like(ratio, 0.0),
    )
    return b.select(bad, b.like(x, 0), resize(b, b.convert("fptosi", finite, between), x.code))


def _wide_quotient(b: Builder, x: Value, y: Value) -> Value:
    """64 bits: through doubles while every operand is below 2^52 in magnitude, else lane by lane."""
    quick, slow, done = b.fresh("divide.quick"), b.fresh("divide.slow"), b.fresh("divide.done")
    limit = 1 << 52
    if is_signed(x.code):
        offset = [b.add(v, b.like(v, limit)) for v in (x, y)]
        small = [b.compare("ult", v, b.like(v, 2 * limit)) for v in offset]
    else:
        small = [b.compare("ult", v, b.like(v, limit)) for v in (x, y)]
    large = b.any(b.not_(b.and_(small[0], small[1])))
    b.branch(large, slow, quick)
    b.start(quick)
    first = _by_floats(b, x, y, "f8")
    from_quick = b.block
    b.jump(done)
    b.start(slow)
    second = _by_instruction(b, x, y)
    from_slow = b.block
    b.jump(done)
    b.start(done)
    return b.phi(x.code, x.lanes, [(first, from_quick), (second, from_slow)])


def fmod(b: Builder, x: Value, y: Value) -> Value:
    """The remainder with the sign of x; 0 where y is 0."""
    rest = b.sub(x, b.mul(quotient(b, x, y), y))
    return b.select(_zero(b, y), b.like(x, 0), rest)


def _floored(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    """Quotient rounded down and remainder with the sign of y; both 0 where y is 0."""
    whole = quotient(b, x, y)
    rest = b.select(_zero(b, y), b.like(x, 0), b.sub(x, b.mul(whole, y)))
    if not is_signed(x.code):
        return whole, rest
    differ = b.compare("slt", b.xor(rest, y), b.like(x, 0))
    adjust = b.and_(differ, b.not_(_zero(b, rest)))
    lower = b.select(adjust, b.sub(whole, b.like(x, 1)), whole)
    return lower, b.select(adjust, b.add(rest, y), rest)


def floor_divide(b: Builder, x: Value, y: Value) -> Value:
    return _floored(b, x, y)[0]


def remainder(b: Builder, x: Value, y: Value) -> Value:
    return _floored(b, x, y)[1]


def power(b: Builder, x: Value, exponent: Value) -> Value:
    """Square and multiply, wrapping; the caller has refused negative exponents."""
    head, body, done = b.fresh("power.head"), b.fresh("power.body"), b.fresh("power.done")
    before = b.block
    b.jump(head)
    b.start(head)
    names = ["%" + b.fresh(f"power.{part}") for part in ("base", "left", "out")]
    base, left, out = (Value(name, x.code, x.lanes) for name in names)
    more = ["%" + b.fresh(f"power.{part}.next") for part in ("base", "left", "out")]
    for now, start, after in zip((base, left, out), (x, exponent, b.like(x, 1)), more, strict=True):
        b.line(f"{now.ref} = phi {now.type} [ {start.ref}, %{before} ], [ {after}, %{body} ]")
    b.branch(b.any(b.not_(_zero(b, left))), body, done)
    b.start(body)
    odd = b.compare("ne", b.and_(left, b.like(left, 1)), b.like(left, 0))
    times = b.select(odd, base, b.like(base, 1))
    b.line(f"{more[2]} = mul {out.type} {out.ref}, {times.ref}")
    b.line(f"{more[0]} = mul {base.type} {base.ref}, {base.ref}")
    b.line(f"{more[1]} = lshr {left.type} {left.ref}, {b.like(left, 1).ref}")
    b.jump(head)
    b.start(done)
    return out


def left_shift(b: Builder, x: Value, count: Value) -> Value:
    """0 where the count is negative or not below the width."""
    inside = b.compare("ult", count, b.like(count, 8 * itemsize(x.code)))
    safe = b.select(inside, count, b.like(count, 0))
    return b.select(inside, b.binary("shl", x, safe), b.like(x, 0))


def right_shift(b: Builder, x: Value, count: Value) -> Value:
    """0, or -1 for negative numbers, where the count is negative or not below the width."""
    width = 8 * itemsize(x.code)
    inside = b.compare("ult", count, b.like(count, width))
    if is_signed(x.code):
        return b.binary("ashr", x, b.select(inside, count, b.like(count, width - 1)))
    safe = b.select(inside, count, b.like(count, 0))
    return b.select(inside, b.binary("lshr", x, safe), b.like(x, 0))


def bitwise_count(b: Builder, x: Value) -> Value:
    """The set bits of |x|, as u1."""
    return resize(b, b.intrinsic("ctpop", [absolute(b, x)]), "u1")


def absolute(b: Builder, x: Value) -> Value:
    return b.intrinsic("abs", [x], "i1 false") if is_signed(x.code) else x


def reciprocal(b: Builder, x: Value) -> Value:
    """1.0 / x cast back, as NumPy: 0 but for x of 1, -1 and 0."""
    ratio = b.fdiv(b.const("f8", 1.0, x.lanes), cast_real(b, x, "f8"))
    return cast_real(b, ratio, x.code)


def gcd(b: Builder, x: Value, y: Value) -> Value:
    return Value(_gcd(b, *_magnitudes(b, x, y)).ref, x.code, x.lanes)


def lcm(b: Builder, x: Value, y: Value) -> Value:
    """|x| / gcd * |y|, wrapping; 0 where both are 0."""
    first, second = _magnitudes(b, x, y)
    common = _gcd(b, first, second)
    common = b.intrinsic("umax", [common, b.like(common, 1)])
    return Value(b.mul(quotient(b, first, common), second).ref, x.code, x.lanes)


def _magnitudes(b: Builder, x: Value, y: Value) -> tuple[Value, Value]:
    code = "u" + x.code[1:]
    first, second = absolute(b, x), absolute(b, y)
    return Value(first.ref, code, x.lanes), Value(second.ref, code, x.lanes)


def _trailing_zeros(b: Builder, x: Value) -> Value:
    """A shift count, 0 for x = 0."""
    count = b.intrinsic("cttz", [x], "i1 false")
    return b.select(_zero(b, x), b.like(x, 0), count)


def _gcd(b: Builder, x: Value, y: Value) -> Value:
    """Stein's binary algorithm, until the slowest lane is done: it needs no division."""
    shift = _trailing_zeros(b, b.or_(x, y))
    none = _zero(b, x)
    odd = b.select(none, y, x)
    start_u = b.binary("lshr", odd, _trailing_zeros(b, odd))
    start_v = b.select(none, b.like(y, 0), y)
    head, body, done = b.fresh("gcd.head"), b.fresh("gcd.body"), b.fresh("gcd.done")
    before = b.block
    b.jump(head)
    b.start(head)
    u = Value("%" + b.fresh("gcd.u"), x.code, x.lanes)
    v = Value("%" + b.fresh("gcd.v"), x.code, x.lanes)
    next_u, next_v = "%" + b.fresh("gcd.u.next"), "%" + b.fresh("gcd.v.next")
    b.line(f"{u.ref} = phi {u.type} [ {start_u.ref}, %{before} ], [ {next_u}, %{body} ]")
    b.line(f"{v.ref} = phi {v.type} [ {start_v.ref}, %{before} ], [ {next_v}, %{body} ]")
    finished = _zero(b, v)
    b.branch(b.any(b.not_(finished)), body, done)
    b.start(body)
    reduced = b.binary("lshr", v, _trailing_zeros(b, v))
    low, high = b.intrinsic("umin", [u, reduced]), b.intrinsic("umax", [u, reduced])
    b.line(f"{next_u} = select {finished}, {u}, {low}")
    b.line(f"{next_v} = select {finished}, {v}, {b.sub(high, low)}")
    b.jump(head)
    b.start(done)
    return b.binary("shl", u, shift)
