"""Owns how a tile walks a kernel's axes: index variables, masks, and addresses of accesses at a tile.

A tile has one or two axes. In its second, `y`, lanes lie next to one another in memory where the kernel's last axis is
walked; its first, `x`, holds what is left:

    kind         x                          y                     left to the program
    line         -                          the only axis         -
    elementwise  all axes but the last      the last axis         -
    rows         the parallel axes          the reduction axes    -
    columns      the reduction axes         the last axis         the parallel axes before
    flat         -                          all axes, in C order  -

Several axes in one are numbered through, and taken apart by division.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Kernel
from lazyarray_triton.codes import words
from lazyarray_triton.writer import NONE, Axes, Writer, X, Y

Kind: TypeAlias = Literal["line", "elementwise", "rows", "columns", "flat"]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The axes of a kernel by the tile axis that walks them."""

    kind: Kind
    x: tuple[int, ...]
    y: tuple[int, ...]
    outer: tuple[int, ...] = ()

    @property
    def flat(self) -> bool:
        """Tiles with one axis."""
        return self.kind in ("line", "flat")

    @property
    def reduced(self) -> Axes:
        """The tile axis that reductions run along."""
        return {"rows": Y, "columns": X}.get(self.kind, NONE)

    @property
    def kept(self) -> Axes:
        """The tile axis that values of row stages vary along."""
        return {"rows": X, "columns": Y}.get(self.kind, X | Y)

    @property
    def full(self) -> Axes:
        return Y if self.flat else X | Y

    @property
    def reduced_axes(self) -> tuple[int, ...]:
        return {"rows": self.y, "columns": self.x}.get(self.kind, ())

    def axes_of(self, axis: int) -> Axes:
        """The tile axis that walks a kernel axis."""
        return X if axis in self.x else Y if axis in self.y else NONE

    def shape(self, axes: Axes) -> str:
        """The shape of a value that varies along some tile axes."""
        if self.flat:
            return "[YBLOCK]" if axes else "[1]"
        return f"[{'XBLOCK' if 'x' in axes else '1'}, {'YBLOCK' if 'y' in axes else '1'}]"


def tiles_of(kernel: Kernel) -> Tiles:
    """How tiles walk a kernel whose places do not depend on data."""
    rank = len(kernel.roles)
    every = tuple(range(rank))
    if not kernel.reduces:
        return Tiles("line", (), every) if rank == 1 else Tiles("elementwise", every[:-1], every[-1:])
    parallel = tuple(a for a in every if kernel.roles[a] == "p")
    reduced = tuple(a for a in every if kernel.roles[a] == "r")
    if kernel.vector_reduced:
        return Tiles("rows", parallel, reduced)
    return Tiles("columns", reduced, every[-1:], parallel[:-1])


def flat_tiles(kernel: Kernel) -> Tiles:
    return Tiles("flat", (), tuple(range(len(kernel.roles))))


def product(axes: Sequence[int]) -> str:
    """The number of points of some axes."""
    return " * ".join(f"n{axis}" for axis in axes) or "1"


def write_indices(w: Writer, axes: Sequence[int], linear: str) -> None:
    """The loop indices of axes that are numbered through by `linear`."""
    if len(axes) == 1:
        w.line(f"i{axes[0]} = {linear}")
        return
    left = linear
    for axis in reversed(axes[1:]):
        w.line(f"i{axis} = {left} % n{axis}")
        left = f"({left}) // n{axis}" if left != linear else f"{linear} // n{axis}"
    if axes:
        w.line(f"i{axes[0]} = {left}")


def lanes(tiles: Tiles, axis: str) -> str:
    """0, 1, ... along a tile axis."""
    block = f"tl.arange(0, {axis.upper()}BLOCK)"
    place = "" if tiles.flat else "[:, None]" if axis == "x" else "[None, :]"
    return f"{block}{place}.to(INDEX)"


def mask_of(axes: Axes) -> str | None:
    """The mask of lanes that exist, for what varies along some tile axes."""
    if axes == X | Y:
        return "inside"
    return "x_in" if axes == X else "y_in" if axes == Y else None


def offset(kernel: Kernel, tiles: Tiles, access: int, *, row: bool) -> tuple[str, Axes]:
    """Where an access is at the current point, in units of its pointer.

    At a point of a row the reduction axes stand at their first index.
    """
    terms, axes = [], NONE
    walk = kernel.accesses[access]
    for axis, step in enumerate(walk.steps):
        if step == "0" or (row and axis in tiles.reduced_axes):
            continue
        if step == "s":
            terms.append(f"i{axis} * t{access}_{axis}")
        else:
            factor = int(step) * words(walk.code)
            terms.append(f"i{axis}" if factor == 1 else f"i{axis} * {factor}")
        axes |= tiles.axes_of(axis)
    return " + ".join(terms), axes
