"""Owns ufunc calls with keywords: `out`, `where`, `dtype`, `casting`, `order` and the rest."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.foreign import forward
from lazyarray.frontend.loops import resolve_loop
from lazyarray.frontend.record import (
    COMPILED,
    broadcast_,
    broadcast_shape,
    cast_,
    dummy,
    empty_,
    fill_,
    map_,
    map_key,
    typed_key,
    update_,
)
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.ir.index_map import identity
from lazyarray.ir.node import Node
from lazyarray.ir.ops import OPS, dtype_of
from lazyarray.ir.raises import cast_raises, harmless
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.floating import join
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.remote import stays_home  # cimport

_BOOL: Final = np.dtype(bool)
_NOTHING: Final = np.empty(0)
_NO_MASK: Final = np.empty(0, bool)


def _given_out(function: Any, options: dict[str, Any], extra: tuple[Any, ...]) -> tuple[Any, ...]:
    given = "out" in options
    out: Any = options.pop("out", None)
    if extra:
        if given:
            raise TypeError("cannot specify 'out' as both a positional and keyword argument")
        out = extra
    if out is None:
        return tuple([None] * function.nout)
    if type(out) is not tuple:
        if function.nout != 1:
            raise TypeError("'out' must be a tuple of arrays")
        out = (out,)
    elif len(out) != function.nout and not extra:
        raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
    if any(target is ... for target in out):
        if extra:
            raise TypeError("out=... is only allowed as a keyword argument.")
        raise TypeError("must use `...` as `out=...` and not per-operand/in a tuple")
    targets: tuple[Any, ...] = (*out, *(None,) * (function.nout - len(out)))
    for target in targets:
        if target is not None and not isinstance(target, ndarray):
            raise TypeError("return arrays must be of ArrayType")
    return targets


def _is_region(array: Any, outs: tuple[Any, ...]) -> bool:
    """True for a small region of memory that may be read, and written if it is among the outputs, at once."""
    if array._node is not None or window(array) is None:
        return False
    return all([out is not array for out in outs]) or claim(array) is not None


def _small_pending(touched: tuple[Any, ...]) -> list[Node]:
    """What small arrays wait for; nothing where one is large.

    What is written where, and under which mask, NumPy does in less time than recording it takes.
    """
    found: list[Node] = []
    for array in touched:
        node: Node | None = None
        if type(array) is LazyScalar:
            node = array._node
        elif type(array) is ndarray:
            data = array._np
            if data is None:
                node = array._node or array._base.node
                if node is None or node.key.spec.size >= config.eager_below:
                    return []
            elif data.size >= config.eager_below:
                return []
        if node is not None and node.data is None:
            found.append(node)
    return found if stays_home() else []


_RECORDED: Final = frozenset({"where", "dtype", "casting", "order", "subok", "signature", "sig"})


def call(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The general call: every keyword."""
    nin = function.nin
    if len(args) < nin or len(args) > nin + function.nout:
        return function._np(*export(args), **export(options))  # NumPy's error
    given = dict(options)
    try:
        outs = _given_out(function, given, args[nin:])
    except (TypeError, ValueError):
        return wrap(function._np(*export(args), **export(options)))  # NumPy may object to something else first
    if len(args) > nin and function.__name__ in ("maximum", "minimum"):
        function._np(0.0, 0.0, np.empty(()))  # NumPy's warning about an output by position
    args = tuple([forward(arg) for arg in args[:nin]])
    where = given.get("where", True)
    touched = (*args, *outs, where)
    managed = [a for a in touched if type(a) is ndarray and settle(a) is None and not _is_region(a, outs)]
    lazy = any(type(a) is LazyScalar and a._node.data is None for a in args)
    compiled = bool(function._ops) and all(name in _RECORDED for name in given) and not must_be_eager(args)
    if type(given.get("subok", True)) is not bool:
        compiled = False
    if compiled and any(not (type(a) is ndarray and a.dtype in COMPILED) for a in outs if a is not None):
        compiled = False
    if compiled and (managed or lazy) and (where is not True or any([out is not None for out in outs])):
        pending = _small_pending(touched)
        if pending:
            boundary.evaluate(pending, INTO_MEMORY)
            managed = [a for a in managed if settle(a) is None]
            lazy = False
    at_once = compiled and where is True and not lazy and _writes_shared(args, outs)
    if at_once:
        args = tuple([read_only(a) if type(a) is ndarray and a._np is None else a for a in args])
    elif compiled and (managed or lazy or not is_small([memory_of(a) for a in touched if a is not None])):
        try:
            recorded = _record_into(function, args, outs, where, given)
        except (TypeError, ValueError, OverflowError, AttributeError):
            recorded = NotImplemented  # NumPy decides what is wrong, and whether anything is
        if recorded is not NotImplemented:
            if where is not True and "out" not in options and all(out is None for out in outs):
                np.negative(_NOTHING, where=_NO_MASK)  # NumPy warns, from 2.4 on
            return recorded
    if at_once or (managed and not function._ops):
        ledger.fallback(function.__name__, args)
    if "out" in options:
        # Even None, where `_call_memory` has nothing better: NumPy then warns of less.
        given["out"] = None if function.nout == 1 else outs
    return _call_memory(function, args, outs, given)


def _record_into(function: Any, args: tuple[Any, ...], outs: tuple[Any, ...], where: Any, given: dict[str, Any]) -> Any:
    """`_record_call`; into memory that others can write under a mask, at once."""

    def record(targets: tuple[Any, ...], mask: Any, *taken: Any) -> Any:
        return _record_call(function, taken, targets, mask, given)

    if where is not True and loans.write_outs(outs, (where, *args), record):
        return outs[0] if function.nout == 1 else outs
    return _record_call(function, args, outs, where, given)


def _writes_shared(args: tuple[Any, ...], outs: tuple[Any, ...]) -> bool:
    """Whether results go into large memory that others can reach, from values that are there.

    NumPy does that in one pass. What is recorded would be given a copy of memory that others can write, and be copied.
    """
    if ledger.refusing or not config.eager_below:
        return False
    for out in outs:
        if type(out) is not ndarray or out.size < config.eager_below:
            return False
        take_over(out)
        if out._np is None:
            return False
    return all([type(a) is not ndarray or at_hand(a) is not None for a in args])


def _call_memory(function: Any, args: tuple[Any, ...], outs: tuple[Any, ...], given: dict[str, Any]) -> Any:
    run = function._np
    if (
        function._transcendental
        and set(given) <= {"where", "out"}
        and not must_be_eager((*args, *[o for o in outs if o is not None]))
    ):
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


def _record_call(function: Any, args: tuple[Any, ...], outs: tuple[Any, ...], where: Any, given: dict[str, Any]) -> Any:
    if any(out is not None and not out.flags.writeable for out in outs):
        raise ValueError("output array is read-only")
    operands, perm = operands_of(args)
    if not any(type(o) is Node for o in operands):
        return NotImplemented  # numbers only: nothing to wait for
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
    if mask is not None and perm is not None:
        perm = None
        operands = tuple([as_operand(a) for a in args])
    plan: list[Any] = []
    dtypes = tuple(o.dtype if o is not None else None for o in outs)
    out_shapes = tuple([o.shape for o in outs if o is not None])
    if len(function._ops) > 1:
        given_dtypes = (*map(given_dtype, operands), *dtypes)
        resolve_loop(function._np, given_dtypes, casting)  # errors name the ufunc
    for place, name in enumerate(function._ops):
        whole = OPS[name].ufunc is function._np
        if not whole and signature is not None:
            return NotImplemented
        own = dtypes if whole else (dtypes[place],)
        key = typed_key(name, operands, own, (signature, casting), out_shapes)
        if key is None:
            return NotImplemented
        plan.append(key)
    shape = plan[0].spec.shape
    if perm is not None:
        shape = tuple([shape[perm.index(axis)] for axis in range(len(shape))])
    if mask is not None:
        shape = broadcast_shape((shape, mask.key.spec.shape))
    if shape is None:
        raise ValueError("the mask does not broadcast")
    _check_outs(function, args, outs, where, shape)
    if signature is None or function.__name__ != "power":
        check_power(function, operands)
    else:
        codes = plan[0].attr[1]
        as_taken = [cast_(o, dtype_of(c)) if type(o) is Node else o for o, c in zip(operands, codes, strict=True)]
        check_power(function, tuple(as_taken))
    nodes = []
    for name, key in zip(function._ops, plan, strict=True):
        simple = signature is None
        taken = operands if mask is None or not key.raises else _shielded(name, operands, key.spec.shape, mask)
        if not simple:
            taken = tuple([_as_loop_takes_it(o, code) for o, code in zip(taken, key.attr[1], strict=True)])
        nodes.append(map_(OPS[name], taken) if simple else map_key(key, taken))
    if len(nodes) > 1:
        join(function.__name__, nodes)
    return _deliver(nodes, outs, mask, shape, perm, order)


def _mask_of(where: Any) -> Node | None:
    if where is True:
        return None
    mask = as_operand(np.asarray(where, bool) if isinstance(where, list | tuple) else where)
    if mask is None:
        raise TypeError("where is no mask")
    if type(mask) is not Node:
        mask = _node_of_number(np.bool_(mask))
    if mask.key.spec.dtype != _BOOL:
        raise TypeError(
            f"Cannot cast array data from {mask.key.spec.dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    return mask


def _shielded(name: str, operands: tuple[Any, ...], shape: Any, mask: Node) -> tuple[Any, ...]:
    """f(a, b) under a mask -> f(where(mask, a, c), where(mask, b, c)), with a `c` for which f raises nothing.

    Exact: what is computed outside the mask is never stored. NumPy does not compute it, so it must not raise.
    """
    quiet = harmless(name)
    ufunc = OPS[name].ufunc
    try:
        with np.errstate(all="raise"):
            assert ufunc is not None
            ufunc(*[quiet if type(o) is Node else o for o in operands])
    except FloatingPointError:
        return operands  # with this number for the other operand there is no such `c`
    if broadcast_shape((shape, mask.key.spec.shape)) != shape:
        return operands  # elements that some places of the mask want and others do not
    return tuple([map_("where", (mask, o, o.key.spec.dtype.type(quiet))) if type(o) is Node else o for o in operands])


def _as_loop_takes_it(operand: Any, code: str) -> Any:
    """The operand with a cast of its own where casting it can raise."""
    if type(operand) is Node and cast_raises(operand.key.spec.code, code):
        return cast_(operand, dtype_of(code))
    return operand


def _node_of_number(number: Any) -> Node:
    array = np.asarray(number)
    return fill_(number, (), array.dtype)


def _check_outs(function: Any, args: tuple[Any, ...], outs: tuple[Any, ...], where: Any, shape: Any) -> None:
    for out in outs:
        if out is None:
            continue
        if shape is None or out.shape != shape:
            joined = None if shape is None else broadcast_shape((shape, out.shape))
            if joined != out.shape:
                _refuse_out(function, args, outs, where)


_BY_ARITY: Final = {(1, 1): np.negative, (1, 2): np.modf, (2, 1): np.add, (2, 2): np.divmod}


def _refuse_out(function: Any, args: tuple[Any, ...], outs: tuple[Any, ...], where: Any) -> None:
    """NumPy's words for outputs that do not fit, from NumPy, on arrays without elements of their own."""

    def stand_in(operand: Any, code: str = "f8") -> Any:
        return dummy(operand.shape if type(operand) is ndarray else np.shape(operand), np.dtype(code))

    ufunc = _BY_ARITY.get((function.nin, function.nout), np.add)
    results = tuple([None if out is None else np.empty(out.shape) for out in outs])
    ufunc(*map(stand_in, args[: ufunc.nin]), out=results, where=True if where is True else stand_in(where, "b1"))


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
                plain_node = value(array_of(node, perm)) if node.key.spec.shape else node
                spec = plain_node.key.spec
                node = update_(empty_(shape, spec.dtype), identity(shape), plain_node, mask)
                results.append(from_node(node) if shape else scalar_from_node(node))
                continue
            found = array_of(node, perm)
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


# Last: arrays need what is above, and any of these modules may be imported first.
from lazyarray.frontend import loans  # noqa: E402
from lazyarray.frontend.array import (  # noqa: E402
    from_node,
    from_node_as,
    ndarray,
    read_only,
    settle,
    take_over,
    to_numpy,
    value,
    wrap,
)
from lazyarray.frontend.elementwise import (  # noqa: E402
    array_of,
    check_power,
    eager,
    export,
    given_dtype,
    is_small,
    memory_of,
    must_be_eager,
    operands_of,
)
from lazyarray.frontend.regions import at_hand, claim, window  # noqa: E402
from lazyarray.frontend.writing import INTO_MEMORY, as_operand, assign, write  # noqa: E402
