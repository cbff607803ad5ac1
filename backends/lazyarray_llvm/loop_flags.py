"""Owns the floating-point flags of inner loops: as if only NumPy's causes of them had happened."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Any, Final

from lazyarray.ir.raises import DIVIDE, INVALID, OVERFLOW

from .builder import AnyValue, Builder, Complex, Value
from .elementwise.casts import truth
from .elementwise.comparison import isinf, isnan
from .elementwise.errors import result_errors, suspects
from .vecmath.formats import FORMATS
from .vecmath.real import Real
from .vecmath.registers import not_finite

_X86: Final = platform.machine().lower() in ("x86_64", "amd64", "i686")
# FE_INVALID, FE_DIVBYZERO, FE_OVERFLOW of the C library, which on x86 are also the bits of MXCSR.
_INVALID, _DIVIDE, _OVERFLOW = (1, 4, 8) if _X86 else (1, 2, 4)
_ALL_FLAGS: Final = 0x3D if _X86 else 0x1F
_POLES: Final = frozenset(("log", "log2", "log10", "log1p", "arctanh"))
# Ops with NumPy's bits whose instructions do not raise just what NumPy's loops raise.
TOLD: Final = frozenset(("remainder", "fmod", "floor_divide", "nextafter"))
_BITS: Final = {INVALID: _INVALID, DIVIDE: _DIVIDE, OVERFLOW: _OVERFLOW}


class LoopFlags:
    """Floating-point status of a loop: as if only NumPy's causes of it had happened.

    Vector code raises flags in lanes whose results it does not use.  The status at entry comes back at the
    end, with invalid added if a NaN came out of numbers, and divide-by-zero or overflow if an infinity
    came out of finite ones; of ops with NumPy's bits, with what kernels would tell (`elementwise/errors.py`).
    """

    def __init__(self, b: Builder) -> None:
        self.b = b
        b.line("%raised = alloca i32")
        b.line("store i32 0, ptr %raised")
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

    def collect(self, op: str, args: Sequence[AnyValue], result: AnyValue) -> None:
        """Notes what a chunk raised, if any of its results is not finite.

        The causes are told apart behind a branch: to carry them around the loop, lane by lane, took a quarter
        of the time of `exp`.
        """
        b = self.b
        odd = suspects(b, op, args, result) if op in TOLD else self._odd(result)
        rare, after = b.fresh("rare"), b.fresh("after")
        b.branch(b.any(odd), rare, after)
        b.start(rare)
        raised = b.emit("load i32, ptr %raised", "u4", 1, "raised.before")
        if op in TOLD:
            causes = {_BITS[bit]: mask for bit, mask in result_errors(b, op, args, result)}
        else:
            causes = self._causes(op, args, result)
        for flag, mask in causes.items():
            raised = b.or_(raised, b.select(b.any(mask), b.like(raised, flag), b.like(raised, 0)))
        b.line(f"store {raised}, ptr %raised")
        b.jump(after)
        b.start(after)

    def _odd(self, result: AnyValue) -> Value:
        parts = [result.re, result.im] if isinstance(result, Complex) else [result]
        odd = self._not_finite(parts[0])
        for part in parts[1:]:
            odd = self.b.or_(odd, self._not_finite(part))
        return odd

    def _not_finite(self, part: Value) -> Value:
        """As bits, which need no second comparison for NaN."""
        b = self.b
        if part.code in FORMATS:
            return not_finite(Real(b, part)).v
        bits = b.bitcast(part, "u2")
        return b.compare("uge", b.and_(bits, b.like(bits, 0x7FFF)), b.like(bits, 0x7C00))

    def _causes(self, op: str, args: Sequence[AnyValue], result: AnyValue) -> dict[int, Value]:
        """Per flag: the lanes that raise it."""
        b = self.b
        nan, infinite = self._any(isnan, [result]), self._any(isinf, [result])
        limit = b.and_(infinite, b.not_(self._any(isinf, args)))
        pole = b.const("b1", op in _POLES, limit.lanes)
        pole_of_zero = op in ("power", "float_power")
        if pole_of_zero:
            pole = b.not_(truth(b, args[0]))
        # NumPy's loops of these compare before they compute, which raises the flag for NaN arguments too.
        compares = op.startswith("logaddexp") or (pole_of_zero and isinstance(result, Complex))
        return {
            _INVALID: nan if compares else b.and_(nan, b.not_(self._any(isnan, args))),
            _DIVIDE: b.and_(limit, pole),
            _OVERFLOW: b.and_(limit, b.not_(pole)),
        }

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
        end = b.or_(Value("%status", "u4", 1), b.emit("load i32, ptr %raised", "u4", 1, "raised.all"))
        if _X86:
            b.line(f"store {end}, ptr %status.slot")
            b.line("call void @llvm.x86.sse.ldmxcsr(ptr %status.slot)")
        else:
            b.line(f"call i32 @feclearexcept(i32 {_ALL_FLAGS})")
            b.line(f"call i32 @feraiseexcept({end})")
