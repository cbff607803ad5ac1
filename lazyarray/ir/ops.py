"""Owns THE op table: what every target shares about each elementwise operation and each reduction.

A row says which NumPy ufunc an op means; dtype rules and errors are asked of that ufunc.  How a target
computes an op is the target's own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from lazyarray.records import NamedTuple

DType: TypeAlias = np.dtype[Any]
InDType: TypeAlias = "DType | type"

EXPENSIVE: Final = 10  # cost of one element from which a value is kept rather than computed a second time

COMPILED: Final = frozenset(("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"))


class Op(NamedTuple):
    """One elementwise operation; `ufunc` is None for the few that NumPy has no ufunc for."""

    name: str
    ufunc: np.ufunc | None
    output: int  # which output of the ufunc this op is
    nin: int
    commutative: bool  # in every bit; complex products are not, nor maxima of +0 and -0
    identity: Any
    cost: int  # of one element against an addition: what fusion weighs against memory traffic
    transcendental: bool  # may differ from NumPy in the last bits with numerics="fast"
    # Of ops that NumPy's own inner loop computes: `numpy_loops.Steps` of operands and result. Empty for all others,
    # which each target computes in its own way.
    steps: str = ""


class ReductionOp(NamedTuple):
    """One reduction; `ordered` where the order of evaluation shows in the bits of a float result."""

    name: str
    ufunc: np.ufunc | None
    identity: Any
    ordered: bool


_COMMUTATIVE = frozenset(
    (
        *("add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and"),
        *("bitwise_or", "bitwise_xor", "hypot", "logaddexp", "logaddexp2", "gcd", "lcm"),
    )
)
_CHEAP = (
    "add subtract multiply negative positive absolute fabs sign rint floor ceil trunc square degrees radians "
    "deg2rad rad2deg maximum minimum fmax fmin greater greater_equal less less_equal equal not_equal "
    "logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert left_shift "
    "right_shift bitwise_count isnan isinf isfinite signbit copysign conjugate"
)
_SMALL = "heaviside nextafter spacing"
_DIVIDING = "divide sqrt reciprocal ldexp"
_LOOPING = "floor_divide remainder fmod"
_SLOW = "gcd lcm"
# Those whose loops in NumPy, which look at one element after another, take 3 to 30 times as long as compiled ones that
# have their bits. (A `floor_divide` of integers by one of them is fast in NumPy.)
QUICKER = frozenset(
    "remainder fmod floor_divide copysign nextafter heaviside degrees radians deg2rad rad2deg gcd lcm".split()
)
# Those whose loops of floats, `divide` by one number, take up to twice as long: small arrays alone run others.
QUICKER_SMALL = frozenset(("divide", "sqrt"))
_TRANSCENDENTAL = {
    "exp": 10,
    "exp2": 10,
    "expm1": 14,
    "log": 12,
    "log2": 12,
    "log10": 12,
    "log1p": 14,
    "sin": 14,
    "cos": 14,
    "tan": 20,
    "arcsin": 16,
    "arccos": 16,
    "arctan": 16,
    "sinh": 18,
    "cosh": 16,
    "tanh": 16,
    "arcsinh": 20,
    "arccosh": 20,
    "arctanh": 18,
    "arctan2": 20,
    "power": 30,
    "float_power": 30,
    "cbrt": 16,
    "hypot": 10,
    "logaddexp": 26,
    "logaddexp2": 26,
}


def _rows() -> dict[str, Op]:
    rows: dict[str, Op] = {}

    def add(name: str, cost: int, *, ufunc: str = "", output: int = 0, transcendental: bool = False) -> None:
        function: np.ufunc = getattr(np, ufunc or name)
        identity = function.identity if not ufunc else None
        rows[name] = Op(name, function, output, function.nin, name in _COMMUTATIVE, identity, cost, transcendental)

    for names, cost in ((_CHEAP, 1), (_SMALL, 2), (_DIVIDING, 4), (_LOOPING, 8), (_SLOW, 40)):
        for name in names.split():
            add(name, cost)
    for name, cost in _TRANSCENDENTAL.items():
        add(name, cost, transcendental=True)
    add("modf_fraction", 2, ufunc="modf")
    add("modf_integer", 1, ufunc="modf", output=1)
    add("frexp_mantissa", 2, ufunc="frexp")
    add("frexp_exponent", 2, ufunc="frexp", output=1)
    for name, nin in (("where", 3), ("real", 1), ("imag", 1), ("complex", 2), ("cast", 1)):
        rows[name] = Op(name, None, 0, nin, False, None, 1, False)
    return rows


_OWN_LOOP: Final = "numpy."


def own_loop_name(name: str, steps: str) -> str:
    """The op that computes a transcendental op by NumPy's inner loop: `numpy.exp`, `numpy.power.x0x`."""
    own = _OWN_LOOP + name + ("" if steps == "x" * len(steps) else f".{steps}")
    return OPS[own].name  # a row of the table from now on


def is_own_loop(name: str) -> bool:
    """Whether an op is computed by NumPy's inner loop."""
    return name.startswith(_OWN_LOOP)


def plain_name(name: str) -> str:
    """The op that means the same with numerics="fast"."""
    return name.removeprefix(_OWN_LOOP).partition(".")[0] if name.startswith(_OWN_LOOP) else name


class _Table(dict[str, Op]):
    """Rows by name; those of NumPy's loops are made when they are first asked for."""

    def __missing__(self, name: str) -> Op:
        plain, _, steps = name.removeprefix(_OWN_LOOP).partition(".")
        if not name.startswith(_OWN_LOOP) or plain not in _TRANSCENDENTAL:
            raise KeyError(name)
        row = self[plain]
        made = row._replace(name=name, commutative=False, transcendental=False, steps=steps or "x" * (row.nin + 1))
        return self.setdefault(name, made)


OPS: Final[dict[str, Op]] = _Table(_rows())

REDUCTIONS: Final[dict[str, ReductionOp]] = {
    row.name: row
    for row in (
        ReductionOp("sum", np.add, 0, True),
        # A sum whose operand NumPy casts on the way: it does so in buffers of 8192 elements, each summed by itself.
        ReductionOp("buffered_sum", np.add, 0, True),
        ReductionOp("prod", np.multiply, 1, True),
        ReductionOp("min", np.minimum, None, False),
        ReductionOp("max", np.maximum, None, False),
        ReductionOp("fmin", np.fmin, None, False),
        ReductionOp("fmax", np.fmax, None, False),
        ReductionOp("any", np.logical_or, False, False),
        ReductionOp("all", np.logical_and, True, False),
        ReductionOp("band", np.bitwise_and, -1, False),
        ReductionOp("bor", np.bitwise_or, 0, False),
        ReductionOp("bxor", np.bitwise_xor, 0, False),
        ReductionOp("argmin", None, None, False),
        ReductionOp("argmax", None, None, False),
    )
}

# Two ufuncs whose outputs are two ops each, and divmod, which is two ops of its own.
SPLIT: Final[dict[str, tuple[str, ...]]] = {
    "modf": ("modf_fraction", "modf_integer"),
    "frexp": ("frexp_mantissa", "frexp_exponent"),
    "divmod": ("floor_divide", "remainder"),
}


def code(dtype: Any) -> str:
    """The dtype code (`f8`, `i4`, `b1`, ...): kind and bytes of one element."""
    found = np.dtype(dtype)
    return f"{found.kind}{found.itemsize}"


@cache
def dtype_of(code: str) -> DType:
    """The dtype of a code ("b1" is bool)."""
    return np.dtype("?" if code == "b1" else code)


def is_compiled(dtype: DType) -> bool:
    """Can kernels compute on it: one of the compiled codes in native byte order."""
    return dtype.isnative and dtype.kind + str(dtype.itemsize) in COMPILED


_LOOPS: dict[tuple[str, tuple[InDType, ...]], tuple[DType, ...]] = {}


def loop_dtypes(op: Op | str, in_dtypes: Sequence[InDType]) -> tuple[DType, ...]:
    """The dtypes of the NumPy loop that computes `op`: one per argument, then the result's.

    A Python scalar stands as its type (`int`, `float`, `complex`: weak, NEP 50); bool is np.dtype(bool).
    Raises what NumPy raises where there is no such loop.
    """
    name = op if isinstance(op, str) else op.name
    key = (name, tuple(in_dtypes))
    found = _LOOPS.get(key)
    if found is None:
        found = _LOOPS[key] = _resolve(OPS[name], key[1])
    return found


_SAMPLES: Final[dict[type, Any]] = {bool: True, int: 1, float: 1.0, complex: 1j}


def _resolve(op: Op, in_dtypes: tuple[InDType, ...]) -> tuple[DType, ...]:
    given = tuple(np.dtype(bool) if t is bool else t for t in in_dtypes)
    if op.ufunc is None:
        return _resolve_plain(op, given)
    try:
        resolved = op.ufunc.resolve_dtypes((*given, *[None] * op.ufunc.nout))
    except TypeError:
        # NumPy's own error comes from calling it; resolve_dtypes words some differently.
        op.ufunc(*[_sample(t) for t in given])
        raise
    return (*resolved[: op.nin], resolved[op.nin + op.output])


def _sample(kind: InDType) -> Any:
    return _SAMPLES[kind] if isinstance(kind, type) else np.empty(0, kind)


def _resolve_plain(op: Op, given: tuple[InDType, ...]) -> tuple[DType, ...]:
    """Rules for the ops that are NumPy functions and not ufuncs."""
    if op.name == "where":
        common = _common(given[1:])
        return (np.dtype(bool), common, common, common)
    common = _common(given)
    if op.name == "complex":
        part = np.result_type(common, np.float32)
        return (part, part, np.result_type(part, np.complex64))
    if op.name in ("real", "imag"):
        part = np.empty(0, common).real.dtype
        return (common, part)
    return (common, common)


def _common(given: tuple[InDType, ...]) -> DType:
    return np.result_type(*[_SAMPLES[t] if isinstance(t, type) else t for t in given])
