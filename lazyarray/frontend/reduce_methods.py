"""Owns the ufunc methods `reduce`, `accumulate` and `outer`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from lazyarray.config import config
from lazyarray.frontend.array import (
    BUILTIN,
    as_array,
    from_node,
    map_of,
    ndarray,
    settle,
    value,
    view_of,
    wrap,
)
from lazyarray.frontend.elementwise import call_numpy, export, overrides, written_through
from lazyarray.frontend.record import COMPILED, cast_, reduce_, reshape_, scan_
from lazyarray.frontend.scalar import scalar_from_node
from lazyarray.frontend.writing import (
    as_operand,
    assign,
)
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node

REDUCED: Final = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "fmax": "fmax",
    "fmin": "fmin",
    "logical_and": "all",
    "logical_or": "any",
    "bitwise_and": "band",
    "bitwise_or": "bor",
    "bitwise_xor": "bxor",
}
SCANNED: Final = {"add": "sum", "multiply": "prod"}
# Reductions of a few dtypes have no loop of their own in the compiled table.
_ORDERED_ONLY: Final = frozenset({"max", "min", "fmax", "fmin"})


def _is_memory(array: ndarray) -> bool:
    """True for what NumPy does at once: small memory, and dtypes that are not compiled."""
    data = settle(array)
    return data is not None and (data.size < config.eager_below or data.dtype not in COMPILED)


def reduce(function: Any, array: Any, axis: Any, dtype: Any, out: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    """`ufunc.reduce`."""
    name = REDUCED.get(function.__name__)
    options = {"axis": axis, "dtype": dtype, "out": out, "keepdims": keepdims, "where": where}
    if initial is not np._NoValue:
        options["initial"] = initial
    if overrides(array):
        return wrap(function._np.reduce(array, **export(options)))
    own = as_array(array)
    wanted = None if dtype is None else np.dtype(dtype)
    if _is_memory(own):
        result = function._np.reduce(*export((own,)), **export(options))
        return written_through(wrap(result), options)
    spec_dtype = own.dtype
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    if target is not None and wanted is None and type(target) is ndarray and target.dtype in COMPILED:
        wanted = function._np.resolve_dtypes((target.dtype, spec_dtype, None), reduction=True, casting="unsafe")[0]
        if wanted != target.dtype:
            name = None  # NumPy converts partial results between its buffers and the output
    if (
        name is None
        or initial is None
        or (target is not None and (type(target) is not ndarray or target.dtype not in COMPILED))
        or (wanted is not None and wanted not in COMPILED)
        or (name in ("any", "all") and wanted not in (None, np.dtype(bool)))
        or (name[0] == "b" and spec_dtype.kind not in "biu")
        or (where is not True and initial is np._NoValue and name in _ORDERED_ONLY)
        or (name in _ORDERED_ONLY and spec_dtype.kind == "c")
    ):
        return call_numpy(f"{function.__name__}.reduce", function._np.reduce, (own,), options)
    shape = own.shape
    axes = tuple(range(len(shape))) if axis is None else normalize_axis_tuple(axis, len(shape))
    mask = None
    if where is not True:
        mask = as_operand(where)
        if type(mask) is not Node:
            mask = value(as_array(np.asarray(mask, bool)))
    start = None if initial is np._NoValue else as_operand(initial)
    node = reduce_(name, value(own), axes, mask, start, wanted)
    return finish(node, shape, axes, keepdims, out)


def finish(node: Node, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool, out: Any) -> Any:
    """A reduction's node as NumPy hands it out."""
    if keepdims:
        node = reshape_(node, tuple([1 if axis in axes else extent for axis, extent in enumerate(shape)]))
    if out is None:
        return from_node(node) if node.key.spec.shape else scalar_from_node(node)
    if type(out) is tuple:
        (out,) = out
    if out.shape != node.key.spec.shape:
        raise ValueError(
            f"output parameter for reduction operation has the wrong number of dimensions: Found {len(out.shape)} "
            f"but expected {len(node.key.spec.shape)}"
            if len(out.shape) != len(node.key.spec.shape)
            else "output parameter for reduction operation has the wrong shape"
        )
    if not np.can_cast(node.key.spec.dtype, out.dtype, "same_kind"):
        np.add.reduce(np.empty(1, node.key.spec.dtype), out=np.empty((), out.dtype))
    assign(out, from_node(cast_(node, out.dtype)))
    return out


def accumulate(function: Any, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """`ufunc.accumulate`."""
    options = {"axis": axis, "dtype": dtype, "out": out}
    if overrides(array):
        return wrap(function._np.accumulate(array, **export(options)))
    own = as_array(array)
    name = SCANNED.get(function.__name__)
    wanted = None if dtype is None else np.dtype(dtype)
    small = _is_memory(own)
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    foreign = target is not None and (type(target) is not ndarray or target.dtype not in COMPILED)
    if small or name is None or not own.shape or foreign or (wanted is not None and wanted not in COMPILED):
        run = function.numpy_method("accumulate", (own.dtype, wanted, getattr(target, "dtype", None)))
        if not small:
            return call_numpy(f"{function.__name__}.accumulate", run, (own,), options)
        result = run(*export((own,)), **export(options))
        return written_through(wrap(result), options)
    if type(out) is tuple:
        (out,) = out
    if wanted is None and out is not None:
        wanted = out.dtype
    node = scan_(name, value(own), normalize_axis_index(axis, len(own.shape)), wanted)
    if out is None:
        return from_node(node)
    assign(out, from_node(cast_(node, out.dtype)), casting="same_kind")
    return out


def outer(function: Any, a: Any, b: Any, options: dict[str, Any]) -> Any:
    """`ufunc.outer`: the call on views that broadcast."""
    if any(type(item) not in BUILTIN and overrides(item) for item in (a, b)):
        return wrap(function._np.outer(*export((a, b)), **export(options)))
    if function.signature is not None:
        return function._np.outer(*export((a, b)), **export(options))  # NumPy's error
    left, right = as_array(a), as_array(b)
    own = map_of(left)
    count = len(right.shape)
    wide = view_of(left, IndexMap(own.offset, own.shape + (1,) * count, own.strides + (0,) * count))
    return function(wide, right, **options)
