"""Owns the LLVM lowering of every elementwise op on every compiled dtype: `lower` and `cast`.

Arguments have the dtypes of the NumPy loop.  Results are NumPy's bits (contract C6) but for transcendental
functions of real numbers, which are `vecmath`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..builder import AnyValue, Builder, Complex, Value, is_complex, is_float
from . import arithmetic, comparison, complex_functions, complexes, exact, integer, rounding
from .casts import cast, narrow, truth, widen
from .errors import leaves_no_mark, raises_by_parts, raises_by_status

__all__ = ["cast", "leaves_no_mark", "lower", "raises_by_parts", "raises_by_status", "supported"]

Lowering = Callable[..., Any]


def _identity(b: Builder, x: AnyValue) -> AnyValue:
    return x


def _parts(function: Callable[[Builder, Value], Value]) -> Lowering:
    """A complex op that acts on each part."""

    def lower_parts(b: Builder, x: Complex) -> Complex:
        return Complex(function(b, x.re), function(b, x.im))

    return lower_parts


def _pairwise(function: Callable[[Builder, Value, Value], Value]) -> Lowering:
    def lower_pairs(b: Builder, x: Complex, y: Complex) -> Complex:
        return Complex(function(b, x.re, y.re), function(b, x.im, y.im))

    return lower_pairs


def _named(function: Lowering, name: str) -> Lowering:
    def lower_named(b: Builder, *args: AnyValue) -> Any:
        return function(b, name, *args)

    return lower_named


def _vecmath(name: str) -> Lowering:
    def lower_vecmath(b: Builder, *args: Value) -> Value:
        return arithmetic.transcendental(b, name, args)

    return lower_vecmath


def _select(b: Builder, mask: Value, x: AnyValue, y: AnyValue) -> AnyValue:
    return comparison.choose(b, mask, x, y)


_ANY: dict[str, Lowering] = {
    **{name: _named(comparison.compare, name) for name in comparison.COMPARISONS},
    **{name: _named(comparison.logical, name) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: _named(comparison.extremum, name) for name in ("maximum", "minimum", "fmax", "fmin")},
    "logical_not": lambda b, x: b.not_(truth(b, x)),
    "positive": _identity,
    "real": lambda b, x: x.re if isinstance(x, Complex) else x,
    "imag": lambda b, x: x.im if isinstance(x, Complex) else b.like(x, 0),
    "conjugate": _identity,
    "complex": lambda b, re, im: Complex(re, im),
    "where": _select,
}

_BOOL: dict[str, Lowering] = {
    "add": Builder.or_,
    "multiply": Builder.and_,
    "absolute": _identity,
    "bitwise_and": Builder.and_,
    "bitwise_or": Builder.or_,
    "bitwise_xor": Builder.xor,
    "invert": Builder.not_,
    "isnan": comparison.isnan,
    "isinf": comparison.isinf,
    "isfinite": comparison.isfinite,
    **{name: _identity for name in ("floor", "ceil", "trunc")},
}

_INTEGER: dict[str, Lowering] = {
    "add": Builder.add,
    "subtract": Builder.sub,
    "multiply": Builder.mul,
    "floor_divide": integer.floor_divide,
    "remainder": integer.remainder,
    "fmod": integer.fmod,
    "power": integer.power,
    "negative": arithmetic.negative,
    "absolute": integer.absolute,
    "sign": comparison.sign,
    "square": arithmetic.square,
    "reciprocal": integer.reciprocal,
    "bitwise_and": Builder.and_,
    "bitwise_or": Builder.or_,
    "bitwise_xor": Builder.xor,
    "invert": Builder.not_,
    "left_shift": integer.left_shift,
    "right_shift": integer.right_shift,
    "bitwise_count": integer.bitwise_count,
    "gcd": integer.gcd,
    "lcm": integer.lcm,
    "isnan": comparison.isnan,
    "isinf": comparison.isinf,
    "isfinite": comparison.isfinite,
    **{name: _identity for name in ("floor", "ceil", "trunc", "rint")},
}

_FLOAT: dict[str, Lowering] = {
    "add": Builder.add,
    "subtract": Builder.sub,
    "multiply": Builder.mul,
    "divide": exact.divide,
    "floor_divide": rounding.floor_divide,
    "remainder": rounding.remainder,
    "fmod": rounding.fmod,
    "negative": arithmetic.negative,
    "absolute": arithmetic.fabs,
    "fabs": arithmetic.fabs,
    "sign": comparison.sign,
    **{name: arithmetic.rounded(name) for name in ("rint", "floor", "ceil", "trunc")},
    "sqrt": exact.sqrt,
    "square": arithmetic.square,
    "reciprocal": arithmetic.reciprocal,
    "degrees": arithmetic.degrees,
    "rad2deg": arithmetic.degrees,
    "radians": arithmetic.radians,
    "deg2rad": arithmetic.radians,
    "isnan": comparison.isnan,
    "isinf": comparison.isinf,
    "isfinite": comparison.isfinite,
    "signbit": comparison.signbit,
    "copysign": rounding.copysign,
    "nextafter": rounding.nextafter,
    "spacing": rounding.spacing,
    "ldexp": rounding.ldexp,
    "heaviside": comparison.heaviside,
    "modf_fraction": rounding.modf_fraction,
    "modf_integer": rounding.modf_integer,
    "frexp_mantissa": rounding.frexp_mantissa,
    "frexp_exponent": rounding.frexp_exponent,
    "float_power": _vecmath("power"),
    **{name: _vecmath(name) for name in arithmetic.TRANSCENDENTAL},
    "power": arithmetic.power,
}

# The ops that act on the bits of a half float; all others compute in f4 and round once.
_HALF: dict[str, Lowering] = {
    "negative": lambda b, x: b.bitcast(b.xor(b.bitcast(x, "u2"), b.const("u2", 0x8000, x.lanes)), "f2"),
    "absolute": lambda b, x: b.bitcast(b.and_(b.bitcast(x, "u2"), b.const("u2", 0x7FFF, x.lanes)), "f2"),
    "isnan": comparison.isnan,
    "isinf": comparison.isinf,
    "isfinite": comparison.isfinite,
    "signbit": comparison.signbit,
    "copysign": rounding.copysign,
    "nextafter": rounding.nextafter,
    "spacing": rounding.spacing_half,
}

_COMPLEX: dict[str, Lowering] = {
    "add": _pairwise(Builder.add),
    "subtract": _pairwise(Builder.sub),
    "multiply": complexes.multiply,
    "divide": complexes.divide,
    "negative": _parts(Builder.fneg),
    "conjugate": lambda b, x: Complex(x.re, b.fneg(x.im)),
    "absolute": complexes.absolute,
    "sign": complexes.sign,
    "rint": complexes.rint,
    "square": complexes.square,
    "reciprocal": complexes.reciprocal,
    "isnan": comparison.isnan_complex,
    "isinf": comparison.isinf_complex,
    "isfinite": comparison.isfinite_complex,
    **complex_functions.FUNCTIONS,
}


def _find(op: str, code: str) -> Lowering | None:
    if is_complex(code):
        return _COMPLEX.get(op) or _ANY.get(op)
    if code == "b1":
        return _BOOL.get(op) or _ANY.get(op)
    if code == "f2":
        return _HALF.get(op) or _ANY.get(op)
    return (_FLOAT if is_float(code) else _INTEGER).get(op) or _ANY.get(op)


def supported(op: str, code: str) -> bool:
    """Is there a lowering of `op` for loops whose first argument has dtype `code`?"""
    return _find(op, code) is not None or (code == "f2" and op in _FLOAT)


def lower(b: Builder, op: str, args: Sequence[AnyValue], code: str) -> AnyValue:
    """Emits `op` on arguments that have the loop's dtypes; the result has dtype `code`."""
    if op == "cast":
        return cast(b, args[0], code)
    source = args[0].code
    found = _find(op, source)
    if found is None and source == "f2" and op in _FLOAT:
        wide = [widen(b, a) if isinstance(a, Value) and a.code == "f2" else a for a in args]
        value = _FLOAT[op](b, *wide)
        return narrow(b, value) if value.code == "f4" and code == "f2" else value
    if found is None:
        raise NotImplementedError(f"no lowering of {op} for {source}")
    result: AnyValue = found(b, *args)
    assert result.code == code, f"{op} on {source} gave {result.code}, not {code}"
    return result
