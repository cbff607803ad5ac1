"""Owns means and variances: NumPy's sequence of operations (numpy/_core/_methods.py), recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import (
    as_array,
    copied_order,
    from_node,
    from_node_as,
    ndarray,
    read_only,
    scalar_from_node,
    value,
)
from lazyarray.frontend.dispatch import Uncompiled
from lazyarray.frontend.layout import value_in_order
from lazyarray.frontend.rebase import Warnings
from lazyarray.frontend.record import broadcast_, cast_, is_compiled, map_, reshape_
from lazyarray.frontend.reductions import (
    NO_VALUE,
    Problem,
    accept_out,
    arrange,
    arrange_in_c_order,
    axes_of,
    deliver,
    finish,
    kept_shape,
    mask_of,
    operand,
    reduce,
    reduction,
)
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.index_map import size_of
from lazyarray.ir.node import Node, Shape

DType = np.dtype[Any]
F2: Final = np.dtype(np.float16)
F4: Final = np.dtype(np.float32)
F8: Final = np.dtype(np.float64)
INTP: Final = np.dtype(np.intp)
_FEW: Final = 1 << 12  # elements that are looked at in memory sooner than by a kernel of their own


def _warn(message: str) -> None:
    Warnings.warn(message, RuntimeWarning)


def _counts(shape: Shape, axes: tuple[int, ...], mask: Node | None) -> Any:
    """How many elements go into each result: a NumPy integer, or a node of them under a mask."""
    if mask is None:
        count = 1
        for axis in axes:
            count *= shape[axis]
        return np.intp(count)
    return reduction("sum", cast_(broadcast_(mask, shape), INTP), axes)


def is_any(condition: str, x: Node, *numbers: int) -> bool:
    """Whether the condition holds of any element: an evaluation."""
    if size_of(x.shape) <= _FEW:
        found = getattr(np, condition)(read_only(from_node(x)), *numbers)
        return bool(found.any() if x.shape else found)
    held = map_(condition, (x, *numbers))
    return bool(scalar_from_node(reduction("any", held, tuple(range(held.spec.ndim)))))


def _accumulator(dtype: DType, wanted: Any, half: DType) -> DType:
    if wanted is not None:
        found: DType = np.dtype(wanted)
        if not is_compiled(found) or found.kind not in "fc" or (found.kind == "f" and dtype.kind == "c"):
            raise Uncompiled
        return found
    if dtype.kind in "biu":
        return F8
    return half if dtype == F2 else dtype


def _divided(total: Node, count: Any) -> Node:
    """total / count in float64 or complex128, rounded to the total's dtype: NumPy divides by an intp."""
    return cast_(map_("divide", (total, count)), total.dtype)


def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    x = operand(a)
    shape = x.shape
    axes = axes_of(axis, len(shape), lenient=False)
    accept_out(out, shape, axes, keepdims)
    accumulator = _accumulator(x.dtype, dtype, F4)
    if out is not None and out.dtype != accumulator:
        raise Uncompiled
    problem = arrange(x, axes)
    mask = problem.masked(mask_of(where, shape))
    count = _counts(problem.node.shape, problem.axes, mask)
    if (count == 0) if mask is None else is_any("equal", count, 0):
        _warn("Mean of empty slice")
    total = reduction("sum", problem.node, problem.axes, mask, None, accumulator)
    result = _divided(total, count)
    if x.dtype == F2 and dtype is None and out is None:
        result = cast_(result, F2)
    return deliver(result, out, problem, keepdims)


def _problem(x: ndarray, axes: tuple[int, ...], mean: Any) -> Problem:
    """The reduction in memory order; where a mean is given too, in the order that both are indexed in."""
    return arrange(x, axes) if mean is NO_VALUE else arrange_in_c_order(x, axes)


def _given_mean(mean: Any, dtype: DType) -> Node:
    """The node of a `mean=` of the dtype that the mean of the data would have."""
    average = as_array(mean)
    if average.dtype != dtype:
        raise Uncompiled
    return value(average)


def _variance(x: ndarray, problem: Problem, dtype: Any, ddof: Any, where: Any, mean: Any, out: Any) -> Node:
    node, axes, shape = problem.node, problem.axes, problem.node.shape
    accumulator = _accumulator(x.dtype, dtype, F2)
    if out is not None and out.dtype != (accumulator if accumulator.kind == "f" else None):
        raise Uncompiled
    if dtype is not None and accumulator != x.dtype:
        raise Uncompiled
    mask = problem.masked(mask_of(where, problem.shape))
    count = _counts(shape, axes, mask)
    if mean is NO_VALUE:
        total = reduction("sum", node, axes, mask, None, accumulator)
        average = reshape_(_divided(total, count), kept_shape(shape, axes))
    else:
        average = _given_mean(mean, accumulator)
    if (ddof >= count) if mask is None else is_any("less_equal", count, ddof):
        _warn("Degrees of freedom <= 0 for slice")
    deviation = map_("subtract", (node, average))
    if deviation.shape != shape:
        raise Uncompiled
    if deviation.dtype.kind == "c":
        real, imaginary = map_("real", (deviation,)), map_("imag", (deviation,))
        squares = map_("add", (map_("square", (real,)), map_("square", (imaginary,))))
    elif x.dtype.kind in "fiu":
        squares = map_("square", (deviation,))
    else:  # bool: NumPy takes the product with the conjugate
        squares = map_("multiply", (deviation, deviation))
    total = reduction("sum", squares, axes, mask)
    if mask is None:
        degrees: Any = max(count - ddof, 0)
        degrees = np.intp(degrees) if isinstance(degrees, int | np.integer) else np.float64(degrees)
    else:
        degrees = map_("maximum", (map_("subtract", (count, ddof)), 0))
    return cast_(map_("divide", (total, degrees)), total.dtype)


def corrected(ddof: Any, correction: Any) -> Any:
    """`correction` is the array API's name for `ddof`; only one may be given."""
    if correction is NO_VALUE:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _spread(root: bool) -> Callable[..., Any]:
    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = False,
        *,
        where: Any = True,
        mean: Any = NO_VALUE,
        correction: Any = NO_VALUE,
    ) -> Any:
        x = operand(a)
        ddof = corrected(ddof, correction)
        if type(ddof) not in (int, float, np.int64, np.float64):
            raise Uncompiled
        axes = axes_of(axis, x.ndim, lenient=False)
        accept_out(out, x.shape, axes, keepdims)
        problem = _problem(x, axes, mean)
        node = _variance(x, problem, dtype, ddof, where, mean, out)
        return deliver(map_("sqrt", (node,)) if root else node, out, problem, keepdims)

    return call


var = _spread(False)
std = _spread(True)


# ---- what rebased functions of NumPy's use in the place of private helpers


def divide_by_count(a: Any, b: Any, out: Any = None) -> Any:
    """`_divide_by_count` (numpy/lib/_nanfunctions_impl.py) that leaves lazy scalars lazy."""
    if out is None and type(a) is LazyScalar:
        total = value(as_array(a))
        return scalar_from_node(cast_(map_("divide", (total, value(as_array(b)))), total.dtype))
    if out is None and type(a) is ndarray and a._np is None:
        total = value(a)
        return from_node(cast_(map_("divide", (total, value(as_array(b)))), total.dtype))
    with np.errstate(invalid="ignore", divide="ignore"):
        if isinstance(a, ndarray) or out is not None:
            from lazyarray.frontend.ufunc import UFUNCS

            return UFUNCS["divide"](a, b, out=a if out is None else out, casting="unsafe")
        return a.dtype.type(a / b)


def replace_nan(a: Any, val: Any) -> tuple[Any, Any]:
    """`_replace_nan`: a copy with NaN replaced, and the mask of them (None for dtypes without NaN)."""
    x = operand(a)
    if x.dtype.kind not in "fc":
        return x, None
    perm = copied_order(x)
    node = value(x) if perm is None else value_in_order(x, perm)
    mask = map_("isnan", (node,))
    filled = map_("where", (mask, x.dtype.type(val), node))
    if perm is None:
        return from_node(filled), from_node(mask)
    return from_node_as(filled, perm), from_node_as(mask, perm)


# ---- the versions that skip NaN


def _nan_extremum(name: str) -> Callable[..., Any]:
    def call(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = NO_VALUE,
        initial: Any = NO_VALUE,
        where: Any = NO_VALUE,
    ) -> Any:
        if isinstance(a, LazyScalar):
            raise Uncompiled  # NumPy goes another way for what is no array, with another warning
        if operand(a).dtype.kind == "c":
            raise Uncompiled  # of NaNs alone NumPy gives the first, part by part; kernels start from one of their own
        result = reduce(name, a, axis, None, out, keepdims, initial, where)
        if is_any("isnan", value(as_array(result))):
            _warn("All-NaN slice encountered")
        return result

    return call


def nanvar_node(x: ndarray, problem: Problem, dtype: Any, ddof: Any, where: Any, mean: Any) -> Node:
    """`nanvar` (numpy/lib/_nanfunctions_impl.py) of an inexact array, its reduced axes gone."""
    node, axes, shape = problem.node, problem.axes, problem.node.shape
    accumulator = None if dtype is None else _accumulator(x.dtype, dtype, F2)
    chosen = problem.masked(mask_of(where, problem.shape))
    missing = map_("isnan", (node,))
    zero = x.dtype.type(0)
    filled = map_("where", (missing, zero, node))
    count = reduction("sum", cast_(map_("logical_not", (missing,)), INTP), axes, chosen)
    if mean is NO_VALUE:
        average = _divided(reduction("sum", filled, axes, chosen, None, accumulator), count)
        average = reshape_(average, kept_shape(shape, axes))
    else:
        average = _given_mean(mean, x.dtype)
    deviation = cast_(map_("subtract", (filled, average)), x.dtype)
    if deviation.shape != shape:
        raise Uncompiled
    deviation = map_("where", (missing, zero, deviation))
    if x.dtype.kind == "c":
        squares = map_("real", (map_("multiply", (deviation, map_("conjugate", (deviation,)))),))
    else:
        squares = map_("multiply", (deviation, deviation))
    result = reduction("sum", squares, axes, chosen, None, accumulator)
    degrees = map_("subtract", (count, ddof))
    result = _divided(result, degrees)
    if is_any("less_equal", degrees, 0):
        _warn("Degrees of freedom <= 0 for slice.")
        result = map_("where", (map_("less_equal", (degrees, 0)), result.dtype.type(np.nan), result))
    return result


def _nan_spread(root: bool) -> Callable[..., Any]:
    plain = _spread(root)

    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: Any = 0,
        keepdims: Any = NO_VALUE,
        *,
        where: Any = NO_VALUE,
        mean: Any = NO_VALUE,
        correction: Any = NO_VALUE,
    ) -> Any:
        x = operand(a)
        if x.dtype.kind not in "fc":
            return plain(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
        ddof = corrected(ddof, correction)
        if type(ddof) not in (int, float) or out is not None:
            raise Uncompiled
        accept_out(out, x.shape, (), keepdims)
        problem = _problem(x, axes_of(axis, x.ndim), mean)
        node = nanvar_node(x, problem, dtype, ddof, where, mean)
        return finish(map_("sqrt", (node,)) if root else node, problem, keepdims)

    return call


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "mean": mean,
    "var": var,
    "std": std,
    "nanmin": _nan_extremum("fmin"),
    "nanmax": _nan_extremum("fmax"),
    "nanvar": _nan_spread(False),
    "nanstd": _nan_spread(True),
}
METHODS: Final[dict[str, Callable[..., Any]]] = {"mean": mean, "var": var, "std": std}
