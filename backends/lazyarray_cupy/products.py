"""Owns products of two matrices by cuBLAS itself: with less host time than through CuPy, and also in CUDA graphs.

CuPy refuses cuBLAS while a stream is captured. cuBLAS itself can be captured: the memory that it works in is then
allocated within the graph.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import cupy
from cupy.cuda import device as cupy_device

_NOT_TRANSPOSED: Final = 0
_TRANSPOSED: Final = 1
_ALGORITHM: Final = -1  # cuBLAS's own choice
_HALF: Final = 2  # CUDA_R_16F
_COMPUTE_FLOAT: Final = 68  # CUBLAS_COMPUTE_32F
_VERSIONS: Final = (13, 12, 11)


class _Kind(NamedTuple):
    """The function for a dtype, with 1 and 0 of the dtype that it scales in."""

    name: str
    one: Any
    zero: Any


def _scalars(ctype: Any, *one: float) -> tuple[Any, Any]:
    return (ctype * len(one))(*one), (ctype * len(one))()


_KINDS: Final = {
    "f4": _Kind("cublasSgemm_v2", *_scalars(ctypes.c_float, 1)),
    "f8": _Kind("cublasDgemm_v2", *_scalars(ctypes.c_double, 1)),
    "c8": _Kind("cublasCgemm_v2", *_scalars(ctypes.c_float, 1, 0)),
    "c16": _Kind("cublasZgemm_v2", *_scalars(ctypes.c_double, 1, 0)),
    "f2": _Kind("cublasGemmEx", *_scalars(ctypes.c_float, 1)),
}


def fits(shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool:
    """True for products of two matrices that are multiplied here, if they lie row by row or column by column."""
    return [len(shape) for shape in shapes] == [2, 2] and codes[0] == codes[1] and codes[0] in _KINDS


@functools.cache
def _library() -> Any:
    """cuBLAS, which CuPy has loaded."""
    cupy_device.get_cublas_handle()
    for version in _VERSIONS:
        for name in (f"libcublas.so.{version}", f"cublas64_{version}.dll"):
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
    return None


@functools.cache
def _function(code: str) -> Callable[..., int] | None:
    library = _library()
    return None if library is None else getattr(library, _KINDS[code].name)


def _handle() -> int:
    """The thread's handle of cuBLAS on the current device, on the current stream."""
    handle: int = cupy_device.get_cublas_handle()
    stream = cupy.cuda.get_current_stream().ptr
    _library().cublasSetStream_v2(ctypes.c_void_p(handle), ctypes.c_void_p(stream))
    return handle


def _walk(matrix: Any, size: int) -> tuple[int, int] | None:
    """How cuBLAS takes a matrix as its transpose column by column: which way, and the step between lines."""
    rows, columns = matrix.shape
    down, across = matrix.strides
    if across == size or columns == 1:
        step = down // size if rows > 1 else columns
        if step >= max(columns, 1) and (rows <= 1 or down % size == 0):
            return _NOT_TRANSPOSED, step
    if down == size or rows == 1:
        step = across // size if columns > 1 else rows
        if step >= max(rows, 1) and (columns <= 1 or across % size == 0):
            return _TRANSPOSED, step
    return None


def multiply(left: Any, right: Any, out: Any) -> bool:
    """out[...] = left @ right; False where something else has to do it."""
    code = left.dtype.str[1:]
    if left.ndim != 2 or right.ndim != 2 or code not in _KINDS or right.dtype != left.dtype or out.dtype != left.dtype:
        return False
    (m, k), n = left.shape, right.shape[1]
    function = _function(code)
    if function is None or not (m and n and k) or max(m, n, k) >= 1 << 31 or not out.flags.c_contiguous:
        return False
    size = left.dtype.itemsize
    first, second = _walk(right, size), _walk(left, size)
    if first is None or second is None:
        return False
    kind = _KINDS[code]
    handle = ctypes.c_void_p(_handle())
    pointer = ctypes.c_void_p
    a, b, c = pointer(right.data.ptr), pointer(left.data.ptr), pointer(out.data.ptr)
    if code == "f2":
        half = _HALF
        status = function(
            handle, first[0], second[0], n, m, k, kind.one, a, half, first[1], b, half, second[1],
            kind.zero, c, half, n, _COMPUTE_FLOAT, _ALGORITHM,
        )  # fmt: skip
    else:
        status = function(
            handle, first[0], second[0], n, m, k, kind.one, a, first[1], b, second[1], kind.zero, c, n
        )  # fmt: skip
    if status:
        raise RuntimeError(f"cuBLAS: {kind.name} gave status {status}")
    return True
