"""Owns short ways with large memory that others can write, too: it is read and written where it lies, at once.

What is recorded would need a copy of it, which takes as long as an operator. One of the modules that may run compiled
(see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.loops import COMPILED, IMMEDIATE, MEMO_LIMIT
from lazyarray.frontend.quick import Fields, Op, known, limits, wrapped  # cimport
from lazyarray.ir.index_map import identity, transpose
from lazyarray.ir.node import Node, leaf, spec_of  # cimport
from lazyarray.native.loops import run_into  # cimport
from lazyarray.native.parts import read_at, write_at  # cimport
from lazyarray.native.primitives import count, holds_in_c_order, holds_numbers, is_open, selected_by  # cimport
from lazyarray.runtime.ledger import ledger

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.quick import managed, part_in, reordered, reshaped_to_turn, shown_of  # cimport
from lazyarray.native.primitives import size_of_memory, whole_of  # cimport
from lazyarray.runtime.evaluate import SHARED

# isort: split
from lazyarray.runtime.evaluate import evaluate  # cimport

_nparray: Final = np.ndarray
_IMMEDIATE: Final = IMMEDIATE


def _memory_of(array: Fields) -> Any:
    """Large memory of an array, or of a view's base, that others can write; None where nothing may be evaluated."""
    data = array._np
    if data is None:
        if array._node is not None:
            return None
        base = array._base
        if base.memory is None or base.reclaim() is not None:
            return None
        data = base.memory
    if not limits.eager or size_of_memory(data) < limits.eager or ledger.refusing:
        return None
    if array._np is not None and count(data) <= _ALONE:
        data = None
        known.take_over(array)
        return array._np
    return data


def is_lent(array: Fields) -> bool:
    """Whether others refer to a plain array's memory; perhaps False where that takes thought. The caller does not."""
    data = array._np
    if count(data) > _ALONE:
        return True
    whole = whole_of(data)
    return whole is not None and whole is not data and count(whole) > _ALONE_BELOW


def read_lent(array: Fields, key: Any) -> Any:
    """`array[key]` of a large plain array, an element or a view, where its memory is lent; None elsewhere."""
    if not is_lent(array):
        return None
    found = read_at(array._np, key, None)
    return wrapped(found) if type(found) is _nparray else found


def write_lent(array: Fields, key: Any, value: Any) -> bool:
    """`array[key] = value` into a small part of a large plain array whose memory is lent; False: nothing has happened.

    `key` is basic.
    """
    if (type(value) is not _nparray and type(value) not in _IMMEDIATE) or not is_lent(array):
        return False
    data = array._np
    if not holds_numbers(data) or not 0 < selected_by(key, data.shape) < limits.eager:
        return False
    if not write_at(data, key, value):
        data[key] = value
    return True


def update_lent(op: Op, array: Fields, other: Any) -> bool:
    """`op` and assignment to a large plain array whose memory is lent, by NumPy; False: nothing has happened."""
    if ledger.refusing or not limits.eager or op.own is not None or not is_lent(array):
        return False
    kind = type(other)
    if kind is known.array:
        second: Fields = other
        given = second._np
        if given is None:
            node: Node | None = second._node
            given = None if node is None else node.data
        if given is None:
            return False
    elif kind is float or kind is int:
        given = other
    else:
        return False
    ledger.fallback(op.name, (array, other))
    run_into(op.compute, array._np, given)
    return True


def lent_operand(array: Fields, site: Any) -> Node | None:
    """All of such an array as a node, where that takes no thought; None elsewhere."""
    data = _memory_of(array)
    if data is None:
        return None
    whole = data if array._np is None or holds_in_c_order(data) else whole_of(data)
    if whole is None or not is_open(whole):
        return None
    spec = spec_of(whole.shape, whole.dtype)
    if spec.leaf is None and spec.dtype not in COMPILED:
        return None
    node = leaf(whole)
    if whole is not data:
        shown = part_in(node, data, site)
        return None if shown is None or reordered(shown) else shown
    return shown_of(array, node, site) if array._np is None and array._map is not None else node


def lent_turned(array: Fields, site: Any) -> Node | None:
    """The same of an array with its axes in another order than its memory, which the node has (`map_of_turned`)."""
    data = _memory_of(array)
    if data is None:
        return None
    plain = array._np is not None
    if plain:
        if holds_in_c_order(data):
            return None
        data = data.T
    elif array._map is None or array._part is not None:
        return None
    if not is_open(data):
        return None
    spec = spec_of(data.shape, data.dtype)
    if spec.leaf is None and spec.dtype not in COMPILED:
        return None
    if not plain:
        return reshaped_to_turn(array, leaf(data), site)
    return None if 1 in spec.shape else leaf(data)


def map_of_turned(array: Fields, node: Node) -> Any:
    """How an array that is turned shows the node that it was told to be."""
    if array._np is None:
        return array._map
    spec = node.key.spec
    found = _REVERSED.get(spec)
    if found is None:
        if len(_REVERSED) >= MEMO_LIMIT:
            _REVERSED.clear()
        found = _REVERSED[spec] = transpose(identity(spec.shape), tuple(range(len(spec.shape) - 1, -1, -1)))
    return found


_REVERSED: dict[Any, Any] = {}


def stand_in(array: Fields, site: Any) -> Any:
    """An array that shows the same, for a call whose result is evaluated before anybody writes; None elsewhere.

    None also for plain memory with gaps: NumPy's sums walk it in another order than what has none.
    """
    if array._np is None or holds_in_c_order(array._np):
        node = lent_operand(array, site)
        if node is not None:
            return managed(node)
    node = lent_turned(array, site)
    return None if node is None else known.turn(node, map_of_turned(array, node))


def evaluate_lent(node: Node) -> None:
    """Evaluates what was made of such operands."""
    evaluate([node], SHARED, True, True)


def _seen(array: Fields) -> int:
    data = array._np
    return count(data)


def _seen_below(array: Fields) -> int:
    whole = whole_of(array._np)
    return count(whole)


def _over(data: Any) -> Fields:
    array = Fields()
    array._np = data
    return array


# What counting shows in functions like these of memory that only its array refers to, and of memory that only what an
# array shows refers to.
_ALONE: Final = _seen(_over(np.empty(1)))
_ALONE_BELOW: Final = _seen_below(_over(np.empty(2)[:1]))
