"""Owns integer arithmetic: division without traps, shifts, powers, gcd and lcm, bit counts."""

from __future__ import annotations

from ..builder import Builder, Value, is_signed, itemsize
from .casts import by_bits, cast_real, resize


def _zero(b: Builder, x: Value) -> Value:
    return b.compare("eq", x, b.like(x, 0))


def _by_instruction(b: Builder, x: Value, y: Value) -> Value:
    bad = _zero(b, y)
    if is_signed(x.code):
        low = -(1 << (8 * itemsize(x.code) - 1))
        wraps = b.and_(b.compare("eq", x, b.like(x, low)), b.compare("eq", y, b.like(y, -1)))
        safe = b.select(b.or_(bad, wraps), b.like(y, 1), y)
        return b.select(bad, b.like(x, 0), b.binary("sdiv", x, safe))
    return b.select(bad, b.like(x, 0), b.binary("udiv", x, _nonzero(b, y)))


def _divide(b: Builder, x: Value, y: Value, *, down: bool) -> tuple[Value, Value]:
    """The quotient, rounded down or toward zero, and what is left of x; both 0 where y is 0."""
    size = itemsize(x.code)
    if size == 8:
        return _divide_wide(b, x, y, down)
    whole = _by_floats(b, x, y, "f4" if size < 4 else "f8", down)
    rest = _rest(b, x, y, whole)
    return (whole, rest) if not down or b.has_fma else _lowered(b, whole, rest, y)


def _rest(b: Builder, x: Value, y: Value, whole: Value) -> Value:
    return b.select(_zero(b, y), b.like(x, 0), b.sub(x, b.mul(whole, y)))


def _lowered(b: Builder, whole: Value, rest: Value, y: Value) -> tuple[Value, Value]:
    """A quotient toward zero, and its rest, rounded down."""
    if not is_signed(rest.code):
        return whole, rest
    differ = b.compare("slt", b.xor(rest, y), b.like(rest, 0))
    adjust = b.and_(differ, b.not_(_zero(b, rest)))
    return b.select(adjust, b.sub(whole, b.like(whole, 1)), whole), b.select(adjust, b.add(rest, y), rest)


def _by_floats(b: Builder, x: Value, y: Value, code: str, down: bool) -> Value:
    """Up to 32 bits: by float division, exact after rounding, as with x*y below 2^mantissa none rounds to an integer.

    Rounded toward zero where the host has no instruction that rounds down.
    """
    bad = _zero(b, y)
    if _has_inverse(b, y, down):
        # The bits of what is added end in as many zeros as the integers have bits.
        return b.select(bad, b.like(x, 0), resize(b, _by_inverse(b, cast_real(b, x, code), y)[0], x.code))
    ratio = b.fdiv(cast_real(b, x, code), cast_real(b, _nonzero(b, y), code))
    if b.has_fma and ((down and is_signed(x.code)) or code == "f8"):
        ratio = b.intrinsic("floor" if down else "trunc", [ratio])
    # -2^31 / -1 = 2^31 wraps when a 64-bit quotient is cut to 32 bits.
    whole = _of_doubles(b, ratio, "i8") if code == "f8" and b.has_fma else b.convert("fptosi", ratio, f"i{code[1]}")
    return b.select(bad, b.like(x, 0), resize(b, whole, x.code))


_NARROW = 1 << 50  # doubles hold integers below this magnitude, their halves and what is between these


def _divide_wide(b: Builder, x: Value, y: Value, down: bool) -> tuple[Value, Value]:
    """64 bits: through doubles while every operand is below 2^50 in magnitude, else lane by lane."""
    low = _NARROW if is_signed(x.code) else 0
    beyond = b.or_(*[b.add(v, b.like(v, low)) if low else v for v in (x, y)])
    high = b.and_(beyond, b.like(x, -2 * _NARROW if low else (1 << 64) - _NARROW))

    def by_instruction() -> tuple[Value, Value]:
        whole = _by_instruction(b, x, y)
        rest = _rest(b, x, y, whole)
        return _lowered(b, whole, rest, y) if down else (whole, rest)

    wide = b.not_(_zero(b, high))
    whole, rest = b.unless(wide, "divide", lambda: _by_doubles(b, x, y, down), by_instruction)
    return whole, rest


def _by_doubles(b: Builder, x: Value, y: Value, down: bool) -> tuple[Value, Value]:
    """Quotients of integers below 2^50, exact as in `_by_floats`, and rests: no part of x - whole * y is rounded."""
    bad, top = _zero(b, y), _to_doubles(b, x)
    if _has_inverse(b, y, down):
        bits, ratio = _by_inverse(b, top, y)
        whole = b.sub(bits, b.like(bits, _BINADE_BITS["f8"]))
    else:
        ratio = b.fdiv(top, _to_doubles(b, _nonzero(b, y)))
        if b.has_fma:
            ratio = b.intrinsic("floor" if down else "trunc", [ratio])
        whole = _of_doubles(b, ratio, "i8")
    if b.has_fma:
        rest = _of_doubles(b, b.fma(b.fneg(ratio), _to_doubles(b, y), top), "i8")
    else:
        rest = b.sub(x, b.mul(whole, y))
        if down:
            whole, rest = _lowered(b, whole, Value(rest.ref, x.code, x.lanes), y)
    found = [b.select(bad, b.like(x, 0), Value(v.ref, x.code, x.lanes)) for v in (whole, rest)]
    return found[0], found[1]


def _nonzero(b: Builder, y: Value) -> Value:
    return b.select(_zero(b, y), b.like(y, 1), y)


def _has_inverse(b: Builder, y: Value, down: bool) -> bool:
    """Whether quotients by y are products with its inverse: it is the same everywhere, and they are rounded down."""
    return b.is_uniform(y) and b.has_fma and (down or not is_signed(y.code))


# The doubles (floats) around these are integers apart: adding one rounds to an integer, which their last bits then are.
_BINADE = {"f8": 1.5 * 2.0**52, "f4": 1.5 * 2.0**23}
_BINADE_BITS = {"f8": 0x4338000000000000, "f4": 0x4B400000}


def _by_inverse(b: Builder, top: Value, y: Value) -> tuple[Value, Value]:
    """Integers in floats over one integer, rounded down: as the bits that `_BINADE` is added to, and as floats.

    floor(x / y) is the integer next to v = x / y + 1 / (2 |y|) - 1/2, which is 1 / (2 |y|) away from the middle between
    two, or further. As one fused product and sum, of the inverse and of |inverse| / 2 - 1/2, v is off by less than half
    of that for x below a quarter of 2^mantissa; and adding a large number rounds to what is next.
    """
    code = top.code

    def inverse(one: Value) -> Value:
        return b.fdiv(b.const(code, 1.0, one.lanes), _as_float(b, _nonzero(b, one), code))

    def shift(one: Value) -> Value:
        halved = b.mul(inverse(one), b.const(code, 0.5, one.lanes))
        return b.sub(b.intrinsic("fabs", [halved]), b.const(code, 0.5, one.lanes))

    near = b.fma(top, b.of_number(y, f"inverse {code}", inverse), b.of_number(y, f"shift {code}", shift))
    rounded = b.add(near, b.like(near, _BINADE[code]))
    return b.bitcast(rounded, f"i{code[1]}"), b.sub(rounded, b.like(rounded, _BINADE[code]))


def _as_float(b: Builder, value: Value, code: str) -> Value:
    return _to_doubles(b, value) if itemsize(value.code) == 8 else cast_real(b, value, code)


def _to_doubles(b: Builder, value: Value) -> Value:
    """Integers below 2^51 in magnitude: added to the bits of a double, which is then subtracted."""
    if not by_bits(b, value):
        return cast_real(b, value, "f8")
    shifted = b.bitcast(b.add(value, b.like(value, _BINADE_BITS["f8"])), "f8")
    return b.sub(shifted, b.like(shifted, _BINADE["f8"]))


def _of_doubles(b: Builder, value: Value, code: str) -> Value:
    """Doubles that are integers below 2^51 in magnitude, as those; others toward zero where the host converts."""
    if not by_bits(b, value):
        return b.convert("fptosi", value, code)
    bits = b.bitcast(b.add(value, b.like(value, _BINADE["f8"])), code)
    return b.sub(bits, b.like(bits, _BINADE_BITS["f8"]))


def fmod(b: Builder, x: Value, y: Value) -> Value:
    """The remainder with the sign of x; 0 where y is 0."""
    return _divide(b, x, y, down=False)[1]


def floor_divide(b: Builder, x: Value, y: Value) -> Value:
    return _divide(b, x, y, down=True)[0]


def remainder(b: Builder, x: Value, y: Value) -> Value:
    return _divide(b, x, y, down=True)[1]


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
    """0 where the count is negative or not below the width: what LLVM's shift is there is not chosen.

    In this form LLVM knows it for what the vectors' shifts of x86 do themselves.
    """
    inside = b.compare("ult", count, b.like(count, 8 * itemsize(x.code)))
    return b.select(inside, b.binary("shl", x, count), b.like(x, 0))


def right_shift(b: Builder, x: Value, count: Value) -> Value:
    """0, or -1 for negative numbers, where the count is negative or not below the width."""
    width = 8 * itemsize(x.code)
    inside = b.compare("ult", count, b.like(count, width))
    if is_signed(x.code):
        return b.binary("ashr", x, b.select(inside, count, b.like(count, width - 1)))
    return b.select(inside, b.binary("lshr", x, count), b.like(x, 0))


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
    return Value(b.mul(_divide(b, first, common, down=False)[0], second).ref, x.code, x.lanes)


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
