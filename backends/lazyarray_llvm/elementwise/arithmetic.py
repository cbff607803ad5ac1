"""Owns plain real arithmetic and the way to vector math: what is one instruction or one call of `vecmath`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from lazyarray.ir.installed import POWER_HAS_SHORTCUTS

from .. import vecmath
from ..builder import Builder, Value, is_float
from .exact import divide, sqrt
from .flags import quiet
from .libm import call_real

TRANSCENDENTAL = frozenset(
    (
        *(
            "exp",
            "exp2",
            "expm1",
            "log",
            "log2",
            "log10",
            "log1p",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
        ),
        *("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "power", "cbrt", "hypot"),
        *("logaddexp", "logaddexp2"),
    )
)


def negative(b: Builder, x: Value) -> Value:
    return b.fneg(x) if is_float(x.code) else b.sub(b.like(x, 0), x)


def square(b: Builder, x: Value) -> Value:
    return b.mul(x, x)


def fabs(b: Builder, x: Value) -> Value:
    return b.intrinsic("fabs", [x])


def reciprocal(b: Builder, x: Value) -> Value:
    return divide(b, b.like(x, 1.0), x)


def rounded(name: str) -> Callable[[Builder, Value], Value]:
    """The LLVM intrinsic that rounds to an integer."""

    def lower(b: Builder, x: Value) -> Value:
        return b.intrinsic(name, [x])

    return lower


def degrees(b: Builder, x: Value) -> Value:
    return b.mul(x, b.like(x, _ratio(x.code, 180.0, math.pi)))


def radians(b: Builder, x: Value) -> Value:
    return b.mul(x, b.like(x, _ratio(x.code, math.pi, 180.0)))


def _ratio(code: str, above: float, below: float) -> float:
    """NumPy's constants are quotients formed in the dtype itself."""
    kind = np.float32 if code == "f4" else np.float64
    return float(kind(above) / kind(below))


_C_NAMES = {
    **{name: name for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan")},
    **{name: name for name in ("sinh", "cosh", "tanh", "cbrt", "hypot")},
    **{f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "arctan2": "atan2",
    "power": "pow",
}


def transcendental(b: Builder, name: str, args: Sequence[Value]) -> Value:
    """Vector math on f4 or f8; what it has no form of, by NumPy's formula or the C library lane by lane."""
    if name in vecmath.NAMES:
        return vecmath.emit(name, b, args)
    if name in ("logaddexp", "logaddexp2"):
        return _log_add_exp(b, args[0], args[1], two=name == "logaddexp2")
    return call_real(b, _C_NAMES[name], args)


def power(b: Builder, x: Value, y: Value, same: Value | None = None) -> Value:
    """`power` as NumPy's loops have it where the exponent is one number for all elements (`POWER_HAS_SHORTCUTS`).

    `same`: whether it is, if that is not known before the kernel runs.
    """
    if not POWER_HAS_SHORTCUTS or (same is None and not b.is_uniform(y)):
        return transcendental(b, "power", (x, y))
    number = b.extract(y, 0)
    quick: list[tuple[float, Callable[[], Value]]] = [
        (2.0, lambda: square(b, x)),
        (0.5, lambda: sqrt(b, x)),
        (-1.0, lambda: reciprocal(b, x)),
        (1.0, lambda: x),
        (0.0, lambda: b.like(x, 1.0)),
    ]
    join = b.fresh("power")
    incoming: list[tuple[Value, str]] = []
    for exponent, made in quick:
        here, other = b.fresh("quick"), b.fresh("other")
        found = b.compare("oeq", number, b.like(number, exponent))
        b.branch(found if same is None else b.and_(found, same), here, other)
        b.start(here)
        incoming.append((made(), b.block))
        b.jump(join)
        b.start(other)
    incoming.append((transcendental(b, "power", (x, y)), b.block))
    b.jump(join)
    b.start(join)
    return b.phi(x.code, x.lanes, incoming)


def _log_add_exp(b: Builder, x: Value, y: Value, *, two: bool) -> Value:
    """npy_logaddexp: the larger plus log1p(exp(-|x - y|)); equal infinities give no NaN."""
    exponential, factor = ("exp2", math.log2(math.e)) if two else ("exp", 1.0)
    equal = b.compare("oeq", x, y)
    difference = b.sub(b.select(equal, b.like(x, 0.0), x), b.select(equal, b.like(x, 0.0), y))
    small = transcendental(b, exponential, [b.fneg(b.intrinsic("fabs", [difference]))])
    tail = transcendental(b, "log1p", [small])
    if two:
        tail = b.mul(tail, b.like(x, factor))
    larger = b.select(quiet(b, "ogt", difference, b.like(x, 0.0)), x, y)
    total = b.add(larger, b.select(equal, b.like(x, 1.0 if two else math.log(2.0)), tail))
    return b.select(b.compare("uno", difference, difference), difference, total)
