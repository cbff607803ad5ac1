"""Owns loops: which compiled loop an elementwise operation means, with NumPy's dtypes, shapes and errors, memoised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

import numpy as np

from lazyarray.ir.node import Key, Node, Shape, Spec, spec_of
from lazyarray.ir.ops import OPS
from lazyarray.runtime import backend

DType = np.dtype[Any]

COMPILED: Final[dict[DType, str]] = {
    np.dtype(code): code for code in "i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
} | {np.dtype(bool): "b1"}

COMPILED_DTYPES: Final[dict[str, DType]] = {code: dtype for dtype, code in COMPILED.items()}
BOOL: Final = np.dtype(bool)
INT: Final = np.dtype(np.int64)

MEMO_LIMIT: Final = 65536

# Types of numbers that may stand as arguments; NumPy's own are as strong as arrays of their dtype.
WEAK: Final = frozenset({int, float, complex})
NUMBER_DTYPES: Final[dict[type, DType]] = {dtype.type: dtype for dtype in COMPILED} | {bool: BOOL}
# C names of one size are two types (int64 and longlong); both mean the compiled dtype.
NUMBER_DTYPES.update({np.dtype(char).type: np.dtype(np.dtype(char).str) for char in "bBhHiIlLqQ"})
NUMBERS: Final = frozenset(NUMBER_DTYPES) | WEAK
# What is written into memory at once, without asking what it is.
IMMEDIATE: Final = frozenset({int, float, complex, bool, *(dtype.type for dtype in COMPILED)})

COMPARISONS: Final = frozenset({"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"})


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


_ZEROS: Final = bytes(16)


def dummy(shape: Shape, dtype: DType) -> np.ndarray[Any, Any]:
    """An array of `shape` that takes no memory, for asking NumPy what it says."""
    if dtype.itemsize > len(_ZEROS) or dtype.hasobject:
        return np.broadcast_to(np.zeros((), dtype), shape)
    return np.ndarray(shape, dtype, _ZEROS, 0, (0,) * len(shape))


def refuse_shapes(ufunc: np.ufunc, shapes: Sequence[Shape]) -> NoReturn:
    """NumPy's own error for operands that do not broadcast."""
    text = " ".join("(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in shapes)
    raise ValueError(f"operands could not be broadcast together with shapes {text} ")


_KEYS: dict[tuple[str, Any, Spec], Key] = {}


def key_of(kind: str, attr: Any, spec: Spec) -> Key:
    """One key object for each triple, so that equal structure is found by identity."""
    found = _KEYS.get((kind, attr, spec))
    if found is None:
        backend.expect(spec.size)
        if len(_KEYS) >= MEMO_LIMIT:
            _KEYS.clear()
        found = _KEYS[kind, attr, spec] = Key(kind, attr, spec)
    return found


# ---- memos


class Ranged:
    """A map key whose number argument must lie in a range; NumPy says what happens outside."""

    __slots__ = ("dtypes", "high", "key", "low", "name")

    def __init__(self, key: Key, name: str, dtypes: tuple[DType | None, DType | None], low: float, high: float) -> None:
        self.key = key
        self.name = name
        self.dtypes = dtypes  # the array operand's dtype at its position, None where the number stands
        self.low = low
        self.high = high


_UNKNOWN: Final = object()


class Memo:
    """Operand specs (or number types) to `Key`, `Ranged` or None (no compiled loop), for one op."""

    __slots__ = ("known", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.known: dict[Any, Any] = {}

    def __getitem__(self, operands: Any) -> Any:
        found = self.known.get(operands, _UNKNOWN)
        if found is _UNKNOWN:
            found = resolve_map(self.name, operands)
            if len(self.known) >= MEMO_LIMIT:
                self.known.clear()
            self.known[operands] = found
        return found


MEMOS: Final[dict[str, Memo]] = {}


def memo_of(name: str) -> Memo:
    """The op's memo, one object for the life of the process."""
    memo = MEMOS.get(name)
    if memo is None:
        memo = MEMOS[name] = Memo(name)
    return memo


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
    key = key_of("map", (name, codes), spec_of(shape, COMPILED_DTYPES[COMPILED[out]]))
    for position, operand in enumerate(operands):
        if type(operand) is not Spec and issubclass(operand, int | np.integer) and operand is not bool:
            ranged = _range_of(key, name, nin, position, operand, dtypes, given)
            if ranged is not None:
                return ranged
        if operand is float and codes[position] in ("f2", "f4", "c8"):
            high = float(np.finfo(dtypes[position]).max)
            return Ranged(key, name, _pair(nin, position, dtypes, given), -high, high)
    return key


def _range_of(
    key: Key, name: str, nin: int, position: int, operand: type, dtypes: Any, given: list[Any]
) -> Ranged | None:
    loop = dtypes[position]
    if loop.kind not in "iu":
        if operand is not int:
            return None
        # Python integers beyond a float's range raise; every int64 is safe in every float dtype but float16,
        # where too large a number becomes inf, as in NumPy.
        high = 65504 if loop.char == "e" else (1 << 63) - 1
        low = -high
    else:
        info = np.iinfo(loop)
        low, high = int(info.min), int(info.max)
    if name == "power" and position == 1 and loop.kind in "iu":
        low = 0
    elif operand is not int:
        return None
    return Ranged(key, name, _pair(nin, position, dtypes, given), low, high)


def _pair(nin: int, position: int, dtypes: Any, given: list[Any]) -> Any:
    """The operands' dtypes with None where the number stands."""
    other = None
    if nin == 2:
        other = given[1 - position]
        if not isinstance(other, np.dtype):
            other = dtypes[1 - position]
    return (other, None) if position == 1 else (None, other)


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
    return None if code is None else key_of("map", ("where", ("b1", code, code)), spec_of(shape, dtype))


def _copy_key(operands: tuple[Any, ...], shape: Shape) -> Key:
    spec = operands[0]
    return key_of("map", ("copy", (spec.code,)), spec)


def _part_key(name: str) -> Any:
    def resolve(operands: tuple[Any, ...], shape: Shape) -> Key:
        spec = operands[0]
        real = COMPILED_DTYPES["f4" if spec.code == "c8" else "f8"]
        return key_of("map", (name, (spec.code,)), spec_of(shape, real))

    return resolve


def _complex_key(operands: tuple[Any, ...], shape: Shape) -> Key:
    dtype = _same_code(operands, 0)
    code = "f4" if COMPILED[dtype] in ("f2", "f4") else "f8"
    return key_of("map", ("complex", (code, code)), spec_of(shape, COMPILED_DTYPES["c8" if code == "f4" else "c16"]))


_SPECIAL_CODES: Final[dict[str, Any]] = {
    "where": _where_key,
    "copy": _copy_key,
    "real": _part_key("real"),
    "imag": _part_key("imag"),
    "complex": _complex_key,
}


def power_is_refused(name: str, operands: tuple[Any, ...]) -> bool:
    """True for an integer power whose exponent is a node that may be negative: only its value can tell."""
    if name != "power" or type(operands[1]) is not Node or operands[1].key.spec.dtype.kind != "i":
        return False
    base = operands[0]
    dtype = base.key.spec.dtype if type(base) is Node else NUMBER_DTYPES.get(type(base))
    return type(base) is int or (dtype is not None and dtype.kind in "biu")


def resolve_loop(ufunc: np.ufunc, given: tuple[Any, ...], casting: Any, signature: Any = None) -> tuple[DType, ...]:
    """`resolve_dtypes` for inputs and outputs; refused casts raise what a call raises.

    NumPy 2.4's frees what it does not own when it refuses to cast a Python number, so there a call is what refuses.
    """
    chosen = {} if signature is None else {"signature": signature}
    if not any(item in WEAK for item in given[: ufunc.nin]):
        return ufunc.resolve_dtypes(given, casting=casting, **chosen)
    dtypes = ufunc.resolve_dtypes(given, casting="unsafe", **chosen)
    ones = [item(1) if item in WEAK else np.ones(1, item) for item in given[: ufunc.nin]]
    outs = tuple([None if item is None else np.empty(1, item) for item in given[ufunc.nin :]])
    with np.errstate(all="ignore"):
        ufunc(*ones, out=outs, casting=casting, **chosen)
    return dtypes


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
    dtypes = resolve_loop(ufunc, (*given, *outs), casting, signature)
    shapes = [o.shape for o in operands if type(o) is Spec]
    shape = broadcast_shape(shapes)
    if shape is None:
        refuse_shapes(ufunc, (*shapes, *out_shapes))
    nin = ufunc.nin
    out = dtypes[nin + op.output]
    key = None
    if all(d in COMPILED for d in (*dtypes[:nin], out)):
        codes = tuple(COMPILED[d] for d in dtypes[:nin])
        key = key_of("map", (name, codes), spec_of(shape, COMPILED_DTYPES[COMPILED[out]]))
    if len(_TYPED) >= MEMO_LIMIT:
        _TYPED.clear()
    _TYPED[token] = key
    return key
