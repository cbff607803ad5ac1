"""Owns arrays from objects: `array`, `asarray` and their kin, which alias, copy or convert as NumPy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import as_array, from_node, ndarray, wrap
from lazyarray.frontend.copies import is_ordered
from lazyarray.frontend.creation import dtype_from, recorded_size
from lazyarray.frontend.exchange import export
from lazyarray.frontend.foreign import Forwarder, forward, make_like, retried, serves
from lazyarray.frontend.manipulation import fill_parts
from lazyarray.frontend.reading import Reading
from lazyarray.frontend.rebase import rebase
from lazyarray.frontend.record import empty_, is_compiled
from lazyarray.frontend.regions import at_hand
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.index_map import MOST_AXES

object_: Final = object  # the name of an argument, as NumPy has it
_SEQUENCES: Final = frozenset({list, tuple})
_C_ORDERS: Final = ("K", "C", "A", None)  # in which arrays of lists have C's
_PLAIN: Final = frozenset({int, float, complex, bool, str, np.float64, np.int64})


def _is_ours(obj: Any) -> bool:
    return type(obj) is ndarray or type(obj) is LazyScalar


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    **options: Any,
) -> Any:
    kind = type(object)
    if kind is ndarray and object._np is not None and dtype is None and copy is True and not (options or ndmin):
        return wrap(object._np.copy(order)) if order in ("K", "C") else wrap(np.array(object._np, order=order))
    if kind is list and not options and _PLAIN.issuperset(map(type, object)):
        return wrap(np.array(object, dtype, copy=copy, order=order, subok=subok, ndmin=ndmin))
    found = _from_device(object, dtype, copy)
    if found is not None:
        return found
    like = options.pop("like", None)
    if not serves(like):
        np.array((), **options)  # NumPy's error
        options.update(dtype=dtype, copy=copy, order=order, subok=subok, ndmin=ndmin)
        return make_like("array", like, (object,), options)
    if kind in _SEQUENCES and not options and copy is not False and ndmin == 0:
        stacked = _stacked(object, dtype, order)
        if stacked is not None:
            return stacked
    if options or not _is_ours(object):
        given = _given(object, dtype)
        options.update(copy=copy, order=order, subok=subok, ndmin=ndmin)
        made = retried(np.array, (given, dtype), options)
        if dtype is None and kind in _SEQUENCES and made.dtype == np.dtype(object_):
            made = retried(np.array, (object, object_), options)
        return _own(made, given) if type(made) is np.ndarray else made
    x = as_array(object)
    result = _converted(x, dtype, copy, order)
    if result.ndim < ndmin:
        result = result.reshape((1,) * (ndmin - result.ndim) + result.shape)
    return result


def _from_device(obj: Any, dtype: Any, copy: Any) -> Any:
    """The array over an object's memory on a GPU; None where it has none there."""
    kind = type(obj)
    if kind in _HOSTS or not hasattr(kind, "__cuda_array_interface__"):
        return None
    from lazyarray.frontend.devices import from_device

    found = from_device(obj, copy)
    return found if found is None or dtype is None else found.astype(dtype, copy=False)


_HOSTS: Final = frozenset({np.ndarray, ndarray, LazyScalar, list, tuple, int, float, complex, bool})


def _given(obj: Any, dtype: Any) -> Any:
    """What NumPy makes an array of; an array of objects holds lazyarray's arrays themselves."""
    if type(obj) in _SEQUENCES and dtype is not None and (dtype is object_ or np.dtype(dtype).hasobject):
        return obj
    rows = _rows(obj) if type(obj) in _SEQUENCES and obj and type(obj[0]) is ndarray else None
    return forward(export(obj)) if rows is None else rows


def _stacked(items: Any, dtype: Any, order: Any) -> ndarray | None:
    """The array of a list of large ones of one shape, recorded: who computes one writes it into its place.

    None where NumPy makes the array now, of small ones in less time than it takes to record them.
    """
    first = items[0] if items else None
    if type(first) is not ndarray or first.size < config.eager_below or order not in _C_ORDERS:
        return None
    shape = first.shape
    if any([type(item) is not ndarray or item.shape != shape for item in items]):
        return None
    asked = np.result_type(*[item.dtype for item in items]) if dtype is None else dtype
    found = dtype_from(asked)
    extents = (len(items), *shape)
    if (
        found is None
        or found.char != np.dtype(asked).char
        or len(extents) > MOST_AXES
        or not recorded_size(extents, found)
    ):
        return None
    for item in items:
        if not is_compiled(item.dtype) or (item.dtype.kind == "c" and found.kind != "c"):
            return None  # NumPy warns of imaginary parts
    reading = Reading()
    nodes = [reading.node_of(item) for item in items]
    return from_node(reading.made(fill_parts(empty_(extents, found), nodes, 0, stacked=True)))


def _rows(items: Any) -> list[Any] | None:
    """The arrays of a list or tuple as memory, to be copied now; None where one is pending, or something else."""
    found = []
    for item in items:
        data = at_hand(item) if type(item) is ndarray else None
        if data is None:
            return None
        found.append(data)
    return found


def _own(made: Any, given: Any) -> Any:
    """What NumPy made of `given`: the array itself where that is what an object's `__array__` gave."""
    return wrap(made) if type(given) is not Forwarder or given.memory is not made else given.given


def _converted(x: ndarray, dtype: Any, copy: Any, order: Any) -> ndarray:
    if order is None:
        order = "K"
    elif type(order) is str:
        order = order.upper()
    if order not in ("C", "F", "A", "K"):
        np.empty(0).copy(order)  # NumPy's error
    if order == "A" and dtype is not None and np.dtype(dtype) != x.dtype:
        order = "K"  # conversions ask for an order only where it is C or Fortran
    if x._np is not None:
        if dtype is None and copy is None and x._np.size >= config.eager_below and not is_ordered(x, order):
            copied: ndarray = x.copy(order)  # which all cores make
            return copied
        try:
            made = np.array(x._np, dtype, copy=copy, order=order)
        except TypeError:
            if not x._np.dtype.hasobject:
                raise
            made = np.array(_of_numpys(x._np), dtype, order=order)
        return x if made is x._np else wrap(made)
    if type(copy) is not bool and copy is not None:
        copy = _as_boolean(copy)
    if dtype is not None and (np.dtype(dtype) != x.dtype or copy):
        if copy is False:
            raise ValueError(_NO_COPY)
        result: ndarray = x.astype(dtype, order=order)
        return result
    if copy:
        result = x.copy(order)
        return result
    if is_ordered(x, order):
        return x
    if copy is False:
        raise ValueError(_NO_COPY)
    result = x.copy(order)
    return result


def _of_numpys(objects: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The objects, with NumPy's arrays for ours: NumPy has other words for those where it wants integers."""
    made = objects.copy()
    for place in np.ndindex(objects.shape):
        made[place] = export(objects[place])
    return made


def _as_boolean(copy: Any) -> bool | None:
    """What `copy=` means: True, False, or None for "where it must be"."""
    np.array(np.empty(0), copy=copy)  # NumPy's errors
    return None if copy is np._CopyMode.IF_NEEDED else bool(copy)


_NO_COPY: Final = (
    "Unable to avoid copy while creating an array as requested.\n"
    "If using `np.array(obj, copy=False)` replace it with `np.asarray(obj)` to allow a copy when needed "
    "(no behavior change in NumPy 1.x).\n"
    "For more details, see https://numpy.org/devdocs/numpy_2_0_migration_guide.html"
    "#adapting-to-changes-in-the-copy-keyword."
)


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    itself = type(a) is ndarray and order is None and copy is None and device is None and like is None
    if itself and (dtype is None or (a._np is None and np.dtype(dtype) is a.dtype)):
        return a
    if not serves(like):
        return make_like("asarray", like, (a,), {"dtype": dtype, "order": order, "device": device, "copy": copy})
    if _is_ours(a) and device in (None, "cpu"):
        return _converted(as_array(a), dtype, copy, "K" if order is None else order)
    found = _from_device(a, dtype, copy)
    if found is None and type(a) in _SEQUENCES and device is None and copy is not False:
        found = _stacked(a, dtype, order)
    if found is not None:
        return found
    given = _given(a, dtype)
    made = retried(np.asarray, (given, dtype, order), {"device": device, "copy": copy})
    return _own(made, given) if made is not a or type(a) is not np.ndarray else as_array(a)


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    like = options.pop("like", None)
    if not serves(like):
        return make_like("asanyarray", like, (a,), {"dtype": dtype, "order": order, **options})
    if _is_ours(a):
        return asarray(a, dtype, order, **options)
    found = _stacked(a, dtype, order) if type(a) in _SEQUENCES and not options else None
    if found is not None:
        return found
    given = _given(a, dtype)
    made = retried(np.asanyarray, (given, dtype, order), options)
    if type(made) is not np.ndarray:
        return made  # a subclass, NumPy's business
    return _own(made, given) if made is not a else as_array(a)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    if not serves(like):
        return make_like("ascontiguousarray", like, (a,), {"dtype": dtype})
    result = asarray(a, dtype, "C")
    return result.reshape(1) if result.ndim == 0 else result


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    if not serves(like):
        return make_like("asfortranarray", like, (a,), {"dtype": dtype})
    result = asarray(a, dtype, "F")
    return result.reshape(1) if result.ndim == 0 else result


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    return rebase(np.asarray_chkfinite)(a, dtype, order)


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    return array(a, order=order, subok=subok, copy=True)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    if not serves(like):
        return make_like("require", like, (a,), {"dtype": dtype, "requirements": requirements})
    if not requirements:
        return asanyarray(a, dtype)
    return rebase(np.require)(a, dtype, requirements)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    function.__name__: function
    for function in (
        array,
        asarray,
        asanyarray,
        ascontiguousarray,
        asfortranarray,
        asarray_chkfinite,
        copy,
        require,
    )
}
