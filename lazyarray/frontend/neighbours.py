"""Owns what compiled code of other packages relies on: that what it was given, or converted, is NumPy's own array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
_nparray: Final = np.ndarray

# NumPy's functions that packages convert with, as with `numpy.asarray`, before they call what takes NumPy's class only
# (the gradients of SciPy's minimisers).
CONVERTING: Final = frozenset({np.atleast_1d, np.atleast_2d, np.atleast_3d})


def convert(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What one of `CONVERTING` gives: NumPy arrays that share the memory of ours."""
    return function(*[np.asarray(arg) if type(arg) in core.BUILTIN else arg for arg in args])


class Memory(np.ndarray[Any, Any]):
    """An array's memory for whoever asks for a dtype, which says of itself that it is not aligned.

    f2py writes into what it gets for an object that is no array of NumPy's, as if that were a copy (`array_from_pyobj`,
    numpy/f2py/src/fortranobject.c). It asks for aligned memory, so it copies this. `numpy.asarray` makes a plain view
    of it, whose flags NumPy finds out anew. Operators take it and its copies as NumPy's own class (`array.BUILTIN`).
    """

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False, /) -> Any:
        made = array.view(_nparray)
        return made[()] if return_scalar else made

    def __reduce__(self) -> Any:
        return self.view(_nparray).__reduce__()


Memory.__name__ = "array"  # as NumPy prints its own


def memory_of(data: Array) -> Memory:
    found = data.view(Memory)
    found.setflags(align=False)
    return found


class Product:
    """An attribute that SciPy's `aslinearoperator` alone finds: it takes NumPy's class, or what has such products."""

    __slots__ = ("_name", "_of")

    def __init__(self, name: str, of: Callable[[Array], Callable[[Any], Any]]) -> None:
        self._name, self._of = name, of

    def __get__(self, array: Any, kind: type | None = None) -> Any:
        asks = sys._getframe(1).f_globals.get("__name__")
        if array is None or array.ndim != 2 or asks != "scipy.sparse.linalg._interface":
            owner = "type object 'numpy.ndarray'" if array is None else "'numpy.ndarray' object"
            raise AttributeError(f"{owner} has no attribute {self._name!r}")
        return self._of(core.to_numpy(array))


class Products:
    """What `scipy.sparse.linalg` needs of a matrix, and its `MatrixLinearOperator` makes of NumPy's."""

    matvec = Product("matvec", lambda memory: lambda vector: memory.dot(vector.reshape(-1, 1)))
    rmatvec = Product("rmatvec", lambda memory: lambda vector: memory.T.conj().dot(vector.reshape(-1, 1)))
    rmatmat = Product("rmatmat", lambda memory: memory.T.conj().dot)


from lazyarray.frontend import array as core  # noqa: E402  (arrays have these attributes)
