"""Owns the record of an emitted kernel: its functions in the order of their launches, and the memory between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Kernel
from lazyarray_triton.codes import PARTS, POINTER, SCALAR
from lazyarray_triton.tiles import Tiles
from lazyarray_triton.writer import Writer

# tile: a program holds what it reduces; loop: it goes through it; online: in fewer passes (`moments.py`); split:
# several programs share it, in phases, and in those fewer passes; joined: as split, but the program of a row that ends
# last goes on with the phase after; packed, scattered: places depend on data, in phases.
Form: TypeAlias = Literal["tile", "loop", "online", "split", "joined", "packed", "scattered"]
# How floating-point errors are looked for: not at all; "exact": at every value at once; "checked": at every value of
# programs in which something is not finite; "apart": that is only noted, and functions of their own look at every value
# afterwards, which asks for inputs that were not overwritten.
Watched: TypeAlias = Literal["", "exact", "checked", "apart"]
ArgumentKind: TypeAlias = Literal["pointer", "extent", "stride", "scalar", "work", "origin", "number"]
# How many elements: one per row (or column) left by a reduction; for each and each segment; all; one per program and
# one more; one per element of the memory behind an access (at most its size over the itemsize); the words for errors,
# which the launcher is given; one for each group of programs that share rows, which is 0 between launches.
WorkSize: TypeAlias = Literal["cells", "partials", "full", "programs", "target", "flags", "arrivals"]
# FULL: no lane along an axis is outside; SHIFTED: the first tile of a line begins before it, where lines of memory do;
# SEGMENTS: lanes for the segments whose results are put together.
CONSTANTS = ("XBLOCK", "YBLOCK", "XFULL", "YFULL", "SHIFTED", "SEGMENTS")


@dataclass(frozen=True, slots=True)
class Argument:
    """One runtime argument: `type` is Triton's name, or "index", the integer type that a launch chooses.

    which: access; axis; (access, axis); scalar number and part; work buffer number; access.
    """

    name: str
    kind: ArgumentKind
    type: str
    which: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """Memory that the functions of one launch share; `fill` is the byte it is filled with beforehand, if any."""

    code: str
    size: WorkSize
    access: int = -1
    fill: int | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """One function of a module: its grid is the product of the factors, the first of which runs fastest."""

    name: str
    grid: tuple[str, ...]
    arguments: tuple[Argument, ...]
    constants: tuple[str, ...]  # compile-time arguments, after the others; INDEX is the last
    text: str
    looks: bool = False  # few programs take the turns of many


@dataclass(frozen=True, slots=True)
class TritonSource:
    """A kernel in one form, as a module of Triton functions that are launched one after another."""

    kernel: Kernel
    form: Form
    tiles: Tiles
    functions: tuple[Function, ...]
    works: tuple[Work, ...]
    text: str
    watched: Watched = ""


_NAME = re.compile(r"\b[A-Za-z_][A-Za-z_0-9]*\b")
_ASSIGNED = re.compile(r"^ +([A-Za-z_][A-Za-z_0-9]*) = ")


def drop_unused(lines: Sequence[str]) -> list[str]:
    """The lines without assignments of single names that nothing reads."""
    names = [set(_NAME.findall(line.partition("#")[0])) for line in lines]
    counts: dict[str, int] = {}
    for used in names:
        for name in used:
            counts[name] = counts.get(name, 0) + 1
    assigned = {k: m[1] for k, line in enumerate(lines) if (m := _ASSIGNED.match(line))}
    dropped: set[int] = set()
    while unused := [k for k, name in assigned.items() if k not in dropped and counts[name] == 1]:
        dropped.update(unused)
        for k in unused:
            for name in names[k]:
                counts[name] -= 1
    return [line for k, line in enumerate(lines) if k not in dropped]


def arguments_of(kernel: Kernel, works: Sequence[Work]) -> list[Argument]:
    """Every argument that a function of the kernel can take, in their order."""
    found = [Argument(f"a{k}", "pointer", POINTER[a.code], (k,)) for k, a in enumerate(kernel.accesses)]
    found += [Argument(f"w{k}", "work", POINTER[w.code], (k,)) for k, w in enumerate(works)]
    found += [Argument(f"n{axis}", "extent", "index", (axis,)) for axis in range(len(kernel.roles))]
    for k, access in enumerate(kernel.accesses):
        found += [Argument(f"t{k}_{a}", "stride", "index", (k, a)) for a, s in enumerate(access.steps) if s == "s"]
    for k, code in enumerate(kernel.scalars):
        if code in PARTS:
            found += [Argument(f"s{k}{p}", "scalar", SCALAR[PARTS[code]], (k, n)) for n, p in enumerate("ri")]
        else:
            found.append(Argument(f"s{k}", "scalar", SCALAR[code], (k,)))
    found += [Argument(f"origin{k}", "origin", "i64", (k,)) for k in range(len(kernel.accesses))]
    found += [Argument(name, "number", "index") for name in ("segments", "length", "programs", "turns", "shift")]
    return found


def function(kernel: Kernel, works: Sequence[Work], w: Writer, name: str, grid: tuple[str, ...]) -> Function:
    """The function made of the lines of a writer; it takes what they name."""
    lines = drop_unused(w.lines)
    used = {found for line in lines for found in _NAME.findall(line)}
    arguments = tuple(a for a in arguments_of(kernel, works) if a.name in used)
    constants = (*(c for c in CONSTANTS if c in used), "INDEX")
    given = [*(a.name for a in arguments), *(f"{c}: tl.constexpr" for c in constants)]
    head = f"@triton.jit\ndef {name}({', '.join(given)}):"
    return Function(name, grid, arguments, constants, "\n".join([head, *lines, ""]))


_PROGRAM = "tl.program_id(0).to(INDEX)"


def called_text(made: Function) -> str:
    """A function as one that another calls, in place of a launch: which program it stands for is an argument."""
    given = [*(a.name for a in made.arguments), "place", *(f"{c}: tl.constexpr" for c in made.constants)]
    body = made.text[made.text.index("):\n") + 3 :]
    return f"@triton.jit\ndef {made.name}({', '.join(given)}):\n{body.replace(_PROGRAM, 'place')}"


def call_text(made: Function, segments: str) -> str:
    """A call of such a function; `segments`: its constant for the lanes along segments."""
    given = [*(a.name for a in made.arguments), "place"]
    given += ["SEGMENTS" if c == segments else c for c in made.constants]
    return f"{made.name}({', '.join(given)})"


def look_function(kernel: Kernel, works: Sequence[Work], looked: Function, odd: str) -> Function:
    """A function that looks for errors as another does, without what that stores, if something odd was noted."""
    w = Writer()
    w.line(f"if tl.load({odd}) != 0:")
    w.line("    for turn in range(tl.program_id(0), turns, tl.num_programs(0)):")
    for line in looked.text.splitlines()[2:]:
        if "tl.store(" in line or "tl.debug_barrier()" in line or not line.strip():
            continue
        line = line.replace("tl.program_id(0).to(INDEX)", "tl.full([], turn, INDEX)")
        w.lines.append("        " + line)
        if line.lstrip().startswith("for "):
            w.lines.append("        " + " " * (len(line) - len(line.lstrip()) + 4) + "pass")
    made = function(kernel, works, w, f"look_{looked.name}", looked.grid)
    return replace(made, looks=True)


def module_text(header: str, modules: set[str], functions: Sequence[Function]) -> str:
    """The text of the module: header, imports, functions."""
    comment = "\n".join(f"# {line}".rstrip() for line in header.splitlines())
    imports = ["import triton", "import triton.language as tl"]
    if modules:
        imports += ["", f"from lazyarray_triton.device import {', '.join(sorted(modules))}"]
    return "\n".join([comment, *imports, "", "", "\n\n".join(f.text for f in functions)])
