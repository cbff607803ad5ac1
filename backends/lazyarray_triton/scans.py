"""Owns running values along the reduced axis (sum prod min max): in a tile, from tile to tile, from segment to segment.

Along rows a tile is scanned as a tree and added to what came before; columns go element by element, as NumPy does.
What a segment of a row adds up to is found lane by lane. Extremes are scanned there too: of zeros of both signs the
last one counts, and lanes know no order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lazyarray.schedule.kernel import Scan
from lazyarray_triton.body import load
from lazyarray_triton.codes import PARTS, VALUE, literal
from lazyarray_triton.reductions import collapse, fold, identity, working
from lazyarray_triton.source import Work
from lazyarray_triton.writer import X, Y

if TYPE_CHECKING:
    from lazyarray_triton.passes import Pass

# A running sum keeps the sign of a first negative zero.
_NOTHING: Final = {"sum": (-0.0, -0.0), "prod": (1, 0)}
# Of elements that compare equal, zeros of both signs for one, NumPy takes the last, but of half floats the first.
_EXTREMES: Final = {"max": "real.maximum", "min": "real.minimum"}
_FIRST_EXTREMES: Final = {"max": "combine.larger", "min": "combine.smaller"}


class Runner:
    """The scan of one stage in one pass."""

    def __init__(self, owner: Pass, scan: Scan, mode: str) -> None:
        self.owner, self.scan, self.mode = owner, scan, mode
        code = working(owner.codes[scan.value])
        self.kinds = (PARTS[code],) * 2 if code in PARTS else (code,)
        self.function = _function(scan.op, owner.codes[scan.value])
        self.by_element = owner.tiles.reduced == X
        self.carried = [f"c{scan.target}_{k}" for k in range(len(self.kinds))]
        self.alone = owner.form == "tile"
        self.by_lane = mode == "total" and not self.by_element and not self.alone and scan.op in _NOTHING
        self.nothing = [
            literal(_NOTHING[scan.op][k], kind) if scan.op in _NOTHING else identity(scan.op, kind, k)
            for k, kind in enumerate(self.kinds)
        ]

    def begin(self) -> None:
        """What came before the first element: nothing, or the segments before."""
        if self.alone:
            return
        owner = self.owner
        shape = owner.tiles.shape(owner.tiles.full if self.by_lane else owner.tiles.kept)
        for k, (name, kind) in enumerate(zip(self.carried, self.kinds, strict=True)):
            owner.w.line(f"{name} = tl.full({shape}, {self.nothing[k]}, {VALUE[kind]})")
            if self.mode == "segment":
                before = prefix_work(owner, self.scan, k, kind)
                mask = "x_in" if owner.tiles.kept == X else "y_in"
                loaded = load(owner.w, f"{name}b", before, kind, "segment * cells + cell", owner.tiles.kept, mask)
                owner.w.line(f"{name} = {name} + {loaded.ref}" if self.scan.op == "sum" else f"{name} = {loaded.ref}")

    def turn(self) -> None:
        """One tile: defines the scanned value, and carries its last element on."""
        owner, w, scan = self.owner, self.owner.w, self.scan
        value = owner.body.values[scan.value]
        names = []
        for k, kind in enumerate(self.kinds):
            name = w.fresh(f"e{scan.target}")
            source = (
                value.refs[k] if value.code == kind or value.code in PARTS else f"{value.refs[k]}.to({VALUE[kind]})"
            )
            w.line(f"{name} = tl.where(inside, {source}, {self.nothing[k]})")
            names.append(name)
        if self.by_element:
            running = self._combined(self.carried, names)
            if value.code == "f2" and self.mode == "whole":
                running = [f"({running[0]}).to(tl.float16).to(tl.float32)"]
            w.line(f"{', '.join(self.carried)} = {', '.join(running)}")
            running = self.carried
        elif self.by_lane:
            running = self.carried
            w.line(f"{', '.join(running)} = {', '.join(self._combined(running, names))}")
        else:
            running = self._scanned(names)
            if not self.alone:
                found = [w.fresh(f"p{scan.target}") for _ in running]
                w.line(f"{', '.join(found)} = {', '.join(self._combined(self.carried, running))}")
                running = found
                w.line(f"ends = {'y' if owner.tiles.reduced == Y else 'x'} == at + {self._block()} - 1")
                for k, (name, tile, kind) in enumerate(zip(self.carried, running, self.kinds, strict=True)):
                    if scan.op in _EXTREMES:
                        last = f"tl.where(ends, {tile}, {self.nothing[k]})"
                        w.line(f"{name} = tl.reduce({last}, 1, {self.function}, keep_dims=True)")
                        continue
                    nothing = literal(-0.0 if kind[0] == "f" else 0, kind)
                    w.line(f"{name} = tl.sum(tl.where(ends, {tile}, {nothing}), 1, keep_dims=True)")
        if self.mode != "total":
            kind = PARTS.get(scan.code, scan.code)
            spelled = [r if k == kind else f"{r}.to({VALUE[kind]})" for r, k in zip(running, self.kinds, strict=True)]
            made = w.define(f"v{scan.target}", scan.code, owner.tiles.full, ", ".join(spelled))
            owner.body.values[scan.target] = made

    def end(self) -> dict[int, list[str]]:
        """What the elements of a segment add up to."""
        if self.by_lane:
            owner, scan = self.owner, self.scan
            folding = fold(scan.op, owner.codes[scan.value])
            return {scan.target: collapse(owner.w, owner.tiles, folding, self.carried, f"r{scan.target}")}
        return {self.scan.target: self.carried} if self.mode == "total" else {}

    def _block(self) -> str:
        return "YBLOCK" if self.owner.tiles.reduced == Y else "XBLOCK"

    def _combined(self, first: list[str], second: list[str]) -> list[str]:
        if self.function:
            return [self.owner.w.call(self.function, *first, *second)]
        sign = "+" if self.scan.op == "sum" else "*"
        return [f"{a} {sign} {b}" for a, b in zip(first, second, strict=True)]

    def _scanned(self, names: list[str]) -> list[str]:
        return scan_tile(self.owner, self.scan, names, self.function)


def _function(op: str, code: str) -> str:
    """The device function that puts two running values together; "" where an operator does."""
    if code in PARTS:
        if op not in _NOTHING:
            raise NotImplementedError(f"running {op} of complex numbers")
        return "combine.multiply_pairs" if op == "prod" else ""
    return (_EXTREMES if code in ("f4", "f8") else _FIRST_EXTREMES).get(op, "")


def scan_tile(owner: Pass, scan: Scan, names: list[str], function: str) -> list[str]:
    """The running values within a tile."""
    w, axis = owner.w, 1 if owner.tiles.reduced == Y else 0
    found = [w.fresh(f"q{scan.target}") for _ in names]
    if function:
        w.modules.add(function.partition(".")[0])
        given = names[0] if len(names) == 1 else f"({', '.join(names)})"
        w.line(f"{', '.join(found)} = tl.associative_scan({given}, {axis}, {function})")
        return found
    function = "tl.cumsum" if scan.op == "sum" else "tl.cumprod"
    for name, tile in zip(found, names, strict=True):
        w.line(f"{name} = {function}({tile}, {axis})")
    return found


def total_work(owner: Pass, scan: Scan, k: int, kind: str) -> str:
    return owner.works.name(("total", scan.target, k), Work(kind, "partials"))


def prefix_work(owner: Pass, scan: Scan, k: int, kind: str) -> str:
    return owner.works.name(("prefix", scan.target, k), Work(kind, "partials"))


def save_totals(owner: Pass, scan: Scan, parts: list[str]) -> None:
    """Writes what a segment adds to the running value."""
    mask = "x_in" if owner.tiles.kept == X else "y_in"
    runner = Runner(owner, scan, "total")
    for k, (name, kind) in enumerate(zip(parts, runner.kinds, strict=True)):
        work = total_work(owner, scan, k, kind)
        owner.w.line(f"tl.store({work} + (segment * cells + cell), {name}, mask={mask})")


def write_prefixes(owner: Pass, scan: Scan) -> None:
    """For each segment, the running value of those before it; the segments of a row are one tile."""
    w, axis = owner.w, "y" if owner.tiles.reduced == Y else "x"
    runner = Runner(owner, scan, "total")
    names = []
    for k, (kind, nothing) in enumerate(zip(runner.kinds, runner.nothing, strict=True)):
        name = w.fresh(f"e{scan.target}")
        found = f"tl.load({total_work(owner, scan, k, kind)} + ({axis} * cells + cell), mask=inside)"
        w.line(f"{name} = tl.where(inside, {found}, {nothing})")
        names.append(name)
    running = scan_tile(owner, scan, names, runner.function)
    for k, (kind, nothing, tile) in enumerate(zip(runner.kinds, runner.nothing, running, strict=True)):
        work = prefix_work(owner, scan, k, kind)
        write_at = f"{work} + (({axis} + 1) * cells + cell)"
        w.line(f"tl.store({write_at}, {tile}, mask=inside & ({axis} + 1 < segments))")
        w.line(f"tl.store({work} + ({axis} * cells + cell), {nothing}, mask=inside & ({axis} == 0))")
