"""Owns operators and ufuncs on usual operands that are recorded, or computed at once where others can write those.

An `Op` serves others. One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.frontend.lent import evaluate_lent, lent_operand, lent_turned, map_of_turned  # cimport
from lazyarray.frontend.loops import NUMBERS
from lazyarray.frontend.quick import BINARY, REFLECTED, UNARY, Fields, Op, find_key, in_range, known  # cimport
from lazyarray.ir import node as node_module
from lazyarray.ir.node import Key, Node, finish_waiting  # cimport

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.quick import managed, node_of, operand_of, record_node, turned_value  # cimport
from lazyarray.native.primitives import site_here  # cimport

_NUMBERS: Final = NUMBERS
_waiting: Final = node_module.WAITING


def _node_of(key: Key, args: tuple[Any, ...], site: Any, lent: bool) -> Node:
    """The operator recorded, and evaluated where one of its operands is `lent`."""
    node = record_node(key, args, site)
    if lent:
        evaluate_lent(node)
    return node


def record_turned(op: Op, self: Fields, other: Any, form: int, site: Any) -> Any:
    """An operator on an array that is `turned`, whose result NumPy turns alike; None where that takes thought."""
    if op.reads_exponents:
        return None
    own = turned_value(self, site)
    lent = False
    if own is None:
        own = lent_turned(self, site)
        if own is None:
            return None
        lent = True
    view = map_of_turned(self, own)
    kind = type(other)
    args: Any = (own, other)
    if form == UNARY:
        found = find_key(op, own.key.spec, None)
        args = (own,)
    elif kind is known.array:
        second: Fields = other
        right = own if other is self else turned_value(second, site)
        if right is None:
            right = lent_turned(second, site)
            if right is None:
                return None
            lent = True
        if map_of_turned(second, right) != view or right.key.spec.shape != own.key.spec.shape:
            return None
        found = find_key(op, own.key.spec, right.key.spec)
        args = (own, right)
    elif kind is not float and not (kind is int and -128 <= other <= 127) and (kind is int or kind not in _NUMBERS):
        return None
    elif form == REFLECTED:
        found = in_range(find_key(op, kind, own.key.spec), other)
        args = (other, own)
    else:
        found = in_range(find_key(op, own.key.spec, kind), other)
    if type(found) is not Key:
        return None
    return known.turn(_node_of(found, args, site, lent), view)


def record_unary(op: Op, self: Fields, site: Any) -> Any:
    """`op` over one array."""
    value = node_of(self, site) if self._np is None else None
    lent = False
    if value is None:
        found = record_turned(op, self, None, UNARY, site)
        if found is not None:
            return found
        value = lent_operand(self, site)
        if value is None:
            return op.slow(self)
        lent = True
    found = find_key(op, value.key.spec, None)
    if type(found) is Key:
        key: Key = found
        if key.spec.shape:
            return managed(_node_of(key, (value,), site, lent))
    return op.slow(self)


def record_binary(op: Op, self: Fields, other: Any, plain: int, compiled: int) -> Any:
    """`op` over an array and anything; `plain`, `compiled`: as of `usual.binary`, from here."""
    if _waiting.open:
        found = known.go_on(op, self, other, BINARY, plain + 1, compiled)
        if found is not None:
            return found
    left = None if self._np is not None else self._node
    site = site_here(plain + 1, compiled)
    lent = False
    if left is None or left.data is not None:
        left = operand_of(self, site)
        if left is None:
            found = record_turned(op, self, other, BINARY, site)
            if found is not None:
                return found
            left = lent_operand(self, site)
            if left is None:
                return op.slow(self, other)
            lent = True
    kind = type(other)
    if kind is known.array:
        second: Fields = other
        right = None if second._np is not None else second._node
        if right is None or right.data is not None:
            right = left if other is self else operand_of(second, site)
            if right is None:
                right = lent_operand(second, site)
                if right is None:
                    return op.slow(self, other)
                lent = True
        found = find_key(op, left.key.spec, right.key.spec)
        args: Any = (left, right)
    elif kind is float:
        found = in_range(find_key(op, left.key.spec, float), other)
        args = (left, other)
    elif kind is int and -128 <= other <= 127:
        found = in_range(find_key(op, left.key.spec, int), other)
        args = (left, other)
    elif kind is known.scalar:
        right = other._node
        found = find_key(op, left.key.spec, right.key.spec)
        args = (left, right)
    elif kind is not int and kind in _NUMBERS:
        found = in_range(find_key(op, left.key.spec, kind), other)
        args = (left, other)
    else:
        return op.slow(self, other)
    if type(found) is Key:
        key: Key = found
        if key.spec.shape and not (op.reads_exponents and left.key.spec.dtype.kind in "biu"):
            return managed(_node_of(key, args, site, lent))
    return op.slow(self, other)


def record_reflected(op: Op, self: Fields, number: Any) -> Any:
    """Records `op` over a number and an array; None where that takes thought."""
    site = site_here(3, 0)
    lent = False
    right = node_of(self, site) if self._np is None else None
    if right is None:
        found = record_turned(op, self, number, REFLECTED, site)
        if found is not None:
            return found
        right = lent_operand(self, site)
        if right is None:
            return None
        lent = True
    found = in_range(find_key(op, type(number), right.key.spec), number)
    if type(found) is Key:
        key: Key = found
        if key.spec.shape:
            return managed(_node_of(key, (number, right), site, lent))
    return None


def write_into(op: Op, out: Fields, self: Fields, other: Any, form: int, plain: int, compiled: int) -> bool:
    """`op` into all of a large array (`out=`), whose shape and dtype the result has; False where that takes thought."""
    if out._np is not None or op.reads_exponents:
        return False
    finish_waiting()
    base = None
    value: Node | None = out._node
    if value is None:
        if out._map is not None or out._fixed or out._part is not None:
            return False
        base = out._base
        value = base.node
        if value is None:
            return False
    site = site_here(plain + 1, compiled)
    left = operand_of(self, site)
    if left is None:
        return False
    kind = type(other)
    key: Any = None
    args: Any = (left, other)
    # `get`: as for `in_place`.
    if form == UNARY:
        key = op.known.get((left.key.spec,))
        args = (left,)
    elif kind is known.array:
        right = operand_of(other, site)
        if right is not None:
            key = op.known.get((left.key.spec, right.key.spec))
            args = (left, right)
    elif kind is float or (kind is int and -128 <= other <= 127):
        key = in_range(op.known.get((left.key.spec, kind)), other)
    if type(key) is not Key or key.spec is not value.key.spec:
        return False
    node = record_node(key, args, site)
    if base is None:
        out._node = node
    else:
        base.node = node
    return True
