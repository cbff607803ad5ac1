"""Random array programs as data: steps, the executor that runs them with any NumPy namespace, the comparer.

A program is a tuple of `Step`s. A step holds one Python statement over `np` and the program's names, so a
failing program prints as a script. `run` executes it with NumPy or with lazyarray, evaluating after each
step, never, or where the program says so; `compare` holds two traces against each other.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType
from typing import Any, Literal

import numpy

Policy = Literal["each", "never", "drawn"]
EVALUATE = "evaluate"


@dataclass(frozen=True)
class Step:
    """One statement, the arrays it reads and writes, and how numerical error passes through it."""

    source: str
    rule: str = "exact"
    reads: tuple[str, ...] = ()
    writes: str | None = None
    scale: float = 0.0  # the magnitude of a Python scalar operand, for the error bound


Program = tuple[Step, ...]


@dataclass
class Trace:
    """What a run showed: the arrays seen after each step, and the error each failing step raised."""

    seen: dict[int, dict[str, numpy.ndarray[Any, Any]]] = field(default_factory=dict)
    errors: dict[int, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Bound:
    """How far a value may be from NumPy's: `ulp` units in the last place, or `absolute`. Both zero: exact."""

    ulp: int = 0
    absolute: float = 0.0

    @property
    def is_exact(self) -> bool:
        return self.ulp == 0 and self.absolute == 0.0


EXACT = Bound()
Bounds = Mapping[int, Mapping[str, Bound]]


def values(shape: tuple[int, ...], dtype: str, seed: int, wild: bool = False) -> numpy.ndarray[Any, Any]:
    """A NumPy array of drawn values: mostly of everyday size; `wild` mixes in the special ones."""
    rng = numpy.random.default_rng(seed)
    kind, size = numpy.dtype(dtype).kind, int(dtype[1:])
    if kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        limits = numpy.iinfo(dtype)
        array = rng.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
        special = numpy.array([limits.min, limits.max, limits.max - 1, 0, 1, 100], dtype)
    else:
        part = f"f{size // 2 if kind == 'c' else size}"
        spread = numpy.where(rng.random(shape) < 0.5, 1.0, 10.0 ** rng.uniform(-2, 1, shape))
        array = (rng.integers(-64, 65, shape) / 16 * spread).astype(part)
        tiny = numpy.finfo(part).smallest_subnormal
        special = numpy.array([numpy.inf, -numpy.inf, numpy.nan, 0.0, -0.0, tiny, numpy.finfo(part).max, 0.5], part)
        if kind == "c":
            return (array + 1j * values(shape, part, seed + 1, wild)).astype(dtype)
    if wild:
        array = numpy.where(rng.random(shape) < 0.3, rng.choice(special, shape), array)
    return array


def to_script(program: Iterable[Step], module: str = "lazyarray") -> str:
    """The program as a Python script, evaluation points as comments."""
    lines = [f"import {module} as np", "from tests.property.programs import values"]
    for step in program:
        lines.append(f"# evaluate {', '.join(step.reads)}" if step.rule == EVALUATE else step.source)
    return "\n".join(lines)


@lru_cache(maxsize=4096)
def compile_statement(source: str) -> CodeType:
    return compile(source, "<program>", "exec")


def run(program: Program, xp: Any, policy: Policy = "never") -> Trace:
    """Run `program` with `xp` as its `np`. What is seen is copied, so later writes do not reach it."""
    trace = Trace()
    env: dict[str, Any] = {}
    with warnings.catch_warnings(), xp.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for index, step in enumerate(program):
            if step.rule == EVALUATE:
                if policy == "drawn":
                    see(trace, index, evaluated(xp, {n: env[n] for n in step.reads if n in env}))
                continue
            error = execute(step, xp, env)
            if error is not None:
                trace.errors[index] = error
            if policy == "each":
                see(trace, index, evaluated(xp, env))
        see(trace, len(program), env)
    return trace


def execute(step: Step, xp: Any, env: dict[str, Any]) -> tuple[str, str] | None:
    """Run one statement; the error's class name and message if it raised."""
    try:
        exec(compile_statement(step.source), {"np": xp, "numpy": numpy, "values": values}, env)
    except Exception as error:
        return type(error).__name__, str(error)
    return None


def evaluated(xp: Any, env: Mapping[str, Any]) -> Mapping[str, Any]:
    """Force evaluation of `env`'s arrays, one at a time, where the namespace has such a thing."""
    force = getattr(xp, "evaluate", None)
    if force is not None:
        for value in env.values():
            force(value)
    return env


def see(trace: Trace, index: int, env: Mapping[str, Any]) -> None:
    """Record a private copy of every array."""
    trace.seen[index] = {name: numpy.array(value, copy=True) for name, value in env.items()}


def compare(expected: Trace, actual: Trace, bounds: Bounds | None = None) -> list[str]:
    """The differences in what both traces saw; an empty list when there are none."""
    problems = []
    for index in sorted(expected.errors.keys() | actual.errors.keys()):
        wanted, got = expected.errors.get(index), actual.errors.get(index)
        if wanted != got:
            problems.append(f"step {index}: expected error {wanted}, got {got}")
    for index in sorted(expected.seen.keys() & actual.seen.keys()):
        before, after = expected.seen[index], actual.seen[index]
        limit = {} if bounds is None else bounds.get(index, {})
        for name in sorted(before.keys() & after.keys()):
            problem = differ(before[name], after[name], limit.get(name, EXACT))
            if problem:
                problems.append(f"after step {index}, {name}: {problem}")
        if problems:
            break
    return problems


def differ(expected: numpy.ndarray[Any, Any], actual: numpy.ndarray[Any, Any], bound: Bound = EXACT) -> str | None:
    """Why `actual` is not `expected` within `bound`; None when it is. NaN equals NaN, 0.0 is not -0.0."""
    if expected.dtype != actual.dtype:
        return f"dtype {actual.dtype}, expected {expected.dtype}"
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    wanted, got = split_parts(expected), split_parts(actual)
    if wanted.dtype.kind != "f":
        wrong = wanted != got
    elif bound.is_exact:
        wrong = (wanted.view(f"u{wanted.itemsize}") != got.view(f"u{got.itemsize}")) & ~(
            numpy.isnan(wanted) & numpy.isnan(got)
        )
    else:
        wrong = ~within(wanted, got, bound)
    if not wrong.any():
        return None
    at = int(numpy.flatnonzero(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {got[at]!r}, expected {wanted[at]!r}"


def split_parts(array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """The array in one dimension, complex numbers as their two parts."""
    flat = numpy.ascontiguousarray(array).reshape(-1)
    return flat.view(f"f{flat.itemsize // 2}") if flat.dtype.kind == "c" else flat


def within(wanted: numpy.ndarray[Any, Any], got: numpy.ndarray[Any, Any], bound: Bound) -> numpy.ndarray[Any, Any]:
    """Where `got` lies within `bound` of `wanted`; infinities must be equal, NaN must be NaN."""
    same = (wanted == got) | (numpy.isnan(wanted) & numpy.isnan(got))
    with numpy.errstate(all="ignore"):
        close = numpy.abs(wanted.astype("f8") - got.astype("f8")) <= bound.absolute
        if bound.ulp:
            close |= ulp_distance(wanted, got) <= bound.ulp
    result: numpy.ndarray[Any, Any] = same | (close & numpy.isfinite(wanted) & numpy.isfinite(got))
    return result


def ulp_distance(a: numpy.ndarray[Any, Any], b: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """How many floats lie between, as float64 (exact for small distances)."""

    def rank(x: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
        bits = x.view(f"i{x.itemsize}").astype(object)
        low = -(1 << (8 * x.itemsize - 1))
        return numpy.where(bits < 0, low - bits, bits)

    distance: numpy.ndarray[Any, Any] = numpy.abs(rank(a) - rank(b)).astype("f8")
    return distance


def minimise(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Drop steps, last first and again until none can go, for as long as the program still fails."""
    shrunk = True
    while shrunk:
        shrunk = False
        for index in reversed(range(len(program))):
            shorter = program[:index] + program[index + 1 :]
            if fails(shorter):
                program, shrunk = shorter, True
    return program
