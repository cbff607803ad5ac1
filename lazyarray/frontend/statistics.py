"""Owns means and variances: NumPy's sequence of operations (numpy/_core/_methods.py), recorded."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import as_array, from_node, ndarray, scalar_from_node, to_numpy, value
from lazyarray.frontend.dispatch import Uncompiled, is_compiled
from lazyarray.frontend.rebase import user_level
from lazyarray.frontend.record import broadcast_, cast_, map_, reduce_, reshape_
from lazyarray.frontend.reductions import NO_VALUE, accept_out, axes_of, deliver, kept_shape, mask_of, operand
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.node import Node, Shape

DType = np.dtype[Any]
F2: Final = np.dtype(np.float16)
F4: Final = np.dtype(np.float32)
F8: Final = np.dtype(np.float64)
INTP: Final = np.dtype(np.intp)


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=user_level())


def _counts(shape: Shape, axes: tuple[int, ...], mask: Node | None) -> Any:
    """How many elements go into each result: a NumPy integer, or a node of them under a mask."""
    if mask is None:
        count = 1
        for axis in axes:
            count *= shape[axis]
        return np.intp(count)
    return reduce_("sum", cast_(broadcast_(mask, shape), INTP), axes)


def _is_any(condition: Node) -> bool:
    return bool(scalar_from_node(reduce_("any", condition, tuple(range(condition.spec.ndim)))))


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
    """total / count in float64 or complex128, rounded to the total's dtype: NumPy divides by an intp, out=total."""
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
    mask = mask_of(where, shape)
    count = _counts(shape, axes, mask)
    if (count == 0) if mask is None else _is_any(map_("equal", (count, 0))):
        _warn("Mean of empty slice")
    total = reduce_("sum", value(x), axes, mask, None, accumulator)
    result = _divided(total, count)
    if x.dtype == F2 and dtype is None and out is None:
        result = cast_(result, F2)
    return deliver(result, out, shape, axes, keepdims)


def _variance(
    x: ndarray, axes: tuple[int, ...], dtype: Any, ddof: Any, where: Any, mean: Any, out: Any
) -> Node:
    shape = x.shape
    accumulator = _accumulator(x.dtype, dtype, F2)
    if out is not None and out.dtype != (accumulator if accumulator.kind == "f" else None):
        raise Uncompiled
    if dtype is not None and accumulator != x.dtype:
        raise Uncompiled
    mask = mask_of(where, shape)
    count = _counts(shape, axes, mask)
    if (ddof >= count) if mask is None else _is_any(map_("less_equal", (count, ddof))):
        _warn("Degrees of freedom <= 0 for slice")
    node = value(x)
    if mean is None:
        total = reduce_("sum", node, axes, mask, None, accumulator)
        average = reshape_(_divided(total, count), kept_shape(shape, axes))
    else:
        average = value(as_array(mean))
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
    total = reduce_("sum", squares, axes, mask)
    if mask is None:
        degrees: Any = max(count - ddof, 0)
        degrees = np.intp(degrees) if isinstance(degrees, int | np.integer) else np.float64(degrees)
    else:
        degrees = map_("maximum", (map_("subtract", (count, ddof)), 0))
    return cast_(map_("divide", (total, degrees)), total.dtype)


def _spread(root: bool) -> Callable[..., Any]:
    def call(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
        where: Any = True, mean: Any = NO_VALUE, correction: Any = NO_VALUE,
    ) -> Any:  # fmt: skip
        x = operand(a)
        if correction is not NO_VALUE:
            if ddof != 0:
                raise ValueError("ddof and correction can't be provided simultaneously.")
            ddof = correction
        if type(ddof) not in (int, float, np.int64, np.float64):
            raise Uncompiled
        axes = axes_of(axis, x.ndim, lenient=False)
        accept_out(out, x.shape, axes, keepdims)
        node = _variance(x, axes, dtype, ddof, where, None if mean is NO_VALUE else mean, out)
        if root:
            node = map_("sqrt", (node,))
        return deliver(node, out, x.shape, axes, keepdims)

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
    node = value(x)
    mask = map_("isnan", (node,))
    return from_node(map_("where", (mask, x.dtype.type(val), node))), from_node(mask)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {"mean": mean, "var": var, "std": std}
METHODS: Final = FUNCTIONS
