"""Owns the launch plan: grids, compile-time constants, work memory and packed arguments, as plain data.

Nothing here knows Triton or a device: a launcher compiles each variant that a step names, gives work memory of the
sizes listed, and passes the packed slots to the driver.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Access, Binding, Kernel
from lazyarray_triton.codes import PARTS, itemsize, unit
from lazyarray_triton.errors import watchable
from lazyarray_triton.model import Blocks, Guess, power_of_two
from lazyarray_triton.source import Argument, Function, TritonSource

Index: TypeAlias = Literal["i32", "i64"]
Origins: TypeAlias = Mapping[int, tuple[int, int]]  # per access: first byte and bytes of the memory behind it

_ALIGNED = 16
_LINE = 128  # bytes that a GPU reads at least at once
_LARGE = 1 << 20
_LOOKERS = 512  # programs that look for errors, of which there are usually none
_LOOKED_AT = 32  # values of a kernel, times elements of a thread: a look at more takes long to compile
_SLOTS = {"i32": "i4x", "u32": "I4x", "i64": "q", "u64": "Q", "fp32": "f4x", "fp64": "d"}


@dataclass(frozen=True, slots=True)
class Variant:
    """What is compiled: a function at fixed blocks, types and alignments. Equal variants are one cubin."""

    function: str
    index: Index
    constants: tuple[tuple[str, int], ...]
    warps: int
    registers: int
    types: tuple[str, ...]  # of the runtime arguments
    aligned: tuple[tuple[int, int], ...]  # argument numbers, and the power of two (up to 16) that each is a multiple of


@dataclass(frozen=True, slots=True)
class Step:
    """One launch of a function."""

    function: Function
    grid: int
    blocks: Blocks
    vectors: frozenset[int]  # the axes along which loads are vectors: how even their extents are is compiled in
    turns: int = 0  # of programs that take several
    full: tuple[bool, bool] = (False, False)  # whether no lane along x, along y is outside
    segments: int = 1  # lanes for the segments that are put together


@dataclass(frozen=True, slots=True)
class Plan:
    """The launches of a kernel at given extents."""

    source: TritonSource
    extents: tuple[int, ...]
    steps: tuple[Step, ...]
    numbers: Mapping[str, int]
    works: tuple[int, ...]  # bytes of each; -1: as many elements as the memory behind its access has; -2: is given


def plan_launches(source: TritonSource, extents: tuple[int, ...], guess: Guess, shift: int = 0) -> Plan:
    """The grid of every function, and the sizes of the memory between them. `shift`: see `shift_of`."""
    extents = extents or (1,)
    tiles = source.tiles
    sizes = {axes: math.prod(extents[a] for a in getattr(tiles, axes)) for axes in ("x", "y", "outer")}
    steps = []
    programs = 1
    for function in source.functions:
        between = function.name.removeprefix("look_").rstrip("0123456789") in ("together", "before", "sums")
        blocks = guess.together if between else guess.blocks
        if function.looks and not between:
            blocks = _looking(source, blocks)
        counts = {
            "yblocks": -(-sizes["y"] // blocks.y),
            "shifted": -(-(sizes["y"] + shift) // blocks.y),
            "xblocks": -(-sizes["x"] // blocks.x),
            "outer": sizes["outer"],
            "segments": guess.segments,
        }
        grid = math.prod(counts[factor] for factor in function.grid)
        if function.name == "count":
            programs = grid
        programs_of = min(grid, _LOOKERS) if function.looks else grid
        full = _full(guess, extents, sizes, blocks) if not between else (False, False)
        lanes = power_of_two(guess.segments)
        steps.append(Step(function, programs_of, blocks, frozenset(tiles.y), grid, full, lanes))
    numbers = {"segments": guess.segments, "length": guess.length, "programs": programs, "shift": shift}
    cells = {"rows": sizes["x"], "columns": sizes["outer"] * sizes["y"]}.get(tiles.kind, 0)
    groups = -(-sizes["x"] // guess.blocks.x) if tiles.kind == "rows" else -(-sizes["y"] // guess.blocks.y)
    counts = {
        "arrivals": groups * sizes["outer"],
        "cells": cells,
        "partials": cells * guess.segments,
        "full": math.prod(extents),
        "programs": programs + 1,
    }
    outside = {"target": -1, "flags": -2}
    works = tuple(outside.get(w.size) or counts[w.size] * itemsize(w.code) for w in source.works)
    return Plan(source, extents, tuple(steps), numbers, works)


def _looking(source: TritonSource, blocks: Blocks) -> Blocks:
    """The blocks of a function that looks for errors: fewer elements a thread the more values it looks at.

    That is compiled for each element of a thread, and seldom run: eleven sums of products with 16 elements took 5.2 s,
    with one 0.8. Rows, or columns, that a tile holds stay whole.
    """
    values = len(watchable(source.kernel))
    lanes = 32 * blocks.warps * power_of_two(max(1, _LOOKED_AT // max(values, 1)))
    kind, held = source.tiles.kind, source.form == "tile"
    if kind == "columns" and held:
        return replace(blocks, y=max(1, min(blocks.y, lanes // blocks.x)))
    y = blocks.y if kind == "rows" and held else min(blocks.y, lanes)
    return replace(blocks, x=max(1, min(blocks.x, lanes // y)), y=y)


def _full(guess: Guess, extents: tuple[int, ...], sizes: Mapping[str, int], blocks: Blocks) -> tuple[bool, bool]:
    """Whether no lane along x, along y is outside: masks cost a tenth of a row softmax.

    Small launches are not told so, which would only make more variants.
    """
    if math.prod(extents) < _LARGE or guess.length % blocks.x or guess.length % blocks.y:
        return False, False
    return sizes["x"] % blocks.x == 0, sizes["y"] % blocks.y == 0


def shift_of(kernel: Kernel, binding: Binding) -> int:
    """How many elements before the lines of a kernel its tiles should begin.

    The interior of an array begins within a line of the GPU's memory, as do most of the stencil's other reads; warps
    that begin there would take two lines for each one that they need.
    """
    if len(kernel.roles) < 2 or kernel.reduces or kernel.packs or kernel.scatters:
        return 0
    if math.prod(binding.extents) < _LARGE or binding.extents[-1] < _LINE:
        return 0
    stored = kernel.written
    size = max(itemsize(kernel.accesses[k].code) for k in stored)
    votes: dict[int, int] = {}
    for number, (access, pointer, strides) in enumerate(
        zip(kernel.accesses, binding.pointers, binding.strides, strict=True)
    ):
        if any(step not in ("0", "s") for step in access.steps[:-1]) or access.steps[-1] != "1":
            continue
        if itemsize(access.code) == size and not any(stride % _LINE for stride in strides[:-1]) and not pointer % size:
            shift = pointer % _LINE // size
            votes[shift] = votes.get(shift, 0) + 1 + (number in stored)
    best = max(votes.values(), default=0)
    return 0 if votes.get(0, 0) == best else next(shift for shift, count in votes.items() if count == best)


def choose_index(plan: Plan, binding: Binding) -> Index:
    """The integer type in which no index of this launch overflows."""
    tiles = plan.source.tiles
    points = math.prod(plan.extents)
    largest = points * 2 + max(s.blocks.x * s.blocks.y for s in plan.steps) + plan.numbers["length"]
    for access, strides in zip(plan.source.kernel.accesses, _strides(plan.source.kernel, binding), strict=True):
        reach = sum(abs(s) * (n + _ALIGNED) for s, n in zip(strides, plan.extents, strict=True))
        largest = max(largest, reach + 2 * itemsize(access.code))
    # The last tile of an axis reaches beyond it.
    over = max(s.blocks.x for s in plan.steps) * max((plan.extents[a] for a in tiles.y), default=1)
    return "i32" if largest + over < 1 << 31 else "i64"


def _strides(kernel: Kernel, binding: Binding) -> tuple[tuple[int, ...], ...]:
    if binding.extents:
        return binding.strides
    return tuple((0,) for _ in kernel.accesses)


def in_units(access: Access, stride: int) -> int:
    """A stride in bytes as one in units of the access's pointer."""
    return _whole(stride, unit(access.code)) // unit(access.code)


def _whole(number: int, size: int) -> int:
    if number % size:
        raise ValueError(f"an address or stride of {number} is no multiple of {size}: the array has to be copied first")
    return number


def arguments(
    plan: Plan, step: Step, binding: Binding, works: Sequence[int], origins: Origins | None = None
) -> list[int | float]:
    """The values of a function's runtime arguments."""
    kernel = plan.source.kernel
    strides = _strides(kernel, binding)

    def value(a: Argument) -> int | float:
        if a.kind == "pointer":
            return _whole(binding.pointers[a.which[0]], unit(kernel.accesses[a.which[0]].code))
        if a.kind == "work":
            return works[a.which[0]]
        if a.kind == "extent":
            return plan.extents[a.which[0]]
        if a.kind == "stride":
            number, axis = a.which
            return in_units(kernel.accesses[number], strides[number][axis])
        if a.kind == "scalar":
            return scalar(kernel.scalars[a.which[0]], binding.scalars[a.which[0]], a.which[1:])
        if a.kind == "origin":
            assert origins is not None
            number = a.which[0]
            return (binding.pointers[number] - origins[number][0]) // itemsize(kernel.accesses[number].code)
        return step.turns if a.name == "turns" else plan.numbers[a.name]

    return [value(a) for a in step.function.arguments]


def scalar(code: str, number: complex, part_of: tuple[int, ...]) -> int | float:
    """A Python number as what is passed for a scalar: wrapped, or rounded, to its dtype."""
    if code in PARTS:
        both = complex(number)
        return scalar(PARTS[code], both.imag if part_of == (1,) else both.real, ())
    if code == "b1":
        return int(bool(number))
    if code[0] in "iu":
        assert not isinstance(number, complex)
        bits = 8 * itemsize(code)
        wrapped = int(number) & ((1 << bits) - 1)
        return wrapped - (1 << bits) if code[0] == "i" and wrapped >> (bits - 1) else wrapped
    assert not isinstance(number, complex)
    real = float(number)
    if code == "f8":
        return real
    spelled = "<f" if code == "f4" else "<e"
    try:
        rounded: float = struct.unpack(spelled, struct.pack(spelled, real))[0]
    except OverflowError:
        return math.inf if real > 0 else -math.inf
    return rounded


def variant(step: Step, index: Index, values: Sequence[int | float]) -> Variant:
    """What has to be compiled for a launch with these arguments."""
    function = step.function
    types = tuple(index if a.type == "index" else a.type for a in function.arguments)
    aligned = tuple(
        (k, power)
        for k, (a, v) in enumerate(zip(function.arguments, values, strict=True))
        if (power := alignment(a, v, step.vectors)) > 1
    )
    constants = tuple(constants_of(step, values).items())
    return Variant(function.name, index, constants, step.blocks.warps, step.blocks.registers, types, aligned)


def constants_of(step: Step, values: Sequence[int | float]) -> dict[str, int]:
    """The compile-time arguments of a function, without the integer type of its indices."""
    function = step.function
    shifted = any(a.name == "shift" and v for a, v in zip(function.arguments, values, strict=True))
    known = {
        "XBLOCK": step.blocks.x,
        "YBLOCK": step.blocks.y,
        "XFULL": step.full[0],
        "YFULL": step.full[1] and not shifted,
        "SHIFTED": shifted,
        "SEGMENTS": step.segments,
    }
    return {c: known[c] for c in function.constants if c != "INDEX"}


def alignment(argument: Argument, value: int | float, vectors: frozenset[int]) -> int:
    """What is said of an argument: the power of two up to 16 that it is a multiple of; 1 where nothing is said.

    Addresses are multiples of 16 or not. A row of 1000 elements is read in vectors of four only if its end is known to
    be a multiple of four. Other numbers do not matter, and would only make more variants.
    """
    kind = argument.kind
    if not isinstance(value, int) or kind in ("scalar", "origin"):
        return 1
    if (kind == "extent" and argument.which[0] not in vectors) or argument.name in (
        "segments",
        "programs",
        "turns",
        "shift",
    ):
        return 1
    found = next((power for power in (16, 8, 4) if value % power == 0), 1)
    return 1 if kind in ("pointer", "work") and found < _ALIGNED else found


def packer(made: Variant) -> struct.Struct:
    """Every argument in its own 8-byte slot, then Triton's two scratch pointers."""
    slots = ["Q" if t.startswith("*") else _SLOTS[t] for t in made.types]
    return struct.Struct("<" + "".join(slots) + "QQ")
