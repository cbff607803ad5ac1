"""Owns what operations can raise: NumPy's floating-point errors, as bits, for each op of the op table and each loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lazyarray.ir.ops import plain_name

# NumPy's own numbers (numpy/_core/include/numpy/npy_math.h), as `np.seterrcall` handlers get them.
DIVIDE: Final = 1
OVERFLOW: Final = 2
UNDERFLOW: Final = 4
INVALID: Final = 8

_FLOATS: Final[dict[str, int]] = {
    **dict.fromkeys(("add", "subtract", "multiply", "logaddexp", "logaddexp2"), OVERFLOW | INVALID),
    **dict.fromkeys(("divide", "floor_divide", "power", "float_power"), DIVIDE | OVERFLOW | INVALID),
    **dict.fromkeys(("remainder", "fmod", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arccosh"), INVALID),
    **dict.fromkeys(("exp", "exp2", "expm1", "sinh", "cosh", "square", "hypot", "nextafter", "ldexp"), OVERFLOW),
    **dict.fromkeys(("degrees", "rad2deg"), OVERFLOW),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "arctanh"), DIVIDE | INVALID),
    "reciprocal": DIVIDE | OVERFLOW,
    "spacing": OVERFLOW | INVALID,
}
_INTEGERS: Final[dict[str, int]] = {
    "floor_divide": DIVIDE | OVERFLOW,
    "remainder": DIVIDE,
    "fmod": DIVIDE,
    "reciprocal": DIVIDE | INVALID,
}
_COMPLEX_QUIET: Final = frozenset(
    (
        *("negative", "positive", "conjugate", "real", "imag", "complex", "where", "absolute", "isnan", "isinf"),
        *("isfinite", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "logical_not"),
        *("maximum", "minimum", "fmax", "fmin", "rint"),
    )
)

# Arguments for which no op raises anything: what lanes compute whose result nobody may see.
_HARMLESS: Final = {"arctanh": 0}


def raises(op: str, codes: Sequence[str], code: str) -> int:
    """Which errors the loop of `op` on `codes` giving `code` can raise; a superset, 0 for none."""
    if op == "cast":
        return cast_raises(codes[0], code)
    op = plain_name(op)
    if any(c[0] == "c" for c in codes):
        return 0 if op in _COMPLEX_QUIET else DIVIDE | OVERFLOW | INVALID
    if any(c[0] == "f" for c in codes):
        return _FLOATS.get(op, 0)
    return _INTEGERS.get(op, 0)


def cast_raises(old: str, new: str) -> int:
    """Numbers that do not fit: infinite in a smaller float, anything in an integer."""
    if new == "f2" and old in ("u2", "i4", "u4", "i8", "u8"):
        return OVERFLOW
    if old[0] not in "fc" or new == "b1":
        return 0
    if new[0] in "iu":
        return INVALID
    part_old, part_new = (int(c[1:]) // (2 if c[0] == "c" else 1) for c in (old, new))
    return OVERFLOW if part_new < part_old else 0


def reduction_raises(op: str, code: str) -> int:
    """What a reduction or scan in `code` can raise."""
    return OVERFLOW | INVALID if code[0] in "fc" and op in ("sum", "buffered_sum", "prod") else 0


def harmless(op: str) -> int:
    """A number that raises nothing as any argument of the op."""
    return _HARMLESS.get(plain_name(op), 1)
