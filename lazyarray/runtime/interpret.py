"""Owns the NumPy interpreter: evaluates an expression entry by entry, the oracle for every compiled plan.

`LAZYARRAY_BACKEND=numpy` runs programs on it: recording, views and updates are exercised without code generation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyarray.ir.expression import Entry, Expression
from lazyarray.ir.index_map import IndexMap, apply, is_identity, size_of
from lazyarray.ir.installed import SUMS_IN_BUFFERS
from lazyarray.ir.node import Node
from lazyarray.ir.ops import OPS, QUICKER, REDUCTIONS, dtype_of
from lazyarray.native.loops import run_binary, run_unary  # cimport
from lazyarray.native.primitives import holds_in_c_order  # cimport
from lazyarray.runtime.floating import STATE, error_state, modes_of, tell, wanted
from lazyarray.runtime.warned import at

Array = np.ndarray[Any, Any]
_nparray = np.ndarray


def interpret(expression: Expression, sources: list[Any], now: bool = False) -> list[Array]:
    """The outputs' values, each C-contiguous. `sources[i].data` is read for leaves, `sources[i]` for scalars.

    Errors are told as the nodes in `sources` want it; `now`: under NumPy's present state instead.
    """
    return outputs_of(expression, interpret_all(expression, sources, "now" if now else "recorded"))


def interpret_all(expression: Expression, sources: list[Any], errors: str = "ignored") -> list[Any]:
    """The values of all entries. `errors`: "recorded", as the nodes in `sources` want it; "now"; or "ignored"."""

    def compute(entry: Entry, args: list[Array], source: Any) -> Any:
        if errors == "now":
            return RULES[entry.kind](entry, args)
        if errors == "recorded" and type(source) is Node and wanted(source):
            return watch(source, entry, args)
        with np.errstate(all="ignore"):
            return RULES[entry.kind](entry, args)

    return compute_all(expression, sources, compute, {})


def last_uses(expression: Expression) -> dict[int, int]:
    """By place of an entry: of the last that needs its value; behind all, for an output."""
    entries = expression.entries
    last = {a: place for place, entry in enumerate(entries) for a in entry.args}
    return last | dict.fromkeys(expression.outputs, len(entries))


def compute_all(
    expression: Expression,
    sources: list[Any],
    compute: Callable[[Entry, list[Array], Any], Any],
    last: dict[int, int],
    joined: frozenset[int] = frozenset(),
) -> list[Any]:
    """The values of all entries: what is given, else what `compute` makes of an entry, its arguments and its source.

    `last`: where values are needed for the last time, and are let go of; None stands for them. `joined`: places of
    entries that are left to who reads them: that is given the entry, its arguments and its source for a value.
    """
    entries = expression.entries
    values: list[Any] = []
    value: Any = None
    for place in range(len(entries)):  # `zip` and `enumerate` refer to sources longer: references are counted
        entry, source = entries[place], sources[place]
        if entry.kind == "leaf":
            values.append(source.data)
        elif entry.kind == "scalar":
            values.append(scalar(source, entry.code))
        else:
            args = [values[a] for a in entry.args]
            for a in entry.args:
                if last.get(a) == place:
                    values[a] = None
            if place in joined:
                values.append((entry, args, source))
                args = []
                continue
            value = compute(entry, args, source)
            dtype = dtype_of(entry.code)
            # Views keep their strides: NumPy's order of summation depends on them.
            view = entry.kind == "view"
            if type(value) is not _nparray or value.dtype is not dtype or not (view or holds_in_c_order(value)):
                value = np.asarray(value, dtype, order=None if view else "C")
            values.append(value)
            args = []
            value = None  # names count, as above
    return values


def outputs_of(expression: Expression, values: list[Any]) -> list[Array]:
    """The outputs among the values, each C-contiguous in memory of its own."""
    return [own(values[position], expression.entries[position].shape) for position in expression.outputs]


def own(value: Any, shape: tuple[int, ...]) -> Array:
    """A value, C-contiguous in memory of its own."""
    found = np.ascontiguousarray(value)
    if found.shape != shape:
        found = found.reshape(shape)
    return found if found.flags.writeable and found.flags.owndata else found.copy()


def watch(node: Node, entry: Entry, args: list[Array]) -> Any:
    """The entry's value; what it raises is told as the node's."""
    if entry.kind == "call":
        return call_as_recorded(entry, args, node)
    result, raised = raised_by(RULES[entry.kind], entry, args)
    tell(node, raised)
    return result


def call_as_recorded(entry: Entry, args: list[Array], source: Any) -> Any:
    """What a library makes of its arguments; it warns at the line that recorded it, if that wanted to be told."""
    if type(source) is not Node or source.errors is None:
        with np.errstate(all="ignore"):
            return _call(entry, args)
    with np.errstate(**modes_of(source)), at(source.site):
        result = _call(entry, args)
    source.errors = None
    return result


def raised_by(rule: Callable[[Entry, list[Array]], Any], entry: Entry, args: list[Array]) -> tuple[Any, int]:
    """The entry's value by a rule, and NumPy's bits of the floating-point errors that it met."""
    with Met() as met:
        result = rule(entry, args)
    return result, met.bits


class Met:
    """NumPy's bits of the floating-point errors that it met since it was entered, or somebody set them to 0.

    It may be entered again and again: making an error state takes longer than going into it.
    """

    __slots__ = ("_around", "_before", "_state", "bits")

    def __init__(self) -> None:
        self.bits = 0
        self._before: Any = None
        self._around = error_state()
        with np.errstate(divide="call", over="call", under="ignore", invalid="call", call=self.note):
            self._state = error_state()

    def is_for_now(self) -> bool:
        """Whether NumPy's present state is the one it was made in, which also has the size of buffers."""
        return self._around is error_state()

    def note(self, _kind: str, bits: int) -> None:
        """What NumPy calls for an error."""
        self.bits |= bits

    def __enter__(self) -> Met:
        self.bits = 0
        self._before = STATE.set(self._state)
        return self

    def __exit__(self, *_: object) -> None:
        STATE.reset(self._before)


def scalar(value: Any, code: str) -> Array:
    """The number as a 0-d array of `code`, converted as NumPy converts a weak scalar; recording told of errors."""
    found = np.asarray(value)
    if found.dtype is dtype_of(code):
        return found
    with np.errstate(all="ignore"):
        return found.astype(dtype_of(code))


def _fill(entry: Entry, args: list[Array]) -> Array:
    return np.broadcast_to(args[0], entry.shape)


def _empty(entry: Entry, args: list[Array]) -> Array:
    return np.zeros(entry.shape, dtype_of(entry.code))


def _iota(entry: Entry, args: list[Array]) -> Array:
    axis = entry.attr
    index = np.arange(entry.shape[axis])
    return np.broadcast_to(index.reshape(-1, *(1,) * (len(entry.shape) - axis - 1)), entry.shape)


def compute_map(entry: Entry, args: list[Array], into: Array | None = None) -> Any:
    """The value of an elementwise operation. `into`: an operand whose memory takes it."""
    name, codes = entry.attr
    if name == "cast":
        return args[0].astype(dtype_of(entry.code))
    args = as_asked(args, codes)
    special = SPECIAL.get(name)
    if special is not None:
        return special(*args)
    op = OPS[name]
    assert op.ufunc is not None, name
    if name in QUICKER:
        return run_unary(op.ufunc, args[0]) if op.nin == 1 else run_binary(op.ufunc, args[0], args[1])
    result = op.ufunc(*args) if into is None else op.ufunc(*args, out=into)
    return result[op.output] if isinstance(result, tuple) else result


def as_asked(args: list[Array], codes: tuple[str, ...]) -> list[Array]:
    """The arguments in the dtypes of these codes."""
    found = []
    for place in range(len(args)):
        dtype = dtype_of(codes[place])
        given = args[place]
        found.append(given if given.dtype is dtype else given.astype(dtype, copy=False))
    return found


SPECIAL: dict[str, Callable[..., Any]] = {
    "where": np.where,
    "real": np.real,
    "imag": np.imag,
    "complex": lambda re, im: _join(re, im),
    "copy": lambda a: a.copy(),
}


def _join(re: Array, im: Array) -> Array:
    re, im = np.broadcast_arrays(re, im)
    result: Array = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    result.real = re
    result.imag = im
    return result


def _view(entry: Entry, args: list[Array]) -> Array:
    offset, strides = entry.attr
    return apply(IndexMap(offset, entry.shape, strides), np.ascontiguousarray(args[0]).reshape(args[0].shape))


def _reduce(entry: Entry, args: list[Array]) -> Any:
    name, axes, has_where, has_initial = entry.attr
    data, rest = args[0], args[1:]
    options: dict[str, Any] = {}
    if has_where:
        options["where"] = rest.pop(0)
    if has_initial:
        options["initial"] = rest.pop(0)[()]
    if name in ("argmin", "argmax"):
        moved = np.moveaxis(data, axes, range(-len(axes), 0))
        kept = moved.shape[: moved.ndim - len(axes)]
        flat = moved.reshape(*kept, size_of(moved.shape[len(kept) :]))
        return getattr(np, name)(flat, axis=-1)
    if name == "buffered_sum" and not SUMS_IN_BUFFERS:
        return buffered_sum(data, len(axes), options.get("initial", 0))
    ufunc = REDUCTIONS[name].ufunc
    assert ufunc is not None, name
    if name not in ("any", "all"):
        options["dtype"] = dtype_of(entry.code)
    return ufunc.reduce(data, axis=tuple(axes), **options)


def buffered_sum(data: Array, axes: int, initial: Any = 0) -> Array:
    """The sum over the last `axes` axes in NumPy's order under a cast: buffers of 8192 elements, one after another."""
    kept = data.shape[: data.ndim - axes]
    rows = data.reshape(*kept, size_of(data.shape[len(kept) :]))
    total = np.full(rows.shape[:-1], initial, data.dtype)
    for start in range(0, rows.shape[-1], 8192):
        total = total + np.add.reduce(rows[..., start : start + 8192], axis=-1)
    return total


def _scan(entry: Entry, args: list[Array]) -> Any:
    name, axis = entry.attr
    ufunc = REDUCTIONS[name].ufunc
    assert ufunc is not None, name
    return ufunc.accumulate(args[0], axis=axis, dtype=dtype_of(entry.code))


def _update(entry: Entry, args: list[Array]) -> Array:
    offset, shape, strides, has_mask = entry.attr
    if not has_mask and is_identity(IndexMap(offset, shape, strides), entry.shape):
        result = np.empty(shape, dtype_of(entry.code))
        result[...] = args[1]
        return result
    result = np.array(args[0], order="C", copy=True)  # `apply` shows C order
    update_in(result, entry, args)
    return result


def update_in(result: Array, entry: Entry, args: list[Array]) -> None:
    """Writes what an update writes into an array in C order that holds the value before."""
    offset, shape, strides, has_mask = entry.attr
    region = apply(IndexMap(offset, shape, strides), result)
    if has_mask:
        np.copyto(region, args[1], where=args[2], casting="unsafe")
    else:
        region[...] = args[1]


def _gather(entry: Entry, args: list[Array]) -> Array:
    axes, position = entry.attr
    source = args[0]
    rest = [a for a in range(source.ndim) if a not in axes]
    moved = source.transpose(*axes, *rest)
    result: Array = moved[tuple(args[1:])]
    index_ndim = result.ndim - len(rest)
    return np.moveaxis(result, range(index_ndim), range(position, position + index_ndim))


def _scatter(entry: Entry, args: list[Array]) -> Array:
    result = np.array(args[0], copy=True)
    scatter_in(result, entry, args)
    return result


def scatter_in(result: Array, entry: Entry, args: list[Array]) -> None:
    """Writes what a write at index arrays writes into an array that holds the value before."""
    axes, position, op = entry.attr
    rest = [a for a in range(result.ndim) if a not in axes]
    moved = result.transpose(*axes, *rest)
    index = tuple(args[2:])
    rank = len(np.broadcast_shapes(*(i.shape for i in index)))
    new = np.moveaxis(args[1], range(position, position + rank), range(rank))
    if op == "add":
        np.add.at(moved, index, new)
    else:
        moved[index] = new


def _compress(entry: Entry, args: list[Array]) -> Array:
    mask, data = (a if a.shape == entry.attr else np.broadcast_to(a, entry.attr) for a in args)
    result: Array = data[mask]
    return result


def _expand(entry: Entry, args: list[Array]) -> Array:
    result = np.zeros(entry.shape, dtype_of(entry.code))
    result[np.broadcast_to(args[0], entry.shape)] = args[1].ravel()
    return result


def _call(entry: Entry, args: list[Array]) -> Any:
    library = entry.attr
    return library.function(*args, **dict(library.options))


def _roll(entry: Entry, args: list[Array]) -> Array:
    return np.roll(args[0], entry.attr, range(len(entry.attr)))


RULES: dict[str, Callable[[Entry, list[Array]], Any]] = {
    "fill": _fill,
    "empty": _empty,
    "iota": _iota,
    "map": compute_map,
    "view": _view,
    "roll": _roll,
    "reduce": _reduce,
    "scan": _scan,
    "update": _update,
    "gather": _gather,
    "scatter": _scatter,
    "compress": _compress,
    "expand": _expand,
    "call": _call,
}
