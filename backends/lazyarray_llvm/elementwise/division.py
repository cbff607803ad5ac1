"""Owns quotients of floats: where one number divides a whole row, they are products with its inverse, put right."""

from __future__ import annotations

from typing import Final

from ..builder import Builder, Value, itemsize
from .flags import never_zero

# Powers of two between which numbers lie whose quotients, and all that is rounded on the way to them, are normal.
_DIVISORS: Final = {"f8": (-300, 300), "f4": (-24, 26)}
_DIVIDENDS: Final = {"f8": (-700, 700), "f4": (-98, 98)}
_MANTISSA: Final = {"f8": 52, "f4": 23}
_BIAS: Final = {"f8": 1023, "f4": 127}


def divide(b: Builder, x: Value, y: Value) -> Value:
    """x / y, rounded once.

    To divide a vector takes four times what three products take. With z = 1 / y, q = x z and r = q y - x, each rounded,
    q - r z rounded once is x / y rounded, where nothing on the way is too large or too small (P. Markstein, IBM J. Res.
    Dev. 34, 1990; N. Brisebarre, J.-M. Muller and S. Raina, IEEE Trans. Comput. 53, 2004): q is less than 3/2 units in
    the last place away from x / y, r is exact where q is one away or less, and what r z lacks of r / y is less than the
    way from x / y to the next number in the middle between two others, which a quotient never is. With r and not -r,
    zeros keep their sign where y is positive. Vectors with other numbers, or that other numbers divide, are divided.
    """
    if not _has_inverse(b, x, y):
        return b.fdiv(x, y)
    inverse = b.of_number(y, "inverse", lambda one: _inverse(b, one))
    unfit = b.or_(_unfit_dividends(b, x, y), b.of_number(y, "unfit", lambda one: _is_outside(b, one, _DIVISORS)))
    quick, slow, done = b.fresh("divide.quick"), b.fresh("divide.slow"), b.fresh("divide.done")
    b.branch(b.any(unfit), slow, quick)
    b.start(quick)
    near = b.mul(x, inverse)
    rest = b.fma(near, y, b.fneg(x))
    exact = b.fma(b.fneg(rest), inverse, near)
    b.jump(done)
    b.start(slow)
    divided = b.fdiv(x, y)
    b.jump(done)
    b.start(done)
    return b.phi(x.code, x.lanes, [(exact, quick), (divided, slow)], "quotient")


def _has_inverse(b: Builder, x: Value, y: Value) -> bool:
    """Whether y divides many vectors, on a host where products are the quicker way, and nobody looks at the parts."""
    pays = b.has_avx512 if x.code == "f4" else b.has_avx2
    ahead = y.ref in b.once or (b.walks and y.ref in b.ahead)
    return pays and b.has_fma and x.code in _BIAS and ahead and b.observer is None


def _limits(code: str, exponents: tuple[int, int]) -> tuple[int, int]:
    """The bits of two powers of two, shifted by one as those of `_without_sign`."""
    low, high = (2 * (_BIAS[code] + exponent) << _MANTISSA[code] for exponent in exponents)
    return low, high


def _without_sign(b: Builder, x: Value) -> Value:
    bits = b.bitcast(x, f"i{x.code[1]}")
    return b.binary("shl", bits, b.like(bits, 1))


def _is_outside(b: Builder, x: Value, exponents: dict[str, tuple[int, int]]) -> Value:
    low, high = _limits(x.code, exponents[x.code])
    twice = _without_sign(b, x)
    return b.compare("ugt", b.sub(twice, b.like(twice, low)), b.like(twice, high - low))


def _unfit_dividends(b: Builder, x: Value, y: Value) -> Value:
    """Lanes that are too large, too small, or a zero whose sign y turns."""
    twice = _without_sign(b, x)
    sign = b.of_number(y, "sign", lambda one: _sign(b, one))  # as 1, which is twice no number
    return b.and_(_is_outside(b, x, _DIVIDENDS), b.compare("ne", twice, sign))


def _sign(b: Builder, y: Value) -> Value:
    bits = b.bitcast(y, f"i{y.code[1]}")
    return b.binary("lshr", bits, b.like(bits, 8 * itemsize(y.code) - 1))


def _inverse(b: Builder, y: Value) -> Value:
    """1 / y for a divisor that fits; it raises nothing for others."""
    twice = _without_sign(b, y)
    small = b.compare("ult", twice, b.like(twice, _limits(y.code, _DIVISORS[y.code])[0]))
    return b.fdiv(b.like(y, 1.0), never_zero(b, y, small))
