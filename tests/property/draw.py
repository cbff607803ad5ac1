"""Draws random array programs, step by step, looking at the arrays NumPy has at that point."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy
from hypothesis import strategies as st

from tests.property.programs import EVALUATE, Program, Step
from tests.property.shadow import Shadow, admit, program_of
from tests.property.tables import (
    BINARY,
    COMMON_DTYPES,
    DTYPES,
    IN_PLACE,
    INTEGER_ONLY,
    METHODS,
    NO_INITIAL,
    NO_WHERE,
    OPERATORS,
    REDUCTIONS,
    SCALARS,
    SHAPES,
    TRANSCENDENTAL,
    UNARY,
)

T = TypeVar("T")


class Chooser(Protocol):
    """Where the choices come from: Hypothesis, or a seeded generator."""

    def pick(self, options: Sequence[T]) -> T: ...

    def below(self, limit: int) -> int: ...


class SeededChooser:
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self.random.choice(options)

    def below(self, limit: int) -> int:
        return self.random.randrange(limit)


class HypothesisChooser:
    """Choices that Hypothesis draws and shrinks."""

    def __init__(self, draw: Callable[[st.SearchStrategy[int]], int]) -> None:
        self.draw = draw

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def below(self, limit: int) -> int:
        return self.draw(_below(limit))


@cache
def _below(limit: int) -> st.SearchStrategy[int]:
    return st.integers(0, limit - 1)


class Names:
    """Picks among the live arrays of a program, looking at NumPy's twin of each."""

    def __init__(self, chooser: Chooser) -> None:
        self.chooser = chooser
        self.count = 0

    @property
    def env(self) -> Mapping[str, Any]:
        """NumPy's value of every live name."""
        raise NotImplementedError

    def chance(self, one_in: int) -> bool:
        return self.chooser.below(one_in) == one_in - 1

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count - 1}"

    def names(self, wanted: Callable[[Any], bool] = lambda value: True) -> list[str]:
        return [n for n, v in self.env.items() if wanted(v)]

    def name(self, wanted: Callable[[Any], bool] = lambda value: True) -> str:
        """A live array, one that fits `wanted` where there is one; mostly the newer ones."""
        names = self.names(wanted) or self.names()
        return self.chooser.pick(names[-4:] if self.chance(2) else names)

    def integer_name(self, otherwise: str) -> str:
        """An integer or bool array for the functions that take no other, mostly."""
        names = self.names(lambda v: v.dtype.kind in "biu")
        return otherwise if not names or self.chance(12) else self.chooser.pick(names)

    def value(self, name: str) -> Any:
        return self.env[name]

    def mask(self, shape: tuple[int, ...]) -> str | None:
        """A bool array that broadcasts to `shape`, if there is one."""
        fits = [
            n
            for n in self.names(lambda v: v.dtype.kind == "b")
            if broadcasts(numpy.shape(self.value(n)), shape) and len(numpy.shape(self.value(n))) <= len(shape)
        ]
        return self.chooser.pick(fits) if fits else None

    def axis(self, ndim: int) -> str:
        """An axis argument, once in a while out of range."""
        if ndim == 0 or self.chance(24):
            return str(self.chooser.pick((0, ndim, -ndim - 1)))
        return str(self.chooser.below(2 * ndim) - ndim)

    def axes(self, ndim: int) -> str:
        if ndim == 0 or self.chance(3):
            return "None"
        if ndim > 1 and self.chance(3):
            first = self.chooser.below(ndim)
            return f"({first}, {(first + 1 + self.chooser.below(ndim - 1)) % ndim})"
        return self.axis(ndim)


class Builder(Names):
    """Adds one drawn step at a time to a shadow."""

    def __init__(self, chooser: Chooser) -> None:
        super().__init__(chooser)
        self.shadow = Shadow()

    @property
    def env(self) -> Mapping[str, Any]:
        return self.shadow.env

    def add(self, source: str, rule: str, reads: tuple[str, ...], writes: str | None, scale: float = 0.0) -> None:
        self.shadow, _ = admit(self.shadow, Step(source, rule, reads, writes, scale))

    def assign(self, expression: str, rule: str, *reads: str, scale: float = 0.0) -> None:
        name = self.fresh()
        self.add(f"{name} = {expression}", rule, reads, name, scale)

    def exact_name(self) -> str:
        """A live array without error, where there is one."""
        names = [n for n in self.shadow.env if self.shadow.is_exact(n)] or self.names()
        return self.chooser.pick(names)

    def operand(self, rule: str) -> str:
        exact = rule in ("exact", "extremum", "sign of nan", "product", "variance") or self.chance(2)
        return self.exact_name() if exact else self.name()

    def partner(self, name: str, rule: str = "move") -> str:
        """An array that broadcasts with `name`, mostly; a new one when there is none."""
        shape = numpy.shape(self.value(name))
        fitting = self.names(lambda v: broadcasts(numpy.shape(v), shape))
        if fitting == [name] and self.chance(2):
            dtype, seed = self.chooser.pick(COMMON_DTYPES), self.chooser.below(1000)
            self.assign(f"np.array(values({shape}, {dtype!r}, {seed}))", "exact")
            return next(reversed(self.shadow.env))
        if rule == "exact":
            fitting = [n for n in fitting if self.shadow.is_exact(n)] or fitting
        return self.name() if not fitting or self.chance(16) else self.chooser.pick(fitting)


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return all(m == n or m == 1 or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))


def draw_values(b: Builder) -> None:
    shape = b.chooser.pick(SHAPES)
    dtype = b.chooser.pick(DTYPES if b.chance(2) else COMMON_DTYPES)
    wild = ", True" if b.chance(4) else ""
    b.assign(f"np.array(values({shape}, {dtype!r}, {b.chooser.below(1000)}{wild}))", "exact")


def draw_creation(b: Builder) -> None:
    dtype, shape = b.chooser.pick(DTYPES), b.chooser.pick(SHAPES)
    forms = [
        f"np.zeros({shape}, dtype={dtype!r})",
        f"np.ones({shape}, {dtype!r})",
        f"np.full({shape}, {b.chooser.pick(SCALARS)})",
        f"np.arange({b.chooser.below(20)})",
        f"np.arange({b.chooser.below(9)}, 20, {b.chooser.below(4) + 1}, dtype={dtype!r})",
        f"np.linspace(-1.0, {b.chooser.below(5)}.5, {b.chooser.below(12) + 1})",
        f"np.eye({b.chooser.below(4) + 1}, {b.chooser.below(4) + 1}, {b.chooser.below(3) - 1})",
    ]
    if b.names():
        like = b.name()
        forms += [f"np.zeros_like({like})", f"np.ones_like({like})", f"np.full_like({like}, 2)"]
    b.assign(b.chooser.pick(forms), "exact")


def unary_rule(name: str, rule: str, value: Any) -> str:
    """The rule of a function whose complex form is computed otherwise."""
    kind = numpy.asarray(value).dtype.kind
    if rule == "root":
        return "transcendental" if kind == "c" else "exact"
    if rule == "modulus":
        return "ulp" if kind == "c" else "move"
    return "ulp" if kind == "c" and name in ("reciprocal", "sign") else rule


def draw_unary(b: Builder) -> None:
    function, rule = b.chooser.pick(UNARY)
    x = b.operand(rule)
    x = b.integer_name(x) if function in INTEGER_ONLY else x
    b.assign(f"np.{function}({x})", unary_rule(function, rule, b.value(x)), x)


def draw_transcendental(b: Builder) -> None:
    x = b.operand("exact" if b.chance(2) else "move")
    b.assign(f"np.{b.chooser.pick(TRANSCENDENTAL)}({x})", "transcendental", x)


def power_rule(rule: str, *operands: Any) -> str:
    """Integer powers are exact; of uint64 and a signed integer NumPy makes float64."""
    exact = rule == "transcendental" and numpy.result_type(*map(numpy.asarray, operands)).kind in "biu"
    return "exact" if exact else rule


def draw_binary(b: Builder) -> None:
    function, rule = b.chooser.pick(BINARY)
    x = b.operand(rule)
    x = b.integer_name(x) if function in INTEGER_ONLY else x
    y = b.partner(x, rule if rule in ("add", "multiply", "divide", "move") else "exact")
    y = b.integer_name(y) if function in INTEGER_ONLY else y
    if function == "power":
        rule = power_rule(rule, b.value(x), b.value(y))
    if b.chance(5):
        out = b.partner(x)
        mask = b.mask(numpy.shape(b.value(out)))
        where = f", where={mask}" if mask and b.chance(2) else ""
        b.add(f"np.{function}({x}, {y}, out={out}{where})", rule, (x, y), out)
        return
    dtype = f", dtype={b.chooser.pick(COMMON_DTYPES)!r}" if b.chance(12) else ""
    b.assign(f"np.{function}({x}, {y}{dtype})", rule, x, y)


def draw_operator(b: Builder) -> None:
    operator, rule = b.chooser.pick(OPERATORS)
    x = b.operand(rule)
    x = b.integer_name(x) if operator in INTEGER_ONLY else x
    if b.chance(2):
        y = b.partner(x, rule if rule in ("add", "multiply", "divide") else "exact")
        y = b.integer_name(y) if operator in INTEGER_ONLY else y
        b.assign(f"{x} {operator} {y}", power_rule(rule, b.value(x), b.value(y)), x, y)
        return
    scalar = b.chooser.pick(SCALARS)
    scale = abs(complex(eval(scalar)))
    left = b.chance(4) and operator != "/"
    if operator == "/" and scale == 0.0:
        scalar, scale = "2.0", 2.0
    rule = power_rule(rule, b.value(x), eval(scalar))
    b.assign(f"{scalar} {operator} {x}" if left else f"{x} {operator} {scalar}", rule, x, scale=scale)


def draw_selection(b: Builder) -> None:
    x = b.name()
    shape = numpy.shape(b.value(x))
    mask, y = b.mask(shape), b.partner(x)
    form = b.chooser.below(4)
    if form == 0 or mask is None:
        low, high = b.chooser.pick((("-1", "2"), ("0.5", "1.5"), ("None", "1"), ("0", "None")))
        b.assign(f"np.clip({x}, {low}, {high})", "move", x)
    elif form == 1:
        b.assign(f"np.where({mask}, {x}, {b.chooser.pick(SCALARS)})", "move", x)
    elif form == 2:
        b.assign(f"np.select([{mask}], [{x}], 7)", "move", x)
    else:
        b.assign(f"np.where({mask}, {x}, {y})", "move", x, y)


def draw_cast(b: Builder) -> None:
    x = b.name()
    b.assign(f"{x}.astype({b.chooser.pick(DTYPES)!r})", "move", x)


def slice_of(b: Names, size: int) -> str:
    step = b.chooser.pick(("", "", ":2", ":-1", ":-2", ":3"))
    start, stop = b.chooser.below(3), b.chooser.below(3)
    if step.startswith(":-"):
        return f":{step}"
    return f"{start or ''}:{-stop if stop and size > stop else ''}{step}"


def index_of(b: Names, shape: tuple[int, ...]) -> str:
    """A basic index: slices, integers, a new axis, an ellipsis."""
    parts = []
    for size in shape:
        choice = b.chooser.below(8)
        if choice == 0 and size:
            parts.append(str(b.chooser.below(2 * size) - size))
        elif choice < 6:
            parts.append(slice_of(b, size))
        else:
            parts.append(":")
    while parts and parts[-1] == ":" and b.chance(2):
        parts.pop()
    if b.chance(6):
        parts.insert(b.chooser.below(len(parts) + 1), "None")
    if not parts or b.chance(8):
        parts.append("...")
    return ", ".join(parts)


def factorised(size: int) -> tuple[int, ...]:
    for factor in (2, 3, 5, 11):
        if size and size % factor == 0 and size > factor:
            return factor, size // factor
    return (size,)


def view_forms(b: Names, x: str) -> list[str]:
    """Expressions that are views of `x`, or copies where its layout allows no view."""
    value = b.value(x)
    shape, ndim = numpy.shape(value), numpy.ndim(value)
    forms = [f"{x}[{index_of(b, shape)}]"] * 4
    forms += [f"{x}.T", f"{x}.ravel()", f"{x}.reshape(-1)", f"{x}.reshape({factorised(numpy.size(value))})"]
    forms += [f"np.flip({x})", f"{x}.real", f"{x}.imag", f"np.expand_dims({x}, 0)", f"{x}.squeeze()"]
    forms += [f"np.broadcast_to({x}, {(2, *shape)})", f"{x}.reshape(3, -1)", f"np.atleast_2d({x})"]
    if ndim > 1:
        forms += [f"{x}.swapaxes(0, -1)", f"np.moveaxis({x}, 0, -1)", f"np.flip({x}, {b.axis(ndim)})"]
        forms += [f"np.diagonal({x})", f"np.rot90({x})", f"np.transpose({x}, {tuple(reversed(range(ndim)))})"]
    return forms


def draw_view(b: Builder) -> None:
    x = b.name(lambda v: numpy.ndim(v) > 0)
    b.assign(b.chooser.pick(view_forms(b, x)), "move", x)


def draw_augmented(b: Builder) -> None:
    operator, rule = b.chooser.pick(IN_PLACE)
    x = b.name(lambda v: isinstance(v, numpy.ndarray))
    if operator in INTEGER_ONLY:
        x = b.integer_name(x)
    elif operator == "/" and not b.chance(8):
        x = b.name(lambda v: isinstance(v, numpy.ndarray) and v.dtype.kind in "fc")
    if b.chance(3):
        scalar = b.chooser.pick(("1", "2", "0.5", "3"))
        rule = power_rule(rule, b.value(x), eval(scalar))
        b.add(f"{x} {operator}= {scalar}", rule, (x,), x, abs(float(scalar)))
        return
    y = b.partner(x, rule)
    y = b.integer_name(y) if operator in INTEGER_ONLY else y
    rule = power_rule(rule, b.value(x), b.value(y))
    b.add(f"{x} {operator}= {y}", rule, (x, y), x)


def draw_slice_write(b: Builder) -> None:
    x = b.name(lambda v: isinstance(v, numpy.ndarray) and v.ndim > 0)
    index = index_of(b, numpy.shape(b.value(x)))
    try:
        part = b.value(x)[eval(f"numpy.s_[{index}]")]
    except (IndexError, TypeError):
        part = b.value(x)
    form = b.chooser.below(4)
    if form == 0:
        b.add(f"{x}[{index}] = {b.chooser.pick(SCALARS[:-3])}", "exact", (), x)
    elif form == 1:
        b.add(f"{x}[{index}] += {b.chooser.pick(('1', '2', '0.5'))}", "add", (x,), x, 2.0)
    elif form == 2 and numpy.ndim(b.value(x)) == 1:
        b.add(f"{x}[1:] = {x}[:-1] * 2", "multiply", (x,), x, 2.0)
    else:
        shape = numpy.shape(part)
        fitting = b.names(lambda v: numpy.ndim(v) <= len(shape) and broadcasts(numpy.shape(v), shape))
        y = b.chooser.pick(fitting) if fitting else b.name()
        b.add(f"{x}[{index}] = {y}", "move", (y,), x)


def draw_scattered_write(b: Builder) -> None:
    x = b.name(lambda v: isinstance(v, numpy.ndarray) and v.ndim > 0)
    shape = numpy.shape(b.value(x))
    mask = b.mask(shape)
    size = shape[0] if shape else 1
    form = b.chooser.below(4)
    places = [b.chooser.below(size + 1) - 1 for _ in range(3)] if size else [0]
    if form == 0:
        b.add(f"{x}[{places}] = {b.chooser.pick(('5', '0.5', 'True'))}", "exact", (), x)
    elif form == 1 and len(shape) == 1:
        b.add(f"{x}[{places}] = np.arange({len(places)})", "exact", (), x)
    elif form == 2 and mask is not None:
        y = b.partner(x)
        b.add(f"np.copyto({x}, {y}, where={mask})", "move", (y,), x)
    elif mask is not None and numpy.shape(b.value(mask)) == shape:
        b.add(f"{x}[{mask}] = {b.chooser.pick(('-1', '0.25', '7'))}", "exact", (), x)
    else:
        b.add(f"{x}.fill(3)", "exact", (), x)


def draw_reduction(b: Builder) -> None:
    function, rule = b.chooser.pick(REDUCTIONS)
    x = b.operand(rule)
    x = b.integer_name(x) if function in INTEGER_ONLY else x
    value = b.value(x)
    arguments, reads, scale = [f"axis={b.axes(numpy.ndim(value))}"], [x], 0.0
    if b.chance(3):
        arguments.append("keepdims=True")
    if function not in NO_INITIAL and b.chance(5):
        arguments.append(f"initial={b.chooser.pick(('0', '1', '2.5'))}")
        scale = 2.5
    mask = b.mask(numpy.shape(value))
    if mask is not None and function not in NO_WHERE and b.chance(4):
        arguments.append(f"where={mask}")
        reads.append(mask)
    if function in ("sum", "prod", "mean") and b.chance(6):
        arguments.append(f"dtype={b.chooser.pick(('f4', 'f8', 'i8', 'c16'))!r}")
        rule = rule if numpy.asarray(value).dtype.kind in "biu" else "sum of casts"
    if rule == "sum of casts":
        return
    call = f"np.{function}({x}, " if function not in METHODS or b.chance(2) else f"{x}.{function}("
    b.assign(f"{call}{', '.join(arguments)})", rule, *reads, scale=scale)


def draw_scan(b: Builder) -> None:
    function, rule = b.chooser.pick((("cumsum", "scan"), ("cumprod", "running product"), ("add.accumulate", "scan")))
    x = b.operand("move" if rule == "scan" else "exact")
    axis = b.axis(numpy.ndim(b.value(x))) if function != "cumsum" or b.chance(2) else "None"
    b.assign(f"np.{function}({x}, axis={axis})", rule, x)


def draw_read(b: Builder) -> None:
    x = b.name(lambda v: numpy.ndim(v) > 0)
    shape = numpy.shape(b.value(x))
    size = shape[0] if shape else 1
    places = [b.chooser.below(2 * size + 1) - size for _ in range(4)] if size else [0]
    mask = b.mask(shape)
    forms = [f"{x}[{places}]", f"np.take({x}, {places})"]
    if size:  # NumPy never returns from wrapping an index into no elements
        forms.append(f"np.take({x}, {places}, axis=0, mode='wrap')")
    forms += [f"np.take_along_axis({x}, np.argsort(np.zeros({shape})), axis=-1)", f"{x}[{places}, ...]"]
    if len(shape) > 1:
        forms += [f"{x}[{places}, 0]", f"{x}[:, [0, -1]]", f"{x}[0, 1:]"]
    if mask is not None and numpy.shape(b.value(mask)) == shape:
        forms += [f"{x}[{mask}]"] * 3
    b.assign(b.chooser.pick(forms), "move", x)


def draw_joining(b: Builder) -> None:
    x = b.name(lambda v: numpy.ndim(v) > 0)
    shape = numpy.shape(b.value(x))
    same = b.names(lambda v: numpy.shape(v) == shape)
    y = b.chooser.pick(same) if same and not b.chance(12) else b.name()
    forms = [f"np.concatenate(({x}, {y}))", f"np.stack(({x}, {y}), axis=-1)", f"np.hstack(({x}, {y}))"]
    b.assign(b.chooser.pick((*forms, f"np.concatenate(({x}, {y}), axis={b.axis(len(shape))})")), "move", x, y)


def draw_moving(b: Builder) -> None:
    x = b.name(lambda v: numpy.ndim(v) > 0)
    n = b.chooser.below(5) - 2
    forms = [f"np.roll({x}, {n})", f"np.roll({x}, {n}, axis=0)", f"np.tile({x}, {abs(n) + 1})"]
    forms += [
        f"np.repeat({x}, 2)",
        f"np.repeat({x}, 2, axis=-1)",
        f"np.pad({x}, 1)",
        f"np.pad({x}, 1, 'edge')",
    ]
    b.assign(b.chooser.pick(forms), "move", x)


def draw_difference(b: Builder) -> None:
    x = b.name(lambda v: numpy.ndim(v) > 0)
    b.assign(f"np.diff({x})", "add", x, scale=abs(float(numpy.size(b.value(x)) and 8.0)))


def draw_contraction(b: Builder) -> None:
    x = b.name(lambda v: numpy.ndim(v) > 0)
    width = numpy.shape(b.value(x))[-1:] or (1,)
    fitting = b.names(lambda v: numpy.ndim(v) in (1, 2) and numpy.shape(v)[:1] == width)
    y = b.chooser.pick(fitting) if fitting and not b.chance(12) else b.name()
    form = b.chooser.pick(("np.matmul({}, {})", "np.dot({}, {})", "{} @ {}", "np.inner({}, {})", "np.outer({}, {})"))
    b.assign(form.format(x, y), "contraction", x, y)


def draw_deletion(b: Builder) -> None:
    if len(b.names()) > 2:
        b.add(f"del {b.name()}", "exact", (), None)


def draw_evaluation(b: Builder) -> None:
    names = b.names()
    chosen = tuple(names) if b.chance(3) else (b.chooser.pick(names),)
    b.add("", EVALUATE, chosen, None)


KINDS: tuple[Callable[[Builder], None], ...] = (
    *[draw_operator] * 5,
    *[draw_binary] * 3,
    *[draw_view] * 4,
    *[draw_slice_write] * 3,
    *[draw_augmented] * 3,
    *[draw_reduction] * 6,
    *[draw_unary, draw_transcendental, draw_values, draw_evaluation] * 2,
    *[draw_creation, draw_selection, draw_cast, draw_scattered_write, draw_scan, draw_read],
    *[draw_joining, draw_moving, draw_difference, draw_contraction, draw_deletion],
)


def build_program(chooser: Chooser, steps: int = 10) -> tuple[Program, Shadow]:
    """A program of about `steps` steps after two arrays of values, and NumPy's run of it."""
    builder = Builder(chooser)
    draw_values(builder)
    draw_values(builder)
    for _ in range(steps):
        chooser.pick(KINDS)(builder)
    return program_of(builder.shadow), builder.shadow
