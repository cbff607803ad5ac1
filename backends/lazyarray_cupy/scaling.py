"""Owns the kernel that scales numbers where they are."""

from __future__ import annotations

import functools

from lazyarray.schedule.kernel import Access, Instruction, Kernel, Stage, Store


@functools.cache
def scaling(code: str) -> Kernel:
    """The kernel that multiplies numbers of a dtype by a scalar."""
    body = (
        Instruction(0, "load", (), code, 0),
        Instruction(1, "scalar", (), code, 0),
        Instruction(2, "multiply", (0, 1), code),
    )
    return Kernel(("p",), (Access(code, ("1",)),) * 2, (code,), (Stage("full", body, stores=(Store(1, 2),)),))
