"""Owns views that functions make of large managed arrays again: as they showed an array that was laid out alike.

One of the modules that may run compiled (see `lazyarray/native`). What a function of `SHOWING` shows follows from the
shape and dtype of an array's root, its map and the other arguments; what copies, or warns each time, is not noted.
"""

from __future__ import annotations

from typing import Any, Final

from lazyarray.frontend.quick import Fields, known, limits  # cimport
from lazyarray.frontend.slices import base_of, shown  # cimport
from lazyarray.ir.node import Node  # cimport
from lazyarray.runtime.root import Root  # cimport

SHOWING: Final = frozenset(
    """
    atleast_1d atleast_2d atleast_3d diagonal diag expand_dims flip fliplr flipud imag matrix_transpose moveaxis
    permute_dims ravel real reshape rollaxis rot90 squeeze swapaxes transpose view
    """.split()
)
_MOST: Final = 1024


def shows(source: Any) -> bool:
    """Whether NumPy's function or method shows its first argument in another way, and does no more."""
    return getattr(source, "__name__", None) in SHOWING


def layout_of(array: Fields, given: tuple[Any, ...], names: Any) -> Any:
    """What a view of a large managed array follows from: its layout and the other arguments, which are numbers.

    None for parts of complex numbers, and for what refuses writes.
    """
    node: Node | None = array._node
    if node is not None:
        spec = node.key.spec
        return None if spec.size < limits.eager else (spec, None, given, names)
    if array._part is not None or array._fixed:
        return None
    base: Root = array._base
    spec = base.spec
    return None if spec.size < limits.eager else (spec, array._map, given, names)


def view_again(views: dict[Any, Any], array: Fields, layout: Any) -> Any:
    """The array as it was shown where it was laid out so, or None."""
    found = views.get(layout)
    if found is None:
        return None
    if found is True:
        return array
    view, part, fixed = found
    return shown(base_of(array), view, part, fixed)


def note_view(views: dict[Any, Any], array: Fields, layout: Any, result: Any) -> None:
    """Notes how an array was shown, if what a function returned is a view of it, or the array itself."""
    if result is array:
        found: Any = True
    elif type(result) is known.array:
        view: Fields = result
        if view._np is not None or view._node is not None or array._node is not None or view._base is not array._base:
            return
        found = view._map, view._part, view._fixed
    else:
        return
    if len(views) >= _MOST:
        views.clear()
    views[layout] = found
