"""Owns the ufunc methods `reduce`, `accumulate` and `outer`."""

from __future__ import annotations

import contextlib
import operator
from itertools import takewhile
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend import at_once, reductions
from lazyarray.frontend.array import (
    BUILTIN,
    as_array,
    map_of,
    ndarray,
    plain,
    settle,
    view_of,
    wrap,
)
from lazyarray.frontend.dispatch import REFUSALS, Foreign, Uncompiled
from lazyarray.frontend.elementwise import call_numpy, export, overrides, written_through
from lazyarray.frontend.foreign import Forwarder, forward
from lazyarray.frontend.overrides import ask_ufunc
from lazyarray.frontend.recipes import Recipes
from lazyarray.frontend.record import COMPILED
from lazyarray.frontend.ufunc import FIRST, MISSING
from lazyarray.frontend.writing import (
    assign,
)
from lazyarray.ir.index_map import MOST_AXES, IndexMap

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
_TRUTH: Final = {"logical_and": "all", "logical_or": "any"}
SCANNED: Final = {
    "add": reductions.cumsum,
    "multiply": reductions.cumprod,
    "maximum": reductions.running_max,
    "minimum": reductions.running_min,
}
_LEFT: Final = (Uncompiled, *REFUSALS)  # to NumPy
# Reductions of a few dtypes have no loop of their own in the compiled table.
_ORDERED_ONLY: Final = frozenset({"max", "min", "fmax", "fmin"})


def by_position(
    function: Any, method: str, given: tuple[Any, ...], more: Any, named: dict[str, Any], unknown: dict[str, Any]
) -> dict[str, Any]:
    """The keywords `named`, those given by position (`more`) among them; NumPy's error where the call has one."""
    missing = given[1 if method == "reduceat" else 0] is MISSING
    rest = dict(zip(named, more, strict=False))
    out = rest.get("out")
    only_named = out is ... or type(out) is tuple
    if missing or unknown or len(more) > len(named) or only_named or said({n: named[n] for n in rest}):
        args = tuple(takewhile(lambda item: item is not MISSING, (*given, *more)))
        run = getattr(function._np, method)
        run(*export(args), **export({**said(named), **unknown}))
        raise TypeError(f"{method}() got arguments that it does not take")
    return {**named, **rest}


def said(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords that differ from their defaults: overrides are handed no others."""
    return {name: item for name, item in options.items() if item is not _DEFAULTS.get(name, np._NoValue)}


_DEFAULTS: Final = {"axis": FIRST, "dtype": None, "out": None, "keepdims": False, "where": True}


_reducing: Final[dict[Any, Recipes]] = {}
_accumulating: Final[dict[Any, Recipes]] = {}


def reduce_along(function: Any, array: ndarray, axis: int | None) -> Any:
    """`ufunc.reduce` where nothing but an axis is said."""
    known = _reducing.get(function)
    if known is None:

        def whole(array: Any, axis: Any) -> Any:
            return reduce(function, array, axis, None, None, False, np._NoValue, True)

        known = _reducing[function] = Recipes(whole, lent=True)
    # Whether all are true may be told by the first few.
    if function.__name__ in _TRUTH:
        return known.function(array, axis)
    return known.call((array, axis), {})


def accumulate_along(function: Any, array: ndarray, axis: int) -> Any:
    """`ufunc.accumulate` where nothing but an axis is said."""
    known = _accumulating.get(function)
    if known is None:

        def whole(array: Any, axis: Any) -> Any:
            return accumulate(function, array, axis, None, None)

        known = _accumulating[function] = Recipes(whole, lent=True)
    return known.call((array, axis), {})


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
    if overrides(array) or overrides(out) or overrides(where):
        return ask_ufunc(function, "reduce", (array,), said(options))
    if axis is FIRST:
        axis = options["axis"] = 0
    truth = _TRUTH.get(function.__name__)
    if (
        truth is not None
        and type(axis) is int
        and axis == 0
        and not said({**options, "axis": FIRST})
        and type(array) is ndarray
        and array.ndim == 1
    ):
        known = at_once.decided(truth, array)
        if known is not None:
            return known
    given = forward(array)
    if type(given) is Forwarder and hasattr(given, "__array_wrap__"):
        return written_through(wrap(function._np.reduce(given, **export(options))), options)
    own = as_array(array)
    wanted = None if dtype is None else np.dtype(dtype)
    if _is_memory(own):
        result = function._np.reduce(*export((own,)), **export(options))
        return written_through(wrap(result), options)
    spec_dtype = own.dtype
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    if (
        name is None
        or (out is not None and target is None)
        or (name[0] == "b" and (wanted or spec_dtype).kind not in "biu")
        or (name in _ORDERED_ONLY and (wanted or spec_dtype).kind == "c")
    ):
        return call_numpy(f"{function.__name__}.reduce", function._np.reduce, (own,), options)
    try:
        return reductions.reduce(name, own, axis, dtype, target, keepdims, initial, where)
    except Foreign:
        return written_through(wrap(function._np.reduce(*export((own,)), **export(options))), options)
    except _LEFT:
        return call_numpy(f"{function.__name__}.reduce", function._np.reduce, (own,), options)


def accumulate(function: Any, array: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """`ufunc.accumulate`."""
    options = {"axis": axis, "dtype": dtype, "out": out}
    if overrides(array) or overrides(out):
        return ask_ufunc(function, "accumulate", (array,), said(options))
    if axis is FIRST:
        axis = options["axis"] = 0
    own = as_array(array)
    scan = SCANNED.get(function.__name__)
    wanted = None if dtype is None else np.dtype(dtype)
    small = _is_memory(own)
    target = out[0] if type(out) is tuple and len(out) == 1 else out
    # Of another dtype than the operand's, NumPy converts between partial results.
    foreign = out is not None and (type(target) is not ndarray or target.dtype != (wanted or own.dtype))
    if small or scan is None or not own.shape or foreign or (wanted is not None and wanted not in COMPILED):
        run = function.numpy_method("accumulate", (own.dtype, wanted, getattr(target, "dtype", None)))
        if not small:
            return call_numpy(f"{function.__name__}.accumulate", run, (own,), options)
        result = run(*export((own,)), **export(options))
        return written_through(wrap(result), options)
    made = None
    with contextlib.suppress(*_LEFT):
        made = _into(target, scan(own, operator.index(axis), wanted))
    if made is None:
        return call_numpy(f"{function.__name__}.accumulate", function._np.accumulate, (own,), options)
    return made


def _into(target: Any, found: ndarray) -> ndarray:
    """The output with these values; they themselves where there is none."""
    if target is None:
        return found
    if target.shape != found.shape or target.dtype != found.dtype:
        raise Uncompiled
    assign(target, found)
    made: ndarray = target
    return made


def outer(function: Any, a: Any, b: Any, options: dict[str, Any]) -> Any:
    """`ufunc.outer`: the call on views that broadcast."""
    if any(type(item) not in BUILTIN and overrides(item) for item in (a, b, options.get("out"))):
        return ask_ufunc(function, "outer", (a, b), options)
    if function.signature is not None:
        return function._np.outer(*export((a, b)), **export(options))  # NumPy's error
    left, right = as_array(a), as_array(b)
    if left.dtype not in COMPILED or right.dtype not in COMPILED:
        return call_numpy(f"{function.__name__}.outer", function._np.outer, (left, right), options)
    count = len(right.shape)
    if len(left.shape) + count > MOST_AXES:
        return function._np.outer(*export((left, right)), **export(options))  # NumPy's error
    data = left._np
    if data is not None:
        return function(plain(data.reshape(data.shape + (1,) * count)), right, **options)
    own = map_of(left)
    wide = view_of(left, IndexMap(own.offset, own.shape + (1,) * count, own.strides + (0,) * count))
    return function(wide, right, **options)
