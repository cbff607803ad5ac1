"""Owns which scratch planes a kernel needs: arrays that hold values of a row, or of a block of columns, between stages.

Long planes have an element per reduced element (of every column of the block); strips have one per column.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Kernel
from lazyarray_llvm import reduce_kinds as ops
from lazyarray_llvm.builder import COMPLEX_PARTS, is_complex, itemsize, memory_code
from lazyarray_llvm.lower.values import used_values, value_codes

SLACK = 64  # elements after a plane's end that vectors cut short may touch

# kept: value of a full stage; stretch: summands and mask of a sum with `where` (the reduction's target);
# total: accumulator of a reduction or scan of columns (its target); row: value of a row stage.
Use: TypeAlias = Literal["kept", "stretch", "total", "row"]
Key: TypeAlias = tuple[Use, int]


class Layout(NamedTuple):
    """The planes of a kernel: dtypes per key; strips come first in memory."""

    strips: dict[Key, list[str]]
    long: dict[Key, list[str]]

    def sizes(self, elements: int, block: int) -> tuple[int, int, int]:
        """Bytes of a long plane, of a strip, and of all of a worker."""
        sizes = []
        for planes, count in ((self.long, elements), (self.strips, block)):
            widths = [itemsize(code) for codes in planes.values() for code in codes]
            one = -(-(count + SLACK) * max(widths) // 64) * 64 if widths else 0
            sizes.append((one, one * len(widths)))
        return sizes[0][0], sizes[1][0], sizes[0][1] + sizes[1][1]


def layout(kernel: Kernel) -> Layout:
    """The planes that a kernel needs."""
    codes = value_codes(kernel)
    strips: dict[Key, list[str]] = {}
    long: dict[Key, list[str]] = {}
    for number, stage in enumerate(kernel.stages):
        for value in stage.kept:
            long["kept", value] = _parts(codes[value])
        for r in stage.reductions:
            code = ops.operand_code(r, codes[r.value])
            if not kernel.vector_reduced:
                strips["total", r.target] = _parts(code) + (["i8"] if r.op in ("argmin", "argmax") else [])
            elif ops.kind_of(r, code) == "stretches":
                long["stretch", r.target] = [*_parts(ops.sum_code(r.code)), "u1"]
        if kernel.vector_reduced:
            continue
        if stage.scan is not None:
            strips["total", stage.scan.target] = _parts(stage.scan.code)
        later = {v for s in kernel.stages[number + 1 :] for v in used_values(s)}
        if stage.level == "row":
            for i in (*stage.body, *stage.after):
                if i.target in later:
                    strips["row", i.target] = _parts(i.code)
    return Layout(strips, long)


def _parts(code: str) -> list[str]:
    return [memory_code(COMPLEX_PARTS.get(code, code))] * (2 if is_complex(code) else 1)
