"""Owns ufuncs: the callable objects of the namespace, what operators share with them, and NumPy's dispatch to both."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import (
    as_operand,
    assign,
    cast_array,
    from_node,
    from_node_as,
    in_order,
    ndarray,
    order_for,
    order_of,
    plain,
    read_only,
    settle,
    to_numpy,
    value,
    wrap,
    write,
)
from lazyarray.frontend.record import (
    COMPILED,
    NUMBERS,
    broadcast_,
    broadcast_shape,
    cast_,
    empty_,
    map_,
    map_key,
    reduce_,
    scan_,
    typed_key,
)
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.ir.node import Node
from lazyarray.ir.ops import OPS, SPLIT
from lazyarray.runtime import backend
from lazyarray.runtime.ledger import ledger

Array = np.ndarray[Any, Any]
_nparray: Final = np.ndarray
_BUILTIN: Final = frozenset({ndarray, _nparray, LazyScalar, list, tuple, str, bytes, type(None)} | NUMBERS)
_BOOL: Final = np.dtype(bool)


# ---- exporting arguments, wrapping results


def export(item: Any) -> Any:
    """Arguments for NumPy: arrays, also inside lists, tuples and dicts, as memory that aliases them."""
    kind = type(item)
    if kind is ndarray:
        return to_numpy(item)
    if kind is LazyScalar:
        return item.evaluate()
    if kind is tuple:
        return tuple([export(part) for part in item])
    if kind is list:
        return [export(part) for part in item]
    if kind is dict:
        return {name: export(part) for name, part in item.items()}
    if kind is ufunc:
        return item._np
    if item is ndarray:
        return _nparray
    if isinstance(item, tuple) and hasattr(item, "_make"):
        return item._make(export(part) for part in item)  # type: ignore[attr-defined]
    return item


def written_through(result: Any, options: dict[str, Any]) -> Any:
    """The caller's own `out` where NumPy returned the memory exported from it."""
    out = options.get("out")
    if out is None:
        return result
    if type(out) is tuple and len(out) == 1:
        out = out[0]
    return out if type(out) is ndarray else result


def call_numpy(name: str, function: Callable[..., Any], args: Any, options: dict[str, Any]) -> Any:
    """A fallback: NumPy's function on evaluated arguments, its result wrapped, counted."""
    ledger.fallback(name)
    result = function(*export(args), **export(options))
    return written_through(wrap(result), options)


# ---- operators


def defers(self: Any, other: Any, reflected: bool) -> bool:
    """NumPy's rule for when an array's operator leaves the work to the other operand's (`BINOP_IS_FORWARD`)."""
    kind = type(other)
    if kind in _BUILTIN or kind is ufunc:
        return False
    if reflected:
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


def shortcut_power(dtype: np.dtype[Any], exponent: Any) -> tuple[str, Callable[[Any], Any]] | None:
    """The ufunc that NumPy's `**` runs for some scalar exponents (`fast_scalar_power`, number.c)."""
    kind = type(exponent)
    if kind is int:
        if exponent == 2 and dtype.kind in "fciu":
            return "square", np.square
        if exponent == -1 and dtype.kind in "fc":
            return "reciprocal", np.reciprocal
    elif kind is float and exponent == 0.5 and dtype.kind in "fc":
        return "sqrt", np.sqrt
    return None


def eager(name: str) -> np.ufunc | None:
    """The backend's ufunc for small arrays where NumPy's bits are not those of compiled kernels; else None."""
    if config.numerics != "fast":
        return None
    key = (config.backend, name)
    if key not in _EAGER:
        _EAGER[key] = backend.current().eager_ufunc(name)
    return _EAGER[key]


_EAGER: dict[tuple[str, str], np.ufunc | None] = {}


def binary(name: str, python: Callable[[Any, Any], Any], x: Any, y: Any, reflected: bool) -> Any:
    """A binary operator over anything: eager, recorded, or left to the other operand."""
    own, other = (y, x) if reflected else (x, y)
    kind = type(other)
    if kind is not ndarray and kind not in NUMBERS and defers(own, other, reflected):
        return NotImplemented
    result = _elementwise(UFUNCS[name], (x, y), python)
    return result


def unary(name: str, python: Callable[[Any], Any], x: Any) -> Any:
    """A unary operator over an array."""
    return _elementwise(UFUNCS[name], (x,), python)


def in_place(name: str, x: ndarray, other: Any) -> Any:
    """An augmented assignment."""
    if type(other) not in NUMBERS and defers(x, other, False):
        return NotImplemented
    UFUNCS[name](x, other, out=x)
    return x


# ---- elementwise calls


def _memory_of(arg: Any) -> Any:
    """The argument as NumPy takes it at once, or None where it is (or may become) a node."""
    kind = type(arg)
    if kind is ndarray:
        return settle(arg)
    if kind is LazyScalar:
        node = arg._node
        return None if node.data is None else arg.evaluate()
    return arg


def _must_be_eager(args: tuple[Any, ...]) -> bool:
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


def _is_small(memory: list[Any]) -> bool:
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
        elif type(item) in NUMBERS:
            continue
        elif isinstance(item, np.generic):
            continue
        elif limit == 0:
            return False
        else:
            return bool(np.size(item) < limit)
    return limit > 0 and (product < limit or same)


def _elementwise(function: ufunc, args: tuple[Any, ...], python: Callable[..., Any] | None = None) -> Any:
    """A call with positional inputs only: NumPy at once where everything is small memory, else recorded."""
    memory = [_memory_of(arg) for arg in args]
    if not any(item is None and arg is not None for item, arg in zip(memory, args, strict=True)) and (
        _is_small(memory) or not function._ops
    ):
        del_args = memory
    elif not function._ops or _must_be_eager(args):
        if function._ops == () and any(type(a) is ndarray and a._np is None for a in args):
            ledger.fallback(function.__name__)
        del_args = [export(arg) if type(arg) is not ndarray else read_only(arg) for arg in args]
    else:
        del memory
        return _record(function, args)
    fast = None
    if function._transcendental and all(
        getattr(item, "dtype", _BOOL) in COMPILED for item in del_args
    ):
        fast = eager(function.__name__)
    result = (fast or python or function._np)(*del_args)
    return wrap(result) if type(result) is _nparray or type(result) is tuple else result


def _operands(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[int, ...] | None]:
    """The arguments as nodes and numbers, and the axis order that they share (None: C order)."""
    perm: tuple[int, ...] | None = None
    rank = 0
    agreed = True
    for arg in args:
        if type(arg) is not ndarray and type(arg) is not _nparray:
            continue
        count = len(arg.shape)
        if count == 0:
            continue
        own = None if count == 1 else order_of(arg) if type(arg) is ndarray else order_of(plain(arg))
        if rank and (count != rank or own != perm):
            agreed = False
        rank, perm = count, own
    if perm is None or not agreed or broadcast_shape([a.shape for a in args if type(a) is ndarray]) is None:
        return tuple([as_operand(arg) for arg in args]), None
    found: list[Any] = []
    for arg in args:
        if type(arg) is _nparray and arg.ndim:
            arg = plain(arg)
        if type(arg) is ndarray and len(arg.shape):
            found.append(in_order(arg, perm))
        else:
            found.append(as_operand(arg))
    return tuple(found), perm


def _record(function: ufunc, args: tuple[Any, ...]) -> Any:
    operands, perm = _operands(args)
    if not any(type(o) is Node for o in operands):
        # Numbers only: made nodes, so that 0-d programs are recorded too.
        return wrap(function._np(*operands))
    _check_power(function, operands)
    results = [_array_of(map_(OPS[name], operands), perm) for name in function._ops]
    return results[0] if len(results) == 1 else tuple(results)


def _array_of(node: Node, perm: tuple[int, ...] | None) -> Any:
    if not node.key.spec.shape:
        return scalar_from_node(node)
    if perm is None or len(perm) != len(node.key.spec.shape):
        return from_node(node)
    return from_node_as(node, perm)


def _check_power(function: ufunc, operands: tuple[Any, ...]) -> None:
    """Integer powers with negative exponents raise where NumPy raises: at the call."""
    if function.__name__ != "power":
        return
    exponent = operands[1]
    if type(exponent) is not Node or exponent.key.spec.dtype.kind != "i":
        return
    base = operands[0]
    kind = base.key.spec.dtype.kind if type(base) is Node else np.asarray(base).dtype.kind
    if kind not in "biu":
        return
    if bool((read_only(from_node(exponent)) < 0).any()):
        raise ValueError("Integers to negative integer powers are not allowed.")


def _given_out(function: ufunc, options: dict[str, Any], extra: tuple[Any, ...]) -> tuple[Any, ...]:
    out = options.pop("out", None)
    if extra:
        if out is not None:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        out = extra
    if out is None:
        return (None,) * function.nout
    if type(out) is not tuple:
        if function.nout != 1:
            raise TypeError("'out' must be a tuple of arrays")
        out = (out,)
    elif len(out) != function.nout and not extra:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    out += (None,) * (function.nout - len(out))
    for target in out:
        if target is not None and not isinstance(target, ndarray):
            raise TypeError("return arrays must be of ArrayType")
    return out  # type: ignore[no-any-return]


_RECORDED: Final = frozenset({"where", "dtype", "casting", "order", "subok", "signature", "sig"})


def _call(function: ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The general call: every keyword."""
    nin = function.nin
    if len(args) < nin or len(args) > nin + function.nout:
        return function._np(*export(args), **export(options))  # NumPy's error
    given = dict(options)
    outs = _given_out(function, given, args[nin:])
    args = args[:nin]
    where = given.get("where", True)
    touched = (*args, *outs, where)
    managed = [a for a in touched if type(a) is ndarray and settle(a) is None]
    lazy = any(type(a) is LazyScalar and a._node.data is None for a in args)
    compiled = bool(function._ops) and all(name in _RECORDED for name in given) and not _must_be_eager(args)
    if compiled and any(
        not (type(a) is ndarray and a.dtype in COMPILED) for a in outs if a is not None
    ):
        compiled = False
    memory = [_memory_of(a) for a in touched if a is not None]
    if compiled and (managed or lazy or not _is_small(memory)):
        recorded = _record_call(function, args, outs, where, given)
        if recorded is not NotImplemented:
            return recorded
    if managed and not function._ops:
        ledger.fallback(function.__name__)
    return _call_memory(function, args, outs, given)


def _call_memory(
    function: ufunc, args: tuple[Any, ...], outs: tuple[Any, ...], given: dict[str, Any]
) -> Any:
    run = function._np
    if function._transcendental and set(given) <= {"where"}:
        run = eager(function.__name__) or run
    inputs = [read_only(a) if type(a) is ndarray else export(a) for a in args]
    options = {name: export(item) for name, item in given.items()}
    if any(o is not None for o in outs):
        options["out"] = tuple([to_numpy(o) if type(o) is ndarray else o for o in outs])
        # Inputs that a write changes are exported, so that NumPy sees the overlap.
        inputs = [export(a) for a in args]
    result = run(*inputs, **options)
    if function.nout == 1:
        return outs[0] if outs[0] is not None else wrap(result)
    return tuple([o if o is not None else wrap(r) for o, r in zip(outs, result, strict=True)])


def _record_call(
    function: ufunc, args: tuple[Any, ...], outs: tuple[Any, ...], where: Any, given: dict[str, Any]
) -> Any:
    if any(out is not None and not out.flags.writeable for out in outs):
        raise ValueError("output array is read-only")
    operands, perm = _operands(args)
    if not any(type(o) is Node for o in operands):
        operands = (_node_of_number(operands[0]), *operands[1:])
    order = given.get("order", "K")
    if order not in ("K", "k", "C", "c", "A", "a", "F", "f", None):
        return NotImplemented  # NumPy's error
    if order in ("C", "c"):
        perm = None
        operands = tuple([as_operand(a) for a in args])
    signature = given.get("signature", given.get("sig"))
    dtype = given.get("dtype")
    if dtype is not None:
        if signature is not None:
            return NotImplemented
        signature = (None,) * function.nin + (np.dtype(dtype),) * function.nout
    if isinstance(signature, str):
        return NotImplemented
    casting = given.get("casting", "same_kind")
    mask = _mask_of(where)
    _check_power(function, operands)
    plan: list[Any] = []
    dtypes = tuple(o.dtype if o is not None else None for o in outs)
    out_shapes = tuple([o.shape for o in outs if o is not None])
    for name in function._ops:
        key = typed_key(name, operands, dtypes, (signature, casting), out_shapes)
        if key is None:
            return NotImplemented
        plan.append(key)
    shape = plan[0].spec.shape
    if mask is not None:
        shape = broadcast_shape((shape, mask.key.spec.shape))
    _check_outs(function, args, outs, where, shape)
    nodes = []
    for name, key in zip(function._ops, plan, strict=True):
        simple = signature is None
        nodes.append(map_(OPS[name], operands) if simple else map_key(key, operands))
    return _deliver(nodes, outs, mask, shape, perm, order)


def _mask_of(where: Any) -> Node | None:
    if where is True:
        return None
    mask = as_operand(where)
    if type(mask) is not Node:
        mask = _node_of_number(np.bool_(mask))
    if mask.key.spec.dtype != _BOOL:
        raise TypeError(
            f"Cannot cast array data from {mask.key.spec.dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    return mask


def _node_of_number(number: Any) -> Node:
    from lazyarray.frontend.record import fill_

    array = np.asarray(number)
    return fill_(number, (), array.dtype)


def _check_outs(
    function: ufunc, args: tuple[Any, ...], outs: tuple[Any, ...], where: Any, shape: Any
) -> None:
    for out in outs:
        if out is None:
            continue
        if shape is None or out.shape != shape:
            joined = None if shape is None else broadcast_shape((shape, out.shape))
            if joined != out.shape:
                # NumPy's words, from NumPy, on arrays without elements of their own.
                from lazyarray.frontend.record import dummy

                shapes = [np.shape(a) if type(a) is not ndarray else a.shape for a in args]
                whole = [dummy(s, np.dtype("f8")) for s in shapes]
                np.add(whole[0], whole[-1], out=np.empty(out.shape))


def _deliver(
    nodes: list[Node],
    outs: tuple[Any, ...],
    mask: Node | None,
    shape: Any,
    perm: tuple[int, ...] | None,
    order: Any,
) -> Any:
    results: list[Any] = []
    back = None
    if perm is not None:
        back = [0] * len(perm)
        for place, axis in enumerate(perm):
            back[axis] = place
    for node, out in zip(nodes, outs, strict=True):
        if out is None:
            if mask is not None:
                from lazyarray.frontend.record import update_
                from lazyarray.ir.index_map import identity

                plain_node = value(_array_of(node, perm)) if node.key.spec.shape else node
                spec = plain_node.key.spec
                node = update_(empty_(shape, spec.dtype), identity(shape), plain_node, mask)
                results.append(from_node(node) if shape else scalar_from_node(node))
                continue
            found = _array_of(node, perm)
            if order in ("F", "f") and type(found) is ndarray:
                found = found.copy("F")
            results.append(found)
            continue
        if node.key.spec.shape and back is not None:
            node = value(from_node_as(node, perm))  # type: ignore[arg-type]
        _write_out(out, node, mask)
        results.append(out)
    return results[0] if len(results) == 1 else tuple(results)


def _write_out(out: ndarray, node: Node, mask: Node | None) -> None:
    if out._np is not None:
        if mask is None:
            assign(out, from_node(broadcast_(cast_(node, out.dtype), out.shape)))
        else:
            assign(out, from_node(cast_(node, out.dtype)), from_node(mask))
        return
    write(out, cast_(node, out.dtype), mask)


# ---- the objects


class ufunc:
    # A ufunc of the namespace: NumPy's meaning, recorded where the op table has it. (Each has its own `__doc__`.)

    __slots__ = ("__doc__", "__name__", "__qualname__", "_np", "_ops", "_transcendental", "nin", "nout")

    def __init__(self, function: np.ufunc) -> None:
        name = function.__name__
        self._np = function
        self.nin = function.nin
        self.nout = function.nout
        self.__name__ = name
        self.__qualname__ = name
        self.__doc__ = function.__doc__
        if name in SPLIT:
            self._ops: tuple[str, ...] = SPLIT[name]
        elif name in OPS and OPS[name].ufunc is function:
            self._ops = (name,)
        else:
            self._ops = ()
        self._transcendental = any(OPS[op].transcendental for op in self._ops)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if not options and len(args) == self.nin:
            for arg in args:
                kind = type(arg)
                if kind is ndarray or kind in NUMBERS or kind is LazyScalar:
                    continue
                if overrides(arg):
                    return wrap(self._np(*export(args)))
            if self._np.signature is not None:
                return _call_core(self, args, options)
            return _elementwise(self, args)
        for arg in (*args, options.get("out")):
            if type(arg) not in _BUILTIN and overrides(arg):
                return wrap(self._np(*export(args), **export(options)))
        if self._np.signature is not None:
            return _call_core(self, args, options)
        return _call(self, args, options)

    @property
    def nargs(self) -> int:
        return self._np.nargs

    @property
    def ntypes(self) -> int:
        return self._np.ntypes

    @property
    def types(self) -> list[str]:
        return self._np.types

    @property
    def identity(self) -> Any:
        return self._np.identity

    @property
    def signature(self) -> str | None:
        return self._np.signature

    def resolve_dtypes(self, *args: Any, **options: Any) -> Any:
        return self._np.resolve_dtypes(*args, **options)

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        from lazyarray.frontend import reduce_methods

        return reduce_methods.reduce(self, array, axis, dtype, out, keepdims, initial, where)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        from lazyarray.frontend import reduce_methods

        return reduce_methods.accumulate(self, array, axis, dtype, out)

    def outer(self, A: Any, B: Any, /, **options: Any) -> Any:
        from lazyarray.frontend import reduce_methods

        return reduce_methods.outer(self, A, B, options)

    def at(self, a: Any, indices: Any, b: Any = None, /) -> None:
        args = (a, indices) if b is None else (a, indices, b)
        call_numpy(f"{self.__name__}.at", self._np.at, args, {})

    def reduceat(self, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        options = {"axis": axis, "dtype": dtype, "out": out}
        return call_numpy(f"{self.__name__}.reduceat", self._np.reduceat, (array, indices), options)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    def __reduce__(self) -> Any:
        return _find, (self.__name__,)


def _find(name: str) -> ufunc:
    return UFUNCS[name]


def overrides(arg: Any) -> bool:
    """True for what NumPy's own dispatch must see: subclasses of its arrays, and third parties' overrides."""
    kind = type(arg)
    if kind in _BUILTIN:
        return False
    if isinstance(arg, _nparray):
        return True
    if isinstance(arg, np.generic):
        return False
    return hasattr(kind, "__array_ufunc__")


def _call_core(function: ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A generalised ufunc: the namespace's function where it has one that records."""
    from lazyarray.frontend.namespace import resolve

    found = resolve(function.__name__)
    if type(found) is not ufunc:
        return found(*args, **options)
    if any(type(a) is ndarray and a._np is None for a in args):
        ledger.fallback(function.__name__)
    inputs = export(args) if options else tuple([_readable(a) for a in args])
    return written_through(wrap(function._np(*inputs, **export(options))), options)


def _readable(arg: Any) -> Any:
    return read_only(arg) if type(arg) is ndarray else export(arg)


def _all_ufuncs() -> dict[str, ufunc]:
    found = {}
    objects: dict[int, ufunc] = {}
    for name in dir(np):
        item = getattr(np, name)
        if isinstance(item, np.ufunc):
            own = objects.get(id(item))
            if own is None:
                own = objects[id(item)] = ufunc(item)
            found[name] = own
    for own in list(found.values()):
        found.setdefault(own.__name__, own)
    return found


UFUNCS: Final[dict[str, ufunc]] = _all_ufuncs()
_BY_NUMPY: Final[dict[int, ufunc]] = {id(own._np): own for own in UFUNCS.values()}


# ---- NumPy's dispatch


def dispatch(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """`ndarray.__array_ufunc__`: NumPy's ufuncs on our arrays are ours."""
    outs = options.get("out", ())
    for item in (*inputs, *outs):
        kind = type(item)
        if kind in _BUILTIN or isinstance(item, _nparray | np.generic):
            continue
        override = getattr(kind, "__array_ufunc__", None)
        if override is not None and override is not ndarray.__array_ufunc__:
            return NotImplemented
    foreign = any(isinstance(i, _nparray) and type(i) is not _nparray for i in (*inputs, *outs))
    own = _BY_NUMPY.get(id(function))
    if own is None or foreign:
        name = f"{function.__name__}.{method}"
        return call_numpy(name, getattr(function, method), inputs, options)
    if "out" in options and len(outs) == 1:
        options["out"] = outs[0]
    if method == "__call__":
        return own(*inputs, **options)
    return getattr(own, method)(*inputs, **options)


def dispatch_function(function: Any, types: Any, args: Any, options: dict[str, Any]) -> Any:
    """`ndarray.__array_function__`: NumPy's functions on our arrays are ours where we have them."""
    for kind in types:
        if kind in _BUILTIN or issubclass(kind, _nparray):
            continue
        override = getattr(kind, "__array_function__", None)
        if override not in (None, ndarray.__array_function__, LazyScalar.__array_function__):
            return NotImplemented
    space: Any = sys.modules.get("lazyarray")
    for part in function.__module__.split(".")[1:]:
        space = getattr(space, part, None)
    own = getattr(space, function.__name__, None)
    if own is not None and own is not function and callable(own):
        return own(*args, **options)
    return call_numpy(function.__name__, function, args, options)


__all__ = [
    "UFUNCS",
    "call_numpy",
    "cast_array",
    "export",
    "order_for",
    "reduce_",
    "scan_",
    "ufunc",
    "written_through",
]
