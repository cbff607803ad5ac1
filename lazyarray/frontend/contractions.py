"""Owns how `einsum` runs on the host: as products of matrices where it is a stack of them, else as NumPy's own loop.

That loop visits every combination of labels by itself, at a tenth of the speed at which BLAS makes the same sums, which
are no less accurate (`numpy/_core/src/multiarray/einsum_sumprod.c.src` adds one by one or by a vector's lanes, BLAS in
blocks). The dtype and the extents alone say which way a call goes, so that its bits are the same wherever it runs.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.callables import FEW_CONTRACTED
from lazyarray.ir.contractions import Contraction, contraction_of, labels_of
from lazyarray.records import NamedTuple

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

# From so many elements of an operand on, sums of products are recorded: as `eager_below` is, unless a program sets it.
FEW_SUMMED: Final = 1 << 16
# The same of what is made by two operands at a time: finding out how takes 0.1 ms, once.
_FEW_CHAINED: Final = 1 << 16
_TIMES_AHEAD: Final = 8  # of NumPy's loop, that BLAS is
_BLAS: Final = frozenset(map(np.dtype, "fdFD"))
# Whose sums are exact, or made in their own precision by NumPy too: float16 is added as float32 there.
_SUMMED: Final = frozenset(map(np.dtype, "fdFDbhilqBHILQ"))


class Products(NamedTuple):
    """An `einsum` that is made by BLAS.

    `left` and `right`: the factors' extents as a stack, rows and columns, each one axis. `lying`: the extents of what
    they make, in the order in which it lies. `places`: how many multiplications that takes. `direct`: whether what
    is made is the result as it is, which lies as NumPy's of operands in C order.
    """

    axes: Contraction
    left: Shape
    right: Shape
    lying: Shape
    places: int
    direct: bool


@functools.lru_cache(maxsize=1024)
def _products_of(subscripts: str, *shapes: Shape) -> Products | None:
    axes = contraction_of(subscripts)
    if axes is None:
        return None
    left, right = _factors(axes, *shapes)
    if (len(left), len(right)) != (len(axes.left), len(axes.right)):
        return None
    left, right = [tuple([shape[axis] for axis in order]) for shape, order in ((left, axes.left), (right, axes.right))]
    stack, rows, inner = axes.left_groups
    if left[:stack] != right[:stack] or left[stack + rows :] != right[stack : stack + inner]:
        return None  # NumPy repeats what has an extent of 1, or refuses
    down, along = math.prod(left[stack : stack + rows]), math.prod(left[stack + rows :])
    across = math.prod(right[stack + inner :])
    lying, stacked = (*left[: stack + rows], *right[stack + inner :]), left[:stack]
    places = math.prod(lying) * along
    # A single row or column is no product of matrices: BLAS leaves out what it multiplies by zero.
    if min(down, across) < 2 or places < FEW_CONTRACTED:
        return None
    direct = not stack and rows == inner == axes.right_groups[2] == 1 and axes.is_ordered()
    direct = direct and _model(subscripts, *map(_little, shapes)).flags.c_contiguous
    return Products(axes, (*stacked, down, along), (*stacked, along, across), lying, places, direct)


def _factors(axes: Contraction, first: Any, second: Any) -> tuple[Any, Any]:
    return (second, first) if axes.swapped else (first, second)


class Chain(NamedTuple):
    """An `einsum` of three operands or more that is made of two of them at a time.

    `steps`: which two of those that are left, what they make goes behind the others, and their own subscripts.
    """

    steps: tuple[tuple[int, int, str], ...]
    lying: Shape
    places: int
    direct: bool = False


Plan = Products | Chain


class Sum(NamedTuple):
    """An `einsum` that is a sum of elementwise products: one operand has all labels, each of them once.

    `operands`: how each is transposed, and the key that gives it the axes of that one, or None. `summed`: the axes
    that vanish. `order`: of those that are left, or None.
    """

    operands: tuple[tuple[tuple[int, ...] | None, tuple[slice | None, ...] | None], ...]
    summed: tuple[int, ...]
    order: tuple[int, ...] | None


def plan_of(subscripts: str, *operands: Any) -> Plan | None:
    """How an `einsum` of arrays is made by BLAS, if it has enough to multiply; None for others."""
    if len(operands) < 2 or config.numerics != "fast":
        return None
    if not _are_all(operands, _BLAS):
        return None
    find = _products_of if len(operands) == 2 else _chain_of
    return find(subscripts, *[x.shape for x in operands])


@functools.lru_cache(maxsize=256)
def _chain_of(subscripts: str, *shapes: Shape) -> Chain | None:
    found = _fitting_labels(subscripts, shapes)
    if found is None:
        return None
    terms, out = found
    extents = dict(zip("".join(terms), itertools.chain(*shapes), strict=True))
    places = math.prod(extents.values())
    if places < _FEW_CHAINED or places in map(math.prod, shapes):
        return None
    stand_ins = [np.broadcast_to(np.empty(()), shape) for shape in shapes]
    steps, cost, whole = [], 0.0, 0
    for pair in np.einsum_path(subscripts, *stand_ins, optimize="greedy")[0][1:]:
        if len(pair) != 2:
            return None
        first, second = sorted(pair)
        y, x = terms.pop(second), terms.pop(first)
        asked = {*out, *"".join(terms)}
        made = "".join([c for c in dict.fromkeys(x + y) if c in asked]) if terms else out
        step = f"{x},{y}->{made}"
        size = math.prod([extents[c] for c in {*x, *y}])
        is_product = _products_of(step, *[tuple([extents[c] for c in term]) for term in (x, y)]) is not None
        cost += size / _TIMES_AHEAD if is_product else size
        whole += size
        steps.append((first, second, step))
        terms.append(made)
    return Chain(tuple(steps), tuple([extents[c] for c in out]), whole) if 2 * cost <= places else None


def _are_all(operands: Sequence[Any], dtypes: frozenset[np.dtype[Any]]) -> bool:
    """Whether all have one dtype, and that is one of these."""
    dtype = operands[0].dtype
    return dtype in dtypes and all([x.dtype == dtype for x in operands])


def _fitting_labels(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[list[str], str] | None:
    """As `labels_of`; None also unless each label stands once in an operand, and for the same extent in all."""
    found = labels_of(subscripts)
    if found is None:
        return None
    terms, out = found
    if len(terms) != len(shapes) or not {*out} <= {*"".join(terms)}:
        return None
    if any([len(term) != len(shape) for term, shape in zip(terms, shapes, strict=True)]):
        return None
    extents = dict(zip("".join(terms), itertools.chain(*shapes), strict=True))
    once = all([len({*term}) == len(term) for term in (*terms, out)])
    same = all([tuple([extents[c] for c in term]) == shape for term, shape in zip(terms, shapes, strict=True)])
    return found if once and same else None


def run_einsum(*operands: Any, subscripts: str, optimize: Any, out: Any = None) -> Any:
    """NumPy's einsum in the argument order of library calls."""
    if optimize is False:
        plan = plan_of(subscripts, *operands)
        if plan is not None:
            return run_plan(plan, operands, out)
    if out is not None:
        return np.einsum(subscripts, *operands, optimize=optimize, out=out)
    return np.einsum(subscripts, *operands, optimize=optimize)


def run_plan(plan: Plan, operands: Sequence[Array], out: Array | None = None) -> Array:
    """What the plan makes of its operands, in `out` if there is one."""
    if isinstance(plan, Products):
        return _multiply(plan, operands[0], operands[1], out)
    held = [*operands]
    for place, (first, second, step) in enumerate(plan.steps, 1):
        y, x = held.pop(second), held.pop(first)
        held.append(run_einsum(x, y, subscripts=step, optimize=False, out=out if place == len(plan.steps) else None))
    return held[0]


def run_in_order(plan: Plan, subscripts: str, operands: Sequence[Array]) -> Array:
    """The same of operands in C order, in memory that is laid out as NumPy's einsum would."""
    if plan.direct:
        return run_plan(plan, operands)
    model = _model(subscripts, *[_little(x.shape) for x in operands])
    order = plan.axes.order if isinstance(plan, Products) else range(len(plan.lying))
    return run_plan(plan, operands, np.empty_like(model, operands[0].dtype, shape=[plan.lying[at] for at in order]))


def _multiply(found: Products, first: Array, second: Array, out: Array | None) -> Array:
    axes = found.axes
    left, right = _factors(axes, first, second)
    left, right = left.transpose(axes.left).reshape(found.left), right.transpose(axes.right).reshape(found.right)
    if out is not None and axes.is_ordered() and out.flags.c_contiguous:
        _matmul(left, right, out.reshape(*found.left[:-1], found.right[-1]))
        return out
    made = _matmul(left, right)
    if found.direct and out is None:
        return made
    made = made.reshape(found.lying).transpose(axes.order)
    if out is None:
        return made
    out[...] = made
    return out


def _matmul(left: Array, right: Array, out: Array | None = None) -> Array:
    """`left @ right` without a word about its numbers, as NumPy's einsum."""
    with np.errstate(all="ignore"):
        made: Array = np.matmul(left, right, out=out)
    return made


def _little(shape: Shape) -> Shape:
    """A shape that lies as this one does."""
    return tuple([min(extent, 2) for extent in shape])


@functools.lru_cache(maxsize=256)
def _model(subscripts: str, *shapes: Shape) -> Array:
    """A small array whose axes lie as those of what NumPy's einsum makes of operands in C order."""
    made: Array = np.einsum(subscripts, *map(np.zeros, shapes))
    return made


def sum_of(subscripts: str, arrays: Sequence[Any]) -> Sum | None:
    """How an `einsum` of arrays is added up; None where it is no such sum, or a short one.

    Its products are no more than the elements of one operand, and need no memory: they are added as they are made.
    """
    if config.numerics != "fast" or not _are_all(arrays, _SUMMED):
        return None
    return _sum_of(subscripts, *[array.shape for array in arrays])


@functools.lru_cache(maxsize=1024)
def _sum_of(subscripts: str, *shapes: Shape) -> Sum | None:
    found = _fitting_labels(subscripts, shapes)
    if found is None:
        return None
    terms, out = found
    longest = max(terms, key=len)
    if not {*"".join(terms)} <= {*longest} or math.prod(shapes[terms.index(longest)]) < FEW_SUMMED:
        return None
    summed = tuple([axis for axis, label in enumerate(longest) if label not in out])
    if len(terms) == 1 and not summed:
        return None  # a view
    operands = []
    for term in terms:
        kept = [label for label in longest if label in term]
        turned = tuple([term.index(label) for label in kept]) if "".join(kept) != term else None
        placed = tuple([slice(None) if label in term else None for label in longest])
        operands.append((turned, placed if len(kept) != len(longest) else None))
    left = [label for label in longest if label in out]
    return Sum(tuple(operands), summed, tuple([left.index(label) for label in out]) if "".join(left) != out else None)
