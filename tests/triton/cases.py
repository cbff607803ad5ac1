"""Kernel records of every class, with launches for them: what is emitted, compiled and interpreted here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lazyarray.schedule.kernel import Access, Binding, Instruction, Kernel, Reduction, Scan, Stage, Store
from lazyarray_triton.emit import normalise
from lazyarray_triton.model import Blocks, Guess, power_of_two
from lazyarray_triton.source import Form
from lazyarray_triton.tiles import tiles_of

I = Instruction  # noqa: E741


def small_blocks(kernel: Kernel, extents: Sequence[int], form: Form) -> Guess:
    """Blocks far smaller than a launch would have, so that small arrays take several programs, turns and segments."""
    kernel, extents = normalise(kernel), tuple(extents) or (1,)
    if form in ("packed", "scattered"):
        return Guess(form, Blocks(2, 16, 1), Blocks(1, 4, 1))
    tiles = tiles_of(kernel)
    x, y = (power_of_two(math.prod(extents[a] for a in axes)) for axes in (tiles.x, tiles.y))
    columns = tiles.kind == "columns"
    if form == "tile":
        blocks = Blocks(x if columns else 4, y if tiles.kind == "rows" else 32, 1)
        return Guess(form, blocks, blocks)
    scanned = columns and any(s.scan is not None for s in kernel.stages)
    blocks = Blocks(1 if scanned or (form in ("split", "joined") and not columns) else 4, 32, 1)
    if form in ("loop", "online"):
        return Guess(form, blocks, blocks)
    step = 4 if columns else 32
    reduced = max(math.prod(extents[a] for a in tiles.reduced_axes), 1)
    third = -(-reduced // 3)
    length = max(step, -(-third // step) * step)
    segments = -(-reduced // length)
    wide = power_of_two(segments)
    return Guess(form, blocks, Blocks(wide, 32, 1) if columns else Blocks(2, wide, 1), segments, length)


# Memory of arrays that were bound, by pointer: first byte and end. Gathers read beyond what an access walks.
MEMORY: dict[int, tuple[int, int]] = {}


def bind(arrays: Sequence[np.ndarray], extents: Sequence[int], scalars: Sequence[complex] = ()) -> Binding:
    pointers = tuple(a.ctypes.data for a in arrays)
    for a, pointer in zip(arrays, pointers, strict=True):
        whole: Any = a
        while getattr(whole, "base", None) is not None:
            whole = whole.base
        MEMORY[pointer] = whole.ctypes.data, whole.ctypes.data + whole.nbytes
    return Binding(tuple(extents), pointers, tuple(a.strides for a in arrays), tuple(scalars))


def full_steps(rank: int) -> tuple[str, ...]:
    return ("s",) * (rank - 1) + ("1",)


def kept_steps(roles: str) -> tuple[str, ...]:
    last = len(roles) - 1
    return tuple("0" if role == "r" else "1" if axis == last else "s" for axis, role in enumerate(roles))


def kept_shape(roles: str, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(1 if role == "r" else n for role, n in zip(roles, shape, strict=True))


def elementwise(op: str, ins: Sequence[str], out: str) -> Kernel:
    """One op on whole arrays of one axis."""
    body = [I(k, "load", (), c, k) for k, c in enumerate(ins)] + [I(9, op, tuple(range(len(ins))), out)]
    accesses = tuple(Access(c, ("1",)) for c in (*ins, out))
    return Kernel(("p",), accesses, (), (Stage("full", tuple(body), stores=(Store(len(ins), 9),)),))


def reduction(op: str, code: str, roles: str, *, where: bool = False, start: bool = False) -> Kernel:
    """One reduction of one array; its mask is access 2, its start scalar 0."""
    target = "b1" if op in ("any", "all") else "i8" if op in ("argmin", "argmax") else code
    steps = full_steps(len(roles))
    accesses = [Access(code, steps), Access(target, kept_steps(roles))]  # type: ignore[arg-type]
    body = [I(0, "load", (), code, 0)]
    if where:
        accesses.append(Access("b1", steps))  # type: ignore[arg-type]
        body.append(I(2, "load", (), "b1", 2))
    if start:
        body.append(I(3, "scalar", (), target, 0))
    made = Reduction(1, op, 0, target, 2 if where else None, 3 if start else None)
    stages = (Stage("full", tuple(body), reductions=(made,)), Stage("row", (), stores=(Store(1, 1),)))
    return Kernel(tuple(roles), tuple(accesses), (target,) if start else (), stages)  # type: ignore[arg-type]


def softmax(code: str, roles: str, *, keep: bool, in_place: bool = False) -> Kernel:
    """exp(x - max) / sum(exp(x - max)); `in_place` writes x - max over x on the way, so nothing is computed again."""
    steps = full_steps(len(roles))
    first = Stage("full", (I(0, "load", (), code, 0),), reductions=(Reduction(1, "max", 0, code),))
    body = (I(2, "load", (), code, 0), I(3, "subtract", (2, 1), code), I(4, "exp", (3,), code))
    stores = (Store(0, 3),) if in_place else ()
    second = Stage("full", body, reductions=(Reduction(5, "sum", 4, code),), stores=stores, kept=(4,) if keep else ())
    again = (
        (I(6, "recall", (), code, 4),)
        if keep
        else (I(7, "load", (), code, 0), I(8, "subtract", (7, 1), code), I(6, "exp", (8,), code))
    )
    third = Stage("full", (*again, I(9, "divide", (6, 5), code)), stores=(Store(1, 9),))
    accesses = (Access(code, steps), Access(code, steps))  # type: ignore[arg-type]
    return Kernel(tuple(roles), accesses, (), (first, second, third))  # type: ignore[arg-type]


def layer_norm(code: str) -> Kernel:
    """(x - mean) / sqrt(var + eps) * weight + bias along rows: mean and variance in one pass, then the result."""
    first = (I(0, "load", (), code, 0), I(1, "square", (0,), code))
    sums = (Reduction(2, "sum", 0, code), Reduction(3, "sum", 1, code))
    row = (
        I(4, "scalar", (), code, 0),  # 1 / n
        I(5, "scalar", (), code, 1),  # eps
        I(6, "multiply", (2, 4), code),
        I(7, "multiply", (3, 4), code),
        I(8, "square", (6,), code),
        I(9, "subtract", (7, 8), code),
        I(10, "add", (9, 5), code),
        I(11, "sqrt", (10,), code),
    )
    last = (
        I(12, "recall", (), code, 0),
        I(13, "load", (), code, 1),
        I(14, "load", (), code, 2),
        I(15, "subtract", (12, 6), code),
        I(16, "divide", (15, 11), code),
        I(17, "multiply", (16, 13), code),
        I(18, "add", (17, 14), code),
    )
    accesses = (Access(code, ("s", "1")), *(Access(code, ("0", "1")),) * 2, Access(code, ("s", "1")))
    stages = (
        Stage("full", first, reductions=sums, kept=(0,)),
        Stage("row", row),
        Stage("full", last, stores=(Store(3, 18),)),
    )
    return Kernel(("p", "r"), accesses, (code, code), stages)


def variance(code: str, roles: str) -> Kernel:
    """Sum and largest; then what is left of the values less a part of the sum, squared and added up."""
    kept = kept_steps(roles)
    first = (I(0, "load", (), code, 0),)
    folds = (Reduction(1, "sum", 0, code), Reduction(2, "max", 0, code))
    row = (I(3, "scalar", (), code, 0), I(4, "multiply", (1, 3), code))
    second = (I(5, "load", (), code, 0), I(6, "subtract", (5, 4), code), I(7, "square", (6,), code))
    last = (I(9, "sqrt", (8,), code),)
    stages = (
        Stage("full", first, reductions=folds),
        Stage("row", row, stores=(Store(1, 4), Store(2, 2))),
        Stage("full", second, reductions=(Reduction(8, "sum", 7, code),)),
        Stage("row", last, stores=(Store(3, 9),)),
    )
    accesses = (Access(code, full_steps(len(roles))), *(Access(code, kept),) * 3)
    return Kernel(tuple(roles), accesses, (code,), stages)  # type: ignore[arg-type]


def normalised(code: str, keep: bool) -> Kernel:
    """Rows less their mean, over the root of their variance: what is squared is kept, or computed again."""
    again = I(9, "recall", (), code, 5) if keep else I(9, "subtract", (10, 3), code)
    loaded = () if keep else (I(10, "load", (), code, 0),)
    stages = (
        Stage("full", (I(0, "load", (), code, 0),), reductions=(Reduction(1, "sum", 0, code),)),
        Stage("row", (I(2, "scalar", (), code, 0), I(3, "multiply", (1, 2), code))),
        Stage(
            "full",
            (I(4, "load", (), code, 0), I(5, "subtract", (4, 3), code), I(6, "multiply", (5, 5), code)),
            reductions=(Reduction(7, "sum", 6, code),),
            kept=(5,) if keep else (),
        ),
        Stage("row", (I(8, "sqrt", (7,), code),)),
        Stage("full", (*loaded, again, I(11, "divide", (9, 8), code)), stores=(Store(1, 11),)),
    )
    return Kernel(("p", "r"), (Access(code, ("s", "1")),) * 2, (code,), stages)


def statistics() -> Kernel:
    """Minimum, maximum, sum and squares about the mean of a whole float32 array: all in one pass."""
    first = (Reduction(1, "min", 0, "f4"), Reduction(2, "max", 0, "f4"), Reduction(3, "sum", 0, "f4"))
    again = (I(6, "load", (), "f4", 0), I(7, "subtract", (6, 5), "f4"), I(8, "square", (7,), "f4"))
    stages = (
        Stage("full", (I(0, "load", (), "f4", 0),), reductions=first),
        Stage("row", (I(4, "scalar", (), "f4", 0), I(5, "multiply", (3, 4), "f4"))),
        Stage("full", again, reductions=(Reduction(9, "sum", 8, "f4"),)),
        Stage("row", (), stores=tuple(Store(1 + n, v) for n, v in enumerate((1, 2, 5, 9)))),
    )
    return Kernel(("r",), (Access("f4", ("1",)), *[Access("f4", ("0",))] * 4), ("f4",), stages)


def several(roles: str) -> Kernel:
    """min, max, argmax, a float sum and a complex sum in one pass, then values made of them."""
    kept = kept_steps(roles)
    body = (I(0, "load", (), "f8", 0), I(1, "cast", (0,), "c16"), I(2, "multiply", (0, 0), "f8"))
    made = (
        Reduction(3, "min", 0, "f8"),
        Reduction(4, "max", 0, "f8"),
        Reduction(5, "argmax", 0, "i8"),
        Reduction(6, "sum", 0, "f8"),
        Reduction(7, "sum", 1, "c16"),
        Reduction(8, "sum", 2, "f8"),
    )
    row = (I(9, "subtract", (4, 3), "f8"), I(10, "real", (7,), "f8"), I(11, "add", (9, 10), "f8"))
    stores = tuple(Store(1 + n, v) for n, v in enumerate((11, 5, 6, 8)))
    accesses = (Access("f8", full_steps(len(roles))), *(Access(c, kept) for c in ("f8", "i8", "f8", "f8")))  # type: ignore[arg-type]
    return Kernel(tuple(roles), accesses, (), (Stage("full", body, reductions=made), Stage("row", row, stores=stores)))  # type: ignore[arg-type]


def scan(op: str, code: str, roles: str) -> Kernel:
    """A running value, and what it adds to the element."""
    steps = full_steps(len(roles))
    stage = Stage(
        "full",
        (I(0, "load", (), code, 0),),
        scan=Scan(1, op, 0, code),
        after=(I(2, "load", (), code, 0), I(3, "subtract", (1, 2), code)),
        stores=(Store(1, 1), Store(2, 3)),
    )
    return Kernel(tuple(roles), tuple(Access(code, steps) for _ in range(3)), (), (stage,))  # type: ignore[arg-type]


def mixed_elementwise(rank: int) -> Kernel:
    """Full, broadcast and strided reads, a scalar, casts and indices over `rank` axes."""
    inner, outer = ("s",) * (rank - 1), ("0",) * (rank - 1)
    accesses = (
        Access("f8", (*inner, "1")),
        Access("f4", (*outer, "1")),
        Access("i4", (*inner, "0")),
        Access("f8", (*inner, "s")),
        Access("f8", (*inner, "1")),
    )
    body = (
        I(0, "load", (), "f8", 0),
        I(1, "load", (), "f4", 1),
        I(2, "load", (), "i4", 2),
        I(3, "load", (), "f8", 3),
        I(4, "cast", (1,), "f8"),
        I(5, "cast", (2,), "f8"),
        I(6, "scalar", (), "f8", 0),
        I(7, "multiply", (5, 6), "f8"),
        I(8, "multiply", (0, 4), "f8"),
        I(9, "add", (8, 7), "f8"),
        I(10, "subtract", (9, 3), "f8"),
        I(11, "index", (), "i8", rank - 1),
        I(12, "index", (), "i8", 0),
        I(13, "add", (11, 12), "i8"),
        I(14, "cast", (13,), "f8"),
        I(15, "add", (10, 14), "f8"),
    )
    return Kernel(("p",) * rank, accesses, ("f8",), (Stage("full", body, stores=(Store(4, 15),)),))


def activation(code: str) -> Kernel:
    """maximum(x + sin(x) * cos(y), 0), the usual example of fusion."""
    body = (
        I(0, "load", (), code, 0),
        I(1, "load", (), code, 1),
        I(2, "sin", (0,), code),
        I(3, "cos", (1,), code),
        I(4, "multiply", (2, 3), code),
        I(5, "add", (4, 0), code),
        I(6, "const", (), code, 0),
        I(7, "maximum", (5, 6), code),
    )
    return Kernel(("p",), (Access(code, ("1",)),) * 3, (), (Stage("full", body, stores=(Store(2, 7),)),))


def take(code: str) -> Kernel:
    """Reads at offsets that another array holds."""
    body = (I(0, "load", (), "i8", 1), I(1, "gather", (0,), code, 0))
    accesses = (Access(code, ("0",)), Access("i8", ("1",)), Access(code, ("1",)))
    return Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 1),)),))


def put(code: str, *, masked: bool) -> Kernel:
    """Writes at offsets, where several elements may meet."""
    body = (I(0, "load", (), code, 0), I(1, "load", (), "i8", 1), I(2, "load", (), "b1", 2))
    store = Store(3, 0, 2 if masked else None, 1)
    accesses = (Access(code, ("1",)), Access("i8", ("1",)), Access("b1", ("1",)), Access(code, ("0",)))
    return Kernel(("p",), accesses, (), (Stage("full", body, stores=(store,)),))


def put_rows(code: str) -> Kernel:
    """Whole rows taken from and written to offsets."""
    body = (I(0, "load", (), "i8", 0), I(1, "gather", (0,), code, 1), I(2, "load", (), "i8", 2))
    accesses = (Access("i8", ("s", "0")), Access(code, ("0", "1")), Access("i8", ("s", "0")), Access(code, ("0", "1")))
    return Kernel(("p", "p"), accesses, (), (Stage("full", body, stores=(Store(3, 1, None, 2),)),))


def pack(code: str, rank: int = 1) -> Kernel:
    """The elements under a mask, one after another."""
    body = (I(0, "load", (), code, 0), I(1, "load", (), "b1", 1))
    steps = full_steps(rank)
    accesses = (Access(code, steps), Access("b1", steps), Access(code, ("0",) * rank))  # type: ignore[arg-type]
    stage = Stage("full", body, stores=(Store(2, 0, 1, packed=True),))
    return Kernel(("p",) * rank, accesses, (), (stage,))


def expand(code: str) -> Kernel:
    """Packed elements spread over a mask."""
    body = (I(0, "load", (), "b1", 0), I(1, "expand", (0,), code, 1))
    accesses = (Access("b1", ("1",)), Access(code, ("0",)), Access(code, ("1",)))
    return Kernel(("p",), accesses, (), (Stage("full", body, stores=(Store(2, 1, 0),)),))
