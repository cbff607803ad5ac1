"""What random programs are drawn from: dtypes, shapes, scalars, functions, each with its error rule."""

from __future__ import annotations

DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
COMMON_DTYPES = ("f8", "f8", "f4", "f4", "i8", "i4", "b1", "u1", "c16", "f2")
SHAPES = (
    (),
    (1,),
    (5,),
    (4, 3),
    (3, 4),
    (1, 4),
    (3, 1),
    (2, 3, 4),
    (0,),
    (3, 0),
    (17,),
    (37,),
    (5, 33),
    (130,),
)
SCALARS = ("0", "1", "2", "-1", "3", "True", "0.5", "2.0", "-1.5", "0.1", "1j", "300", "-0.0")
ROUNDING = ("floor", "ceil", "trunc", "rint", "sign", "isnan", "isinf", "isfinite", "logical_not", "spacing")
UNARY = (
    *[(name, "exact") for name in (*ROUNDING, "reciprocal", "invert", "deg2rad", "fabs")],
    *[(name, "move") for name in ("negative", "positive", "conjugate", "copy", "ascontiguousarray")],
    *[("square", "multiply")] * 2,
    *[("sqrt", "root"), ("abs", "modulus"), ("signbit", "sign of nan")] * 2,
)
TRANSCENDENTAL = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt"),
    *("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh"),
    *("arctanh", "exp", "sin", "cos", "tanh", "arctan"),
)
BINARY = (
    *[("add", "add"), ("subtract", "add"), ("multiply", "multiply"), ("divide", "divide")] * 3,
    *[("maximum", "move"), ("minimum", "move"), ("fmax", "extremum"), ("fmin", "extremum")],
    *[(n, "exact") for n in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")],
    *[(n, "exact") for n in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_xor")],
    *[(n, "exact") for n in ("floor_divide", "remainder", "fmod", "left_shift", "right_shift", "gcd", "lcm")],
    *[(n, "exact") for n in ("nextafter", "heaviside")],
    *[(n, "transcendental") for n in ("arctan2", "hypot", "logaddexp", "power", "float_power")],
    ("copysign", "sign of nan"),
)
OPERATORS = (
    *[("+", "add"), ("-", "add"), ("*", "multiply"), ("/", "divide")] * 3,
    *[(o, "exact") for o in ("//", "%", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "<<", ">>")],
    ("**", "transcendental"),
)
IN_PLACE = (
    *[("+", "add"), ("-", "add"), ("*", "multiply"), ("/", "divide")] * 3,
    *OPERATORS[12:14],
    *OPERATORS[20:],
)
REDUCTIONS = (
    *[("sum", "sum"), ("mean", "sum"), ("max", "extremum"), ("min", "extremum"), ("prod", "product")] * 2,
    *[(n, "exact") for n in ("any", "all", "argmax", "argmin", "count_nonzero")],
    *[
        ("var", "variance"),
        ("std", "variance"),
        ("ptp", "extremum"),
        ("nansum", "sum"),
        ("nanmax", "extremum"),
    ],
    *[("add.reduce", "sum"), ("multiply.reduce", "product"), ("maximum.reduce", "extremum")],
    *[("logical_and.reduce", "exact"), ("bitwise_or.reduce", "exact"), ("minimum.reduce", "extremum")],
)
INTEGER_ONLY = {
    "&",
    "|",
    "^",
    "<<",
    ">>",
    "invert",
    "bitwise_and",
    "bitwise_xor",
    "bitwise_or.reduce",
    "gcd",
    "lcm",
}
INTEGER_ONLY |= {"left_shift", "right_shift"}
METHODS = {"sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "var", "std"}
NO_INITIAL = {"mean", "any", "all", "argmax", "argmin", "count_nonzero", "var", "std", "ptp"}
NO_WHERE = {"argmax", "argmin", "count_nonzero", "ptp"}
