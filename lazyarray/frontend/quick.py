"""Owns what short ways stand on: arrays' fields, an `Op` of usual and unusual operands, and how a node is recorded.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.loops import MEMO_LIMIT
from lazyarray.ir import node as node_module
from lazyarray.ir.index_map import IndexMap, is_identity
from lazyarray.ir.node import Key, Node, finish_waiting, leaf, next_sequence, spec_of  # cimport
from lazyarray.native.primitives import copy_of, create, holds_in_c_order  # cimport

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.loops import Ranged  # cimport
from lazyarray.native.primitives import kind_of_memory, part_of, present, size_of_memory, token_of, weak  # cimport
from lazyarray.native.recycled import quicken, quicken_below, quicken_flat, recent, recycle, reused  # cimport
from lazyarray.runtime import budget
from lazyarray.runtime.floating import LAST, STATE

_nparray: Final = np.ndarray
FLOAT64: Final = np.float64
COMPLEX128: Final = np.complex128
INT64: Final = np.int64
_ZERO: Final = np.float64(0.0)
# What `kind_of_memory` says of arrays, of numbers by their class; others are 0.
KINDS: Final[dict[Any, int]] = {
    **{np.dtype(code).type: 1 for code in "?bhilqBHILQ"},
    **{np.dtype(code).type: 2 for code in "efdFD"},
    float: 2,
    complex: 2,
    int: 1,
}
# Operators of one expression are joined from this part of `eager_below` on: the look for it costs 2 % of one there.
_MIDDLE: Final = 12
_last: Final = LAST
_state: Final = STATE
_tape: Final = node_module.TAPE
_TAPE_LIMIT: Final = budget.TAPE_LIMIT


class Limits:
    """`config.eager_below`, where it is read fast, and from how many elements on operators may wait for others."""

    __slots__ = ("eager", "middle")

    def __init__(self) -> None:
        self.eager = self.middle = 0


limits: Final = Limits()
UNARY: Final = 1
BINARY: Final = 2
REFLECTED: Final = 3
"""The forms of an operator: over an array; over an array and anything; over a number and an array."""
_swift: list[Any] = []  # ops that know what runs on floats, until settings change


def _follow() -> None:
    limits.eager = min(config.eager_below, 1 << 62)
    joined = config.backend != "numpy" and config.numerics != "numpy" and limits.eager
    limits.middle = limits.eager // _MIDDLE if joined else 1 << 62
    quicken_below(limits.eager)
    for op in _swift:
        op.swift = None
    _swift.clear()


config.followers.append(_follow)
_follow()


class Op:
    """An operator or ufunc of one or two arguments: what runs on memory, and who serves unusual operands."""

    __slots__ = (
        "compute", "earlier", "in_place", "known", "last", "memo", "name", "own", "reads_exponents", "reflected",
        "slow", "swift",
    )  # fmt: skip

    def __init__(self, name: str, compute: Any, memo: Any, own: Any = None, slow: Any = None) -> None:
        self.name = name
        self.compute = compute  # NumPy's ufunc
        self.memo = memo
        self.known = memo.known
        self.own = own  # finds the ufunc with compiled kernels' bits for the operands, or None: NumPy's has them
        self.slow = slow
        self.swift: Any = None  # what `own` finds for floats where floating-point errors may wait
        self.reads_exponents = name == "power"  # of integers: these go the general way where they are recorded
        self.reflected: Any = None
        self.in_place: Any = None
        # The operands last asked for, and what the memo had of them: a loop asks for the same again, and often for
        # two kinds in turns, such as two arrays and an array and a number.
        self.last: tuple[Any, Any, Any] = (None, None, None)
        self.earlier: tuple[Any, Any, Any] = (None, None, None)


class Known:
    """What is imported after this module, or works on the class that it serves."""

    __slots__ = (
        "adopt",
        "array",
        "flat",
        "go_on",
        "is_unaware",
        "memory",
        "note_errors",
        "order_of",
        "part_key",
        "power",
        "put_waiting",
        "read_present",
        "scalar",
        "show",
        "square",
        "start",
        "take",
        "take_over",
        "turn",
        "unaware",
        "update_key",
        "view_key",
        "wake",
        "way_turned",
        "window",
        "write_now",
    )

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init__(self) -> None:
        self.array: Any = None
        self.memory: Any = _nparray


known: Final = Known()


def tell(**found: Any) -> None:
    """Fills `known`."""
    for name, item in found.items():
        setattr(known, name, item)
    if "array" in found:
        recycle(known.array)
        quicken(
            known.array,
            _nparray,
            (
                ("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "strides"),
                ("T", "real", "imag"),
                (),
                ("flags",),
                ("base",),
            ),
        )
    if "flat" in found:
        quicken_flat(known.flat)


def recent_handles() -> list[Any]:
    """Arrays in use, most of the last ones among them, where the garbage collector does not know them by age."""
    return recent()


class Fields:
    """The fields of an array; `array.py` says what they mean."""

    __slots__ = ("__weakref__", "_base", "_fixed", "_map", "_node", "_np", "_part")

    _np: Any  # np.ndarray | None
    _node: Any  # Node | None
    _base: Any  # Base
    _map: Any  # IndexMap | None
    _part: Any  # str | None
    _fixed: Any  # bool


# ---- recording


def record_node(key: Key, args: tuple[Any, ...], site: Any) -> Node:
    """A new node on the tape."""
    finish_waiting()
    return new_node(key, args, site)


def new_node(key: Key, args: tuple[Any, ...], site: Any) -> Node:
    """`record_node`, whatever waits."""
    node = _put(key, args, site)
    if key.raises:
        state = present(_state)
        node.errors = state
        if state is not _last.waits:
            known.note_errors(node)
    if len(_tape) >= _TAPE_LIMIT:
        budget.flush_if_due()
    return node


def record_silent(key: Key, args: tuple[Any, ...], site: Any) -> Node:
    """`record_node` of one of whose floating-point errors nothing is told."""
    finish_waiting()
    node = _put(key, args, site)
    if len(_tape) >= _TAPE_LIMIT:
        budget.flush_if_due()
    return node


def _put(key: Key, args: tuple[Any, ...], site: Any) -> Node:
    """A node at the end of the tape; `Node.__init__` written out, for speed."""
    node: Node = create(Node)
    node.key = key
    node.args = args
    node.data = node.remote = None
    node.errors = None
    node.made = None
    node.site = site
    node.sequence = next_sequence()
    node.visits = node.mark = 0
    _tape.append(weak(node))
    return node


def managed(node: Node) -> Any:
    """An array that is the only one to name the node's value."""
    array: Fields = reused(known.array)
    array._np = None
    array._node = node
    return array


def wrapped(data: Any) -> Any:
    """An array over NumPy's memory."""
    array: Fields = reused(known.array)
    array._np = data
    return array


_VIEW_KEYS: dict[Any, Key] = {}
_PARTS: dict[Any, Any] = {}
_ALL: Final = object()
_NEW: Final = object()


def node_of(array: Fields, site: Any) -> Node | None:
    """A managed array's value where it takes no thought: None leaves small, exported and reordered ones to others."""
    node: Node | None = array._node
    if node is None:
        node = array._base.node
        if node is None:
            # What was lent is taken back: it is large, or small parts of it would have been read where they lie.
            node = array._base.reclaim()
            if node is None:
                return None
        if array._map is not None:
            return shown_of(array, node, site)
    if node.data is not None and node.key.spec.size < limits.eager:
        return None
    return node


def shown_of(array: Fields, node: Node, site: Any) -> Node | None:
    """What a view shows of its base's value `node`; None as of `node_of`."""
    view = array._map
    if node.data is not None and node.key.spec.size < limits.eager:
        return None
    token = (node.key.spec, view)
    key = _VIEW_KEYS.get(token)
    if key is None and not is_identity(view, node.key.spec.shape):
        if known.order_of(array) is not None:
            return None
        if len(_VIEW_KEYS) >= MEMO_LIMIT:
            _VIEW_KEYS.clear()
        key = _VIEW_KEYS[token] = known.view_key(node.key.spec, view)
    if key is not None:
        node = record_node(key, (node,), site)
    if array._part is not None:
        node = record_node(known.part_key(array._part, node.key.spec), (node,), site)
    return node


def part_in(leaf: Node, data: Any, site: Any) -> Node | None:
    """NumPy's array `data` as what it shows of `leaf`, the memory it lies in; None if it lies between elements."""
    token = token_of(data, leaf.data)
    key = _PARTS.get(token, _NEW)
    if key is _NEW:
        key = _key_of_part(leaf.key.spec, part_of(data, leaf.data))
        if len(_PARTS) >= MEMO_LIMIT:
            _PARTS.clear()
        _PARTS[token] = key
    if type(key) is Key:
        return new_node(key, (leaf,), site)
    return None if key is None else leaf


def _key_of_part(spec: Any, part: Any) -> Any:
    """The key of a view of memory; _ALL if it is all of it, in its order, and None if it lies between elements."""
    if part is None:
        return None
    view = IndexMap(*part)
    return _ALL if is_identity(view, spec.shape) else known.view_key(spec, view)


def reordered(node: Node) -> bool:
    """Whether it views memory with axes in another order than C's, which NumPy's results take on."""
    if node.key.kind != "view":
        return False
    attr: Any = node.key.attr
    outer = 0
    for step in attr[1]:
        step = -step if step < 0 else step
        if step:
            if 0 < outer < step:
                return True
            outer = step
    return False


_TURNED: dict[Any, Any] = {}


def turned(array: Fields) -> Node | None:
    """What a large array shows all of with its axes in another order: `x` where the array is `x.T`; else None."""
    node = _value_under(array)
    return node if node is not None and way_turned(array, node.key.spec) is True else None


def turned_value(array: Fields, site: Any) -> Node | None:
    """`turned`, and where the array is `x.reshape(shape).T`, `x.reshape(shape)`."""
    node = _value_under(array)
    return None if node is None else reshaped_to_turn(array, node, site)


def _value_under(array: Fields) -> Node | None:
    """The value of the large base that an array is a view of; None where it is none, or shows parts of it."""
    if array._np is not None or array._node is not None or array._part is not None or array._map is None:
        return None
    node: Node | None = array._base.node
    return None if node is None or node.key.spec.size < limits.eager else node


def reshaped_to_turn(array: Fields, node: Node, site: Any) -> Node | None:
    """What a view shows turned, of its base's value `node`; None where it does not."""
    way = way_turned(array, node.key.spec)
    if way is True:
        return node
    return record_node(way, (node,), site) if type(way) is Key else None


def way_turned(array: Fields, spec: Any) -> Any:
    """`copies.way_turned` of a view of a base of that spec, remembered."""
    token = (spec, array._map)
    found = _TURNED.get(token)
    if found is None:
        if len(_TURNED) >= MEMO_LIMIT:
            _TURNED.clear()
        found = _TURNED[token] = known.way_turned(spec, array)
    return found


def operand_of(array: Fields, site: Any) -> Node | None:
    """An array's value where it takes no thought: `node_of`, or a copy of small memory in C order."""
    data = array._np
    if data is None:
        return node_of(array, site)
    if size_of_memory(data) >= limits.eager or not holds_in_c_order(data) or not data.ndim:
        return None
    key = spec_of(data.shape, data.dtype).leaf
    if key is None:
        return None  # perhaps of a dtype that is not compiled
    return leaf(copy_of(data))


def find_key(op: Op, left: Any, right: Any) -> Any:
    """What the op's memo has of its operands, or of one and None; worked out if they are new."""
    last = op.last
    if left is last[0] and right is last[1]:
        return last[2]
    earlier = op.earlier
    if left is earlier[0] and right is earlier[1]:
        op.earlier = last
        op.last = earlier
        return earlier[2]
    operands = (left,) if right is None else (left, right)
    found = op.known.get(operands)
    if found is None:
        found = op.memo[operands]
    op.earlier = last
    op.last = (left, right, found)
    return found


def in_range(key: Any, number: Any) -> Any:
    """The key of a number in its range; None for others."""
    if type(key) is Ranged:
        ranged: Ranged = key
        return ranged.key if ranged.low <= number <= ranged.high else None
    return key


def own_of_floats(op: Op, two: bool) -> Any:
    """`own_of` one or two numbers that are computed as float64."""
    return op.compute if op.own is None else _own_of_floats(op, _ZERO, 0.0 if two else None)


def own_of(op: Op, a: Any, b: Any) -> Any:
    """The ufunc that has compiled kernels' bits for the operands; `b`: None for one operand, or an array or number."""
    first = kind_of_memory(a)
    second = first
    if b is not None:
        second = kind_of_memory(b) if type(b) is _nparray else KINDS.get(type(b), 0)
    if not first or not second:
        return (op.own(op.name, a) if b is None else op.own(op.name, a, b)) or op.compute
    if op.reads_exponents and first == 1 and second == 1:
        return op.compute  # integers have NumPy's own loop
    return _own_of_floats(op, a, b)


def _own_of_floats(op: Op, a: Any, b: Any) -> Any:
    """`own_of` where not all are integers with a loop of their own; known while floating-point errors may wait."""
    if op.swift is not None and present(_state) is _last.waits:
        return op.swift
    found = op.own(op.name, a) if b is None else op.own(op.name, a, b)
    if found is None:
        return op.compute
    found = getattr(found, "inexact", found)
    if op.swift is None and present(_state) is _last.waits:
        op.swift = found
        _swift.append(op)
    return found
