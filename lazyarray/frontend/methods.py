"""Owns the methods of arrays that a function of the namespace computes: thin, and found when first called.

A method whose function lazyarray does not have runs NumPy's own method on the array's memory, and is counted.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.callables import FEW_RANKED
from lazyarray.frontend.sorts import are_many
from lazyarray.runtime.device import in_use

Array = np.ndarray[Any, Any]


def _namespace(name: str) -> Any:
    from lazyarray.frontend.namespace import resolve

    return resolve(name)


def run(name: str, array: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The namespace's version of the method, the array first; or NumPy's own."""
    from lazyarray.frontend.namespace import METHODS

    core.take_over(array)
    function = METHODS.get(name)
    if function is not None:
        return function(array, *args, **options)
    if in_use():
        from lazyarray.frontend.devices import run_there

        found = run_there(name, (array, *args), options)
        if found is not NotImplemented:
            return found
    return run_numpy(name, array, args, options)


def run_numpy(name: str, array: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """NumPy's own method, on the array's memory; counted unless the array is small or not compiled."""
    from lazyarray.frontend.array import is_plain, to_numpy, wrap
    from lazyarray.frontend.elementwise import export, written_through
    from lazyarray.runtime.ledger import ledger

    run = None if is_plain(array) else ledger.fallback("ndarray." + name, (array, *args))
    method = getattr(np.ndarray, name)  # unbound: messages then name the method as those of direct calls do
    result = method(to_numpy(array), *export(args), **export(options))
    ledger.ended(run)
    return written_through(wrap(result), options)


class Methods:
    """The methods that delegate."""

    __slots__ = ()

    def all(self, *args: Any, **options: Any) -> Any:
        return run("all", self, args, options)

    def any(self, *args: Any, **options: Any) -> Any:
        return run("any", self, args, options)

    def sum(self, *args: Any, **options: Any) -> Any:
        return run("sum", self, args, options)

    def prod(self, *args: Any, **options: Any) -> Any:
        return run("prod", self, args, options)

    def max(self, *args: Any, **options: Any) -> Any:
        return run("max", self, args, options)

    def min(self, *args: Any, **options: Any) -> Any:
        return run("min", self, args, options)

    def mean(self, *args: Any, **options: Any) -> Any:
        return run("mean", self, args, options)

    def std(self, *args: Any, **options: Any) -> Any:
        return run("std", self, args, options)

    def var(self, *args: Any, **options: Any) -> Any:
        return run("var", self, args, options)

    def argmax(self, *args: Any, **options: Any) -> Any:
        return run("argmax", self, args, options)

    def argmin(self, *args: Any, **options: Any) -> Any:
        return run("argmin", self, args, options)

    def cumsum(self, *args: Any, **options: Any) -> Any:
        return run("cumsum", self, args, options)

    def cumprod(self, *args: Any, **options: Any) -> Any:
        return run("cumprod", self, args, options)

    def clip(self, *args: Any, **options: Any) -> Any:
        return run("clip", self, args, options)

    def round(self, *args: Any, **options: Any) -> Any:
        return run("round", self, args, options)

    def trace(self, *args: Any, **options: Any) -> Any:
        return run("trace", self, args, options)

    def dot(self, *args: Any, **options: Any) -> Any:
        return run("dot", self, args, options)

    def reshape(self, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        wanted = shape[0] if len(shape) == 1 else shape
        options: dict[str, Any] = {} if copy is None else {"copy": copy}
        return run("reshape", self, (wanted,), {"order": order, **options})

    def transpose(self, *axes: Any, **options: Any) -> Any:
        return run("transpose", self, axes, options)

    def ravel(self, *args: Any, **options: Any) -> Any:
        return run("ravel", self, args, options)

    def swapaxes(self, axis1: Any, axis2: Any, /) -> Any:
        return run("swapaxes", self, (axis1, axis2), {})

    def squeeze(self, *args: Any, **options: Any) -> Any:
        return run("squeeze", self, args, options)

    def diagonal(self, *args: Any, **options: Any) -> Any:
        return run("diagonal", self, args, options)

    def repeat(self, *args: Any, **options: Any) -> Any:
        return run("repeat", self, args, options)

    def take(self, *args: Any, **options: Any) -> Any:
        return run("take", self, args, options)

    def put(self, *args: Any, **options: Any) -> Any:
        return run("put", self, args, options)

    def compress(self, *args: Any, **options: Any) -> Any:
        return run("compress", self, args, options)

    def choose(self, *args: Any, **options: Any) -> Any:
        return run_numpy("choose", self, args, options)

    def searchsorted(self, *args: Any, **options: Any) -> Any:
        if args and type(args[0]) in (core.ndarray, np.ndarray):
            return _namespace("searchsorted")(self, *args, **options)
        return run("searchsorted", self, args, options)

    def nonzero(self) -> Any:
        return run("nonzero", self, (), {})

    def argsort(self, *args: Any, **options: Any) -> Any:
        array: Any = self
        if array.size >= FEW_RANKED:
            return _namespace("argsort")(self, *args, **options)
        return run("argsort", self, args, options)

    def argpartition(self, *args: Any, **options: Any) -> Any:
        return run("argpartition", self, args, options)

    def sort(self, *args: Any, **options: Any) -> None:
        array: Any = self
        there = in_use() and array._np is None
        # The function sorts copies of what may not be written, and flattens: of the method NumPy says what is wrong.
        axis = args[0] if args else options.get("axis", -1)
        if (there or are_many(array)) and axis is not None and array.flags.writeable:
            if there:
                from lazyarray.frontend.devices import run_there

                found = run_there("sort", (self, *args), options)
                if found is not NotImplemented:
                    array[...] = found
                    return
            if are_many(array):
                array[...] = _namespace("sort")(self, *args, **options)
                return
        run_numpy("sort", self, args, options)

    def partition(self, *args: Any, **options: Any) -> None:
        run_numpy("partition", self, args, options)

    def conj(self, *args: Any, **options: Any) -> Any:
        return run_numpy("conj", self, args, options) if options else self.conjugate(*args)

    def conjugate(self, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend.ufunc import UFUNCS

        array: Any = self
        kind = array.dtype.kind
        if options or len(args) > 1 or (args and args[0] is not None) or kind not in "biufc":
            return run_numpy("conjugate", self, args, options)
        # As NumPy: real arrays are returned as they are.
        return self if kind != "c" else UFUNCS["conjugate"](self)

    def fill(self: Any, *args: Any, **options: Any) -> None:
        if len(args) != 1 or options:
            run_numpy("fill", self, args, options)
            return
        (value,) = args
        from lazyarray.frontend.array import as_operand, assign, ndarray
        from lazyarray.frontend.scalar import LazyScalar
        from lazyarray.frontend.writing import checked

        if type(value) is LazyScalar:
            value = checked(value, self.dtype)
        if type(value) is ndarray or isinstance(value, np.ndarray | list | tuple):
            run_numpy("fill", self, (value,), {})  # one element of any shape, or NumPy's error
            return
        if type(value) is not LazyScalar and as_operand(value) is None:
            run_numpy("fill", self, (value,), {})
            return
        assign(self, value)

    def flatten(self, *args: Any, **options: Any) -> Any:
        return run("flatten", self, args, options)

    def astype(
        self: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: Any = True, copy: Any = True
    ) -> Any:
        data = self._np
        if data is not None and data.size < config.eager_below:
            found = data.astype(dtype, order, casting, subok, copy)
            return self if found is data else core.plain(found)
        if data is None and copy and self._node is None:
            data = core.regions.window(self)
            if data is not None:
                return core.plain(data.astype(dtype, order, casting, subok))
        del data
        return core.astype(self, dtype, order, casting, subok, copy)

    def view(self, *args: Any, **options: Any) -> Any:
        from lazyarray.frontend.array import map_of, ndarray, view_of

        array: Any = self
        if not options and len(args) < 2:
            wanted = args[0] if args else ndarray
            kept = wanted is ndarray
            if kept:
                core.take_over(array)
            if kept and array._np is not None:
                return core.plain(array._np.view())
            if array._np is None and not kept and not (isinstance(wanted, type) and issubclass(wanted, np.ndarray)):
                kept = np.dtype(wanted) == array.dtype
            if kept:
                return view_of(array, map_of(array))
        return _reinterpret(array, args, options)

    def byteswap(self, *args: Any, **options: Any) -> Any:
        swapped = run_numpy("byteswap", self, args, options)
        return self if options.get("inplace", args and args[0]) else swapped

    def getfield(self, *args: Any, **options: Any) -> Any:
        return run_numpy("getfield", self, args, options)

    def setfield(self, *args: Any, **options: Any) -> None:
        run_numpy("setfield", self, args, options)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        array: Any = self
        if array._np is None and align is None and uic is None and write is not None:
            if write and array._node is not None:
                return
            base = core.share(array)
            if write and array._fixed == core.FOR_GOOD:
                raise ValueError(_KEPT_READ_ONLY)
            whole = array._map is None or (base.owner is not None and base.owner() is array)
            if whole and array._part is None:
                base.fixed = not write
            elif write and base.fixed:
                raise ValueError(_KEPT_READ_ONLY)
            if not write or array._map is None or not array._fixed:
                array._fixed = not write
                return
        known: Any = array.base if write else None
        if type(known) is type(array) and not known.flags.writeable:
            raise ValueError(_KEPT_READ_ONLY)
        from lazyarray.frontend.reforming import make_plain

        make_plain(array)
        if write and not array._np.flags.writeable:
            core.will_be_written(array._np)
        elif write is not None and not write:
            core.will_be_fixed(array)
        array._np.setflags(write=write, align=align, uic=uic)

    def resize(self, *args: Any, **options: Any) -> None:
        array: Any = self
        alone = sys.getrefcount(array) <= ALONE_IN_METHOD
        if array._np is None:
            _resize_managed(array, alone, args, options)
            return
        # NumPy counts references to the memory: it is held here as often as the array is by its user.
        data = array._np
        held = None if alone else data
        array._np = None
        try:
            data.resize(*args, **options)
        finally:
            array._np = data
            del held

    def tofile(self, *args: Any, **options: Any) -> None:
        from lazyarray.frontend.array import read_only

        read_only(self).tofile(*args, **options)

    def dump(self, file: Any) -> None:
        from lazyarray.frontend.array import read_only

        read_only(self).dump(file)

    def dumps(self) -> bytes:
        from lazyarray.frontend.array import read_only

        return read_only(self).dumps()

    def __setstate__(self, state: Any, /) -> None:
        # NumPy frees the old memory as if it were of the new size, and keeps freed blocks below 1 KiB to use again.
        array: Any = self
        data = np.empty(1024, np.int8)
        data.__setstate__(state)
        array._np = data

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        if isinstance(device, str) and (in_use() or device.partition(":")[0] != "cpu"):
            from lazyarray.frontend.devices import to_device

            return to_device(self, device, stream)  # type: ignore[arg-type]
        np.empty(0).to_device(device, stream=stream)  # type: ignore[arg-type]
        return self


_KEPT_READ_ONLY: Final = "cannot set WRITEABLE flag to True of this array"


class _Counted:
    __slots__ = ()

    def ask(self, *args: Any, **options: Any) -> int:
        array: Any = self
        return sys.getrefcount(array)


def _count_in_method() -> int:
    counted = _Counted()
    return counted.ask()


# What counting shows, within a method, of an object with one name.
ALONE_IN_METHOD: Final = _count_in_method()


def refuse_resize() -> None:
    """Raises what NumPy raises for an array that something refers to, in the words of the installed release."""
    probe: Any = np.empty(2)
    view = probe[:1]
    probe.resize(3)
    raise AssertionError(view)


def _resize_managed(array: Any, alone: bool, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """`resize` with NumPy's checks, in its order; the resized array is plain."""
    from lazyarray.frontend.array import read_only, to_numpy
    from lazyarray.runtime.buffer import ALONE_HERE

    probe = np.empty(0, array.dtype)
    probe.resize(*args, **options)  # the errors of the arguments
    if not args or args == (None,):
        return
    flags = array.flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise ValueError("resize only works on single-segment arrays")
    if probe.size == array.size:
        if flags.c_contiguous:
            array.shape = probe.shape
            return
        data: Any = to_numpy(array)  # the same memory in another shape
        data.resize(probe.shape, refcheck=False)
        array._np = data
        return
    if not flags.owndata:
        raise ValueError("cannot resize this array: it does not own its data")
    if options.get("refcheck", True):
        base = array._base if array._node is None else None
        if not alone or (base is not None and (sys.getrefcount(base) > ALONE_HERE or base.reclaim() is None)):
            refuse_resize()
    writeable = flags.writeable
    values = read_only(array)
    owned = np.zeros(probe.shape, values.dtype, "C" if flags.c_contiguous else "F")
    count = min(owned.size, values.size)
    owned.ravel("K")[:count] = values.ravel("K")[:count]
    owned.flags.writeable = writeable
    array._np = owned


def _reinterpret(array: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    from lazyarray.frontend.array import ndarray, to_numpy, wrap

    args = tuple([np.ndarray if item is ndarray else item for item in args])
    options = {name: np.ndarray if item is ndarray else item for name, item in options.items()}
    return wrap(to_numpy(array).view(*args, **options))


from lazyarray.frontend import array as core  # noqa: E402  (either module may be imported first)
