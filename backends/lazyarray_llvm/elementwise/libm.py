"""Owns calls into the C library lane by lane, for functions and special cases that have no vector form here.

The loop over the lanes is one internal function per symbol and width, so that a kernel that uses `csin`
twice at 16 lanes holds one loop and not 32 calls.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from functools import cache
from typing import Final

from .. import engine
from ..builder import Builder, Complex, Module, Value, llvm_type

_X86: Final = platform.machine().lower() in ("x86_64", "amd64", "i686")


@cache
def _provide(symbol: str) -> None:
    """Makes a C function known to the engine; not every process has libm among its global symbols."""
    for library in (None, "libm.so.6", "libSystem.B.dylib"):
        try:
            function = getattr(ctypes.CDLL(library), symbol, None)
        except OSError:
            continue
        if function is not None:
            address = ctypes.cast(function, ctypes.c_void_p).value
            assert address is not None
            engine.add_symbol(symbol, address)
            return


def real_symbol(name: str, code: str) -> str:
    """C's name of a function for f4 or f8."""
    return name + ("f" if code == "f4" else "")


def call_real(b: Builder, name: str, arguments: Sequence[Value]) -> Value:
    """The C function `name` (its double name) on each lane of f4 or f8 arguments."""
    first = arguments[0]
    symbol = real_symbol(name, first.code)
    _provide(symbol)
    element = llvm_type(first.code, 1)
    b.module.declare(symbol, element, [element] * len(arguments))
    if first.lanes == 1:
        return b.call(symbol, first.code, 1, arguments)
    loop = _define_loop(b.module, symbol, first.code, first.lanes, len(arguments), pair=False)
    return b.call(loop, first.code, first.lanes, arguments, name)


def call_complex(b: Builder, name: str, x: Complex) -> Complex:
    """The C complex function `name` (its double name) on each lane."""
    symbol = define_adapter(b.module, name, x.re.code)
    return call_pair(b, symbol, [x.re, x.im])


def call_pair(b: Builder, symbol: str, arguments: Sequence[Value]) -> Complex:
    """A function of this module from real scalars to a pair {re, im}, on each lane."""
    first = arguments[0]
    if first.lanes > 1:
        symbol = _define_loop(b.module, symbol, first.code, first.lanes, len(arguments), pair=True)
    type_ = first.type
    spelled = ", ".join(str(a) for a in arguments)
    both = b.emit(f"call {{ {type_}, {type_} }} @{symbol}({spelled})", first.code, first.lanes, "pair")
    parts = [
        b.emit(f"extractvalue {{ {type_}, {type_} }} {both.ref}, {i}", first.code, first.lanes, "part") for i in (0, 1)
    ]
    return Complex(parts[0], parts[1])


def define_adapter(module: Module, name: str, code: str, count: int = 1) -> str:
    """`{re, im} c.name(re, im, ...)` around C's complex function, whose calling convention is the CPU's.

    x86-64 System V passes a float complex in one vector register; doubles there, and both on AArch64, go
    as two.
    """
    symbol = real_symbol(name, code)
    adapter = f"c.{symbol}"
    _provide(symbol)
    if module.has(adapter):
        return adapter
    t = llvm_type(code, 1)
    parameters = [(f"%re{k}", f"%im{k}") for k in range(count)]
    flat = ", ".join(f"{t} {re}, {t} {im}" for re, im in parameters)
    lines = [f"define internal {{ {t}, {t} }} @{adapter}({flat}) {{", "entry:"]
    if _X86 and code == "f4":
        v = "<2 x float>"
        module.declare(symbol, v, [v] * count)
        for k, (re, im) in enumerate(parameters):
            lines.append(f"  %x{k}.0 = insertelement {v} poison, float {re}, i64 0")
            lines.append(f"  %x{k} = insertelement {v} %x{k}.0, float {im}, i64 1")
        packed = ", ".join(f"{v} %x{k}" for k in range(count))
        lines += [
            f"  %y = call {v} @{symbol}({packed})",
            f"  %y.re = extractelement {v} %y, i64 0",
            f"  %y.im = extractelement {v} %y, i64 1",
            "  %r.0 = insertvalue { float, float } poison, float %y.re, 0",
            "  %r = insertvalue { float, float } %r.0, float %y.im, 1",
        ]
    else:
        module.declare(symbol, f"{{ {t}, {t} }}", [t, t] * count)
        lines.append(f"  %r = call {{ {t}, {t} }} @{symbol}({flat})")
    lines += [f"  ret {{ {t}, {t} }} %r", "}"]
    module.define(adapter, "\n".join(lines))
    return adapter


def _define_loop(module: Module, symbol: str, code: str, lanes: int, count: int, *, pair: bool) -> str:
    """The loop over the lanes that calls `symbol` with `count` scalars, giving one or two results."""
    name = f"each.{symbol}.{lanes}"
    if module.has(name):
        return name
    t, v = llvm_type(code, 1), llvm_type(code, lanes)
    result, one = (f"{{ {v}, {v} }}", f"{{ {t}, {t} }}") if pair else (v, t)
    parameters = ", ".join(f"{v} %a{k}" for k in range(count))
    scalars = "\n".join(f"  %s{k} = extractelement {v} %a{k}, i64 %i" for k in range(count))
    spelled = ", ".join(f"{t} %s{k}" for k in range(count))
    parts = ("re", "im") if pair else ("re",)
    phis = "\n".join(f"  %{p} = phi {v} [ zeroinitializer, %entry ], [ %{p}.next, %lane ]" for p in parts)
    if pair:
        take = "\n".join(f"  %y.{p} = extractvalue {one} %y, {k}" for k, p in enumerate(parts))
    else:
        take = f"  %y.re = select i1 true, {t} %y, {t} %y"
    put = "\n".join(f"  %{p}.next = insertelement {v} %{p}, {t} %y.{p}, i64 %i" for p in parts)
    if pair:
        end = (
            f"  %r.0 = insertvalue {result} poison, {v} %re.next, 0\n"
            f"  %r = insertvalue {result} %r.0, {v} %im.next, 1\n  ret {result} %r"
        )
    else:
        end = f"  ret {v} %re.next"
    text = f"""define internal {result} @{name}({parameters}) {{
entry:
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %i.next, %lane ]
{phis}
{scalars}
  %y = call {one} @{symbol}({spelled})
{take}
{put}
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, {lanes}
  br i1 %more, label %lane, label %done
done:
{end}
}}"""
    module.define(name, text)
    return name
