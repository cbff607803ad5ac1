"""Owns which launches write past the caches: results too large for them, which would else be read before written.

A store to a line that is in no cache first reads the line. Where a launch writes more than the last cache holds, whole
vectors are written by instructions that do not (x + 1 over 80 MB moves two thirds of the bytes so). Kernels ask one
slot of the argument block; the launch sets it where every address allows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Final

from lazyarray.schedule.kernel import Kernel, Stage, Store
from lazyarray_llvm import reduce_kinds as ops
from lazyarray_llvm.builder import itemsize
from lazyarray_llvm.lower.values import value_codes

if TYPE_CHECKING:
    from lazyarray_llvm.engine import Host
    from lazyarray_llvm.lower.geometry import Geometry

LINE: Final = 64  # bytes
_CACHES: Final = "/sys/devices/system/cpu/cpu0/cache"
_USUAL: Final = 32 << 20  # bytes, where the system does not say
_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@cache
def cache_bytes() -> int:
    """The size of the last cache."""
    sizes = []
    for number in range(8):
        try:
            with open(f"{_CACHES}/index{number}/size", encoding="ascii") as file:
                text = file.read().strip()
            sizes.append(int(text[:-1]) * _UNITS[text[-1]])
        except (OSError, ValueError, KeyError, IndexError):
            break
    return max(sizes, default=_USUAL)


def host_streams(host: Host) -> bool:
    """Whether kernels for this host have the way past the caches: where one vector is one line."""
    return host.triple.startswith(("x86_64", "amd64")) and host.vector_bytes == LINE


def sums_in_blocks(stage: Stage, codes: dict[int, str]) -> bool:
    """Whether a stage walks in blocks of a pairwise sum: these begin anywhere."""
    return any(ops.kind_of(r, ops.operand_code(r, codes[r.value])) in ("tree", "stretches") for r in stage.reductions)


def may_stream(kernel: Kernel, target: Store) -> bool:
    """Whether a store writes whole rows of memory, side by side."""
    plain = target.mask is None and target.offset is None and not target.packed and target.op == "set"
    return plain and kernel.accesses[target.access].steps[-1] == "1"


def streamed(kernel: Kernel) -> tuple[int, ...]:
    """The accesses through which a kernel can write past the caches."""
    if kernel.packs or kernel.scatters:
        return ()
    codes = value_codes(kernel)
    past: dict[int, bool] = {}
    for stage in kernel.stages:
        anywhere = kernel.vector_reduced and sums_in_blocks(stage, codes)
        for target in stage.stores:
            past[target.access] = past.get(target.access, True) and not anywhere and may_stream(kernel, target)
    return tuple([number for number in sorted(past) if past[number]])


def streams_here(
    kernel: Kernel, geometry: Geometry, extents: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[int, ...]:
    """The accesses whose addresses decide whether a launch writes past the caches; none where it does not."""
    chosen = streamed(kernel) if geometry.form == "whole" else ()
    written = 0
    for number in chosen:
        access = kernel.accesses[number]
        size = itemsize(access.code)
        moved = [extent for extent, step in zip(extents, access.steps, strict=True) if step != "0"]
        written += size * prod(moved)
        if geometry.blocks > 1 and geometry.block * size % LINE:
            return ()
        if any(stride % LINE for stride, extent in zip(strides[number][:-1], extents, strict=False) if extent > 1):
            return ()
    return chosen if written >= cache_bytes() else ()
