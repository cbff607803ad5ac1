"""Owns variances and sums of exponentials in one pass: the kernel in which an earlier stage finds them along.

Squares of x - m add up to those of x - mean(x), and the number of elements times (mean(x) - m)**2, for any m. Each lane
has a mean and squares of its own, which follow from one another element by element (Welford); lanes and segments are
put together by their means (Chan), in one order. Exponentials of x - m add up to those of x - max(x), times
exp(max(x) - m); what was added up is scaled where a larger element comes.
"""

from __future__ import annotations

from typing import Final

from lazyarray.schedule.kernel import Instruction, Kernel, Reduction, Stage
from lazyarray.schedule.moments import Deviations, deviations_of
from lazyarray_triton.codes import VALUE, literal
from lazyarray_triton.tiles import Tiles, product
from lazyarray_triton.writer import Value, Writer, Y

PAIRS = {"f4": "c8", "f8": "c16"}  # mean and squares, or the largest and the sum, as the two parts of a number
FOLDS = ("moments", "exponentials")  # reductions that only this backend's kernels have, by what they find
_ABOUT = {"squares": ("moments", "about"), "exponentials": ("exponentials", "scaled")}


def one_pass(kernel: Kernel, *, watched: bool = False) -> Kernel:
    """The kernel with such reductions in place of stages that add up; the same one where there is nothing to replace.

    `watched`: what may have raised errors is computed elsewhere, or shows.
    """
    last, so, found = _last[0]
    if last is not kernel or so != watched:
        found = _one_pass(kernel, watched)
        _last[0] = (kernel, watched, found)
    assert found is not None
    return found


# The kernel last asked for, and what was found: a guess asks four times for one kernel, which took half of its time.
_last: Final[list[tuple[Kernel | None, bool, Kernel | None]]] = [(None, False, None)]


def _one_pass(kernel: Kernel, watched: bool) -> Kernel:
    while (found := deviations_of(kernel)) is not None:
        if watched and found.kind == "exponentials" and not _is_recalled(kernel, found):
            return kernel
        kernel = _without(kernel, found)
    return kernel


def passes_of(kernel: Kernel) -> int:
    """How often a row is gone through."""
    return sum(s.level == "full" for s in one_pass(kernel).stages)


def _is_recalled(kernel: Kernel, found: Deviations) -> bool:
    """Whether a later stage computes the exponentials again."""
    later = kernel.stages[found.stage + 1 :]
    return any(i.op == "recall" and i.attr == found.sum.value for s in later for i in s.body)


def _without(kernel: Kernel, found: Deviations) -> Kernel:
    """The kernel in which one such stage is a number of its rows."""
    stages = list(kernel.stages)
    targets = [i.target for s in stages for i in (*s.body, *s.after)]
    targets += [r.target for s in stages for r in s.reductions]
    pair = max(targets) + 1
    gone, code = stages[found.stage], found.sum.code
    before = stages[found.before]
    fold, about = _ABOUT[found.kind]
    more = Reduction(pair, fold, found.value, PAIRS[code])
    stages[found.before] = before._replace(reductions=(*before.reductions, more))
    stages[found.stage] = Stage("row", (Instruction(found.sum.target, about, (pair, found.centre), code),))
    for number in range(found.stage + 1, len(stages)):
        stages[number] = _computed(stages[number], gone)
    return kernel._replace(stages=tuple(stages))


def _computed(stage: Stage, gone: Stage) -> Stage:
    """A later stage that computes what it recalled of the one that is gone."""
    made = {i.target: i for i in gone.body}
    wanted = [int(i.attr or 0) for i in stage.body if i.op == "recall" and i.attr in made]
    needed: set[int] = set()
    while wanted:
        value = wanted.pop()
        if value in made and value not in needed:
            needed.add(value)
            wanted += made[value].args
    known = {i.target for i in stage.body}
    first = [i for i in gone.body if i.target in needed and i.target not in known]
    body = [
        Instruction(i.target, "positive", (int(i.attr or 0),), i.code) if i.op == "recall" and i.attr in made else i
        for i in stage.body
    ]
    return stage._replace(body=(*first, *body))


def begin(w: Writer, tiles: Tiles, fold: str, code: str, stem: str) -> list[str]:
    """What a loop carries: means and squares of lanes; the largest of each row, and sums of lanes."""
    names = [w.fresh(stem), w.fresh(stem)]
    kept = tiles.shape(tiles.kept if fold == "exponentials" else tiles.full)
    w.line(f"{names[0]} = tl.full({kept}, {identities(fold, code)[0]}, {VALUE[code]})")
    w.line(f"{names[1]} = tl.full({tiles.shape(tiles.full)}, {identities(fold, code)[1]}, {VALUE[code]})")
    return names


def identities(fold: str, code: str) -> tuple[str, str]:
    """The parts of nothing."""
    return literal(float("-inf") if fold == "exponentials" else 0, code), literal(0, code)


def step(w: Writer, tiles: Tiles, fold: str, carried: list[str], value: Value, low: str) -> None:
    """Takes the elements of one turn of a loop in."""
    first, second = carried
    if fold == "exponentials":
        made = w.call("moments.exponentials", first, second, value.ref, "inside", _along(tiles))
    else:
        block = "YBLOCK" if tiles.reduced == Y else "XBLOCK"
        turn = f"{'at' if low == '0' else f'(at - {low})'} // {block} + 1"
        made = w.call("moments.step", first, second, value.ref, "inside", turn)
    w.line(f"{first}, {second} = {made}")


def collapse_lanes(
    w: Writer, tiles: Tiles, fold: str, code: str, carried: list[str], stem: str, ends: tuple[str, str]
) -> list[str]:
    """The parts of what a loop went through, from one end to the other."""
    if fold == "exponentials":
        total = w.fresh(stem)
        w.line(f"{total} = tl.sum({carried[1]}, {_along(tiles)}, keep_dims=True)")
        return [carried[0], total]
    low, high = ends
    axis = "y" if tiles.reduced == Y else "x"
    block = f"{axis.upper()}BLOCK"
    w.line(f"lane = tl.arange(0, {block}){'[None, :]' if axis == 'y' else '[:, None]'}")
    length = high if low == "0" else f"tl.maximum({high} - {low}, 0)"
    counts = f"tl.maximum({length} - lane + {block} - 1, 0) // {block}"
    mean, halves = carried
    return _joined(w, tiles, code, [mean, f"({halves} + {halves})"], stem, counts, length)


def collapse_segments(w: Writer, tiles: Tiles, fold: str, code: str, parts: list[str], stem: str) -> list[str]:
    """The parts of a row from those of its segments."""
    if fold == "exponentials":
        names = [w.fresh(stem), w.fresh(stem)]
        w.line(f"{', '.join(names)} = {w.call('moments.together', *parts, _along(tiles))}")
        return names
    every = product(tiles.reduced_axes)
    axis = "y" if tiles.reduced == Y else "x"
    counts = f"tl.minimum(tl.maximum({every} - {axis} * length, 0), length)"
    return _joined(w, tiles, code, parts, stem, counts, every)


def _joined(w: Writer, tiles: Tiles, code: str, parts: list[str], stem: str, counts: str, every: str) -> list[str]:
    names = [w.fresh(stem), w.fresh(stem)]
    kind = VALUE[code]
    number = f"({counts}).to({kind})"
    # The number of all is a Python number under the interpreter, or where Triton knows it.
    total = f"tl.full([], {every}, tl.int64).to({kind})"
    w.line(f"{', '.join(names)} = {w.call('moments.joined', *parts, number, total, _along(tiles))}")
    return names


def _along(tiles: Tiles) -> str:
    return "1" if tiles.reduced == Y else "0"


def about(w: Writer, tiles: Tiles, op: str, pair: Value, centre: Value) -> str:
    """The sum about a number of the row."""
    if op == "scaled":
        return w.call("moments.scaled", *pair.refs, centre.ref)
    total = f"tl.full([], {product(tiles.reduced_axes)}, tl.int64)"
    return w.call("moments.about", *pair.refs, centre.ref, total)
