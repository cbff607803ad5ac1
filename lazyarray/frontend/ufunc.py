"""Owns ufuncs: the callable objects of the namespace, and NumPy's dispatch to them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.array import BUILTIN, as_array, ndarray, read_only, wrap
from lazyarray.frontend.callables import UfuncCall
from lazyarray.frontend.elementwise import call_numpy, eager, elementwise, export, overrides, written_through
from lazyarray.frontend.keywords import call
from lazyarray.frontend.naming import Named, name_as_in_c
from lazyarray.frontend.neighbours import CONVERTING, ClassedUfunc, convert
from lazyarray.frontend.overrides import (
    SOURCES,
    ask_other_functions,
    ask_others,
    ask_ufunc,
    has_foreign,
    is_numpys,
    numpys_answer,
    public_of,
)
from lazyarray.frontend.quick import BINARY, UNARY, Fields, limits, wrapped  # cimport
from lazyarray.frontend.record import COMPILED, NUMBERS
from lazyarray.frontend.recorded import write_into  # cimport
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.small import small_items  # cimport
from lazyarray.frontend.subclass import Views
from lazyarray.frontend.vectors import begin, of_ufuncs  # cimport
from lazyarray.ir.index_map import MOST_AXES
from lazyarray.ir.ops import OPS, SPLIT
from lazyarray.native.loops import run_binary  # cimport
from lazyarray.runtime.ledger import ledger

_nparray: Final = np.ndarray
_USUAL: Final[dict[str, Any]] = {"where": True, "out": None, "subok": True, "order": "K", "casting": "same_kind"}
_BY_TYPE: Final[dict[Any, Any]] = {
    **{dtype.type: dtype for dtype in map(np.dtype, "?bhilqBHILQefdFD")},
    **{kind: np.dtype(kind) for kind in (bool, int, float, complex)},
}
MISSING: Final[Any] = object()
FIRST: Final[Any] = object()  # the axis where none is said: overrides are not told of it


_reduce_methods: list[Any] = []


def _later() -> Any:
    """The module of `reduce` and `accumulate`, which needs this one."""
    if not _reduce_methods:
        from lazyarray.frontend import reduce_methods

        _reduce_methods.append(reduce_methods)
    return _reduce_methods[0]


# ---- the objects


class _UfuncType(Named):
    """Makes NumPy's ufuncs (those of `frompyfunc` and of other packages) instances of `ufunc`."""

    @property
    def __doc__(cls) -> Any:  # type: ignore[override]
        return np.ufunc.__doc__

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, np.ufunc)


class _OfEach:
    """An attribute that objects of the class have, and the class has not."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, own: Any, kind: type | None = None) -> Any:
        if own is None:
            raise AttributeError(f"type object 'numpy.ufunc' has no attribute {self._name!r}")
        return getattr(own._np, self._name)


_BY_NAME: Final = frozenset({"maximum", "minimum"})  # NumPy warns of an `out` of theirs that is given by position


class ufunc(UfuncCall, ClassedUfunc, metaclass=_UfuncType):
    # A ufunc of the namespace: NumPy's meaning, recorded where the op table has it. (Each has its own `__doc__`.)

    __module__ = "numpy"  # what messages and `repr(type(np.add))` name
    __slots__ = (
        "__doc__",
        "__name__",
        "__qualname__",
        "_np",
        "_ops",
        "_transcendental",
        "nout",
    )

    def __init__(self, function: np.ufunc) -> None:
        name = function.__name__
        self._np = function
        self.nin = function.nin
        self.nout = function.nout
        self.__name__ = name
        if hasattr(function, "__qualname__"):  # not before NumPy 2.2
            self.__qualname__ = name
        self.__doc__ = function.__doc__
        if name in SPLIT:
            self._ops: tuple[str, ...] = SPLIT[name]
        elif name in OPS and OPS[name].ufunc is function:
            self._ops = (name,)
        else:
            self._ops = ()
        self._op = self._product = None
        self._transcendental = any(OPS[op].transcendental for op in self._ops)
        whole = function.signature is None and not self._transcendental
        self._plain = function if whole else None
        begin(self)

    def general(self, *args: Any, **options: Any) -> Any:
        """A call that has not gone the short way."""
        if (
            not options
            and len(args) == self.nin + 1
            and self.nout == 1
            and type(args[-1]) is ndarray
            and self.__name__ not in _BY_NAME
        ):
            args, options = args[:-1], {"out": args[-1]}
        if not options and len(args) == self.nin:
            return _positional(self, *args)
        if len(args) == self.nin and self._is_said_anyway(args, options):
            return self(*args)
        out = options.get("out")
        if self._op is not None and len(options) == 1 and len(args) == self.nin and type(args[0]) is ndarray:
            target = out[0] if type(out) is tuple and len(out) == 1 else out
            other, form = (args[1], BINARY) if self.nin == 2 else (None, UNARY)
            if type(target) is ndarray and (
                self._write_small(target, args) or write_into(self._op, target, args[0], other, form, 2, 0)
            ):
                return target
        if out is ...:
            # Arrays even where scalars are usual.
            result = self(*args, **{**options, "out": None})
            return tuple([as_array(item) for item in result]) if type(result) is tuple else as_array(result)
        for arg in (*args, *(out if type(out) is tuple else (out,)), options.get("where")):
            if type(arg) not in BUILTIN and overrides(arg):
                return ask_ufunc(self, "__call__", args, options)
        if self._np.signature is not None:
            return _call_core(self, args, options)
        return call(self, args, options)

    def _is_said_anyway(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether the call does the same without its keywords, of which `dtype` may be what all operands have."""
        for name, given in options.items():
            if name != "dtype":
                if _USUAL.get(name, _USUAL) is not given:
                    return False
            elif given is not None:
                dtype = _BY_TYPE.get(given) if isinstance(given, type) else given
                if self._op is None or not isinstance(dtype, np.dtype):
                    return False
                for arg in args:
                    if type(arg) is not ndarray or arg.dtype is not dtype:
                        return False
                if f"{dtype.char * self.nin}->{dtype.char}" not in self._np.types:
                    return False
        return all([type(arg) is ndarray for arg in args])

    def _write_small(self, target: Fields, args: tuple[Any, ...]) -> bool:
        """The call on small memory into small memory; False where others serve it, and nothing has happened.

        For ufuncs whose bits are not NumPy's: the others are served before.
        """
        out = target._np
        passed = small_items(args) if self._transcendental and out is not None and out.size < limits.eager else None
        if passed is None or out.dtype not in COMPILED:
            return False
        for item in passed:
            if type(item) is _nparray and item.dtype not in COMPILED:
                return False
        (eager(self.__name__) or self._np)(*passed, out=out)
        return True

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

    __signature__ = _OfEach("__signature__")

    def resolve_dtypes(self, *args: Any, **options: Any) -> Any:
        return self._np.resolve_dtypes(*args, **options)

    def _resolve_dtypes_and_context(self, *args: Any, **options: Any) -> Any:
        return self._np._resolve_dtypes_and_context(*args, **options)  # type: ignore[attr-defined]

    def _get_strided_loop(self, *args: Any, **options: Any) -> Any:
        return self._np._get_strided_loop(*args, **options)  # type: ignore[attr-defined]

    # `more` is what follows `dtype` by position: NumPy tells `out=...` from the same given so.

    def reduce(
        self,
        array: Any = MISSING,
        axis: Any = FIRST,
        dtype: Any = None,
        *more: Any,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = np._NoValue,
        where: Any = True,
        **unknown: Any,
    ) -> Any:
        said = axis
        if axis is FIRST:
            axis = 0
        if type(array) is ndarray and not (more or unknown):
            usual = dtype is None and out is None and keepdims is False and initial is np._NoValue and where is True
            if usual and (axis is None or type(axis) is int):
                data = array._np
                if data is not None and data.size < limits.eager:
                    return _own(self._np.reduce(data, axis))
                del data
                return _later().reduce_along(self, array, axis)
        reduce_methods = _later()
        if more or unknown or array is MISSING:
            named = {"out": out, "keepdims": keepdims, "initial": initial, "where": where}
            rest = reduce_methods.by_position(self, "reduce", (array, axis, dtype), more, named, unknown)
            return self.reduce(array, axis, dtype, **rest)
        return reduce_methods.reduce(self, array, said, dtype, out, keepdims, initial, where)

    def accumulate(
        self,
        array: Any = MISSING,
        axis: Any = FIRST,
        dtype: Any = None,
        *more: Any,
        out: Any = None,
        **unknown: Any,
    ) -> Any:
        said = axis
        if axis is FIRST:
            axis = 0
        if type(array) is ndarray and type(axis) is int and dtype is None and out is None and not (more or unknown):
            data = array._np
            if data is not None and data.size < limits.eager:
                if not self._transcendental:
                    return _own(self._np.accumulate(data, axis))
                return wrap(self.numpy_method("accumulate", (data.dtype,))(data, axis))
            del data
            return _later().accumulate_along(self, array, axis)
        reduce_methods = _later()
        if more or unknown or array is MISSING:
            rest = reduce_methods.by_position(self, "accumulate", (array, axis, dtype), more, {"out": out}, unknown)
            return self.accumulate(array, axis, dtype, **rest)
        return reduce_methods.accumulate(self, array, said, dtype, out)

    def reduceat(
        self,
        array: Any = MISSING,
        indices: Any = MISSING,
        axis: Any = FIRST,
        dtype: Any = None,
        *more: Any,
        out: Any = None,
        **unknown: Any,
    ) -> Any:
        said = axis
        if axis is FIRST:
            axis = 0
        if type(array) is ndarray and type(axis) is int and dtype is None and out is None and not (more or unknown):
            passed = small_items((array, indices))
            if passed is not None:
                if not self._transcendental:
                    return _own(self._np.reduceat(passed[0], passed[1], axis))
                return wrap(self.numpy_method("reduceat", (passed[0].dtype,))(*passed, axis))
        from lazyarray.frontend.segments import shared_out

        reduce_methods = _later()
        if more or unknown or indices is MISSING:
            given = (array, indices, axis, dtype)
            rest = reduce_methods.by_position(self, "reduceat", given, more, {"out": out}, unknown)
            return self.reduceat(array, indices, axis, dtype, **rest)
        options = {"axis": axis, "dtype": dtype, "out": out}
        if overrides(array) or overrides(out):
            return ask_ufunc(self, "reduceat", (array, indices), reduce_methods.said({**options, "axis": said}))
        run = shared_out(self._np, self.numpy_method("reduceat", (getattr(array, "dtype", None),)))
        return call_numpy(f"{self.__name__}.reduceat", run, (array, indices), options)

    def outer(self, *args: Any, **options: Any) -> Any:
        if len(args) == 2 and not options and type(args[0]) is type(args[1]) is ndarray:
            found = self._small_outer(args[0], args[1])
            if found is not None:
                return found
        if len(args) != 2 or self.nin != 2:
            return self._np.outer(*export(args), **export(options))  # NumPy's error
        return _later().outer(self, *args, options)

    def _small_outer(self, a: Fields, b: Fields) -> Any:
        """`outer` of small memory as NumPy has it, by the loop alone: its iterator takes twice the time; else None."""
        x, y = a._np, b._np
        if x is None or y is None or self.nin != 2 or self.nout != 1 or self.signature is not None:
            return None
        if self._transcendental or self.__name__ in _PICKED_IN_VECTORS or x.ndim + y.ndim > MOST_AXES:
            return None
        if x.size * y.size >= limits.eager or not (is_flat(x) and is_flat(y)):
            return None
        found = run_binary(self._np, x.reshape(x.shape + (1,) * y.ndim), y)
        return wrapped(found) if type(found) is _nparray else found

    def numpy_method(self, name: str, dtypes: tuple[Any, ...]) -> Any:
        """The method of the ufunc whose bits are those of calls with these dtypes."""
        if self._transcendental and all(d is None or d in COMPILED for d in dtypes):
            found = getattr(eager(self.__name__), name, None)
            if found is not None:
                return found
        return getattr(self._np, name)

    def at(self, *args: Any) -> None:
        passed = None if self._transcendental else small_items(args)
        if passed is not None:
            self._np.at(*passed)
            return
        a, b = (args[0], args[-1]) if len(args) > 1 else (None, None)
        if overrides(a) or overrides(b):
            ask_ufunc(self, "at", args, {})
            return
        run = self.numpy_method("at", tuple([getattr(x, "dtype", None) for x in (a, b)]))
        call_numpy(f"{self.__name__}.at", run, args, {})

    def __repr__(self) -> str:
        return f"<ufunc '{self.__name__}'>"

    # Overrides are handed NumPy's ufunc, and compare it with the program's: the two are equal.

    def __eq__(self, other: object) -> Any:
        return self is other or self._np is other

    def __hash__(self) -> int:
        return hash(self._np)

    def __reduce__(self) -> Any:
        return _find, (self.__name__,)


def _own(found: Any) -> Any:
    """What NumPy returned, an array as one of ours."""
    return wrapped(found) if type(found) is _nparray else wrap(found)


def is_flat(data: Any) -> bool:
    """Whether memory gets more axes without being copied."""
    return bool(data.ndim == 1 or data.flags.c_contiguous)


# Which of 0.0 and -0.0 these give depends on whether NumPy's loop takes an element by itself or in a vector.
_PICKED_IN_VECTORS: Final = frozenset(("fmin", "fmax", "minimum", "maximum"))

name_as_in_c(ufunc)
for _name in ("reduce", "accumulate", "reduceat"):
    setattr(ufunc, _name, of_ufuncs(vars(ufunc)[_name], getattr(np.ufunc, _name)))


def _find(name: str) -> ufunc:
    return UFUNCS[name]


def _positional(function: ufunc, *args: Any) -> Any:
    """A call with inputs only, of any types."""
    for arg in args:
        kind = type(arg)
        if kind is ndarray or kind in NUMBERS or kind is LazyScalar:
            continue
        if overrides(arg):
            return ask_ufunc(function, "__call__", args, {})
    if function._np.signature is not None:
        return _call_core(function, args, {})
    return elementwise(function, args)


def matmul(*args: Any, **options: Any) -> Any:
    """The namespace's matmul."""
    if len(args) == 2 and not options:
        return UFUNCS["matmul"]._product(*args)
    return _call_core(UFUNCS["matmul"], args, options)


_methods: Final[list[dict[str, Any]]] = []  # the namespace's, once it is there


def _find_methods() -> dict[str, Any]:
    from lazyarray.frontend.namespace import METHODS

    _methods.append(METHODS)
    return METHODS


def _call_core(function: ufunc, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A generalised ufunc: the namespace's function where it has one that records."""
    methods = _methods[0] if _methods else _find_methods()
    if function.nin < len(args) <= function.nin + function.nout and "out" not in options:
        options = {**options, "out": args[function.nin]}
        args = args[: function.nin]
    out = options.get("out")
    if type(out) is tuple and len(out) == 1:
        options = {**options, "out": out[0]}
    found = methods.get(function.__name__) if len(args) == function.nin else None
    if found is not None:
        return found(*args, **options)
    if any(type(a) is ndarray and a._np is None for a in args):
        ledger.fallback(function.__name__, args)
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
ANSWERED: Final[dict[Any, Any]] = {}
"""lazyarray's functions by NumPy's that asked arrays of both: `dispatch_function`."""
_BY_NUMPY: Final[dict[int, ufunc]] = {id(own._np): own for own in UFUNCS.values()}


def own_of(function: Any) -> Any:
    """The namespace's ufunc for one of NumPy's; another package's as it is."""
    return _BY_NUMPY.get(id(function), function)


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
            return ask_others(function, method, inputs, options)
    foreign = any(isinstance(i, _nparray) and type(i) not in BUILTIN for i in (*inputs, *outs))
    own = _BY_NUMPY.get(id(function))
    if foreign and not options:
        small = _small_beside(inputs)
        if small is not None:
            return wrap(getattr(function, method)(*small))
    if own is None or foreign:
        name = f"{function.__name__}.{method}"
        return call_numpy(name, getattr(function, method), inputs, options)
    if "out" in options and len(outs) == 1:
        options["out"] = outs[0]
    if method == "__call__":
        return own(*inputs, **options)
    return getattr(own, method)(*inputs, **options)


def _small_beside(inputs: tuple[Any, ...]) -> list[Any] | None:
    """Operands beside a subclass of NumPy's arrays as NumPy takes them; None where a lazy one is not small."""
    passed = []
    for item in inputs:
        kind = type(item)
        if kind is ndarray:
            item = item._np
            if item is None or item.size >= config.eager_below:
                return None
        elif kind is LazyScalar:
            return None
        passed.append(item)
    return passed


def dispatch_function(function: Any, types: Any, args: Any, options: dict[str, Any]) -> Any:
    """`ndarray.__array_function__`: NumPy's functions on our arrays are ours where we have them."""
    if not isinstance(args, tuple) or not isinstance(options, dict):
        return np.empty(0).__array_function__(np.sum, (), args, options)  # NumPy's error
    overridden = False
    for kind in types:
        if kind in BUILTIN:
            continue
        override = getattr(kind, "__array_function__", None)
        if override in (None, _nparray.__array_function__, ndarray.__array_function__, LazyScalar.__array_function__):
            continue
        if not issubclass(kind, _nparray):
            return ask_other_functions(function, types, args, options)
        overridden = True
    if overridden:
        return numpys_answer(SOURCES.get(function, function), types, args, options)
    if not is_numpys(function):
        return function._implementation(*args, **options)  # another package's
    if has_foreign(args) or has_foreign(options.values()):
        return numpys_answer(SOURCES.get(function, function), (), args, options)  # they have been asked
    if any([issubclass(kind, _nparray) and kind not in BUILTIN and not issubclass(kind, Views) for kind in types]):
        # NumPy's code for a subclass of its own: it knows what to do with NumPy's arrays.
        return function(*export(args), **export(options))
    if function in CONVERTING:
        return convert(function, args)
    own = public_of(function)
    if own is not None and own is not function and callable(own):
        if not _shows_arrays((*args, *options.values())):
            return call_numpy(function.__name__, getattr(function, "_implementation", function), args, options)
        if not overridden and type(function) is type(np.concatenate):
            ANSWERED[function] = own
        return own(*args, **options)
    return call_numpy(function.__name__, function, args, options)


def _shows_arrays(args: tuple[Any, ...]) -> bool:
    """Whether our function would find the arrays among these: if not, it would ask NumPy, and NumPy us."""
    from lazyarray.frontend.exchange import items_of

    return not _HOLDING.isdisjoint(map(type, args)) or any([items_of(arg) is not None for arg in args])


_HOLDING: Final[frozenset[Any]] = frozenset({ndarray, LazyScalar, list, tuple})


from lazyarray.frontend import operators  # noqa: E402, F401  (completes arrays and ufuncs with their fast paths)
