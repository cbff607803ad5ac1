"""Owns quotients and square roots of floats, each rounded once: as products, where a CPU divides slowly.

A CPU takes 16 to 24 cycles to divide a vector of eight float64, or to take its roots, and meanwhile does other work but
no second division. Four cycles of products give quotients by one number, ten any others and roots: which pays where
there is little other work (`lower/dividing.py` chooses). All steps are on normal numbers; vectors in which others are,
take the instruction.

The proofs, for p bits, numbers in [1, 2) and u = 2^(1-p), an ulp there:

- Quotients (P. Markstein, IBM J. Res. Dev. 34, 1990; N. Brisebarre, J.-M. Muller, S. Raina, IEEE Trans. Comput. 53,
  2004). z = 1 / y rounded is off by u/4 at most; q = x z rounded by less than 3/2 of its last place, and r = x - q y
  is a float where q is off by one or less. q + r z differs from x / y by |q - x / y| |1 - y z|, and the next number in
  the middle between two floats by a multiple k of u^2 / (2 y) (half of it for x < y), which is more: for k = 1, q is
  half a place off. So rounding q + r z gives what rounding x / y gives.
- Inverses. From a guess to 2^-14 on, each step z + z (1 - y z) squares its error; the last is of a z that is off by
  less than one place, so 1 - y z is a float, and z ends as 1 / y rounded, or off by (u/4) (1 + 3 u/2), which does not
  matter above but for y = 2 - u: that one is divided.
- Roots (M. Cornea-Hasegan, R. Golliver, P. Markstein, ARITH 14, 1999). Before its last rounding s = g + (x - g^2) h is
  less than 23 * 2^-106 away from the root of x in [1, 4). Where the middle m between two floats is as near, x - m^2 is
  k * 2^-106, |k| < 92: these x are few, and `tests/backends/test_quotients_and_roots.py` takes the roots of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..builder import Builder, Value, itemsize
from ..vecmath.formats import FORMATS
from ..vecmath.registers import by_registers
from .flags import never_zero

# The smallest power of two that fits, and of how many powers the largest does not.
DIVIDENDS: Final = {"f8": (-512, 1024), "f4": (-90, 128)}
DIVISORS: Final = {"f8": (-256, 512), "f4": (-32, 64)}
RADICANDS: Final = {"f8": (-512, 1024)}


def divide(b: Builder, x: Value, y: Value) -> Value:
    """x / y, rounded once."""
    ahead = y.ref in b.once or (b.walks and y.ref in b.ahead)
    if ahead and _may(b, x) and (b.has_avx512 or (b.has_avx2 and x.code == "f8")):
        inverse = b.of_number(y, "inverse", lambda one: _inverse_of_one(b, one))
        unfit = b.of_number(y, "unfit", lambda one: _outside(b, one, DIVISORS))
        return _product(b, x, y, unfit, lambda: inverse)
    if _is_slow(b, x) and not b.is_uniform(y):
        return _product(b, x, y, _unfit_divisors(b, y), lambda: _inverse(b, y))
    return b.fdiv(x, y)


def sqrt(b: Builder, x: Value) -> Value:
    """The square root, rounded once."""
    if not _is_slow(b, x):
        return b.intrinsic("sqrt", [x])
    some = _nonzero(b, x)
    unfit = b.and_(some, _outside(b, x, RADICANDS, signed=True))
    return b.unless(unfit, "root", lambda: [_root(b, x, some)], lambda: [b.intrinsic("sqrt", [x])])[0]


def _is_slow(b: Builder, x: Value) -> bool:
    """Whether the CPU divides vectors slowly, and these may be products."""
    return b.slow_division and x.code == "f8" and x.lanes >= 8 and _may(b, x)


def _may(b: Builder, x: Value) -> bool:
    """Whether quotients of these may be products, at whose parts nobody looks for errors."""
    return b.by_products and b.has_fma and x.code in FORMATS and x.lanes > 1 and b.observer is None


def _product(b: Builder, x: Value, y: Value, unfit: Value, inverse: Callable[[], Value]) -> Value:
    some = _nonzero(b, x)
    unfit = b.or_(b.and_(some, _outside(b, x, DIVIDENDS)), unfit)

    def quick() -> list[Value]:
        z = inverse()
        near = b.mul(x, z)
        rest = b.fma(b.fneg(near), y, x)
        return [b.select(some, b.fma(rest, z, near), near)]  # zeros keep their sign

    return b.unless(unfit, "quotient", quick, lambda: [b.fdiv(x, y)])[0]


# -- what fits -------------------------------------------------------------------------------------------------
def _above(b: Builder, x: Value, limits: dict[str, tuple[int, int]], more: int = 0) -> tuple[Value, int]:
    """The bits less those of the smallest power of two that fits, and the mask of what is then 0 in all that fit.

    In what is larger some of it is not, and in what is smaller, which borrows it. Signs do not matter.
    """
    (low, powers), form = limits[x.code], FORMATS[x.code]
    bits, top = b.bits(x), 1 << 8 * itemsize(x.code) - 1
    least = b.like(bits, (form.bias + low << form.fraction_bits) - more)
    return b.binary("sub", bits, least, "above"), top - (powers << form.fraction_bits)


def _has(b: Builder, bits: Value, mask: int) -> Value:
    return b.compare("ne", b.binary("and", bits, b.like(bits, mask), "some"), b.like(bits, 0))


def _outside(b: Builder, x: Value, limits: dict[str, tuple[int, int]], *, signed: bool = False) -> Value:
    """Lanes whose size does not fit; `signed`: negative ones do not, either."""
    above, mask = _above(b, x, limits)
    return _has(b, above, mask | (mask << 1) if signed else mask)


def _nonzero(b: Builder, x: Value) -> Value:
    return _has(b, b.bits(x), FORMATS[x.code].magnitude)


def _unfit_divisors(b: Builder, y: Value) -> Value:
    above, mask = _above(b, y, DIVISORS, more=1)
    fraction = b.and_(above, b.like(above, (1 << FORMATS[y.code].fraction_bits) - 1))  # 0 if all its bits were set
    return b.or_(_has(b, above, mask), b.compare("eq", fraction, b.like(above, 0)))


# -- inverses --------------------------------------------------------------------------------------------------
def _inverse_of_one(b: Builder, y: Value) -> Value:
    """1 / y for a divisor that fits; it raises nothing for others."""
    bits, form = b.bits(y), FORMATS[y.code]
    smallest = form.bias + DIVISORS[y.code][0] << form.fraction_bits
    small = b.compare("ult", b.binary("shl", bits, b.like(bits, 1)), b.like(bits, 2 * smallest))
    return b.fdiv(b.like(y, 1.0), never_zero(b, y, small))


def _inverse(b: Builder, y: Value) -> Value:
    name = "llvm.x86.avx512.rcp14.pd.512"
    b.module.declare(name, "<8 x double>", ["<8 x double>", "<8 x double>", "i8"])
    rest = [b.const("f8", 0.0, 8), Value("-1", "i1", 1)]
    z = by_registers(b, lambda part: b.call(name, "f8", 8, [part, *rest], "guess"), y)
    for _ in range(3):
        z = b.fma(z, b.fma(b.fneg(y), z, b.like(y, 1.0)), z)
    return z


# -- roots -----------------------------------------------------------------------------------------------------
# Half the bits of x below this are those of 1 / sqrt(x) to 15 %, and this polynomial of x y^2 over 2 puts y / 2 right
# to 2^-15.9: fitted where errors to both sides are equal. (With no guess of the CPU's, all take the same steps.)
_HALVED_FROM: Final = 0x5FE3F350C7B537A9
_SMALLER: Final = (0.66968054 / 2, -1.77130767 / 2, 2.10647744 / 2)


def _root(b: Builder, x: Value, some: Value) -> Value:
    bits = b.bits(x)
    guess = b.bitcast(b.sub(b.like(bits, _HALVED_FROM), b.binary("lshr", bits, b.like(bits, 1))), "f8")
    square = b.mul(x, b.mul(guess, guess))
    factor = b.like(x, _SMALLER[0])
    for term in _SMALLER[1:]:
        factor = b.fma(factor, square, b.like(x, term))
    h = b.mul(guess, factor)
    g = b.mul(b.add(x, x), h)
    for _ in range(2):
        r = b.fma(b.fneg(g), h, b.like(x, 0.5))
        g, h = b.fma(g, r, g), b.fma(h, r, h)
    rest = b.fma(b.fneg(g), g, x)
    return b.select(some, b.fma(rest, h, g), x)  # a zero is its own root
