"""Owns the twins: one program run with NumPy and with lazyarray side by side, compared wherever the program looks.

What a program looks at, and how, is a step of it: a look may evaluate, and what is never looked at stays pending.
Types, dtypes, shapes, strides and write permission evaluate nothing and are compared after every step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy

import lazyarray
from lazyarray.config import config
from tests.property.programs import EVALUATE, Program, Step, differ, evaluated, execute

Array = numpy.ndarray[Any, Any]
LOOK = "look"
SHARES = "shares"
# Steps to solve an overlap exactly; beyond, NumPy is not asked.
MOST_WORK = 100_000

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "default": {},
    "near": {"eager_below": 24},  # ordinary sizes lie on both sides
    "recorded": {"eager_below": 0},
    "one thread": {"num_threads": 1, "eager_below": 24},
    "interpreted": {"eager_below": 0, "backend": "numpy"},
}

WAYS: Final[dict[str, Callable[[Any], Any]]] = {
    "numpy.array(x)": lambda x: numpy.array(x, copy=True),
    "x.tobytes()": lambda x: numpy.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
    "x.copy()": lambda x: numpy.array(x.copy()),
    "x[...]": lambda x: numpy.array(x[...], copy=True),
    "x.tolist()": lambda x: numpy.array(x.tolist(), x.dtype).reshape(x.shape),
    "x.item(i)": lambda x: numpy.array([x.item(i) for i in range(x.size)], x.dtype).reshape(x.shape),
    "x.T.astype": lambda x: numpy.array(x.T.astype(x.dtype).T),
}


class Differs(AssertionError):
    """lazyarray did something else than NumPy."""


class Twins:
    """Two sets of live names, NumPy's and `xp`'s, after the same steps."""

    def __init__(self, xp: Any = lazyarray) -> None:
        self.xp = xp
        self.theirs: dict[str, Any] = {}
        self.ours: dict[str, Any] = {}
        self.steps: list[Step] = []

    def do(self, step: Step) -> None:
        """Takes the step on both sides; raises `Differs` where they part."""
        self.steps.append(step)
        with warnings.catch_warnings(), numpy.errstate(all="ignore"), self.xp.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if step.rule == LOOK:
                self.look(step.source, step.reads)
            elif step.rule == SHARES:
                self.compare_sharing(*step.reads)
            elif step.rule == EVALUATE:
                evaluated(
                    self.xp, {n: self.ours[n] for n in step.reads if isinstance(self.theirs.get(n), numpy.ndarray)}
                )
            else:
                wanted, got = execute(step, numpy, self.theirs), execute(step, self.xp, self.ours)
                if wanted != got:
                    raise Differs(f"{step.source}: expected {wanted}, got {got}")
                self.compare_faces()
            self.retire()

    def finish(self) -> None:
        """Compares everything there is, and who shares memory with whom."""
        self.do(Step("numpy.array(x)", LOOK, tuple(self.theirs)))
        arrays = [name for name, value in self.theirs.items() if is_array(value)]
        for place, name in enumerate(arrays):
            for other in arrays[:place]:
                self.do(Step("", SHARES, (name, other)))

    def compare_faces(self) -> None:
        """What every value answers about itself without being computed."""
        for name in self.theirs.keys() | self.ours.keys():
            if name not in self.ours or name not in self.theirs:
                raise Differs(f"only one side has a {name}")
            wanted, got = face_of(name, self.theirs[name], numpy), face_of(name, self.ours[name], self.xp)
            if wanted != got:
                raise Differs(f"{name}: expected {wanted}, got {got}")

    def look(self, way: str, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.theirs:
                continue
            wanted, got = self.theirs[name], self.ours[name]
            if isinstance(wanted, memoryview):
                way, wanted, got = "numpy.array(x)", numpy.asarray(wanted), numpy.asarray(got)
            elif isinstance(wanted, numpy.flatiter):
                way, wanted, got = "numpy.array(x)", wanted[:], got[:]
            if not isinstance(wanted, numpy.ndarray | numpy.generic):
                if repr(wanted) != repr(got):
                    raise Differs(f"{name}: expected {wanted!r}, got {got!r}")
                continue
            snapshot = WAYS[way](got) if isinstance(wanted, numpy.ndarray) else numpy.array(got, copy=True)
            problem = differ(numpy.array(wanted, copy=True), snapshot)
            if problem is not None:
                raise Differs(f"{name} by {way}: {problem}")
            flags = [(f.c_contiguous, f.f_contiguous, f.writeable) for f in (wanted.flags, got.flags)]
            if flags[0] != flags[1]:
                raise Differs(f"{name}: flags (C, F, writeable) expected {flags[0]}, got {flags[1]}")

    def compare_sharing(self, name: str, other: str) -> None:
        if not all(is_array(self.theirs.get(n)) for n in (name, other)):
            return
        same = self.theirs[name] is self.theirs[other]
        if name[0] == other[0] == "v" and same != (self.ours[name] is self.ours[other]):
            raise Differs(f"{name} is {other}: expected {same}")
        try:
            ask: Any = numpy.shares_memory
            wanted = ask(self.theirs[name], self.theirs[other], max_work=MOST_WORK)
        except numpy.exceptions.TooHardError:
            return
        got = self.xp.shares_memory(self.ours[name], self.ours[other], max_work=MOST_WORK)
        if wanted != got:
            raise Differs(f"shares_memory({name}, {other}): expected {wanted}, got {got}")

    def retire(self) -> None:
        """Compares arrays with infinities or NaN and drops them, and with them whatever may see their memory.

        What a cast to an integer or the bits of a computed NaN are is not defined.
        """
        wild = {name for name, value in self.theirs.items() if not is_tame(value)}
        if wild:
            self.drop(wild)

    def drop(self, wild: set[str]) -> None:
        self.look("numpy.array(x)", sorted(wild))
        seen = [self.theirs[name] for name in wild if is_array(self.theirs[name])]
        wild |= {
            name
            for name, value in self.theirs.items()
            if any(numpy.may_share_memory(shown_by(value), other) for other in seen)
        }
        for name in wild:
            del self.theirs[name], self.ours[name]


def is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray)


def shown_by(value: Any) -> Array:
    """The array whose memory a value can see; an empty one for numbers and text."""
    if isinstance(value, memoryview):
        return numpy.asarray(value)
    found = value.base if isinstance(value, numpy.flatiter) else value
    return found if isinstance(found, numpy.ndarray) else numpy.empty(0)


def is_tame(value: Any) -> bool:
    if not isinstance(value, numpy.ndarray | numpy.generic):
        return not isinstance(value, float | complex) or bool(numpy.isfinite(value))
    return value.dtype.kind not in "fc" or bool(numpy.isfinite(value).all())


def face_of(name: str, value: Any, xp: Any) -> tuple[Any, ...]:
    """Type, dtype, shape, strides (of axes that step), write permission. Names in n are NumPy's own arrays."""
    if isinstance(value, numpy.generic):
        return "scalar", value.dtype
    if not isinstance(value, xp.ndarray | numpy.ndarray):
        return (type(value).__name__,)
    shape = value.shape
    steps = [s for s, n in zip(value.strides, shape, strict=True) if n > 1] if 0 not in shape else []
    return (
        type(value) is (numpy.ndarray if name[0] == "n" else xp.ndarray),
        value.dtype,
        shape,
        steps,
        value.flags.writeable,
    )


def replay(program: Program, xp: Any = lazyarray, **settings: Any) -> str | None:
    """Runs a program on fresh twins: how they differ, or None."""
    twins = Twins(xp)
    with config.set(**settings):
        try:
            for step in program:
                twins.do(step)
            twins.finish()
        except Differs as problem:
            return str(problem)
        except Exception as error:  # a look that only one side refuses
            return f"{type(error).__name__}: {error}"
    return None


def to_lines(program: Iterable[Step]) -> str:
    """The program as text: looks and evaluations as comments."""
    lines = []
    for step in program:
        shown = ", ".join(step.reads)
        marks = {LOOK: f"# look at {shown} by {step.source}", SHARES: f"# np.shares_memory({shown})"}
        marks[EVALUATE] = f"# np.evaluate({shown})"
        lines.append(marks.get(step.rule, step.source))
    return "\n".join(lines)
