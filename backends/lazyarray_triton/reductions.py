"""Owns reductions in a tile: identities, accumulators, and what combines two elements."""

from __future__ import annotations

from dataclasses import dataclass

from lazyarray.schedule.kernel import Reduction
from lazyarray_triton import moments
from lazyarray_triton.codes import PARTS, VALUE, class_of, literal
from lazyarray_triton.tiles import Tiles
from lazyarray_triton.writer import Value, Writer

_COMBINE = {
    "sum": "combine.add", "buffered_sum": "combine.add", "prod": "combine.multiply", "min": "combine.least",
    "max": "combine.largest", "fmin": "combine.smaller_number", "fmax": "combine.larger_number",
    "any": "combine.bit_or", "all": "combine.bit_and", "band": "combine.bit_and", "bor": "combine.bit_or",
    "bxor": "combine.bit_xor", "argmin": "combine.first_smaller", "argmax": "combine.first_larger",
}  # fmt: skip
_PAIRS = {
    "sum": "combine.add_pairs", "buffered_sum": "combine.add_pairs", "prod": "combine.multiply_pairs",
    "min": "combine.smaller_pair", "max": "combine.larger_pair", "fmin": "combine.smaller_number_pair",
    "fmax": "combine.larger_number_pair", "argmin": "combine.first_smaller_pair", "argmax": "combine.first_larger_pair",
}  # fmt: skip


def working(code: str) -> str:
    """The dtype that elements of a dtype are combined in."""
    if code in ("b1", "i1", "i2"):
        return "i4"
    return {"u1": "u4", "u2": "u4", "f2": "f4"}.get(code, code)


@dataclass(frozen=True, slots=True)
class Folding:
    """How a reduction folds: the dtypes of what it carries, their identities, and the function of two of them."""

    op: str
    codes: tuple[str, ...]  # of the carried parts: one, two of a complex number, and an index
    identities: tuple[str, ...]
    function: str
    summed: bool  # a plain sum, part by part


def fold(op: str, value_code: str) -> Folding:
    """The folding of values of a dtype."""
    code = working(value_code)
    if op in moments.FOLDS:
        return Folding(op, (code, code), moments.identities(op, code), "", False)
    if op in ("any", "all"):
        code = "i4"
    kinds = (PARTS[code],) * 2 if code in PARTS else (code,)
    indexed = op in ("argmin", "argmax")
    function = (_PAIRS if code in PARTS else _COMBINE)[op]
    if indexed:
        identities = (*(literal(0, k) for k in kinds), literal(-1, "i8"))
        return Folding(op, (*kinds, "i8"), identities, function, False)
    identities = tuple(identity(op, k, n) for n, k in enumerate(kinds))
    return Folding(op, kinds, identities, function, op in ("sum", "buffered_sum"))


def identity(op: str, code: str, place: int) -> str:
    """What changes nothing, as a scalar: the first part of what is carried or, of complex numbers, the second."""
    if op in ("sum", "buffered_sum", "any", "bor", "bxor"):
        return literal(0, code)
    if op == "prod":
        return literal(1 - place, code)
    if op == "all":
        return literal(1, code)
    if op == "band":
        return literal(-1 if code[0] == "i" else (1 << 8 * int(code[1:])) - 1, code)
    if code[0] == "f":
        return literal({"min": float("inf"), "max": float("-inf")}.get(op, float("nan")), code)
    bits = 8 * int(code[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if code[0] == "i" else (0, (1 << bits) - 1)
    return literal(high if op in ("min", "fmin") else low, code)


def elements(w: Writer, tiles: Tiles, reduction: Reduction, folding: Folding, value: Value, where: Value | None,
             index: str, *, whole: bool = False) -> list[str]:  # fmt: skip
    """The parts of each element of the tile, with the identity in lanes that take no part; of a whole tile all do."""
    masks = [] if whole else ["inside"]
    mask = " & ".join(masks if where is None else [*masks, where.ref])
    found = []
    for k, (code, identity) in enumerate(zip(folding.codes, folding.identities, strict=True)):
        if k == len(value.refs):
            source = index
        elif folding.op in ("any", "all"):
            source = w.call("complexes.truth", *value.refs) if len(value.refs) > 1 else f"({value.ref} != 0)"
            source = f"{source}.to(tl.int32)"
        else:
            part = PARTS.get(value.code, value.code)
            source = value.refs[k] if part == code else f"{value.refs[k]}.to({VALUE[code]})"
        name = w.fresh(f"e{reduction.target}")
        w.line(f"{name} = tl.where({mask}, {source}, {identity})" if mask else f"{name} = {source}")
        found.append(name)
        if folding.op in ("any", "all"):
            break
    return found


def accumulators(w: Writer, tiles: Tiles, reduction: Reduction, folding: Folding) -> list[str]:
    """Tiles of identities, before a loop."""
    if folding.op in moments.FOLDS:
        return moments.begin(w, tiles, folding.op, folding.codes[0], f"c{reduction.target}")
    found = []
    for code, identity in zip(folding.codes, folding.identities, strict=True):
        name = w.fresh(f"c{reduction.target}")
        w.line(f"{name} = tl.full({tiles.shape(tiles.full)}, {identity}, {VALUE[code]})")
        found.append(name)
    return found


def accumulate(w: Writer, folding: Folding, carried: list[str], added: list[str]) -> None:
    """Folds one tile of elements into the accumulators."""
    if folding.summed:
        for name, more in zip(carried, added, strict=True):
            w.line(f"{name} += {more}")
        return
    w.line(f"{', '.join(carried)} = {w.call(folding.function, *carried, *added)}")


def collapse(w: Writer, tiles: Tiles, folding: Folding, parts: list[str], stem: str) -> list[str]:
    """Reduces tiles along the reduced axis; the axis stays, with extent 1."""
    axis = 1 if "y" in tiles.reduced else 0
    names = [w.fresh(stem) for _ in parts]
    if folding.summed:
        for name, tile, code in zip(names, parts, folding.codes, strict=True):
            kind = f", dtype={VALUE[code]}" if class_of(code) == "integer" else ""
            w.line(f"{name} = tl.sum({tile}, {axis}, keep_dims=True{kind})")
        return names
    w.modules.add("combine")
    given = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
    w.line(f"{', '.join(names)} = tl.reduce({given}, {axis}, {folding.function}, keep_dims=True)")
    return names


def finish(
    w: Writer, tiles: Tiles, reduction: Reduction, folding: Folding, parts: list[str], start: Value | None
) -> Value:
    """The value of a reduction from its collapsed parts and the value to begin with."""
    if start is not None:
        given = [
            f"({ref} != 0).to(tl.int32)" if folding.op in ("any", "all") else f"{ref}.to({VALUE[code]})"
            for ref, code in zip(start.refs, folding.codes, strict=True)
        ]
        names = [w.fresh(f"b{reduction.target}") for _ in parts]
        w.line(f"{', '.join(names)} = {w.call(folding.function, *given, *parts)}")
        parts = names
    elif folding.summed and folding.codes[0][0] == "f":
        # Sums start at +0.0: the sum of negative zeros is no negative zero.
        parts = [f"{p} + 0.0" for p in parts]
    name, code = f"v{reduction.target}", reduction.code
    if folding.op in ("argmin", "argmax"):
        return w.define(name, code, tiles.kept, parts[-1])
    if code == "b1":
        return w.define(name, code, tiles.kept, f"{parts[0]} != 0")
    kinds = PARTS.get(code, code)
    spelled = [p if k == kinds else f"({p}).to({VALUE[kinds]})" for p, k in zip(parts, folding.codes, strict=True)]
    return w.define(name, code, tiles.kept, ", ".join(spelled))
