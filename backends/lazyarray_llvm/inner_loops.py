"""Owns the lowering of elementwise ops to NumPy inner loops, for the ufuncs of small arrays (`eager.py`).

A loop works in chunks of one vector.  Operands that are contiguous are read and written in place; a chunk
of any other operand (strided, broadcast, the last incomplete chunk) goes through a small buffer on the
stack, so that every element passes through the same instructions wherever it lies.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any, Final

from lazyarray.ir.ops import OPS

from . import engine
from .builder import (
    COMPLEX_PARTS,
    AnyValue,
    Builder,
    Complex,
    Module,
    Value,
    is_complex,
    itemsize,
    llvm_type,
)
from .eager import symbol_of
from .elementwise import lower
from .elementwise.casts import truth
from .elementwise.comparison import isinf, isnan

_X86: Final = platform.machine().lower() in ("x86_64", "amd64", "i686")
# FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW of the C library, which on x86 are also the bits of MXCSR.
_INVALID, _DIVIDE, _OVERFLOW = (1, 4, 8) if _X86 else (1, 2, 4)
_ALL_FLAGS: Final = 0x3D if _X86 else 0x1F
_POLES: Final = frozenset(("log", "log2", "log10", "log1p", "arctanh"))


def inner_loop(op: str, in_codes: Sequence[str], out_code: str) -> str:
    """The IR text of a module with one NumPy inner loop, `void (args, n, steps, data)`."""
    module = Module()
    define_inner_loop(module, op, in_codes, out_code)
    return module.text()


def define_inner_loop(
    module: Module,
    op: str,
    in_codes: Sequence[str],
    out_code: str,
    at: engine.Host | None = None,
    lanes: int = 0,
) -> str:
    """Adds the inner loop of `op` to a module, for this CPU and width if not told, and returns its symbol."""
    symbol = symbol_of(op, in_codes, out_code)
    if not module.has(symbol):
        loop = _Loop(module, op, (*in_codes, out_code), at or engine.host(), lanes)
        module.define(symbol, loop.text(symbol))
    return symbol


def _memory_type(code: str) -> str:
    return "i8" if code == "b1" else llvm_type(code, 1)


class _Loop:
    """Writes one inner loop."""

    def __init__(self, module: Module, op: str, codes: tuple[str, ...], at: engine.Host, lanes: int) -> None:
        self.op = op
        self.codes = codes  # of the arguments, then of the result
        widest = max(itemsize(COMPLEX_PARTS.get(code, code)) for code in codes)
        self.lanes = lanes or max(at.vector_bytes // widest, 1)
        self.b = Builder(module, has_fma=at.has_fma)
        self.checked = op in OPS and OPS[op].transcendental

    def text(self, symbol: str) -> str:
        self._entry()
        self._chunks()
        body = "\n".join(self.b.lines)
        return f"define void @{symbol}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{\nentry:\n{body}\n}}"

    # -- the frame: pointers, steps, buffers -------------------------------------------------------------
    def _integer(self, instruction: str, hint: str = "n") -> Value:
        return self.b.emit(instruction, "i8", 1, hint)

    def _pointer(self, instruction: str, hint: str = "p") -> str:
        name = "%" + self.b.fresh(hint)
        self.b.line(f"{name} = {instruction}")
        return name

    def _at(self, base: str, offset: Value) -> str:
        return self._pointer(f"getelementptr i8, ptr {base}, i64 {offset.ref}", "at")

    def _entry(self) -> None:
        b = self.b
        self.size = self._integer("load i64, ptr %dims", "size")
        self.bases, self.steps, self.buffers, self.contiguous = [], [], [], []
        for k, code in enumerate(self.codes):
            slot = self._pointer(f"getelementptr ptr, ptr %args, i64 {k}", "slot")
            self.bases.append(self._pointer(f"load ptr, ptr {slot}", "base"))
            slot = self._pointer(f"getelementptr i64, ptr %steps, i64 {k}", "slot")
            self.steps.append(self._integer(f"load i64, ptr {slot}", "step"))
            self.buffers.append(self._pointer(f"alloca [{self.lanes * itemsize(code)} x i8], align 64", "buffer"))
            self.contiguous.append(b.compare("eq", self.steps[k], b.const("i8", itemsize(code), 1)))
        if self.checked:
            self.flags = _Flags(b)
        stepwise = self._depends()
        self.whole = b.not_(stepwise)
        self.chunk = b.select(stepwise, b.const("i8", 1, 1), b.const("i8", self.lanes, 1))
        zero = b.const("i8", 0, 1)
        empty, loop = b.fresh("empty"), b.fresh("fill")
        b.branch(b.compare("sgt", self.size, zero), loop, empty)
        b.start(empty)
        b.line("ret void")
        b.start(loop)
        self.constant = []
        for k in range(len(self.codes) - 1):
            fixed = b.and_(b.compare("eq", self.steps[k], zero), self.whole)
            self.constant.append(fixed)
            self._when(fixed, lambda k=k: self._stage(k, self.bases[k], b.const("i8", 1, 1)))

    def _extent(self, k: int) -> tuple[Value, Value]:
        """The first byte of operand k and the one behind its last."""
        b = self.b
        start = self._integer(f"ptrtoint ptr {self.bases[k]} to i64", "address")
        travel = b.mul(b.sub(self.size, b.like(start, 1)), self.steps[k])
        low = b.add(start, b.intrinsic("smin", [travel, b.like(start, 0)]))
        high = b.add(start, b.intrinsic("smax", [travel, b.like(start, 0)]))
        return low, b.add(high, b.like(start, itemsize(self.codes[k])))

    def _depends(self) -> Value:
        """May an element be read after it was written (reduce, accumulate)? Then the loop goes one by one."""
        b = self.b
        out = len(self.codes) - 1
        found = b.compare("eq", self.steps[out], b.const("i8", 0, 1))
        low, high = self._extent(out)
        for k in range(out):
            start, end = self._extent(k)
            meets = b.and_(b.compare("ult", start, high), b.compare("ult", low, end))
            same_start = b.emit(f"icmp eq ptr {self.bases[k]}, {self.bases[out]}", "b1", 1, "same")
            same = b.and_(same_start, b.compare("eq", self.steps[k], self.steps[out]))
            found = b.or_(found, b.and_(meets, b.not_(same)))
        return found

    def _when(self, condition: Value, emit: Any) -> None:
        then, after = self.b.fresh("then"), self.b.fresh("after")
        self.b.branch(condition, then, after)
        self.b.start(then)
        emit()
        self.b.jump(after)
        self.b.start(after)

    # -- copies between memory and buffers ---------------------------------------------------------------
    def _copying(self, count: Value, move: Any) -> None:
        """for j in range(count): move(j)"""
        b = self.b
        before, head, after = b.block, b.fresh("copy"), b.fresh("copied")
        b.jump(head)
        b.start(head)
        following = "%" + b.fresh("j.next")
        j = self._integer(f"phi i64 [ 0, %{before} ], [ {following}, %{head} ]", "j")
        move(j)
        b.line(f"{following} = add i64 {j.ref}, 1")
        b.branch(b.compare("ult", Value(following, "i8", 1), count), head, after)
        b.start(after)

    def _stage(self, k: int, start: str, count: Value) -> None:
        """Fills the buffer of operand k with `count` elements, the last one repeated to the end."""
        b, code = self.b, self.codes[k]
        size = itemsize(code)
        last = b.sub(count, b.like(count, 1))

        def move(j: Value) -> None:
            source = self._at(start, b.mul(b.intrinsic("smin", [j, last]), self.steps[k]))
            target = self._at(self.buffers[k], b.mul(j, b.like(j, size)))
            b.line(f"{(name := '%' + b.fresh('element'))} = load i{8 * size}, ptr {source}, align 1")
            b.line(f"store i{8 * size} {name}, ptr {target}, align 1")

        self._copying(b.const("i8", self.lanes, 1), move)

    def _unstage(self, k: int, start: str, count: Value) -> None:
        b = self.b
        size = itemsize(self.codes[k])

        def move(j: Value) -> None:
            source = self._at(self.buffers[k], b.mul(j, b.like(j, size)))
            target = self._at(start, b.mul(j, self.steps[k]))
            b.line(f"{(name := '%' + b.fresh('element'))} = load i{8 * size}, ptr {source}, align 1")
            b.line(f"store i{8 * size} {name}, ptr {target}, align 1")

        self._copying(count, move)

    def _load(self, pointer: str, code: str) -> AnyValue:
        b, n = self.b, self.lanes
        if is_complex(code):
            part = COMPLEX_PARTS[code]
            both = b.emit(f"load {llvm_type(part, 2 * n)}, ptr {pointer}, align 1", part, 2 * n, "pairs")
            if n == 1:
                return Complex(b.extract(both, 0), b.extract(both, 1))
            even, odd = range(0, 2 * n, 2), range(1, 2 * n, 2)
            return Complex(b.shuffle(both, None, even), b.shuffle(both, None, odd))
        if code == "b1":
            raw = b.emit(f"load {llvm_type('u1', n)}, ptr {pointer}, align 1", "u1", n, "bytes")
            return b.compare("ne", raw, b.like(raw, 0))
        return b.emit(f"load {llvm_type(code, n)}, ptr {pointer}, align 1", code, n, "load")

    def _store(self, value: AnyValue, pointer: str) -> None:
        b, n = self.b, self.lanes
        if isinstance(value, Complex):
            if n == 1:
                both = Value("poison", value.re.code, 2)
                both = b.insert(b.insert(both, value.re, 0), value.im, 1)
            else:
                both = b.shuffle(value.re, value.im, [i // 2 + n * (i % 2) for i in range(2 * n)])
            b.line(f"store {both}, ptr {pointer}, align 1")
            return
        if value.code == "b1":
            value = b.convert("zext", value, "u1")
        b.line(f"store {value}, ptr {pointer}, align 1")

    # -- the loop ----------------------------------------------------------------------------------------
    def _chunks(self) -> None:
        b = self.b
        out = len(self.codes) - 1
        before, head, done = b.block, b.fresh("head"), b.fresh("done")
        b.jump(head)
        b.start(head)
        following, latch = "%" + b.fresh("i.next"), b.fresh("latch")
        i = self._integer(f"phi i64 [ 0, %{before} ], [ {following}, %{latch} ]", "i")
        if self.checked:
            self.flags.open(before, latch, self.lanes)
        count = b.intrinsic("smin", [b.sub(self.size, i), self.chunk])
        full = b.and_(b.compare("eq", count, b.const("i8", self.lanes, 1)), self.whole)
        args = []
        for k in range(out):
            here = self._at(self.bases[k], b.mul(i, self.steps[k]))
            direct = b.and_(full, self.contiguous[k])
            self._when(
                b.not_(b.or_(direct, self.constant[k])),
                lambda k=k, here=here: self._stage(k, here, count),
            )
            pointer = self._pointer(f"select i1 {direct.ref}, ptr {here}, ptr {self.buffers[k]}", "source")
            args.append(self._load(pointer, self.codes[k]))
        result = lower(b, self.op, args, self.codes[out])
        if self.checked:
            self.flags.collect(self.op, args, result)
        here = self._at(self.bases[out], b.mul(i, self.steps[out]))
        direct = b.and_(full, self.contiguous[out])
        target = self._pointer(f"select i1 {direct.ref}, ptr {here}, ptr {self.buffers[out]}", "target")
        self._store(result, target)
        self._when(b.not_(direct), lambda: self._unstage(out, here, count))
        b.jump(latch)
        b.start(latch)
        b.line(f"{following} = add i64 {i.ref}, {count.ref}")
        b.branch(b.compare("slt", Value(following, "i8", 1), self.size), head, done)
        b.start(done)
        if self.checked:
            self.flags.close()
        b.line("ret void")


class _Flags:
    """Floating-point status of a loop: as if only NumPy's causes of it had happened.

    Vector code raises flags in lanes whose results it does not use.  The status at entry comes back at the
    end, with invalid added if a NaN came out of numbers, and divide-by-zero or overflow if an infinity
    came out of finite ones.
    """

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.seen: dict[str, Value] = {}
        if _X86:
            b.line("%status.slot = alloca i32")
            b.module.declare("llvm.x86.sse.stmxcsr", "void", ["ptr"])
            b.module.declare("llvm.x86.sse.ldmxcsr", "void", ["ptr"])
            b.line("call void @llvm.x86.sse.stmxcsr(ptr %status.slot)")
            b.line("%status = load i32, ptr %status.slot")
        else:
            b.module.declare("fetestexcept", "i32", ["i32"])
            b.module.declare("feclearexcept", "i32", ["i32"])
            b.module.declare("feraiseexcept", "i32", ["i32"])
            b.line(f"%status = call i32 @fetestexcept(i32 {_ALL_FLAGS})")

    def open(self, before: str, latch: str, lanes: int) -> None:
        """What happened so far in each lane, carried around the loop.

        As masks: a scalar would tie each turn's addresses to the turn before through x86's partial registers.
        """
        none = self.b.const("b1", False, lanes).ref
        self.seen = {name: Value(f"%seen.{name}", "b1", lanes) for name in ("invalid", "pole", "overflow")}
        for mask in self.seen.values():
            self.b.line(f"{mask.ref} = phi {mask.type} [ {none}, %{before} ], [ {mask.ref}.next, %{latch} ]")

    def collect(self, op: str, args: Sequence[AnyValue], result: AnyValue) -> None:
        b = self.b
        nan, infinite = self._any(isnan, [result]), self._any(isinf, [result])
        limit = b.and_(infinite, b.not_(self._any(isinf, args)))
        pole = b.const("b1", op in _POLES, limit.lanes)
        pole_of_zero = op in ("power", "float_power")
        if pole_of_zero:
            pole = b.not_(truth(b, args[0]))
        # NumPy's loops of these compare before they compute, which raises the flag for NaN arguments too.
        compares = op.startswith("logaddexp") or (pole_of_zero and isinstance(result, Complex))
        now = {
            "invalid": nan if compares else b.and_(nan, b.not_(self._any(isnan, args))),
            "pole": b.and_(limit, pole),
            "overflow": b.and_(limit, b.not_(pole)),
        }
        for name, mask in self.seen.items():
            b.line(f"{mask.ref}.next = or {mask.type} {mask.ref}, {now[name].ref}")

    def _any(self, test: Any, values: Sequence[AnyValue]) -> Value:
        """Per lane: is it true of any part of any value."""
        parts: list[Value] = []
        for value in values:
            parts.extend([value.re, value.im] if isinstance(value, Complex) else [value])
        found: Value = test(self.b, parts[0])
        for part in parts[1:]:
            found = self.b.or_(found, test(self.b, part))
        return found

    def close(self) -> None:
        b = self.b
        end = Value("%status", "u4", 1)
        for name, flag in (("invalid", _INVALID), ("pole", _DIVIDE), ("overflow", _OVERFLOW)):
            happened = b.any(Value(f"{self.seen[name].ref}.next", "b1", self.seen[name].lanes))
            end = b.or_(end, b.select(happened, b.like(end, flag), b.like(end, 0)))
        if _X86:
            b.line(f"store {end}, ptr %status.slot")
            b.line("call void @llvm.x86.sse.ldmxcsr(ptr %status.slot)")
        else:
            b.line(f"call i32 @feclearexcept(i32 {_ALL_FLAGS})")
            b.line(f"call i32 @feraiseexcept({end})")
