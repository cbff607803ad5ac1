"""Owns ufuncs: the callable objects of the namespace, and NumPy's dispatch to them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.array import BUILTIN, as_array, ndarray, read_only, wrap
from lazyarray.frontend.elementwise import call_numpy, eager, elementwise, export, overrides, written_through
from lazyarray.frontend.keywords import call
from lazyarray.frontend.naming import Named, name_as_in_c
from lazyarray.frontend.record import COMPILED, NUMBERS
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.ir.ops import OPS, SPLIT
from lazyarray.runtime.ledger import ledger

_nparray: Final = np.ndarray
_MISSING: Final[Any] = object()


# ---- the objects


class _UfuncType(Named):
    """Makes NumPy's ufuncs (those of `frompyfunc` and of other packages) instances of `ufunc`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, np.ufunc)


class ufunc(metaclass=_UfuncType):
    # A ufunc of the namespace: NumPy's meaning, recorded where the op table has it. (Each has its own `__doc__`.)

    __module__ = "numpy"  # what messages and `repr(type(np.add))` name
    __slots__ = (
        "__doc__",
        "__name__",
        "__qualname__",
        "_binary",
        "_np",
        "_ops",
        "_transcendental",
        "_unary",
        "nin",
        "nout",
    )

    def __init__(self, function: np.ufunc) -> None:
        name = function.__name__
        self._np = function
        self.nin = function.nin
        self.nout = function.nout
        self.__name__ = name
        self.__qualname__ = name
        self.__doc__ = function.__doc__
        if name in SPLIT:
            self._ops: tuple[str, ...] = SPLIT[name]
        elif name in OPS and OPS[name].ufunc is function:
            self._ops = (name,)
        else:
            self._ops = ()
        self._unary: Callable[[Any], Any] | None = None  # for one array, or None
        self._binary: Callable[[Any, Any], Any] | None = None  # for an array and anything, or None
        self._transcendental = any(OPS[op].transcendental for op in self._ops)

    def __call__(self, x1: Any = _MISSING, x2: Any = _MISSING, /, *more: Any, **options: Any) -> Any:
        if type(x1) is ndarray and not more and not options:
            if x2 is _MISSING:
                unary = self._unary
                if unary is not None:
                    return unary(x1)
            else:
                binary = self._binary
                if binary is not None:
                    return binary(x1, x2)
        args: Any = () if x1 is _MISSING else (x1,) if x2 is _MISSING else (x1, x2, *more)
        if not options and len(args) == self.nin:
            return _positional(self, *args)
        out = options.get("out")
        if out is ...:
            # Arrays even where scalars are usual.
            result = self(*args, **{name: item for name, item in options.items() if name != "out"})
            return tuple([as_array(item) for item in result]) if type(result) is tuple else as_array(result)
        for arg in (*args, *(out if type(out) is tuple else (out,)), options.get("where")):
            if type(arg) not in BUILTIN and overrides(arg):
                result = self._np(*export(args), **export(options))
                return written_through(wrap(result), options) if type(result) is _nparray else wrap(result)
        if self._np.signature is not None:
            return _call_core(self, args, options)
        return call(self, args, options)

    @property
    def nargs(self) -> int:
        return self._np.nargs

    @property
    def ntypes(self) -> int:
        return self._np.ntypes

    @property
    def types(self) -> list[str]:
        return self._np.types

    @property
    def identity(self) -> Any:
        return self._np.identity

    @property
    def signature(self) -> str | None:
        return self._np.signature

    def resolve_dtypes(self, *args: Any, **options: Any) -> Any:
        return self._np.resolve_dtypes(*args, **options)

    def reduce(
        self,
        array: Any,
        axis: Any = 0,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = np._NoValue,
        where: Any = True,
    ) -> Any:
        from lazyarray.frontend import reduce_methods

        return reduce_methods.reduce(self, array, axis, dtype, out, keepdims, initial, where)

    def accumulate(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        from lazyarray.frontend import reduce_methods

        return reduce_methods.accumulate(self, array, axis, dtype, out)

    def outer(self, A: Any, B: Any, /, **options: Any) -> Any:
        from lazyarray.frontend import reduce_methods

        return reduce_methods.outer(self, A, B, options)

    def numpy_method(self, name: str, dtypes: tuple[Any, ...]) -> Any:
        """The method of the ufunc whose bits are those of calls with these dtypes."""
        if self._transcendental and all(d is None or d in COMPILED for d in dtypes):
            found = getattr(eager(self.__name__), name, None)
            if found is not None:
                return found
        return getattr(self._np, name)

    def at(self, a: Any, indices: Any, b: Any = None, /) -> None:
        args = (a, indices) if b is None else (a, indices, b)
        run = self.numpy_method("at", tuple([getattr(x, "dtype", None) for x in (a, b)]))
        call_numpy(f"{self.__name__}.at", run, args, {})

    def reduceat(self, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        options = {"axis": axis, "dtype": dtype, "out": out}
        run = self.numpy_method("reduceat", (getattr(array, "dtype", None),))
        return call_numpy(f"{self.__name__}.reduceat", run, (array, indices), options)

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    # Overrides are handed NumPy's ufunc, and compare it with the program's: the two are equal.

    def __eq__(self, other: object) -> Any:
        return self is other or self._np is other

    def __hash__(self) -> int:
        return hash(self._np)

    def __reduce__(self) -> Any:
        return _find, (self.__name__,)


name_as_in_c(ufunc)


def _find(name: str) -> ufunc:
    return UFUNCS[name]


def _positional(function: ufunc, *args: Any) -> Any:
    """A call with inputs only, of any types."""
    for arg in args:
        kind = type(arg)
        if kind is ndarray or kind in NUMBERS or kind is LazyScalar:
            continue
        if overrides(arg):
            return wrap(function._np(*export(args)))
    if function._np.signature is not None:
        return _call_core(function, args, {})
    return elementwise(function, args)


def matmul(*args: Any, **options: Any) -> Any:
    """The namespace's matmul."""
    return _call_core(UFUNCS["matmul"], args, options)


def _call_core(function: ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A generalised ufunc: the namespace's function where it has one that records."""
    from lazyarray.frontend.namespace import METHODS

    if function.nin < len(args) <= function.nin + function.nout and "out" not in options:
        options = {**options, "out": args[function.nin]}
        args = args[: function.nin]
    out = options.get("out")
    if type(out) is tuple and len(out) == 1:
        options = {**options, "out": out[0]}
    found = METHODS.get(function.__name__) if len(args) == function.nin else None
    if found is not None:
        return found(*args, **options)
    if any(type(a) is ndarray and a._np is None for a in args):
        ledger.fallback(function.__name__)
    inputs = export(args) if options else tuple([_readable(a) for a in args])
    return written_through(wrap(function._np(*inputs, **export(options))), options)


def _readable(arg: Any) -> Any:
    return read_only(arg) if type(arg) is ndarray else export(arg)


def _all_ufuncs() -> dict[str, ufunc]:
    found = {}
    objects: dict[int, ufunc] = {}
    for name, item in list(vars(np).items()):
        if isinstance(item, np.ufunc):
            own = objects.get(id(item))
            if own is None:
                own = objects[id(item)] = ufunc(item)
            found[name] = own
    for own in list(found.values()):
        found.setdefault(own.__name__, own)
    return found


UFUNCS: Final[dict[str, ufunc]] = _all_ufuncs()
_BY_NUMPY: Final[dict[int, ufunc]] = {id(own._np): own for own in UFUNCS.values()}


# ---- NumPy's dispatch


def dispatch(function: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """`ndarray.__array_ufunc__`: NumPy's ufuncs on our arrays are ours."""
    outs = options.get("out", ())
    for item in (*inputs, *outs):
        kind = type(item)
        if kind in BUILTIN or isinstance(item, _nparray | np.generic):
            continue
        override = getattr(kind, "__array_ufunc__", None)
        if override is not None and override is not ndarray.__array_ufunc__:
            return NotImplemented
    foreign = any(isinstance(i, _nparray) and type(i) is not _nparray for i in (*inputs, *outs))
    own = _BY_NUMPY.get(id(function))
    if own is None or foreign:
        name = f"{function.__name__}.{method}"
        return call_numpy(name, getattr(function, method), inputs, options)
    if "out" in options and len(outs) == 1:
        options["out"] = outs[0]
    if method == "__call__":
        return own(*inputs, **options)
    return getattr(own, method)(*inputs, **options)


def dispatch_function(function: Any, types: Any, args: Any, options: dict[str, Any]) -> Any:
    """`ndarray.__array_function__`: NumPy's functions on our arrays are ours where we have them."""
    for kind in types:
        if kind in BUILTIN or issubclass(kind, _nparray):
            continue
        override = getattr(kind, "__array_function__", None)
        if override not in (None, ndarray.__array_function__, LazyScalar.__array_function__):
            return NotImplemented
    space: Any = sys.modules.get("lazyarray")
    for part in function.__module__.split(".")[1:]:
        space = getattr(space, part, None)
    own = getattr(space, function.__name__, None)
    if own is not None and own is not function and callable(own):
        return own(*args, **options)
    return call_numpy(function.__name__, function, args, options)


from lazyarray.frontend import operators  # noqa: E402, F401  (completes arrays and ufuncs with their fast paths)
