"""Owns the argument block of a kernel: which 8-byte slot holds what, and how a launch packs it.

The block is one array of slots.  First the geometry of the launch (how work is cut into tasks, scratch memory), then
extents, pointers, strides of the steps that are not fixed, and scalars (complex ones take two slots).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from lazyarray.schedule.kernel import Binding, Kernel

# rows: points of the outer axes; run: rows of one task; blocks, block: pieces of the last axis and their length;
# scratch, stride: first byte of worker 0's scratch memory, bytes per worker; plane, strip: bytes of a plane that is
# as long as all reduced elements, or one block; depth: log2 of the segments of a row; partials: their results;
# raised: floating-point errors of the launch, written by kernels; flags: the words of a watched kernel (see `watch`);
# stream: whether whole vectors are written past the caches (see `streaming`); ran: not 0 once the first task has ended.
GEOMETRY = (
    "rows", "run", "blocks", "block", "scratch", "stride", "plane", "strip", "depth", "partials", "values",
    "raised", "flags", "stream", "ran",
)  # fmt: skip
_FORMATS = {"f2": "e6x", "f4": "f4x", "f8": "d", "b1": "?7x"}
_PARTS = {"c8": "f4", "c16": "f8"}


class Signature:
    """The slots of one kernel's argument block."""

    def __init__(self, kernel: Kernel) -> None:
        self.slots: dict[str, int] = {}
        self._formats: list[str] = []
        self._strides: list[tuple[int, int]] = []
        self._scalars = kernel.scalars
        self.masks = [(1 << 8 * int(code[1:])) - 1 if code[0] in "iu" else None for code in kernel.scalars]
        for name in GEOMETRY:
            self._add(name)
        for axis in range(len(kernel.roles)):
            self._add(f"extent{axis}")
        for number in range(len(kernel.accesses)):
            self._add(f"pointer{number}")
        last = len(kernel.roles) - 1
        for number, access in enumerate(kernel.accesses):
            for axis, step in enumerate(access.steps):
                if step == "s" or (step != "0" and axis != last):
                    self._add(f"stride{number}.{axis}")
                    self._strides.append((number, axis))
        self.scalar_slot = len(self._formats)
        self.simple = all(code == "f8" or code[0] in "iu" for code in kernel.scalars)  # one slot each, and no rounding
        for number, code in enumerate(kernel.scalars):
            if code in _PARTS:
                for part in ("re", "im"):
                    self._add(f"scalar{number}.{part}", _FORMATS[_PARTS[code]])
            else:
                self._add(f"scalar{number}", _FORMATS.get(code, "Q"))
        # What is fixed for launches of one geometry comes first, and is packed once.
        fixed = len(GEOMETRY) + len(kernel.roles)
        self._fixed = struct.Struct("<" + "".join(self._formats[:fixed]))
        self._varying = struct.Struct("<" + "".join(self._formats[fixed:]))
        self._offset = self._fixed.size
        self._last = struct.Struct("<" + "".join(self._formats[self.scalar_slot :]))
        self.size = self._fixed.size + self._varying.size
        self.pointer_slot = self.slots.get("pointer0", 0)

    def _add(self, name: str, spelled: str = "q") -> None:
        self.slots[name] = len(self._formats)
        self._formats.append("Q" if name.startswith("pointer") else spelled)

    def pack_fixed(self, block: Any, geometry: Sequence[int], extents: Sequence[int]) -> None:
        """Writes the part of an argument block that holds for all launches of a geometry."""
        self._fixed.pack_into(block, 0, *geometry, *extents)

    def pack(self, block: Any, binding: Binding) -> None:
        """Writes the part of an argument block that belongs to one launch."""
        strides = binding.strides
        values: list[object] = [*binding.pointers]
        values += [strides[number][axis] for number, axis in self._strides]
        if self._scalars:
            self._add_scalars(values, binding.scalars)
        self._varying.pack_into(block, self._offset, *values)

    def pack_scalars(self, block: Any, scalars: Sequence[Any]) -> None:
        """Writes the scalars alone."""
        values: list[object] = []
        self._add_scalars(values, scalars)
        self._last.pack_into(block, 8 * self.scalar_slot, *values)

    def _add_scalars(self, values: list[object], scalars: Sequence[Any]) -> None:
        for code, mask, value in zip(self._scalars, self.masks, scalars, strict=True):
            if mask is not None:
                values.append(int(value) & mask)
            elif code[0] == "c":
                number = complex(value)
                both = [number.real, number.imag]
                values += both if code == "c16" else [narrow(part) for part in both]
            elif code == "b1":
                values.append(bool(value))
            else:
                real = float(value)
                values.append(real if code == "f8" else narrow(real, code))


def narrow(value: float, code: str = "f4") -> float:
    """The value that C's conversion to float32 or float16 gives: infinite where struct would refuse."""
    try:
        struct.pack("<f" if code == "f4" else "<e", value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return value
