"""Owns what AVX-512 does in one instruction and other CPUs in several: look up, tell kinds of numbers, scale, choose.

A table has 16 numbers.  float64s are two registers, of which `vpermi2pd` looks eight up at once; float32s one, of
which `vpermps` looks sixteen up, or with AVX2 two, of which it looks eight up each.  Elsewhere they lie in memory.
All ways give the same bits.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

from lazyarray_llvm.builder import Builder, Value, itemsize, literal, llvm_type
from lazyarray_llvm.vecmath.formats import FORMATS, Format
from lazyarray_llvm.vecmath.real import Mask, Real

_REGISTER_BYTES = 64


def format_of(x: Real) -> Format:
    return FORMATS[x.v.code]


def lookup(b: Builder, table: Sequence[float], index: Value) -> Real:
    """The numbers of `table`, 16 of them, at the four low bits of the integers `index` of the same size."""
    if b.has_avx2 and not b.has_avx512 and index.code == "i4" and index.lanes >= 4:
        return Real(b, _by_halves(b, table, index))
    if not b.has_avx512:
        place = b.and_(index, b.like(index, len(table) - 1))
        return Real(b, _gather(b, table, place))
    code = index.code.replace("i", "f")
    if code == "f8":
        low, high = b.vector(code, table[:8]), b.vector(code, table[8:])
        name = "llvm.x86.avx512.vpermi2var.pd.512"
        b.module.declare(name, low.type, [low.type, llvm_type("i8", 8), low.type])
        return Real(b, by_registers(b, lambda part: b.call(name, code, 8, [low, part, high], "found"), index))
    whole = b.vector(code, table)
    name = "llvm.x86.avx512.permvar.sf.512"
    b.module.declare(name, whole.type, [whole.type, llvm_type("i4", 16)])
    return Real(b, by_registers(b, lambda part: b.call(name, code, 16, [whole, part], "found"), index))


# Kinds of numbers, as the bits of the instruction that tells them.
_NANS, _ZEROS, _INFINITIES, _SUBNORMAL, _NEGATIVE = 0x81, 0x06, 0x18, 0x20, 0x40


def abnormal(x: Real) -> Mask:
    """Zero, subnormal, infinite or nan."""
    if x.b.has_avx512:
        return _of_kinds(x, _NANS | _ZEROS | _INFINITIES | _SUBNORMAL)
    return _bits_outside(x, x.b.and_(x.bits(), x.b.like(x.bits(), format_of(x).magnitude)))


def not_positive(x: Real) -> Mask:
    """Not a positive normal number."""
    if x.b.has_avx512:
        return _of_kinds(x, 0xFF)
    return _bits_outside(x, x.bits())


def between(x: Real, low: float, high: float) -> Mask:
    """low <= x < high, for positive numbers, by bits: one comparison."""
    b, bits, form = x.b, x.bits(), format_of(x)
    first, end = (int.from_bytes(struct.pack(form.packed, number), "little") for number in (low, high))
    return Mask(b, b.compare("ult", b.sub(bits, b.like(bits, first)), b.like(bits, end - first)))


def not_finite(x: Real) -> Mask:
    """Infinite or nan."""
    if x.b.has_avx512:
        return _of_kinds(x, _NANS | _INFINITIES)
    b, bits = x.b, x.bits()
    magnitude = b.and_(bits, b.like(bits, format_of(x).magnitude))
    return Mask(b, b.compare("uge", magnitude, b.like(bits, format_of(x).infinity)))


def _bits_outside(x: Real, bits: Value) -> Mask:
    """Whether they are not the bits of a positive normal number."""
    b, form = x.b, format_of(x)
    above = b.sub(bits, b.like(bits, 1 << form.fraction_bits))
    return Mask(b, b.compare("uge", above, b.like(bits, form.infinity - (1 << form.fraction_bits))))


def _of_kinds(x: Real, kinds: int) -> Mask:
    b, lanes = x.b, _REGISTER_BYTES // itemsize(x.v.code)
    name = f"llvm.x86.avx512.fpclass.p{'s' if lanes == 16 else 'd'}.512"
    b.module.declare(name, llvm_type("b1", lanes), [llvm_type(x.v.code, lanes), "i32"])
    which = Value(str(kinds), "i4", 1)
    return Mask(b, by_registers(b, lambda part: b.call(name, "b1", lanes, [part, which], "kinds"), x.v))


def rough_inverse(d: Real, halvings: int = 0) -> Real:
    """1 / d / 2**halvings to 6 %, for what is small beside the result; d is positive and normal."""
    b, form, bits = d.b, format_of(d), d.bits()
    # The bits of a float are a logarithm of it within 0.086: half of that is where the errors to both sides are equal.
    middle = round((2 * form.bias - 0.0866 - halvings) * 2.0**form.fraction_bits)
    return Real(b, b.bitcast(b.sub(b.like(bits, middle), bits), form.code))


def scaled(y: Real, shifted: Real, by: int = 0) -> Real:
    """y * 2**k, rounded once: k = floor(shifted - magic_step) + by, 1/2 < |y| < 4.

    -1088 <= k <= 1025 for float64, -158 <= k <= 129 for float32.
    """
    b, form = y.b, format_of(y)
    n = shifted - (form.magic_step - by)
    if b.has_avx512:
        return _scalef(y, n)
    # Two factors, both of them normal numbers, also where the result is subnormal or 2**n would overflow alone.
    negative = n < 0.0
    up = 64 if form.code == "f8" else 32
    bits = (shifted + negative.pick(float(by + form.bias + up), float(by + form.bias - 1), form.code)).bits()
    exponent = b.and_(
        b.binary("shl", bits, b.like(bits, form.fraction_bits - 4)), b.like(bits, -(1 << form.fraction_bits))
    )
    return y * Real(b, b.bitcast(exponent, form.code)) * negative.pick(2.0**-up, 2.0, form.code)


def _scalef(y: Real, n: Real) -> Real:
    b, code = y.b, y.v.code
    lanes = _REGISTER_BYTES // itemsize(code)
    vector = llvm_type(code, lanes)
    name, mask = (
        ("llvm.x86.avx512.mask.scalef.pd.512", "i1") if code == "f8" else ("llvm.x86.avx512.mask.scalef.ps.512", "i2")
    )
    b.module.declare(name, vector, [vector, vector, vector, llvm_type(mask, 1), "i32"])

    def scale(part: Value, exponent: Value) -> Value:
        current_rounding = Value("4", "i4", 1)
        rest = [Value("poison", code, lanes), Value("-1", mask, 1), current_rounding]
        return b.call(name, code, lanes, [part, exponent, *rest], "scaled")

    return Real(b, by_registers(b, scale, y.v, n.v))


def better(b: Builder, larger: bool, x: Value, y: Value) -> Value:
    """x if it is larger than y, or less; else y: of +0 and -0, and where one is NaN. No flag is raised.

    That is maxps or minps, which tell of NaN as an invalid operation, but for whole registers of AVX-512.
    """
    lanes = _REGISTER_BYTES // itemsize(x.code)
    if not b.has_avx512 or x.lanes % lanes:
        return b.select(b.quiet("ogt" if larger else "olt", x, y), x, y)
    name = f"llvm.x86.avx512.{'max' if larger else 'min'}.p{'s' if lanes == 16 else 'd'}.512"
    vector = llvm_type(x.code, lanes)
    b.module.declare(name, vector, [vector, vector, "i32"])
    quietly = Value("8", "i4", 1)
    return by_registers(b, lambda *parts: b.call(name, x.code, lanes, [*parts, quietly], "better"), x, y)


def by_registers(b: Builder, call: Callable[..., Value], *arguments: Value, lanes: int = 0) -> Value:
    """`call` on whole registers (of so many lanes), whatever the number of lanes."""
    whole = lanes or _REGISTER_BYTES // itemsize(arguments[0].code)
    lanes = arguments[0].lanes
    if lanes == whole:
        return call(*arguments)
    if lanes < whole:
        return _narrowed(b, call(*(_widened(b, a, whole) for a in arguments)), lanes)
    parts = []
    for start in range(0, lanes, whole):
        parts.append(call(*(b.shuffle(a, None, range(start, start + whole)) for a in arguments)))
    while len(parts) > 1:
        both = range(2 * parts[0].lanes)
        parts = [b.shuffle(first, second, both) for first, second in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _widened(b: Builder, a: Value, lanes: int) -> Value:
    """The lanes over and over: what is computed of the others must raise nothing of its own."""
    return b.splat(a, lanes) if a.lanes == 1 else b.shuffle(a, None, [i % a.lanes for i in range(lanes)])


def _narrowed(b: Builder, a: Value, lanes: int) -> Value:
    return b.extract(a, 0) if lanes == 1 else b.shuffle(a, None, range(lanes))


def _by_halves(b: Builder, table: Sequence[float], index: Value) -> Value:
    """A table of 16 float32 in two registers of AVX2, each of which `vpermps` looks eight up in."""
    lanes, name = 8, "llvm.x86.avx2.permps"
    b.module.declare(name, llvm_type("f4", lanes), [llvm_type("f4", lanes), llvm_type("i4", lanes)])

    def find(part: Value) -> Value:
        low, high = (
            b.call(name, "f4", lanes, [b.vector("f4", half), part], "found") for half in (table[:8], table[8:])
        )
        # The fourth bit of the index as the sign, which is what the instruction that chooses looks at.
        sign = b.binary("shl", part, b.like(part, 28))
        return b.select(b.compare("slt", sign, b.like(sign, 0)), high, low)

    return by_registers(b, find, index, lanes=lanes)


def _gather(b: Builder, table: Sequence[float], place: Value) -> Value:
    lanes, code = place.lanes, place.code.replace("i", "f")
    element, symbol = llvm_type(code, 1), _in_memory(b, table, code)
    at = "%" + b.fresh("table_entry")
    if lanes == 1:
        b.line(f"{at} = getelementptr {element}, ptr @{symbol}, {place}")
        return b.emit(f"load {element}, ptr {at}", code, 1, "found")
    vector = llvm_type(code, lanes)
    size = itemsize(code)
    name = f"llvm.masked.gather.v{lanes}f{8 * size}.v{lanes}p0"
    b.module.declare(name, vector, [f"<{lanes} x ptr>", "i32", llvm_type("b1", lanes), vector])
    b.line(f"{at} = getelementptr {element}, ptr @{symbol}, {place}")
    everywhere = b.const("b1", True, lanes)
    arguments = f"<{lanes} x ptr> {at}, i32 {size}, {everywhere}, {vector} poison"
    return b.emit(f"call {vector} @{name}({arguments})", code, lanes, "found")


def _in_memory(b: Builder, table: Sequence[float], code: str) -> str:
    """The symbol of the table, defined once in the module."""
    words = [literal(code, number) for number in table]
    name = f"table.{code}.{words[1].removeprefix('0x')}.{words[3].removeprefix('0x')}"
    numbers = ", ".join(f"{llvm_type(code, 1)} {word}" for word in words)
    b.module.define(
        name, f"@{name} = private unnamed_addr constant [{len(table)} x {llvm_type(code, 1)}] [{numbers}], align 64"
    )
    return name
