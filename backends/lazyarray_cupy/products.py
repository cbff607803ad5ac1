"""Owns products of matrices and stacks of them by cuBLAS itself: with less host time than through CuPy, also in CUDA
graphs, and without copies of transposed factors.

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

from lazyarray.ir.node import Library
from lazyarray_cupy.contractions import Stack, factors_of, ordered_contraction, stack_of, walk

_ALGORITHM: Final = -1  # cuBLAS's own choice
_HALF: Final = 2  # CUDA_R_16F
_COMPUTE_FLOAT: Final = 68  # CUBLAS_COMPUTE_32F
_VERSIONS: Final = (13, 12, 11)


class _Kind(NamedTuple):
    """The functions for a dtype, with 1 and 0 of the dtype that they scale in."""

    name: str
    stacks: str
    one: Any
    zero: Any


def _scalars(ctype: Any, *one: float) -> tuple[Any, Any]:
    return (ctype * len(one))(*one), (ctype * len(one))()


_KINDS: Final = {
    "f4": _Kind("cublasSgemm_v2", "cublasSgemmStridedBatched", *_scalars(ctypes.c_float, 1)),
    "f8": _Kind("cublasDgemm_v2", "cublasDgemmStridedBatched", *_scalars(ctypes.c_double, 1)),
    "c8": _Kind("cublasCgemm_v2", "cublasCgemmStridedBatched", *_scalars(ctypes.c_float, 1, 0)),
    "c16": _Kind("cublasZgemm_v2", "cublasZgemmStridedBatched", *_scalars(ctypes.c_double, 1, 0)),
    "f2": _Kind("cublasGemmEx", "cublasGemmStridedBatchedEx", *_scalars(ctypes.c_float, 1)),
}


def fits(library: Library, shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool:
    """True for products that are made here, if their factors lie row by row or column by column."""
    if len(codes) != 2 or codes[0] != codes[1] or codes[0] not in _KINDS:
        return False
    if library.name == "einsum":
        return ordered_contraction(str(dict(library.options)["subscripts"])) is not None
    ranks = [len(shape) for shape in shapes]
    return ranks == [2, 2] or (library.name == "matmul" and min(ranks) >= 2)


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
def _function(code: str, alone: bool) -> Callable[..., int] | None:
    library, kind = _library(), _KINDS[code]
    return None if library is None else getattr(library, kind.name if alone else kind.stacks)


def _handle() -> int:
    """The thread's handle of cuBLAS on the current device, on the current stream."""
    handle: int = cupy_device.get_cublas_handle()
    stream = cupy.cuda.get_current_stream().ptr
    _library().cublasSetStream_v2(ctypes.c_void_p(handle), ctypes.c_void_p(stream))
    return handle


def multiply(left: Any, right: Any, out: Any) -> bool:
    """out[...] = left @ right, of matrices or stacks of them; False where something else has to do it."""
    factors = factors_of(left, right, out) if left.dtype == right.dtype == out.dtype else None
    return factors is not None and _multiply(*factors, left, right, out)


def contract(subscripts: str, first: Any, second: Any, out: Any) -> bool:
    """out[...] = einsum(subscripts, first, second), where that is products of matrices as they lie in memory."""
    found = ordered_contraction(subscripts)
    if found is None or not first.dtype == second.dtype == out.dtype:
        return False
    if found.swapped:
        first, second = second, first
    left, right = first.transpose(found.left), second.transpose(found.right)
    stack, rows, inner = found.left_groups
    if left.shape[:stack] != right.shape[:stack] or left.shape[stack + rows :] != right.shape[stack : stack + inner]:
        return False  # NumPy repeats what has an extent of 1
    size = out.dtype.itemsize
    factors = [
        stack_of(a.shape, a.strides, groups, size)
        for a, groups in ((left, found.left_groups), (right, found.right_groups))
    ]
    if factors[0] is None or factors[1] is None:
        return False
    return _multiply(factors[0], factors[1], left, right, out)


def _multiply(first: Stack, second: Stack, left: Any, right: Any, out: Any) -> bool:
    code = out.dtype.str[1:]
    if code not in _KINDS or not out.size or not first.columns or not out.flags.c_contiguous:
        return False
    if first.columns != second.rows or first.number != second.number or first.number >= 1 << 31:
        return False
    alone = first.number == 1
    function, ways = _function(code, alone), (walk(second), walk(first))
    if function is None or ways[0] is None or ways[1] is None:
        return False
    kind, pointer, step = _KINDS[code], ctypes.c_void_p, ctypes.c_longlong
    m, k, n = first.rows, first.columns, second.columns
    half = code == "f2"

    def given(array: Any, line: int, between: int) -> list[Any]:
        return [pointer(array.data.ptr), *([_HALF] if half else []), line, *([] if alone else [step(between)])]

    status = function(
        pointer(_handle()), ways[0][0], ways[1][0], n, m, k, kind.one,
        *given(right, ways[0][1], second.step), *given(left, ways[1][1], first.step),
        kind.zero, *given(out, n, m * n), *([] if alone else [first.number]),
        *([_COMPUTE_FLOAT, _ALGORITHM] if half else []),
    )  # fmt: skip
    if status:
        raise RuntimeError(f"cuBLAS: {kind.name if alone else kind.stacks} gave status {status}")
    return True
