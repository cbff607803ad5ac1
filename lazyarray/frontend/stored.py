"""Owns stores of what waits: part of an array is given the value of a span, and its kernel writes where the part lies.

Computed into memory of its own and copied, half of the value came out of another core's cache. One of the modules that
may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np

from lazyarray.frontend.loops import MEMO_LIMIT
from lazyarray.frontend.quick import tell
from lazyarray.frontend.waiting import RUN
from lazyarray.ir.index_map import IndexMap, apply
from lazyarray.ir.node import WAITING
from lazyarray.runtime.evaluate import INTERPRETED, JOINED

# The build reads such imports by the line.
# isort: split
from lazyarray.frontend.handle import is_basic  # cimport
from lazyarray.frontend.quick import Fields, known, limits, new_node  # cimport
from lazyarray.frontend.waiting import close, count_stored, lent, look_back  # cimport
from lazyarray.ir.node import Node, Spec, spec_of  # cimport
from lazyarray.native.primitives import address_of, part_of, referent, site_outside  # cimport
from lazyarray.runtime.evaluate import evaluate  # cimport

# isort: split
from lazyarray.native.primitives import thread_here, token_of, whole_of  # cimport

_run: Final = RUN  # in C
_waiting: Final = WAITING
_interpreted: Final = INTERPRETED  # in C
_keys: dict[Any, Any] = {}  # of updates, by the part and its memory
_NEW: Final = object()
_MOST: Final = 256  # operators whose operands are looked at


def put_waiting(array: Fields, key: Any, value: Any) -> bool:
    """`array[key] = value` while something waits: True where the value waited for that, and lies there now.

    Else what waited has been computed.
    """
    if _run.stored is not None and referent(_run.stored) is value and thread_here() == _run.thread:
        site: Any = site_outside(0)
        if _is_to_be_stored(value, site):
            found = _part_to_write(array, key, value)
            if found is not None:
                _store(value, found, site)
                return True
    close()
    return False


def _is_to_be_stored(value: Fields, site: Any) -> bool:
    """Whether this instruction is the one that gets to see what waits, in the code alone, and nothing else waits."""
    node: Node | None = value._node
    if node is None or value._np is not None or len(_run.nodes) != 1 or referent(_run.nodes[0]) is not node:
        return False
    made: Any = node.site
    if made[0] is not site[0] or _run.stores.get(made[1]) != site[1] or made[0] is not _run.code:
        return False
    return not _raises_warnings()


def _raises_warnings() -> bool:
    """Whether some warning of an operator may be an error, which keeps its value from being stored."""
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False


def _part_to_write(array: Fields, key: Any, value: Fields) -> Any:
    """The key of the update that a store is, the memory that it changes and the part; None where that takes thought."""
    data = array._np
    if data is None or _run.windows or not is_basic(key):
        return None
    try:
        part = data[key]
    except IndexError:
        return None
    waits: Node | None = value._node
    assert waits is not None
    spec: Spec = waits.key.spec
    if type(part) is not np.ndarray or part.shape != spec.shape or part.dtype is not spec.dtype:
        return None
    whole: Any = whole_of(part) if part.flags.writeable else None
    # NumPy's large memory stays what it is: values count as much as the node that has them.
    if whole is None or whole.size >= limits.eager or _reads(waits, address_of(whole), whole.nbytes):
        return None
    token = token_of(part, whole)
    update = _keys.get(token, _NEW)
    if update is _NEW:
        where = part_of(part, whole)
        update = None if where is None else known.update_key(spec_of(whole.shape, whole.dtype), IndexMap(*where))
        if len(_keys) >= MEMO_LIMIT:
            _keys.clear()
        _keys[token] = update
    return None if update is None else (update, whole, part)


def _reads(node: Node, begin: int, size: int) -> bool:
    """Whether what waits reads some of so many bytes from an address on, or may: there is too much to look at."""
    left = [node]
    for _ in range(_MOST):
        if not left:
            return False
        above: Node = left.pop()
        for arg in above.args:
            if type(arg) is Node:
                below: Node = arg
                if below.data is None:
                    left.append(below)
                    continue
                at = address_of(below.data)
                if at < begin + size and begin < at + below.key.spec.nbytes:
                    return True
    return True


def _store(value: Fields, found: Any, site: Any) -> None:
    """Computes what waits into the part of memory that it is stored in, which the array shows then."""
    update, whole, part = found
    node: Node | None = value._node
    assert node is not None
    count_stored(node)
    _waiting.open = False
    _run.forget()
    made: Node = new_node(update, (lent(update.spec, whole), node), site)
    place: Any = node.site  # of the span's last operator
    node = value._node = None  # what has a name is kept
    _interpreted.left = _interpreted.planned = None
    _interpreted.given = whole
    try:
        evaluate([made], JOINED)
        look_back(place)
        computed: Any = made.data
        if computed is not whole:
            np.copyto(part, apply(IndexMap(*update.attr[:3]), computed))
    finally:
        _interpreted.given = None
        if made.args:
            value._node = made.args[1]
        else:
            value._np = part


tell(put_waiting=put_waiting)
