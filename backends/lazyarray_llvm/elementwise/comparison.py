"""Owns comparisons, logic, and the choices made by comparing (maximum, fmin, where, sign, heaviside)."""

from __future__ import annotations

from ..builder import AnyValue, Builder, Complex, Predicate, Value, is_float, is_signed
from ..vecmath.registers import better
from .casts import cast_real, truth, widen
from .flags import quiet

_FLOAT: dict[str, Predicate] = {
    "equal": "oeq",
    "not_equal": "une",
    "less": "olt",
    "less_equal": "ole",
    "greater": "ogt",
    "greater_equal": "oge",
}
_SIGNED: dict[str, Predicate] = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "slt",
    "less_equal": "sle",
    "greater": "sgt",
    "greater_equal": "sge",
}
_UNSIGNED: dict[str, Predicate] = {
    "equal": "eq",
    "not_equal": "ne",
    "less": "ult",
    "less_equal": "ule",
    "greater": "ugt",
    "greater_equal": "uge",
}
COMPARISONS = frozenset(_FLOAT)


def compare(b: Builder, op: str, x: AnyValue, y: AnyValue) -> Value:
    """One of the six comparisons on two values of one dtype, or on i8 and u8 mixed."""
    if isinstance(x, Complex) and isinstance(y, Complex):
        return _compare_complex(b, op, x, y)
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    if x.code == "f2":
        x, y = widen(b, x), widen(b, y)
    if x.code != y.code:
        return _compare_mixed(b, op, x, y)
    if is_float(x.code):
        return quiet(b, _FLOAT[op], x, y)
    return b.compare((_SIGNED if is_signed(x.code) else _UNSIGNED)[op], x, y)


def _compare_mixed(b: Builder, op: str, x: Value, y: Value) -> Value:
    """int64 with uint64, exactly: a negative number is below every unsigned one."""
    signed = x if is_signed(x.code) else y
    negative = b.compare("slt", signed, b.like(signed, 0))
    same = b.compare(_UNSIGNED[op], x, y)
    below = {"equal": False, "not_equal": True}.get(op, op.startswith("less") == (signed is x))
    return b.select(negative, b.like(same, below), same)


def _compare_complex(b: Builder, op: str, x: Complex, y: Complex, *, warns: bool = True) -> Value:
    """Lexicographic; an ordering is false where the deciding real parts come with a NaN imaginary part.

    NumPy's complex orderings do raise the invalid flag for NaN, its maximum and its like do not.
    """
    ordered = Builder.compare if warns else quiet
    if op == "equal":
        return b.and_(b.compare("oeq", x.re, y.re), b.compare("oeq", x.im, y.im))
    if op == "not_equal":
        return b.or_(b.compare("une", x.re, y.re), b.compare("une", x.im, y.im))
    strict = _FLOAT[op.removesuffix("_equal")]
    by_real = b.and_(ordered(b, strict, x.re, y.re), b.compare("ord", x.im, y.im))
    tied = b.and_(b.compare("oeq", x.re, y.re), ordered(b, _FLOAT[op], x.im, y.im))
    return b.or_(by_real, tied)


def logical(b: Builder, op: str, x: AnyValue, y: AnyValue) -> Value:
    first, second = truth(b, x), truth(b, y)
    if op == "logical_and":
        return b.and_(first, second)
    return b.or_(first, second) if op == "logical_or" else b.xor(first, second)


def choose(b: Builder, mask: Value, x: AnyValue, y: AnyValue) -> AnyValue:
    """x where mask else y."""
    if isinstance(x, Complex) and isinstance(y, Complex):
        return Complex(b.select(mask, x.re, y.re), b.select(mask, x.im, y.im))
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    return b.select(mask, x, y)


def chosen_half(b: Builder, mask: Value, x: Value, y: Value) -> Value:
    """x where mask else y, of halves that were widened to be compared: whoever widens the result has it by then.

    What nobody asks for of the two, the half or its float, is in no machine code.
    """
    half = b.select(mask, x, y)
    b.widened[half.ref] = b.select(mask, widen(b, x), widen(b, y))
    return half


def extremum(b: Builder, op: str, x: AnyValue, y: AnyValue) -> AnyValue:
    """maximum minimum (NaN wins) fmax fmin (NaN loses)."""
    larger = op in ("maximum", "fmax")
    if isinstance(x, Complex) and isinstance(y, Complex):
        order = _compare_complex(b, "greater_equal" if larger else "less_equal", x, y, warns=False)
        nan = _nan_complex(b, x if op in ("maximum", "minimum") else y)
        return choose(b, b.or_(order, nan), x, y)
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    if x.code == "b1":
        return b.or_(x, y) if larger else b.and_(x, y)
    if not is_float(x.code):
        return b.intrinsic(("s" if is_signed(x.code) else "u") + ("max" if larger else "min"), [x, y])
    decided_by = x if op in ("maximum", "minimum") else y
    if x.code == "f2":
        order = compare(b, "greater_equal" if larger else "less_equal", x, y)
        first = b.or_(order, isnan(b, decided_by))
        return chosen_half(b, first, x, y)
    return b.select(isnan(b, decided_by), x, better(b, larger, x, y))


def isnan(b: Builder, x: Value) -> Value:
    if not is_float(x.code):
        return b.const("b1", False, x.lanes)
    wide = widen(b, x) if x.code == "f2" else x
    return b.compare("uno", wide, wide)


def isinf(b: Builder, x: Value) -> Value:
    if not is_float(x.code):
        return b.const("b1", False, x.lanes)
    wide = b.intrinsic("fabs", [widen(b, x) if x.code == "f2" else x])
    return b.compare("oeq", wide, b.like(wide, float("inf")))


def isfinite(b: Builder, x: Value) -> Value:
    if not is_float(x.code):
        return b.const("b1", True, x.lanes)
    wide = b.intrinsic("fabs", [widen(b, x) if x.code == "f2" else x])
    return b.compare("one", wide, b.like(wide, float("inf")))


def signbit(b: Builder, x: Value) -> Value:
    bits = b.bitcast(x, "i" + x.code[1:])
    return b.compare("slt", bits, b.like(bits, 0))


def _nan_complex(b: Builder, x: Complex) -> Value:
    return b.compare("uno", x.re, x.im)


def isnan_complex(b: Builder, x: Complex) -> Value:
    return _nan_complex(b, x)


def isinf_complex(b: Builder, x: Complex) -> Value:
    return b.or_(isinf(b, x.re), isinf(b, x.im))


def isfinite_complex(b: Builder, x: Complex) -> Value:
    return b.and_(isfinite(b, x.re), isfinite(b, x.im))


def sign(b: Builder, x: Value) -> Value:
    """-1, 0, 1; NaN stays, -0 becomes 0."""
    if is_float(x.code):
        up = cast_real(b, quiet(b, "ogt", x, b.like(x, 0.0)), x.code)
        down = cast_real(b, quiet(b, "olt", x, b.like(x, 0.0)), x.code)
        return b.select(isnan(b, x), x, b.sub(up, down))
    if not is_signed(x.code):
        return cast_real(b, truth(b, x), x.code)
    return b.intrinsic("smax", [b.intrinsic("smin", [x, b.like(x, 1)]), b.like(x, -1)])


def heaviside(b: Builder, x: Value, at_zero: Value) -> Value:
    step = b.select(quiet(b, "ogt", x, b.like(x, 0.0)), b.like(x, 1.0), b.like(x, 0.0))
    step = b.select(b.compare("oeq", x, b.like(x, 0.0)), at_zero, step)
    return b.select(isnan(b, x), b.like(x, float("nan")), step)
