"""Owns the plan record: the steps that evaluate an expression, free of addresses and scalar values.

Slots are positions of entries in the expression as the passes left it; `origins` leads from a slot to the captured
entry whose source (a node or a number) feeds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from lazyarray.ir.expression import Entry
from lazyarray.ir.index_map import IndexMap, size_of
from lazyarray.ir.node import Library, Shape
from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Kernel


class Walk(NamedTuple):
    """One kernel access bound to a slot: byte offset from the slot's memory, byte stride per kernel axis."""

    slot: int
    offset: int
    strides: tuple[int, ...]


class Scalar(NamedTuple):
    """A kernel scalar: the number of slot `slot`, or the literal `value` (such as a stride) where slot is None."""

    slot: int | None
    value: int | float = 0


class KernelStep(NamedTuple):
    """Launches a kernel. `writes` are the slots it makes; each needs memory before the launch."""

    kernel: Kernel
    extents: tuple[int, ...]
    walks: tuple[Walk, ...]
    strides: tuple[tuple[int, ...], ...]  # of the walks, as a launch takes them
    scalars: tuple[Scalar, ...]
    writes: tuple[int, ...]
    what: str  # what it does, e.g. "reduction"
    domain: Shape  # over these elements
    ops: tuple[str, ...]  # the fused operations, in order
    loaded: int  # bytes read from memory, each distinct walk once
    stored: int
    raising: tuple[tuple[int, int], ...]  # values of the kernel that can raise errors, and the slots they compute
    rewrites: bool  # it may write memory that it reads: it cannot be run again
    computes: tuple[int, ...]  # slots of the operations in `ops`
    unfused: int  # bytes that they would read and write one by one

    @property
    def name(self) -> str:
        """The step in reports, such as "elementwise 1000x200 (3 ops)"."""
        shape = "x".join([str(extent) for extent in self.domain]) or "0-d"
        return f"{self.what} {shape} ({len(self.ops)} ops)" if self.ops else f"copy {shape}"


class ClaimStep(NamedTuple):
    """Makes slot `result` from the memory of slot `old`: taken over where nobody else can read it, else copied.

    `copy`: a later step still reads the old value, so it must be copied.
    """

    old: int
    result: int
    copy: bool


class CallStep(NamedTuple):
    """A library call. Arguments are slots seen through an optional index map, or slots of scalars."""

    library: Library
    args: tuple[tuple[int, IndexMap | None], ...]
    result: int


class EmptyStep(NamedTuple):
    """Gives slot `result` memory with no values."""

    result: int


Step: TypeAlias = KernelStep | ClaimStep | CallStep | EmptyStep


@dataclass(slots=True, eq=False, repr=False)
class Plan:
    """Steps in order; `frees[i]`: slots whose memory nobody needs after step i; `outputs`: slots asked for."""

    steps: tuple[Step, ...]
    frees: tuple[tuple[int, ...], ...]
    outputs: tuple[int, ...]
    origins: tuple[int | None, ...]
    shapes: tuple[Shape, ...]
    codes: tuple[str, ...]
    why: dict[int, str] = field(default_factory=dict)  # slots in memory that nobody asked for
    again: dict[int, float] = field(default_factory=dict)  # slots computed more than once, how often
    apart: dict[int, tuple[int, str]] = field(default_factory=dict)  # step -> earlier one, why not in it
    scheduled: tuple[Entry, ...] | Callable[[], tuple[Entry, ...]] = ()  # `entries`, or what makes them
    kin: Plan | None = None  # a plan that differs in sizes alone
    layout: Any = None  # what the runtime keeps of it for the host
    recalls: int = 0  # how many of its evaluations are kept there (`runtime/recalled.py`)
    ready: dict[int, Any] = field(default_factory=dict)  # and for devices
    programs: dict[Any, Any] = field(default_factory=dict)  # of devices, by device and kernel

    def nbytes(self, slot: int) -> int:
        """Bytes of a slot's memory."""
        return size_of(self.shapes[slot]) * int(self.codes[slot][1:])

    @property
    def entries(self) -> tuple[Entry, ...]:
        """By slot: what was scheduled."""
        if callable(self.scheduled):
            self.scheduled = self.scheduled()
        return self.scheduled

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(step.kernel for step in self.steps if isinstance(step, KernelStep))
