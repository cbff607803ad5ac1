"""Owns `ndarray`: the three states of an array, how they turn into each other, and its attributes.

PLAIN    `_np` is memory that NumPy may read and write; the other slots mean nothing.
OWNED    `_np` is None and `_node` is the value; nobody shares it, so a write only names another node.
SHARED   `_np` and `_node` are None; `_base` is shared with views, `_map` places this array in it (None: all of it, and
         this array is the one that the base was made for), `_part` says "real" or "imag" of complex elements, `_fixed`
         that the array refuses writes.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from types import GenericAlias
from typing import Any, Final, NoReturn

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.methods import Methods
from lazyarray.frontend.operators import Operators
from lazyarray.frontend.record import (
    COMPILED,
    broadcast_,
    broadcast_shape,
    cast_,
    copy_,
    fill_,
    map_,
    update_,
    view_,
)
from lazyarray.ir.index_map import IndexMap, apply, c_strides, identity, is_identity, transpose
from lazyarray.ir.node import Node, Shape, Spec, leaf, spec_of
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.buffer import Base, owns_alone

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_nparray: Final = np.ndarray


class _ArrayType(type):
    """Makes NumPy's arrays instances of `ndarray`, and subclasses of `ndarray` subclasses of NumPy's.

    A program's own subclass overrides NumPy's hooks, so NumPy must be what runs it.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any], **options: Any) -> Any:
        if any(type(base) is _ArrayType for base in bases):
            real = tuple(_nparray if type(base) is _ArrayType else base for base in bases)
            return type(real[0])(name, real, space, **options)
        return super().__new__(mcs, name, bases, space, **options)

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, _nparray)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(cls, subclass) or issubclass(subclass, _nparray)


class ndarray(Operators, Methods, metaclass=_ArrayType):
    """NumPy's array, whose operations are recorded and compiled."""

    __slots__ = ("__weakref__", "_base", "_fixed", "_map", "_node", "_np", "_part")

    _np: Array | None
    _node: Node | None
    _base: Base
    _map: IndexMap | None
    _part: str | None
    _fixed: bool

    __array_priority__ = 0.0
    __hash__ = None  # type: ignore[assignment]
    __class_getitem__ = classmethod(GenericAlias)

    def __new__(
        cls,
        shape: Any,
        dtype: Any = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> Any:
        if type(buffer) is ndarray:
            buffer = to_numpy(buffer)
        if cls is not ndarray:
            return _nparray.__new__(cls, shape, dtype, buffer, offset, strides, order)
        return plain(_nparray(shape, dtype, buffer, offset, strides, order))

    # ---- what it is

    @property
    def shape(self) -> Shape:
        data = self._np
        if data is not None:
            return data.shape
        node = self._node
        if node is not None:
            return node.key.spec.shape
        view = self._map
        return self._base.spec.shape if view is None else view.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        _set_shape(self, shape)

    @property
    def dtype(self) -> DType:
        data = self._np
        if data is not None:
            return data.dtype
        node = self._node
        if node is not None:
            return node.key.spec.dtype
        dtype = self._base.spec.dtype
        return dtype if self._part is None else np.dtype(f"f{dtype.itemsize // 2}")

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        data = to_numpy(self)
        if data is not self._np:
            self._np = data
        data.dtype = dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        data = self._np
        if data is not None:
            return data.size
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        data = self._np
        if data is not None:
            return data.strides
        spec = self._base.spec if self._node is None else self._node.key.spec
        view = self._map if self._node is None else None
        steps = c_strides(spec.shape) if view is None else view.strides
        itemsize = spec.dtype.itemsize
        return tuple([step * itemsize for step in steps])

    @strides.setter
    def strides(self, strides: Any) -> None:
        data = to_numpy(self)
        data.strides = strides
        self._np = data

    @property
    def flags(self) -> Any:
        if self._np is not None:
            return self._np.flags
        from lazyarray.frontend.flags import Flags

        return Flags(self)

    @property
    def base(self) -> Any:
        data = self._np
        if data is not None:
            return plain(data.base) if type(data.base) is _nparray else data.base
        if self._node is not None or self._map is None:
            return None
        return _shared(self._base, None)

    @property
    def data(self) -> memoryview:
        return to_numpy(self).data

    @property
    def ctypes(self) -> Any:
        return pin(self).ctypes

    @property
    def flat(self) -> Any:
        return to_numpy(self).flat

    @flat.setter
    def flat(self, values: Any) -> None:
        to_numpy(self).flat = read_only(values) if type(values) is ndarray else values

    @property
    def T(self) -> ndarray:
        data = self._np
        if data is not None:
            return plain(data.T)
        view = map_of(self)
        return view_of(self, transpose(view, tuple(range(len(view.shape) - 1, -1, -1))))

    @property
    def mT(self) -> ndarray:
        data = self._np
        if data is not None:
            return plain(data.mT)
        view = map_of(self)
        count = len(view.shape)
        if count < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return view_of(self, transpose(view, (*range(count - 2), count - 1, count - 2)))

    @property
    def real(self) -> Any:
        return part_of(self, "real")

    @real.setter
    def real(self, values: Any) -> None:
        assign(part_of(self, "real"), values)

    @property
    def imag(self) -> Any:
        return part_of(self, "imag")

    @imag.setter
    def imag(self, values: Any) -> None:
        if self.dtype.kind != "c":
            to_numpy(self).imag = values  # NumPy's error
        assign(part_of(self, "imag"), values)

    @property
    def device(self) -> str:
        return "cpu"

    # ---- Python's protocols

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        data = self._np
        if data is not None and data.ndim == 1:
            return iter(data)
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return _iterate(self)

    def __getitem__(self, key: Any) -> Any:
        data = self._np
        if data is not None:
            kind = type(key)
            if kind is int or kind is slice or (kind is tuple and _is_basic(key)):
                found = data[key]
                if type(found) is _nparray:
                    result = _new(ndarray)
                    result._np = found
                    return result
                return found
        return indexing.get(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self._np
        if data is not None and type(value) in _IMMEDIATE:
            kind = type(key)
            if kind is int or kind is slice or (kind is tuple and _is_basic(key)):
                data[key] = value
                return
        indexing.put(self, key, value)

    def __bool__(self) -> bool:
        return bool(read_only(self))

    def __int__(self) -> int:
        return int(read_only(self))

    def __float__(self) -> float:
        return float(read_only(self))

    def __complex__(self) -> complex:
        return complex(read_only(self))

    def __index__(self) -> int:
        return operator.index(read_only(self))

    def __repr__(self) -> str:
        return repr(read_only(self))

    def __str__(self) -> str:
        return str(read_only(self))

    def __format__(self, spec: str) -> str:
        return format(read_only(self), spec)

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def __copy__(self) -> ndarray:
        return duplicate(self)

    def __deepcopy__(self, memo: Any) -> ndarray:
        if self.dtype.hasobject:
            return plain(read_only(self).__deepcopy__(memo))
        return duplicate(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (np.array(read_only(self)),)

    # ---- NumPy's protocols

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy:
            return np.array(read_only(self), dtype)
        data = to_numpy(self)
        if dtype is None or data.dtype == dtype:
            return data
        return np.array(data, dtype, copy=copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not _asked_by_name(sys._getframe(1), "__array_interface__"):
            # NumPy prefers this to `__array__`, and would keep a bare address that no count of references shows.
            raise AttributeError("__array_interface__")
        return pin(self).__array_interface__

    def __dlpack__(self, **options: Any) -> Any:
        return to_numpy(self).__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return (1, 0)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        np.empty(0).__array_namespace__(api_version=api_version)  # refuses versions that NumPy refuses
        return sys.modules["lazyarray"]

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from lazyarray.frontend import ufunc

        return ufunc.dispatch(function, method, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        from lazyarray.frontend import ufunc

        return ufunc.dispatch_function(function, types, args, options)

    # ---- conversions that stay here

    def item(self, *args: Any) -> Any:
        return read_only(self).item(*args)

    def tolist(self) -> Any:
        return read_only(self).tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return read_only(self).tobytes(order)

    def copy(self, order: Any = "C") -> ndarray:
        return duplicate(self, order)

    def evaluate(self) -> ndarray:
        """Computes the array's values now."""
        if self._np is None:
            read_only(self)
        return self


_new: Final[Any] = object.__new__

# What is written into memory at once, without asking what it is.
_IMMEDIATE: Final = frozenset({int, float, complex, bool, *(dtype.type for dtype in COMPILED)})
_INDEX: Final = frozenset({int, slice, type(Ellipsis), type(None)})


def _is_basic(key: tuple[Any, ...]) -> bool:
    for item in key:
        if type(item) not in _INDEX:
            return False
    return True


def _iterate(array: ndarray) -> Iterator[Any]:
    if len(array.shape) == 1:
        yield from read_only(array)
        return
    for i in range(array.shape[0]):
        yield array[i]


def _asked_by_name(frame: Any, name: str) -> bool:
    """True when the frame's current instruction loads an attribute: not a call into C that looks for one."""
    import opcode

    instruction = opcode.opname[frame.f_code.co_code[frame.f_lasti]]
    return instruction in ("LOAD_ATTR", "LOAD_METHOD") and name in frame.f_code.co_names


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


def _shared(
    base: Base, view: IndexMap | None, part: str | None = None, fixed: bool = False
) -> ndarray:
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
    spec = node.key.spec
    inverse = [0] * len(perm)
    for place, axis in enumerate(perm):
        inverse[axis] = place
    return _shared(Base(node), transpose(identity(spec.shape), tuple(inverse)))


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
        if dtype is None or obj.dtype == dtype:
            return obj  # type: ignore[no-any-return]
        return cast_array(obj, np.dtype(dtype))
    if kind is scalar.LazyScalar:
        node = obj._node
        return from_node(node if dtype is None else cast_(node, np.dtype(dtype)))
    return plain(np.asarray(obj, dtype))


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
        return _value_of_plain(array, data)
    node = array._node
    return _value_of_shared(array) if node is None else node


def _value_of_plain(array: ndarray, data: Array) -> Node:
    dtype = data.dtype
    if dtype not in COMPILED:
        raise TypeError(f"arrays of dtype {dtype} are not compiled")
    if data.size >= config.eager_below:
        # References so far: the slot, the local of the caller and the parameter here.
        if data.flags.writeable and owns_alone(data, 4):
            if data.flags.c_contiguous:
                array._np = None
                array._node = node = leaf(data)
                return node
            if data.flags.f_contiguous:
                array._np = None
                array._node = None
                array._base = Base(leaf(data.T))
                array._map = transpose(identity(data.T.shape), tuple(range(data.ndim - 1, -1, -1)))
                array._part = None
                array._fixed = False
                return _value_of_shared(array)
        elif not data.flags.writeable and data.base is None and data.flags.c_contiguous:
            return leaf(data)
    return leaf(np.array(data, dtype=spec_of(data.shape, dtype).dtype, order="C", copy=True, ndmin=0))


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


def read_only(array: Any) -> Array:
    """The values as NumPy memory that the caller neither writes nor keeps."""
    data: Array | None = array._np
    if data is not None:
        return data
    node = array._node
    if node is None:
        base = array._base
        if base.node is None:
            return to_numpy(array)
        if array._part is not None or base.node.data is not None:
            node = base.node
            if node.data is None:
                boundary.evaluate((node,))
            whole = node.data
            assert whole is not None
            return _apply(array, whole)
        node = _value_of_shared(array)
    if node.data is None:
        boundary.evaluate((node,))
    data = node.data
    assert data is not None
    return data


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
    data: Array | None = array._np
    if data is not None:
        return data
    if array._node is not None:
        share(array)
    return _apply(array, array._base.export())


def pin(array: ndarray) -> Array:
    """As `to_numpy`, for callers that keep a bare address: the memory is never taken back."""
    data = array._np
    if data is not None:
        # A second reference to the memory: it is then never taken for the array's alone.
        array._node = data  # type: ignore[assignment]
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
    array._np = data = to_numpy(array)
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
            result.dtype = data.dtype
    if not writeable or not data.flags.writeable:
        result.flags.writeable = False
    return result


class _Window:
    """Part of an array's memory, which it keeps alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def part_of(array: ndarray, part: str) -> Any:
    """`real` or `imag`: a view where NumPy gives one."""
    data = array._np
    if data is not None:
        return plain(data.real if part == "real" else data.imag)
    dtype = array.dtype
    if dtype.kind == "c":
        if array._node is not None:
            share(array)
        return _shared(array._base, map_of(array), part, array._fixed)
    if part == "real":
        return view_of(array, map_of(array))
    zeros = from_node(fill_(0, array.shape, dtype))
    share(zeros)
    zeros._fixed = True
    return zeros


def _set_shape(array: ndarray, shape: Any) -> None:
    data = array._np
    if data is None and array._node is not None:
        spec = array._node.key.spec
        node = array._node
        wanted = dummy_reshape(spec.shape, shape)
        array._node = view_(node, IndexMap(0, wanted, c_strides(wanted)))
        return
    data = to_numpy(array)
    data.shape = shape
    array._np = data


def dummy_reshape(shape: Shape, wanted: Any) -> Shape:
    """The shape that `wanted` (with -1, or an int) means for an array of `shape`, with NumPy's errors."""
    return np.broadcast_to(np.empty((), "b"), shape).reshape(wanted).shape if 0 in shape else _resolve(shape, wanted)


def _resolve(shape: Shape, wanted: Any) -> Shape:
    sizes = (operator.index(wanted),) if not isinstance(wanted, tuple | list) else tuple(map(operator.index, wanted))
    total = 1
    for extent in shape:
        total *= extent
    known, unknown = 1, 0
    for extent in sizes:
        if extent < 0:
            unknown += 1
        else:
            known *= extent
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    fits = known and total % known == 0 if unknown else known == total
    if not fits:
        text = "(" + ",".join(map(str, sizes)) + ("," if len(sizes) == 1 else "") + ")"
        raise ValueError(f"cannot reshape array of size {total} into shape {text}")
    return tuple([total // known if extent < 0 else extent for extent in sizes])


# ---- writing


def refuse_write() -> NoReturn:
    raise ValueError("assignment destination is read-only")


def assign(array: ndarray, values: Any, where: Any = None, casting: str = "unsafe") -> None:
    """Writes all of the array, where `where` (a mask that broadcasts) is true; `casting` as in `numpy.copyto`."""
    data = array._np
    if data is not None and data.size >= config.eager_below and data.dtype in COMPILED and data.flags.owndata:
        value(array)  # memory that is the array's alone is taken over, and the write recorded
        data = array._np
    new = None if data is not None or not _recordable(where) else as_operand(values)
    if data is not None or new is None:
        target = to_numpy(array)
        source, mask = to_memory(values), True if where is None else to_memory(where)
        if where is None and casting == "unsafe":
            target[...] = source
        else:
            np.copyto(target, source, casting=casting, where=mask)  # type: ignore[call-overload]
        return
    if casting != "unsafe":
        check_casting(new, array.dtype, casting)
    write(array, new, None if where is None else _mask_node(where, array.shape))


def _recordable(where: Any) -> bool:
    return where is None or type(where) in (ndarray, bool, np.bool_, _nparray, scalar.LazyScalar)


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


def check_casting(new: Any, dtype: DType, casting: str) -> None:
    """Raises NumPy's TypeError where values may not be cast to `dtype`."""
    if type(new) is Node:
        np.copyto(np.empty(0, dtype), np.empty(0, new.key.spec.dtype), casting=casting)  # type: ignore[call-overload]
    else:
        np.copyto(np.empty((), dtype), new, casting=casting)  # type: ignore[call-overload]


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
    if kind is ndarray:
        data = values._np
        if data is not None:
            if data.dtype not in COMPILED:
                return None
            if data.ndim == 0:
                return data[()]
            del data
        return value(values)
    if kind is scalar.LazyScalar:
        return values._node
    if kind in _IMMEDIATE:
        return values
    if isinstance(values, np.generic):
        return np.asarray(values)[()] if values.dtype in COMPILED else None
    if kind is int or kind is float:
        return values
    array = np.asarray(values)
    if array.dtype not in COMPILED:
        return None
    if array.ndim == 0:
        return array[()]
    return leaf(np.array(array, order="C", subok=False))


def to_memory(values: Any) -> Any:
    """The operand as NumPy takes it, evaluated; not to be written."""
    kind = type(values)
    if kind is ndarray:
        return read_only(values)
    if kind is scalar.LazyScalar:
        return values.evaluate()
    return values


def write(array: ndarray, new: Any, mask: Node | None = None) -> None:
    """Replaces a managed array's values by a node or a number, converting as assignment does."""
    dtype = array.dtype
    shape = array.shape
    if type(new) is Node:
        spec = new.key.spec
        if spec.shape != shape:
            check_fits(spec.shape, shape)
        if spec.dtype != dtype:
            if spec.dtype.kind == "c" and dtype.kind != "c":
                warn_complex()
            new = cast_(new, dtype)
    node = array._node
    if node is not None:
        array._node = _overwritten(node, new, mask)
        return
    if array._fixed:
        refuse_write()
    base = array._base
    root = base.reclaim()
    if root is None:
        _write_memory(array, new, mask)
        return
    view = array._map
    if array._part is not None:
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


def _write_memory(array: ndarray, new: Any, mask: Node | None) -> None:
    needed = [n for n in (new, mask) if type(n) is Node and n.data is None]
    if needed:
        boundary.evaluate(needed)
    target = to_numpy(array)
    source = new.data if type(new) is Node else new
    if mask is None:
        target[...] = source
    else:
        np.copyto(target, source, casting="unsafe", where=mask.data)  # type: ignore[arg-type]


def warn_complex() -> None:
    """NumPy's warning for a complex value written into real memory, at the user's line."""
    import warnings

    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("lazyarray."):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(
        "Casting complex values to real discards the imaginary part",
        np.exceptions.ComplexWarning,
        stacklevel=depth - 1,
    )


# ---- copies


def cast_array(array: ndarray, dtype: DType) -> ndarray:
    """A new array of another dtype (`astype` without options)."""
    data = settle(array)
    if data is not None and (
        data.size < config.eager_below or data.dtype not in COMPILED or dtype not in COMPILED
    ):
        return plain(data.astype(dtype))
    if dtype not in COMPILED:
        return plain(read_only(array).astype(dtype))
    del data
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        warn_complex()
    perm = order_of(array)
    node = value(array) if perm is None else in_order(array, perm)
    node = copy_(node) if node.key.spec.dtype == dtype else cast_(node, dtype)
    return from_node(node) if perm is None else from_node_as(node, perm)


def duplicate(array: ndarray, order: Any = "C") -> ndarray:
    """A copy that shares nothing. Recorded for managed arrays: a node is a value, so nothing moves yet."""
    data = settle(array)
    if data is not None and (data.size < config.eager_below or data.dtype not in COMPILED):
        return plain(data.copy(order))
    perm = None
    if order not in ("C", "c"):
        perm = order_for(array, order)
    del data
    node = copy_(value(array) if perm is None else in_order(array, perm))
    return from_node(node) if perm is None else from_node_as(node, perm)


def astype(
    array: ndarray, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
) -> Any:
    """`ndarray.astype`."""
    wanted = np.dtype(dtype)
    if not copy and array.dtype == wanted and order in ("K", "k", "A", "a"):
        return array
    if casting != "unsafe" or array.dtype not in COMPILED:
        if not np.can_cast(array.dtype, wanted, casting) or array.dtype not in COMPILED:
            return plain(read_only(array).astype(wanted, order, casting, subok, copy))
    result = cast_array(array, wanted)
    return result if order in ("K", "k") else duplicate(result, order) if order_for(result, order) else result


def order_for(array: ndarray, order: Any) -> tuple[int, ...] | None:
    """The axes from slowest to fastest in a copy made with `order`; None for C order."""
    if order in ("F", "f"):
        return tuple(range(len(array.shape) - 1, -1, -1)) if len(array.shape) > 1 else None
    if order in ("A", "a"):
        flags = array.flags
        return order_for(array, "F") if flags.f_contiguous and not flags.c_contiguous else None
    if order in ("K", "k", None):
        return order_of(array)
    np.empty(0).copy(order)  # NumPy's error
    return None


def order_of(array: ndarray) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest in memory; None for C order, in which results are made anyway."""
    data = array._np
    if data is not None:
        if data.flags.c_contiguous:
            return None
        strides, shape = data.strides, data.shape
    elif array._node is not None or array._map is None:
        return None
    else:
        strides, shape = array._map.strides, array._map.shape
    axes = list(range(len(shape)))
    # NumPy's K order: a stable sort by stride, in which axes of stride 0 or extent 1 stay where they are.
    for i in range(1, len(axes)):
        place = i
        for j in range(i - 1, -1, -1):
            a, b = axes[j], axes[i]
            step_a, step_b = abs(strides[a]), abs(strides[b])
            if shape[a] == 1 or shape[b] == 1 or step_a == 0 or step_b == 0:
                continue
            if step_a < step_b:
                place = j
            else:
                break
        if place != i:
            axes.insert(place, axes.pop(i))
    perm = tuple(axes)
    return None if perm == tuple(range(len(shape))) else perm


def in_order(array: ndarray, perm: tuple[int, ...]) -> Node:
    """The array's value with its axes permuted to `perm`, so that the fastest axis comes last."""
    if array._np is not None:
        node = value(array)
        if array._np is not None:
            return view_(node, transpose(identity(node.key.spec.shape), perm))
    return value(view_of(array, transpose(map_of(array), perm)))


from lazyarray.frontend import scalar  # noqa: E402  (from here on: what needs the class)
from lazyarray.frontend.scalar import scalar_from_node as scalar_from_node  # noqa: E402
from lazyarray.frontend import indexing  # noqa: E402
from lazyarray.frontend import ufunc as _ufunc  # noqa: E402, F401
from lazyarray.frontend import operators  # noqa: E402

operators.install()
scalar.install()
