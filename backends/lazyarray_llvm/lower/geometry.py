"""Owns how one launch is cut into tasks: a function of the kernel and the extents; results never depend on it."""

from __future__ import annotations

from math import prod
from typing import Literal

from lazyarray.records import NamedTuple
from lazyarray.schedule.kernel import Kernel
from lazyarray_llvm.builder import itemsize
from lazyarray_llvm.lower.facts import PARTIAL_BYTES, VALUE_BYTES, carries, crossing, is_buffered, phase_names
from lazyarray_llvm.lower.layout import layout
from lazyarray_llvm.reduce_kinds import BUFFER_ELEMENTS

_BLOCK_ELEMENTS = 1 << 14  # elements of one task of a streaming kernel
# Of many arrays fewer, so that a launch that begins where the last one ended (`TURNING` in pool_ir.py) finds its first
# task in a core's cache: five arrays of 50,000 float64 took 13.1 us by eighths, and by quarters 13.9 to 17.4.
_LEAST_ELEMENTS, _BLOCK_BYTES = 2048, 1 << 18
# Block of the last axis where some access walks it with a large stride: lines of the tile stay in cache even where a
# power of two as stride maps them to one set (4096 x 4096 float64: 16 ms, 45 ms with 256; 3000 x 3000: 8 and 7 ms).
_TILE = 32
_TILE_ROWS = 64
# Launches that move less run on the calling thread: it has done them in some 6 us, and a worker takes 5 to wake. On a
# loaded machine a worker that lost its core in the middle of such a launch held the caller for milliseconds.
_SERIAL_BYTES = 256 << 10

# So few tasks are equal ones, as many for each of 2, 4 or 8 workers: of three of up to 16,384 elements, one of two
# workers has two, or takes one that lies in the other's cache. A chain of 20,000 elements took 16 us so and takes 12,
# of 40,000 21 and 19.
_FEW_TASKS, _EVEN, _ALIGNED = 64, 8, 64


class Phase(NamedTuple):
    """One call of one of the kernel's functions over tasks."""

    function: int
    tasks: int
    parallel: bool


class Geometry(NamedTuple):
    """What a launch adds to the argument block besides extents, pointers, strides and scalars."""

    rows: int
    run: int
    blocks: int
    block: int
    phases: tuple[Phase, ...]
    scratch: int = 0  # bytes per worker
    plane: int = 0
    strip: int = 0
    depth: int = 0
    partials: int = 0  # bytes
    values: int = 0  # bytes
    form: Literal["whole", "split", "lines"] = "whole"  # of the kernel, whose functions the phases call
    shared: bool = False  # scratch is one for all workers


def point_bytes(kernel: Kernel) -> int:
    """Bytes moved per point of the nest by accesses that move along the last axis, at least 1."""
    return max(1, sum(itemsize(a.code) for a in kernel.accesses if a.steps[-1] != "0"))


class Cost(NamedTuple):
    """What one point of a nest costs: bytes moved, and rough machine instructions per vector."""

    moved: int
    weight: int  # both: an instruction of a vector counts as much as moving two bytes per element


def cost_of_point(kernel: Kernel, work: int) -> Cost:
    """The cost of a kernel's points; `work`: instructions per vector."""
    moved = point_bytes(kernel)
    return Cost(moved, moved + 2 * work // 8)


def size_of_task(count: int, most: int, aligned: int = 1, rows: int = 1) -> int:
    """How many of `count` elements, or rows, one task has, at most `most`: all of them, or equal parts.

    `rows`: so often are they cut.
    """
    if count <= most:
        return count
    tasks = -(-count // most)
    if tasks * rows < _FEW_TASKS:
        tasks = -(-tasks // _EVEN) * _EVEN
    size = -(-count // tasks)
    return min(most, -(-size // aligned) * aligned)


# Rows are walked in lines of so few elements, or of some more in so few bytes, and where there are so many elements.
# 1e5 elements, (x - c) * r with a column and a row: rows of 3 float64 36 us and 54 one by one, of 5 35 and 45, of 8 29
# and 27; of 8 bytes 12 and 25. With AVX2 rows of 3 take 38 and 59.
_SHORT, _SHORT_IF_NARROW, _NARROW_BYTES, _LEAST_LINE = 6, 16, 32, 256


def walks_lines(kernel: Kernel, extents: tuple[int, ...]) -> bool:
    """Whether the rows of a kernel that has lines are so short, and so many, that it walks them."""
    rows, length = extents[-2:]
    size = max(itemsize(a.code) for a in kernel.accesses)
    short = length < _SHORT or (length <= _SHORT_IF_NARROW and length * size < _NARROW_BYTES)
    return short and rows * length >= _LEAST_LINE


def cut_elementwise(kernel: Kernel, extents: tuple[int, ...], cost: Cost, lines: bool) -> Geometry:
    """Tasks of a kernel without reduction axes; `lines`: it has some."""
    rows, length = prod(extents[:-1]), extents[-1]
    total = rows * length
    serial = total * cost.weight < _SERIAL_BYTES
    lined = lines and walks_lines(kernel, extents)
    tiled = rows > 1 and not lined and any(a.steps[-1] == "s" for a in kernel.accesses)
    if tiled:
        block, run = min(length, _TILE), min(rows, _TILE_ROWS)
    elif serial:
        block, run = length, rows
    else:
        most = min(_BLOCK_ELEMENTS, max(_LEAST_ELEMENTS, _BLOCK_BYTES // cost.moved))
        block = size_of_task(length, most, _ALIGNED, rows)
        run = size_of_task(rows, max(1, most // max(1, length)), _ALIGNED if lined else 1)
    blocks = -(-length // block) if block else 0
    tasks = -(-rows // run) * blocks if run else 0
    phases = (Phase(0, tasks, not serial),) if total else ()
    return Geometry(rows, run, blocks, block, phases, form="lines" if lined else "whole")


_MOST_ORDERED_TASKS = 1024  # every task of such a kernel adds up the counts of those before it


_COLUMN_BLOCK = 512  # elements of the last axis from which a scatter of rows is worth cutting


def cut_ordered(kernel: Kernel, extents: tuple[int, ...], cost: Cost, masks: int, columns: bool) -> Geometry:
    """Tasks, in C order, of a kernel whose places depend on data; those that count take two phases.

    `columns`: what lies at different places of the last axis is never written to the same place.
    """
    rows, length = prod(extents[:-1]), extents[-1]
    total = rows * length
    small = total * cost.weight < _SERIAL_BYTES
    if columns and not small and length >= 2 * _COLUMN_BLOCK:
        block = max(_COLUMN_BLOCK, -(-length // 8 // 64) * 64)
        blocks = -(-length // block)
        return Geometry(rows, rows, blocks, block, (Phase(0, blocks, True),))
    serial = kernel.scatters or small
    unit = max(_BLOCK_ELEMENTS, -(-total // _MOST_ORDERED_TASKS))
    block = length if serial else size_of_task(length, unit, _ALIGNED, rows)
    run = rows if serial else size_of_task(rows, max(1, unit // max(1, length)))
    blocks = -(-length // block) if block else 0
    if not total:
        return Geometry(rows, run, blocks, block, ())
    tasks = -(-rows // run) * blocks
    if not kernel.packs or tasks == 1:
        return Geometry(rows, run, blocks, block, (Phase(0, tasks, False),))
    phases = (Phase(1, tasks, True), Phase(0, tasks, True))
    return Geometry(rows, run, blocks, block, phases, partials=8 * tasks * masks)


def cut_apart(kernel: Kernel, extents: tuple[int, ...], cost: Cost) -> Geometry:
    """Tasks of a kernel whose stores meet only at one index of the first axis: some such indices each."""
    rows, length = prod(extents[:-1]), extents[-1]
    total = rows * length
    if not total:
        return Geometry(rows, 1, 1, length, ())
    serial = total * cost.weight < _SERIAL_BYTES
    if len(extents) == 1:
        block = length if serial else size_of_task(length, _BLOCK_ELEMENTS, _ALIGNED)
        blocks = -(-length // block)
        return Geometry(1, 1, blocks, block, (Phase(0, blocks, not serial),))
    inside = prod(extents[1:-1])
    run = rows if serial else inside * max(1, _BLOCK_ELEMENTS // (inside * length))
    return Geometry(rows, run, 1, length, (Phase(0, -(-rows // run), not serial),))


def reduced_elements(kernel: Kernel, extents: tuple[int, ...]) -> int:
    """Points of the reduction axes."""
    return prod(n for n, role in zip(extents, kernel.roles, strict=True) if role == "r")


def cut_rows(kernel: Kernel, extents: tuple[int, ...], cost: Cost) -> Geometry:
    """Tasks of a kernel whose last axis is reduced: some rows each."""
    rows = prod(n for n, role in zip(extents, kernel.roles, strict=True) if role == "p")
    reduced = reduced_elements(kernel, extents)
    total = rows * max(1, reduced)
    serial = total * cost.weight < _SERIAL_BYTES
    run = rows if serial else size_of_task(rows, max(1, _BLOCK_ELEMENTS // max(1, reduced)))
    plane, strip, scratch = layout(kernel).sizes(reduced, 0)
    phases = (Phase(0, -(-rows // run), not serial),) if rows else ()
    return Geometry(rows, run, 1, 1, phases, scratch=scratch, plane=plane, strip=strip)


_SPLIT_ROWS = 256  # from so many rows on, rows alone occupy the workers
_SPLIT_ROWS_KEPT = 4  # where scratch must hold the kept values of all rows
_SPLIT_ELEMENTS = 1 << 15  # rows shorter than this are not worth splitting
_SEGMENT = 1 << 16  # most elements of one segment


def splits(kernel: Kernel, extents: tuple[int, ...]) -> bool:
    """Whether a launch of a kernel that can be split runs in phases: never depends on the number of workers."""
    rows = prod(n for n, role in zip(extents, kernel.roles, strict=True) if role == "p")
    if "p" not in kernel.roles:
        return True
    most = _SPLIT_ROWS_KEPT if any(s.kept for s in kernel.stages) else _SPLIT_ROWS
    return 0 < rows < most and reduced_elements(kernel, extents) >= _SPLIT_ELEMENTS


def cut_split(kernel: Kernel, extents: tuple[int, ...], cost: Cost) -> Geometry:
    """Phases of a kernel over few long rows: segments of rows in parallel, then joins."""
    rows = prod(n for n, role in zip(extents, kernel.roles, strict=True) if role == "p")
    reduced, length = reduced_elements(kernel, extents), extents[-1]
    outer = [n for n, role in zip(extents[:-1], kernel.roles, strict=False) if role == "r"]
    units = rows * prod(outer)
    depth, segments = 0, 1
    if is_buffered(kernel):
        segments = max(1, -(-length // BUFFER_ELEMENTS))
    else:
        while length >> depth > _SEGMENT:
            depth += 1
        segments = 1 << depth
    total = rows * reduced
    serial = total * cost.weight < _SERIAL_BYTES
    run = max(1, units) if serial else max(1, min(units, _BLOCK_ELEMENTS // max(1, length // segments)))
    tasks = -(-units // run) * segments
    plane, strip, scratch = layout(kernel).sizes(total, 0)
    phases = []
    for number, name in enumerate(phase_names(kernel)):
        if name.startswith("part"):
            phases.append(Phase(number, tasks, not serial))
        else:
            phases.append(Phase(number, rows, False))
    most = max(len(s.reductions) for s in kernel.stages)
    slots = tasks if carries(kernel) else units * segments
    return Geometry(
        units, run, segments, 1, tuple(phases), scratch=scratch, plane=plane, strip=strip, depth=depth,
        partials=slots * most * PARTIAL_BYTES, values=rows * len(crossing(kernel)) * VALUE_BYTES,
        form="split", shared=True,
    )  # fmt: skip


_COLUMNS = 2048  # the most columns of one task
_KEPT_BYTES = 256 << 10  # long planes of one block of columns should stay in cache


def cut_columns(kernel: Kernel, extents: tuple[int, ...], cost: Cost) -> Geometry:
    """Tasks of a kernel that reduces outer axes: blocks of columns."""
    rows = prod(n for n, role in zip(extents[:-1], kernel.roles, strict=False) if role == "p")
    reduced, length = reduced_elements(kernel, extents), extents[-1]
    planes = layout(kernel)
    total = rows * length
    serial = total * max(1, reduced) * cost.weight < _SERIAL_BYTES
    block = length if serial else max(64, min(_COLUMNS, -(-length // 8 // 64) * 64))
    if planes.long:
        kept = sum(itemsize(code) for codes in planes.long.values() for code in codes)
        block = min(block, max(64, _KEPT_BYTES // max(1, reduced * kept) // 64 * 64))
    block = min(block, length)
    blocks = -(-length // block) if block else 0
    run = rows if serial else max(1, min(rows, _BLOCK_ELEMENTS // max(1, reduced * block)))
    plane, strip, scratch = planes.sizes(reduced * block, block)
    phases = (Phase(0, -(-rows // run) * blocks, not serial),) if total else ()
    return Geometry(rows, run, blocks, block, phases, scratch=scratch, plane=plane, strip=strip)
