"""Owns complex transcendental functions: vector forms where natural, C's functions lane by lane elsewhere.

A vector form serves the lanes in its range.  If any lane is out of it (overflow, infinities, NaNs), C's
function, which is NumPy's, runs on all lanes and gives the results of those, so that no lane's bits depend
on its neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..builder import Builder, Complex, Value
from .arithmetic import transcendental
from .complexes import power
from .flags import quiet
from .libm import call_complex, call_real

LIBRARY = {
    "sqrt": "csqrt",
    "log": "clog",
    "tan": "ctan",
    "arcsin": "casin",
    "arccos": "cacos",
    "arctan": "catan",
    "tanh": "ctanh",
    "arcsinh": "casinh",
    "arccosh": "cacosh",
    "arctanh": "catanh",
}
# Below it exp, sinh and cosh neither overflow nor lose bits.
_ANGLE_LIMIT = 1e6
_EXP_LIMIT = {"f4": 80.0, "f8": 700.0}


def _repaired(b: Builder, inside: Value, fast: Complex, x: Complex, name: str) -> Complex:
    """`fast` in the lanes of `inside`, and C's function `name` of x in the others."""
    slow, done = b.fresh(f"{name}.slow"), b.fresh(f"{name}.done")
    before = b.block
    b.branch(b.any(b.not_(inside)), slow, done)
    b.start(slow)
    exact = call_complex(b, name, x)
    re, im = b.select(inside, fast.re, exact.re), b.select(inside, fast.im, exact.im)
    after = b.block
    b.jump(done)
    b.start(done)
    code, lanes = x.re.code, x.lanes
    return Complex(
        b.phi(code, lanes, [(fast.re, before), (re, after)]),
        b.phi(code, lanes, [(fast.im, before), (im, after)]),
    )


def _inside(b: Builder, exponent: Value, angle: Value) -> Value:
    """Is the exponent of moderate size, and the angle small enough that reducing it overflows nowhere."""
    size = b.intrinsic("fabs", [exponent])
    turn = b.intrinsic("fabs", [angle])
    moderate = quiet(b, "olt", size, b.like(exponent, _EXP_LIMIT[exponent.code]))
    return b.and_(moderate, quiet(b, "olt", turn, b.like(angle, _ANGLE_LIMIT)))


Names = tuple[str, str]


def _product(name: str, first: Names, second: Names) -> Callable[[Builder, Complex], Complex]:
    """(f(exponent) g(angle), h(exponent) k(angle)) for the functions of hyperbolic kind."""

    def lower(b: Builder, x: Complex) -> Complex:
        circular = name in ("csin", "ccos")
        exponent, angle = (x.im, x.re) if circular else (x.re, x.im)
        inside = _inside(b, exponent, angle)
        # Out of range lanes compute on 0, so that they raise no flags here.
        exponent = b.select(inside, exponent, b.like(exponent, 0.0))
        angle = b.select(inside, angle, b.like(angle, 0.0))
        values: dict[str, Value] = {}
        for function in dict.fromkeys((*first, *second)):
            source = angle if function in ("sin", "cos") else exponent
            values[function] = transcendental(b, function, [source])
        re = b.mul(values[first[0]], values[first[1]])
        im = b.mul(values[second[0]], values[second[1]])
        if name == "ccos":
            im = b.fneg(im)
        return _repaired(b, inside, Complex(re, im), x, name)

    return lower


exp = _product("cexp", ("exp", "cos"), ("exp", "sin"))
sinh = _product("csinh", ("sinh", "cos"), ("cosh", "sin"))
cosh = _product("ccosh", ("cosh", "cos"), ("sinh", "sin"))
sin = _product("csin", ("cosh", "sin"), ("sinh", "cos"))
cos = _product("ccos", ("cosh", "cos"), ("sinh", "sin"))


def library(name: str) -> Callable[[Builder, Complex], Complex]:
    """C's complex function `name`."""

    def lower(b: Builder, x: Complex) -> Complex:
        return call_complex(b, name, x)

    return lower


def scaled(b: Builder, x: Complex, factor: float) -> Complex:
    constant = b.like(x.re, factor)
    return Complex(b.mul(x.re, constant), b.mul(x.im, constant))


def log2(b: Builder, x: Complex) -> Complex:
    return scaled(b, call_complex(b, "clog", x), math.log2(math.e))


def log10(b: Builder, x: Complex) -> Complex:
    return scaled(b, call_complex(b, "clog", x), math.log10(math.e))


def exp2(b: Builder, x: Complex) -> Complex:
    return exp(b, scaled(b, x, math.log(2.0)))


def log1p(b: Builder, x: Complex) -> Complex:
    re = b.add(x.re, b.like(x.re, 1.0))
    size = call_real(b, "hypot", [re, x.im])
    return Complex(call_real(b, "log", [size]), call_real(b, "atan2", [x.im, re]))


def expm1(b: Builder, x: Complex) -> Complex:
    half = call_real(b, "sin", [b.fdiv(x.im, b.like(x.im, 2.0))])
    twice = b.mul(b.mul(b.like(x.re, 2.0), half), half)
    real = b.sub(b.mul(call_real(b, "expm1", [x.re]), call_real(b, "cos", [x.im])), twice)
    return Complex(real, b.mul(call_real(b, "exp", [x.re]), call_real(b, "sin", [x.im])))


FUNCTIONS: dict[str, Callable[..., Complex]] = {
    **{name: library(symbol) for name, symbol in LIBRARY.items()},
    "exp": exp,
    "sin": sin,
    "cos": cos,
    "sinh": sinh,
    "cosh": cosh,
    "exp2": exp2,
    "expm1": expm1,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "power": power,
    "float_power": power,
}
