"""Owns the order in which registers hold complex numbers: as memory has them, or as halves of vectors are taken apart.

AVX2 takes (re, im) pairs of two vectors apart by one instruction for each part, which leaves the numbers of the first
vector's lower half beside those of the second's; bringing them into memory's order takes one more, across halves, that
is slow on many CPUs.  Where all that a kernel moves is complex the order in registers is nobody's concern, and stores
put the pairs together again by one instruction each.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyarray.schedule.kernel import Kernel, Reduction, Stage
from lazyarray_llvm.builder import COMPLEX_PARTS, itemsize
from lazyarray_llvm.engine import Host
from lazyarray_llvm.numpy_calls import is_numpy_loop

_HALF, _VECTOR = 16, 32  # bytes
# What knows of a lane where in memory its element lies, or elements of other lanes.
_PLACED = frozenset({"index", "gather", "expand", "recall"})


def in_halves(kernel: Kernel, host: Host) -> bool:
    """Whether registers of a kernel hold complex numbers in the order of `order`, wherever vectors are whole."""
    if not host.has_avx2 or host.vector_bytes != _VECTOR or (kernel.reduces and not kernel.vector_reduced):
        return False
    moving = [a for a in kernel.accesses if a.steps[-1] != "0"]
    # Sums add numbers in groups of as many as two vectors hold of complex128.
    known = ({"c16"},) if kernel.reduces else ({"c8"}, {"c16"})
    if {a.code for a in moving} not in known or any(a.steps[-1] != "1" for a in moving):
        return False
    return all(map(_keeps_lanes, kernel.stages))


def _adds_groups(reduction: Reduction) -> bool:
    return reduction.op == "sum" and reduction.code == "c16" and reduction.where is None


def _keeps_lanes(stage: Stage) -> bool:
    if any(i.op in _PLACED or is_numpy_loop(i) for i in (*stage.body, *stage.after)) or stage.scan is not None:
        return False
    plain = all(t.mask is None and t.offset is None and not t.packed for t in stage.stores)
    return plain and not stage.kept and all(map(_adds_groups, stage.reductions))


def order(code: str, lanes: int) -> Sequence[int]:
    """For every lane, which of so many numbers it holds; in memory's order where these are no two vectors."""
    size = itemsize(COMPLEX_PARTS[code])
    block, half = _VECTOR // size, _HALF // size // 2
    if lanes % block:
        return range(lanes)
    halves = [start + k for start in (0, block // 2, half, block // 2 + half) for k in range(half)]
    return [first + place for first in range(0, lanes, block) for place in halves]
