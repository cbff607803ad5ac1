"""Vector math: the transcendental functions as straight-line IR for float32 and float64, at most 1 ULP off.

`emit` appends the instructions of one function to a builder.  float32 is computed in double and rounded once,
except where float32 alone is measured to suffice.  The same bits come out whatever the number of lanes and
the place of an element among them; what is rare (huge angles, subnormal logarithms, ...) is behind a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyarray_llvm.builder import Builder, Value
from lazyarray_llvm.vecmath import exponential, fused, hyperbolic, inverse, logarithm, power, roots, trigonometric
from lazyarray_llvm.vecmath.real import Mask, Real, mended, rarely

_DOUBLE: dict[str, Callable[..., Real]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "tanh": hyperbolic.tanh,
    "arcsin": inverse.arcsin,
    "arccos": inverse.arccos,
    "arctan": inverse.arctan,
    "arctan2": inverse.arctan2,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "arcsinh": hyperbolic.arcsinh,
    "arccosh": hyperbolic.arccosh,
    "arctanh": hyperbolic.arctanh,
    "power": power.power,
    "cbrt": roots.cbrt,
    "hypot": roots.hypot,
    "logaddexp": logarithm.logaddexp,
    "logaddexp2": logarithm.logaddexp2,
}
_SHORT: dict[str, Callable[..., Real]] = {
    "exp": exponential.exp_float,
    "exp2": exponential.exp2_float,
    "expm1": exponential.expm1_float,
    "log": logarithm.log_float,
    "log2": logarithm.log2_float,
    "log10": logarithm.log10_float,
    "log1p": logarithm.log1p_float,
    "sin": trigonometric.sin_short,
    "cos": trigonometric.cos_short,
    "tan": trigonometric.tan_short,
    "tanh": hyperbolic.tanh_float,
    "arcsin": inverse.arcsin_float,
    "arccos": inverse.arccos_float,
    "arctan": inverse.arctan_float,
    "arctan2": inverse.arctan2_float,
    "sinh": hyperbolic.sinh_float,
    "cosh": hyperbolic.cosh_float,
    "arcsinh": hyperbolic.arcsinh_float,
    "arccosh": hyperbolic.arccosh_float,
    "arctanh": hyperbolic.arctanh_float,
    "power": power.power_float,
    "cbrt": roots.cbrt_float,
    "hypot": roots.hypot_float,
    "logaddexp": logarithm.logaddexp,
    "logaddexp2": logarithm.logaddexp2,
}
# float32 in float32 on hosts with FMA: by the formulas of float64, or shorter ones of their own.
_FUSED: dict[str, Callable[..., Real]] = {
    name: _DOUBLE[name]
    for name in "exp exp2 log log2 log10 log1p arcsinh arccosh arctanh arcsin arccos arctan arctan2 cbrt".split()
} | {"expm1": fused.expm1, "sinh": fused.sinh, "cosh": fused.cosh, "tanh": fused.tanh}
# float32 in float32 on hosts with FMA, of arguments that are not large.
_PERIODIC: dict[str, Callable[[Real, Mask], Real]] = {
    "sin": trigonometric.sin_fused,
    "cos": trigonometric.cos_fused,
    "tan": trigonometric.tan_fused,
}

NAMES: frozenset[str] = frozenset(_DOUBLE)


def emit(name: str, b: Builder, args: Sequence[Value]) -> Value:
    """Appends the IR of NumPy's function `name` of f4 or f8 registers; returns the register of the result."""
    reals = [Real(b, a) for a in args]
    if args[0].code == "f8":
        return _DOUBLE[name](*reals).v
    if b.has_fma and name in _FUSED:
        return _FUSED[name](*reals).v
    if name in _PERIODIC:
        return _periodic_float(name, reals[0]).v
    return _SHORT[name](*(r.widen() for r in reals)).narrow().v


def _periodic_float(name: str, x: Real) -> Real:
    if not x.b.has_fma:
        return _periodic_wide(name, x)
    far = abs(x) > trigonometric.LIMIT_FLOAT
    return mended(far, _PERIODIC[name](x, far), lambda kept: far.pick(_periodic_wide(name, x), kept))


def _periodic_wide(name: str, x: Real) -> Real:
    return rarely(abs(x) > trigonometric.limit_short(x), _SHORT[name](x.widen()).narrow(), name, [x])
