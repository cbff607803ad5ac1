"""Owns which neighbouring kernels of a plan run in bands: some rows of each after the other, while these are in caches.

A kernel that walks arrays larger than the caches leaves nothing there for the next one. Where all that the next one
needs of the first lies in the same rows, or in rows near by, both can run row by row instead: each of them at most so
many rows behind the one before as its reads and writes ask for (time skewing, M. Wolf and M. Lam, "A data locality
optimizing algorithm", PLDI 1991). Every element is computed by the same operations on the same values, so results are
those of one kernel after the other.

Rows are cut into blocks that threads take. Near the edges of a block a kernel would need rows of the next block, so it
leaves some of its own out, which run when all blocks have (trapezoids, M. Frigo and V. Strumpen, "Cache oblivious
stencil computations", ICS 2005).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import prod
from typing import Any, Final

from lazyarray.ir.index_map import size_of
from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Kernel
from lazyarray.schedule.meeting import disjoint
from lazyarray.schedule.plan import ClaimStep, EmptyStep, KernelStep, Plan, Step, Walk

WORTH_MOVED: Final = 16 << 20  # bytes that a plan moves, from which on looking for bands is worth its time
WORTH_TOUCHED: Final = 12 << 20  # bytes of distinct memory: less stays in caches anyway
SAVED: Final = 3  # one part in so many of what is moved must be memory that another kernel has had
ROW_BYTES: Final = 4096  # short rows are taken several at a time
TILE_BYTES: Final = 16 << 10  # kernels are called for results of so many bytes on average, where rows lie close enough
WINDOW: Final = 2 << 20  # bytes that all rows at hand may take
SMALL: Final = 4096  # elements of a kernel that may run as a whole within one row
LINE: Final = 64
SPARE: Final = 8 << 20  # bytes more than one kernel after the other would hold
GAPS: Final = 6  # one row in so many may be left out at edges of blocks


class Part(NamedTuple):
    """A kernel step's share. Its `size` rows are tasks of a launch cut into `rows`, `run`, `blocks`, `block`.

    `first`: the row of memory, counted as all steps count it, of its first one. `shift`: rows that it stays behind.
    `left`, `right`: rows that it leaves out at the edges of a block. `again`: rows that just ran can run once more,
    since they do not read what they have written.
    """

    place: int
    size: int
    rows: int
    run: int
    blocks: int
    block: int
    first: int
    shift: int
    left: int
    right: int
    again: bool


class Bands(NamedTuple):
    """Steps `first` to `last` of a plan, of which the kernels run in bands of `tile` rows.

    `reuse`: slots that have the memory of an earlier one, which nobody needs any more. `after`: places of small kernels
    that run when the bands have, as a periodic array's corners do, which need rows of all sides.
    """

    first: int
    last: int
    parts: tuple[Part, ...]
    tile: int
    reuse: tuple[tuple[int, int], ...]
    after: tuple[int, ...]


class Touch(NamedTuple):
    """Rows of one buffer that a kernel touches in each of its rows: `low` to `high`, from there on."""

    buffer: int
    low: int
    high: int
    written: bool
    nbytes: int  # in one row


def find_bands(plan: Plan, workers: int) -> tuple[Bands, ...]:
    """The runs of steps of a plan that are worth running in bands on so many threads."""
    kernels = [step for step in plan.steps if type(step) is KernelStep]
    if sum([step.loaded + step.stored for step in kernels]) < WORTH_MOVED:
        return ()
    found = []
    there: dict[int, int] = {}  # by slot with memory: the slot whose memory it may have taken over
    group = Group(plan, workers, there)
    for place, step in enumerate(plan.steps):
        if not group.takes(place, step):
            found.append(group)
            group = Group(plan, workers, there)
            if not group.takes(place, step):
                group = Group(plan, workers, there)
        group.free(place)
        for slot in results_of(step):
            old = step.old if isinstance(step, ClaimStep) and not step.copy else slot
            there[slot] = there.get(old, old)
    found.append(group)
    return tuple([group.close() for group in found if group.is_worth_it()])


def results_of(step: Step) -> tuple[int, ...]:
    """The slots that a step gives memory or values."""
    return step.writes if isinstance(step, KernelStep) else (step.result,)


def is_plain(kernel: Kernel) -> bool:
    """Whether rows of a kernel can run one at a time, in any order."""
    return not (kernel.reduces or kernel.packs or kernel.scatters) and bool(kernel.roles)


def gathered(kernel: Kernel) -> set[int]:
    """The accesses that a kernel reads anywhere."""
    return {int(one.attr or 0) for s in kernel.stages for one in (*s.body, *s.after) if one.op == "gather"}


def itemsize_of(step: KernelStep, number: int) -> int:
    """Bytes of an element of an access."""
    return int(step.kernel.accesses[number].code[1:])


def reach(walk: Walk, extents: Sequence[int], itemsize: int) -> tuple[int, int]:
    """The first and the last byte that a walk over these extents touches."""
    ends = [stride * (extent - 1) for stride, extent in zip(walk.strides, extents, strict=True)]
    last = walk.offset + sum([max(0, end) for end in ends])
    return walk.offset + sum([min(0, end) for end in ends]), last + itemsize - 1


class Cut(NamedTuple):
    """How a step is cut into rows: along its first axis, along its only one, or not at all."""

    size: int
    rows: int
    run: int
    blocks: int
    block: int
    unit: int  # indices of its first axis in one row; 0: it is one row as a whole


class Group:
    """Neighbouring steps that can run in bands, as they are found."""

    def __init__(self, plan: Plan, workers: int, there: dict[int, int]) -> None:
        self.plan = plan
        self.workers = workers
        self.there = there
        self.unit = 0  # indices of the first axis of arrays that make a row; 0: not known yet
        self.places: list[int] = []
        self.parts: list[Part] = []
        self.buffers: dict[int, int] = {}  # by slot
        self.slots: dict[int, int] = {}  # by buffer, one of its slots
        self.written: set[int] = set()
        self.anywhere: set[int] = set()  # buffers that some step reads at other places than its own rows
        # By buffer and rows: the most shift, left and right of kernels that touch these.
        self.before: dict[int, dict[tuple[int, int, bool], list[int]]] = {}
        self.windows: dict[int, list[int]] = {}  # by buffer: first and last row at hand, bytes of one row
        self.moved: dict[int, int] = {}  # by buffer: bytes of lines that all kernels move
        self.live: dict[int, set[int]] = {}  # by buffer that a step of the group made: slots in use
        self.dead: list[int] = []  # such buffers that nobody uses any more
        self.reuse: list[tuple[int, int]] = []
        self.held = self.most_held = self.total = 0  # bytes made: in use one after the other, at most, and in bands
        self.widest, self.least = 1, sys.maxsize  # rows of a kernel, at most and at least, but for those of one
        self.rows = self.gaps = self.most = 0  # rows of all kernels, those left out at an edge, and those of one kernel
        self.after: list[int] = []
        self.later: list[Touch] = []  # what the kernels after the bands touch, in rows of the buffer

    # -- steps -----------------------------------------------------------------------------------------------------
    def takes(self, place: int, step: object) -> bool:
        """Adds a step, if it can run in bands with those before."""
        if type(step) is KernelStep:
            taken = self.takes_kernel(place, step)
        elif type(step) is ClaimStep:
            taken = self.takes_claim(step)
        elif type(step) is EmptyStep:
            made = self.made_of((step.result,))
            taken = self.has_room(made)
            if taken:
                for slot, earlier in made:
                    self.make(slot, earlier)
        else:
            taken = False
        if taken:
            self.places.append(place)
        return taken

    def takes_claim(self, step: ClaimStep) -> bool:
        """All claims of a group are done before its kernels: what these compute cannot be copied yet."""
        buffer = self.buffer_of(step.old)
        if step.copy:
            return buffer not in self.written
        self.buffers[step.result] = buffer
        if buffer in self.live:
            self.live[buffer].add(step.result)
        return True

    def takes_kernel(self, place: int, step: KernelStep) -> bool:
        if not is_plain(step.kernel) or 0 in step.extents:
            return False
        made = self.made_of(step.writes)
        if not self.has_room(made):
            return False
        if not self.unit:
            self.unit = self.unit_for(step)
        taken = self.takes_rows(place, step) or self.takes_last(place, step)
        if taken:
            for slot, earlier in made:
                self.make(slot, earlier)
        return taken

    def takes_last(self, place: int, step: KernelStep) -> bool:
        """Adds a small kernel to those that run after the bands."""
        if not self.parts or prod(step.extents) > SMALL or gathered(step.kernel):
            return False
        stores = step.kernel.written
        for number, walk in enumerate(step.walks):
            buffer, row = self.buffer_of(walk.slot), self.unit * self.pitch(walk.slot)
            low, high = reach(walk, step.extents, itemsize_of(step, number))
            self.later.append(Touch(buffer, low // row, high // row, number in stores, 0))
            if number in stores:
                self.written.add(buffer)
        self.after.append(place)
        return True

    def meets_later(self, first: int, size: int, touches: list[Touch]) -> bool:
        """Whether a kernel must not run before those after the bands."""
        for touch in touches:
            low, high = first + touch.low, first + size - 1 + touch.high
            for other in self.later:
                same = touch.buffer == other.buffer and (touch.written or other.written)
                if same and low <= other.high and other.low <= high:
                    return True
        return False

    def takes_rows(self, place: int, step: KernelStep) -> bool:
        """Adds a kernel that runs in bands."""
        cut = self.cut(step)
        if cut is None:
            return False
        touches = self.touches_of(step, cut)
        if touches is None:
            return False
        first = next((t.low for t in touches if t.written), 0)
        touches = [t._replace(low=t.low - first, high=t.high - first) for t in touches]
        shift, left, right = self.behind(touches)
        part = Part(place, *cut[:5], first, shift, left, right, self.runs_again(step))
        if self.meets_later(first, cut.size, touches) or (self.parts and not self.fits(part, touches)):
            return False
        self.add(part, touches)
        return True

    def free(self, place: int) -> None:
        """Notes what nobody needs after a step."""
        for slot in self.plan.frees[place]:
            buffer = self.buffers.get(slot)
            if buffer is not None and buffer in self.live:
                self.live[buffer].discard(slot)
                if not self.live[buffer]:
                    self.dead.append(buffer)
                    self.held -= self.plan.nbytes(slot)

    # -- memory ----------------------------------------------------------------------------------------------------
    def buffer_of(self, slot: int) -> int:
        """The buffer of a slot that was there before, or that an earlier step gave one."""
        found = self.buffers.get(slot)
        if found is None:
            owner = self.there.get(slot, slot)
            found = self.buffers.get(owner)
            if found is None:
                found = self.buffers[owner] = len(self.slots)
                self.slots[found] = owner
            self.buffers[slot] = found
        return found

    def made_of(self, slots: Sequence[int]) -> list[tuple[int, int | None]]:
        """The slots among these that a step makes, each with a buffer of the group that it can have."""
        made: list[tuple[int, int | None]] = []
        dead = list(self.dead)
        for slot in slots:
            if slot in self.there or slot in self.buffers:
                continue
            same = [buffer for buffer in dead if self.layout(self.slots[buffer]) == self.layout(slot)]
            earlier = same[-1] if same else None
            if earlier is not None:
                dead.remove(earlier)
                self.buffers[slot] = earlier
            made.append((slot, earlier))
        return made

    def has_room(self, made: list[tuple[int, int | None]]) -> bool:
        """Whether the slots can be made without holding much more than one kernel after the other would."""
        held = self.held + sum([self.plan.nbytes(slot) for slot, _ in made])
        total = self.total + sum([self.plan.nbytes(slot) for slot, earlier in made if earlier is None])
        return total <= max(self.most_held, held) + SPARE

    def layout(self, slot: int) -> tuple[object, str]:
        return self.plan.shapes[slot], self.plan.codes[slot]

    def make(self, slot: int, earlier: int | None) -> None:
        """A step of the group makes the slot: in the memory of an earlier one, if there is one that is dead."""
        nbytes = self.plan.nbytes(slot)
        self.held += nbytes
        self.most_held = max(self.most_held, self.held)
        if earlier is None:
            self.total += nbytes
            self.live[self.buffer_of(slot)] = {slot}
        else:
            self.reuse.append((slot, self.slots[earlier]))
            self.dead.remove(earlier)
            self.live[earlier] = {slot}

    def pitch(self, slot: int) -> int:
        """Bytes of one index of the first axis of a slot's memory."""
        shape = self.plan.shapes[slot]
        return max(1, size_of(shape[1:]) * int(self.plan.codes[slot][1:]))

    # -- rows ------------------------------------------------------------------------------------------------------
    def unit_for(self, step: KernelStep) -> int:
        """Indices of the first axis that make a row long enough."""
        return -(-ROW_BYTES // max([self.pitch(walk.slot) for walk in step.walks]))

    def cut(self, step: KernelStep) -> Cut | None:
        """The step's rows: each as long as a row of what it writes; None where they would not be."""
        extents, unit = step.extents, self.unit
        number = min(step.kernel.written)
        walk = step.walks[number]
        pitch = self.pitch(walk.slot)
        rows, length = prod(extents[:-1]), extents[-1]
        if len(extents) > 1:
            if extents[0] > unit and walk.strides[0] == pitch:
                return Cut(-(-extents[0] // unit), rows, unit * prod(extents[1:-1]), 1, length, unit)
        else:
            stride = walk.strides[0]
            if stride > 0 and not unit * pitch % stride and length > unit * pitch // stride:
                block = unit * pitch // stride
                return Cut(-(-length // block), 1, 1, -(-length // block), block, block)
        if rows * length > SMALL:
            return None
        return Cut(1, rows, rows, 1, length, 0)

    def runs_again(self, step: KernelStep) -> bool:
        """Whether the step surely reads nothing that it writes."""
        stores = step.kernel.written
        for target in stores:
            itemsize, walk = itemsize_of(step, target), step.walks[target]
            to = (walk.offset // itemsize, tuple([stride // itemsize for stride in walk.strides]))
            for number, other in enumerate(step.walks):
                if number in stores or self.buffer_of(other.slot) != self.buffer_of(walk.slot):
                    continue
                of = (other.offset // itemsize, tuple([stride // itemsize for stride in other.strides]))
                if itemsize_of(step, number) != itemsize or not disjoint(of, to, step.extents):
                    return False
        return True

    def touches_of(self, step: KernelStep, cut: Cut) -> list[Touch] | None:
        """What each row of the step touches; None where that is not in rows near by."""
        stores, wild = step.kernel.written, gathered(step.kernel)
        owned = {self.buffer_of(step.walks[number].slot) for number in stores}
        found: list[Touch] = []
        elsewhere: set[int] = set()
        for number, walk in enumerate(step.walks):
            buffer = self.buffer_of(walk.slot)
            row = self.unit * self.pitch(walk.slot)
            itemsize = itemsize_of(step, number)
            extents = (cut.unit, *step.extents[1:]) if cut.unit else step.extents
            if number in wild or (cut.unit and walk.strides[0] * cut.unit != row):
                elsewhere.add(buffer)
                continue
            low, high = reach(walk, extents, itemsize)
            lines = prod(extents) * max(itemsize, min(LINE, abs(walk.strides[-1])))
            found.append(Touch(buffer, low // row, high // row, number in stores, min(row, lines)))
        if elsewhere & (owned | self.written) or owned & self.anywhere:
            return None
        self.anywhere |= elsewhere
        return found

    def behind(self, touches: list[Touch]) -> tuple[int, int, int]:
        """How many rows behind those before a step must stay, and how many it leaves out at a block's edges."""
        shift = left = right = 0
        for touch in touches:
            for (low, high, was_written), most in self.before.get(touch.buffer, {}).items():
                if was_written or touch.written:
                    shift = max(shift, most[0] + touch.high - low)
                    left = max(left, most[1] + high - touch.low)
                    right = max(right, most[2] + touch.high - low)
        return shift, left, right

    def fits(self, part: Part, touches: list[Touch]) -> bool:
        """Whether the rows at hand stay in caches with one more step, and blocks are much wider than their edges."""
        windows = {buffer: list(window) for buffer, window in self.windows.items()}
        if widen(windows, part, touches) > WINDOW:
            return False
        widest, least = max(self.widest, part.size), min(self.least, part.size) if part.size > 1 else self.least
        if widest * 3 > least * 4 and widest > 1:
            return False  # blocks of rows would not share out the work
        gaps = (self.gaps + part.left + part.right) * (self.workers - 1)
        most = max(self.most, part.left + part.right)
        return not gaps or (gaps * GAPS <= self.rows + part.size and most * 2 * self.workers <= widest)

    def tile(self) -> int:
        """How many rows are taken at a time."""
        steps: list[Any] = [self.plan.steps[part.place] for part in self.parts]
        sizes = [itemsize_of(step, min(step.kernel.written)) for step in steps]
        rows = [part.run * part.block * size for part, size in zip(self.parts, sizes, strict=True)]
        at_hand = sum([(high - low + 1) * nbytes for low, high, nbytes in self.windows.values()])
        one = sum([nbytes for _, _, nbytes in self.windows.values()])
        return min(-(-TILE_BYTES * len(rows) // sum(rows)), max(1, (WINDOW - at_hand) // one + 1))

    def add(self, part: Part, touches: list[Touch]) -> None:
        """A kernel runs in bands with those before."""
        widen(self.windows, part, touches)
        for touch in touches:
            most = self.before.setdefault(touch.buffer, {}).setdefault(
                (touch.low, touch.high, touch.written), [0, 0, 0]
            )
            most[:] = [max(pair) for pair in zip(most, (part.shift, part.left, part.right), strict=True)]
            if touch.written:
                self.written.add(touch.buffer)
        self.parts.append(part)
        self.rows += part.size
        self.gaps += part.left + part.right
        self.most = max(self.most, part.left + part.right)
        self.widest = max(self.widest, part.size)
        self.least = min(self.least, part.size) if part.size > 1 else self.least
        for buffer in {touch.buffer for touch in touches}:
            nbytes = part.size * max([touch.nbytes for touch in touches if touch.buffer == buffer])
            self.moved[buffer] = self.moved.get(buffer, 0) + nbytes

    # -- the end ---------------------------------------------------------------------------------------------------
    def is_worth_it(self) -> bool:
        """Whether much of what the kernels move is memory that another one has just had."""
        if len(self.parts) < 2:
            return False
        touched = sum([min(moved, self.plan.nbytes(self.slots[buffer])) for buffer, moved in self.moved.items()])
        moved = sum(self.moved.values())
        return touched >= WORTH_TOUCHED and (moved - touched) * SAVED >= moved

    def close(self) -> Bands:
        """The group as a record."""
        reuse, after = tuple(self.reuse), tuple(self.after)
        return Bands(self.places[0], self.places[-1], tuple(self.parts), self.tile(), reuse, after)


def widen(windows: dict[int, list[int]], part: Part, touches: list[Touch]) -> int:
    """Adds a step's rows to those at hand, by buffer; returns their bytes."""
    for touch in touches:
        low, high = touch.low - part.shift, touch.high - part.shift
        window = windows.setdefault(touch.buffer, [low, high, 0])
        window[:] = [min(window[0], low), max(window[1], high), max(window[2], touch.nbytes)]
    return sum([(high - low + 1) * nbytes for low, high, nbytes in windows.values()])
