"""Owns kernels whose places depend on data: packed stores and `expand` by counting, scatters by who comes last."""

from __future__ import annotations

from collections.abc import Sequence

from lazyarray.schedule.kernel import Instruction, Kernel
from lazyarray_triton.body import plus, shifted, spread, write
from lazyarray_triton.codes import in_units, words
from lazyarray_triton.passes import Pass, Works
from lazyarray_triton.source import Function, Work, function
from lazyarray_triton.tiles import flat_tiles, lanes, mask_of, offset, product, tiles_of, write_indices
from lazyarray_triton.writer import Writer


def needed(instructions: Sequence[Instruction], values: Sequence[int]) -> list[Instruction]:
    """The instructions that some values depend on, in order."""
    made = {i.target: i for i in instructions}
    found: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value not in found and value in made:
            found.add(value)
            pending += made[value].args
    return [i for i in instructions if i.target in found]


# -- packed ----------------------------------------------------------------------------------------------------------
def emit_packed(kernel: Kernel, works: Works) -> tuple[list[Function], set[str]]:
    """Three functions: count the true elements of each program, sum the counts, write."""
    body = [i for s in kernel.stages for i in (*s.body, *s.after)]
    stores = [t for s in kernel.stages for t in s.stores]
    masks = [t.mask for t in stores if t.packed and t.mask is not None]
    masks += [i.args[0] for i in body if i.op == "expand"]
    counted = list(dict.fromkeys(masks))
    names = {m: works.name(("total", m, 0), Work("i8", "programs")) for m in counted}

    count = _open_flat(kernel, works)
    count.body.compute(needed(body, counted))
    for mask in counted:
        value = count.body.values[mask]
        count.w.line(f"count{mask} = tl.sum((y_in & {value.ref}).to(tl.int32), 0).to(tl.int64)")
        count.w.line(f"tl.store({names[mask]} + program, count{mask})")

    place = _open_flat(kernel, works)
    made: dict[int, str] = {}
    place.body.places = made
    for instruction in body:
        if instruction.op == "expand":
            _locate(place, instruction.args[0], names, made)
        place.body.compute((instruction,))
    for store in stores:
        if not store.packed:
            place.body.store(store)
            continue
        assert store.mask is not None
        _locate(place, store.mask, names, made)
        code, value = kernel.accesses[store.access].code, place.body.values[store.value]
        target, taken = made[store.mask], f"y_in & {place.body.values[store.mask].ref}"
        write(place.w, f"a{store.access}", code, in_units(target, code), value, taken)

    sums = Writer()
    for mask in counted:
        _write_sums(sums, names[mask], mask)
    records = works.records
    functions = [
        function(kernel, records, count.w, "count", ("yblocks",)),
        function(kernel, records, sums, "sums", ()),
        function(kernel, records, place.w, "place", ("yblocks",)),
    ]
    return functions, count.w.modules | place.w.modules


def _open_flat(kernel: Kernel, works: Works) -> Pass:
    tiles = flat_tiles(kernel)
    opened = Pass(kernel, tiles, "packed", works)
    opened.w.line("program = tl.program_id(0).to(INDEX)")
    opened.w.line(f"y = program * YBLOCK + {lanes(tiles, 'y')}")
    opened.w.line(f"y_in = y < {product(tiles.y)}")
    write_indices(opened.w, tiles.y, "y")
    return opened


def _locate(owner: Pass, mask: int, names: dict[int, str], made: dict[int, str]) -> None:
    """The place of each true element among all of them."""
    if mask in made:
        return
    made[mask] = f"place{mask}"
    owner.w.line(f"taken{mask} = (y_in & {owner.body.values[mask].ref}).to(tl.int32)")
    before = f"tl.load({names[mask]} + program)"
    owner.w.line(f"place{mask} = {before} + (tl.cumsum(taken{mask}, 0) - taken{mask}).to(tl.int64)")


def _write_sums(w: Writer, work: str, mask: int) -> None:
    """Counts become the sums of those before, in one program."""
    w.line(f"before{mask} = tl.full([], 0, tl.int64)")
    with w.block("for at in range(0, programs, YBLOCK):"):
        w.line("y = at + tl.arange(0, YBLOCK).to(INDEX)")
        w.line("y_in = y < programs")
        w.line(f"counts = tl.where(y_in, tl.load({work} + y, mask=y_in), tl.full([], 0, tl.int64))")
        w.line(f"tl.store({work} + y, before{mask} + tl.cumsum(counts, 0) - counts, mask=y_in)")
        w.line(f"before{mask} += tl.sum(counts, 0)")


# -- scattered -------------------------------------------------------------------------------------------------------
def emit_scattered(kernel: Kernel, works: Works) -> tuple[list[Function], set[str]]:
    """Two functions: every element claims its place, the highest number stays; then the owners of places write."""
    tiles = tiles_of(kernel)
    body = [i for s in kernel.stages for i in (*s.body, *s.after)]
    stores = [t for s in kernel.stages for t in s.stores]
    claim = Pass(kernel, tiles, "scattered", works)
    claim.open()
    _number(claim)
    asked = [v for t in stores if t.offset is not None for v in (t.offset, t.mask) if v is not None]
    claim.body.compute(needed(body, asked))
    put = Pass(kernel, tiles, "scattered", works)
    put.open()
    _number(put)
    put.body.compute(body)
    for store in stores:
        if store.offset is None:
            put.body.store(store)
            continue
        code = kernel.accesses[store.access].code
        work = works.name(("total", store.access, 0), Work("i8", "target", store.access, 0xFF))
        for side in (claim, put):
            where, axes = offset(kernel, tiles, store.access, row=False)
            given = side.body.values[store.offset]
            where = spread(plus(where, shifted(given, code)), axes | given.axes, tiles.full)
            element = f"(({where}) >> 1)" if words(code) > 1 else f"({where})"
            mask = mask_of(tiles.full) or ""
            if store.mask is not None:
                mask += f" & {side.body.values[store.mask].ref}"
            owner = f"{work} + (origin{store.access} + {element})"
            if side is claim:
                side.w.line(f'tl.atomic_max({owner}, number, mask={mask}, sem="relaxed")')
                continue
            side.w.line(f"owns{store.access} = {mask} & (tl.load({owner}, mask={mask}) == number)")
            value = side.body.values[store.value]
            write(side.w, f"a{store.access}", code, where, value, f"owns{store.access}")
    functions = [
        function(kernel, works.records, claim.w, "claim", claim.grid),
        function(kernel, works.records, put.w, "put", put.grid),
    ]
    return functions, claim.w.modules | put.w.modules


def _number(owner: Pass) -> None:
    """The number of every point in C order."""
    if owner.tiles.flat:
        owner.w.line("number = y.to(tl.int64)")
    else:
        owner.w.line(f"number = x.to(tl.int64) * n{owner.tiles.y[0]} + y")
