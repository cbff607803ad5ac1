"""Owns which accesses of a kernel go through memory on the stack: tiles of what lies far apart, lines of short rows.

Launching a kernel whose code is on disk needs this and none of the emitters, so nothing here imports them.
"""

from __future__ import annotations

from lazyarray.schedule.kernel import Access, Kernel, Stage
from lazyarray_llvm.builder import itemsize
from lazyarray_llvm.lower.facts import merged
from lazyarray_llvm.lower.layout import SLACK

ROWS, COLUMNS = 64, 32  # of a tile, at most
_MOST_BYTES = 64 << 10  # of all tiles, or all lines, of a kernel
_LINE_ELEMENTS, _LEAST_ELEMENTS = 1024, 128  # of a line: in a core's nearest cache, and worth making it


def line_elements(kernel: Kernel) -> int:
    """How many elements, at most, a line of short rows of a kernel has (see `lines`); 0: it has none."""
    if len(kernel.roles) < 2 or kernel.reduces or kernel.packs or kernel.scatters:
        return 0
    stage = merged(kernel)
    inner = (len(kernel.roles) - 2, len(kernel.roles) - 1)
    if any(i.op == "gather" or (i.op == "index" and i.attr in inner) for i in stage.body):
        return 0
    written = [kernel.accesses[t.access].steps for t in stage.stores]
    if any(steps[-1] != "1" or steps[-2] == "0" for steps in written):
        return 0
    moved = sum(itemsize(a.code) for a in kernel.accesses if goes_along(a))
    elements = _LINE_ELEMENTS
    while elements * moved > _MOST_BYTES:
        elements //= 2
    return elements if elements >= _LEAST_ELEMENTS else 0


def in_lines(kernel: Kernel) -> Kernel:
    """The kernel as it reads and writes lines: what moves along rows or from row to row has neighbours."""
    accesses = tuple(a._replace(steps=(*a.steps[:-1], "1")) if goes_along(a) else a for a in kernel.accesses)
    return kernel._replace(accesses=accesses)


def goes_along(access: Access) -> bool:
    """Whether an access moves along short rows or from one to the next."""
    return access.steps[-2:] != ("0", "0")


def turned_accesses(kernel: Kernel, stage: Stage) -> list[int]:
    """What a kernel without reductions loads far apart along its last axis, and elsewhere along the one before."""
    if len(kernel.roles) < 2 or kernel.packs or kernel.scatters:
        return []
    loaded = {i.attr for i in stage.body if i.op == "load"}
    apart = {i.attr for i in stage.body if i.op in ("gather", "expand")} | {s.access for s in stage.stores}
    found = []
    left = _MOST_BYTES
    for number, access in enumerate(kernel.accesses):
        far = access.steps[-1] == "s" and access.steps[-2] != "0"
        if far and number in loaded and number not in apart and left >= tile_bytes(access):
            found.append(number)
            left -= tile_bytes(access)
    return found


def tile_bytes(access: Access, elements: int = ROWS * COLUMNS) -> int:
    """Of so many elements of one access, with what vectors cut short may touch behind them."""
    return (elements + SLACK) * itemsize(access.code)


def copied_accesses(kernel: Kernel, stage: Stage) -> tuple[int, int] | None:
    """From and to where a kernel copies one turned access, if that is all it does."""
    (first, *others), (store, *more) = stage.body, stage.stores
    plain = store.mask is None and store.value == first.target and first.op == "load"
    along, across = kernel.accesses[store.access].steps[-1], kernel.accesses[store.access].steps[-2]
    if others or more or not plain or along != "1" or across == "0":
        return None
    assert isinstance(first.attr, int)
    return first.attr, store.access


def moved_sizes(kernel: Kernel, lined: bool) -> set[int]:
    """The sizes of the elements that code of a kernel moves by functions of `moves`; `lined`: of its form of lines."""
    if lined:
        return {itemsize(a.code) for a in kernel.accesses if goes_along(a)}
    turned = [] if kernel.reduces else turned_accesses(kernel, merged(kernel))
    return {itemsize(kernel.accesses[number].code) for number in turned}


def side_by_side(kernel: Kernel, numbers: list[int]) -> Kernel:
    """The kernel as it reads tiles: these accesses have neighbours along the last axis."""
    accesses = [
        a._replace(steps=(*a.steps[:-1], "1")) if number in numbers else a for number, a in enumerate(kernel.accesses)
    ]
    return kernel._replace(accesses=tuple(accesses))
