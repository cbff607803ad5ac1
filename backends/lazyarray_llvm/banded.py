"""Owns launches of several programs in bands (`schedule/bands.py`): some rows of each after the other, on all threads.

A table says which function runs which rows in which block of rows; a function in machine code walks it. Blocks run
first, then the rows that were left out at their edges.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lazyarray.schedule.bands import Bands
from lazyarray.schedule.kernel import Binding
from lazyarray.schedule.plan import KernelStep
from lazyarray_llvm import engine, threads
from lazyarray_llvm.launch import Launch, word_bits
from lazyarray_llvm.lower.geometry import Geometry, Phase

if TYPE_CHECKING:
    from lazyarray_llvm.program import Program

_APART: Final = 8  # blocks for each worker, where no rows are left out
_NOTHING: Final = np.zeros(1, np.int64)  # a word of errors in which nobody looks
_EDGES: Final = 8  # one row in so many may be left out for having more blocks than workers

# Words of the table: how many parts, rows of a tile, the parts, for each task and part the rows from and to, for each
# task the time from and to and the part to begin with (below 0: all done), how many tasks are done, whether any began.
# Of a part: function, arguments, rows behind, where its word of errors is, which of them are to be told, function and
# arguments of its watched form. Rows that raised one of these run again at once, watched, before anything is written
# over what they read; from then on all rows of the part run watched. Where the watched form is not there yet, the task
# notes its place and leaves.
WALK_IR: Final = """
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)

define void @la_bands(ptr %table, i64 %begin, i64 %end, i64 %worker) nounwind {
entry:
  %parts = load i64, ptr %table, align 8
  %begun.at = getelementptr i64, ptr %table, i64 6
  store atomic i64 1, ptr %begun.at monotonic, align 8
  %tile.at = getelementptr i64, ptr %table, i64 1
  %tile = load i64, ptr %tile.at, align 8
  %functions.at = getelementptr i64, ptr %table, i64 2
  %functions = load ptr, ptr %functions.at, align 8
  %ranges.at = getelementptr i64, ptr %table, i64 3
  %ranges = load ptr, ptr %ranges.at, align 8
  %times.at = getelementptr i64, ptr %table, i64 4
  %times = load ptr, ptr %times.at, align 8
  br label %task
task:
  %t = phi i64 [%begin, %entry], [%t.next, %task.next]
  %t.more = icmp slt i64 %t, %end
  br i1 %t.more, label %block, label %leave
block:
  %time.place = mul i64 %t, 3
  %first.at = getelementptr i64, ptr %times, i64 %time.place
  %first = load i64, ptr %first.at, align 8
  %past.at = getelementptr i64, ptr %first.at, i64 1
  %past = load i64, ptr %past.at, align 8
  %begin.at = getelementptr i64, ptr %first.at, i64 2
  %k.begin = load i64, ptr %begin.at, align 8
  %over = icmp slt i64 %k.begin, 0
  br i1 %over, label %task.next, label %rows
rows:
  %range.count = mul i64 %t, %parts
  %range.place = shl i64 %range.count, 1
  %mine = getelementptr i64, ptr %ranges, i64 %range.place
  br label %band
band:
  %x = phi i64 [%first, %rows], [%x.next, %band.next]
  %k.first = phi i64 [%k.begin, %rows], [0, %band.next]
  %x.more = icmp slt i64 %x, %past
  br i1 %x.more, label %part, label %task.done
part:
  %k = phi i64 [%k.first, %band], [%k.next, %part.next]
  %k.more = icmp slt i64 %k, %parts
  br i1 %k.more, label %cut, label %band.next
cut:
  %k.place = mul i64 %k, 7
  %function.at = getelementptr i64, ptr %functions, i64 %k.place
  %behind.at = getelementptr i64, ptr %function.at, i64 2
  %behind = load i64, ptr %behind.at, align 8
  %k.pair = shl i64 %k, 1
  %low.at = getelementptr i64, ptr %mine, i64 %k.pair
  %low = load i64, ptr %low.at, align 8
  %high.at = getelementptr i64, ptr %low.at, i64 1
  %high = load i64, ptr %high.at, align 8
  %from = sub i64 %x, %behind
  %to = add i64 %from, %tile
  %row.first = call i64 @llvm.smax.i64(i64 %from, i64 %low)
  %row.past = call i64 @llvm.smin.i64(i64 %to, i64 %high)
  %any = icmp slt i64 %row.first, %row.past
  br i1 %any, label %run, label %part.next
run:
  %errors.at.at = getelementptr i64, ptr %function.at, i64 3
  %errors.at = load ptr, ptr %errors.at.at, align 8
  %told.at = getelementptr i64, ptr %function.at, i64 4
  %told = load i64, ptr %told.at, align 8
  %before = load atomic i64, ptr %errors.at monotonic, align 8
  %before.told = and i64 %before, %told
  %clean = icmp eq i64 %before.told, 0
  br i1 %clean, label %plain, label %watched
plain:
  %function = load ptr, ptr %function.at, align 8
  %arguments.at = getelementptr i64, ptr %function.at, i64 1
  %arguments = load ptr, ptr %arguments.at, align 8
  call void %function(ptr %arguments, i64 %row.first, i64 %row.past, i64 %worker)
  %after = load atomic i64, ptr %errors.at monotonic, align 8
  %after.told = and i64 %after, %told
  %fine = icmp eq i64 %after.told, 0
  br i1 %fine, label %part.next, label %watched
watched:
  %watched.at = getelementptr i64, ptr %function.at, i64 5
  %watched.function = load ptr, ptr %watched.at, align 8
  %missing = icmp eq ptr %watched.function, null
  br i1 %missing, label %task.stop, label %again
again:
  %watched.arguments.at = getelementptr i64, ptr %function.at, i64 6
  %watched.arguments = load ptr, ptr %watched.arguments.at, align 8
  call void %watched.function(ptr %watched.arguments, i64 %row.first, i64 %row.past, i64 %worker)
  br label %part.next
part.next:
  %k.next = add i64 %k, 1
  br label %part
band.next:
  %x.next = add i64 %x, %tile
  br label %band
task.stop:
  store i64 %x, ptr %first.at, align 8
  store i64 %k, ptr %begin.at, align 8
  br label %task.next
task.done:
  store i64 -1, ptr %begin.at, align 8
  %done.at = getelementptr i64, ptr %table, i64 5
  %done = atomicrmw add ptr %done.at, i64 1 monotonic, align 8
  br label %task.next
task.next:
  %t.next = add i64 %t, 1
  br label %task
leave:
  ret void
}
"""


@functools.cache
def walker() -> int:
    """The address of the function that walks a table."""
    return engine.compile_ir(WALK_IR, "bands", key="bands, level 2\0" + WALK_IR).address("la_bands")


class Walk:
    """A table: tasks, each some rows of every part."""

    __slots__ = ("_address", "_begin", "_keeps", "_times", "_words", "tasks")

    def __init__(self, parts: Any, tile: int, ranges: list[list[tuple[int, int]]], behind: Sequence[int]) -> None:
        self.tasks = len(ranges)
        self._begin = np.array([(*times_of(r, behind), 0) for r in ranges], np.int64)
        self._times = self._begin.copy()
        kept = (parts, np.array(ranges, np.int64), self._times)
        self._keeps = kept
        self._words = np.array([len(behind), tile, *[array.ctypes.data for array in kept], 0, 0], np.int64)
        self._address: int = self._words.ctypes.data

    def reset(self) -> None:
        """No task has run."""
        self._words[5:] = 0
        self._times[:] = self._begin

    def run(self, pool: threads.Pool) -> None:
        """Runs all tasks that are not done, as far as they get, or none where an interrupt comes first."""
        pool.run(walker(), self._address, self.tasks, 1)

    def begun(self) -> bool:
        """Whether any task has begun to run."""
        return bool(self._words[6])

    def ran(self) -> bool:
        """Whether all tasks have run."""
        return int(self._words[5]) == self.tasks


def times_of(ranges: list[tuple[int, int]], behind: Sequence[int]) -> tuple[int, int]:
    """From when to when a task's parts have rows to run."""
    times = [(low + late, high + late) for (low, high), late in zip(ranges, behind, strict=True) if low < high]
    return min([t[0] for t in times], default=0), max([t[1] for t in times], default=0)


def block_count(bands: Bands, workers: int) -> int:
    """Into how many blocks the rows are cut."""
    first, past = extent_of(bands)
    left_out = sum([part.left + part.right for part in bands.parts])
    if not left_out:
        return min(past - first, workers * _APART)
    more = sum([part.size for part in bands.parts]) // (left_out * _EDGES)  # edges that are few enough
    most = max([part.left + part.right for part in bands.parts])
    return max(workers, min(more, workers * _APART, (past - first) // (4 * most)))


def extent_of(bands: Bands) -> tuple[int, int]:
    """The first row of memory that a part writes, and the one after the last."""
    return min([part.first for part in bands.parts]), max([part.first + part.size for part in bands.parts])


def edges_of(bands: Bands, blocks: int) -> list[int]:
    """The rows between blocks."""
    first, past = extent_of(bands)
    return [first + (past - first) * number // blocks for number in range(1, blocks)]


def block_ranges(bands: Bands, edges: list[int]) -> list[list[tuple[int, int]]]:
    """By block and part, the rows that run in the block, counted from the part's first one."""
    found = []
    for number in range(len(edges) + 1):
        ranges = []
        for part in bands.parts:
            low = edges[number - 1] + part.left - part.first if number else 0
            high = edges[number] - part.right - part.first if number < len(edges) else part.size
            ranges.append((max(0, low), min(part.size, high)))
        found.append(ranges)
    return found


def edge_ranges(bands: Bands, edges: list[int]) -> list[list[tuple[int, int]]]:
    """By edge and part, the rows that blocks left out there."""
    return [
        [
            (max(0, edge - part.right - part.first), min(part.size, edge + part.left - part.first))
            for part in bands.parts
        ]
        for edge in edges
    ]


class BandedLaunch:
    """Several programs bound to extents, strides and a number of threads; memory differs from run to run."""

    def __init__(self, programs: Sequence[Program], steps: Sequence[KernelStep], bands: Bands) -> None:
        self.pool = threads.get_pool()
        self._programs = programs
        self._steps = steps
        self._bands = bands
        self._plain: list[Launch | None] = [None] * len(programs)
        self._watched: list[Launch | None] = [None] * len(programs)
        self._told: list[int] = []  # what the table is made for
        self._bound: tuple[list[list[int]], list[list[Any]]] = ([], [])  # addresses and numbers of each
        # Programs whose rows run again where they raised errors; others that are to tell any are watched at once.
        self._again = [part.again and not p.blind for part, p in zip(bands.parts, programs, strict=True)]
        self._table = np.zeros((len(programs), 7), np.int64)
        behind = [part.shift + part.first for part in bands.parts]
        self._table[:, 2] = behind
        edges = edges_of(bands, block_count(bands, self.pool.nthreads))
        self._walks = [Walk(self._table, bands.tile, block_ranges(bands, edges), behind)]
        if any([part.left + part.right for part in bands.parts]) and edges:
            # One part after another: a tile holds all.
            first, past = extent_of(bands)
            late = max(behind) - min(behind)
            self._walks.append(Walk(self._table, past - first + late + 1, edge_ranges(bands, edges), behind))

    def bind(self, pointers: list[list[int]], scalars: list[list[Any]], told: list[int]) -> None:
        """Binds all programs to memory. `told`: of each, NumPy's bits of the errors whose cause is to be found."""
        self._bound = pointers, scalars
        for number in range(len(told)):
            if not told[number] or self._again[number]:
                self._bind(self._plain, number)
            if told[number] and (self._watched[number] is not None or not self._again[number]):
                self._bind(self._watched, number)
        if told != self._told:
            self._told = told
            self._fill(told)
        for walk in self._walks:
            walk.reset()
        self.pool.start()
        walker()

    def run(self) -> BaseException | None:
        """Runs all programs once. Returns what was raised when some had run; what comes before all is raised."""
        late: BaseException | None = None
        for walk in self._walks:
            while not walk.ran():
                try:
                    walk.run(self.pool)
                    if not walk.ran():
                        self._watch_more()
                except BaseException as raised:
                    if not self._walks[0].begun():
                        raise
                    late = raised
        return late

    def _watch_more(self) -> None:
        """Compiles and binds the watched forms for want of which tasks stopped; nothing is told where that fails."""
        told = list(self._told)
        try:
            for number in range(len(told)):
                plain = self._plain[number]
                if plain is None or self._watched[number] is not None:
                    continue
                if plain.raised() & word_bits(told[number]):
                    told[number] = 0
                    self._bind(self._watched, number)
                    told[number] = self._told[number]
        finally:
            self._told = told
            self._fill(told)

    def ran(self) -> bool:
        """Whether all programs have run since they were bound."""
        return all([walk.ran() for walk in self._walks])

    def _fill(self, told: list[int]) -> None:
        """Makes the table for launches that tell these errors."""
        for number in range(len(told)):
            plain, watched = self._plain[number], self._watched[number]
            of_watched = watched.entry() if told[number] and watched is not None else (0, 0)
            if told[number] and not self._again[number]:
                self._table[number] = *of_watched, self._table[number, 2], _NOTHING.ctypes.data, 0, 0, 0
            else:
                assert plain is not None
                bits = word_bits(told[number])
                self._table[number] = *plain.entry(), self._table[number, 2], plain.errors(), bits, *of_watched

    def _bind(self, launches: list[Launch | None], number: int) -> None:
        """Binds a program's launch, one of these, to memory."""
        pointers, scalars = self._bound[0][number], self._bound[1][number]
        found = launches[number]
        if found is not None:
            found.rebind(pointers, scalars)
            found.seen()
            return
        step, part = self._steps[number], self._bands.parts[number]
        geometry = Geometry(part.rows, part.run, part.blocks, part.block, (Phase(0, part.size, False),))
        watched = launches is self._watched
        made = Launch(self._programs[number], step.extents, geometry, self.pool, watched=watched)
        made.bind(Binding(step.extents, tuple(pointers), step.strides, tuple(scalars)))
        launches[number] = made

    def found(self, number: int) -> dict[int, int]:
        """Which values of a program raised what in the last run, in which what is told of it was to be found."""
        watched = self._watched[number]
        return self._programs[number].raised_by(watched) if watched is not None and watched.seen() else {}
