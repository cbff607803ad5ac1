"""Owns reductions and running reductions: which nodes `sum`, `min`, `argmax`, `cumsum`, ... record."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import (
    as_array,
    assign,
    from_node,
    from_node_as,
    ndarray,
    order_of,
    scalar_from_node,
    to_numpy,
    value,
    wrap,
)
from lazyarray.frontend.dispatch import Foreign, Uncompiled
from lazyarray.frontend.layout import value_in_order
from lazyarray.frontend.reading import Reading, as_it_lies, lent
from lazyarray.frontend.record import broadcast_, broadcast_shape, is_compiled, map_, reduce_, reshape_, scan_, view_
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.small import REFUSED  # cimport
from lazyarray.ir.index_map import identity, transpose
from lazyarray.ir.node import Node, Shape
from lazyarray.records import NamedTuple
from lazyarray.runtime.buffer import owns_alone
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.remote import stays_home  # cimport

DType = np.dtype[Any]
_SEARCHED: Final = 8  # bytes for each element below which operands run at once: NumPy searches 50 in a nanosecond
_ROWS_SEARCHED: Final = 1000  # of 20 ns and more
_TRUTHS_SEARCHED: Final = 32_000  # rows of 5 ns
_SEARCHING: Final = frozenset({"axis", "keepdims"})
NO_VALUE: Final[Any] = getattr(np, "_NoValue")  # noqa: B009  (NumPy's stubs have it in some releases)
BOOL: Final = np.dtype(bool)
INTP: Final = np.dtype(np.intp)


def operand(a: Any) -> ndarray:
    """The operand as an array of a dtype that is recorded."""
    x = as_array(a)
    if not is_compiled(x.dtype):
        raise Uncompiled
    return x


def _lying(x: ndarray, perm: tuple[int, ...] | None = None) -> Node | None:
    """`as_it_lies` of an operand that is reduced; what else others can reach is left to NumPy, rather than copied."""
    lies = as_it_lies(x, perm)
    if lies is None and x._np is not None and config.eager_below and not ledger.refusing and not _is_own(x):
        raise Foreign
    return lies


def _is_own(x: ndarray) -> bool:
    data = x._np
    return data is not None and data.flags.writeable and owns_alone(data)


def axes_of(axis: Any, ndim: int, lenient: bool = True) -> tuple[int, ...]:
    """The reduction axes, counted from 0; NumPy's errors for axes that are not there.

    `lenient`: a 0-d array has one axis, as ufuncs see it.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    given = axis if isinstance(axis, tuple) else (axis,)
    if any(isinstance(a, bool) for a in given):
        raise Uncompiled
    try:
        axes = tuple([operator.index(a) + (ndim if operator.index(a) < 0 else 0) for a in given])
    except TypeError:
        axes = (-1,)
    if len(set(axes)) != len(axes) or any(not 0 <= a < ndim for a in axes):
        if ndim == 0 and isinstance(axis, int) and axis in (0, -1) and lenient:
            return ()
        if ndim == 0 and not lenient:
            raise Uncompiled
        np.add.reduce(np.zeros((1,) * ndim), axis=axis)
        raise Uncompiled
    return axes


def kept_shape(shape: Shape, axes: tuple[int, ...]) -> Shape:
    """The shape with the reduced axes kept at extent 1."""
    return tuple([1 if axis in axes else extent for axis, extent in enumerate(shape)])


class Problem(NamedTuple):
    """A reduction in memory order: the operand's node, and its axes there; `perm` is None in C order.

    `reading`: makes what reads memory that others can write at once.
    """

    node: Node
    axes: tuple[int, ...]
    perm: tuple[int, ...] | None
    shape: Shape  # of the operand as the program sees it
    given: tuple[int, ...]  # axes as the program counts them
    reading: Reading

    def masked(self, mask: Node | None) -> Node | None:
        """A mask of the operand in the same order."""
        if mask is None or self.perm is None:
            return mask
        return view_(broadcast_(mask, self.shape), transpose(identity(self.shape), self.perm))


def arrange(x: ndarray, axes: tuple[int, ...], ordered: bool = True) -> Problem:
    """The problem of reducing `axes`: NumPy walks memory in order, and its results keep that order.

    `ordered`: the bits depend on that walk. Foreign memory with gaps is then left to NumPy, since the walk of a
    snapshot, which has none, is another.
    """
    perm = order_of(x)
    if ordered and x._np is not None and x.dtype.kind in "fc":
        data = x._np if perm is None else x._np.transpose(perm)
        if not data.flags.c_contiguous:
            raise Uncompiled
        del data
    if perm is None:
        return arrange_in_c_order(x, axes)
    reading = Reading()
    node = reading.kept(_lying(x, perm)) or value_in_order(x, perm)
    return Problem(node, tuple(sorted(perm.index(a) for a in axes)), perm, x.shape, axes, reading)


def arrange_in_c_order(x: ndarray, axes: tuple[int, ...]) -> Problem:
    """`arrange` where elements are counted in C order, whatever their order in memory."""
    reading = Reading()
    node = reading.kept(_lying(x)) or value(x)
    return Problem(node, axes, None, x.shape, axes, reading)


def finish(node: Node, problem: Problem, keepdims: Any) -> Any:
    """The reduction's node as the array or scalar that NumPy returns."""
    perm, axes = problem.perm, problem.given
    problem.reading.made(node)
    if not problem.shape:
        return scalar_from_node(node)  # whatever `keepdims` says
    if keepdims is not NO_VALUE and operator.index(keepdims):
        node = reshape_(node, kept_shape(problem.node.shape, problem.axes))
        return from_node(node) if perm is None else from_node_as(node, perm)
    if len(axes) == len(problem.shape):
        return scalar_from_node(node)
    if perm is not None:
        kept = [axis for axis in perm if axis not in axes]
        places = sorted(kept)
        if kept != places:
            return from_node_as(node, tuple([places.index(axis) for axis in kept]))
    return from_node(node)


def deliver(node: Node, out: Any, problem: Problem, keepdims: Any) -> Any:
    """`finish`, into `out` where one is given (checked by `accept_out`)."""
    if out is None:
        return finish(node, problem, keepdims)
    result = finish(node, problem, keepdims)
    assign(out, result, casting="unsafe")
    return out


def accept_out(out: Any, shape: Shape, axes: tuple[int, ...], keepdims: Any) -> None:
    """Lets an `out` through that the result fits exactly; NumPy says what it thinks of others."""
    if keepdims is not NO_VALUE:
        operator.index(keepdims)  # what NumPy takes it for; its error
    if out is None:
        return
    if keepdims is not NO_VALUE and keepdims:
        wanted = kept_shape(shape, axes)
    else:
        wanted = tuple([extent for axis, extent in enumerate(shape) if axis not in axes])
    if type(out) is not ndarray or out.shape != wanted or not is_compiled(out.dtype):
        raise Uncompiled


def mask_of(where: Any, shape: Shape) -> Node | None:
    """The node of a `where=` mask, None for all."""
    if where is NO_VALUE or where is True:
        return None
    mask = as_array(where)
    if mask.dtype != BOOL or broadcast_shape([shape, mask.shape]) != shape:
        raise Uncompiled
    return value(mask)


def start_of(initial: Any) -> Any:
    """The initial value as a number, None for none given."""
    if initial is NO_VALUE:
        return None
    if initial is None or np.ndim(initial) != 0:
        raise Uncompiled
    if type(initial) is LazyScalar:
        return initial._now()
    if type(initial) is ndarray:
        return to_numpy(initial)[()]
    return initial[()] if isinstance(initial, np.ndarray) else initial


def reduction(
    name: str, node: Node, axes: tuple[int, ...], mask: Node | None = None, start: Any = None, dtype: Any = None
) -> Node:
    """The reduction's node. Over no axes NumPy reduces one element each: so does an axis of extent 1."""
    if not axes:
        shape = node.spec.shape
        if mask is not None:
            mask = reshape_(broadcast_(mask, shape), (*shape, 1))
        node, axes = reshape_(node, (*shape, 1)), (len(shape),)
    return reduce_(name, node, axes, mask, start, dtype)


_WITHOUT_IDENTITY: Final = frozenset({"min", "max", "fmin", "fmax"})


def reduce(
    name: str,
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = NO_VALUE,
    where: Any = True,
) -> Any:
    """One reduction as NumPy's `ufunc.reduce` means it."""
    x = operand(a)
    shape = x.shape
    axes = axes_of(axis, len(shape))
    accept_out(out, shape, axes, keepdims)
    wanted: DType | None = None
    if name in ("any", "all"):
        if lent(x) is not None:
            raise Foreign  # NumPy ends at the first element that decides
        if dtype is not None or (out is not None and out.dtype != BOOL):
            raise Uncompiled
    elif dtype is not None or out is not None:
        wanted = np.dtype(out.dtype if dtype is None else dtype)
        if not is_compiled(wanted) or wanted == BOOL or (out is not None and out.dtype != wanted):
            raise Uncompiled
        if wanted.kind != "c" and x.dtype.kind == "c":
            raise Uncompiled  # NumPy warns
        if dtype is None and np.result_type(wanted, x.dtype) != wanted:
            raise Uncompiled  # NumPy converts partial results between its buffers and the output
    elif name in ("sum", "prod") and x.dtype == BOOL:
        wanted = INTP
    mask = mask_of(where, shape)
    start = start_of(initial)
    if name in _WITHOUT_IDENTITY and mask is not None and start is None:
        raise Uncompiled  # NumPy raises
    problem = arrange(x, axes, name in ("sum", "prod"))
    node = reduction(name, problem.node, problem.axes, problem.masked(mask), start, wanted)
    return deliver(node, out, problem, keepdims)


def _method(name: str) -> Callable[..., Any]:
    """`sum` and `prod`: with dtype."""

    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        return reduce(name, a, axis, dtype, out, keepdims, initial, where)

    return call


def _extremum(name: str) -> Callable[..., Any]:
    def call(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NO_VALUE,
        where: Any = True,
    ) -> Any:
        return reduce(name, a, axis, None, out, keepdims, initial, where)

    return call


def _truth(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True) -> Any:
        return reduce(name, a, axis, None, out, keepdims, NO_VALUE, where)

    return call


def _search(name: str) -> Callable[[Any, Any], Any]:
    """`argmin` or `argmax` by NumPy, where it is done before an evaluation would begin; `REFUSED` elsewhere.

    That is a search along rows that are in memory. Measured: 256 x 400 float32 take NumPy 8 us, and an evaluation
    about 10 us besides its kernel. Many short rows are a kernel's: 8,333 x 12 float32 take NumPy 384 us, and one 82.
    """
    method = getattr(np.ndarray, name)

    def search(args: Any, kwargs: Any) -> Any:
        if len(args) > 2 or type(args[0]) is not ndarray or (kwargs and not _SEARCHING.issuperset(kwargs)):
            return REFUSED
        axis = args[1] if len(args) == 2 else kwargs.get("axis")
        if (axis is not None and type(axis) is not int) or not config.eager_below:
            return REFUSED
        data = args[0]._np
        if data is None and args[0]._node is not None:
            data = args[0]._node.data
        if data is None or data.nbytes > _SEARCHED * config.eager_below or not stays_home():
            return REFUSED
        kind = data.dtype
        if kind.kind not in "iufb" or not (axis is None or axis == -1 or axis == data.ndim - 1):
            return REFUSED
        by_rows, truths = axis is not None and data.ndim > 1, kind.kind == "b"
        if kind.itemsize < 4 and not truths and (kind.kind == "f" or by_rows):
            return REFUSED  # NumPy takes narrow integers in long rows only, and half floats one by one
        if by_rows and data.size > data.shape[-1] * (_TRUTHS_SEARCHED if truths else _ROWS_SEARCHED):
            return REFUSED
        found = method(data, *args[1:], **kwargs) if kwargs else method(data, axis)
        return wrap(found) if type(found) is np.ndarray else found

    return search


def _position(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        x = operand(a)
        if axis is not None and (not isinstance(axis, int | np.integer) or isinstance(axis, bool)):
            raise Uncompiled
        shape = x.shape
        if axis is not None and not (-x.ndim <= int(axis) < x.ndim):
            getattr(np, name)(np.zeros((1,) * x.ndim), axis)
        axes = axes_of(axis if axis is None else int(axis), x.ndim)
        accept_out(out, shape, axes, keepdims)
        if (out is not None and out.dtype != INTP) or 0 in [shape[a] for a in axes]:
            raise Uncompiled  # NumPy refuses empty axes, even where there is no element to place
        problem = arrange_in_c_order(x, axes)
        return deliver(reduction(name, problem.node, axes), out, problem, keepdims)

    return call


sum_ = _method("sum")
prod = _method("prod")
amin = _extremum("min")
amax = _extremum("max")
any_ = _truth("any")
all_ = _truth("all")
argmin = _position("argmin")
argmax = _position("argmax")


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    x = operand(a)
    return reduce("sum", x if x.dtype == BOOL else x.astype(BOOL), axis, INTP, None, keepdims)


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    if out is not None:
        raise Uncompiled
    x = operand(a)
    accept_out(out, x.shape, (), keepdims)
    problem = arrange(x, axes_of(axis, x.ndim), ordered=False)
    high, low = (reduction(name, problem.node, problem.axes) for name in ("max", "min"))
    if x.dtype == BOOL:
        raise Uncompiled  # NumPy's subtract refuses
    return finish(map_("subtract", (high, low)), problem, keepdims)


def _running(name: str) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = operand(a)
        if out is not None:
            raise Uncompiled
        wanted = None if dtype is None else np.dtype(dtype)
        if wanted is not None and (not is_compiled(wanted) or wanted == BOOL):
            raise Uncompiled
        if wanted is not None and wanted.kind != "c" and x.dtype.kind == "c":
            raise Uncompiled
        if name in ("max", "min"):
            if (x.dtype if wanted is None else wanted).kind in "bc":
                raise Uncompiled
        elif wanted is None and x.dtype == BOOL:
            wanted = INTP
        if axis is None or x.ndim == 0:
            if axis is not None:
                axes_of(operator.index(axis), 1)
            problem = arrange_in_c_order(x, ())
            return from_node(problem.reading.made(scan_(name, reshape_(problem.node, (x.size,)), 0, wanted)))
        if isinstance(axis, tuple | bool):
            raise Uncompiled
        problem = arrange(x, axes_of(axis, x.ndim), ordered=False)
        node = problem.reading.made(scan_(name, problem.node, problem.axes[0], wanted))
        return from_node(node) if problem.perm is None else from_node_as(node, problem.perm)

    return call


cumsum = _running("sum")
cumprod = _running("prod")
running_max = _running("max")
running_min = _running("min")

FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "sum": sum_,
    "prod": prod,
    "min": amin,
    "max": amax,
    "amin": amin,
    "amax": amax,
    "any": any_,
    "all": all_,
    "argmin": argmin,
    "argmax": argmax,
    "count_nonzero": count_nonzero,
    "ptp": ptp,
    "cumsum": cumsum,
    "cumprod": cumprod,
}
# What is tried ahead of recording, with the arguments as they are.
AHEAD: Final = {name: _search(name) for name in ("argmin", "argmax")}
METHODS: Final[dict[str, Callable[..., Any]]] = {
    name: FUNCTIONS[name]
    for name in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "cumsum", "cumprod")
}
