"""Owns how a public function meets its arguments: NumPy at once, recorded, or a fallback to NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from types import BuiltinFunctionType
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend import ufunc
from lazyarray.frontend.array import ndarray, plain, wrap
from lazyarray.frontend.asked import asking, asking_functions  # cimport
from lazyarray.frontend.callables import ANY, Builtin, Served
from lazyarray.frontend.exchange import (
    ADOPTED,
    CONTAINERS,
    FALL_BACK,
    INERT,
    adopt,
    borrow,
    export,
    lend,
    plain_operands,
    same,
)
from lazyarray.frontend.foreign import retried
from lazyarray.frontend.naming import describe_as
from lazyarray.frontend.overrides import (
    NOTHING,
    answer,
    ask_ufunc,
    has_foreign,
    is_foreign,
    overrides_ufuncs,
    register,
    unasked,
)
from lazyarray.frontend.rebase import Warnings
from lazyarray.frontend.recipes import ANY as ANY_OPERAND
from lazyarray.frontend.recipes import COPYING, LENT, MIXED, PRODUCTS, PURE, RECORDED_FIRST, Lending, Recipes
from lazyarray.frontend.regions import short_product, window
from lazyarray.frontend.small import REFUSED, large_call, small_call  # cimport
from lazyarray.frontend.vectors import begin, serving  # cimport
from lazyarray.runtime.device import in_use
from lazyarray.runtime.ledger import ledger
from lazyarray.runtime.resting import rest_for

Function = Callable[..., Any]


class Uncompiled(Exception):
    """Raised by a recording function, before it changes anything, for arguments that only NumPy serves."""


class Foreign(Uncompiled):
    """Raised for one pass over memory that others can reach: recording would copy it first, NumPy only reads it."""


# Functions whose results share no memory with their operands, and that write nothing but an `out`, with the number of
# operands before it: they may be handed small regions of large arrays.
FRESH: Final = dict.fromkeys(
    """
    sum prod min max amin amax any all argmin argmax count_nonzero ptp cumsum cumprod mean var std nanmin nanmax nansum
    nanmean dot inner vdot outer trace round around average array_equal allclose isclose
    """.split(),
    2,
) | {"where": 3, "clip": 3, **dict.fromkeys(("stack", "vstack", "hstack", "column_stack", "dstack"), 1)}


# Functions that, given an array and at most an axis, only call its method, or what that calls.
METHODS: Final = frozenset("sum prod max min amax amin any all argmax argmin cumsum cumprod ravel trace".split())


def run_plain(source: Function, args: Sequence[Any], kwargs: Mapping[str, Any], plain: Sequence[Any]) -> Any:
    """NumPy's function on operands from `plain_operands((*args, *kwargs.values()))`."""
    if not kwargs:
        return same(retried(source, plain, {}), args, plain)
    count = len(args)
    named = dict(zip(kwargs, plain[count:], strict=True))
    return same(retried(source, plain[:count], named), (*args, *kwargs.values()), plain)


def fall_back(name: str, source: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """NumPy's function on exported arguments, counted under `name`."""
    run = ledger.fallback(name, (*args, *kwargs.values()))
    result = run_numpy(source, args, kwargs)
    ledger.ended(run)
    return result


def run_numpy(source: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """NumPy's function on exported arguments, or what other classes among them have in its place."""
    result = answer(source, args, kwargs)
    if result is not NOTHING:
        return result
    passed = [export(arg) for arg in args]
    named = {key: export(value) for key, value in kwargs.items()}
    return same(retried(source, passed, named), (*args, *kwargs.values()), (*passed, *named.values()))


# What a recording function raises for arguments that it cannot take.
REFUSALS: Final = (TypeError, ValueError, IndexError, AttributeError, OverflowError, KeyError)


def ask_numpy(name: str, source: Function, args: Sequence[Any], kwargs: Mapping[str, Any], warned: bool = False) -> Any:
    """NumPy's own error for a call that recording refused; counted where NumPy has an answer after all.

    `warned`: NumPy's warnings about this call were given before it was refused.
    """
    with warnings.catch_warnings() if warned else nullcontext():
        if warned:
            warnings.simplefilter("ignore")
        result = run_numpy(source, args, kwargs)
    ledger.fallback(name, (*args, *kwargs.values()))
    return result


def _is_callback(arg: Any) -> bool:
    """True for a function of the program's, which must not be called a second time."""
    return callable(arg) and not isinstance(arg, type | np.ufunc) and type(arg) not in CONTAINERS


def describe(function: Function, source: Any, name: str) -> Function:
    """Gives a public function NumPy's name, docstring and signature."""
    function.__name__ = name.rpartition(".")[2]
    function.__qualname__ = function.__name__
    function.__module__ = f"lazyarray.{name}".rpartition(".")[0]
    describe_as(function, source)
    function._implementation = unasked(function, source)  # type: ignore[attr-defined]
    register(function, source)
    return function


class builtin(Builtin):
    # What `type` says of functions written in C.

    __slots__ = ()
    __doc__ = None

    def __repr__(self) -> str:
        return f"<built-in function {self.__dict__['__name__']}>"

    def __reduce__(self) -> str:
        return str(self.__dict__["__qualname__"])


builtin.__name__ = builtin.__qualname__ = "builtin_function_or_method"


def unbound(function: Function, source: Any, guard: int | None = None) -> Function:
    """The public function as `source` behaves in classes: only what is written in C is never bound.

    `guard` says when `source` serves a call as it is (`callables.py`).
    """
    if type(source) is not BuiltinFunctionType:
        if guard is None or type(function) is Served:
            return function
        return describe(serving(function, source, guard), source, name_of(function))

    made: Any = builtin(function.function if type(function) is Served else function)
    if guard is not None:
        made.source, made.guard = source, guard
    begin(made)
    made.__dict__.update(function.__dict__)
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        made.__dict__[name] = getattr(function, name)
    register(made, source)
    return made  # type: ignore[no-any-return]


def name_of(function: Function) -> str:
    """The public function's dotted name below the package."""
    return f"{function.__module__}.{function.__name__}".removeprefix("lazyarray.")


def guarded(function: Function, source: Any) -> Function:
    """The described function, that leaves arguments of classes with an override to them."""
    if type(source) is not type(np.sum):
        return function
    keeps = source is np.meshgrid  # subclasses in, subclasses out

    def call(*args: Any, **kwargs: Any) -> Any:
        for arg in (*args, *kwargs.values()) if kwargs else args:
            if type(arg) not in INERT and (is_foreign(arg) or (keeps and isinstance(arg, np.ndarray))):
                return run_numpy(source, args, kwargs)
        return function(*args, **kwargs)

    return describe(call, source, function.__name__)


def compiled(
    name: str,
    source: Function,
    lazy: Function,
    at_once: bool = True,
    ahead: Callable[[Any, Any], Any] | None = None,
    guard: int = ANY,
) -> Function:
    """The public function `name`: NumPy's `source` on small plain operands, else `lazy`, which records.

    `at_once` false: small operands go to `lazy` too, since NumPy's bits are not ours (transcendental inside), or since
    a kernel is faster for all but those that `guard` says.
    `ahead` is asked between the two, with the arguments; it returns REFUSED where they are not for it.
    """

    general = _recording(name, source, lazy, at_once)
    if name in RECORDED_FIRST and ahead is not None:
        general, ahead = Recipes(_after(ahead, general), ANY_OPERAND).call, None

    def call(*args: Any, **kwargs: Any) -> Any:
        if at_once:
            found = small_call(source, args, kwargs)
            if found is not REFUSED:
                return found
        if ahead is not None and args:
            found = ahead(args, kwargs)
            if found is not REFUSED:
                return found
        return general(args, kwargs)

    if not at_once and guard == ANY:
        return describe(call, source, name)
    served = serving(call, source, guard)
    if name in METHODS and type(served) is Served:
        served.method = getattr(np.ndarray, name.removeprefix("a") if name in ("amax", "amin") else name)
    return describe(served, source, name)


def _after(ahead: Callable[[Any, Any], Any], general: Callable[[Any, Any], Any]) -> Function:
    """What `ahead` returns of a call, or `general` where it refuses."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = ahead(args, kwargs) if args else REFUSED
        return general(args, kwargs) if found is REFUSED else found

    return call


def _recording(name: str, source: Function, lazy: Function, at_once: bool) -> Callable[[Any, Any], Any]:
    """What `compiled` does with operands, given as a tuple and a dict, that are not all small and plain."""
    bare = name.removeprefix("ndarray.")
    operands_before_out = FRESH.get(bare, -1)

    def general(*args: Any, **kwargs: Any) -> Any:
        fresh = len(args) <= operands_before_out and "out" not in kwargs
        if at_once and args and type(args[0]) is ndarray:
            # The usual small call, ahead of the general look at all operands.
            data = args[0]._np
            if data is None and fresh and args[0]._node is None:
                data = window(args[0])
            if (
                data is not None
                and data.size < config.eager_below
                and INERT.issuperset(map(type, args[1:]))
                and (not kwargs or INERT.issuperset(map(type, kwargs.values())))
            ):
                result = source(data, *args[1:], **kwargs)
                if result is data:
                    return args[0]
                kind = type(result)
                return wrap(result) if kind is np.ndarray else adopt(result) if kind in ADOPTED else result
            del data
        operands = plain_operands((*args, *kwargs.values()) if kwargs else args, fresh)
        if operands is not FALL_BACK:
            if operands is not None and at_once:
                return run_plain(source, args, kwargs, operands)
            refused = False
            warned = Warnings.issued
            try:
                return lazy(*args, **kwargs)
            except Foreign:
                return run_numpy(source, args, kwargs)
            except Uncompiled:
                pass
            except REFUSALS:
                if any(_is_callback(arg) for arg in (*args, *kwargs.values())):
                    raise
                refused = True
            if refused:
                return ask_numpy(name, source, args, kwargs, Warnings.issued > warned)
        return fall_back(name, source, args, kwargs)

    if bare in PURE or bare in PRODUCTS:
        operands = PURE.get(bare, ANY_OPERAND)
        return Recipes(general, operands, bare in PRODUCTS, LENT.get(bare, 0), bare in MIXED).call
    if bare in LENT:
        return Lending(general, LENT[bare]).call
    return lambda args, kwargs: general(*args, **kwargs)


def compiled_method(
    name: str, source: Function, lazy: Function, ahead: Callable[[Any, Any], Any] | None = None
) -> Function:
    """The method `name` of arrays: as `compiled`, with the small call ahead of everything."""
    general = _recording(f"ndarray.{name}", source, lazy, True)
    fresh = name in FRESH
    again = general if name in PURE else None

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        data = self._np
        if data is not None:
            found = small_call(source, (self, *args), kwargs)
            if found is not REFUSED:
                return found
        if ahead is not None:
            found = ahead((self, *args), kwargs)
            if found is not REFUSED:
                return found
        if data is None and again is not None:
            return again((self, *args), kwargs)
        if data is None and fresh and self._node is None:
            data = window(self)
        if (
            data is not None
            and data.size < config.eager_below
            and (not args or INERT.issuperset(map(type, args)))
            and (not kwargs or INERT.issuperset(map(type, kwargs.values())))
        ):
            result = source(data, *args, **kwargs)
            kind = type(result)
            if kind is np.ndarray:
                return self if result is data else plain(result)
            return adopt(result) if kind is tuple else result
        del data
        return general((self, *args), kwargs)

    return describe(serving(call, source, ANY), source, f"ndarray.{name}")


def quick_method(source: Function, general: Function, guard: int = ANY) -> Function:
    """A method of arrays that NumPy's `source` serves where they are small, and `general` elsewhere."""
    again = Recipes(general, 1, lent=1) if source.__name__ in COPYING else None

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._np is not None and guard == ANY:
            found = small_call(source, (self, *args), kwargs)
            if found is not REFUSED:
                return found
        if again is not None:
            return again.call((self, *args), kwargs)
        return general(self, *args, **kwargs)

    return describe(serving(call, source, guard), source, f"ndarray.{source.__name__}")


def asked_method(function: Function, known: dict[Any, Any]) -> Function:
    """`function`, by which NumPy asks an array, with calls of what `known` has in the place of NumPy's ahead of it."""
    name = function.__name__
    made: Function
    if name == "__array_ufunc__":
        made = asking(function, known, np.ufunc)
    else:
        made = asking_functions(function, known, type(np.concatenate))
    return made if made is function else describe(made, getattr(np.ndarray, name), f"ndarray.{name}")


def compiled_pair(name: str, source: Function, lazy: Function) -> Function:
    """The public function `name` of two arrays: as `compiled`, with the small call ahead of everything."""
    general = compiled(name, source, lazy)
    is_ufunc = name == "matmul"
    fresh = name in FRESH or is_ufunc

    def call(*args: Any, **kwargs: Any) -> Any:
        both = len(args) == 2 and not kwargs and type(args[0]) is type(args[1]) is ndarray
        if both and args[0]._np is None and args[1]._np is None:
            found = REFUSED
        else:
            found = small_call(source, args, kwargs)
        if found is not REFUSED:
            return found
        if both:
            x, y = args[0]._np, args[1]._np
            if fresh:
                if x is None and args[0]._node is None:
                    x = window(args[0])
                if y is None and args[1]._node is None:
                    y = window(args[1])
            if x is not None and y is not None and x.size < config.eager_below and y.size < config.eager_below:
                result = source(x, y)
                return plain(result) if type(result) is np.ndarray else result
            del x, y
            short = short_product(*args)
            if short is not None:
                rest_for(*short)
                return adopt(source(*short))
        if is_ufunc and not both and any([overrides_ufuncs(arg) for arg in args]):
            return ask_ufunc(ufunc.UFUNCS[name], "__call__", args, kwargs)
        return general(*args, **kwargs)

    return describe(serving(call, source, ANY), source, name)


def passing(
    name: str,
    source: Function,
    pure: bool = False,
    counted: bool = True,
    large: Callable[[str], Any] | None = None,
    guard: int = ANY,
) -> Function:
    """The public function `name` that only NumPy runs; on small plain operands that is no fallback.

    `pure`: it neither writes its arguments nor returns views of them, so that values are read where they are. `large`
    finds the function that takes the place of `source` there, or None; `guard`: where `source` serves a call as it is.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        run_it = source if large is None else large(source.__name__) or source
        found = small_call(run_it, args, kwargs)
        if found is not REFUSED:
            return found
        # A third positional argument may be an `out`.
        reads = pure and (len(args) < 3 or name in _OUTLESS) and (not kwargs or _WRITTEN.isdisjoint(kwargs))
        if reads and counted and not in_use():
            found = large_call(name, run_it, args, kwargs)
            if found is not REFUSED:
                return found
        operands = plain_operands((*args, *kwargs.values()) if kwargs else args)
        if type(operands) is list:
            return run_plain(source, args, kwargs, operands)
        if not counted:
            return run_numpy(source, args, kwargs)
        if pure and in_use():
            from lazyarray.frontend.devices import run_there

            result = run_there(name, args, kwargs)
            if result is not NotImplemented:
                return result
        if reads:
            run = ledger.fallback(name, (*args, *kwargs.values()))
            result = answer(source, args, kwargs)
            if result is not NOTHING:
                return result
            given_to = lend if name in _COPYING else borrow
            values = [given_to(arg) for arg in args]
            if has_foreign(values) or has_foreign(kwargs.values()):
                run_it = source
            result = retried(run_it, values, {key: given_to(value) for key, value in kwargs.items()})
            ledger.ended(run)
            for given, value in zip(args, values, strict=True):
                if result is value:
                    return given  # not the stand-in for it, which refuses writes
            return adopt(result)
        return fall_back(name, source, args, kwargs)

    return describe(serving(call, source, guard), source, name)


_WRITTEN: Final = frozenset({"out", "overwrite_input"})
_OUTLESS: Final = frozenset({"searchsorted", "digitize", "interp", "histogram2d", "convolve", "correlate"})
# Functions of NumPy's in C that only read, but copy what refuses writes (they ask for NPY_ARRAY_DEFAULT).
_COPYING: Final = frozenset({"interp", "convolve", "correlate"})
