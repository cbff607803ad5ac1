"""Owns the kernel record: the loop nest that every backend lowers from, free of extents, addresses and scalars.

A kernel is a perfect nest of `roles` axes, outermost first.  Role "p" is a parallel axis, "r" a reduction axis; all
"r" axes lie inside the "p" axes, except that the last axis, the one that backends run in vectors, may be "p":

    p p        elementwise over two axes
    p r        reduction of the contiguous axis: a row is one task, its values stay in cache between stages
    p r p      reduction of an outer axis: blocks of the last axis are one task, the accumulators are a row
    r          reduction of everything: split over workers into segments that do not depend on their number

Meaning, for every point of the parallel axes: run the stages in order; a stage at level "full" runs its body for every
point of the reduction axes (in logical order), feeding its reductions; a stage at level "row" runs once.  A value
computed in a "row" stage or by a reduction is visible in all later stages.  A value of a "full" stage is visible in a
later "full" stage only through `kept` (the backend keeps a row of it in scratch memory) and a `recall` instruction.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from lazyarray.records import NamedTuple

Role: TypeAlias = Literal["p", "r"]
Level: TypeAlias = Literal["full", "row"]

# How the address moves along one axis, in elements: fixed small steps are part of the structure, "s" is a runtime
# stride in bytes.  2, 3 and 4 (interleaved channels) are known only for the last axis.
Step: TypeAlias = Literal["0", "1", "-1", "2", "3", "4", "s"]


class Access(NamedTuple):
    """One affine walk over memory: dtype code and a step per kernel axis.  Its pointer and strides are arguments."""

    code: str
    steps: tuple[Step, ...]


class Instruction(NamedTuple):
    """Defines value number `target` of dtype `code`.

    op is an elementwise name of the op table applied to `args` (value numbers; each already has the dtype that the
    op's loop takes), or one of
      load    attr = access number
      scalar  attr = scalar number: a runtime argument
      const   attr = the literal itself (0, 1, -1, small integers)
      index   attr = axis: the loop index as i8 (int64)
      cast    one arg, NumPy's astype to `code`
      gather  attr = access number: reads args[0] bytes (dtype i8) from where the access is
      expand  attr = access number (every step "0"), args[0] a b1 value: where it is true, the next of the elements that
              lie one after another from the access' pointer on, in C order of the nest; elsewhere any value
      recall  attr = value number kept by an earlier stage
    """

    target: int
    op: str
    args: tuple[int, ...]
    code: str
    attr: int | float | None = None


class Reduction(NamedTuple):
    """Defines value `target` = `op` over the reduction axes of `value`.

    op: sum buffered_sum prod min max fmin fmax any all band bor bxor argmin argmax (first index, an i8), in `code`.
    Sums of floats run in NumPy's order: pairwise along the last axis when it is "r", in logical order otherwise;
    buffered_sum pairwise in runs of 8192 elements, added one after another. A kernel has only one of the two.
    `where`: a b1 value; lanes where it is false do not take part.  `start`: value number of an initial value.
    """

    target: int
    op: str
    value: int
    code: str
    where: int | None = None
    start: int | None = None


class Scan(NamedTuple):
    """Defines value `target` (full level) = running `op` (sum prod min max) of `value` along the one reduction axis."""

    target: int
    op: str
    value: int
    code: str


class Store(NamedTuple):
    """Writes `value` (dtype of the access) through access number `access`; only where `mask` is true, if given.

    `offset`: an i8 value, bytes from where the access is. Elements may meet: they are written in C order of the nest,
    so that the last one stays; different indices of the last axis never meet if the access moves along it.  `packed`:
    the values for which `mask` is true are written one after another from the access' pointer on (every step "0"), in C
    order of the nest.  `op`, with an offset: "set", or "add", each value in its turn to what is there.  `apart`, with
    an offset: elements that are written at different indices of the first axis never meet.
    """

    access: int
    value: int
    mask: int | None = None
    offset: int | None = None
    packed: bool = False
    op: str = "set"
    apart: bool = False


class Stage(NamedTuple):
    """Body, then reductions or a scan and what follows from it, then stores; `kept` values go to scratch rows."""

    level: Level
    body: tuple[Instruction, ...]
    reductions: tuple[Reduction, ...] = ()
    scan: Scan | None = None
    after: tuple[Instruction, ...] = ()  # full level, may use the scan's target
    stores: tuple[Store, ...] = ()
    kept: tuple[int, ...] = ()


class Kernel(NamedTuple):
    """The structure of one fused loop nest; equal kernels share one compiled program."""

    roles: tuple[Role, ...]
    accesses: tuple[Access, ...]
    scalars: tuple[str, ...]
    stages: tuple[Stage, ...]

    @property
    def reduces(self) -> bool:
        return "r" in self.roles

    @property
    def packs(self) -> bool:
        """True when elements are counted through the nest: packed stores, `expand`. Such kernels have no "r" axes."""
        return any(any(t.packed for t in s.stores) or any(i.op == "expand" for i in s.body) for s in self.stages)

    @property
    def scatters(self) -> bool:
        """True when stores may meet and are done in C order of the nest. Such kernels have no "r" axes."""
        return any(t.offset is not None for s in self.stages for t in s.stores)

    @property
    def written(self) -> frozenset[int]:
        """The accesses that it writes."""
        return frozenset([t.access for s in self.stages for t in s.stores])

    @property
    def adds(self) -> bool:
        """True when running it again would add to its own results."""
        return any(t.op == "add" for s in self.stages for t in s.stores)

    @property
    def vector_reduced(self) -> bool:
        """True when the last axis is a reduction axis."""
        return bool(self.roles) and self.roles[-1] == "r"


class Binding(NamedTuple):
    """What one launch adds to a kernel: extents per axis, per access a pointer and strides in bytes per axis.

    `scalars` are Python numbers, converted to the kernel's scalar codes when packed.
    """

    extents: tuple[int, ...]
    pointers: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    scalars: tuple[complex | float | int | bool, ...]
