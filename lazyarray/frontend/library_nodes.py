"""Owns calls of a device's library as nodes: which ones are recorded, and what they give.

Called at once, a transform or a sort ends the plan before it, and a program of such is queued call by call. As a node
it is a step of the plan around it, which a device may queue as one. What is not recorded is called at once as before:
transforms with other lengths than the array has, along axes that are not its last ones, or of half floats; sorts of
complex numbers, of flattened arrays, by fields.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from lazyarray.ir.node import Library, Node, Shape
from lazyarray.runtime.device import Device, configured

DType = np.dtype[Any]

MOST_AXES: Final = 3  # that a device's library transforms at once
_NORMS: Final = (None, "backward", "ortho", "forward")
_WHOLE: Final = ("fftn", "ifftn", "rfftn", "irfftn")  # the functions over several axes that the others are
_DOUBLE: Final = np.dtype(np.float64)


class Wanted(NamedTuple):
    """A call of the device's library on the array as it is, and what it gives."""

    library: Library
    shape: Shape
    dtype: DType


def wanted(name: str, shape: Shape, dtype: DType, args: Sequence[Any], options: Mapping[str, Any]) -> Wanted | None:
    """The call for NumPy's function `name` on an array of that shape and dtype; None for what is not recorded.

    `args` and `options`: what is given besides the array.
    """
    known = NAMES.get(name)
    if known is None or len(args) > len(known) or not set(options) <= {*known[len(args) :]}:
        return None
    given = {**dict(zip(known, args, strict=False)), **options}
    return (_sort if name in SORTS else _transform)(name, shape, dtype, given)


# ---- transforms


def _transform(name: str, shape: Shape, dtype: DType, given: Mapping[str, Any]) -> Wanted | None:
    kind = name.removeprefix("fft.")
    known = NAMES[name]
    lengths, norm = given.get(known[0]), given.get("norm")
    axes = given.get(known[1], _DEFAULTS[_KINDS[kind][1]])
    if kind in _ONE_AXIS:
        lengths, axes = None if lengths is None else (lengths,), (axes,)
    elif lengths is not None and axes is None:
        return None  # releases of NumPy say different things of which axes these are
    if axes is None:
        axes = tuple(range(len(shape)))
    if type(axes) not in (tuple, list) or (lengths is not None and type(lengths) not in (tuple, list)):
        return None
    numbers = [*axes, *(() if lengths is None else lengths)]
    if any([type(number) is not int for number in numbers]) or not (norm is None or type(norm) is str):
        return None
    return _transform_of(name, shape, dtype, None if lengths is None else tuple(lengths), tuple(axes), norm)


# Each function with the one over several axes that it is, and how many axes it means unless told.
_KINDS: Final[dict[str, tuple[str, int]]] = {
    known: (whole, count) for whole in _WHOLE for count, known in enumerate([whole, whole[:-1], f"{whole[:-1]}2"])
}
_DEFAULTS: Final = (None, -1, (-2, -1))
_ONE_AXIS: Final = frozenset(whole[:-1] for whole in _WHOLE)
TRANSFORMS: Final = tuple([f"fft.{kind}" for kind in _KINDS])


@functools.lru_cache(maxsize=256)
def _transform_of(
    name: str, shape: Shape, dtype: DType, lengths: tuple[int, ...] | None, axes: tuple[int, ...], norm: str | None
) -> Wanted | None:
    whole, _ = _KINDS[name.removeprefix("fft.")]
    rank, count = len(shape), len(axes)
    if norm not in _NORMS or not 0 < count <= min(rank, MOST_AXES) or 0 in shape:
        return None
    if [axis + rank if axis < 0 else axis for axis in axes] != [*range(rank - count, rank)]:
        return None  # not the last ones in their order
    if dtype.kind in "iub":
        dtype = _DOUBLE
    if dtype.char not in "fdFD" or (whole == "rfftn" and dtype.kind == "c"):
        return None
    wide = np.result_type(dtype, np.complex64)
    real = np.empty(0, wide).real.dtype
    last = shape[-1]
    if whole == "irfftn":
        last = 2 * (last - 1) if lengths is None else lengths[-1]
        if last < 1 or last // 2 + 1 != shape[-1]:
            return None
    natural = (*shape[rank - count : -1], last)
    if lengths is not None and lengths != natural:
        return None
    made = (*shape[:-1], last // 2 + 1 if whole == "rfftn" else last)
    # With the lengths that it has either way, which NumPy's releases agree on.
    settings = (("s", natural), ("axes", tuple(range(-count, 0))), ("norm", norm or "backward"))
    library = Library(name, getattr(np.fft, whole), settings, into=True)
    return Wanted(library, made, real if whole == "irfftn" else wide)


# ---- sorts


def sort(a: Any, axis: int, kind: Any, out: Any = None) -> Any:
    """NumPy's, into memory that may be given."""
    if out is None:
        return np.sort(a, axis, kind)
    out[...] = a
    out.sort(axis, kind)
    return out


def argsort(a: Any, axis: int, kind: Any, out: Any = None) -> Any:
    """NumPy's, into memory that may be given."""
    found = np.argsort(a, axis, kind)
    if out is None:
        return found
    out[...] = found
    return out


SORTS: Final[dict[str, Any]] = {"sort": sort, "argsort": argsort}
_SORTED: Final = "?bBhHiIlLqQefd"
_KINDS_OF_SORTS: Final = (None, "quicksort", "mergesort", "heapsort", "stable")


def _sort(name: str, shape: Shape, dtype: DType, given: Mapping[str, Any]) -> Wanted | None:
    axis, kind, rank = given.get("axis", -1), given.get("kind"), len(shape)
    if type(axis) is not int or not (kind is None or type(kind) is str) or kind not in _KINDS_OF_SORTS:
        return None
    if not -rank <= axis < rank or 0 in shape or dtype.char not in _SORTED:
        return None
    library = Library(name, SORTS[name], (("axis", axis % rank), ("kind", kind)), into=True)
    return Wanted(library, shape, dtype if name == "sort" else np.dtype(np.intp))


# ---- both

# The functions that may be recorded, with the names of the arguments behind the array.
NAMES: Final[dict[str, tuple[str, ...]]] = {
    **{f"fft.{kind}": ("n", "axis", "norm") if kind in _ONE_AXIS else ("s", "axes", "norm") for kind in _KINDS},
    **dict.fromkeys(SORTS, ("axis", "kind")),
}


def takes(device: Device | None, library: Library) -> bool:
    """True for a device that runs such calls in plans."""
    taken = getattr(device, "takes", None)
    return taken is not None and bool(taken(library))


def place_of(node: Node) -> Device | None:
    """A device that the node's evaluation may run on; None where it will run on the host."""
    found = configured()
    if found is not None:
        return found
    left, seen = [node], set()
    while left:
        one = left.pop()
        remote = one.remote
        if remote is not None and remote.home:
            place: Device = remote.device
            return place
        if one.data is None and id(one) not in seen:
            seen.add(id(one))
            left += [arg for arg in one.args if type(arg) is Node]
    return None


__all__ = ["NAMES", "SORTS", "TRANSFORMS", "Wanted", "place_of", "takes", "wanted"]
