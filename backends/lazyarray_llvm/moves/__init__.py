"""Owns functions that move elements: short rows to and from lines (`rows`), squares that are turned (`squares`).

They depend on the size of elements alone, so that kernels share them: a module for each size, compiled with the package
or when a kernel first asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import get_args

from lazyarray.digests import name_of
from lazyarray_llvm import engine, ready
from lazyarray_llvm.moves.names import Way, module_name, symbol
from lazyarray_llvm.version import emitter_version


def text(size: int, width: int) -> str:
    """The module of one size for vectors of `width` bytes."""
    from lazyarray_llvm.moves.rows import rows_text  # not for what is ready
    from lazyarray_llvm.moves.squares import squares_text

    declared = "declare i64 @llvm.smax.i64(i64, i64)\ndeclare i64 @llvm.smin.i64(i64, i64)"
    return "\n".join([declared, rows_text(size, width), squares_text(size, width)])


@cache
def provide(size: int) -> None:
    """Makes the functions of a size known to the engine from now on."""
    name = module_name(size)
    find: Callable[[str], int]
    found = ready.find(name)
    if found is None:
        key = name_of(f"{emitter_version()}|{name}")
        module = engine.load(key, name)
        if module is None:
            module = engine.compile_ir(text(size, engine.host().vector_bytes), name, key=key)
        find = module.address
    else:
        find = found.get_function_address
    for way in get_args(Way):
        engine.add_symbol(symbol(way, size), find(symbol(way, size)))
