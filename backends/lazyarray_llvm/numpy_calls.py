"""Owns what kernels know of NumPy's inner loops: a symbol for each, and which loops kernels can run."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from lazyarray.ir.numpy_loops import loop_of
from lazyarray.ir.ops import OPS, is_own_loop, plain_name
from lazyarray.schedule.kernel import Instruction, Kernel
from lazyarray_llvm import engine
from lazyarray_llvm.lower.status import status_of
from lazyarray_llvm.lower.values import value_codes

_kept: list[Any] = []  # kernels read them for as long as the process lives


def runs_numpy_loop(op: str, codes: tuple[str, ...]) -> bool:
    """Whether kernels can run NumPy's loop: what it raises, only the CPU's status register tells."""
    ufunc = OPS[op].ufunc
    return ufunc is not None and loop_of(ufunc, codes) is not None and status_of(engine.host().triple) is not None


def is_numpy_loop(instruction: Instruction) -> bool:
    """Whether NumPy's inner loop computes the instruction."""
    return is_own_loop(instruction.op)


def symbol_of(op: str, codes: tuple[str, ...]) -> str:
    """The symbol of two pointers: a loop's function and its data."""
    return "lazyarray_numpy_" + "_".join((plain_name(op), *codes))


@cache
def provide(op: str, codes: tuple[str, ...]) -> str:
    """The symbol, known to the engine from now on."""
    ufunc = OPS[op].ufunc
    assert ufunc is not None
    loop = loop_of(ufunc, codes)
    assert loop is not None, (op, codes)
    pointers = (ctypes.c_void_p * 2)(loop.function, loop.data)
    _kept.append(pointers)
    symbol = symbol_of(op, codes)
    engine.add_symbol(symbol, ctypes.addressof(pointers))
    return symbol


def provide_all(kernel: Kernel) -> int:
    """Makes the loops of a kernel known, before its code is loaded: how many there are."""
    loops = [i for s in kernel.stages for i in (*s.body, *s.after) if is_numpy_loop(i)]
    if loops:
        codes = value_codes(kernel)
        for i in loops:
            provide(i.op, (*[codes[a] for a in i.args], i.code))
    return len(loops)
