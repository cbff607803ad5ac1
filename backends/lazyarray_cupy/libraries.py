"""Owns the library calls of plans on a GPU: products through cuBLAS and cuTENSOR, with NumPy's meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import cupy

from lazyarray_cupy import products


def _matmul(args: Sequence[Any], out: Any) -> Any:
    left, right = args
    if products.multiply(left, right, out):
        return out
    return cupy.matmul(left, right, out=out) if out.ndim else cupy.matmul(left, right)


def _dot(args: Sequence[Any], out: Any) -> Any:
    left, right = args
    if left.ndim == right.ndim == 2 and products.multiply(left, right, out):
        return out
    return cupy.dot(left, right, out=out) if out.ndim else cupy.dot(left, right)


def _inner(args: Sequence[Any], out: Any) -> Any:
    return cupy.inner(*args)


def _vdot(args: Sequence[Any], out: Any) -> Any:
    return cupy.vdot(*args)


def _einsum(args: Sequence[Any], out: Any, *, subscripts: str, optimize: Any) -> Any:
    if len(args) == 2 and out is not None and products.contract(subscripts, args[0], args[1], out):
        return out
    # CuPy contracts pair by pair where `optimize` is false too, in the order written.
    return cupy.einsum(subscripts, *args, optimize=optimize)


LIBRARIES: Final[dict[str, Callable[..., Any]]] = {
    "matmul": _matmul,
    "dot": _dot,
    "inner": _inner,
    "vdot": _vdot,
    "einsum": _einsum,
}

# Those that call cuBLAS without CuPy where `products.fits`.
DIRECT: Final = frozenset({"matmul", "dot", "einsum"})
