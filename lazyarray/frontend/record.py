"""Owns recording: makes the nodes of every kind, with NumPy's shapes, dtypes and errors, memoised by operand."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn, Protocol

import numpy as np

from lazyarray.ir.index_map import IndexMap, c_strides, is_identity, size_of
from lazyarray.ir.node import TAPE, Key, Library, Node, Shape, Spec, record, spec_of
from lazyarray.ir.ops import OPS, REDUCTIONS
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.ledger import find_site

DType = np.dtype[Any]

COMPILED: Final[dict[DType, str]] = {
    np.dtype(code): code for code in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
} | {np.dtype(bool): "b1"}

BOOL: Final = np.dtype(bool)
INT: Final = np.dtype(np.int64)

_MEMO_LIMIT: Final = 65536

# Types of numbers that may stand as arguments; NumPy's own are as strong as arrays of their dtype.
WEAK: Final = frozenset({int, float, complex})
NUMBER_DTYPES: Final[dict[type, DType]] = {dtype.type: dtype for dtype in COMPILED} | {bool: BOOL}
# C names of one size are two types (int64 and longlong); both mean the compiled dtype.
NUMBER_DTYPES.update({np.dtype(char).type: np.dtype(np.dtype(char).str) for char in "bBhHiIlLqQ"})
NUMBERS: Final = frozenset(NUMBER_DTYPES) | WEAK
# What is written into memory at once, without asking what it is.
IMMEDIATE: Final = frozenset({int, float, complex, bool, *(dtype.type for dtype in COMPILED)})

COMPARISONS: Final = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


class Named(Protocol):
    """What `map_` needs of an op: a row of the op table, or anything else with its name."""

    @property
    def name(self) -> str: ...


class Ranged:
    """A map key whose number argument must lie in a range; NumPy says what happens outside."""

    __slots__ = ("dtypes", "high", "key", "low", "name")

    def __init__(self, key: Key, name: str, dtypes: tuple[DType | None, DType | None], low: int, high: int) -> None:
        self.key = key
        self.name = name
        self.dtypes = dtypes  # the array operand's dtype at its position, None where the number stands
        self.low = low
        self.high = high


class Memo(dict[Any, Any]):
    """Operand specs (or number types) to `Key`, `Ranged` or None (no compiled loop), for one op."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, operands: Any) -> Any:
        found = resolve_map(self.name, operands)
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        self[operands] = found
        return found


MEMOS: Final[dict[str, Memo]] = {}


def memo_of(name: str) -> Memo:
    """The op's memo, one object for the life of the process."""
    memo = MEMOS.get(name)
    if memo is None:
        memo = MEMOS[name] = Memo(name)
    return memo


def flush_if_long() -> None:
    """Evaluates what is pending when the recording has become long (contract C9)."""
    if len(TAPE) >= boundary.TAPE_LIMIT:
        boundary.flush()


def _make(kind: str, attr: Any, spec: Spec, args: tuple[Any, ...]) -> Node:
    return _emit(_key(kind, attr, spec), args)


def _emit(key: Key, args: tuple[Any, ...]) -> Node:
    node = record(key, args, find_site(sys._getframe(2)))
    if len(TAPE) >= boundary.TAPE_LIMIT:
        boundary.flush()
    return node


_KEYS: dict[tuple[str, Any, Spec], Key] = {}


def _key(kind: str, attr: Any, spec: Spec) -> Key:
    """One key object for each triple, so that equal structure is found by identity."""
    found = _KEYS.get((kind, attr, spec))
    if found is None:
        if len(_KEYS) >= _MEMO_LIMIT:
            _KEYS.clear()
        found = _KEYS[kind, attr, spec] = Key(kind, attr, spec)
    return found


# ---- shapes


def broadcast_shape(shapes: Sequence[Shape]) -> Shape | None:
    """The common shape, or None where there is none."""
    result: list[int] = []
    for shape in shapes:
        lead = len(shape) - len(result)
        if lead > 0:
            result[:0] = shape[:lead]
            offset = 0
        else:
            offset = -lead
        for i in range(max(lead, 0), len(shape)):
            extent = shape[i]
            at = i + offset
            if extent != 1 and result[at] != extent:
                if result[at] != 1:
                    return None
                result[at] = extent
    return tuple(result)


def dummy(shape: Shape, dtype: DType) -> np.ndarray[Any, Any]:
    """An array of `shape` that takes no memory, for asking NumPy what it says."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def refuse_shapes(ufunc: np.ufunc, shapes: Sequence[Shape]) -> NoReturn:
    """NumPy's own error for operands that do not broadcast."""
    text = " ".join("(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in shapes)
    raise ValueError(f"operands could not be broadcast together with shapes {text} ")


# ---- elementwise


def operand_of(arg: Any) -> Any:
    """What a memo knows of an argument: a node's spec, a number's type."""
    return arg.key.spec if type(arg) is Node else type(arg)


def resolve_map(name: str, operands: tuple[Any, ...]) -> Key | Ranged | None:
    """The key of `name` over operand specs and number types, as NumPy types and shapes it."""
    shapes = [o.shape for o in operands if type(o) is Spec]
    shape = broadcast_shape(shapes)
    special = _SPECIAL_CODES.get(name)
    if special is not None:
        if shape is None:
            refuse_shapes(np.add, shapes)
        found: Key | None = special(operands, shape)
        return found
    op = OPS[name]
    ufunc = op.ufunc
    assert ufunc is not None, name
    given: list[Any] = []
    for operand in operands:
        if type(operand) is Spec:
            given.append(operand.dtype)
        else:
            given.append(operand if operand in WEAK else NUMBER_DTYPES[operand])
    dtypes = ufunc.resolve_dtypes((*given, *(None,) * ufunc.nout))
    if shape is None:
        refuse_shapes(ufunc, shapes)
    nin = ufunc.nin
    out = dtypes[nin + op.output]
    if any(d not in COMPILED for d in (*dtypes[:nin], out)):
        return None
    codes = tuple(COMPILED[d] for d in dtypes[:nin])
    key = _key("map", (name, codes), spec_of(shape, COMPILED_DTYPES[COMPILED[out]]))
    for position, operand in enumerate(operands):
        if type(operand) is not Spec and issubclass(operand, int | np.integer) and operand is not bool:
            ranged = _range_of(key, name, nin, position, operand, dtypes, given)
            if ranged is not None:
                return ranged
    return key


COMPILED_DTYPES: Final[dict[str, DType]] = {code: dtype for dtype, code in COMPILED.items()}


def _range_of(
    key: Key, name: str, nin: int, position: int, operand: type, dtypes: Any, given: list[Any]
) -> Ranged | None:
    loop = dtypes[position]
    if loop.kind not in "iu":
        if operand is not int:
            return None
        # Python integers beyond a float's range raise; every int64 is safe in every float dtype but float16,
        # where too large a number becomes inf, as in NumPy.
        low, high = -(1 << 63), (1 << 63) - 1
    else:
        info = np.iinfo(loop)
        low, high = int(info.min), int(info.max)
    if name == "power" and position == 1 and loop.kind in "iu":
        low = 0
    elif operand is not int:
        return None
    other = None
    if nin == 2:
        other = given[1 - position]
        if not isinstance(other, np.dtype):
            other = dtypes[1 - position]
    pair: Any = (other, None) if position == 1 else (None, other)
    return Ranged(key, name, pair, low, high)


def _same_code(operands: tuple[Any, ...], start: int) -> DType:
    given: list[Any] = []
    for o in operands[start:]:
        if type(o) is Spec:
            given.append(o.dtype)
        elif o in WEAK:
            given.append(o(0))
        else:
            given.append(NUMBER_DTYPES[o])
    return np.result_type(*given)


def _where_key(operands: tuple[Any, ...], shape: Shape) -> Key | None:
    dtype = _same_code(operands, 1)
    code = COMPILED.get(dtype)
    return None if code is None else _key("map", ("where", ("b1", code, code)), spec_of(shape, dtype))


def _copy_key(operands: tuple[Any, ...], shape: Shape) -> Key:
    spec = operands[0]
    return _key("map", ("copy", (spec.code,)), spec)


def _part_key(name: str) -> Any:
    def resolve(operands: tuple[Any, ...], shape: Shape) -> Key:
        spec = operands[0]
        real = COMPILED_DTYPES["f4" if spec.code == "c8" else "f8"]
        return _key("map", (name, (spec.code,)), spec_of(shape, real))

    return resolve


def _complex_key(operands: tuple[Any, ...], shape: Shape) -> Key:
    dtype = _same_code(operands, 0)
    code = "f4" if COMPILED[dtype] in ("f2", "f4") else "f8"
    return _key("map", ("complex", (code, code)), spec_of(shape, COMPILED_DTYPES["c8" if code == "f4" else "c16"]))


_SPECIAL_CODES: Final[dict[str, Any]] = {
    "where": _where_key,
    "copy": _copy_key,
    "real": _part_key("real"),
    "imag": _part_key("imag"),
    "complex": _complex_key,
}


def check_range(ranged: Ranged, args: tuple[Any, ...]) -> Node | None:
    """None when the number is in range; NumPy's error, or the constant that NumPy gives, when it is not."""
    number = args[1] if type(args[0]) is Node or ranged.dtypes[1] is None else args[0]
    if ranged.low <= number <= ranged.high:
        return None
    ufunc = OPS[ranged.name].ufunc
    assert ufunc is not None
    if len(args) == 1:
        trial = ufunc(number)
    else:
        first = number if ranged.dtypes[0] is None else np.ones(1, ranged.dtypes[0])
        second = number if ranged.dtypes[1] is None else np.ones(1, ranged.dtypes[1])
        with np.errstate(all="ignore"):
            trial = ufunc(first, second)
    if ranged.name in COMPARISONS:
        return fill_(bool(trial[0]), ranged.key.spec.shape, BOOL)
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


def power_is_refused(name: str, operands: tuple[Any, ...]) -> bool:
    """True for an integer power whose exponent is a node that may be negative: only its value can tell."""
    if name != "power" or type(operands[1]) is not Node or operands[1].key.spec.dtype.kind != "i":
        return False
    base = operands[0]
    dtype = base.key.spec.dtype if type(base) is Node else NUMBER_DTYPES.get(type(base))
    return type(base) is int or (dtype is not None and dtype.kind in "biu")


_TYPED: dict[Any, Key | None] = {}


def typed_key(
    name: str,
    args: tuple[Any, ...],
    outs: tuple[DType | None, ...],
    options: tuple[Any, ...],
    out_shapes: tuple[Shape, ...] = (),
) -> Any:
    """The key of an op under (signature, casting) and given dtypes of `out`; None where the loop is not compiled."""
    operands = tuple([operand_of(a) for a in args])
    token = (name, operands, outs, options)
    if token in _TYPED:
        return _TYPED[token]
    op = OPS[name]
    ufunc = op.ufunc
    assert ufunc is not None
    given: list[Any] = []
    for operand in operands:
        if type(operand) is Spec:
            given.append(operand.dtype)
        else:
            given.append(operand if operand in WEAK else NUMBER_DTYPES[operand])
    signature, casting = options
    chosen = {} if signature is None else {"signature": signature}
    dtypes = ufunc.resolve_dtypes((*given, *outs), casting=casting, **chosen)
    shapes = [o.shape for o in operands if type(o) is Spec]
    shape = broadcast_shape(shapes)
    if shape is None:
        refuse_shapes(ufunc, (*shapes, *out_shapes))
    nin = ufunc.nin
    out = dtypes[nin + op.output]
    key = None
    if all(d in COMPILED for d in (*dtypes[:nin], out)):
        codes = tuple(COMPILED[d] for d in dtypes[:nin])
        key = _key("map", (name, codes), spec_of(shape, COMPILED_DTYPES[COMPILED[out]]))
    if len(_TYPED) >= _MEMO_LIMIT:
        _TYPED.clear()
    _TYPED[token] = key
    return key


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
        if len(_VIEWS) >= _MEMO_LIMIT:
            _VIEWS.clear()
        _VIEWS[token] = key
    return node if key is None else _emit(key, (node,))


def view_key(spec: Spec, view: IndexMap) -> Key:
    """The key of a view that is not the identity."""
    return _key("view", (view.offset, view.strides), spec_of(view.shape, spec.dtype))


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
    attr = (name, axes, where is not None, initial is not None)
    return _make("reduce", attr, spec_of(shape, out), args)


def _refuse_empty(name: str, spec: Spec, axes: tuple[int, ...], size: int) -> None:
    if name in ("argmin", "argmax"):
        if size:
            raise ValueError(f"attempt to get {name} of an empty sequence")
        return
    # Cheap: the operand has no elements. Reductions without an identity raise here.
    small = tuple([min(extent, 1) for extent in spec.shape])
    _UFUNC_OF[name].reduce(np.empty(small, spec.dtype), axis=axes)


def scan_(name: str, node: Node, axis: int, dtype: DType | None = None) -> Node:
    """Running sum or prod along a normalised axis."""
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
    common = broadcast_shape([i.key.spec.shape for i in indices])
    assert common is not None
    rest = [extent for axis, extent in enumerate(spec.shape) if axis not in axes]
    shape = (*rest[:position], *common, *rest[position:])
    attr = (axes, position)
    return _make("gather", attr, spec_of(shape, spec.dtype), (node, *indices))


def scatter_(
    old: Node, new: Any, indices: Sequence[Node], axes: tuple[int, ...], position: int, op: str = "set"
) -> Node:
    """`old` with the elements at `indices` replaced in order; `new` is a number or broadcasts to the gather's shape."""
    spec = old.key.spec
    common = broadcast_shape([i.key.spec.shape for i in indices])
    assert common is not None
    rest = [extent for axis, extent in enumerate(spec.shape) if axis not in axes]
    shape = (*rest[:position], *common, *rest[position:])
    if type(new) is Node:
        new = broadcast_(cast_(new, spec.dtype), shape)
    else:
        new = fill_(new, shape, spec.dtype)
    return _make("scatter", (axes, position, op), spec, (old, new, *indices))


def call_(library: Library, args: Sequence[Node], shape: Shape, dtype: DType) -> Node:
    """A library call on evaluated arguments."""
    return _make("call", library, spec_of(shape, dtype), tuple(args))
