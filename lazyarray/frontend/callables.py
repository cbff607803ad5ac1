"""Owns the calls of public objects that are no Python functions: ufuncs, and functions that NumPy has in C.

One of the modules that may run compiled (see `lazyarray/native`): what Python calls first is then C.
"""

from __future__ import annotations

from types import MethodType
from typing import Any, Final

from lazyarray.frontend.quick import INT64, Op, known, limits, wrapped  # cimport
from lazyarray.frontend.small import REFUSED, small_call, small_items  # cimport
from lazyarray.frontend.usual import binary, unary  # cimport

# When NumPy's function serves a call as it is. `vectors.pxd` has the same numbers.
ANY: Final = 0  # with small arguments
AS_IS: Final = 1  # the same, and what it returns is nothing to wrap
SIZED: Final = 2  # the first argument is a shape, and a small one
CONVERTS: Final = 3  # the one argument is what an array is made of
LIKE: Final = 4  # the first argument is a small array
RANGE: Final = 5  # arguments as those of `range`, and few steps
SPACED: Final = 6  # the third argument is a small number of elements
SQUARE: Final = 7  # the one argument is the side of a small square
NUMBERS: Final = 8  # as AS_IS, of an array of numbers
FORTRAN: Final = 9  # as CONVERTS, in Fortran's order
FEW: Final = 10  # for few results: no number is, and no shape has, as many as `FEW_DRAWN`
ITSELF: Final = 11  # as CONVERTS, and an array is what it returns
GROWS: Final = 12  # vectors, the product of whose sizes is small; of a single one its square
REPEATS: Final = 13  # all but an array that is repeated so often that the result is large
COUNTS: Final = 14  # the first argument is an array of fewer than `FEW_COUNTED` elements, or `FEW_RANGED`
CONTRACTS: Final = 15  # all but subscripts and arrays of which `einsum` makes `FEW_CONTRACTED` products or more
SEARCHES: Final = 16  # arrays of fewer than `FEW_SEARCHED` elements each, also those of a tuple
SORTS: Final = 17  # the same, of fewer than `FEW_SORTED`
RANKS: Final = 18  # the same, of fewer than `FEW_RANKED`
PIECES: Final = 19  # as SORTS; vectors as RANKS
PLAINLY: Final = 20  # as ANY, of a generator in the place of which NumPy's is to do it

FEW_COUNTED: Final = 1 << 8  # elements whose histogram NumPy makes as quickly as a kernel is launched
FEW_RANGED: Final = 1 << 13  # the same where the range is to be found first
FEW_SEARCHED: Final = 1 << 12  # values, for which checking that an array is sorted costs much beside searching it
FEW_SORTED: Final = 1 << 15  # elements, from which sorting lines on several threads saves more than it costs
FEW_RANKED: Final = 1 << 11  # elements, from which sorting keys that hold their places saves more than it costs
FEW_CONTRACTED: Final = 1 << 13  # multiplications that BLAS makes no sooner than NumPy's own loop (`contractions.py`)
FEW_DRAWN: Final = 1 << 15  # numbers drawn, from which sharing out saves more than it costs: 0.1 ms in NumPy


class UfuncCall:
    """The call of a ufunc: one array, or an array and anything, go the short way."""

    __slots__ = ("_op", "_plain", "_product", "nin", "vector")

    nin: int
    vector: int  # in C, what Python calls (`vectors.py`)
    _op: Op | None  # for one array, or an array and anything
    _product: Any  # the same of matmul, or None
    _plain: Any  # NumPy's own, where it has no axes of its own and compiled kernels have its bits, or None

    # No docstring: the slot's own has the signature.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and args and type(args[0]) is known.array:
            if self._op is None:
                if self._product is not None and len(args) == 2:
                    return self._product(args[0], args[1])
            elif len(args) == self.nin:
                if self.nin == 1:
                    return unary(self._op, args[0], 1, 0)
                if self.nin == 2:
                    return binary(self._op, args[0], args[1], 1, 0)
        return self.general(*args, **kwargs)

    def general(self, *args: Any, **kwargs: Any) -> Any:
        """What calls in general do."""
        raise NotImplementedError


class Builtin:
    """A function that is not bound where a class has it as an attribute, as functions written in C are not."""

    __slots__ = ("__dict__", "asks", "direct", "function", "guard", "source", "vector")

    asks: int  # in C, whether `direct` takes arrays alone
    direct: int  # in C, what runs in the place of `source` (`native/direct.pxd`)
    vector: int

    def __init__(self, function: Any) -> None:
        self.function = function
        self.source: Any = None  # NumPy's function, where it serves small arguments as it is
        self.guard = ANY

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.source is not None:
            if self.guard == CONVERTS or self.guard == FORTRAN or self.guard == ITSELF:
                # Of NumPy's arrays lazyarray's are made, and objects hold lazyarray's.
                if len(args) == 1 and not kwargs:
                    item = args[0]
                    listed = (type(item) is list or type(item) is tuple) and small_items(item) is item
                    if listed or type(item) is known.array:
                        found = small_call(self.source, args, kwargs)
                        if found is not REFUSED:
                            return found
            elif self.guard == ANY:
                found = small_call(self.source, args, kwargs)
                if found is not REFUSED:
                    return found
            elif (
                self.guard == SIZED
                and args
                and 0 <= extent_of(args[0]) < limits.eager
                and (not kwargs or _is_dtype(kwargs))
            ):
                return wrapped(self.source(*args, **kwargs))
        return self.function(*args, **kwargs)


class Served:
    """A function or method, small arguments of which NumPy's `source` serves: what `serving` makes in C."""

    __slots__ = ("__dict__", "asks", "direct", "function", "guard", "inner", "method", "source", "vector", "views")

    asks: int
    direct: int
    vector: int

    def __init__(self, function: Any, source: Any, guard: int) -> None:
        self.function = function
        self.inner: Any = None  # what `source` calls once it has asked its arguments' classes
        # NumPy's method that does for arrays what `source` has Python do first; of PLAINLY, what gives that generator.
        self.method: Any = None
        self.views: Any = None  # how it showed large arrays, of a function that does nothing else (`viewed.py`)
        self.source = source
        self.guard = guard

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        if "__objclass__" in vars(self):
            return repr(vars(self)["__wrapped__"])
        return f"<function {vars(self)['__qualname__']} at {id(self):#x}>"

    def __reduce__(self) -> Any:
        if "__objclass__" in vars(self):  # a method
            return getattr, (vars(self)["__objclass__"], vars(self)["__name__"])
        return str(vars(self)["__qualname__"])


def extent_of(shape: Any) -> int:
    """The number of elements of a plain shape; -1 for what needs a closer look."""
    if type(shape) is int or type(shape) is INT64:
        return int(shape) if shape < 1 << 60 else -1
    if type(shape) is not tuple and type(shape) is not list:
        return -1
    size = 1
    for extent in shape:
        if (type(extent) is not int and type(extent) is not INT64) or not 0 <= extent < 1 << 30:
            return -1
        size *= int(extent)
        if size > 1 << 30:
            return -1
    return size


def repeats_much(args: Any) -> bool:
    """Whether a small array is to be repeated so often that the result is large."""
    if len(args) < 2 or type(args[0]) is not known.array:
        return False
    return bool(args[0].size * extent_of(args[1]) >= limits.eager)


def _is_dtype(kwargs: dict[str, Any]) -> bool:
    return len(kwargs) == 1 and "dtype" in kwargs
