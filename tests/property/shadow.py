"""NumPy's own run of a program, with the error bound of every array: exact where the contract says so.

An array is exact until a transcendental function, a contraction through BLAS, or a sum whose order is not
the natural one of its layout enters its memory. From then on its whole buffer carries a `Bound`. Steps that
would make a comparison meaningless (a discontinuous function of an inexact value, a cast that C leaves
undefined, a sign of zero or of NaN that NumPy itself chooses by layout) are refused while drawing.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy

from tests.property.programs import EVALUATE, EXACT, Bound, Program, Step, Trace, execute, see

# lazyarray errs by at most 1 ULP from the correctly rounded value, NumPy by up to 2 or so.
TRANSCENDENTAL_ULP = 4
# logaddexp is a maximum plus at most log(2). Where these cancel (maxima between -2 log(2) and 0) NumPy rounds both, to
# units of 2 log(2); elsewhere at least half of the maximum is left, and units in the last place of it bound the error.
CANCELLED = {"logaddexp": 2 * math.log(2)}
# The largest derivative over the values an inexact operand may have; exp's is its own result.
LIPSCHITZ = {"sin", "cos", "tanh", "arctan", "exp"}
MOST_ELEMENTS = 4096
TINY = 1e-300  # no error to speak of, but the sign of zero is free
LARGEST = 1e6
LARGEST_HALF = 1e3


class Refused(Exception):
    """The step has no well-conditioned comparison here."""


class Operand:
    """What the error bound of a result needs to know of one operand, taken before the step runs."""

    def __init__(self, value: Any, bound: Bound) -> None:
        self.array = numpy.asarray(value)
        self.bound = bound
        self.values = self.array.copy()  # the step may write over the array
        self.kind = self.array.dtype.kind
        self.dtype = self.array.dtype
        magnitude = numpy.abs(self.array.astype("c16" if self.kind == "c" else "f8"))
        magnitude = magnitude[~numpy.isnan(magnitude)]  # NaN is compared as NaN
        self.largest = float(magnitude.max(initial=0.0))
        self.smallest = float(magnitude.min(initial=numpy.inf))

    @property
    def error(self) -> float:
        """The bound as an absolute error."""
        if self.bound.ulp:
            return self.bound.absolute + self.bound.ulp * epsilon(self.dtype) * self.largest
        return self.bound.absolute


def epsilon(dtype: numpy.dtype[Any]) -> float:
    """The spacing at 1 of a float or complex dtype, 0 for the exact dtypes."""
    return float(numpy.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def root_of(value: Any) -> Any:
    """The array that owns the memory `value` looks at."""
    while isinstance(value, numpy.ndarray) and isinstance(value.base, numpy.ndarray):
        value = value.base
    return value


class Shadow:
    """Runs steps with NumPy and keeps a bound for every buffer."""

    def __init__(self) -> None:
        self.env: dict[str, Any] = {}
        self.bounds: dict[int, Bound] = {}
        self.roots: list[Any] = []  # keeps every root alive, so that an id stands for one buffer
        self.trace = Trace()
        self.limits: dict[int, dict[str, Bound]] = {}
        self.steps: list[Step] = []

    def bound_of(self, value: Any) -> Bound:
        return self.bounds.get(id(root_of(value)), EXACT)

    def is_exact(self, name: str) -> bool:
        return self.bound_of(self.env[name]).is_exact

    def apply(self, step: Step) -> bool:
        """Run the step and record what is seen; whether NumPy raised no error. May raise `Refused`."""
        index = len(self.steps)
        if step.rule == EVALUATE:
            self.record(step)
            return True
        operands = [Operand(self.env[n], self.bound_of(self.env[n])) for n in step.reads if n in self.env]
        before = self.env.get(step.writes) if step.writes else None
        if before is not None and not isinstance(before, numpy.ndarray):
            before = None
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            error = execute(step, numpy, self.env)
            if error is not None:
                self.refuse_half_written(index)
                self.trace.errors[index] = error
            elif step.writes is not None:
                self.update(step, operands, before)
            self.record(step)
        return error is None

    def record(self, step: Step) -> None:
        """Note what is seen after `step`, there and (until a next step) at the program's end."""
        index = len(self.steps)
        self.steps.append(step)
        limits = {name: self.bound_of(value) for name, value in self.env.items()}
        for at in (index, index + 1):
            see(self.trace, at, self.env)
            self.limits[at] = limits

    def refuse_half_written(self, index: int) -> None:
        """Refuse a step in which NumPy raised after it had begun to write: lazyarray writes nothing then."""
        for name, before in self.trace.seen.get(index, {}).items():
            if name in self.env and numpy.asarray(self.env[name]).tobytes() != before.tobytes():
                raise Refused("half written")

    def update(self, step: Step, operands: list[Operand], before: Any) -> None:
        """Give the buffer the step wrote its bound."""
        assert step.writes is not None
        result = self.env[step.writes]
        if not isinstance(result, (numpy.ndarray, numpy.generic)):
            raise Refused("a Python scalar")
        refuse_undefined(step, operands, result)
        if numpy.size(result) > MOST_ELEMENTS:
            raise Refused("too large to be quick")
        out = Operand(result, EXACT)
        bound = EXACT if out.kind not in "fc" else result_bound(step, operands, out)
        if math.isnan(bound.absolute):
            raise Refused("an error bound that says nothing")
        if out.kind not in "fc" and any(not o.bound.is_exact for o in operands):
            raise Refused("an inexact value becomes an exact one")
        root = root_of(result)
        in_place = before is not None and root_of(before) is root
        if in_place or any(root_of(o.array) is root for o in operands):
            bound = merge(self.bound_of(root), bound)
        if not bound.is_exact:
            whole = Operand(root, bound)
            if not numpy.isfinite(numpy.asarray(root)).all() and not bound.ulp:
                raise Refused("an inexact value that is not finite")
            if not bound.ulp and whole.largest > (LARGEST_HALF if root.dtype.itemsize == 2 else LARGEST):
                raise Refused("an inexact value too large to compare")
            if bound.absolute > 0.05 * max(whole.largest, 1.0):
                raise Refused("an error bound that says nothing")
        self.roots.append(root)
        self.bounds[id(root)] = bound


def shadow_of(program: Iterable[Step]) -> Shadow:
    """Run the whole program; its trace and limits are those of an evaluation after each step."""
    shadow = Shadow()
    for step in program:
        shadow.apply(step)
    return shadow


def merge(a: Bound, b: Bound) -> Bound:
    return Bound(max(a.ulp, b.ulp), max(a.absolute, b.absolute))


def refuse_undefined(step: Step, operands: list[Operand], result: Any) -> None:
    """Refuse what NumPy leaves to the layout or to C."""
    kind = numpy.asarray(result).dtype.kind
    if kind in "iu" and step.rule == "move":
        limits = numpy.iinfo(numpy.asarray(result).dtype)
        for o in operands:
            if o.kind not in "fc":
                continue
            real = o.values.real.astype("f8")
            if not (numpy.isfinite(real).all() and (real > limits.min).all() and (real < limits.max).all()):
                raise Refused("a float outside the integer range")
    if step.rule == "sign of nan" and any(o.kind == "f" and numpy.isnan(o.values).any() for o in operands):
        raise Refused("the sign of NaN")
    if step.rule == "extremum":
        for o in operands:
            parts = [o.values.real, o.values.imag] if o.kind == "c" else [o.values]
            if any((numpy.signbit(p) & (p == 0)).any() for p in parts if p.dtype.kind == "f"):
                raise Refused("the sign of zero of an extremum")


def result_bound(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """The bound of a float or complex result."""
    if step.rule in EXACT_RULES:
        if any(not o.bound.is_exact for o in operands):
            raise Refused("an inexact operand of a discontinuous function")
        return EXACT
    return RULES[step.rule](step, operands, out)


def bound_move(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """Values arrive unchanged, or rounded to another dtype."""
    bound = EXACT
    for o in operands:
        if o.bound.is_exact:
            continue
        if o.dtype == out.dtype or (o.kind == "c" and out.dtype == o.array.real.dtype):
            bound = merge(bound, o.bound)
        else:
            bound = merge(bound, Bound(0, o.error + epsilon(out.dtype) * o.largest))
    return bound


def bound_extremum(step: Step, operands: list[Operand], out: Operand) -> Bound:
    return bound_move(step, operands, out)


def bound_add(step: Step, operands: list[Operand], out: Operand) -> Bound:
    if all(o.bound.is_exact for o in operands):
        return EXACT
    size = sum(o.largest for o in operands) + step.scale
    return Bound(0, sum(o.error for o in operands) + 2 * epsilon(out.dtype) * size)


def bound_multiply(step: Step, operands: list[Operand], out: Operand) -> Bound:
    # NumPy multiplies single complex numbers, in place above all, and what runs backwards in another loop.
    plain = out.kind == "c" and (
        all(o.array.size == 1 for o in operands) or any(min(o.array.strides, default=0) < 0 for o in operands)
    )
    if all(o.bound.is_exact for o in operands) and not plain:
        return EXACT
    a, b = (operands * 2)[:2] if len(operands) == 1 and step.scale == 0 else (operands[0], operands[-1])
    factor = step.scale if len(operands) == 1 and step.scale else b.largest
    error = a.error * factor + (0.0 if len(operands) == 1 and step.scale else b.error * (a.largest + a.error))
    return Bound(0, error + 4 * epsilon(out.dtype) * a.largest * factor)


def bound_divide(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """Only the numerator, or a Python scalar's denominator, may be inexact."""
    if all(o.bound.is_exact for o in operands):
        return EXACT
    if len(operands) == 1:
        return Bound(0, operands[0].error / step.scale + 2 * epsilon(out.dtype) * out.largest)
    top, bottom = operands
    if bottom.smallest <= 1e-3 or bottom.smallest < 8 * bottom.error:
        raise Refused("a divisor near zero")
    error = (top.error + out.largest * bottom.error) / (bottom.smallest - bottom.error)
    return Bound(0, 2 * error + 4 * epsilon(out.dtype) * out.largest)


def bound_transcendental(step: Step, operands: list[Operand], out: Operand) -> Bound:
    name = step.source.partition("np.")[2].partition("(")[0]
    if any(not o.bound.is_exact for o in operands):
        if name not in LIPSCHITZ or out.largest > 1e3:
            raise Refused("a steep function of an inexact value")
        steep = max(1.0, out.largest) if name == "exp" else 1.0
        return Bound(0, 2 * steep * operands[0].error + 8 * epsilon(out.dtype) * max(out.largest, 1.0))
    coarsest = max(epsilon(out.dtype), *(epsilon(loop_dtype(o.dtype)) for o in operands))
    if out.kind == "c":
        if not numpy.isfinite(out.array).all():
            raise Refused("a complex function at its edge")
        return Bound(TRANSCENDENTAL_ULP, 16 * coarsest * out.largest)
    size = CANCELLED.get(name, 0.0) + (0.0 if coarsest == epsilon(out.dtype) else out.largest)
    return Bound(TRANSCENDENTAL_ULP, TRANSCENDENTAL_ULP * coarsest * size)


def loop_dtype(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    """The dtype in which a transcendental function of such operands is computed, whatever it is written to."""
    return numpy.result_type(dtype, numpy.float16)


def is_natural(array: numpy.ndarray[Any, Any]) -> bool:
    """Whether NumPy's order of summation is the one the contract follows: C order, or one dimension."""
    return bool(array.flags.c_contiguous) or array.ndim <= 1


def bound_sum(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """A sum or mean: `reads` are the summed array and, if any, a where= mask."""
    o = operands[0]
    natural = all(is_natural(p.array) and p.array.shape == o.array.shape for p in operands)
    if (natural and o.bound.is_exact) or o.kind not in "fc":
        return EXACT
    count = max(o.array.size, 1)
    return Bound(0, count * (o.error + 2 * epsilon(out.dtype) * (o.largest + step.scale)))


def bound_scan(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """A cumulative sum: sequential in every layout."""
    o = operands[0]
    if o.bound.is_exact or o.kind not in "fc":
        return EXACT
    return Bound(0, max(o.array.size, 1) * (o.error + 2 * epsilon(out.dtype) * o.largest))


def bound_running_product(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """Exact, but for complex pairs: NumPy rounds once where it multiplies one by one, and twice in longer products."""
    o = operands[0]
    if not o.bound.is_exact:
        raise Refused("a product of inexact values")
    if out.kind != "c" or 2 not in (*o.array.shape, o.array.size):
        return EXACT
    if out.largest > LARGEST:
        raise Refused("a product too large to compare")
    return Bound(0, 4 * epsilon(out.dtype) * max(1.0, min(o.largest, LARGEST)) ** 2)


def bound_product(step: Step, operands: list[Operand], out: Operand) -> Bound:
    o = operands[0]
    if not o.bound.is_exact:
        raise Refused("a product of inexact values")
    if is_natural(o.array) and len(operands) == 1:
        return EXACT
    if out.largest > LARGEST or o.array.size * math.log(max(o.largest, 1.0)) > math.log(LARGEST):
        raise Refused("a product too large to compare")
    return Bound(0, 4 * o.array.size * epsilon(out.dtype) * max(1.0, o.largest) ** o.array.size)


def bound_variance(step: Step, operands: list[Operand], out: Operand) -> Bound:
    o = operands[0]
    if not o.bound.is_exact:
        raise Refused("a variance of inexact values")
    if all(is_natural(p.array) and p.array.shape == o.array.shape for p in operands):
        return EXACT
    smallest = out.smallest if ".std" in step.source or "std(" in step.source else 1.0
    if not smallest > 1e-2 * max(o.largest, 1e-6):
        raise Refused("a deviation near zero")
    size = max(o.largest, 1.0)
    error = 16 * max(o.array.size, 1) * epsilon(out.dtype) * size * size
    return Bound(0, error / min(smallest, 1.0))


def bound_contraction(step: Step, operands: list[Operand], out: Operand) -> Bound:
    if out.kind not in "fc":
        return EXACT
    a, b = operands[0], operands[-1]
    length = max(a.array.size, b.array.size, 1)
    error = a.error * b.largest + b.error * (a.largest + a.error)
    rounding = 4 * epsilon(out.dtype) * a.largest * b.largest
    return Bound(0, max(length * (error + rounding), TINY))


def bound_ulp(step: Step, operands: list[Operand], out: Operand) -> Bound:
    """A function of exact values whose last bits NumPy chooses by layout (a complex modulus)."""
    if any(not o.bound.is_exact for o in operands):
        raise Refused("an inexact operand")
    return Bound(TRANSCENDENTAL_ULP)


EXACT_RULES = {"exact", "sign of nan"}
RULES: dict[str, Callable[[Step, list[Operand], Operand], Bound]] = {
    "move": bound_move,
    "extremum": bound_extremum,
    "add": bound_add,
    "multiply": bound_multiply,
    "divide": bound_divide,
    "transcendental": bound_transcendental,
    "sum": bound_sum,
    "scan": bound_scan,
    "product": bound_product,
    "running product": bound_running_product,
    "variance": bound_variance,
    "contraction": bound_contraction,
    "ulp": bound_ulp,
}


def admit(shadow: Shadow, step: Step) -> tuple[Shadow, bool]:
    """Apply `step` unless it is refused; the shadow to go on with, and whether the step is in it."""
    try:
        shadow.apply(step)
    except Refused:
        return shadow_of(shadow.steps), False
    return shadow, True


def program_of(shadow: Shadow) -> Program:
    return tuple(shadow.steps)
