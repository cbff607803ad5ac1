"""Owns what arrays answer about themselves: attributes, Python's protocols and NumPy's."""

# mypy: disable-error-code="no-any-return"
# (`self` is Any here: the slots belong to `ndarray`, which this is a part of.)

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy._core import _internal

from lazyarray.config import config
from lazyarray.frontend.callers import asks_for
from lazyarray.frontend.handle import Handle
from lazyarray.frontend.measures import copied, dtype_of_array, elements_of, ndim_of, shape_of, transposed
from lazyarray.frontend.naming import refuse_deleting
from lazyarray.frontend.neighbours import Classed, for_a_dtype
from lazyarray.frontend.record import IMMEDIATE
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.unusual import serve
from lazyarray.ir.index_map import IndexMap, c_strides, transpose
from lazyarray.ir.node import Node
from lazyarray.runtime.buffer import Base
from lazyarray.runtime.device import in_use
from lazyarray.runtime.pool import is_lease

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_nparray: Final = np.ndarray
_new: Final = Handle.__new__
# NumPy 2.5 gives values without a dtype the part's, before it asks whether the array may be written.
_PART_FIRST: Final = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
_OF_A_DTYPE: Final = (Handle, LazyScalar, np.ndarray, np.complexfloating)


# `ndarray` and two modules, once they are there: a global is found sooner than an attribute of a module.
_own: Any = None
_regions: Any = None
_flat: Any = None


def know(own: Any, regions: Any) -> None:
    """Tells the class that these are the attributes of, and the modules that serve its usual keys."""
    global _own, _regions
    _own = own
    _regions = regions
    from lazyarray.frontend.array import to_numpy
    from lazyarray.frontend.buffers import install

    install(own, to_numpy)


def _iterate(array: Any) -> Iterator[Any]:
    if not array.shape:
        raise TypeError("iteration over a 0-d array")
    return _items(array)


def _items(array: Any) -> Iterator[Any]:
    if len(array.shape) == 1:
        yield from core.to_numpy(array)  # exported: what is iterated over must not be reused meanwhile
        return
    if array._np is not None:
        core.take_over(array)
    if core.settle(array) is None:
        from lazyarray.frontend.slices import rows

        yield from rows(array)
        return
    for i in range(array.shape[0]):
        yield array[i]


def _write_part(array: Any, part: str, values: Any) -> None:
    """Writes `real` or `imag`: NumPy makes an array of the values first, and warns of their imaginary part."""
    if _PART_FIRST and not isinstance(values, _OF_A_DTYPE):
        values = np.array(values, array.dtype.type(0).real.dtype)
    if not array.flags.writeable:
        core.refuse_write()
    found = core.as_array(values)
    if found.dtype.kind == "c" and array.dtype.kind != "b":
        core.warn_complex(found.dtype, array.dtype.type(0).real.dtype)
        found = found.real
    core.assign(core.part_of(array, part), found)


def _set_shape(array: Any, shape: Any) -> None:
    from lazyarray.frontend import reforming

    reforming.set_shape(array, shape)


def _set_dtype(array: Any, dtype: Any) -> None:
    from lazyarray.frontend import reforming

    reforming.set_dtype(array, dtype)


def _transpose(array: Any) -> Any:
    core.take_over(array)
    if array._np is not None:
        return core.plain(array._np.T)
    return transposed(array)


def _copy(array: Any, order: Any) -> Any:
    if array._np is None and array._node is None:
        data = _regions.window(array)
        if data is not None:
            return core.plain(data.copy(order))
        del data
    return core.duplicate(array, order)


def _ufunc(array: Any, function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    if not options and len(inputs) == 2 and inputs[1] is array and type(inputs[0]) in IMMEDIATE:
        found = _regions.reflected(function, method, inputs[0], array)
        if found is not None:
            return found
    from lazyarray.frontend import ufunc

    return ufunc.dispatch(function, method, inputs, options)


serve(transpose=_transpose, copy=_copy, iterate=_iterate, ufunc=_ufunc)

_evaluate_all: Final[list[Any]] = []  # the function, once it is imported: its module is built on this one


class Attributes(Classed):
    """The attributes and protocols of `ndarray`."""

    __slots__ = ()
    __hash__: Any = None

    _np: Array | None
    _node: Node | None
    _base: Base
    _map: IndexMap | None
    _part: str | None
    _fixed: bool | str

    # ---- what it is

    shape = property(shape_of, _set_shape)
    dtype = property(dtype_of_array, _set_dtype)

    ndim = property(ndim_of)
    size = property(elements_of)

    @property
    def itemsize(self: Any) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self: Any) -> int:
        return self.size * self.dtype.itemsize

    @property
    def strides(self: Any) -> tuple[int, ...]:
        data = self._np
        if data is not None:
            return data.strides
        spec = self._base.spec if self._node is None else self._node.key.spec
        view = self._map if self._node is None else None
        steps = c_strides(spec.shape) if view is None else view.strides
        itemsize = spec.dtype.itemsize
        return tuple([step * itemsize for step in steps])

    @strides.setter
    def strides(self: Any, strides: Any) -> None:
        from lazyarray.frontend import reforming

        reforming.set_strides(self, strides)

    @property
    def flags(self: Any) -> Any:
        data = self._np
        if data is not None and not is_lease(data.base) and (flags := data.flags).writeable:
            return flags
        from lazyarray.frontend.flags import Flags

        return Flags(self)

    @property
    def base(self: Any) -> Any:
        data = self._np
        if data is not None and data.base is None:
            return None
        from lazyarray.frontend import owners

        return owners.base_of(self)

    @property
    def data(self: Any) -> memoryview:
        return core.to_numpy(self).data

    @property
    def ctypes(self: Any) -> Any:
        # NumPy's own object, around this array: pointers made of it keep the array.
        address: int = core.pin(self).__array_interface__["data"][0]
        return _internal._ctypes(self, address)

    @property
    def flat(self: Any) -> Any:
        global _flat
        if _flat is None:
            from lazyarray.frontend.flat import flat

            _flat = flat
        return _flat(self)

    @flat.setter
    def flat(self: Any, values: Any) -> None:
        memory: Any = core.to_numpy(self)
        memory.flat = core.read_only(values) if type(values) is core.ndarray else values

    T = property(transposed)

    @property
    def mT(self: Any) -> Any:
        data = self._np
        if data is not None and data.size >= config.eager_below:
            del data
            core.take_over(self)
            data = self._np
        if data is not None:
            return core.plain(data.mT)
        view = core.map_of(self)
        count = len(view.shape)
        if count < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return core.view_of(self, transpose(view, (*range(count - 2), count - 1, count - 2)))

    @property
    def real(self: Any) -> Any:
        return core.part_of(self, "real")

    @real.setter
    def real(self: Any, values: Any) -> None:
        _write_part(self, "real", values)

    @property
    def imag(self: Any) -> Any:
        return core.part_of(self, "imag")

    @imag.setter
    def imag(self: Any, values: Any) -> None:
        if self.dtype.kind != "c":
            core.to_numpy(self).imag = values  # NumPy's error
        _write_part(self, "imag", values)

    @property
    def device(self: Any) -> str:
        from lazyarray.frontend.devices import device_name

        return device_name(self)

    # ---- Python's protocols

    def __bool__(self: Any) -> bool:
        return bool(core.read_only(self))

    def __int__(self: Any) -> int:
        return int(core.read_only(self))

    def __float__(self: Any) -> float:
        return float(core.read_only(self))

    def __complex__(self: Any) -> complex:
        return complex(core.read_only(self))

    def __index__(self: Any) -> int:
        return operator.index(core.read_only(self))

    def __repr__(self: Any) -> str:
        return repr(core.read_only(self))

    def __str__(self: Any) -> str:
        return str(core.read_only(self))

    def __format__(self: Any, spec: str) -> str:
        return format(core.read_only(self), spec)

    def __contains__(self: Any, item: Any) -> bool:
        return bool((self == item).any())

    def __copy__(self: Any) -> Any:
        return core.duplicate(self, "K")

    def __deepcopy__(self: Any, memo: Any) -> Any:
        if self.dtype.hasobject:
            return core.plain(core.read_only(self).__deepcopy__(memo))
        return core.duplicate(self, "K")

    def __reduce__(self: Any) -> tuple[Any, ...]:
        from lazyarray.frontend import pickles

        return pickles.reduce(self)

    def __reduce_ex__(self: Any, protocol: Any, /) -> tuple[Any, ...]:
        from lazyarray.frontend import pickles

        return pickles.reduce_with(self, protocol)

    def __getstate__(self: Any) -> None:
        return None  # as of classes without state in Python's sense; `__reduce__` has it

    def __dir__(self: Any) -> list[str]:
        return sorted({*dir(_nparray), "evaluate", "to_numpy"})

    # ---- NumPy's protocols

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy:
            return np.array(core.read_only(self), dtype)
        data = core.to_numpy(self)
        if dtype is None:
            return data
        if data.dtype == dtype:
            return data if copy is False else for_a_dtype(data)
        return np.array(data, dtype, copy=copy)

    @property
    def __array_interface__(self: Any) -> dict[str, Any]:
        if not asks_for(sys._getframe(1), "__array_interface__"):
            # NumPy prefers this to `__array__`, and would keep a bare address that no count of references shows.
            raise AttributeError("__array_interface__")
        return core.pin(self).__array_interface__

    @property
    def __array_struct__(self: Any) -> Any:
        if not asks_for(sys._getframe(1), "__array_struct__"):
            raise AttributeError("__array_struct__")
        return core.pin(self).__array_struct__

    def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
        own = type(array) is core.ndarray
        made = core.to_numpy(self).__array_wrap__(core.to_numpy(array) if own else array, context, return_scalar)
        return array if own and type(made) is _nparray and made.shape == array.shape else core.wrap(made)

    def __array_finalize__(self: Any, obj: Any, /) -> None:
        return None

    def __sizeof__(self: Any) -> int:
        data = self._np
        if data is not None:
            return data.__sizeof__()
        if self._node is None and self._base is None:
            return _nparray.__basicsize__  # it waits for its next use (`native/recycled.py`)
        owned = self._node is not None or self._map is None
        return _nparray.__basicsize__ + 16 * self.ndim + (self.nbytes if owned else 0)

    def __dlpack__(self: Any, **options: Any) -> Any:
        found = _on_device(self)
        return core.to_numpy(self).__dlpack__(**options) if found is None else found[1].__dlpack__(**options)

    def __dlpack_device__(self: Any) -> Any:
        found = _on_device(self)
        return (1, 0) if found is None else found[1].__dlpack_device__()

    @property
    def __cuda_array_interface__(self: Any) -> Any:
        found = _on_device(self)
        if found is None:
            raise AttributeError("'numpy.ndarray' object has no attribute '__cuda_array_interface__'")
        return found[1].__cuda_array_interface__

    def __array_namespace__(self: Any, *, api_version: str | None = None) -> Any:
        probe: Any = np.empty(0)
        probe.__array_namespace__(api_version=api_version)  # refuses versions that NumPy refuses
        return sys.modules["lazyarray"]

    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from lazyarray.frontend import ufunc

        return ufunc.dispatch_function(func, types, args, kwargs)

    # ---- conversions that stay here

    def item(self: Any, *args: Any, **options: Any) -> Any:
        found: Any = np.ndarray.item(core.read_only(self), *args, **options)
        return core.wrap(found) if type(found) is tuple or type(found) is _nparray else found

    def tolist(self: Any) -> Any:
        return core.read_only(self).tolist()

    def to_numpy(self: Any, dtype: Any = None, copy: bool = False) -> Array:
        """The values as NumPy's array, which shares the memory (by name and options that packages ask other arrays)."""
        data = core.to_numpy(self)
        return data if dtype is None and not copy else np.array(data, dtype, copy=copy or None)

    def tobytes(self: Any, order: Any = "C") -> bytes:
        return core.read_only(self).tobytes(order)

    copy = copied

    def evaluate(self: Any) -> Any:
        """Computes the array's values now."""
        if self._np is None:
            if not _evaluate_all:
                from lazyarray.frontend.boundary import evaluate_all

                _evaluate_all.append(evaluate_all)
            _evaluate_all[0]((self,))
            node = self._base.node if self._node is None else self._node
            if node is None or node.remote is None:
                core.read_only(self)
        return self


def _on_device(array: Any) -> Any:
    """The device that the array lives on and the array there; None on the host."""
    if not in_use():
        return None
    from lazyarray.frontend.devices import device_array

    return device_array(array)


refuse_deleting(
    Attributes,
    "numpy.ndarray",
    {
        "dtype": "array dtype",
        "flat": "array flat iterator",
        "imag": "array imaginary part",
        "real": "array real part",
        "shape": "array shape",
        "strides": "array strides",
    },
)

from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
