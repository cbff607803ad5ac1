"""Owns writes into arrays: what may be written where, and the node or the memory that a write becomes."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NoReturn

import numpy as np

from lazyarray.frontend.foreign import forward
from lazyarray.frontend.record import (
    COMPILED,
    IMMEDIATE,
    broadcast_,
    broadcast_shape,
    cast_,
    fill_,
    map_,
    update_,
    view_,
)
from lazyarray.ir.index_map import identity, is_identity
from lazyarray.ir.node import Node, Shape, leaf
from lazyarray.runtime import evaluate as boundary

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_nparray: Final = np.ndarray
INTO_MEMORY: Final = "it is written into an array that is in memory, a small one for instance"


def refuse_write() -> NoReturn:
    raise ValueError("assignment destination is read-only")


def assign(array: core.ndarray, values: Any, where: Any = None, casting: Any = "unsafe") -> None:
    """Writes all of the array, where `where` (a mask that broadcasts) is true; `casting` as in `numpy.copyto`."""
    core.take_over(array)
    if where is None and casting == "unsafe" and array._np is None and array._node is None:
        target: Any = core.regions.claim(array) if core.regions.is_there(values, array.dtype) else None
        if target is not None:
            target[...] = core.regions.source_of(values)
            return
    recordable = _recordable(where)
    under_mask = array._np is not None and where is not None and recordable
    if under_mask and loans.write(array, (values, where), partial(assign, casting=casting)):
        return
    new = None if array._np is not None or not recordable else as_operand(values)
    if new is None:
        target = core.to_numpy(array)
        source, mask = to_memory(values), True if where is None else to_memory(where)
        if where is None and casting == "unsafe":
            target[...] = source
        else:
            np.copyto(target, source, casting=casting, where=mask)
        return
    if casting != "unsafe":
        check_casting(new, array.dtype, casting)
    write(array, new, None if where is None else _mask_node(where, array.shape))


def _recordable(where: Any) -> bool:
    return where is None or type(where) in (core.ndarray, bool, np.bool_, _nparray, scalar.LazyScalar)


def _mask_node(where: Any, shape: Shape) -> Node:
    node = as_operand(where)
    if type(node) is not Node:
        node = fill_(node, (), np.dtype(bool))
    if node.key.spec.code != "b1":
        raise TypeError(
            f"Cannot cast array data from {node.key.spec.dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    check_fits(node.key.spec.shape, shape)
    return node


def check_casting(new: Any, dtype: DType, casting: Any) -> None:
    """Raises NumPy's TypeError where values may not be cast to `dtype`."""
    if type(new) is Node:
        np.copyto(np.empty(0, dtype), np.empty(0, new.key.spec.dtype), casting=casting)
    else:
        np.copyto(np.empty((), dtype), new, casting=casting)


def check_fits(shape: Shape, target: Shape) -> None:
    """Raises NumPy's ValueError where values of `shape` cannot be written into `target`."""
    trimmed = shape
    while len(trimmed) > len(target) and trimmed[0] == 1:
        trimmed = trimmed[1:]
    if trimmed != target and broadcast_shape((trimmed, target)) != target:
        source_text, target_text = (
            "(" + ",".join(map(str, s)) + ("," if len(s) == 1 else "") + ")" for s in (trimmed, target)
        )
        raise ValueError(f"could not broadcast input array from shape {source_text} into shape {target_text}")


def as_operand(values: Any) -> Any:
    """A node or a number that stands for any array-like; None where its dtype is not compiled."""
    kind = type(values)
    if kind is core.ndarray:
        data = values._np
        if data is not None:
            if data.dtype not in COMPILED:
                return None
            if data.ndim == 0:
                return data[()]
            del data
        return core.value(values)
    if kind is scalar.LazyScalar:
        return values._node
    if kind in IMMEDIATE:
        return values
    if isinstance(values, np.generic):
        return np.asarray(values)[()] if values.dtype in COMPILED else None
    if kind is int or kind is float:
        return values
    array = np.asarray(forward(values))
    if array.dtype not in COMPILED:
        return None
    if array.ndim == 0:
        return array[()]
    return leaf(np.array(array, order="C", subok=False))


def to_memory(values: Any) -> Any:
    """The operand as NumPy takes it to write it into memory, evaluated; not to be written itself."""
    kind = type(values)
    if kind is core.ndarray:
        return core.read_only(values, INTO_MEMORY)
    if kind is scalar.LazyScalar:
        return values._now(INTO_MEMORY)
    return forward(values)


def checked(new: scalar.LazyScalar, dtype: DType) -> Any:
    """The scalar, evaluated where it might not fit: NumPy's assignments of scalars refuse what does not."""
    whole = new.dtype.kind in "iu" and dtype.kind in "iu"
    return new if np.can_cast(new.dtype, dtype, "safe" if whole else "same_kind") else new._now()


def write(array: core.ndarray, new: Any, mask: Node | None = None) -> None:
    """Replaces a managed array's values by a node or a number, converting as assignment does."""
    dtype = array.dtype
    shape = array.shape
    if type(new) is Node:
        spec = new.key.spec
        if spec.shape != shape:
            check_fits(spec.shape, shape)
        if spec.dtype != dtype:
            warn_complex(spec.dtype, dtype)
            new = cast_(new, dtype)
    node = array._node
    if node is not None:
        array._node = _overwritten(node, new, mask)
        return
    if array._fixed:
        refuse_write()
    with boundary.lock:
        _write_shared(array, new, mask)


def _write_shared(array: core.ndarray, new: Any, mask: Node | None) -> None:
    base = array._base
    root = base.reclaim()
    if root is None:
        _write_memory(array, new, mask)
        return
    view = array._map
    if array._part is not None:
        if type(new) is not Node:
            new = np.asarray(new).astype(array.dtype)[()]  # a Python number says nothing about the other part's dtype
        old = root if view is None else view_(root, view)
        other = map_("imag" if array._part == "real" else "real", (old,))
        pair = (new, other) if array._part == "real" else (other, new)
        new = map_("complex", pair)
    if view is None or is_identity(view, base.spec.shape):
        base.node = _overwritten(root, new, mask)
    else:
        base.node = update_(root, view, new, mask)


def _overwritten(old: Node, new: Any, mask: Node | None) -> Node:
    spec = old.key.spec
    if mask is not None:
        return update_(old, identity(spec.shape), new, mask)
    if type(new) is Node:
        return broadcast_(new, spec.shape)
    return fill_(new, spec.shape, spec.dtype)


def _write_memory(array: core.ndarray, new: Any, mask: Node | None) -> None:
    needed = [n for n in (new, mask) if type(n) is Node and n.data is None]
    if needed:
        boundary.evaluate(needed, INTO_MEMORY)
    target = core.to_numpy(array)
    source = new.data if type(new) is Node else new
    if mask is None:
        target[...] = source
    else:
        np.copyto(target, source, casting="unsafe", where=mask.data)  # type: ignore[arg-type]


def warn_complex(given: DType, dtype: DType) -> None:
    """NumPy's warning for complex values written into memory of real numbers, at the user's line."""
    if given.kind != "c" or dtype.kind in "cb":
        return
    from lazyarray.frontend.rebase import Warnings

    Warnings.warn("Casting complex values to real discards the imaginary part", np.exceptions.ComplexWarning)


from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
from lazyarray.frontend import loans, scalar  # noqa: E402
