"""Owns what compiled code of other packages relies on: that what it was given, or converted, is NumPy's own array."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
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


# Modules of packages with compiled code that ask whether something is of NumPy's class, and then convert it or use it
# from Python alone. Elsewhere in such packages a lazy array is none: most code hands what is one to compiled code that
# reads the memory of NumPy's C structure.
ASKING: Final = frozenset(
    {
        "matplotlib.axes._base",
        "matplotlib.collections",
        "matplotlib.colorbar",
        "matplotlib.colorizer",
        "matplotlib.colors",
        "matplotlib.figure",
        "matplotlib.legend",
        "matplotlib.lines",
        "matplotlib.markers",
        "matplotlib.streamplot",
        "numpy.testing._private.utils",
        "pywt._multilevel",
        "scipy.optimize._minpack_py",
        "scipy.optimize._root_scalar",
        "scipy.sparse.linalg._interface",
        "scipy.sparse.linalg._matfuncs",
        "scipy.special._basic",
        "shapely.coordinates",
        "shapely.geometry.multipoint",
        "shapely.ops",
        "sklearn.model_selection._search",
        "sklearn.utils._param_validation",
        "statsmodels.regression.mixed_linear_model",
        "statsmodels.tools.data",
    }
)

# Functions of modules that ask in others as well, where to be none converts. An array of another class these refuse,
# take for a label, or share the memory of where they copy NumPy's.
ASKING_IN: Final = {
    module: frozenset(names.split())
    for module, names in {
        "matplotlib.axes._axes": "errorbar",
        "matplotlib.cbook": "_reshape_2D delete_masked_points",
        "pandas.core.algorithms": "_ensure_arraylike diff factorize searchsorted take",
        "pandas.core.array_algos.take": "take_nd",
        "pandas.core.arrays.boolean": "_logical_method",
        "pandas.core.arrays.datetimelike": "_cmp_method",
        "pandas.core.arrays.interval": "_cmp_method",
        "pandas.core.arrays.masked": "_arith_method _cmp_method",
        "pandas.core.arrays.string_": "_cmp_method _logical_method",
        "pandas.core.base": "__getitem__ _selection_list",
        "pandas.core.common": "convert_to_list_like index_labels_to_array is_bool_indexer random_state",
        "pandas.core.construction": "array ensure_wrapped_if_datetimelike",
        "pandas.core.dtypes.cast": "infer_dtype_from_array infer_dtype_from_scalar np_can_hold_element",
        "pandas.core.dtypes.common": "is_array_like_deprecate_non_pandas is_numeric_v_string_like",
        "pandas.core.frame": (
            "<genexpr> <listcomp> __init__ __setitem__ _align_for_op _getitem_multilevel "
            "_setitem_array _setitem_frame dot igetitem set_index"
        ),
        "pandas.core.generic": "_where xs",
        "pandas.core.groupby.grouper": "<genexpr> __init__ _convert_grouper _factorize_monotonic get_grouper",
        "pandas.core.indexers.utils": "<genexpr> check_setitem_lengths is_empty_indexer length_of_indexer",
        "pandas.core.indexes.base": "_cmp_method _maybe_copy_array_input",
        "pandas.core.indexes.multi": "_reorder_indexer get_locs",
        "pandas.core.indexing": (
            "_align_frame _align_series _maybe_mask_setitem_value _positional_row _setitem_new_column "
            "_setitem_single_block _setitem_with_indexer_split_path maybe_convert_ix ravel"
        ),
        "pandas.core.internals.blocks": "coerce_to_target_dtype putmask setitem where",
        "pandas.core.internals.construction": "ndarray_to_mgr",
        "pandas.core.internals.managers": "setitem setitem_inplace",
        "pandas.core.ops.array_ops": "_masked_arith_op comp_method_OBJECT_ARRAY comparison_op logical_op na_logical_op",
        "pandas.core.ops.common": "maybe_warn_listlike raise_if_2d",
        "pandas.core.ops.missing": "_fill_zeros",
        "pandas.core.reshape.merge": "<genexpr> <lambda>",
        "pandas.core.reshape.pivot": "_convert_by",
        "pandas.core.series": "__init__ _flex_method dot",
    }.items()
}


# Packages whose modules give their compiled code what NumPy's functions made, or NumPy's ufuncs, or whose compiled code
# checks the class itself (scikit-image's): they ask everywhere.
GIVING: Final = frozenset({"astropy", "skimage"})
# Packages that read memory, wherever they ask: NumPy, and those whose compiled code is installed as another package.
READING: Final = frozenset({"numpy", "jax"})
EVERYWHERE: Final = frozenset[str]()
NOWHERE: Final = frozenset({""})
_FUNCTIONS: Final[dict[Any, frozenset[str]]] = dict.fromkeys(ASKING, EVERYWHERE) | ASKING_IN
"""In which functions of a module a lazy array is of NumPy's class; modules that are not listed are found out about."""


def _asks_in(space: dict[str, Any]) -> frozenset[str]:
    """In which functions of the module with these globals: all, where an installed package is in Python alone.

    What such a package makes of an array, it makes with NumPy's functions, or hands to packages that convert.
    """
    from lazyarray.frontend.callers import is_installed, is_unaware

    name, file = space.get("__name__"), space.get("__file__")
    found = NOWHERE
    package = str(name).partition(".")[0]
    if name and file and package not in READING and is_installed(str(file)) and is_unaware(space):
        converts = package in GIVING or not _has_compiled_code(_root_of(str(name), str(file)))
        found = EVERYWHERE if converts else NOWHERE
    _FUNCTIONS[name] = found
    return found


def _root_of(name: str, file: str) -> str:
    """The folder of the package that a module is in; the file of a module that is in none."""
    depth = name.count(".") + os.path.basename(file).startswith("__init__.")
    for _ in range(depth):
        file = os.path.dirname(file)
    return file


@lru_cache
def _has_compiled_code(root: str) -> bool:
    """Whether a package has a file that Python loads as compiled code, or a module is one."""
    if not os.path.isdir(root):
        return root.endswith(_COMPILED)
    return any(file.endswith(_COMPILED) for _, _, files in os.walk(root) for file in files)


_COMPILED: Final = (".so", ".pyd")


def class_seen(frame: Any, own: type, theirs: type) -> type:
    """The class that the code of a frame finds when it asks `isinstance`: NumPy's where that code converts."""
    functions = _FUNCTIONS.get(frame.f_globals.get("__name__"))
    if functions is None:
        functions = _asks_in(frame.f_globals)
    return own if functions and frame.f_code.co_name not in functions else theirs


class ClassedUfunc:
    """What `isinstance` asks of ufuncs that are not NumPy's."""

    __slots__ = ()

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return class_seen(sys._getframe(1), type(self), np.ufunc)


class Classed:
    """What `isinstance` asks of objects whose own class does not do."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return class_seen(sys._getframe(1), type(self), _nparray)

    @__class__.setter
    def __class__(self, new: type) -> None:
        np.empty(0).__class__ = new  # NumPy's error
