"""Owns the reduction operators: identities, combination, folding of lanes, and NumPy's pairwise sum of memory.

Three kinds, by what NumPy's order leaves free: `tree` sums of floats (pairwise), `ordered` ones that go element by
element (products of floats, complex minima), and `free` ones, which are the same in any order and so run in lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from lazyarray_llvm import elementwise
from lazyarray_llvm.builder import (
    COMPLEX_PARTS,
    AnyValue,
    Builder,
    Complex,
    Module,
    Predicate,
    Value,
    is_complex,
    is_float,
    itemsize,
    llvm_type,
)
from lazyarray_llvm.elementwise.flags import quiet
from lazyarray_llvm.reduce_kinds import BUFFER_ELEMENTS as BUFFER_ELEMENTS
from lazyarray_llvm.reduce_kinds import Kind as Kind
from lazyarray_llvm.reduce_kinds import kind_of as kind_of
from lazyarray_llvm.reduce_kinds import operand_code as operand_code
from lazyarray_llvm.reduce_kinds import sum_code as sum_code
from lazyarray_llvm.reduce_kinds import unit_elements as unit_elements

_PAIRWISE_LEAF = {True: 64, False: 128}  # by is_complex, in elements

_COMBINED_BY = {
    "sum": "add",
    "buffered_sum": "add",
    "count": "add",
    "prod": "multiply",
    "min": "minimum",
    "max": "maximum",
    "fmin": "fmin",
    "fmax": "fmax",
    "any": "logical_or",
    "all": "logical_and",
    "band": "bitwise_and",
    "bor": "bitwise_or",
    "bxor": "bitwise_xor",
}


def leaf_elements(code: str) -> int:
    """The largest run that a pairwise sum adds without splitting it."""
    return _PAIRWISE_LEAF[is_complex(code)]


def extreme(code: str, largest: bool) -> float | int | bool:
    """The largest or smallest value of a real dtype."""
    if code == "b1":
        return largest
    if is_float(code):
        return math.inf if largest else -math.inf
    bits = 8 * itemsize(code)
    if code[0] == "u":
        return (1 << bits) - 1 if largest else 0
    return (1 << (bits - 1)) - 1 if largest else -(1 << (bits - 1))


def identity(b: Builder, op: str, code: str, lanes: int) -> AnyValue:
    """What a reduction starts from; for a sum of floats a lane's start (-0.0), which leaves every value as it is."""
    if is_complex(code):
        part = COMPLEX_PARTS[code]
        if op in ("sum", "buffered_sum"):
            re, im = -0.0, -0.0
        elif op == "prod":
            re, im = 1.0, 0.0
        elif op in ("fmin", "fmax"):
            re, im = math.nan, math.nan
        else:
            re = im = math.inf if op in ("min", "argmin") else -math.inf
        return Complex(b.const(part, re, lanes), b.const(part, im, lanes))
    number: float | int | bool
    if op in ("sum", "buffered_sum"):
        number = -0.0 if is_float(code) else 0
    elif op == "prod":
        number = 1
    elif op in ("fmin", "fmax") and is_float(code):
        number = math.nan
    elif op in ("min", "fmin", "max", "fmax", "argmin", "argmax"):
        number = extreme(code, op in ("min", "fmin", "argmin"))
    elif op == "any":
        number = False
    elif op == "all":
        number = True
    else:
        number = -1 if op == "band" else 0
        if code == "b1":
            number = op == "band"
    return b.const(code, number, lanes)


def start(b: Builder, op: str, code: str) -> AnyValue:
    """What NumPy starts from when no initial value is given: sums at +0.0."""
    one = identity(b, op, code, 1)
    if op in ("sum", "buffered_sum"):
        if isinstance(one, Complex):
            zero = b.const(one.re.code, 0.0, 1)
            return Complex(zero, zero)
        return b.const(code, 0, 1)
    return one


def combine(b: Builder, op: str, a: AnyValue, c: AnyValue, *, by_columns: bool = False) -> AnyValue:
    """One step of a reduction.

    NumPy's complex product rounds every product inside a reduction along the inner axis, and uses FMA, as anywhere
    else, when it multiplies row by row.
    """
    if op == "prod" and not by_columns and isinstance(a, Complex) and isinstance(c, Complex):
        re = b.sub(b.mul(a.re, c.re), b.mul(a.im, c.im))
        return Complex(re, b.add(b.mul(a.re, c.im), b.mul(a.im, c.re)))
    return elementwise.lower(b, _COMBINED_BY[op], [a, c], a.code)


def parts(value: AnyValue) -> list[Value]:
    return [value.re, value.im] if isinstance(value, Complex) else [value]


def whole(values: Sequence[Value]) -> AnyValue:
    return values[0] if len(values) == 1 else Complex(values[0], values[1])


def choose(b: Builder, mask: Value, a: AnyValue, c: AnyValue) -> AnyValue:
    """a where mask else c; one scalar mask serves vectors too."""
    return whole(
        [b.emit(f"select {mask}, {x}, {y}", x.code, x.lanes, "sel") for x, y in zip(parts(a), parts(c), strict=True)]
    )


def pick(b: Builder, value: AnyValue, lanes: Sequence[int]) -> AnyValue:
    """Some lanes of a register as a register."""
    if len(lanes) == 1:
        return whole([b.extract(p, lanes[0]) for p in parts(value)])
    if list(lanes) == list(range(value.lanes)):
        return value
    return whole([b.shuffle(p, None, lanes) for p in parts(value)])


def fold(b: Builder, op: str, value: AnyValue) -> AnyValue:
    """All lanes of an order-free accumulator combined: halves, quarters, ..."""
    while value.lanes > 1:
        half = value.lanes // 2
        value = combine(b, op, pick(b, value, range(half)), pick(b, value, range(half, 2 * half)))
    return value


def fold_pairwise(
    b: Builder, value: AnyValue, seen: Callable[[AnyValue, AnyValue, AnyValue], None] | None = None
) -> AnyValue:
    """((r0+r1)+(r2+r3))+((r4+r5)+(r6+r7)): neighbours first, as NumPy ends a pairwise run; `seen` gets every step."""
    while value.lanes > 1:
        even, odd = pick(b, value, range(0, value.lanes, 2)), pick(b, value, range(1, value.lanes, 2))
        value = combine(b, "sum", even, odd)
        if seen is not None:
            seen(even, odd, value)
    return value


# -- argmin, argmax ----------------------------------------------------------------------------------------
def better(b: Builder, op: str, value: AnyValue, best: AnyValue) -> Value:
    """Whether a later value takes the place of the best one: strictly better, or the first NaN."""
    if isinstance(value, Complex) and isinstance(best, Complex):
        return _better_complex(b, op, value, best)
    assert isinstance(value, Value)
    assert isinstance(best, Value)
    if is_float(value.code):
        # "Unordered or": NaNs win too.
        wins = quiet(b, "ult" if op == "argmin" else "ugt", value, best)
        return b.and_(wins, b.compare("ord", best, best))
    sign = "s" if value.code[0] == "i" else "u"
    return b.compare(f"{sign}lt" if op == "argmin" else f"{sign}gt", value, best)  # type: ignore[arg-type]


def _better_complex(b: Builder, op: str, value: Complex, best: Complex) -> Value:
    less: Predicate = "olt" if op == "argmin" else "ogt"
    by_im = b.and_(b.compare("oeq", value.re, best.re), quiet(b, less, value.im, best.im))
    wins = b.or_(quiet(b, less, value.re, best.re), by_im)
    is_nan = b.compare("uno", value.re, value.im)
    had_nan = b.compare("uno", best.re, best.im)
    return b.or_(b.and_(wins, b.not_(had_nan)), b.and_(is_nan, b.not_(had_nan)))


def leading(b: Builder, op: str, a: tuple[Value, Value], c: tuple[Value, Value]) -> tuple[Value, Value]:
    """The better of two (value, place) pairs, the first where they are equal; among NaNs either."""
    value, best = c[0], a[0]
    if is_float(value.code):
        wins = quiet(b, "olt" if op == "argmin" else "ogt", value, best)
    else:
        wins = better(b, op, value, best)
    return b.select(wins, value, best), b.select(wins, c[1], a[1])


def fold_best(b: Builder, op: str, value: Value, index: Value) -> tuple[Value, Value]:
    """The best lane; of equal ones that with the lowest index."""
    if value.lanes == 1:
        return value, index
    best, same = best_lanes(b, op, value)
    return best, least_of(b, same, index)


def best_lanes(b: Builder, op: str, value: Value) -> tuple[Value, Value]:
    """The best of all lanes, and which have it."""
    best = fold(b, "min" if op == "argmin" else "max", value)
    assert isinstance(best, Value)
    others = b.splat(best, value.lanes)
    if is_float(value.code):
        # The extreme is NaN where any lane is.
        return best, b.or_(b.compare("oeq", value, others), b.compare("uno", value, value))
    return best, b.compare("eq", value, others)


def least_of(b: Builder, mask: Value, numbers: Value) -> Value:
    """The least number in the lanes of a mask that has one."""
    most = extreme(numbers.code, largest=True)
    least = fold(b, "min", b.select(mask, numbers, b.const(numbers.code, most, numbers.lanes)))
    assert isinstance(least, Value)
    return least


def best_of(b: Builder, op: str, a: tuple[Value, Value], c: tuple[Value, Value]) -> tuple[Value, Value]:
    """The better of two (value, index) pairs."""
    wins = better(b, op, c[0], a[0])
    same = b.compare("oeq" if is_float(a[0].code) else "eq", c[0], a[0])
    if is_float(a[0].code):
        nans = b.and_(b.compare("uno", a[0], a[0]), b.compare("uno", c[0], c[0]))
        same = b.or_(same, nans)
    wins = b.or_(wins, b.and_(same, b.compare("slt", c[1], a[1])))
    return b.select(wins, c[0], a[0]), b.select(wins, c[1], a[1])


# -- sums of memory ----------------------------------------------------------------------------------------
_PAIRWISE = """define internal {T} @pairwise.{name}(ptr %p, i64 %n) nounwind {{
entry:
  %small = icmp slt i64 %n, {U}
  br i1 %small, label %rest.head, label %some
some:
  %leaf = icmp sle i64 %n, {leaf}
  br i1 %leaf, label %lanes.head, label %split
split:
  %h = lshr i64 %n, 1
  %left = and i64 %h, -{U}
  %right = sub i64 %n, %left
  %q = getelementptr {T}, ptr %p, i64 %left
  %a = call {T} @pairwise.{name}(ptr %p, i64 %left)
  %c = call {T} @pairwise.{name}(ptr %q, i64 %right)
  %s = fadd {T} %a, %c
  ret {T} %s
lanes.head:
  %whole = and i64 %n, -{U}
  br label %lanes
lanes:
  %i = phi i64 [ 0, %lanes.head ], [ %i.next, %lanes ]
  %acc = phi <{U} x {T}> [ {zeros}, %lanes.head ], [ %acc.next, %lanes ]
  %at = getelementptr {T}, ptr %p, i64 %i
  %v = load <{U} x {T}>, ptr %at, align {size}
  %acc.next = fadd <{U} x {T}> %acc, %v
  %i.next = add i64 %i, {U}
  %more = icmp slt i64 %i.next, %whole
  br i1 %more, label %lanes, label %fold
fold:
{fold}
  br label %rest.head
rest.head:
  %from = phi i64 [ 0, %entry ], [ %whole, %fold ]
  %sum = phi {T} [ {zero}, %entry ], [ %folded, %fold ]
  %any = icmp slt i64 %from, %n
  br i1 %any, label %rest, label %done
rest:
  %k = phi i64 [ %from, %rest.head ], [ %k.next, %rest ]
  %r = phi {T} [ %sum, %rest.head ], [ %r.next, %rest ]
  %k.at = getelementptr {T}, ptr %p, i64 %k
  %k.v = load {T}, ptr %k.at, align {size}
  %r.next = fadd {T} %r, %k.v
  %k.next = add i64 %k, 1
  %again = icmp slt i64 %k.next, %n
  br i1 %again, label %rest, label %done
done:
  %total = phi {T} [ %sum, %rest.head ], [ %r.next, %rest ]
  ret {T} %total
}}"""
_STRETCHES = """define internal {O} @stretches.{name}({O} %start, ptr %p, ptr %mask, i64 %n) nounwind {{
entry:
  br label %outside
outside:
  %i = phi i64 [ 0, %entry ], [ %i.next, %skip ], [ %end, %add ]
  %total = phi {O} [ %start, %entry ], [ %total, %skip ], [ %total.next, %add ]
  %left = icmp slt i64 %i, %n
  br i1 %left, label %look, label %done
look:
  %at = getelementptr i8, ptr %mask, i64 %i
  %byte = load i8, ptr %at
  %in = icmp ne i8 %byte, 0
  br i1 %in, label %inside, label %skip
skip:
  %i.next = add i64 %i, 1
  br label %outside
inside:
  %j = phi i64 [ %i, %look ], [ %j.next, %longer ]
  %j.next = add i64 %j, 1
  %over = icmp sge i64 %j.next, %n
  br i1 %over, label %add, label %further
further:
  %j.at = getelementptr i8, ptr %mask, i64 %j.next
  %j.byte = load i8, ptr %j.at
  %j.in = icmp ne i8 %j.byte, 0
  br i1 %j.in, label %longer, label %add
longer:
  br label %inside
add:
  %end = add i64 %j, 1
  %count = sub i64 %end, %i
  %first = getelementptr {T}, ptr %p, i64 %i
  %sum = call {T} @pairwise.{inner}(ptr %first, i64 %count)
{accumulate}
  br label %outside
done:
  ret {O} %total
}}"""


def define_stretches(module: Module, code: str, unit: int) -> str:
    """The function (start, values, mask bytes, n) that adds NumPy's `where=` sums: one pairwise sum per stretch."""
    inner = sum_code(code)
    type_, zero = llvm_type(inner, 1), "0x8000000000000000"
    name = f"{inner}.{unit}"
    zeros = "<" + ", ".join([f"{type_} {zero}"] * unit) + ">"
    pairwise = _PAIRWISE.format(
        T=type_,
        U=unit,
        leaf=16 * unit,
        name=name,
        fold=_fold_text(type_, unit),
        zeros=zeros,
        zero=zero,
        size=itemsize(inner),
    )
    module.define(f"pairwise.{name}", pairwise)
    if code == "f2":
        steps = [
            "  %wide = fpext half %total to float",
            "  %added = fadd float %wide, %sum",
            "  %total.next = fptrunc float %added to half",
        ]
    else:
        steps = [f"  %total.next = fadd {type_} %total, %sum"]
    full = f"stretches.{code}.{unit}"
    text = _STRETCHES.format(
        O=llvm_type(code, 1), T=type_, name=f"{code}.{unit}", inner=name, accumulate="\n".join(steps)
    )
    module.define(full, text)
    return full


def _fold_text(type_: str, unit: int) -> str:
    """Adds neighbouring lanes of %acc.next until %folded is left."""
    lines, value, lanes = [], "%acc.next", unit
    while lanes > 1:
        half = lanes // 2
        for name, first in (("e", 0), ("o", 1)):
            order = ", ".join(f"i32 {2 * k + first}" for k in range(half))
            lines.append(
                f"  %{name}{half} = shufflevector <{lanes} x {type_}> {value}, <{lanes} x {type_}> poison, "
                f"<{half} x i32> <{order}>"
            )
        lines.append(f"  %s{half} = fadd <{half} x {type_}> %e{half}, %o{half}")
        value, lanes = f"%s{half}", half
    lines.append(f"  %folded = extractelement <1 x {type_}> {value}, i64 0")
    return "\n".join(lines)
