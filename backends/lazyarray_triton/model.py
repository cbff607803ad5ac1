"""Owns the first guess of how a kernel runs at given extents: its form, block shapes, warps, segments.

The rules follow from what was measured on an H200 for activations, row softmax and column sums; autotuning may replace
each choice later, and only has to give another `Guess`. A guess depends on the kernel, the extents and the number of
multiprocessors only, so sums have the same bits in every run on one GPU model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from lazyarray.ir.ops import OPS
from lazyarray.schedule.kernel import Instruction, Kernel
from lazyarray_triton.codes import PARTS, itemsize, part
from lazyarray_triton.emit import forms, normalise
from lazyarray_triton.moments import one_pass, passes_of
from lazyarray_triton.passes import MANY_CARRIED
from lazyarray_triton.source import Form
from lazyarray_triton.stages import recomputed
from lazyarray_triton.tiles import Tiles, tiles_of

MULTIPROCESSORS: Final = 132
_TILE: Final = 1024  # elements of an elementwise tile
_SQUARE: Final = 64  # sides of a tile of 4-byte elements that some array is walked across
_STENCIL: Final = 256  # elements of a line of a tile whose other lines hold what a stencil reads again
_STENCIL_TILE: Final = 2  # elementwise tiles that make one of a stencil
_LONG: Final = 1024  # additions' worth of code of a thread, beyond which compiling takes seconds
_LOOP_WARPS: Final = 8  # of a program that goes through a row
_COLUMNS: Final = 64
_HELD_BYTES: Final = 1 << 17  # a tile that is kept between stages may fill half of the registers
_MANY_LOADS: Final = 3  # of whole tiles, besides which a kept tile may fill a quarter
_ONE_PASS: Final = 4096  # a row that is read once anyway is held up to here, and looped through beyond
_REREAD: Final = 1 << 13  # bytes of a row from which it is read again and not held
_PROGRAMS: Final = 4  # per multiprocessor, from which caches hold rows enough to be read again
_AGAIN: Final = 32  # additions' worth of what is computed again for each element
_CROWD: Final = 8  # arrays of which a thread holds sixteen elements
_JOINED: Final = 32  # results of segments for each thread of the program that puts them together
_WAVES: Final = 8  # programs per multiprocessor of a split launch over columns
_WARPS: Final = 64  # that a multiprocessor holds
_WIDE: Final = 40  # registers of a thread that carries many: three programs of 16 warps run at once, and no fourth
_REGISTERS: Final = 1 << 16  # that it has
# Registers of a thread that goes through rows of so many bytes several times. The compiler likes 32 where programs are
# large, which leaves it no room to load ahead; with these a layer norm of 2**26 float32 took 129.9 us (130.7), 129.6
# (129.9), 131.4 (132.9) and 157.7 (163.4), a softmax 128.5 (130.0), 128.8 (133.2), 131.2 (131.4) and 143.1 (153.1).
# Of rows of 64 KiB two are worked on at once, which leaves no room for more than 32: 172 us and not 140. Of float64,
# rows of 16 KiB took 130 us (135), of 128 KiB 153 (154), a softmax of these 188 (212), but those of 32 KiB 135 (132).
_ROW_REGISTERS: Final = {1 << 13: 64, 1 << 14: 48, 1 << 15: 40, 1 << 17: 64}
_SHORT: Final = 64  # additions' worth of code of an element, up to which they are enough for what is at work
_NOTING: Final = 80  # registers of a thread of more code that computes float64 and looks for errors
_MOST_SEGMENTS: Final = 1024  # results of segments are put together in one tile


@dataclass(frozen=True, slots=True)
class Blocks:
    """The tile of one function, and the warps that a program has."""

    x: int
    y: int
    warps: int
    registers: int = 0  # a thread's at most; 0: as the compiler likes


@dataclass(frozen=True, slots=True)
class Guess:
    """How a kernel runs: `blocks` are those of its passes, `together` those of the functions between them."""

    form: Form
    blocks: Blocks
    together: Blocks
    segments: int = 1
    length: int = 0  # reduced elements of a segment


def power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def widest(kernel: Kernel) -> int:
    """Bytes of the widest element that a tile holds; what is computed once a row fills none."""
    codes = [i.code for s in kernel.stages if s.level == "full" for i in (*s.body, *s.after)]
    codes += [a.code for a in kernel.accesses if any(step != "0" for step in a.steps)]
    return max((itemsize(part(c)) * (2 if c in PARTS else 1) for c in codes), default=4)


def guess(
    kernel: Kernel,
    extents: tuple[int, ...],
    multiprocessors: int = MULTIPROCESSORS,
    *,
    shifted: bool = False,
    watched: bool = False,
) -> Guess:
    """The first guess for a launch; `shifted`: its tiles begin where lines of memory do (`launch.shift_of`).

    `watched`: it looks for errors, which takes registers.
    """
    kernel = normalise(kernel)
    extents = extents or (1,)
    possible = forms(kernel)
    if "packed" in possible:
        return Guess("packed", _line(kernel, math.prod(extents)), Blocks(1, _TILE, 4))
    tiles = tiles_of(kernel)
    if tiles.kind == "line":
        blocks = _looking(kernel, _line(kernel, extents[0]), watched)
        return Guess(possible[0], blocks, blocks)
    if tiles.kind == "elementwise":
        blocks = _stencil(kernel, watched) if shifted else _elementwise(kernel, tiles, extents)
        blocks = _looking(kernel, blocks, watched)
        return Guess(possible[0], blocks, blocks)
    if tiles.kind == "rows":
        return _rows(kernel, tiles, extents, multiprocessors, watched)
    return _columns(kernel, tiles, extents, multiprocessors)


def _tile(kernel: Kernel) -> int:
    """Elements of an elementwise tile: eight a thread, four if they are wide or each takes many registers.

    With these the compiler leaves 29 to 72 registers a thread (float32 and float64 activation, sm_90), with eight
    float64 elements 184. A Black-Scholes of float64 takes 780 to 820 us with four, 800 to 900 with two.
    """
    slow = _is_slow(kernel)
    twice = slow and any(i.code in PARTS for i in _instructions(kernel))  # functions of complex numbers are long
    return _TILE // (4 if twice else 2 if slow or widest(kernel) > 4 else 1) // _shorter(kernel)


def _instructions(kernel: Kernel) -> list[Instruction]:
    return [i for s in kernel.stages for i in (*s.body, *s.after)]


def _is_slow(kernel: Kernel) -> bool:
    return any(i.op in OPS and OPS[i.op].transcendental for i in _instructions(kernel))


def _cost(kernel: Kernel) -> int:
    """Additions' worth of the code for an element."""
    return sum(OPS[i.op].cost if i.op in OPS else 1 for i in _instructions(kernel))


def _shorter(kernel: Kernel) -> int:
    """By how much less a thread does than usual: the code of every element of a thread is compiled.

    A kernel of 32 sines takes 5.7 s to compile with four elements a thread, 1.8 s with two.
    """
    return min(power_of_two(-(-4 * _cost(kernel) // _LONG)), 4)


def _line(kernel: Kernel, n: int) -> Blocks:
    y = min(max(power_of_two(n), 32), _tile(kernel))
    return Blocks(1, y, _few_warps(kernel, y))


def _few_warps(kernel: Kernel, elements: int) -> int:
    """Up to four, with two elements a thread at least; one where each takes much code."""
    return max(1, min(4, elements // (64 if _shorter(kernel) < 4 else 32)))


def _looking(kernel: Kernel, blocks: Blocks, watched: bool) -> Blocks:
    """Blocks with room for what is noted of errors where threads hold much: else values would go to memory.

    A Black-Scholes of float64 that looks for errors takes 805 us so, 897 with the limit of 64 that it would have.
    """
    real = not any(i.code in PARTS for i in _instructions(kernel))
    much = real and widest(kernel) > 4 and _is_slow(kernel) and _cost(kernel) > _SHORT
    return replace(blocks, registers=_NOTING) if watched and much and not blocks.registers else blocks


def _stencil(kernel: Kernel, watched: bool) -> Blocks:
    # With the larger tile a Jacobi sweep of float32 that looks for errors took 172 us; with this one 160, and 164 with
    # the compiler's limit of registers.
    small = watched and widest(kernel) <= 4
    x = max(1, _tile(kernel) * (1 if small else _STENCIL_TILE) // _STENCIL)
    return Blocks(x, _STENCIL, _few_warps(kernel, x * _STENCIL), 64 if small else 0)


def _elementwise(kernel: Kernel, tiles: Tiles, extents: tuple[int, ...]) -> Blocks:
    rows, last = math.prod(extents[a] for a in tiles.x), extents[tiles.y[0]]
    # An array that is walked by a stride known at run time only is probably a transposed one: neighbours in memory
    # are neighbours along another axis, and squares read whole lines of it.
    square = _SQUARE if widest(kernel) <= 4 else _SQUARE // 2
    crossed = rows >= square and any(a.steps[-1] == "s" for a in kernel.accesses)
    tile = square * square if crossed else _tile(kernel)
    y = min(power_of_two(last), square if crossed else tile)
    x = min(power_of_two(rows), max(1, tile // y))
    return Blocks(x, y, _few_warps(kernel, x * y))


def _warps(kernel: Kernel, elements: int, size: int) -> int:
    """Sixteen 4-byte elements a thread or, of long code or many arrays, fewer; between 1 and 32 warps."""
    fewer = max(_shorter(kernel), _crowded(kernel))
    return min(32, max(1, elements * max(size, 4) // 4 * fewer // 512))


def _crowded(kernel: Kernel) -> int:
    """By how much less a thread does than usual where many arrays are read, all of whose elements it would hold.

    Twelve sums of products of 24 arrays took 4.0 s to compile with 16 elements a thread, in 148 KB of code that kept
    values in memory, 0.9 s with eight, 0.7 s and 29 KB with four.
    """
    loads = max(sum(i.op == "load" for i in stage.body) for stage in kernel.stages)
    return min(power_of_two(-(-loads // _CROWD)), 4)


def _rows(kernel: Kernel, tiles: Tiles, extents: tuple[int, ...], multiprocessors: int, watched: bool) -> Guess:
    size = widest(kernel)
    rows, reduced = math.prod(extents[a] for a in tiles.x), math.prod(extents[a] for a in tiles.y)
    y = power_of_two(max(reduced, 1))
    passes = passes_of(kernel)
    held = _fits(kernel, tiles, y) if passes > 1 else y <= _ONE_PASS
    blocks = _reread(y * max(size, 4), size, _cost(kernel) <= _SHORT and not watched)
    if passes > 1 and rows >= _PROGRAMS * multiprocessors and y * max(size, 4) >= _REREAD and _is_cheap_again(kernel):
        return Guess("loop", blocks, blocks)
    if held:
        x = min(power_of_two(rows), max(1, _TILE // y))
        blocks = Blocks(x, y, _warps(kernel, x * y, size))
        return Guess("tile", blocks, blocks)
    y = 1024 if size <= 4 else 512
    part = Blocks(1, y, _LOOP_WARPS)
    at_once = _WARPS
    if passes == 1:
        many = _carried(kernel) >= MANY_CARRIED
        blocks = Blocks(1, y, _LOOP_WARPS // 2) if many else part
        if many or (watched and size > 4):
            at_once = _REGISTERS // (_WIDE * 32)
            part = Blocks(1, y, _LOOP_WARPS, _WIDE)
        elif watched:
            # All programs run at once, as they do where nothing is noted: with 34 registers each, a quarter waits.
            part = Blocks(1, y, _LOOP_WARPS, _REGISTERS // (_WARPS * 32))
        if not any(s.scan is not None for s in kernel.stages):
            part = replace(part, y=2 * y, warps=2 * _LOOP_WARPS)
    if any(s.scan is not None and s.scan.op in ("max", "min") for s in kernel.stages):
        part = replace(part, warps=part.warps // 2)  # 2**26 float32 in a row take 282 us, and 324 with all warps
    wanted = at_once // part.warps * multiprocessors // max(rows, 1)
    segments, length = cut_segments(reduced, wanted, part.y)
    if segments > 1:
        form = _split_form(kernel, power_of_two(segments), part.warps)
        return Guess(form, part, _together_rows(rows, segments), segments, length)
    return Guess("online" if passes == 1 and "online" in forms(kernel) else "loop", blocks, blocks)


def _reread(nbytes: int, size: int, short: bool) -> Blocks:
    """The tile that goes through a row of so many bytes several times, of which all but the first find it in a cache.

    A row softmax of float32 takes 130 us with rows of 8 to 32 KiB so (134 with the row in registers), 134 with 64 KiB
    (148); a layer norm 130 to 132 (138 to 140), and 143 (173). `short`: of little code, that looks for no errors.
    """
    turn = nbytes // 2 if nbytes <= 1 << 14 else min(max(nbytes // 4, 1 << 13), 1 << 15)
    warps = min(max(nbytes >> 11, 4), 32)
    # Rows of 256 KiB, two to a multiprocessor, are more than the second cache holds: a softmax took 246 us, and 193
    # with one, which is what so many registers leave room for.
    registers = _ROW_REGISTERS.get(nbytes, 0) if short and (size <= 4 or nbytes != 1 << 15) else 0
    registers = 64 if nbytes > 1 << 17 else registers
    return Blocks(1, turn // max(size, 4), warps, registers)


def _is_cheap_again(kernel: Kernel) -> bool:
    """Whether what stages share is computed again in less time than registers for it cost."""
    if any(s.scan is not None for s in kernel.stages):
        return False
    again: list[Instruction] = []
    for stage in kernel.stages:
        for instruction in stage.body:
            if instruction.op == "recall":
                found = recomputed(kernel, stage, int(instruction.attr or 0))
                if found is None:
                    return False
                again += found
    cost = sum(OPS[i.op].cost if i.op in OPS else 0 for i in again)
    return cost <= _AGAIN // (4 if widest(kernel) > 4 else 1)


def _carried(kernel: Kernel) -> int:
    """The most numbers that a lane carries through the loop of a stage."""
    return max(sum(2 if r.code in PARTS else 1 for r in s.reductions) for s in one_pass(kernel).stages)


def _fits(kernel: Kernel, tiles: Tiles, elements: int) -> bool:
    """Can a row stay in registers between stages: limits up to which the compiler spills none (sm_90, 32 warps)."""
    size = widest(kernel)
    whole = [a for a in kernel.accesses if any(a.steps[axis] != "0" for axis in tiles.reduced_axes)]
    loaded = {i.attr for s in kernel.stages for i in s.body if i.op == "load"}
    loads = sum(a in whole for k, a in enumerate(kernel.accesses) if k in loaded)
    room = _HELD_BYTES // (2 if size > 4 else 1) // (2 if loads >= _MANY_LOADS else 1)
    return elements * max(size, 4) <= room


def _together_rows(rows: int, segments: int) -> Blocks:
    y = power_of_two(segments)
    x = min(power_of_two(rows), max(1, _TILE // y))
    return Blocks(x, y, max(1, min(4, x * y // 256)))


def _columns(kernel: Kernel, tiles: Tiles, extents: tuple[int, ...], multiprocessors: int) -> Guess:
    size = widest(kernel)
    last, outer = extents[tiles.y[0]], math.prod(extents[a] for a in tiles.outer)
    reduced = math.prod(extents[a] for a in tiles.x)
    y = min(power_of_two(last), _COLUMNS)
    scanned = any(s.scan is not None for s in kernel.stages)
    passes = passes_of(kernel)
    x = power_of_two(max(reduced, 1))
    held = x * y * max(size, 4) <= _HELD_BYTES // 4 if passes > 1 else x * y <= _ONE_PASS
    if held and not scanned:
        blocks = Blocks(x, y, _warps(kernel, x * y, size))
        return Guess("tile", blocks, blocks)
    lanes = 2048 if size <= 4 else 1024
    fewer = 2 if _carried(kernel) >= MANY_CARRIED else 1  # elements a thread
    x = 1 if scanned else max(1, lanes // fewer // y)
    blocks = Blocks(x, y, min(32, _warps(kernel, x * y, size) * fewer))
    wanted = _WAVES * multiprocessors // max(outer * -(-last // y), 1)
    segments, length = cut_segments(reduced, wanted, max(x, 64))
    if segments > 1:
        together = Blocks(power_of_two(segments), min(y, max(1, 4096 // power_of_two(segments))), 4)
        form = _split_form(kernel, power_of_two(segments) * y, blocks.warps)
        return Guess(form, blocks, together, segments, length)
    return Guess("online" if passes == 1 and "online" in forms(kernel) else "loop", blocks, blocks)


def _split_form(kernel: Kernel, results: int, warps: int) -> Form:
    """Whether the program that ends last puts results of segments together, which it has to hold."""
    return "joined" if "joined" in forms(kernel) and results <= _JOINED * 32 * warps else "split"


def cut_segments(reduced: int, wanted: int, step: int) -> tuple[int, int]:
    """Segments of equal length, a multiple of `step`, at least four steps long; about `wanted`."""
    wanted = min(wanted, reduced // (4 * step), _MOST_SEGMENTS)
    if wanted < 2:
        return 1, reduced
    length = -(-reduced // wanted)
    length = -(-length // step) * step
    return -(-reduced // length), length
