"""Owns operator notation for registers: each operator of `Real` and `Mask` appends one instruction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lazyarray_llvm.builder import Builder, Predicate, Value, llvm_type

# 1.5 * 2**52: added to |x| < 2**51, it leaves the nearest integer (ties to even) in the low bits of the sum.
MAGIC = 6755399441055744.0
# The same for f4, |x| < 2**22.
MAGIC_SHORT = 12582912.0
INF = float("inf")
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Mask:
    """A b1 register."""

    b: Builder
    v: Value

    def __and__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.and_(self.v, other.v))

    def __or__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.or_(self.v, other.v))

    def __invert__(self) -> Mask:
        return Mask(self.b, self.b.not_(self.v))

    def __xor__(self, other: Mask) -> Mask:
        return Mask(self.b, self.b.xor(self.v, other.v))

    def pick(self, a: Operand, otherwise: Operand, code: str = "f8") -> Real:
        """a in the lanes that are set, `otherwise` in the others; `code` is the dtype where neither is a register."""
        for choice in (a, otherwise):
            code = choice.v.code if isinstance(choice, Real) else code
        first = a.v if isinstance(a, Real) else self.b.const(code, a, self.v.lanes)
        second = otherwise.v if isinstance(otherwise, Real) else self.b.const(code, otherwise, self.v.lanes)
        return Real(self.b, self.b.select(self.v, first, second))


@dataclass(frozen=True, slots=True, eq=False)
class Real:
    """A float register; Python numbers beside it become constants of its type."""

    b: Builder
    v: Value

    def lift(self, other: Operand) -> Value:
        return other.v if isinstance(other, Real) else self.b.like(self.v, other)

    def __add__(self, other: Operand) -> Real:
        return Real(self.b, self.b.add(self.v, self.lift(other)))

    def __radd__(self, other: float) -> Real:
        return Real(self.b, self.b.add(self.lift(other), self.v))

    def __sub__(self, other: Operand) -> Real:
        return Real(self.b, self.b.sub(self.v, self.lift(other)))

    def __rsub__(self, other: float) -> Real:
        return Real(self.b, self.b.sub(self.lift(other), self.v))

    def __mul__(self, other: Operand) -> Real:
        return Real(self.b, self.b.mul(self.v, self.lift(other)))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Real:
        return Real(self.b, self.b.fdiv(self.v, self.lift(other)))

    def __rtruediv__(self, other: float) -> Real:
        return Real(self.b, self.b.fdiv(self.lift(other), self.v))

    def __neg__(self) -> Real:
        return Real(self.b, self.b.fneg(self.v))

    def __abs__(self) -> Real:
        return Real(self.b, self.b.intrinsic("fabs", [self.v]))

    def fma(self, factor: Operand, term: Operand) -> Real:
        """self * factor + term, rounded once where the host can."""
        return Real(self.b, self.b.fma(self.v, self.lift(factor), self.lift(term)))

    def sqrt(self) -> Real:
        return Real(self.b, self.b.intrinsic("sqrt", [self.v]))

    def trunc(self) -> Real:
        return Real(self.b, self.b.intrinsic("trunc", [self.v]))

    def copysign(self, sign: Real) -> Real:
        return Real(self.b, self.b.intrinsic("copysign", [self.v, sign.v]))

    def compare(self, predicate: Predicate, other: Operand) -> Mask:
        """A mask; quiet: NaN arguments raise nothing in NumPy."""
        quiet = predicate in ("olt", "ole", "ogt", "oge")
        compare = self.b.quiet if quiet else self.b.compare
        return Mask(self.b, compare(predicate, self.v, self.lift(other)))

    def __lt__(self, other: Operand) -> Mask:
        return self.compare("olt", other)

    def __le__(self, other: Operand) -> Mask:
        return self.compare("ole", other)

    def __gt__(self, other: Operand) -> Mask:
        return self.compare("ogt", other)

    def __ge__(self, other: Operand) -> Mask:
        return self.compare("oge", other)

    def equals(self, other: Operand) -> Mask:
        return self.compare("oeq", other)

    def above(self, other: Real) -> Mask:
        """self > other, where choices by it become `minpd` and `maxpd`; nan raises the invalid flag, as with those."""
        return Mask(self.b, self.b.compare("ogt", self.v, other.v))

    def at_most(self, limit: Operand) -> Real:
        """The smaller of both; nan stays (one `minpd`, whose second operand survives), and raises the invalid flag."""
        bound = limit if isinstance(limit, Real) else Real(self.b, self.lift(limit))
        return Mask(self.b, self.b.compare("olt", bound.v, self.v)).pick(bound, self)

    def at_least(self, limit: Operand) -> Real:
        bound = limit if isinstance(limit, Real) else Real(self.b, self.lift(limit))
        return Mask(self.b, self.b.compare("ogt", bound.v, self.v)).pick(bound, self)

    def widen(self) -> Real:
        return Real(self.b, self.b.convert("fpext", self.v, "f8"))

    def narrow(self) -> Real:
        return Real(self.b, self.b.convert("fptrunc", self.v, "f4"))

    def bits(self) -> Value:
        return self.b.bitcast(self.v, "i4" if self.v.code == "f4" else "i8")

    def masked(self, mask: int) -> Real:
        """The bits of self that are set in `mask`, as a number."""
        bits = self.bits()
        return Real(self.b, self.b.bitcast(self.b.and_(bits, self.b.like(bits, mask)), self.v.code))

    def integer(self) -> Value:
        """The low bits of a whole number |self| < 2**51 (f4: 2**22), in two's complement."""
        return (self + (MAGIC_SHORT if self.v.code == "f4" else MAGIC)).bits()

    def times_power_of_two(self, n: Value) -> Real:
        """self * 2**n, where self and the result are normal numbers, by the low bits of n."""
        b = self.b
        moved = b.binary("shl", n, b.like(n, 23 if self.v.code == "f4" else 52))
        return Real(b, b.bitcast(b.add(self.bits(), moved), self.v.code))

    def flip_sign(self, bits: Value, shift: int) -> Real:
        """Negated where bit `63 - shift` of `bits` is set; f8 only."""
        b = self.b
        sign = b.binary("shl", bits, b.like(bits, shift))
        if shift < 63:
            sign = b.and_(sign, b.like(sign, -(1 << 63)))
        return Real(b, b.bitcast(b.xor(self.bits(), sign), "f8"))

    def power_of_two(self) -> Real:
        """2**n for self = n + 1023 + MAGIC (f4: n + 127 + MAGIC_SHORT): low bits moved to the exponent."""
        b = self.b
        bits = self.bits()
        moved = b.binary("shl", bits, b.like(bits, 23 if self.v.code == "f4" else 52))
        return Real(b, b.bitcast(moved, self.v.code))


Operand: TypeAlias = Real | float


def horner(u: Real, coefficients: Sequence[float]) -> Real:
    """c0 + c1 u + c2 u**2 + ..., the most accurate way."""
    total = Real(u.b, u.lift(coefficients[-1]))
    for c in reversed(coefficients[:-1]):
        total = total.fma(u, c)
    return total


def polynomial(u: Real, coefficients: Sequence[float]) -> Real:
    """c0 + c1 u + c2 u**2 + ..., by Estrin's scheme.

    It takes a few more products than Horner's and half as long: the latency of one chain, not the number of
    instructions, bounds a loop whose iterations do not all fit into the window of the CPU.
    """
    terms: list[Real | float] = list(coefficients)
    while len(terms) > 1:
        paired: list[Real | float] = [u.fma(high, low) for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + terms[len(terms) - len(terms) % 2 :]
        if len(terms) > 1:
            u = u * u
    total = terms[0]
    return total if isinstance(total, Real) else Real(u.b, u.lift(total))


def two_sum(a: Real, c: Real) -> tuple[Real, Real]:
    """a + c and its rounding error, exactly (Knuth)."""
    total = a + c
    part = total - a
    return total, (a - (total - part)) + (c - part)


def fast_two_sum(a: Real | float, c: Real) -> tuple[Real, Real]:
    """a + c and its rounding error, exact if a = 0, |a| >= |c|, or a is a multiple of the last place of c."""
    total = a + c
    return total, c - (total - a)


def _halves(a: Real) -> tuple[Real, Real]:
    scaled = a * 134217729.0  # 2**27 + 1 (Veltkamp)
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Real, c: Real | float) -> tuple[Real, Real]:
    """a * c and its rounding error, exactly while nothing over- or underflows (Dekker, or one FMA)."""
    other = c if isinstance(c, Real) else Real(a.b, a.lift(c))
    product = a * other
    if a.b.has_fma:
        return product, a.fma(other, -product)
    ah, al = _halves(a)
    ch, cl = _halves(other)
    return product, ((ah * ch - product) + ah * cl + al * ch) + al * cl


def product_and_sum(a: Real, c: Real | float, term: Real) -> tuple[Real, Real]:
    """a * c + term and its rounding error; exact where term = 0, or the sum is no less than half of it."""
    if a.b.has_fma:
        total = a.fma(c, term)
        return total, a.fma(c, term - total)
    product, low = two_product(a, c)
    total, error = fast_two_sum(term, product)
    return total, error + low


def residual(c: Real, a: Real, d: Real) -> Real:
    """c - a * d, where the caller knows that a * d is near c: one rounding at most."""
    if a.b.has_fma:
        return (-a).fma(d, c)
    product, low = two_product(a, d)
    return (c - product) - low


def domain_error(mask: Mask, like: Real) -> Real:
    """nan in the lanes of the mask, raising the invalid flag; 0 in the others."""
    operand = mask.pick(INF, 0.0, like.v.code)
    return operand - operand


def pole(mask: Mask, zero: Real) -> Real:
    """Infinity in the lanes of the mask, where `zero` is 0, raising the divide flag; 1 in the others."""
    return 1.0 / abs(mask.pick(zero, 1.0, zero.v.code))


def mended(mask: Mask, fast: Real, mend: Callable[[Real], Real]) -> Real:
    """`fast`, or what `mend` makes of it if any lane is set; `mend` keeps the other lanes."""
    (result,) = mended_all(mask, (fast,), lambda: (mend(fast),))
    return result


def mended_all(mask: Mask, fast: Sequence[Real], mend: Callable[[], Sequence[Real]]) -> list[Real]:
    """`fast`, or what `mend` gives instead of them if any lane is set."""
    b = mask.b
    slow, join, before = b.fresh("rare"), b.fresh("joined"), b.block
    b.branch(b.any(mask.v), slow, join)
    b.start(slow)
    repaired = [real.v for real in mend()]
    end = b.block
    b.jump(join)
    b.start(join)
    pairs = zip(fast, repaired, strict=True)
    return [Real(b, b.phi(a.v.code, a.v.lanes, [(a.v, before), (other, end)])) for a, other in pairs]


def rarely(mask: Mask, fast: Real, symbol: str, arguments: Sequence[Real]) -> Real:
    """`fast`, with the C library's double function `symbol` in the lanes of the mask, which are seldom any.

    The library is reached through one function per symbol and width, out of line, so that the hot path keeps
    only a test and a branch.
    """
    b, code, lanes = fast.b, fast.v.code, fast.v.lanes
    name = f"vecmath.{symbol}.{code}x{lanes}"
    if not b.module.has(name):
        b.module.declare(symbol, "double", ["double"] * len(arguments))
        b.module.define(name, _scalar_loop(name, symbol, code, lanes, len(arguments)))

    def call(kept: Real) -> Real:
        if lanes == 1:
            packed = b.convert("zext", mask.v, "u8")
        else:
            bits = b.emit(f"bitcast {mask.v} to i{lanes}", "b1", 1, "bits")
            packed = b.emit(f"zext i{lanes} {bits.ref} to i64", "u8", 1, "packed")
        return Real(b, b.call(name, code, lanes, [*(a.v for a in arguments), kept.v, packed], "libm"))

    return mended(mask, fast, call)


def _scalar_loop(name: str, symbol: str, code: str, lanes: int, arity: int) -> str:
    vector, scalar = llvm_type(code, lanes), llvm_type(code, 1)
    wide = code == "f4"
    lines = [f"define internal {vector} @{name}("]
    lines[0] += ", ".join(f"{vector} %x{i}" for i in range(arity))
    lines[0] += f", {vector} %fast, i64 %mask) noinline cold nounwind {{"
    lines += ["entry:", f"  %out = alloca {vector}, align 64"]
    lines += [f"  %p{i} = alloca {vector}, align 64" for i in range(arity)]
    lines += [f"  store {vector} %fast, ptr %out, align 64"]
    lines += [f"  store {vector} %x{i}, ptr %p{i}, align 64" for i in range(arity)]
    lines += [
        "  br label %head",
        "head:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %tail ]",
        "  %shifted = lshr i64 %mask, %i",
        "  %wanted = trunc i64 %shifted to i1",
        "  br i1 %wanted, label %lane, label %tail",
        "lane:",
    ]
    passed = []
    for i in range(arity):
        lines.append(f"  %q{i} = getelementptr {scalar}, ptr %p{i}, i64 %i")
        lines.append(f"  %v{i} = load {scalar}, ptr %q{i}")
        if wide:
            lines.append(f"  %w{i} = fpext float %v{i} to double")
        passed.append(f"double %{'w' if wide else 'v'}{i}")
    lines.append(f"  %r = call double @{symbol}({', '.join(passed)})")
    if wide:
        lines.append("  %n = fptrunc double %r to float")
    lines += [
        f"  %q = getelementptr {scalar}, ptr %out, i64 %i",
        f"  store {scalar} %{'n' if wide else 'r'}, ptr %q",
        "  br label %tail",
        "tail:",
        "  %next = add i64 %i, 1",
        f"  %more = icmp ult i64 %next, {lanes}",
        "  br i1 %more, label %head, label %end",
        "end:",
        f"  %result = load {vector}, ptr %out, align 64",
        f"  ret {vector} %result",
        "}",
    ]
    return "\n".join(lines)
