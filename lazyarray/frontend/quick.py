"""Owns the short ways: nodes and values made without a detour, for the steps that most operations take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from weakref import ref

from lazyarray.config import config
from lazyarray.frontend.record import MEMO_LIMIT, note_errors, view_key
from lazyarray.ir import node as node_module
from lazyarray.ir.index_map import is_identity
from lazyarray.ir.node import TAPE, Key, Node
from lazyarray.runtime import evaluate as boundary

next_sequence: Final[Callable[[], int]] = node_module._sequence
_new: Final[Any] = object.__new__


def record_node(key: Key, args: tuple[Any, ...], frame: Any) -> Node:
    """A new node on the tape, for the place where `frame` stands; `Node.__init__` written out, for speed."""
    node: Node = _new(Node)
    node.key = key
    node.args = args
    node.data = node.remote = None
    node.errors = None
    node.site = (frame.f_code, frame.f_lasti, frame.f_globals)
    node.sequence = next_sequence()
    node.visits = 0
    TAPE.append(ref(node))
    if key.raises:
        note_errors(node)
    if len(TAPE) >= boundary.TAPE_LIMIT:
        boundary.flush()
    return node


_VIEW_KEYS: dict[Any, Key] = {}


def node_of(array: Any, frame: Any) -> Node | None:
    """A managed array's value where it takes no thought: None leaves small, exported and reordered ones to others."""
    node: Node | None = array._node
    if node is None:
        node = array._base.node
        if node is None:
            return None
        view = array._map
        if view is not None:
            if array._part is not None or node.key.spec.size < config.eager_below:
                return None
            token = (node.key.spec, view)
            key = _VIEW_KEYS.get(token)
            if key is None:
                if is_identity(view, node.key.spec.shape):
                    return node
                if order_of(array) is not None:
                    return None
                if len(_VIEW_KEYS) >= MEMO_LIMIT:
                    _VIEW_KEYS.clear()
                key = _VIEW_KEYS[token] = view_key(node.key.spec, view)
            return record_node(key, (node,), frame)
    if node.data is not None and node.key.spec.size < config.eager_below:
        return None
    return node


# Last: either module may be imported first.
from lazyarray.frontend.copies import order_of  # noqa: E402
