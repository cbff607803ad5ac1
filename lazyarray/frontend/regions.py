"""Owns small regions of large arrays whose values are there: read and written by NumPy in memory, at once.

Recording a view of three elements costs a hundred times what NumPy needs for it. What is seen in memory here is used
and dropped before anything else happens: no node is made, and nobody is left who could see a later write.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.measures import elements_of, shape_of  # cimport
from lazyarray.frontend.quick import Fields, limits  # cimport
from lazyarray.frontend.record import IMMEDIATE
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.unusual import serve
from lazyarray.frontend.updates import CHAIN
from lazyarray.ir.index_map import IndexMap, apply, identity, size_of
from lazyarray.ir.node import Node  # cimport
from lazyarray.ir.ops import OPS
from lazyarray.native.parts import show_at  # cimport
from lazyarray.native.primitives import size_of_memory  # cimport
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.along import is_pending
from lazyarray.runtime.buffer import Base, Slot, measure, owns_alone
from lazyarray.runtime.device import in_use
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.pool import allocate
from lazyarray.runtime.remote import stays_home  # cimport
from lazyarray.runtime.root import Root  # cimport
from lazyarray.runtime.settling import settle

Array = np.ndarray[Any, Any]
_nparray: Final = np.ndarray
_count: Final[Callable[[object], int]] = sys.getrefcount


def _seen_here(slot: Slot) -> int:
    local = slot.value
    return _count(local)


_ALONE_HERE: Final = measure(_seen_here)  # what counting shows of an object that nobody but a slot refers to

FILL_LIMIT: Final = 1 << 20  # elements up to which a number is written into a region at once: a fraction of a ms
STAYS: Final = 1 << 20  # bytes from which an array on a device is not brought back to be written piece by piece
PEEKS: Final = 16  # small reads of an expression after which it is taken to be read piece by piece
_OF_PRODUCT: Final = 3  # for so many a look at an operand counts, of which there may be two for each product
# Multiplications up to which a product in memory is made at once: BLAS takes some 0.5 ms, recording and planning 0.3.
SHORT_PRODUCT: Final = 1 << 22
# Elements of its result, as a multiple of `eager_below`: beyond, memory that is mapped already is worth the recording.
SHORT_RESULT: Final = 4
_SHORT_PRODUCT: Final = SHORT_PRODUCT  # in C
_SHORT_RESULT: Final = SHORT_RESULT
LONG_ROW: Final = 64  # elements from which a row that is picked is copied as one
_MULTIPLIED: Final = "fdFD?bhilqBHILQ"  # of products that NumPy makes in compiled code
# Ufuncs whose bits are NumPy's in compiled kernels too.
QUIET: Final = frozenset([name for name, op in OPS.items() if op.ufunc is not None and not op.transcendental])
PIECES: Final = "read piece by piece"
BY_PIECES: Final = "written piece by piece"
_SIMPLE: Final = frozenset({int, float, bool})
_PLACES: Final = frozenset({int, np.int64})


# ---- seeing


def window(array: Fields) -> Array | None:
    """A small view of a large base as memory, to be read now and not kept; None where it is recorded.

    `array` is SHARED.
    """
    view = array._map
    if view is None:
        return None
    shape = view.shape
    size = shape[0] if len(shape) == 1 else size_of(shape)
    if size >= limits.eager:
        return None
    base: Root = array._base
    node = base.node
    data = base.memory if node is None else node.data
    if data is None:
        if node is None or not wakes(node):
            return None
        data = node.data
        assert data is not None
    found = show(view, data)
    part = array._part
    return found if part is None else found.real if part == "real" else found.imag


def show(view: IndexMap, data: Array) -> Array:
    """NumPy's view of C-contiguous memory that the map describes, as `ir.index_map.apply`, for small views."""
    offset, shape, strides = view
    found: Array = show_at(data, 0 if 0 in shape else offset, shape, strides)
    return found


def memory_at(array: Fields) -> Array | None:
    """The whole of a managed array as memory, if its values are there; to be looked at now and not kept."""
    node: Node | None = array._node
    if node is not None:
        data: Array | None = node.data
        return data
    base: Root = array._base
    node = base.node
    data = base.memory if node is None else node.data
    if data is None:
        return None
    view = array._map
    if view is not None:
        data = show(view, data)
    part = array._part
    return data if part is None else data.real if part == "real" else data.imag


def at_hand(array: Any) -> Array | None:
    """All of an array as memory, where calls on memory run at once; to be looked at now and not kept."""
    if not config.eager_below or not stays_home():
        return None
    data: Array | None = array._np
    return memory_at(array) if data is None else data


def _is_remote(array: Fields) -> bool:
    node: Node | None = array._node
    if node is None:
        base: Root = array._base
        node = base.node
    return node is not None and node.remote is not None


def short_product(x: Fields, y: Fields) -> tuple[Array, Array] | None:
    """The operands of a product in memory, to be read now and not kept; None where recording costs less than making it.

    NumPy calls BLAS on them as an evaluation would.
    """
    if not limits.eager or not stays_home():
        return None
    a = _memory_here(x)
    b = None if a is None else _memory_here(y)
    if a is None or b is None:
        if not _is_multiplied_again(x, y):
            return None
        a, b = _memory_here(x), _memory_here(y)
        if a is None or b is None:
            return None
    if a.dtype.char not in _MULTIPLIED or b.dtype.char not in _MULTIPLIED:
        return None
    shape: tuple[int, ...] = a.shape
    length = shape[-1] if shape else 1
    if not length:
        return None
    rows, columns = size_of_memory(a) // length, size_of_memory(b) // length  # of stacks, more than there are
    return (a, b) if is_short(rows, length, columns) else None


def _memory_here(array: Fields) -> Array | None:
    """All of an array as memory, if its values are on the host."""
    if array._np is not None:
        data: Array = array._np
        return data
    return None if _is_remote(array) else memory_at(array)


def _is_multiplied_again(x: Fields, y: Fields) -> bool:
    """Evaluates expressions of which parts are multiplied time and again; True if there were any.

    As `wake`: the first products of parts are recorded, since they may be all that is wanted of the expression.
    """
    parts = [array for array in (x, y) if array._np is None and array._node is None and array._map is not None]
    if not parts:
        return False
    size: int = elements_of(x)
    length = shape_of(x)[-1] if shape_of(x) else 1
    if not length or not is_short(size // length, length, elements_of(y) // length):
        return False
    found = False
    for part in parts:
        base: Root = part._base
        node = base.node
        if node is not None and is_pending(node):
            base.peeks += _OF_PRODUCT
            found = wake(node, base.peeks) or found
    return found


def is_short(rows: int, length: int, columns: int) -> bool:
    """True for a product that gains nothing by being recorded, where both operands are in memory.

    It takes less time than recording it, or is one with a vector: what passes a large matrix by once leaves the caches
    without all that recording needs, which then takes ten times as long.
    """
    if rows * columns >= _SHORT_RESULT * limits.eager:
        return False
    return rows == 1 or columns == 1 or rows * length * columns <= _SHORT_PRODUCT


def reflected(function: np.ufunc, method: str, number: Any, array: Any) -> Any:
    """NumPy's ufunc of a number and a small array in memory; None where that is not what runs."""
    if method != "__call__" or function.__name__ not in QUIET or function.nout != 1:
        return None
    data = array._np
    if data is None:
        data = window(array) if array._node is None else None
    if data is None or data.size >= config.eager_below:
        return None
    found = function(number, data)
    return core.plain(found) if type(found) is _nparray else found


# ---- writing


def take(base: Base) -> bool:
    """Turns an evaluated base into memory that is written at once, if nobody else can still read its value."""
    node = base.node
    if node is None:
        return True
    data = node.data
    if data is None or _count(node) > _ALONE_HERE or not owns_alone(data) or not data.flags.writeable:
        return False
    base.node = None
    base.memory = data
    return True


def take_all(array: Any) -> bool:
    """`take` for the base of a managed array, which is SHARED then."""
    with boundary.lock:
        return take(core.share(array))


def claim(array: Any) -> Array | None:
    """A small view of a large base as memory to be written now; None where the write is recorded. `array` is SHARED."""
    view = array._map
    if view is None or array._fixed or size_of(view.shape) >= config.eager_below or not take(array._base):
        return None
    return memory_at(array)


def is_there(new: Any, dtype: np.dtype[Any]) -> bool:
    """True when what is to be written is in memory (small, if it is a managed array) and NumPy converts it quietly."""
    kind = type(new)
    if kind is int or kind is float or kind is bool:
        return True
    if kind is core.ndarray:
        if new._np is None:
            node = new._node
            if node is None:
                node = new._base.node
            if (node is not None and node.data is None) or size_of(new.shape) >= config.eager_below:
                return False
    elif kind is LazyScalar:
        if new._node.data is None:
            return False
    elif kind is list:
        return len(new) < config.eager_below and _SIMPLE.issuperset(map(type, new))
    elif kind not in IMMEDIATE and kind is not _nparray:
        return False
    return dtype.kind == "c" or bool(np.dtype(getattr(new, "dtype", complex)).kind != "c")


def source_of(new: Any) -> Any:
    """What is written, as NumPy takes it."""
    kind = type(new)
    if kind is core.ndarray:
        data = new._np
        return memory_at(new) if data is None else data
    return new._now() if kind is LazyScalar else new


def put(array: Any, key: Any, new: Any) -> bool:
    """`array[key] = new` for a managed array and a basic key: done, or False and nothing has happened."""
    limit = config.eager_below
    if not limit:
        return False
    if not _is_basic(key):
        return _put_picked(array, key, new, limit)
    root = array._node
    if root is None:
        base = array._base
        root = base.node
        if array._fixed:
            return False
        # `a[1:] *= 2` writes through the view and then assigns the view to itself.
        own = type(new) is core.ndarray and new._np is None and new._node is None and new._base is base
        if own:
            if size_of(new.shape) >= limit:
                return _is_itself(array, key, new)
            own = new._part is array._part
    else:
        own = False
    piecewise = root is None
    if root is not None and root.data is None and not _begins(root, array, key, new):
        piecewise = _is_piecewise(root)
        if not piecewise:
            return own and _is_itself(array, key, new)
    del root
    return _put_in_memory(array, key, new, limit, own, piecewise) or (own and _is_itself(array, key, new))


def _put_in_memory(array: Any, key: Any, new: Any, limit: int, own: bool, piecewise: bool) -> bool:
    """`array[key] = new` in memory. `piecewise`: the array has been written so, and nothing is recorded of it."""
    whole: Any = memory_at(array)
    if whole is None:
        return False
    try:
        region = whole[key]
    except IndexError:
        return False
    size = region.size
    kind = type(new)
    several = type(region) is _nparray
    number = kind is int or kind is float
    known = number or (own and several) or ((several or kind in IMMEDIATE) and is_there(new, whole.dtype))
    if not known:
        return False
    if size >= limit and not _costs_little(size, whole.size, new, piecewise):
        return False
    if array._node is not None or array._base.memory is None:
        del whole, region  # references are counted now
        with boundary.lock:
            if not take(core.share(array)):
                return False
            whole = memory_at(array)
            whole[key] = source_of(new)
        return True
    if several:
        region[...] = source_of(new)
    else:
        whole[key] = source_of(new)
    return True


def _costs_little(size: int, all_of_it: int, new: Any, piecewise: bool) -> bool:
    """Whether a large region is written at once: few values if the array was `piecewise`, a number up to half of it.

    Recorded, few values that are spread over a region would each time be a kernel of other extents.
    """
    if size > FILL_LIMIT:
        return False
    kind = type(new)
    if kind in IMMEDIATE:
        return 2 * size <= all_of_it or (piecewise and size < all_of_it)
    return piecewise and kind in (core.ndarray, _nparray) and size_of(new.shape) < config.eager_below


def picked(key: Any, whole: Array) -> Any:
    """An advanced key as NumPy takes it, of small index arrays (or a mask of a small array), integers and slices.

    None where what it picks may be large, or where the key is of another kind.
    """
    limit = config.eager_below
    if type(key) is tuple:
        return _picked_by_axis(key, whole, limit)
    index = _index(key)
    if index is None or not whole.ndim:
        return None
    if index.dtype.kind == "b":
        return index if whole.size < limit else None
    row: int = whole.size // (whole.shape[0] or 1)
    # NumPy copies whole rows as fast as memory allows.
    return index if index.size * row < (SHORT_RESULT * limit if row >= LONG_ROW else limit) else None


def _picked_by_axis(key: tuple[Any, ...], whole: Array, limit: int) -> Any:
    """`picked` for a key with an item for each of the first axes; the index arrays among them have one shape."""
    if len(key) > whole.ndim:
        return None
    found: list[Any] = []
    shape = None
    size = 1
    axis = 0
    for item in key:
        kind = type(item)
        if kind is slice:
            try:
                size *= len(range(*item.indices(whole.shape[axis])))
            except TypeError:
                return None
        elif kind is not int:
            item = _index(item)
            if item is None or item.dtype.kind == "b" or item.shape != (shape or item.shape):
                return None
            if shape is None:
                shape = item.shape
                size *= item.size
        found.append(item)
        axis += 1
    while axis < whole.ndim:
        size *= whole.shape[axis]
        axis += 1
    return tuple(found) if size < limit else None


def _index(item: Any) -> Any:
    """A small array of indices that is there, or a list of them; else None."""
    if type(item) is list:
        if not 0 < len(item) < config.eager_below or not _PLACES.issuperset(map(type, item)):
            return None
        places = [int(entry) for entry in item]
        return np.array(places) if max(map(abs, places)) < 1 << 62 else None
    if type(item) is core.ndarray:
        item = item._np if item._np is not None else core.settle(item) if item._node is not None else window(item)
    elif type(item) is not _nparray:
        return None
    if item is None or not item.ndim or item.dtype.kind not in "iub" or item.size >= config.eager_below:
        return None
    return item


def pick(array: Any, key: Any) -> Any:
    """`array[key]` for small index arrays, if the array's values are there; else None."""
    whole = memory_at(array)
    index = None if whole is None else picked(key, whole)
    if whole is None or index is None:
        return None
    if type(index) is tuple and not any([type(item) is _nparray for item in index]):
        return None  # integers and slices show the array's memory, which is not this one once it is handed out
    try:
        found = whole[index]
    except IndexError:
        return None
    return core.plain(found) if type(found) is _nparray else found


def _put_picked(array: Any, key: Any, new: Any, limit: int) -> bool:
    root = array._node
    if root is None:
        if array._fixed:
            return False
        root = array._base.node
    if root is not None and root.data is None and not _is_piecewise(root):
        return False
    del root
    whole: Any = memory_at(array)
    if whole is None or not is_there(new, whole.dtype):
        return False
    index = picked(key, whole)
    if index is None:
        return False
    if array._np is not None:  # small, and the key itself: `picked` has made it plain
        array._np[index] = source_of(new)
        return True
    del whole  # references are counted now
    if not take(core.share(array)):
        return False
    whole = memory_at(array)
    whole[index] = source_of(new)
    return True


def _is_basic(key: Any) -> bool:
    kind = type(key)
    if kind is slice or kind is int:
        return True
    if kind is not tuple:
        return False
    for item in key:  # noqa: SIM110  (a generator costs more than what it checks)
        if type(item) is not slice and type(item) is not int:
            return False
    return True


def _is_itself(array: Any, key: Any, new: Any) -> bool:
    if new._base is not array._base or new._part != array._part or array._fixed:
        return False
    found = locate(identity(array._base.spec.shape) if array._map is None else array._map, key)
    return found is not None and found.view == new._map


def _begins(root: Node, array: Any, key: Any, new: Any) -> bool:
    """Gives an array of `empty` its memory, if what is written first is there, and small: True if so.

    Recorded, that write would be a kernel of its own.
    """
    spec = root.key.spec
    if root.key.kind != "empty" or not stays_home() or not is_there(new, spec.dtype):
        return False
    own = array._map if array._node is None else None
    found = locate(identity(spec.shape) if own is None else own, key)
    if found is None or size_of(found.view.shape) >= config.eager_below:
        return False
    _fill(root, None, [], BY_PIECES)
    return True


def _is_piecewise(root: Node) -> bool:
    """Evaluates a base that is being written piece by piece, so that the pieces to come are written at once.

    The first writes are recorded like all others: boundary values that are set before the first step of a solver are
    part of its first kernel.
    """
    if root.key.spec.nbytes > STAYS and in_use():
        return False
    node: Any = root
    for _ in range(CHAIN):
        if type(node) is not Node or not node.args or node.key.kind not in ("update", "scatter"):
            return False
        if not _is_few(node.args[1]):
            return False
        node = node.args[0]
    del node
    boundary.evaluate((root,), BY_PIECES)
    return True


# ---- arrays that are filled and then used piece by piece


def wakes(root: Node) -> bool:
    """Evaluates an array that is only filled so far, but for a few elements: who reads one element reads more."""
    node: Any = root
    writes: list[tuple[IndexMap, Any]] = []
    for _ in range(CHAIN):
        if type(node) is not Node or not is_pending(node):
            return False
        kind = node.key.kind
        if kind in ("fill", "empty", "iota"):
            if kind == "iota" or root.key.spec.nbytes > FILL_LIMIT * 8:
                boundary.evaluate((root,), PIECES)
            else:
                _fill(root, None if kind == "empty" else node.args[0], writes)
            return True
        if kind != "update" or type(node.args[1]) is Node:
            return False
        attr: Any = node.key.attr
        if attr[3]:
            return False
        writes.append((IndexMap(*attr[:3]), node.args[1]))
        node = node.args[0]
    return False


def wake(root: Node, peeks: int) -> bool:
    """Evaluates an array of which a small part is read, if it was written so, or is read so time and again.

    The first small reads of an expression are recorded: they may be all that is wanted of it.
    """
    if wakes(root):
        return True
    if peeks < PEEKS and not _is_small_write(root):
        return False
    if root.key.spec.nbytes > STAYS and in_use():
        return False
    boundary.evaluate((root,), PIECES)
    return root.data is not None


def _is_small_write(node: Node) -> bool:
    if node.key.kind not in ("update", "scatter") or not node.args:
        return False
    return _is_few(node.args[1])


def _is_few(value: Any) -> bool:
    """Whether what is written is a number or few values, which may be spread over many places."""
    if type(value) is not Node or value.key.spec.size < config.eager_below:
        return True
    seen: Any = value.args[0] if value.key.kind == "view" and value.args else None
    return type(seen) is Node and seen.key.spec.size < config.eager_below


def _fill(root: Node, number: Any, writes: list[tuple[IndexMap, Any]], why: str = PIECES) -> None:
    """Evaluates an array of one number, but for some regions of others (latest first): no kernel is needed for it."""
    spec = root.key.spec
    ledger.evaluation(why)
    data = allocate(spec.shape, spec.dtype)
    ledger.allocation(data.nbytes)
    if number is not None:
        data.fill(number)
    for region, value in reversed(writes):
        apply(region, data)[...] = value
    settle(root, data)


serve(pick=pick, put=put)

from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
from lazyarray.frontend.index_keys import locate  # noqa: E402
