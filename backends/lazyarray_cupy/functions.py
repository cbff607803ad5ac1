"""Owns the functions of NumPy that run in CuPy on a GPU's arrays: those that mean the same there.

A function is left out where CuPy gives another answer to the same question: other errors (singular matrices give no
LinAlgError), another order of equal or of complex elements, other dtypes.  A rule may still refuse certain arguments
with NotImplemented; NumPy then serves them on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import cupy
import numpy as np

from lazyarray_cupy.nans import sorts_bits, with_nan

Function = Callable[..., Any]
_MOST_COUNTED: Final = (1 << 31) - 1  # CUB counts as int
_SORTS: Final = (None, "quicksort", "mergesort", "heapsort", "stable")
_SIDES: Final = ("left", "right")


def _sort(a: Any, axis: Any = -1, kind: Any = None, **options: Any) -> Any:
    # CuPy's sort is stable whatever `kind` says; complex numbers with NaN parts come in another order.
    if options or not _is_sorted_there(a, axis, kind):
        return NotImplemented
    return cupy.sort(*_line_of(a, axis))


def _argsort(a: Any, axis: Any = -1, kind: Any = None, **options: Any) -> Any:
    if options or not _is_sorted_there(a, axis, kind):
        return NotImplemented
    return cupy.argsort(*_line_of(a, axis))


def _is_sorted_there(a: Any, axis: Any, kind: Any) -> bool:
    """False for what NumPy has errors for, too."""
    if not _are_there(a) or a.dtype.kind == "c" or not a.ndim or not (kind is None or type(kind) is str):
        return False
    return kind in _SORTS and (axis is None or (_is_whole(axis) and -a.ndim <= axis < a.ndim))


def _line_of(a: Any, axis: Any) -> tuple[Any, int]:
    """An array and an axis of it as CuPy is to sort it."""
    if axis is None:
        a, axis = a.ravel(), -1
    return with_nan(a) if sorts_bits(a) else a, int(axis)


def _searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    if sorter is not None or not _are_there(a, v) or a.ndim != 1 or type(side) is not str or side not in _SIDES:
        return NotImplemented
    # CuPy compares numbers of two dtypes as C does: the unsigned of the two decides.
    common = np.result_type(a.dtype, v.dtype)
    if common.kind not in "biuf":
        return NotImplemented
    return cupy.searchsorted(a.astype(common, copy=False), v.astype(common, copy=False), side=side)


def _are_there(*given: Any) -> bool:
    """Whether all of them are the device's arrays: lists and numbers are NumPy's to read."""
    return all([isinstance(one, cupy.ndarray) for one in given])


def _is_whole(number: Any) -> bool:
    return type(number) is int or isinstance(number, np.integer)


def _transform(name: str) -> Function:
    def call(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        if out is not None or not a.size or not _is_usual((n,), (axis,), norm, a.ndim):
            return NotImplemented
        return getattr(cupy.fft, name)(_widened(a), n, axis, norm)

    return call


def _transforms(name: str, axes_known: bool) -> Function:
    def call(
        a: Any, s: Any = None, axes: Any = (-2, -1) if axes_known else None, norm: Any = None, out: Any = None
    ) -> Any:
        # Without axes, lengths mean the last ones, of which releases of NumPy say different things.
        if out is not None or not a.size or (s is not None and axes is None):
            return NotImplemented
        lengths, places = s or (None,), axes or (-1,)
        if type(lengths) not in (tuple, list) or type(places) not in (tuple, list):
            return NotImplemented
        if not _is_usual(lengths, places, norm, a.ndim) or (s is not None and len(lengths) != len(places)):
            return NotImplemented
        return getattr(cupy.fft, name)(_widened(a), s, axes, norm)

    return call


def _is_usual(lengths: Sequence[Any], axes: Sequence[Any], norm: Any, rank: int) -> bool:
    """False for what NumPy has errors for, or releases of NumPy take in different ways."""
    return (
        norm in (None, "backward", "ortho", "forward")
        and all(length is None or (type(length) is int and length > 0) for length in lengths)
        and all(type(axis) is int and -rank <= axis < rank for axis in axes)
    )


def _widened(a: Any) -> Any:
    """As NumPy's transforms take it: integers in float64."""
    return a.astype(np.float64) if a.dtype.kind in "iub" else a


def _cholesky(a: Any, /, *, upper: bool = False) -> Any:
    if a.ndim != 2 or a.dtype.char not in "fdFD":
        return NotImplemented
    found = cupy.linalg.cholesky(a)
    # cuSOLVER leaves NaN where NumPy raises; the host then raises.
    if not bool(cupy.isfinite(cupy.diagonal(found)).all()):
        return NotImplemented
    return found.conj().T if upper else found


def _solve(a: Any, b: Any) -> Any:
    if not _are_there(a, b) or a.ndim != 2 or b.ndim not in (1, 2) or a.dtype.char not in "fdFD" or b.dtype != a.dtype:
        return NotImplemented
    found = cupy.linalg.solve(a, b)
    return found if bool(cupy.isfinite(found).all()) else NotImplemented


def _inv(a: Any) -> Any:
    if a.ndim != 2 or a.dtype.char not in "fdFD":
        return NotImplemented
    found = cupy.linalg.inv(a)
    return found if bool(cupy.isfinite(found).all()) else NotImplemented


def _bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    if not _are_there(x) or x.ndim != 1 or x.dtype.kind not in "iu" or not x.size or not np.can_cast(x.dtype, np.intp):
        return NotImplemented
    if not isinstance(minlength, (int, np.integer)) or minlength < 0:
        return NotImplemented
    if not (weights is None or (_are_there(weights) and weights.shape == x.shape and weights.dtype.kind in "biuf")):
        return NotImplemented
    found = None if weights is not None else _count_places(x, int(minlength))
    if found is not None:
        return found
    try:
        return cupy.bincount(x, weights, minlength)
    except (ValueError, OverflowError):  # negative or too large numbers: NumPy says so
        return NotImplemented


def _count_places(x: Any, minlength: int) -> Any:
    """CUB's counts, as `cupy.bincount`, whose two looks at all numbers are one here; None where CuPy is to say more.

    Taken as unsigned, negative numbers are larger than all others.
    """
    largest = int(x.view(f"u{x.dtype.itemsize}").max())
    size = max(largest + 1, minlength)
    if size >= _MOST_COUNTED or x.size > _MOST_COUNTED or largest > np.iinfo(x.dtype).max:
        return None
    return cupy.cuda.cub.cub_histogram(x, cupy.zeros(size, np.intp), size + 1)


def _count_between(x: Any, edges: Any) -> Any:
    """How many elements lie from one edge up to the next; the last edge belongs to what is before it."""
    if not x.size or x.size > _MOST_COUNTED or x.dtype != edges.dtype:
        return NotImplemented
    counts = cupy.zeros(edges.size - 1, np.int64)
    beyond = edges.copy()
    beyond[-1:] = cupy.nextafter(edges[-1:], cupy.full(1, np.inf, edges.dtype))
    found = cupy.cuda.cub.cub_histogram(x, counts, beyond)
    return NotImplemented if found is None else found


FUNCTIONS: Final[dict[str, Function]] = {
    "sort": _sort,
    "argsort": _argsort,
    "searchsorted": _searchsorted,
    "bincount": _bincount,
    "count_between": _count_between,
    **{f"fft.{name}": _transform(name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": _transforms(name, True) for name in ("fft2", "ifft2", "rfft2", "irfft2")},
    **{f"fft.{name}": _transforms(name, False) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    "linalg.cholesky": _cholesky,
    "linalg.solve": _solve,
    "linalg.inv": _inv,
}
