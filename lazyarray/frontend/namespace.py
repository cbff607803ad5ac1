"""Owns what each public name means: recorded, NumPy's Python code rebased, NumPy's own, or a fallback."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend import (
    at_once,
    conversion,
    correlations,
    creation,
    distinct,
    histograms,
    iterators,
    linalg,
    manipulation,
    modules,
    quantiles,
    ranges,
    rankings,
    rebase,
    reductions,
    searches,
    selection,
    sorts,
    statistics,
    transforms,
    ways,
)
from lazyarray.frontend.array import as_array, ndarray, to_numpy, wrap
from lazyarray.frontend.callables import (
    ANY,
    AS_IS,
    CONTRACTS,
    CONVERTS,
    COUNTS,
    FEW_SORTED,
    FORTRAN,
    GROWS,
    ITSELF,
    LIKE,
    NUMBERS,
    PIECES,
    RANGE,
    RANKS,
    REPEATS,
    SEARCHES,
    SIZED,
    SORTS,
    SPACED,
    SQUARE,
    repeats_much,
)
from lazyarray.frontend.devices import PLACED, from_dlpack, placed
from lazyarray.frontend.dispatch import (
    Uncompiled,
    asked_method,
    compiled,
    compiled_method,
    compiled_pair,
    describe,
    guarded,
    passing,
    quick_method,
    run_numpy,
    unbound,
)
from lazyarray.frontend.exchange import export
from lazyarray.frontend.flat import flatiter
from lazyarray.frontend.naming import speak_for
from lazyarray.frontend.overrides import is_foreign
from lazyarray.frontend.own_loops import with_loops
from lazyarray.frontend.record import dummy
from lazyarray.frontend.scalar import LazyScalar
from lazyarray.frontend.ufunc import ANSWERED, UFUNCS, ufunc
from lazyarray.frontend.unbound import serve_subclasses, share_methods, teach
from lazyarray.frontend.ways import tell, way_of_recorded

RECORDED: Final[dict[str, Callable[..., Any]]] = {
    **reductions.FUNCTIONS,
    **statistics.FUNCTIONS,
    **manipulation.FUNCTIONS,
    **linalg.FUNCTIONS,
    **selection.FUNCTIONS,
    **histograms.FUNCTIONS,
}
# What is tried ahead of recording, with the arguments as they are.
_AHEAD: Final = {**reductions.AHEAD, **at_once.AHEAD}
# Of which small operands NumPy's function is asked, where not of all.
_UNLESS: Final = {"histogram": COUNTS, "einsum": CONTRACTS}
# Functions that large arrays have here, and when NumPy's are to do it.
_LARGE: Final = {
    searches: SEARCHES,
    sorts: SORTS if sorts.FEW == FEW_SORTED else PIECES,
    rankings: RANKS,
    correlations: SEARCHES,
    distinct: SEARCHES,
    quantiles: SEARCHES,
}
# When NumPy's function makes the new array at once.
GUARDS: Final = {
    **dict.fromkeys(("zeros", "empty", "ones", "full"), SIZED),
    **dict.fromkeys(("array", "ascontiguousarray"), CONVERTS),
    **dict.fromkeys(("asarray", "asanyarray"), ITSELF),
    "asfortranarray": FORTRAN,
    **dict.fromkeys(("zeros_like", "empty_like", "ones_like", "full_like"), LIKE),
    **dict.fromkeys(("eye", "identity", "tri"), SQUARE),
    **dict.fromkeys(("diag", "diagflat", "meshgrid"), GROWS),
    "copy": ANY,
    "arange": RANGE,
    "linspace": SPACED,
}
_NEW: Final = {**creation.FUNCTIONS, **ranges.FUNCTIONS, **conversion.FUNCTIONS}
METHODS: Final[dict[str, Callable[..., Any]]] = {}
PAIRS: Final = frozenset({"dot", "inner", "vdot"})

# NumPy's Python code over recorded primitives; small plain operands run NumPy as it is.
REBASED: Final = frozenset(
    """
    allclose append apply_over_axes array_equal array_equiv atleast_1d atleast_2d atleast_3d average block
    clip column_stack corrcoef cov cross cumulative_prod cumulative_sum diff dstack ediff1d fix
    gradient hstack imag insert delete iscomplex isclose isneginf isposinf isreal kron
    nanargmax nanargmin nancumprod nancumsum nanmean nanprod nansum outer pad piecewise polyval
    put_along_axis real real_if_close resize row_stack select stack take_along_axis tensordot
    trapezoid tril triu unstack unwrap vander vstack trim_zeros isfortran mask_indices
    """.split()
)
# Of these, those whose result has as many elements as both operands multiplied.
GROWING: Final = frozenset({"outer", "kron", "linalg.outer"})
# The same, with functions inside whose bits are not NumPy's.
WITH_LOOPS: Final = frozenset("angle sinc i0 hamming hanning blackman kaiser".split())
# Of these, those of a number of points.
WINDOWS: Final = frozenset("hamming hanning blackman kaiser".split())
_POINTS: Final = frozenset({int, float})

# Names that take no arrays, or hand them to what is ours already.
SAME: Final = frozenset(
    """
    array2string array_repr array_str base_repr binary_repr broadcast_shapes busday_count busday_offset
    datetime_as_string datetime_data format_float_positional format_float_scientific frompyfunc
    get_include get_printoptions getbufsize geterr geterrcall info is_busday isdtype iterable issubdtype
    mintypecode printoptions promote_types set_printoptions setbufsize seterr seterrcall show_config
    show_runtime test typename savez savez_compressed save savetxt isscalar einsum_path
    """.split()
)


def _dtypes(args: tuple[Any, ...]) -> list[Any]:
    """Arrays replaced by something of their dtype that needs no evaluation."""
    found: list[Any] = []
    for arg in args:
        if type(arg) is ndarray:
            found.append(dummy(arg.shape, arg.dtype) if arg._np is None else arg._np)
        elif type(arg) is LazyScalar:
            found.append(arg.dtype.type(0))
        elif is_foreign(arg):
            raise Uncompiled
        else:
            found.append(arg)
    return found


def _of_dtypes(name: str) -> Callable[..., Any]:
    """A function that looks at dtypes and shapes only."""
    source = getattr(np, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return source(*_dtypes(args), **dict(zip(kwargs, _dtypes(tuple(kwargs.values())), strict=True)))
        except Uncompiled:
            return run_numpy(source, args, kwargs)

    return unbound(describe(call, source, name), source, AS_IS)


BY_DTYPE: Final = frozenset("result_type can_cast min_scalar_type common_type iscomplexobj isrealobj".split())

# Functions of our own whose arguments may be of a class that overrides them.
GUARDED: Final = frozenset(
    "broadcast_to broadcast_arrays meshgrid diag diagflat linspace logspace geomspace copy".split()
)

# What NumPy alone computes, into fresh memory.
PURE: Final = frozenset(
    """
    median nanmedian percentile nanpercentile quantile nanquantile unique unique_all unique_counts unique_inverse
    unique_values sort argsort argpartition partition lexsort searchsorted digitize histogram2d histogramdd
    histogram_bin_edges interp isin intersect1d union1d setdiff1d setxor1d convolve
    correlate polyfit roots
    linalg.inv linalg.solve linalg.det linalg.slogdet linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh
    linalg.svd linalg.svdvals linalg.qr linalg.cholesky linalg.lstsq linalg.pinv linalg.matrix_rank
    linalg.cond linalg.tensorinv linalg.tensorsolve
    """.split()
)
# Modules whose functions are meant to be NumPy's: nothing that could be compiled is lost.
UNCOUNTED: Final = frozenset({"testing", "random", "typing", "ctypeslib", "exceptions", "dtypes"})


class vectorize(np.vectorize):
    # NumPy's, whose calls return lazyarray's arrays.

    __doc__ = np.vectorize.__doc__
    __module__ = "lazyarray"  # type: ignore[assignment]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = super().__call__(*[export(a) for a in args], **{k: export(v) for k, v in kwargs.items()})
        return wrap(result)

    def _vectorize_call_with_signature(self, func: Any, args: Any) -> Any:
        def on_arrays(*cores: Any) -> Any:
            return export(func(*[wrap(core) for core in cores]))

        made: Any = super()
        return made._vectorize_call_with_signature(on_arrays, args)


class ndenumerate(np.ndenumerate):
    # NumPy's, over lazyarray's arrays.

    __doc__ = np.ndenumerate.__doc__
    __module__ = "lazyarray"

    def __init__(self, arr: Any) -> None:
        super().__init__(to_numpy(as_array(arr)))


class Grid:
    """`mgrid` or `ogrid` whose results are wrapped."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.__doc__ = source.__doc__

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._source[export(key)])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


class Concatenator:
    """`r_` or `c_` over lazyarray's arrays."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.__doc__ = source.__doc__

    def __getitem__(self, key: Any) -> Any:
        return wrap(self._source[export(key)])

    def __len__(self) -> int:
        return len(self._source)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


OBJECTS: Final[dict[str, Any]] = {
    "ndarray": ndarray,
    "ufunc": ufunc,
    "flatiter": flatiter,
    "vectorize": vectorize,
    "ndenumerate": ndenumerate,
    "mgrid": Grid(np.mgrid),
    "ogrid": Grid(np.ogrid),
    "r_": Concatenator(np.r_),
    "c_": Concatenator(np.c_),
    "nditer": iterators.nditer,
    "nested_iters": unbound(describe(iterators.nested_iters, np.nested_iters, "nested_iters"), np.nested_iters),
    "broadcast": iterators.broadcast,
}

_public: dict[str, Any] = {}


def resolve(name: str) -> Any:
    """The object of lazyarray that the public name of NumPy means; AttributeError where NumPy has none."""
    found = _public.get(name)
    if found is None:
        found = _resolve(name)
        if name in vars(np):
            _public[name] = found
    return found


def _resolve(name: str) -> Any:
    if name in OBJECTS:
        return OBJECTS[name]
    source = getattr(np, name)
    if isinstance(source, ModuleType):
        return modules.convert(name, source)
    own_name = getattr(source, "__name__", name)
    if own_name != name and callable(source) and getattr(np, own_name, None) is source:
        return resolve(own_name)  # a second name of the same object
    if name in UFUNCS:
        return tell(UFUNCS[name], source, way_of_recorded(name))
    if name in SAME or isinstance(source, type) or not callable(source):
        return source
    found, way = _make(name, source)
    return tell(found, source, way)


def _make(name: str, source: Any) -> tuple[Any, str]:
    """The function of lazyarray's that the name means, and how it runs."""
    recorded = way_of_recorded(name)
    if name in RECORDED:
        if name in ("repeat", "tile"):
            return growing(name, source, RECORDED[name]), recorded
        if name in PAIRS:
            return compiled_pair(name, source, RECORDED[name]), recorded
        guard = _UNLESS.get(name, ANY)
        return compiled(name, source, RECORDED[name], guard == ANY, _AHEAD.get(name), guard), recorded
    made = _NEW.get(name)
    if made is not None:
        own = describe(placed(made, name) if name in PLACED else made, source, name)
        if name in GUARDED:
            own = guarded(own, source)
        return unbound(own, source, GUARDS.get(name)), recorded
    if name in manipulation.UNCONDITIONAL:
        own = describe(manipulation.UNCONDITIONAL[name], source, name)
        if name in GUARDED:
            own = guarded(own, source)
        return unbound(own, source, manipulation.DIRECT[name]) if name in manipulation.DIRECT else own, recorded
    if name in manipulation.VIEWING:
        return manipulation.viewing(name, source), recorded
    if name == "from_dlpack":
        return describe(from_dlpack, source, name), recorded
    if name in GROWING:
        return growing(name, source), ways.REBASED
    if name in REBASED:
        return compiled(name, source, rebased(source), ahead=at_once.ahead_of(name, source)), ways.REBASED
    if name in WITH_LOOPS:
        small = with_loops(source)
        made = compiled(name, small, rebased(source))
        return describe(windowing(made, small) if name in WINDOWS else made, source, name), ways.REBASED
    if name in BY_DTYPE:
        return _of_dtypes(name), ways.ABOUT
    for module, guard in _LARGE.items():
        if name in module.NAMES:
            found = passing(name, source, True, large=module.function_of, guard=guard)
            return unbound(found, source, guard), ways.NUMPY
    return unbound(passing(name, source, name in PURE), source, ANY), ways.NUMPY


def rebased(source: Any) -> Callable[..., Any]:
    """NumPy's Python function with lazyarray's names, translated at its first call."""
    function: Callable[..., Any] | None = None

    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal function
        if function is None:
            function = rebase.rebase(source)
        return wrap(function(*args, **kwargs))

    return call


def windowing(recorded: Callable[..., Any], small: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a number of points: a few are made at once."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and not kwargs and {*map(type, args)} <= _POINTS and args[0] < config.eager_below:
            return wrap(small(*args))
        return recorded(*args, **kwargs)

    return call


def growing(name: str, source: Any, lazy: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The public function `name`, recorded where small operands have a large result."""
    lazy = lazy or rebased(source)
    small, large = compiled(name, source, lazy), compiled(name, source, lazy, at_once=False)
    grows, guard = (_multiplies, GROWS) if name in GROWING else (repeats_much, REPEATS)

    def call(*args: Any, **kwargs: Any) -> Any:
        return (large if grows(args) else small)(*args, **kwargs)

    return unbound(describe(call, source, name), source, guard)


def _multiplies(args: tuple[Any, ...]) -> bool:
    pair = len(args) == 2 and type(args[0]) is type(args[1]) is ndarray
    return pair and args[0].size * args[1].size >= config.eager_below


_FUNCTIONS: Final = (FunctionType, BuiltinFunctionType, MethodType, type(np.sum))


def wrap_member(name: str, value: Any) -> Any:
    """What stands in a submodule for NumPy's `value`; `name` is its dotted name below the package."""
    public = rebase.name_of(value)
    if public is not None:
        return resolve(public)
    if not isinstance(value, _FUNCTIONS) and type(value).__name__ != "cython_function_or_method":
        return value
    module = getattr(value, "__module__", None) or ""
    owner = getattr(value, "__self__", None)
    if not module.startswith("numpy") and not type(owner).__module__.startswith("numpy"):
        return value  # a helper that a module of NumPy's imported
    if name in RECORDED_MEMBERS:
        return tell(compiled(name, value, RECORDED_MEMBERS[name]), value, way_of_recorded(name))
    if name in GROWING:
        return tell(growing(name, value), value, ways.REBASED)
    if name in REBASED_MEMBERS:
        ahead = at_once.ahead_of(name, value)
        own = compiled(name, value, rebased(value), at_once=not name.startswith("lib.scimath."), ahead=ahead)
        return tell(own, value, ways.REBASED)
    package = name.partition(".")[0]
    if name == manipulation.WINDOWS:
        shown = manipulation.windows(value, passing(name, value))
        return tell(unbound(shown, value), value, way_of_recorded(name))
    if package == "fft":
        own = unbound(passing(name, value, True, large=transforms.function_of), value)
    else:
        own = unbound(passing(name, value, name in PURE, counted=package not in UNCOUNTED), value)
    return tell(own, value, ways.NUMPY)


REBASED_MEMBERS: Final = frozenset(
    """
    linalg.cross linalg.outer linalg.tensordot linalg.vecdot linalg.diagonal linalg.trace
    linalg.matrix_transpose linalg.matrix_norm linalg.vector_norm fft.fftshift fft.ifftshift
    lib.scimath.arccos lib.scimath.arcsin lib.scimath.arctanh lib.scimath.log lib.scimath.log10 lib.scimath.log2
    lib.scimath.logn lib.scimath.power lib.scimath.sqrt
    """.split()
)
RECORDED_MEMBERS: Final[dict[str, Callable[..., Any]]] = {"linalg.matmul": linalg.matmul, "linalg.norm": linalg.norm}


# ---- what rebased code uses in the place of NumPy's C helpers


class Converter:
    """`_array_converter`: the arguments as arrays, and results wrapped as the arguments were."""

    def __init__(self, *args: Any) -> None:
        self._args = args
        self._arrays = tuple([a if type(a) is ndarray else as_array(a) for a in args])
        self.scalar_input = tuple([_is_scalar(a) for a in args])

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: int) -> Any:
        return self._arrays[index]

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        keep = pyscalars == "preserve" or (
            pyscalars == "convert_if_no_array" and not all(type(a) in (int, float, complex) for a in self._args)
        )
        return tuple(
            [
                a if keep and type(a) in (int, float, complex) else x
                for a, x in zip(self._args, self._arrays, strict=True)
            ]
        )

    def result_type(self, *args: Any, **kwargs: Any) -> Any:
        weak = (int, float, complex)
        real = np._core._multiarray_umath._array_converter(  # type: ignore[attr-defined]
            *[a if type(a) in weak else dummy(x.shape, x.dtype) for a, x in zip(self._args, self._arrays, strict=True)]
        )
        return real.result_type(*args, **kwargs)

    def wrap(self, result: Any, /, to_scalar: bool | None = None) -> Any:
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        if scalar and type(result) is ndarray and result.ndim == 0:
            return result[()]
        return result


def _is_scalar(arg: Any) -> bool:
    return type(arg) is not ndarray and not isinstance(arg, np.ndarray) and np.ndim(arg) == 0


def broadcast(*args: Any) -> Any:
    """`numpy.broadcast` of arrays that are looked at for their shapes only."""
    return np.broadcast(*[dummy(a.shape, a.dtype) if type(a) is ndarray else a for a in args])


SUBSTITUTES: Final[dict[str, Any]] = {
    "_array_converter": Converter,
    "broadcast": broadcast,
    "_divide_by_count": statistics.divide_by_count,
    "_replace_nan": statistics.replace_nan,
}


def _install_methods() -> None:
    for table in (
        reductions.METHODS,
        statistics.METHODS,
        manipulation.METHODS,
        linalg.METHODS,
        selection.METHODS,
    ):
        for name, lazy in table.items():
            METHODS[name] = compiled_method(name, getattr(np.ndarray, name), lazy, _AHEAD.get(name))
    METHODS["repeat"] = growing("ndarray.repeat", np.ndarray.repeat, manipulation.repeat)
    METHODS["reshape"] = manipulation.reshape
    METHODS["matmul"] = UFUNCS["matmul"]._product = compiled_pair("matmul", np.matmul, linalg.matmul)
    METHODS["dot"] = compiled_pair("ndarray.dot", np.ndarray.dot, linalg.dot)
    for name in ("transpose", "swapaxes", "squeeze", "diagonal"):
        method = getattr(np.ndarray, name)
        METHODS[name] = manipulation.viewing(name, method, method)


def _extend_random() -> dict[str, Any]:
    from lazyarray.frontend import random

    return random.extend()


def _extend_masked() -> dict[str, Any]:
    """Masked arrays have a `view` of their own."""
    teach(np.ma.MaskedArray)
    return {}


def _install_methods_of_arrays() -> None:
    """Puts the methods on the class: as quick as a method that looks its function up each time is not."""
    quick = {name: METHODS[name] for name in QUICK}
    quick["reshape"] = quick_method(np.ndarray.reshape, manipulation.reshape_method)
    for name in ("ravel", "swapaxes", "squeeze"):
        quick[name] = quick_method(getattr(np.ndarray, name), quick[name])
    for name in SERVED:
        quick[name] = quick_method(getattr(np.ndarray, name), getattr(ndarray, name))
    for name, guard in (("item", NUMBERS), ("tolist", AS_IS), ("tobytes", AS_IS)):
        quick[name] = quick_method(getattr(np.ndarray, name), getattr(ndarray, name), guard)
    ufuncs = {own._np: own for own in UFUNCS.values()}
    quick["__array_ufunc__"] = asked_method(ndarray.__array_ufunc__, ufuncs)
    quick["__array_function__"] = asked_method(ndarray.__array_function__, ANSWERED)
    for name, method in quick.items():
        setattr(ndarray, name, method)
    share_methods(ndarray)


QUICK: Final = frozenset(
    """
    sum prod min max any all argmin argmax mean var std cumsum cumprod take repeat ravel swapaxes squeeze dot round
    """.split()
)

SERVED: Final = frozenset(
    """
    argpartition argsort astype byteswap choose clip compress conj conjugate copy diagonal fill flatten nonzero
    partition put searchsorted sort trace transpose view
    """.split()
)

_install_methods()
_install_methods_of_arrays()
for _own in (ndarray, ufunc, flatiter, iterators.nditer, iterators.broadcast):
    speak_for(_own, getattr(np, _own.__name__))
rebase.configure(resolve, SUBSTITUTES)
modules.configure(wrap_member)
modules.EXTENSIONS["random"] = _extend_random
for _class in (np.generic, np.ndarray):
    teach(_class)
serve_subclasses()
modules.EXTENSIONS["ma"] = _extend_masked
