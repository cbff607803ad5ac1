"""Owns `ndarray`: the three states of an array, how they turn into each other, and its attributes.

PLAIN    `_np` is memory that NumPy may read and write; the other slots mean nothing.
OWNED    `_np` is None and `_node` is the value; nobody shares it, so a write only names another node.
SHARED   `_np` and `_node` are None; `_base` is shared with views, `_map` places this array in it (None: all of it, and
         this array is the one that the base was made for), `_part` says "real" or "imag" of complex elements, `_fixed`
         that the array refuses writes (`FOR_GOOD`: whatever `setflags` asks).
"""

from __future__ import annotations

import copyreg
import sys
from types import GenericAlias
from typing import Any, Final
from weakref import WeakValueDictionary, ref

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.attributes import Attributes, know
from lazyarray.frontend.callers import asks_nothing
from lazyarray.frontend.foreign import OURS, Forwarder, forward
from lazyarray.frontend.handle import Handle
from lazyarray.frontend.methods import Methods
from lazyarray.frontend.naming import name_as_in_c, refuse_setting
from lazyarray.frontend.neighbours import Classed, Memory, class_seen
from lazyarray.frontend.protocols import guard_class, guard_protocol  # cimport
from lazyarray.frontend.quick import tell
from lazyarray.frontend.record import (
    COMPILED,
    NUMBERS,
    cast_,
    fill_,
    map_,
    view_,
)
from lazyarray.frontend.scalar import LazyScalar, scalar_from_node
from lazyarray.frontend.subclass import ArrayType
from lazyarray.frontend.unusual import serve
from lazyarray.ir.index_map import IndexMap, apply, identity, inverse, size_of, transpose
from lazyarray.ir.node import Node, Spec, finish_waiting, leaf, spec_of
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.buffer import Base, Slot, measure, owns_alone, seen

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_nparray: Final = np.ndarray


# What counting shows of an object that nobody but a slot refers to, asked for from here (`runtime/buffer.py`).
def _seen_here(slot: Slot) -> int:
    local = slot.value
    return sys.getrefcount(local)


def _seen_two_deep(slot: Slot) -> int:
    local = slot.value
    return _pass_on(slot, local)


def _pass_on(slot: Slot, data: object) -> int:
    return seen(data)


_ALONE_HERE: Final = measure(_seen_here)
_ALONE_TWO_DEEP: Final = measure(_seen_two_deep)


class ndarray(Handle, Methods, Attributes, metaclass=ArrayType):
    # NumPy's array, whose operations are recorded and compiled.

    __doc__ = _nparray.__doc__
    __slots__ = ()

    _np: Array | None
    _node: Node | None
    _base: Base
    _map: IndexMap | None
    _part: str | None
    _fixed: bool | str

    __module__ = "numpy"  # messages and `repr(type(array))` are NumPy's
    __array_priority__ = 0.0
    __hash__ = None

    def __new__(cls, *args: Any, **options: Any) -> Any:
        given = [to_numpy(item) if type(item) is ndarray else item for item in args]
        named = {name: to_numpy(item) if type(item) is ndarray else item for name, item in options.items()}
        make: Any = _nparray  # with its order of checks, and its errors
        return plain(make(*given, **named)) if cls is ndarray else make.__new__(cls, *given, **named)

    def __class_getitem__(cls, item: Any, /) -> Any:
        _nparray[item]  # refuses other numbers of arguments
        return GenericAlias(cls, item)


_new: Final[Any] = Handle.__new__
FOR_GOOD: Final = "for good"


def array_class() -> Any:
    """What a pickle of the class calls: its module and name are those of NumPy's."""
    return ndarray


name_as_in_c(ndarray)
tell(array=ndarray)
refuse_setting(Attributes, "numpy.ndarray")
for _protocol in ("__array_interface__", "__array_struct__"):
    _doc = str(getattr(_nparray, _protocol).__doc__)
    guard_protocol(ndarray, _protocol, _doc, vars(Attributes)[_protocol].fget, asks_nothing)
guard_class(ndarray, _nparray, class_seen, vars(Classed)["__class__"].fset)
copyreg.pickle(ArrayType, lambda cls: (array_class, ()))


# ---- making arrays


def plain(data: Any) -> ndarray:
    """An array over NumPy's memory, aliasing it."""
    array: ndarray = _new(ndarray)
    array._np = data
    return array


def from_node(node: Node) -> ndarray:
    """An array that is the only one to name the node's value."""
    array: ndarray = _new(ndarray)
    array._np = None
    array._node = node
    return array


def _shared(base: Base, view: IndexMap | None, part: str | None = None, fixed: bool | str = False) -> ndarray:
    array: ndarray = _new(ndarray)
    array._np = None
    array._node = None
    array._base = base
    array._map = view
    array._part = part
    array._fixed = fixed
    return array


def from_node_as(node: Node, perm: tuple[int, ...]) -> ndarray:
    """An array whose axis `perm[k]` is axis k of the node: `perm` lists the axes from slowest to fastest."""
    return turn(node, transpose(identity(node.key.spec.shape), inverse(perm)))


def turn(node: Node, view: IndexMap) -> ndarray:
    """An array that shows all of the node, with its axes in another order."""
    array = _shared(Base(node), view)
    array._base.owner = ref(array)
    return array


def wrap(result: Any) -> Any:
    """What NumPy returned, as lazyarray returns it: arrays wrapped, also inside tuples and lists."""
    kind = type(result)
    if kind is _nparray:
        array: ndarray = _new(ndarray)
        array._np = result
        return array
    if kind is list:
        return [wrap(item) for item in result]
    if isinstance(result, tuple):
        if hasattr(result, "_make"):
            return result._make(wrap(item) for item in result)
        return tuple([wrap(item) for item in result]) if kind is tuple else result
    return result


def as_array(obj: Any, dtype: Any = None) -> ndarray:
    """Anything array-like as an array, aliasing where NumPy's `asarray` does."""
    kind = type(obj)
    if kind is ndarray:
        take_over(obj)
        if dtype is None or obj.dtype == dtype:
            return obj  # type: ignore[no-any-return]
        return cast_array(obj, np.dtype(dtype))
    if kind is LazyScalar:
        node = obj._node
        return from_node(node if dtype is None else cast_(node, np.dtype(dtype)))
    given = forward(obj)
    made = plain(np.asarray(given, dtype))
    if type(given) is Forwarder and given.given is not None and made._np is given.memory:
        return given.given  # type: ignore[no-any-return]
    return made


# ---- reading


def is_plain(array: ndarray) -> bool:
    """True when the array is NumPy memory: NumPy's own functions and views serve it."""
    return array._np is not None


def is_compiled(array: ndarray) -> bool:
    """True when kernels compute on the array's dtype."""
    return array.dtype in COMPILED


def spec_of_array(array: ndarray) -> Spec:
    """Shape and dtype in one object."""
    if array._np is None and array._node is not None:
        return array._node.key.spec
    return spec_of(array.shape, array.dtype)


def value(array: ndarray) -> Node:
    """The array's value now, as a node in C order; later writes do not change what it means."""
    data = array._np
    if data is not None:
        node = _adopt(array, data)
        return _snapshot(data) if node is None else node
    node = array._node
    return _value_of_shared(array) if node is None else node


def take_over(array: ndarray) -> None:
    """Makes a large plain array managed where its memory is the array's alone, without copying."""
    data = array._np
    if data is not None:
        _adopt(array, data)


serve(take_over=take_over)
tell(take_over=take_over)


def _adopt(array: ndarray, data: Array) -> Node | None:
    if data.size < config.eager_below or data.dtype not in COMPILED or not data.flags.writeable:
        return None
    if not owns_alone(data, _ALONE_TWO_DEEP):
        return None
    if data.flags.c_contiguous:
        array._np = None
        array._node = node = leaf(data)
        return node
    if not data.flags.f_contiguous:
        return None
    array._np = None
    array._node = None
    array._base = Base(leaf(data.T))
    array._base.owner = ref(array)
    array._map = transpose(identity(data.T.shape), tuple(range(data.ndim - 1, -1, -1)))
    array._part = None
    array._fixed = False
    return _value_of_shared(array)


def lies_apart(array: ndarray) -> bool:
    """Whether an array that is not plain shows parts of complex numbers, with gaps between them."""
    return array._node is None and array._part is not None


# Of read-only memory, by its `id`: the array that refused writes to it when others had it, too; by that and how it
# shows what it holds: the node that reads it where it lies. (Of the memory there are no weak references: NumPy resizes
# no such array.)
_readers: WeakValueDictionary[tuple[int, Any, Any], Node] = WeakValueDictionary()
_open: WeakValueDictionary[int, ndarray] = WeakValueDictionary()


def _snapshot(data: Array) -> Node:
    dtype = data.dtype
    if dtype not in COMPILED:
        raise TypeError(f"arrays of dtype {dtype} are not compiled")
    if not data.flags.writeable and data.base is None and data.flags.c_contiguous and id(data) not in _open:
        key = (id(data), data.shape, dtype.char)
        node = _readers.get(key)
        if node is None or node.data is None or node.data.base is not data:
            _readers[key] = node = leaf(data.view())  # whose shape nobody sets
        return node
    return leaf(np.array(data, dtype=spec_of(data.shape, dtype).dtype, order="C", copy=True, ndmin=0))


def will_be_fixed(array: Any) -> None:
    """A plain array is about to refuse writes. Whoever has a view of its memory may write all the same."""
    data: Array = array._np
    if not owns_alone(data):
        _open[id(data)] = array


def will_be_written(data: Array) -> None:
    """Read-only memory is about to take writes again: what is recorded of it reads a copy from now on."""
    for key, node in list(_readers.items()):
        if key[0] == id(data):
            del _readers[key]
            if node.data is not None and node.data.base is data:
                node.data = node.data.copy()


def _value_of_shared(array: ndarray) -> Node:
    base = array._base
    node = base.node
    if node is None:
        node = base.reclaim()
        if node is None:
            return leaf(np.array(to_numpy(array), order="C"))
    view = array._map
    if view is not None:
        node = view_(node, view)
    if array._part is not None:
        node = map_(array._part, (node,))
    return node


def read_only(array: Any, reason: str = "asked for") -> Array:
    """The values as NumPy memory that the caller neither writes nor keeps. `reason`: why they are evaluated."""
    data: Array | None = array._np
    if data is not None:
        return data
    node = holder(array)
    if node is None:
        return to_numpy(array)
    if node.data is None:
        boundary.evaluate((node,), reason)
    return _shown(array, node)


def _shown(array: Any, node: Node) -> Array:
    """What an array shows of its holder's values."""
    data = node.data
    assert data is not None
    return _apply(array, data) if array._node is None and node is array._base.node else data


def read_present(array: Any) -> Array | None:
    """`read_only` of an array that is not plain, if its values are there; else None."""
    node = holder(array)
    if node is None:
        return to_numpy(array) if array._base.node is None else None
    return None if node.data is None else _shown(array, node)


tell(read_present=read_present)


def holder(array: Any) -> Node | None:
    """The node in whose data the values of an array lie that is not plain; None if NumPy may write into them, too.

    That is what a view shows a part of, unless it is yet to be computed and the view needs less of it. What shows all
    of it is handed out in its order in memory, which NumPy's results keep.
    """
    node: Node | None = array._node
    if node is not None:
        return node
    node = array._base.node
    if node is None:
        return None
    view = array._map
    whole = view is not None and size_of(view.shape) >= array._base.spec.size
    if array._part is not None or node.data is not None or whole:
        return node
    return _value_of_shared(array)


def _apply(array: ndarray, memory: Array) -> Array:
    view = array._map
    data = memory.view() if view is None else apply(view, memory)
    if array._part is not None:
        data = data.real if array._part == "real" else data.imag
    if array._fixed:
        data.flags.writeable = False
    return data


def to_numpy(array: Any) -> Array:
    """The array as NumPy memory that aliases it: writes on either side are seen on the other."""
    finish_waiting()
    data: Array | None = array._np
    if data is not None:
        return data
    if array._node is not None:
        share(array)
    return _apply(array, array._base.export())


def pin(array: ndarray) -> Array:
    """As `to_numpy`, for callers that keep a bare address: the memory is never taken back."""
    finish_waiting()
    data = array._np
    if data is not None:
        # A second reference to the memory: it is then never taken for the array's alone.
        array._base = data  # type: ignore[assignment]
        return data
    data = to_numpy(array)
    array._base.pinned = True
    return data


def settle(array: ndarray) -> Array | None:
    """The array's memory if it is plain or small and evaluated, and plain from now on; else None."""
    data = array._np
    if data is not None:
        return data
    node = array._node
    if node is not None:
        data = node.data
        if data is None or data.size >= config.eager_below:
            return None
        array._np = data = data.copy()
        array._node = None
        return data
    base = array._base
    if base.spec.size >= config.eager_below:
        return None
    if base.node is not None and base.node.data is None:
        return None
    whole = array._map is None and array._part is None and not array._fixed
    # Not for arrays with views: what is done to the memory as an array (its shape, its dtype) is not done to the base.
    alone = whole and sys.getrefcount(base) <= _ALONE_HERE
    array._np = data = base.export() if alone else to_numpy(array)
    return data


# ---- views


def share(array: ndarray) -> Base:
    """Turns an OWNED array into the SHARED owner of its base."""
    if array._node is None:
        return array._base
    array._base = base = Base(array._node)
    array._node = None
    array._map = None
    array._part = None
    array._fixed = False
    return base


def map_of(array: ndarray) -> IndexMap:
    """Where the array lies in its root: what `view_of` takes maps against."""
    data = array._np
    if data is not None:
        itemsize = data.itemsize or 1
        return IndexMap(0, data.shape, tuple([step // itemsize for step in data.strides]))
    node = array._node
    if node is not None:
        return identity(node.key.spec.shape)
    view = array._map
    return identity(array._base.spec.shape) if view is None else view


def view_of(array: ndarray, view: IndexMap, writeable: bool = True) -> ndarray:
    """An array that shows `view` of the array's root, sharing its memory."""
    data = array._np
    if data is not None:
        return plain(_stride(data, view, writeable))
    if array._node is not None:
        share(array)
    return _shared(array._base, view, array._part, array._fixed or not writeable)


def _stride(data: Array, view: IndexMap, writeable: bool) -> Array:
    itemsize = data.itemsize
    if 0 in view.shape:
        result = np.empty(view.shape, data.dtype)
    else:
        interface = dict(data.__array_interface__)
        address, fixed = interface["data"]
        interface["data"] = (address + view.offset * itemsize, fixed)
        interface["shape"] = view.shape
        interface["strides"] = tuple([step * itemsize for step in view.strides])
        result = np.asarray(_Window(interface, data))
        if result.dtype != data.dtype:
            result = result.view(data.dtype)
    if not writeable or not data.flags.writeable:
        result.flags.writeable = False
    return result


class _Window:
    """Part of an array's memory, which it keeps alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__ = interface
        self.owner = owner


_parts: Final[dict[Any, Any]] = {}  # see `view_again`


def part_of(array: ndarray, part: str) -> Any:
    """`real` or `imag`: a view where NumPy gives one."""
    take_over(array)
    data = array._np
    if data is not None:
        found: Array = data.real if part == "real" else data.imag
        return array if found is data else plain(found)  # of objects, what `real` is depends on NumPy's version
    layout = viewed.layout_of(array, (), part)
    if layout is not None:
        found = viewed.view_again(_parts, array, layout)
        if found is not None:
            return found
    if part == "real" and array.dtype.kind != "c":
        return array  # as NumPy: the array itself
    dtype = array.dtype
    if dtype.kind == "c":
        if array._node is not None:
            share(array)
        made = _shared(array._base, map_of(array), part, array._fixed)
        if layout is not None:
            viewed.note_view(_parts, array, layout, made)
        return made
    shape = array.shape
    if array.flags.fnc:
        zeros = from_node_as(fill_(0, shape[::-1], dtype), tuple(range(len(shape)))[::-1])
    else:
        zeros = from_node(fill_(0, shape, dtype))
        share(zeros)
    zeros._fixed = zeros._base.fixed = True
    return zeros


# Types of operands that NumPy's dispatch has nothing to say about.
BUILTIN: Final = frozenset({ndarray, _nparray, Memory, LazyScalar, list, tuple, str, bytes, type(None)} | NUMBERS)
OURS.update(BUILTIN)


# From here on: what needs the class. Any of these modules may be the first that a program imports.
from lazyarray.frontend import consumers, indexing, regions, scalar, slices, viewed  # noqa: E402, F401
from lazyarray.frontend import ufunc as _ufunc  # noqa: E402, F401
from lazyarray.frontend.copies import (  # noqa: E402
    astype,
    cast_array,
    copied_order,
    duplicate,
    in_order,
    order_for,
    order_of,
)
from lazyarray.frontend.writing import (  # noqa: E402
    as_operand,
    assign,
    check_fits,
    refuse_write,
    to_memory,
    warn_complex,
    write,
)

know(ndarray, regions)
scalar.install(ndarray)
consumers.teach_json()

__all__ = [
    "BUILTIN",
    "as_array",
    "as_operand",
    "assign",
    "astype",
    "cast_array",
    "check_fits",
    "copied_order",
    "duplicate",
    "from_node",
    "from_node_as",
    "in_order",
    "indexing",
    "is_compiled",
    "is_plain",
    "lies_apart",
    "map_of",
    "ndarray",
    "order_for",
    "order_of",
    "part_of",
    "pin",
    "plain",
    "read_only",
    "refuse_write",
    "regions",
    "scalar_from_node",
    "settle",
    "share",
    "spec_of_array",
    "take_over",
    "to_memory",
    "to_numpy",
    "value",
    "view_of",
    "warn_complex",
    "wrap",
    "write",
]
