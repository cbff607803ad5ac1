"""Owns the text form of LLVM IR: typed values, a builder of named instructions, and the module that collects them.

A value is one register of `lanes` elements of one dtype code (`f8`, `i4`, `b1`, ...); with one lane it is a plain
scalar.  Complex numbers never reach LLVM: they are pairs (`Complex`) of real values.  Half floats are stored in
registers as `half`; whoever computes on them widens to `float` and rounds back after each operation.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from lazyarray.records import NamedTuple

REAL_TYPES = {
    "b1": "i1",
    "i1": "i8",
    "u1": "i8",
    "i2": "i16",
    "u2": "i16",
    "i4": "i32",
    "u4": "i32",
    "i8": "i64",
    "u8": "i64",
    "f2": "half",
    "f4": "float",
    "f8": "double",
}
_X86 = platform.machine().lower() in ("x86_64", "amd64")
_RAISING = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fma", "sqrt", "fptrunc", "fptosi", "fptoui"))
COMPLEX_PARTS = {"c8": "f4", "c16": "f8"}

Predicate: TypeAlias = Literal[
    "eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge",
    "oeq", "one", "olt", "ole", "ogt", "oge", "ord", "ueq", "une", "uno",
]  # fmt: skip


def itemsize(code: str) -> int:
    """Bytes of one element of `code` in memory (bool: 1)."""
    return int(code[1:])


def memory_code(code: str) -> str:
    """The dtype that elements have in memory: bools are bytes."""
    return "u1" if code == "b1" else code


def is_float(code: str) -> bool:
    return code[0] == "f"


def is_signed(code: str) -> bool:
    return code[0] == "i"


def is_complex(code: str) -> bool:
    return code[0] == "c"


def llvm_type(code: str, lanes: int) -> str:
    """The LLVM type of a register of `lanes` elements of `code`."""
    element = REAL_TYPES[code]
    return element if lanes == 1 else f"<{lanes} x {element}>"


def literal(code: str, value: float | int | bool) -> str:
    """The LLVM spelling of one constant; floats as exact hexadecimal bit patterns."""
    if code == "b1":
        return "true" if value else "false"
    if code[0] in "iu":
        bits = 8 * itemsize(code)
        number = int(value) & ((1 << bits) - 1)
        return str(number - (1 << bits) if number >> (bits - 1) else number)
    if code == "f2":
        return f"0xH{struct.unpack('<H', struct.pack('<e', float(value)))[0]:04X}"
    if code == "f4":
        value = struct.unpack("<f", struct.pack("<f", float(value)))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', float(value)))[0]:016X}"


class Value(NamedTuple):
    """One register or constant: its LLVM spelling, dtype code and number of lanes."""

    ref: str
    code: str
    lanes: int

    @property
    def type(self) -> str:
        return llvm_type(self.code, self.lanes)

    def __str__(self) -> str:
        return f"{self.type} {self.ref}"


class Complex(NamedTuple):
    """A complex register: real and imaginary part as two real registers."""

    re: Value
    im: Value

    @property
    def code(self) -> str:
        return "c8" if self.re.code == "f4" else "c16"

    @property
    def lanes(self) -> int:
        return self.re.lanes


AnyValue: TypeAlias = Value | Complex


class Module:
    """The text of one LLVM module: declarations and definitions, each kept once by name."""

    def __init__(self, header: str = "") -> None:
        self.header = header
        self._declarations: dict[str, str] = {}
        self._definitions: dict[str, str] = {}

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        """Declares the external function or intrinsic `@name`."""
        self._declarations.setdefault(name, f"declare {result} @{name}({', '.join(arguments)})")

    def has(self, name: str) -> bool:
        return name in self._definitions

    def define(self, name: str, text: str) -> None:
        """Adds the definition (function or global) called `name`, once."""
        self._definitions.setdefault(name, text)

    def text(self) -> str:
        head = [f"; {line}" for line in self.header.splitlines()]
        return "\n".join([*head, *self._declarations.values(), "", *self._definitions.values(), ""])


class Builder:
    """Appends instructions to one function body; every method returns the register that it defines."""

    def __init__(
        self,
        module: Module,
        *,
        has_fma: bool = True,
        has_avx2: bool = False,
        has_avx512: bool = False,
        slow_division: bool = False,
    ) -> None:
        self.module = module
        self.has_fma = has_fma
        self.has_avx2 = has_avx2
        self.has_avx512 = has_avx512
        self.slow_division = slow_division
        self.by_products = True  # whether quotients and roots may be products (`elementwise/exact.py`)
        self.lines: list[str] = []
        self.block = "entry"
        # Told of every instruction that can raise a floating-point error, if set (see `elementwise.errors`).
        self.observer: Callable[[str, Sequence[Value], Value], None] | None = None
        self._names: dict[str, int] = {}
        self._constants: dict[tuple[str, int, str], Value] = {}
        self.uniform: set[str] = set()  # registers and constants that hold one number for all elements of a row
        # For splats made ahead of a loop: how what follows from their number is computed there, once for each name.
        self.ahead: dict[str, Callable[[str, Callable[[Value], Value]], Value]] = {}
        self.once: set[str] = set()  # those of them that are made once for a call
        self.widened: dict[str, Value] = {}  # halves that are known as floats, too
        self.walks = False  # in a loop over several whole vectors of a row, before which more can be made

    # -- names, blocks -------------------------------------------------------------------------------------------
    def fresh(self, hint: str) -> str:
        """A register or label name (no sigil) not used before in this function."""
        count = self._names.get(hint, 0)
        self._names[hint] = count + 1
        return hint if count == 0 else f"{hint}.{count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def comment(self, text: str) -> None:
        self.lines.append(f"  ; {text}")

    def start(self, label: str) -> None:
        """Begins the basic block `label` (obtained from `fresh`); the block before must have been ended."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch(self, condition: Value, then: str, otherwise: str) -> None:
        self.line(f"br i1 {condition.ref}, label %{then}, label %{otherwise}")

    def phi(self, code: str, lanes: int, incoming: Iterable[tuple[Value, str]], hint: str = "phi") -> Value:
        pairs = ", ".join(f"[ {value.ref}, %{label} ]" for value, label in incoming)
        return self.emit(f"phi {llvm_type(code, lanes)} {pairs}", code, lanes, hint)

    def emit(self, instruction: str, code: str, lanes: int, hint: str = "v") -> Value:
        """Appends `%name = instruction`, a register of `lanes` elements of `code`."""
        name = "%" + self.fresh(hint)
        self.lines.append(f"  {name} = {instruction}")
        return Value(name, code, lanes)

    # -- constants -----------------------------------------------------------------------------------------------
    def const(self, code: str, value: float | int | bool, lanes: int) -> Value:
        """The constant `value` in every lane."""
        one = literal(code, value)
        if lanes == 1:
            return Value(one, code, 1)
        key = (code, lanes, one)
        found = self._constants.get(key)
        if found is None:
            element = REAL_TYPES[code]
            found = Value("<" + ", ".join([f"{element} {one}"] * lanes) + ">", code, lanes)
            self._constants[key] = found
            self.uniform.add(found.ref)
        return found

    def is_uniform(self, value: Value) -> bool:
        """Whether a register is known to hold one number for all elements of a row."""
        return value.ref in self.uniform or (value.lanes == 1 and value.ref[0] != "%")

    def of_number(self, value: Value, name: str, make: Callable[[Value], Value]) -> Value:
        """`make(value)` in every lane, for a `value` that is the same in all: made ahead of the loop where that was.

        What is made raises no flags that count.
        """
        ahead = self.ahead.get(value.ref)
        return make(value) if ahead is None else ahead(name, make)

    def like(self, value: Value, constant: float | int | bool) -> Value:
        """The constant with the dtype and lanes of `value`."""
        return self.const(value.code, constant, value.lanes)

    def vector(self, code: str, values: Sequence[float | int]) -> Value:
        """A constant whose lanes differ."""
        element = REAL_TYPES[code]
        return Value("<" + ", ".join(f"{element} {literal(code, v)}" for v in values) + ">", code, len(values))

    # -- arithmetic ----------------------------------------------------------------------------------------------
    def binary(self, instruction: str, a: Value, b: Value, hint: str | None = None) -> Value:
        """`instruction a, b` on two values of one type, e.g. "fadd", "xor", "ashr", "add nsw"."""
        made = self.emit(f"{instruction} {a.type} {a.ref}, {b.ref}", a.code, a.lanes, hint or instruction.split()[0])
        if self.observer is not None and instruction in _RAISING:
            self.observer(instruction, (a, b), made)
        return made

    def add(self, a: Value, b: Value) -> Value:
        return self.binary("fadd" if is_float(a.code) else "add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.binary("fsub" if is_float(a.code) else "sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self.binary("fmul" if is_float(a.code) else "mul", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self.binary("fdiv", a, b)

    def fneg(self, a: Value) -> Value:
        return self.emit(f"fneg {a.type} {a.ref}", a.code, a.lanes, "neg")

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c with one rounding where the host has FMA, with two where it has not (never a slow libm call)."""
        if not self.has_fma:
            return self.add(self.mul(a, b), c)
        return self.intrinsic("fma", [a, b, c])

    def and_(self, a: Value, b: Value) -> Value:
        return self.binary("and", a, b)

    def or_(self, a: Value, b: Value) -> Value:
        return self.binary("or", a, b)

    def xor(self, a: Value, b: Value) -> Value:
        return self.binary("xor", a, b)

    def not_(self, a: Value) -> Value:
        return self.binary("xor", a, self.const(a.code, True if a.code == "b1" else -1, a.lanes), "not")

    def intrinsic(self, name: str, arguments: Sequence[Value], *extra: str, result: str | None = None) -> Value:
        """`llvm.<name>.<type>` on arguments of one type; `extra` are further spelled arguments such as "i1 false"."""
        first = arguments[0]
        suffix = {"half": "f16", "float": "f32", "double": "f64"}.get(REAL_TYPES[first.code], REAL_TYPES[first.code])
        mangled = suffix if first.lanes == 1 else f"v{first.lanes}{suffix}"
        full = f"llvm.{name}.{mangled}"
        types = [a.type for a in arguments] + [e.split()[0] for e in extra]
        code = result or first.code
        self.module.declare(full, llvm_type(code, first.lanes), types)
        spelled = ", ".join([str(a) for a in arguments] + list(extra))
        made = self.emit(
            f"call {llvm_type(code, first.lanes)} @{full}({spelled})", code, first.lanes, name.split(".")[0]
        )
        if self.observer is not None and name in _RAISING:
            self.observer(name, arguments, made)
        return made

    def call(self, name: str, code: str, lanes: int, arguments: Sequence[Value], hint: str | None = None) -> Value:
        """Calls `@name`, which the module defines or declares."""
        spelled = ", ".join(str(a) for a in arguments)
        return self.emit(f"call {llvm_type(code, lanes)} @{name}({spelled})", code, lanes, hint or name)

    # -- comparison, choice --------------------------------------------------------------------------------------
    def compare(self, predicate: Predicate, a: Value, b: Value) -> Value:
        """A mask; predicates with o/u in front for floats (olt, une, uno), eq/ne/slt/ult for integers."""
        kind = "fcmp" if is_float(a.code) else "icmp"
        made = self.emit(f"{kind} {predicate} {a.type} {a.ref}, {b.ref}", "b1", a.lanes, "cmp")
        if self.observer is not None and kind == "fcmp" and predicate in ("olt", "ole", "ogt", "oge"):
            self.observer(kind, (a, b), made)
        return made

    def quiet(self, predicate: Predicate, a: Value, b: Value) -> Value:
        """Compares floats; a NaN raises no flag, so that it warns no more than in NumPy.

        LLVM's plain ordered comparisons are x86's signalling ones; its constrained comparison picks the quiet
        ones, which exist from AVX on (has_fma) and would be taken apart lane by lane before.
        """
        if not (_X86 and self.has_fma):
            return self.emit(f"fcmp {predicate} {a.type} {a.ref}, {b.ref}", "b1", a.lanes, "cmp")
        element = {"f2": "f16", "f4": "f32", "f8": "f64"}[a.code]
        suffix = element if a.lanes == 1 else f"v{a.lanes}{element}"
        name = f"llvm.experimental.constrained.fcmp.{suffix}"
        result = llvm_type("b1", a.lanes)
        self.module.declare(name, result, [a.type, b.type, "metadata", "metadata"])
        how = f'metadata !"{predicate}", metadata !"fpexcept.ignore"'
        return self.emit(f"call {result} @{name}({a}, {b}, {how})", "b1", a.lanes, "cmp")

    def select(self, mask: Value, a: Value, b: Value) -> Value:
        """a where mask else b."""
        return self.emit(f"select {mask}, {a}, {b}", a.code, a.lanes, "sel")

    def unless(
        self, lanes: Value, name: str, usual: Callable[[], Sequence[Value]], rare: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """What `usual` computes, or `rare` if any of `lanes` is true."""
        quick, slow, done = (self.fresh(f"{name}.{way}") for way in ("usual", "rare", "done"))
        self.branch(self.any(lanes), slow, quick)
        self.start(quick)
        first, first_end = usual(), self.block
        self.jump(done)
        self.start(slow)
        second, second_end = rare(), self.block
        self.jump(done)
        self.start(done)
        return [
            self.phi(one.code, one.lanes, [(one, first_end), (other, second_end)], name)
            for one, other in zip(first, second, strict=True)
        ]

    # -- conversion ----------------------------------------------------------------------------------------------
    def convert(self, instruction: str, a: Value, code: str) -> Value:
        """One of LLVM's conversions: trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp bitcast."""
        made = self.emit(f"{instruction} {a} to {llvm_type(code, a.lanes)}", code, a.lanes, "cast")
        if self.observer is not None and instruction in _RAISING:
            self.observer(instruction, (a,), made)
        return made

    def bitcast(self, a: Value, code: str) -> Value:
        """Same bits as another dtype of the same size."""
        if REAL_TYPES[a.code] == REAL_TYPES[code]:
            return Value(a.ref, code, a.lanes)
        return self.convert("bitcast", a, code)

    def bits(self, a: Value) -> Value:
        """The bits of floats, as integers of their size."""
        return self.bitcast(a, f"i{a.code[1:]}")

    def splat(self, a: Value, lanes: int) -> Value:
        """A scalar register in every lane."""
        if lanes == 1:
            return a
        element = REAL_TYPES[a.code]
        seed = self.emit(f"insertelement <{lanes} x {element}> poison, {a}, i64 0", a.code, lanes, "seed")
        zeros = f"<{lanes} x i32> zeroinitializer"
        made = self.emit(f"shufflevector {seed}, <{lanes} x {element}> poison, {zeros}", a.code, lanes, "splat")
        self.uniform.add(made.ref)
        return made

    def shuffle(self, a: Value, b: Value | None, lanes: Sequence[int]) -> Value:
        """Lanes picked from the concatenation of a and b; -1 is an undefined lane. `a` has two lanes or more."""
        other = f"{a.type} {b.ref if b is not None else 'poison'}"
        mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in lanes)
        text = f"shufflevector {a}, {other}, <{len(lanes)} x i32> <{mask}>"
        return self.emit(text, a.code, len(lanes), "shuffle")

    def extract(self, a: Value, lane: int) -> Value:
        """One lane as a scalar."""
        if a.lanes == 1:
            return a
        return self.emit(f"extractelement {a}, i64 {lane}", a.code, 1, "lane")

    def insert(self, a: Value, scalar: Value, lane: int) -> Value:
        if a.lanes == 1:
            return scalar
        return self.emit(f"insertelement {a}, {scalar}, i64 {lane}", a.code, a.lanes, "insert")

    def any(self, mask: Value) -> Value:
        """Scalar b1: is any lane set."""
        if mask.lanes == 1:
            return mask
        bits = self.emit(f"bitcast {mask} to i{mask.lanes}", "b1", 1, "bits")
        return self.emit(f"icmp ne i{mask.lanes} {bits.ref}, 0", "b1", 1, "any")
