"""Owns operators and ufuncs on usual operands: NumPy's own loop on small memory, else `recorded.py`.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.loops import NUMBERS
from lazyarray.frontend.quick import BINARY, REFLECTED, UNARY, Fields, Op, in_range, known, limits  # cimport
from lazyarray.frontend.spans import PER, SPANS, learn
from lazyarray.ir import node as node_module
from lazyarray.ir.installed import POWER_READS_SCALARS
from lazyarray.ir.node import Key, Node, finish_waiting  # cimport
from lazyarray.native.loops import doubles_of, run_binary, run_into, run_numbers, run_unary  # cimport
from lazyarray.native.primitives import bytes_of_memory, holds_in_c_order, kind_of_memory, same_shape  # cimport
from lazyarray.runtime import evaluate as boundary

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.quick import node_of, operand_of, own_of, record_node, wrapped  # cimport
from lazyarray.frontend.small import listed  # cimport
from lazyarray.native.primitives import site_here, size_of_memory, span_here  # cimport

# isort: split
from lazyarray.frontend.lent import update_lent  # cimport
from lazyarray.frontend.quick import own_of_floats  # cimport
from lazyarray.frontend.recorded import record_binary, record_reflected, record_unary  # cimport

_nparray: Final = np.ndarray
_NUMBERS: Final = NUMBERS
_SHORT_POWERS: Final = frozenset({-1, 0, 0.5, 1, 2})
_ROW_COST: Final = 16
_SHORT_ROW: Final = 64  # `LAZYARRAY_SHORT` in `native/loops.pxd`
_PER: Final = PER
_waiting: Final = node_module.WAITING
_spans: Final = SPANS


def broadcast_cost(a: Any, b: Any, joined: bool = False) -> int:
    """What NumPy's walk over two shapes that fit costs, in elements of one that goes straight on.

    A row is what its inner loop takes at once: the last axes along which both operands move, or one of them. Each row
    but the first costs 4 to 9 ns beside 0.25 ns for an element in a cache (Zen 4, NumPy 2.4). `joined`: short rows are
    put together before a loop takes them (`lazyarray_run_rows` in `native/loops.pxd`).
    """
    if len(a) < len(b):
        a, b = b, a
    size = rows = row = 1
    way = turns = 0
    lead = len(a) - len(b)
    for place in range(len(a) - 1, -1, -1):
        extent = a[place]
        other = b[place - lead] if place >= lead else 1
        if extent == other:
            if extent == 1:
                continue
            here = 1
        elif other == 1:
            here = 2
        else:
            extent = other
            here = 3
        turns += way != 0 and way != here
        way = here
        size *= extent
        if joined and turns == 1 and row < _SHORT_ROW:
            continue  # rows beside each other
        if turns:
            rows *= extent
        else:
            row *= extent
    return size + _ROW_COST * (rows - 1)


def of_float(op: Op, number: Any) -> Any:
    """`op` of a float, Python's or NumPy's."""
    return run_numbers(own_of_floats(op, False), number, None)


def of_floats(op: Op, x: Any, y: Any) -> Any:
    """`op` of two numbers that are computed as float64."""
    return run_numbers(own_of_floats(op, True), x, y)


def of_complex(op: Op, x: Any, y: Any) -> Any:
    """`op` of one or two numbers, some of them complex; `y`: None for one. None where `op` has no loop for them."""
    own = own_of_floats(op, y is not None)
    try:
        return own(x) if y is None else own(x, y)
    except TypeError:
        return None


def _spreads(a: Any, b: Any, n: int, m: int) -> bool:
    """True where the walk over two arrays of so many elements costs the limit."""
    # Less than a seventeenth: no walk over so few elements does.
    few = n * m < limits.eager // (_ROW_COST + 1)
    if few or same_shape(a, b):
        return False
    joined = holds_in_c_order(b if m > n else a)
    return broadcast_cost(a.shape, b.shape, joined) >= limits.eager


def _of_listed(op: Op, a: Any, other: Any, reflected: bool) -> Any:
    """`op` over small memory and a list or tuple of numbers; None where that takes thought: nothing has happened."""
    b = listed(other)
    if b is None:
        return None
    if _spreads(a, b, size_of_memory(a), size_of_memory(b)):
        return None
    if reflected:
        a, b = b, a
    try:
        return run_binary(op.compute if op.own is None else own_of(op, a, b), a, b)
    except TypeError:
        return None  # as in `binary`


def lies_beside(a: Any, n: int, other: Any) -> bool:
    """True for NumPy's own array of few numbers that NumPy walks over together with `a`, of `n` elements, quickly."""
    m = size_of_memory(other)
    return m < limits.eager and kind_of_memory(other) != 0 and not _spreads(a, other, n, m)


def of_memory(op: Op, a: Any, b: Any) -> Any:
    """`op` of an array of NumPy's own and of `b`, if not None, anybody's memory; None where that takes thought."""
    n = size_of_memory(a)
    if n >= limits.eager or not kind_of_memory(a):
        return None
    if b is not None and not lies_beside(a, n, b):
        return None
    finish_waiting()
    compute = op.compute
    if op.own is not None:
        compute = own_of(op, a, b)
    found = run_unary(compute, a) if b is None else run_binary(compute, a, b)
    return wrapped(found) if type(found) is _nparray else found


def unary(op: Op, self: Fields, plain: int, compiled: int) -> Any:
    """`op` over one array; the user's line is `plain` frames above the caller, `compiled` of them Python's always."""
    a = self._np
    if a is None and self._node is None:
        a = known.window(self)
    if a is not None:
        large = size_of_memory(a) >= limits.eager
        if large and (self._np is None or holds_in_c_order(a)):
            a = None
            return record_unary(op, self, site_here(plain + 1, compiled))
        if size_of_memory(a) >= limits.middle and self._np is not None:
            a = None
            found = join(op, self, None, UNARY, plain + 1, compiled)
            if found is not None:
                return found
            a = self._np
        if large:
            a = None
            return record_unary(op, self, site_here(plain + 1, compiled))
        compute = op.compute
        if op.own is not None:
            compute = own_of(op, a, None)
            a = doubles_of(a)
        found = run_unary(compute, a)
        return wrapped(found) if type(found) is _nparray else found
    if _waiting.open:
        found = known.go_on(op, self, None, UNARY, plain + 1, compiled)
        if found is not None:
            return found
    return record_unary(op, self, site_here(plain + 1, compiled))


def binary(op: Op, self: Fields, other: Any, plain: int, compiled: int) -> Any:
    """`op` over an array and anything."""
    a = self._np
    if a is None and self._node is None:
        a = known.window(self)
    if a is None:
        return record_binary(op, self, other, plain + 1, compiled)
    plainly = self._np is not None  # not by a window, which ends here
    kind = type(other)
    limit = limits.eager
    n = size_of_memory(a)
    if kind is known.array:
        right: Fields = other
        b = right._np
        if b is None:
            plainly = False
            b = known.window(other) if right._node is None else None
            if b is None:
                a = None
                return record_binary(op, self, other, plain + 1, compiled)
        m = size_of_memory(b)
        if n >= limit or m >= limit or _spreads(a, b, n, m):
            gaps = plainly and n >= limits.middle and not (holds_in_c_order(a) and holds_in_c_order(b))
            a = b = None
            if gaps:
                found = join(op, self, other, BINARY, plain + 1, compiled)
                if found is not None:
                    return found
            return record_binary(op, self, other, plain + 1, compiled)
    elif n < limit and (kind is float or kind is int or kind in _NUMBERS):
        b = other
    elif n < limit and kind is _nparray and lies_beside(a, n, other):
        finish_waiting()
        plainly = False
        b = other
    elif n < limit and kind is str and op.own is None:
        plainly = False  # text is nothing to wait with
        b = other
    elif n < limit and (kind is list or kind is tuple):
        found = _of_listed(op, a, other, False)
        a = None
        if found is None:
            return op.slow(self, other)
        return wrapped(found) if type(found) is _nparray else found
    else:
        gaps = plainly and n >= limit and n >= limits.middle and not holds_in_c_order(a)
        a = None
        if gaps:
            found = join(op, self, other, BINARY, plain + 1, compiled)
            if found is not None:
                return found
        if n >= limit:
            return record_binary(op, self, other, plain + 1, compiled)
        return op.slow(self, other)
    if plainly and n >= limits.middle:
        a = b = None
        found = join(op, self, other, BINARY, plain + 1, compiled)
        if found is not None:
            return found
        a = self._np
        b = other
        if kind is known.array:
            right = other
            b = right._np
    if op.own is None:
        try:
            found = run_binary(op.compute, a, b)
        except TypeError:
            # No loop: NumPy's `==` and `!=` have an answer for records and for types that do not compare.
            a = b = None
            return op.slow(self, other)
    else:
        found = run_binary(own_of(op, a, b), a, b)
    return wrapped(found) if type(found) is _nparray else found


def join(op: Op, self: Fields, other: Any, form: int, plain: int, compiled: int) -> Any:
    """An operator on memory of middle size that waits for the last one of its span (`waiting.py`), or None.

    It waits where the operands are so large that computing the span in one kernel takes less time. They are plain, and
    the caller refers to no memory: what others refer to cannot wait.
    """
    span = span_here(plain + 1, compiled, _spans, learn)
    if span > 1 and not span & 1 and _PER * bytes_of_memory(self._np) >= (span >> 1) * limits.eager:
        return known.start(op, self, other, form, plain + 1, compiled)
    return None


def reflected(op: Op, self: Fields, other: Any) -> Any:
    """`op` over a number and an array."""
    a = self._np
    kind = type(other)
    if a is None and self._node is None:
        a = known.window(self)
    if a is not None:
        large = size_of_memory(a) >= limits.eager
        if (kind is float or kind is int or kind is complex) and not (large and holds_in_c_order(a)):
            if size_of_memory(a) >= limits.middle and self._np is not None:
                a = None
                found = join(op, self, other, REFLECTED, 2, 0)
                if found is not None:
                    return found
                a = self._np
            if not large:
                found = run_binary(op.compute, other, a)
                return wrapped(found) if type(found) is _nparray else found
        if (kind is list or kind is tuple) and not large:
            found = _of_listed(op, a, other, True)
            if found is not None:
                return wrapped(found) if type(found) is _nparray else found
        a = None
        if large and (kind is float or kind is complex or (kind is int and -128 <= other <= 127)):
            found = record_reflected(op, self, other)
            if found is not None:
                return found
    elif _waiting.open and (found := known.go_on(op, self, other, REFLECTED, 2, 0)) is not None:
        return found
    elif kind is float or kind is complex or (kind is int and -128 <= other <= 127):
        found = record_reflected(op, self, other)
        if found is not None:
            return found
    return op.reflected(self, other)


def raised(op: Op, base: Any, exponent: Any) -> Any:
    """Small memory to the power of a number, by the ufunc with compiled kernels' bits; else None.

    None also for exponents for which `**` may run another ufunc than `power` (`scalar_power.py`).
    """
    kind = type(exponent)
    if not kind_of_memory(base):
        return None
    if (POWER_READS_SCALARS or kind is float or kind is int) and exponent in _SHORT_POWERS:
        return None
    found = run_binary(own_of(op, base, exponent), base, exponent)
    return wrapped(found) if type(found) is _nparray else found


def of_left(op: Op, number: Any, self: Fields) -> Any:
    """`op` of a number, Python's or NumPy's, and small memory, with the bits of compiled kernels; else None."""
    finish_waiting()
    data = self._np
    if data is None or size_of_memory(data) >= limits.eager or not kind_of_memory(data):
        return None
    found = run_binary(op.compute if op.own is None else own_of(op, data, number), number, data)
    return wrapped(found) if type(found) is _nparray else found


def of_number(op: Op, self: Fields, number: Any) -> Any:
    """`op` over a number of NumPy's and an array that is recorded; None where that takes thought."""
    a = self._np
    if a is None and self._node is None:
        a = known.window(self)
    if op.reads_exponents or (a is not None and size_of_memory(a) < limits.eager):
        return None
    a = None
    if _waiting.open and (found := known.go_on(op, self, number, REFLECTED, 2, 0)) is not None:
        return found
    return record_reflected(op, self, number)


def in_place(op: Op, self: Fields, other: Any) -> Any:
    """The augmented assignment of `op`."""
    finish_waiting()
    a = self._np
    kind = type(other)
    if a is not None:
        limit = limits.eager
        if size_of_memory(a) < limit:
            if kind is known.array:
                second: Fields = other
                b = second._np
                if b is not None and size_of_memory(b) < limit:
                    run_into(op.compute, a, b)
                    return self
            elif kind is float or kind is int:
                run_into(op.compute, a, other)
                return self
            elif kind is list or kind is tuple:
                b = listed(other)
                if b is not None:
                    run_into(op.compute, a, b)
                    return self
        elif kind is known.array and not holds_in_c_order(a):
            second = other
            value: Node | None = second._node if second._np is None else None
            if value is not None and value.data is not None:
                # Into memory with gaps NumPy writes what is there by itself; recorded, it would be copied first.
                run_into(op.compute, a, value.data)
                return self
        a = None
        if update_lent(op, self, other):
            return self
        return op.in_place(self, other)
    base = None
    region = None
    if self._node is None:
        region = self._map
        if region is not None or self._fixed:
            if known.write_now(op.compute, self, other):
                return self
            if self._fixed or self._part is not None:
                return op.in_place(self, other)
        base = self._base
    site = site_here(2, 0)
    left = node_of(self, site)
    if left is not None:
        key = None
        right: Any = other
        if kind is known.array:
            second = other
            right = operand_of(second, site)
            key = None if right is None else op.known.get((left.key.spec, right.key.spec))
        elif kind is float:
            key = in_range(op.known.get((left.key.spec, float)), other)
        # `get`: what is new goes the general way, whose errors speak of the output. One spec object stands for each
        # shape and dtype, so here the result fits its place exactly.
        if type(key) is Key and key.spec is left.key.spec:
            node = record_node(key, (left, right), site)
            if base is None:
                self._node = node
                return self
            if region is None or left is base.node:
                base.node = node
                return self
            # Other threads may write other parts meanwhile.
            with boundary.lock:
                root = base.node
                if root is not None:
                    base.node = record_node(known.update_key(base.spec, region), (root, node), site)
                    return self
    return op.in_place(self, other)
