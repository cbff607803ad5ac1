"""Owns what compiled code of other packages relies on: that what it was given, or converted, is NumPy's own array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend.foreign import OURS

Array = np.ndarray[Any, Any]
_nparray: Final = np.ndarray

# NumPy's functions that packages convert with, as with `numpy.asarray`, before they call what takes NumPy's class only
# (the gradients of SciPy's minimisers).
CONVERTING: Final = frozenset({np.atleast_1d, np.atleast_2d, np.atleast_3d})


def convert(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What one of `CONVERTING` gives: NumPy arrays that share the memory of ours."""
    return function(*[np.asarray(arg) if type(arg) in OURS else arg for arg in args])


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


def for_a_dtype(data: Array) -> Memory:
    """What `__array__` gives for the dtype that the memory has."""
    found = data.view(Memory)
    found.setflags(align=False)
    return found


# Modules that ask whether something is of NumPy's class, and then convert it or use it from Python alone. Elsewhere a
# lazy array is none: most code hands what is one to compiled code that reads the memory of NumPy's C structure.
ASKING: Final = frozenset(
    {
        "numpy.testing._private.utils",
        "scipy.optimize._minpack_py",
        "scipy.optimize._root_scalar",
        "scipy.sparse.linalg._interface",
        "scipy.sparse.linalg._matfuncs",
        "scipy.special._basic",
        "sklearn.model_selection._search",
        "sklearn.utils._param_validation",
        "statsmodels.regression.mixed_linear_model",
        "statsmodels.tools.data",
    }
)


class Classed:
    """What `isinstance` asks of objects whose own class does not do."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return _nparray if sys._getframe(1).f_globals.get("__name__") in ASKING else type(self)

    @__class__.setter
    def __class__(self, new: type) -> None:
        np.empty(0).__class__ = new  # NumPy's error
