"""Owns recording: makes the nodes of every kind, with NumPy's shapes, dtypes and errors, memoised by operand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

import numpy as np

from lazyarray.frontend.loops import (
    BOOL,
    COMPARISONS,
    COMPILED,
    COMPILED_DTYPES,
    IMMEDIATE,
    INT,
    MEMO_LIMIT,
    NUMBER_DTYPES,
    NUMBERS,
    WEAK,
    DType,
    Memo,
    Ranged,
    broadcast_shape,
    dummy,
    key_of,
    memo_of,
    operand_of,
    power_is_refused,
    refuse_shapes,
    resolve_map,
    typed_key,
)
from lazyarray.ir.index_map import IndexMap, c_strides, is_identity, size_of
from lazyarray.ir.installed import SUMS_IN_BUFFERS
from lazyarray.ir.node import PINNED, TAPE, Key, Library, Node, Shape, Spec, record, spec_of
from lazyarray.ir.ops import OPS, REDUCTIONS, dtype_of
from lazyarray.native.primitives import site_outside  # cimport
from lazyarray.runtime import budget
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.floating import LAST, error_state, must_run_now


class Named(Protocol):
    """What `map_` needs of an op: a row of the op table, or anything else with its name."""

    @property
    def name(self) -> str: ...


def is_compiled(dtype: DType) -> bool:
    """Whether values of the dtype are recorded; all others are NumPy's in every state."""
    return dtype in COMPILED


def flush_if_long() -> None:
    """Evaluates what is pending when the recording has become long (contract C9)."""
    if len(TAPE) >= budget.TAPE_LIMIT or PINNED.due:
        budget.flush_if_due()


def note_errors(node: Node) -> None:
    """The node remembers NumPy's error state, or is evaluated now where that has to be obeyed at once."""
    node.errors = state = error_state()
    if state is not LAST.waits and must_run_now(state):
        boundary.evaluate_now(node)


def _make(kind: str, attr: Any, spec: Spec, args: tuple[Any, ...]) -> Node:
    return _emit(key_of(kind, attr, spec), args)


def _emit(key: Key, args: tuple[Any, ...]) -> Node:
    node = record(key, args, site_outside(2))
    if key.raises:
        note_errors(node)
    if len(TAPE) >= budget.TAPE_LIMIT or PINNED.due:
        budget.flush_if_due()
    return node


# ---- elementwise


def check_range(ranged: Ranged, args: tuple[Any, ...]) -> Node | None:
    """None when the number is in range; NumPy's error, or the constant that NumPy gives, when it is not."""
    number = args[1] if type(args[0]) is Node or ranged.dtypes[1] is None else args[0]
    if ranged.low <= number <= ranged.high:
        return None
    ufunc = OPS[ranged.name].ufunc
    assert ufunc is not None
    code = ranged.key.attr[1][0 if ranged.dtypes[0] is None else 1]  # type: ignore[index]
    if code[0] in "fc":
        # NumPy warns of numbers that become infinite, and refuses integers that no float is near.
        np.maximum(np.ones(1, dtype_of(code)), number)
        return None
    if len(args) == 1:
        trial = ufunc(number)
    else:
        count = 0 if 0 in ranged.key.spec.shape else 1  # what a value raises, no elements do not
        first = number if ranged.dtypes[0] is None else np.ones(count, ranged.dtypes[0])
        second = number if ranged.dtypes[1] is None else np.ones(count, ranged.dtypes[1])
        with np.errstate(all="ignore"):
            trial = ufunc(first, second)
    if ranged.name in COMPARISONS:
        return fill_(bool(trial.any()), ranged.key.spec.shape, BOOL)
    return None


def map_(op: Named | str, args: tuple[Any, ...]) -> Node:
    """One elementwise operation over nodes and numbers (at least one a node)."""
    name = op if type(op) is str else op.name  # type: ignore[union-attr]
    key = memo_of(name)[tuple([a.key.spec if type(a) is Node else type(a) for a in args])]
    if type(key) is not Key:
        if key is None:
            raise TypeError(f"no compiled loop of {name!r} for {', '.join(map(repr, args))}")
        constant = check_range(key, args)
        if constant is not None:
            return constant
        key = key.key
    return _emit(key, args)


def map_key(key: Key, args: tuple[Any, ...]) -> Node:
    """An operation whose key is known."""
    return _emit(key, args)


def cast_(node: Node, dtype: DType) -> Node:
    """The values converted as `astype` converts them; the node itself when the dtype is the same."""
    spec = node.key.spec
    if spec.dtype is dtype or spec.dtype == dtype:
        return node
    if spec.dtype.kind == "c" and dtype.kind not in "cb":
        node = map_("real", (node,))
        return cast_(node, dtype)
    return _make("map", ("cast", (spec.code,)), spec_of(spec.shape, dtype), (node,))


def copy_(node: Node) -> Node:
    """The same values in memory of their own."""
    spec = node.key.spec
    return _make("map", ("copy", (spec.code,)), spec, (node,))


def convert_number(value: Any, dtype: DType) -> Any:
    """A number stored into an array of `dtype` and read back: NumPy's conversion, with its errors."""
    kind = type(value)
    if kind is float and dtype.kind == "f" and dtype.itemsize == 8:
        return value
    box = np.empty((), dtype)
    box[()] = value
    return box.item()


# ---- sources


def fill_(value: Any, shape: Shape, dtype: DType) -> Node:
    """One number everywhere."""
    return _make("fill", None, spec_of(shape, dtype), (convert_number(value, dtype),))


def empty_(shape: Shape, dtype: DType) -> Node:
    """No particular values."""
    return _make("empty", None, spec_of(shape, dtype), ())


def iota_(shape: Shape, axis: int = 0) -> Node:
    """The index along `axis`, int64."""
    return _make("iota", axis, spec_of(shape, INT), ())


# ---- views


_VIEWS: dict[Any, Key | None] = {}


def view_(node: Node, view: IndexMap) -> Node:
    """A view's values; the node itself for the map of everything."""
    spec = node.key.spec
    token = (spec, view)
    try:
        key = _VIEWS[token]
    except KeyError:
        if is_identity(view, spec.shape):
            key = None
        else:
            key = view_key(spec, view)
        if len(_VIEWS) >= MEMO_LIMIT:
            _VIEWS.clear()
        _VIEWS[token] = key
    return node if key is None else _emit(key, (node,))


def view_key(spec: Spec, view: IndexMap) -> Key:
    """The key of a view that is not the identity."""
    return key_of("view", (view.offset, view.strides), spec_of(view.shape, spec.dtype))


def part_key(part: str, spec: Spec) -> Any:
    """The key of complex numbers' parts, "real" or "imag"."""
    return memo_of(part)[spec,]


def reshape_(node: Node, shape: Shape) -> Node:
    """The node's values in C order as another shape of the same size."""
    return view_(node, IndexMap(0, shape, c_strides(shape)))


def broadcast_(node: Node, shape: Shape) -> Node:
    """The node repeated to a shape that it broadcasts to; leading axes of extent 1 too many are dropped."""
    own = node.key.spec.shape
    if own == shape:
        return node
    extra = len(own) - len(shape)
    if extra > 0:
        own = own[extra:]
    strides = c_strides(own)
    lead = len(shape) - len(own)
    return view_(
        node,
        IndexMap(
            0,
            shape,
            (0,) * lead
            + tuple(
                0 if extent == 1 and wanted != 1 else stride
                for extent, stride, wanted in zip(own, strides, shape[lead:], strict=True)
            ),
        ),
    )


# ---- reductions


_UFUNC_OF: Final = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "any": np.logical_or,
    "all": np.logical_and,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
}


def reduced_dtype(name: str, dtype: DType, wanted: DType | None = None) -> DType:
    """The dtype of a reduction's result, as NumPy's `reduce` chooses it."""
    if name in ("argmin", "argmax"):
        return INT
    if name in ("any", "all"):
        return BOOL
    if wanted is not None:
        return wanted
    if name in ("sum", "prod") and dtype.kind in "biu" and dtype.itemsize < 8:
        return COMPILED_DTYPES["u8" if dtype.kind == "u" else "i8"]
    return dtype


def reduce_(
    name: str,
    node: Node,
    axes: tuple[int, ...],
    where: Node | None = None,
    initial: Any = None,
    dtype: DType | None = None,
) -> Node:
    """`axes` (normalised) reduced away. `where` is a bool node that broadcasts to the node; `initial` a number."""
    assert name in REDUCTIONS, name
    spec = node.key.spec
    out = reduced_dtype(name, spec.dtype, dtype)
    axes = tuple(sorted(axes))
    if name not in ("any", "all", "argmin", "argmax"):
        node = cast_(node, out)
    shape = tuple([extent for axis, extent in enumerate(spec.shape) if axis not in axes])
    if spec.size == 0 and initial is None:
        _refuse_empty(name, spec, axes, size_of(shape))
    args: tuple[Any, ...] = (node,)
    if where is not None:
        args += (broadcast_(where, spec.shape),)
    if initial is not None:
        args += (initial if type(initial) is Node else convert_number(initial, out),)
    # Buffers show in the order of adding where the last axes are summed; NumPy casts in them.
    buffered = SUMS_IN_BUFFERS or (spec.dtype != out and len(axes) == axes_at_end(axes, spec))
    if name == "sum" and buffered and out.kind in "fc" and where is None:
        name = "buffered_sum"
    attr = (name, axes, where is not None, initial is not None)
    return _make("reduce", attr, spec_of(shape, out), args)


def axes_at_end(axes: tuple[int, ...], spec: Spec) -> int:
    """How many of the axes are the last ones, one after another."""
    count = 0
    while count < len(axes) and axes[-1 - count] == spec.ndim - 1 - count:
        count += 1
    return count


def _refuse_empty(name: str, spec: Spec, axes: tuple[int, ...], size: int) -> None:
    if name in ("argmin", "argmax"):
        if size:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        return
    # Cheap: the operand has no elements. Reductions without an identity raise here.
    small = tuple([min(extent, 1) for extent in spec.shape])
    _UFUNC_OF[name].reduce(np.empty(small, spec.dtype), axis=axes)


def roll_(node: Node, shifts: Sequence[int]) -> Node:
    """The elements moved along each axis by its shift, those pushed out coming in at the other end."""
    spec = node.key.spec
    turned = tuple([shift % extent if extent else 0 for shift, extent in zip(shifts, spec.shape, strict=True)])
    return _make("roll", turned, spec, (node,)) if any(turned) else copy_(node)


def scan_(name: str, node: Node, axis: int, dtype: DType | None = None) -> Node:
    """Running sum, prod, max or min along a normalised axis."""
    out = reduced_dtype(name, node.key.spec.dtype, dtype)
    node = cast_(node, out)
    return _make("scan", (name, axis), node.key.spec, (node,))


# ---- writes


def update_(old: Node, region: IndexMap, new: Any, mask: Node | None = None) -> Node:
    """`old` with `region` replaced by `new` (a node that broadcasts to the region, or a number), where `mask`."""
    spec = old.key.spec
    if type(new) is Node:
        new = broadcast_(cast_(new, spec.dtype), region.shape)
    else:
        new = convert_number(new, spec.dtype)
    attr = (region.offset, region.shape, region.strides, mask is not None)
    args = (old, new) if mask is None else (old, new, broadcast_(mask, region.shape))
    return _make("update", attr, spec, args)


def gather_(node: Node, indices: Sequence[Node], axes: tuple[int, ...], position: int) -> Node:
    """Elements at `indices` (int64 nodes in bounds, broadcasting) of `axes`; index axes come at `position`."""
    spec = node.key.spec
    gathered = spec_of(_gathered_shape(spec, indices, axes, position), spec.dtype)
    return _make("gather", (axes, position), gathered, (node, *indices))


_GATHERED: Final[dict[Any, Shape]] = {}


def _gathered_shape(spec: Spec, indices: Sequence[Node], axes: tuple[int, ...], position: int) -> Shape:
    """The shape of elements of `spec` at `indices` of `axes`."""
    token = (spec, tuple([i.key.spec for i in indices]), axes, position)
    shape = _GATHERED.get(token)
    if shape is None:
        common = broadcast_shape([i.key.spec.shape for i in indices])
        assert common is not None
        rest = [extent for axis, extent in enumerate(spec.shape) if axis not in axes]
        if len(_GATHERED) >= MEMO_LIMIT:
            _GATHERED.clear()
        shape = _GATHERED[token] = (*rest[:position], *common, *rest[position:])
    return shape


def scatter_(
    old: Node, new: Any, indices: Sequence[Node], axes: tuple[int, ...], position: int, op: str = "set"
) -> Node:
    """`old` with the elements at `indices` set or added to (`op`: "set", "add"), in order.

    `new` is a number or broadcasts to the gather's shape.
    """
    spec = old.key.spec
    shape = _gathered_shape(spec, indices, axes, position)
    if type(new) is Node:
        new = broadcast_(cast_(new, spec.dtype), shape)
    else:
        new = fill_(new, shape, spec.dtype)
    return _make("scatter", (axes, position, op), spec, (old, new, *indices))


def compress_(mask: Node, node: Node, shape: Shape, count: int) -> Node:
    """The node's elements where `mask` is true (`count` of them), in C order; both broadcast to `shape`."""
    return _make("compress", shape, spec_of((count,), node.key.spec.dtype), (mask, node))


def expand_(mask: Node, values: Node, shape: Shape) -> Node:
    """`values`, as many as `mask` broadcast to `shape` has true elements, where it is true, both in C order."""
    return _make("expand", None, spec_of(shape, values.key.spec.dtype), (mask, values))


def call_(library: Library, args: Sequence[Node], shape: Shape, dtype: DType) -> Node:
    """A library call on evaluated arguments."""
    return _make("call", library, spec_of(shape, dtype), tuple(args))


__all__ = [
    "COMPARISONS",
    "COMPILED",
    "COMPILED_DTYPES",
    "IMMEDIATE",
    "MEMO_LIMIT",
    "NUMBERS",
    "NUMBER_DTYPES",
    "WEAK",
    "Memo",
    "Ranged",
    "broadcast_",
    "broadcast_shape",
    "call_",
    "cast_",
    "check_range",
    "compress_",
    "convert_number",
    "copy_",
    "dummy",
    "empty_",
    "expand_",
    "fill_",
    "flush_if_long",
    "gather_",
    "iota_",
    "is_compiled",
    "key_of",
    "map_",
    "map_key",
    "memo_of",
    "operand_of",
    "part_key",
    "power_is_refused",
    "reduce_",
    "reduced_dtype",
    "refuse_shapes",
    "reshape_",
    "resolve_map",
    "scan_",
    "scatter_",
    "typed_key",
    "update_",
    "view_",
    "view_key",
]
