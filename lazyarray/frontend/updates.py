"""Owns the keys of recorded writes, and those under masks that take no thought.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.frontend.loops import MEMO_LIMIT, key_of
from lazyarray.frontend.quick import Fields, limits, record_node  # cimport
from lazyarray.ir import index_map
from lazyarray.ir.index_map import IndexMap
from lazyarray.ir.node import Key, Node, Spec  # cimport
from lazyarray.native.primitives import site_outside  # cimport

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.quick import tell

CHAIN: Final = 8  # recorded small writes after which an array is taken to be written piece by piece
_CHAIN: Final = CHAIN  # in C
_UPDATES: dict[Any, Key | None] = {}
_UNDER_MASKS: dict[Any, Key] = {}


def update_key(spec: Spec, region: IndexMap) -> Key | None:
    """The key of an update of `region`; None where that is everything."""
    token = (spec, region)
    try:
        return _UPDATES[token]
    except KeyError:
        attr = (region.offset, region.shape, region.strides, False)
        found = None if index_map.is_identity(region, spec.shape) else key_of("update", attr, spec)
        if len(_UPDATES) >= MEMO_LIMIT:
            _UPDATES.clear()
        _UPDATES[token] = found
        return found


def put_under_mask(array: Fields, over: Fields, new: Any) -> bool:
    """Records a number put under a mask of the array's shape, where neither shares its value."""
    if over._np is not None:
        return False
    root: Node | None = array._node
    mask: Node | None = over._node
    if root is None or mask is None:
        return False
    spec: Spec = root.key.spec
    if spec.code != "f8" or mask.key.spec.code != "b1" or mask.key.spec.shape != spec.shape or not spec.shape:
        return False
    if type(new) is int and -128 <= new <= 127:
        new = float(new)
    elif type(new) is not float:
        return False
    if (root.data is not None or mask.data is not None) and spec.size < limits.eager:
        return False
    if not spec.size or _is_chain(root):
        return False
    update = _UNDER_MASKS.get(spec)
    if update is None:
        region = index_map.identity(spec.shape)
        update = key_of("update", (region.offset, region.shape, region.strides, True), spec)
        if len(_UNDER_MASKS) >= MEMO_LIMIT:
            _UNDER_MASKS.clear()
        _UNDER_MASKS[spec] = update
    array._node = record_node(update, (root, new, mask), site_outside(1))
    return True


def _is_chain(root: Node) -> bool:
    """True after so many recorded writes that the array is looked at."""
    node: Any = root
    for _ in range(_CHAIN):
        if type(node) is not Node:
            return False
        written: Node = node
        if not written.key.writes or not written.args:
            return False
        node = written.args[0]
    return True


tell(update_key=update_key)
