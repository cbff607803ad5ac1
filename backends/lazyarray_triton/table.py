"""Owns THE op table of this backend: how each elementwise op is spelled in Triton, for each class of dtypes.

A rule is an expression of its arguments, `{0}`, `{1}`, ..., or the name of a device function, `module.function`, which
is called with them. In the class of complex dtypes every complex argument stands for two, and so does a result.
"""

from __future__ import annotations

from typing import Final

from lazyarray.ir.installed import HALVES_KEEP_ZERO
from lazyarray_triton.codes import Class, class_of

_SAME: Final = "{0}"


def _named(module: str, names: str) -> dict[str, str]:
    return {name: f"{module}.{name}" for name in names.split()}


_ORDER: Final = {
    "equal": "{0} == {1}",
    "not_equal": "{0} != {1}",
    "less": "{0} < {1}",
    "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}",
    "greater_equal": "{0} >= {1}",
}
_ANY: Final = {
    **_named("logic", "logical_and logical_or logical_xor logical_not"),
    "positive": _SAME,
    "conjugate": _SAME,
    "real": _SAME,
    "imag": "logic.zero",
    "where": "tl.where({0}, {1}, {2})",
}
_BITS: Final = {
    "bitwise_and": "{0} & {1}",
    "bitwise_or": "{0} | {1}",
    "bitwise_xor": "{0} ^ {1}",
    "invert": "logic.invert",
    "isnan": "logic.never",
    "isinf": "logic.never",
    "isfinite": "logic.always",
    "floor": _SAME,
    "ceil": _SAME,
    "trunc": _SAME,
}
_BOOL: Final = {
    **_ANY,
    **_BITS,
    **_named("logic", "equal not_equal less less_equal greater greater_equal"),
    "add": "{0} | {1}",
    "multiply": "{0} & {1}",
    "maximum": "{0} | {1}",
    "minimum": "{0} & {1}",
    "fmax": "{0} | {1}",
    "fmin": "{0} & {1}",
    "absolute": _SAME,
}
_INTEGER: Final = {
    **_ANY,
    **_BITS,
    # Of int64 with uint64 too.
    **_named("logic", "equal not_equal less less_equal greater greater_equal maximum minimum"),
    "fmax": "logic.maximum",
    "fmin": "logic.minimum",
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "square": "{0} * {0}",
    "rint": _SAME,
    **_named("integer", "floor_divide remainder fmod power negative absolute sign reciprocal left_shift right_shift"),
    **_named("integer", "bitwise_count gcd lcm"),
}
_FLOAT: Final = {
    **_ANY,
    **_ORDER,
    "add": "{0} + {1}",
    "subtract": "{0} - {1}",
    "multiply": "{0} * {1}",
    "square": "{0} * {0}",
    "absolute": "tl.abs({0})",
    "fabs": "tl.abs({0})",
    "floor": "tl.floor({0})",
    "ceil": "tl.ceil({0})",
    **_named("real", "floor_divide remainder fmod negative sign rint trunc degrees radians"),
    **_named("exact", "divide reciprocal sqrt"),
    **_named("real", "maximum minimum fmax fmin isnan isinf isfinite signbit copysign nextafter spacing ldexp"),
    **_named("real", "heaviside modf_fraction modf_integer frexp_mantissa frexp_exponent"),
    "rad2deg": "real.degrees",
    "deg2rad": "real.radians",
    **_named("elementary", "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan"),
    **_named("elementary", "arcsinh arccosh arctanh arctan2 power cbrt hypot logaddexp logaddexp2"),
    "float_power": "elementary.power",
    "complex": "({0}, {1})",
}
# The ops that act on the bits of a half float; all others compute in f4 and round once.
_HALF: Final = {
    "positive": _SAME,
    "conjugate": _SAME,
    "real": _SAME,
    "imag": "logic.zero",
    "where": "tl.where({0}, {1}, {2})",
    "nextafter": "real.nextafter_half" if HALVES_KEEP_ZERO else "real.nextafter_half_signed",
    "spacing": "real.spacing_half",
}
# Of half floats that compare equal NumPy takes the first.
_WIDENED: Final = {
    "maximum": "combine.larger",
    "minimum": "combine.smaller",
    "fmax": "combine.larger_number",
    "fmin": "combine.smaller_number",
}
_COMPLEX: Final = {
    **_named("complexes", "add subtract multiply conjugate absolute sign rint square maximum minimum fmax fmin"),
    **_named("complexes", "logical_and logical_or logical_xor logical_not equal not_equal less greater"),
    "less_equal": "complexes.at_most",
    "greater_equal": "complexes.at_least",
    "divide": "complexes.complex_divide",
    "reciprocal": "complexes.complex_reciprocal",
    "negative": "complexes.both_negative",
    "isnan": "complexes.has_nan",
    "isinf": "complexes.has_infinity",
    "isfinite": "complexes.all_finite",
    "where": "complexes.choose",
    "positive": "({0}, {1})",
    "real": "{0}",
    "imag": "{1}",
    **_named("complex_functions", "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh arcsin arccos"),
    **_named("complex_functions", "arctan arcsinh arccosh arctanh power"),
    "float_power": "complex_functions.power",
}
RULES: Final[dict[Class, dict[str, str]]] = {
    "bool": _BOOL,
    "integer": _INTEGER,
    "half": _HALF,
    "float": _FLOAT,
    "complex": _COMPLEX,
}


def deciding(op: str, codes: tuple[str, ...]) -> str:
    """The dtype whose class a rule is looked up in: that of the choices of `where`, of the first argument elsewhere."""
    return codes[1] if op == "where" else codes[0]


def find_rule(op: str, codes: tuple[str, ...]) -> tuple[str, bool] | None:
    """The rule of `op` on arguments of these dtypes, and whether half floats are widened for it; None if none."""
    kind = class_of(deciding(op, codes))
    rule = RULES[kind].get(op)
    if rule is not None:
        return rule, False
    if kind == "half" and op in _FLOAT:
        return _WIDENED.get(op) or _FLOAT[op], True
    return None
