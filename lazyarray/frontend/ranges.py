"""Owns ranges: `arange`, `linspace` and their kin as maps of an index, bit for bit what NumPy's loops fill in."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import from_node, ndarray, plain, wrap
from lazyarray.frontend.creation import HUGE, dtype_from, make_now, recorded_size
from lazyarray.frontend.dispatch import fall_back
from lazyarray.frontend.elementwise import overrides
from lazyarray.frontend.foreign import forward, serves
from lazyarray.frontend.own_loops import with_loops
from lazyarray.frontend.rebase import rebase
from lazyarray.frontend.recipes import Recipes
from lazyarray.frontend.record import cast_, iota_, map_
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.node import Node

DType = np.dtype[Any]
ENDS: Final = "the size or the elements of an array follow from it"


def _arange_length(start: Any, stop: Any, step: Any) -> int | None:
    """NumPy's `_calc_length` (numpy/_core/src/multiarray/ctors.c); None where NumPy is to be asked."""
    try:
        if type(start) is int and type(stop) is int and type(step) is int and max(abs(start), abs(stop)) < 1 << 53:
            return max(-((start - stop) // step), 0)
        distance = stop - start
        quotient = float(distance / step)
        if math.isnan(quotient) or math.isinf(quotient):
            return None
        if quotient == 0.0 and distance != 0:
            return None
        return max(math.ceil(quotient), 0)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None


_PYTHON_NUMBERS: Final = frozenset({int, float})
_RANGE_NUMBERS: Final = (int, float, np.integer, np.floating)


def arange(*args: Any, **options: Any) -> Any:
    if not options and 0 < len(args) < 4 and _PYTHON_NUMBERS.issuperset(map(type, args)):
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        try:
            count = (stop - start) / step
        except (ZeroDivisionError, OverflowError):
            count = -1.0
        if 0 <= count < config.eager_below - 1:  # one less than the limit: rounding may add an element
            return plain(np.arange(*args))
    return _ranges.call(args, options)


def _long_arange(*args: Any, **options: Any) -> Any:
    plan = _arange_plan(args, options)
    if plan is None:
        return make_now("arange", args, options)
    start, step, length, dtype = plan
    head = np.empty(2, dtype)
    head[0] = start
    head[1] = start + step
    with np.errstate(all="ignore"):
        if dtype.kind in "iu":
            # NumPy's loop counts in the dtype and wraps; so does this.
            delta = np.subtract(head[1:], head[:1], dtype=dtype)[0]
        else:
            work = np.float32 if dtype.itemsize == 2 else dtype
            delta = np.subtract(head[1:], head[:1], dtype=work)[0]
    return from_node(_ramp(length, head, delta, dtype))


_ranges: Final = Recipes(_long_arange, 0)


def _ramp(length: int, head: Any, delta: Any, dtype: DType) -> Node:
    """start + i * delta as NumPy's `fill` loops compute it (arraytypes.c.src), element 1 as it was set."""
    index = iota_((length,))
    if dtype.kind in "iu":
        if dtype.itemsize == 8 and head[0] == 0 and delta == 1:
            return cast_(index, dtype)
        ramp = cast_(index, dtype)
        if delta != 1:
            ramp = map_("multiply", (ramp, delta))
        return map_("add", (ramp, head[0])) if head[0] != 0 else ramp
    work = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    ramp = cast_(index, work)
    start = work.type(head[0])
    if delta != 1:
        ramp = map_("multiply", (ramp, delta))
    ramp = map_("add", (ramp, start))
    if start == 0 and np.signbit(start):
        ramp = map_("where", (map_("equal", (index, 0)), start, ramp))  # no sum is -0.0
    second = work.type(start + delta)
    if dtype.type(second) != head[1]:
        is_second = map_("equal", (index, 1))
        ramp = map_("where", (is_second, work.type(head[1]), ramp))
    return cast_(ramp, dtype)


def _arange_plan(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any, int, DType] | None:
    names = ("start", "stop", "step", "dtype")
    given = dict(zip(names, args, strict=False))
    if len(args) > 4 or any(name in given for name in options):
        return None
    given.update({name: option for name, option in options.items() if name in names})
    if options.get("device") is not None or not serves(options.get("like")):
        return None
    if "start" in options and "stop" not in given:
        return None  # an error of NumPy's: a start by its name is no stop
    if "start" not in given:
        given["start"] = 0
    start, stop, step = given["start"], given.get("stop"), given.get("step")
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    numbers = (start, stop, step)
    if any(type(n) is bool or not isinstance(n, _RANGE_NUMBERS) for n in numbers):
        return None
    numbers = tuple(to_number(n) for n in numbers)
    start, stop, step = numbers
    if step == 0:
        return None  # NumPy's error, after the warnings of its division
    length = _arange_length(start, stop, step)
    if length is None or length < max(config.eager_below, 3):
        return None
    dtype = given.get("dtype")
    if dtype is None:
        kinds = [type(n)(0) for n in numbers]
        dtype = np.arange(kinds[0], kinds[1], type(step)(1)).dtype
        if any(isinstance(n, int) and abs(n) >= 1 << 62 for n in numbers):
            return None
    found = dtype_from(dtype)
    if found is None or found.kind not in "iuf" or not recorded_size((length,), found):
        return None
    if found.kind in "iu" and any(isinstance(n, int) and not _fits(n, found) for n in (start, start + step)):
        return None
    return start, step, length, found


def to_number(x: Any) -> Any:
    """A NumPy scalar for a lazy one; other numbers as they are."""
    return x._now(ENDS) if type(x) is LazyScalar else x


def _fits(number: int, dtype: DType) -> bool:
    info = np.iinfo(dtype)
    return int(info.min) <= number <= int(info.max)


def _spaced(name: str, exact: bool) -> Callable[..., Any]:
    """`exact`: NumPy's function has compiled kernels' bits, and serves what is small as it is."""
    source = getattr(np, name)
    at_once = source if exact else with_loops(source)

    def create(start: Any, stop: Any, num: Any = 50, *args: Any, **kwargs: Any) -> Any:
        numbers = _SIMPLE.issuperset(map(type, (start, stop, *args, *kwargs.values())))
        if numbers and type(num) is int and num < config.eager_below:
            return _wrap_pair(at_once(start, stop, num, *args, **kwargs))
        start, stop = forward(start), forward(stop)
        if overrides(start) or overrides(stop):
            return fall_back(name, source, (start, stop, num, *args), kwargs)  # a subclass decides what comes out
        try:
            count = operator.index(num)
        except TypeError:
            count = 0
        scalars = np.ndim(start) == 0 and np.ndim(stop) == 0 and type(start) not in (ndarray, LazyScalar)
        small = count < config.eager_below
        if small and scalars and exact and type(stop) not in (ndarray, LazyScalar):
            return _wrap_pair(source(start, stop, num, *args, **kwargs))
        dtype = kwargs.get("dtype", args[2] if len(args) > 2 and name == "linspace" else None)
        if dtype is not None and dtype_from(dtype) is None:
            return fall_back(name, source, (start, stop, num, *args), kwargs)
        return rebase(source)(start, stop, num, *args, **kwargs)

    return create


_SIMPLE: Final = frozenset({int, float, bool, np.float64, type(None)})


def _wrap_pair(result: Any) -> Any:
    if isinstance(result, tuple):
        return (wrap(result[0]), *result[1:])
    return wrap(result)


_linspace_any: Final = _spaced("linspace", True)
_REAL: Final = frozenset({int, float, np.float64})


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    """NumPy's sequence of operations (numpy/_core/function_base.py); between two numbers one chain of maps."""
    if type(num) is int and num >= max(config.eager_below, 2) and device is None:
        return _spaces.call((start, stop, num, endpoint, retstep, dtype, axis), {})
    return _linspace_any(start, stop, num, endpoint, retstep, dtype, axis, device=device)


def _long_linspace(start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: Any) -> Any:
    found = np.dtype(float) if dtype is None else dtype_from(dtype)
    if (
        type(start) not in _REAL
        or type(stop) not in _REAL
        or found is None
        or found.kind not in "fiu"
        or axis not in (0, -1)
        or num * 16 >= HUGE
    ):
        return _linspace_any(start, stop, num, endpoint, retstep, dtype, axis)
    div = num - 1 if endpoint else num
    first = np.float64(start)
    with np.errstate(all="ignore"):
        delta = np.float64(stop) - first
        step = delta / div
    index = iota_((num,))
    ramp = cast_(index, np.dtype(float))
    if step == 0:
        ramp = map_("multiply", (map_("divide", (ramp, float(div))), delta))
    else:
        ramp = map_("multiply", (ramp, step))
    ramp = map_("add", (ramp, first))
    if endpoint:
        ramp = map_("where", (map_("equal", (index, num - 1)), np.float64(stop), ramp))
    if found.kind in "iu":
        ramp = map_("floor", (ramp,))
    result = from_node(cast_(ramp, found))
    return (result, step) if retstep else result


_spaces: Final = Recipes(_long_linspace, 0)
logspace = _spaced("logspace", False)
geomspace = _spaced("geomspace", False)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "arange": arange,
    "linspace": linspace,
    "logspace": logspace,
    "geomspace": geomspace,
}
