"""Owns elementwise calls: what runs at once, what is recorded, and when an operator is left to the other operand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.callers import is_operator
from lazyarray.frontend.foreign import Forwarder, forward
from lazyarray.frontend.record import COMPILED, MEMO_LIMIT, NUMBER_DTYPES, NUMBERS, WEAK, broadcast_shape, map_, reduce_
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.frontend.subclass import Views
from lazyarray.frontend.usual import broadcast_cost
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Node
from lazyarray.ir.ops import OPS
from lazyarray.runtime import backend
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.floating import LAST, error_state, join, must_run_now
from lazyarray.runtime.ledger import ledger

_nparray: Final = np.ndarray
_BOOL: Final = np.dtype(bool)


# ---- exporting arguments, wrapping results


def export(item: Any) -> Any:
    """Arguments for NumPy: arrays, also inside lists, tuples and dicts, as memory that aliases them."""
    kind = type(item)
    if kind is ndarray:
        return to_numpy(item)
    if kind is LazyScalar:
        return item._now()
    if kind is tuple:
        return tuple([export(part) for part in item])
    if kind is list:
        return [export(part) for part in item]
    if kind is dict:
        return {name: export(part) for name, part in item.items()}
    if kind is ufuncs.ufunc:
        return item._np
    if item is ndarray:
        return _nparray
    if isinstance(item, tuple) and hasattr(item, "_make"):
        return item._make(export(part) for part in item)
    return item


def written_through(result: Any, options: dict[str, Any]) -> Any:
    """The caller's own `out` where NumPy returned the memory exported from it."""
    out = options.get("out")
    if out is None or (type(result) is not ndarray and type(result) is not _nparray):
        return result
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    return out if type(out) is ndarray or type(out) is _nparray else result


def call_numpy(name: str, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """A fallback: NumPy's function on evaluated arguments, its result wrapped, counted."""
    run = ledger.fallback(name, args)
    result = function(*export(args), **export(options))
    ledger.ended(run)
    return written_through(wrap(result), options)


def overrides(arg: Any) -> bool:
    """True for what NumPy's own dispatch must see: subclasses of its arrays, and third parties' overrides."""
    kind = type(arg)
    if kind in BUILTIN:
        return False
    if isinstance(arg, _nparray):
        return True
    if isinstance(arg, np.generic):
        return False
    return hasattr(kind, "__array_ufunc__")


# ---- operators


def defers(self: Any, other: Any) -> bool:
    """NumPy's rule for when an array's operator leaves the work to the other operand's (`BINOP_IS_FORWARD`)."""
    kind = type(other)
    if kind in BUILTIN or kind is ufuncs.ufunc:
        return False
    missing = object()
    override = getattr(kind, "__array_ufunc__", missing)
    if isinstance(other, _nparray):
        return True  # a subclass: its own operators know what to do with arrays
    if override is not missing:
        return override is None
    if isinstance(other, np.generic):
        return False
    priority = getattr(kind, "__array_priority__", None)
    return priority is not None and priority > 0.0


# An operator's methods by the ufunc that arrays have for it: the left operand's, and the right one's that answers it.
_METHODS: Final = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "floor_divide": ("__floordiv__", "__rfloordiv__"),
    "remainder": ("__mod__", "__rmod__"),
    "divmod": ("__divmod__", "__rdivmod__"),
    "power": ("__pow__", "__rpow__"),
    "left_shift": ("__lshift__", "__rlshift__"),
    "right_shift": ("__rshift__", "__rrshift__"),
    "bitwise_and": ("__and__", "__rand__"),
    "bitwise_or": ("__or__", "__ror__"),
    "bitwise_xor": ("__xor__", "__rxor__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
    "less": ("__lt__", "__gt__"),
    "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"),
    "greater_equal": ("__ge__", "__le__"),
}


def leave_to(other: Any, name: str, self: Any, reflected: bool = False) -> Any:
    """What the other operand makes of an array's operator that it is left to; NotImplemented where it makes nothing.

    One that does not know arrays of ours (SciPy's sparse ones) is asked again with NumPy's, which shares the memory;
    a subclass of NumPy's that another module has made at once.
    `reflected`: it is the left operand, and has been asked with the array. A method called by its name leaves the
    asking to Python, as NumPy's do.
    """
    if not is_operator():
        return NotImplemented
    answer = getattr(type(other), _METHODS[name][not reflected], None)
    if answer is None:
        return NotImplemented
    knows = not isinstance(other, _nparray) or isinstance(other, Views)
    result = answer(other, self) if knows and not reflected else NotImplemented
    if result is NotImplemented:
        result = answer(other, to_numpy(self))
    return wrap(result) if type(result) is _nparray else result


_EAGER: dict[str, dict[str, Any]] = {}


def eager(name: str) -> Any:
    """The backend's ufunc for small arrays where NumPy's bits are not those of compiled kernels; else None.

    None also where NumPy's error state is to be obeyed at once: recorded operations run in NumPy then, too.
    """
    if config.numerics != "fast":
        return None
    state = error_state()
    if state is not LAST.waits and must_run_now(state):
        return None
    try:
        return _EAGER[config.backend][name]
    except KeyError:
        known = _EAGER.setdefault(config.backend, {})
        found = backend.current().eager_ufunc(name)
        known[name] = found if found is None or name != "power" else _unless_integers(found, np.power)
        return known[name]


def _unless_integers(inexact: np.ufunc, plain_ufunc: np.ufunc) -> Any:
    """A ufunc that has loops of its own for integers, which are NumPy's."""

    def run(x1: Any, x2: Any, /, *args: Any, **options: Any) -> Any:
        if type(x1) is _nparray and type(x2) is _nparray:
            floats = x1.dtype.kind in "fc" or x2.dtype.kind in "fc"
            return (inexact if floats else plain_ufunc)(x1, x2, *args, **options)
        if type(x1) in WEAK and type(x2) is _nparray and x2.dtype.kind in "fc":
            return inexact(x1, x2, *args, **options)
        # Python's numbers are weak; of anything else without a dtype `result_type` would make one ("f8", a list).
        given = [x if hasattr(x, "dtype") or type(x) in WEAK else np.asarray(x) for x in (x1, x2)]
        chosen = inexact if np.result_type(*given).kind in "fc" else plain_ufunc
        return chosen(x1, x2, *args, **options)

    run.inexact = inexact  # type: ignore[attr-defined]  # for operands that are known to be none
    return run


def binary(name: str, python: Callable[[Any, Any], Any], x: Any, y: Any, reflected: bool) -> Any:
    """A binary operator over anything: eager, recorded, or left to the other operand."""
    own, other = (y, x) if reflected else (x, y)
    kind = type(other)
    if (kind is str or kind is bytes) and type(own) is ndarray and own._np is not None:
        return wrap(python(memory_of(x), memory_of(y)))  # of arrays of text
    if kind is not ndarray and kind not in NUMBERS and defers(own, other):
        result = leave_to(other, name, own, reflected)
        if not reflected or result is not NotImplemented:
            return result
    if kind not in BUILTIN and overrides(other):
        return others.ask_ufunc(ufuncs.UFUNCS[name], "__call__", (x, y), {})
    return elementwise(ufuncs.UFUNCS[name], (x, y), python)


def unary(name: str, python: Callable[[Any], Any], x: Any) -> Any:
    """A unary operator over an array."""
    return elementwise(ufuncs.UFUNCS[name], (x,), python)


def in_place(name: str, x: ndarray, other: Any) -> Any:
    """An augmented assignment."""
    # An operand with an `__array_ufunc__`, be it None, is never given the work of an augmented assignment.
    if type(other) not in NUMBERS and not hasattr(type(other), "__array_ufunc__") and defers(x, other):
        return NotImplemented
    return ufuncs.UFUNCS[name](x, other, out=x)


# ---- elementwise calls


def memory_of(arg: Any) -> Any:
    """The argument as NumPy takes it at once, or None where it is (or may become) a node."""
    kind = type(arg)
    if kind is ndarray:
        data = settle(arg)
        return window(arg) if data is None and arg._node is None else data
    if kind is LazyScalar:
        node = arg._node
        return None if node.data is None else arg._now()
    return arg


def must_be_eager(args: tuple[Any, ...]) -> bool:
    """True when some operand's dtype is not compiled."""
    for arg in args:
        kind = type(arg)
        if kind in NUMBERS or kind is LazyScalar:
            continue
        dtype = getattr(arg, "dtype", None)
        if dtype is None:
            dtype = np.asarray(arg).dtype
        if dtype not in COMPILED:
            return True
    return False


def is_small(memory: list[Any]) -> bool:
    limit = config.eager_below
    product = 1
    largest = 0
    shape = None
    same = True
    for item in memory:
        if type(item) is _nparray:
            size = item.size
            if size >= limit:
                return False
            product *= size
            largest = max(largest, size)
            if size > 1 or item.ndim:
                same = same and (shape is None or shape == item.shape)
                shape = item.shape
        elif type(item) in NUMBERS or isinstance(item, np.generic):
            continue
        elif limit == 0:
            return False
        else:
            return bool(np.size(item) < limit)
    if same:
        return limit > 0
    shapes = [item.shape for item in memory if type(item) is _nparray]
    return (broadcast_cost(shapes[0], shapes[1]) if len(shapes) == 2 else product) < limit


def elementwise(function: Any, args: tuple[Any, ...], python: Callable[..., Any] | None = None) -> Any:
    """A call with positional inputs only: NumPy at once where everything is small memory, else recorded."""
    if not BUILTIN.issuperset(map(type, args)):
        args = tuple([forward(arg) for arg in args])
        if any(type(arg) is Forwarder and hasattr(arg, "__array_wrap__") for arg in args):
            return call_numpy(function.__name__, function._np, args, {})
    memory = [memory_of(arg) for arg in args]
    if not any(item is None and arg is not None for item, arg in zip(memory, args, strict=True)) and (
        is_small(memory) or not function._ops
    ):
        del_args = memory
    elif not function._ops or must_be_eager(args):
        if function._ops == () and any(type(a) is ndarray and a._np is None for a in args):
            ledger.fallback(function.__name__, args)
        del_args = [export(arg) if type(arg) is not ndarray else read_only(arg) for arg in args]
    else:
        del memory
        return _record(function, args)
    fast = None
    if function._transcendental and not must_be_eager(tuple(del_args)):
        fast = eager(function.__name__)
    if fast is None:
        result = (python or function._np)(*del_args)
    else:
        try:
            result = fast(*del_args)
        except TypeError:
            result = function._np(*del_args)  # no loop: NumPy says so, or asks objects for methods of their own
    return wrap(result) if type(result) is _nparray or type(result) is tuple else result


def operands_of(
    args: tuple[Any, ...], shared: list[Node] | None = None
) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
    """The arguments as nodes and numbers, and the axis order of the result (None: C order, and axes as they are).

    NumPy's K order: another order than C only where all arrays that have one agree on it. `shared` gets the nodes over
    memory that others can write; without it such memory is copied.
    """
    if any([type(arg) is list or type(arg) is tuple for arg in args]):
        args = tuple([plain(np.asarray(arg)) if type(arg) in (list, tuple) else arg for arg in args])
    perm = common_order(args)
    found: list[Any] = []
    for arg in args:
        node = None
        if shared is not None:
            node = as_it_lies(arg, perm)
            if node is not None:
                shared.append(node)
        found.append(_operand_of(arg, perm) if node is None else node)
    return tuple(found), perm


def _operand_of(arg: Any, perm: tuple[int, ...] | None) -> Any:
    """A node or a number; the node has its axes in the order of `perm`, if that is one."""
    if perm is None:
        return as_operand(arg)
    if type(arg) is _nparray and arg.ndim:
        arg = plain(arg)
    return in_order(arg, perm) if type(arg) is ndarray and len(arg.shape) else as_operand(arg)


def common_order(args: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The axes from slowest to fastest in what a ufunc makes of the operands; None for C order."""
    views: list[IndexMap] = []
    in_c_order = True
    for arg in args:
        if type(arg) is _nparray:
            arg = plain(arg)
        elif type(arg) is not ndarray:
            continue
        views.append(map_of(arg))
        in_c_order = in_c_order and (arg._np.flags.c_contiguous if arg._np is not None else arg._node is not None)
    if in_c_order:
        return None
    token = tuple([view[1:] for view in views])  # wherever they begin
    try:
        return _ORDERS[token]
    except KeyError:
        if len(_ORDERS) >= MEMO_LIMIT:
            _ORDERS.clear()
        found = _ORDERS[token] = _order_of_all(views)
        return found


_ORDERS: Final[dict[tuple[Any, ...], tuple[int, ...] | None]] = {}


def _order_of_all(views: list[IndexMap]) -> tuple[int, ...] | None:
    """`common_order` of operands that are shown so; None for shapes that do not broadcast, too."""
    if broadcast_shape([view.shape for view in views]) is None:
        return None
    rank = max([len(view.shape) for view in views])
    steps: list[list[int]] = [[0] * rank for _ in views]
    for own, view in zip(steps, views, strict=True):
        for axis, (extent, step) in enumerate(zip(view.shape, view.strides, strict=True), rank - len(view.shape)):
            own[axis] = abs(step) if extent != 1 else 0
    return best_order(steps, rank)


def best_order(steps: list[list[int]], rank: int) -> tuple[int, ...] | None:
    """The axes from slowest to fastest as NumPy's iterator orders them; None for C order.

    `npyiter_find_best_axis_ordering` (numpy/_core/src/multiarray/nditer_constr.c): an insertion sort, from the fastest
    axis on, in which an operand with a step of 0 has no say, and C order wins where operands disagree.
    """
    order = list(range(rank - 1, -1, -1))
    for i in range(1, rank):
        place, moved = i, order[i]
        for j in range(i - 1, -1, -1):
            other = order[j]
            pairs = [(own[moved], own[other]) for own in steps if own[moved] and own[other]]
            if not pairs:
                continue
            if any(inner <= outer for outer, inner in pairs):
                break
            place = j
        order.insert(place, order.pop(i))
    perm = tuple(reversed(order))
    return None if perm == tuple(range(rank)) else perm


def _record(function: Any, args: tuple[Any, ...]) -> Any:
    shared: list[Node] = []
    operands, perm = operands_of(args, shared)
    if not any(type(o) is Node for o in operands):
        fast = eager(function.__name__) if function._transcendental else None
        return wrap((fast or function._np)(*operands))
    if len(function._ops) > 1:
        function._np.resolve_dtypes((*map(given_dtype, operands), *(None,) * function.nout))  # errors name the ufunc
    check_power(function, operands)
    # References to a value are counted by arguments: each node has a tuple of its own.
    nodes = [map_(OPS[name], tuple([*operands])) for name in function._ops]
    if len(nodes) > 1:
        join(function.__name__, nodes)
    if shared:
        boundary.evaluate(nodes, boundary.SHARED, alone=True, stay=True)
    results = [array_of(node, perm) for node in nodes]
    return results[0] if len(results) == 1 else tuple(results)


def given_dtype(operand: Any) -> Any:
    """The operand as `resolve_dtypes` takes it."""
    if type(operand) is Node:
        return operand.key.spec.dtype
    kind = type(operand)
    return kind if kind in WEAK else NUMBER_DTYPES[kind]


def array_of(node: Node, perm: tuple[int, ...] | None) -> Any:
    if not node.key.spec.shape:
        return scalar_from_node(node)
    if perm is None or len(perm) != len(node.key.spec.shape):
        return from_node(node)
    return from_node_as(node, perm)


def check_power(function: Any, operands: tuple[Any, ...]) -> None:
    """Integer powers with negative exponents raise where NumPy raises: at the call."""
    if function.__name__ != "power":
        return
    exponent = operands[1]
    if type(exponent) is not Node or exponent.key.spec.dtype.kind != "i":
        return
    if np.power.resolve_dtypes((given_dtype(operands[0]), exponent.key.spec.dtype, None))[2].kind != "i":
        return
    shape = broadcast_shape([o.key.spec.shape for o in operands if type(o) is Node])
    if shape is not None and 0 not in shape and _has_negative(exponent):
        base = operands[0]
        # NumPy's error, which may be about the base.
        np.power(np.ones(1, base.key.spec.dtype) if type(base) is Node else base, -np.ones(1, exponent.key.spec.dtype))


def _has_negative(exponent: Node) -> bool:
    """Whether any value is negative: an evaluation, of one number where the values are not there yet."""
    spec = exponent.key.spec
    if not spec.size:
        return False
    if exponent.data is not None and spec.size < config.eager_below:
        return bool(exponent.data.min() < 0)
    return bool(scalar_from_node(reduce_("min", exponent, tuple(range(spec.ndim)))) < 0)


# Last: arrays need what is above, and any of these modules may be imported first.
from lazyarray.frontend import overrides as others  # noqa: E402
from lazyarray.frontend import ufunc as ufuncs  # noqa: E402
from lazyarray.frontend.array import (  # noqa: E402
    BUILTIN,
    from_node,
    from_node_as,
    map_of,
    ndarray,
    plain,
    read_only,
    settle,
    to_numpy,
    wrap,
)
from lazyarray.frontend.copies import in_order  # noqa: E402
from lazyarray.frontend.reading import as_it_lies  # noqa: E402
from lazyarray.frontend.regions import window  # noqa: E402
from lazyarray.frontend.writing import as_operand  # noqa: E402
