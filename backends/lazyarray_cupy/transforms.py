"""Owns the transforms of plans on a GPU: by cuFFT's plans, kept for each thread, into the memory that a run wants.

CuPy's functions make memory of their own for each result, and look at what they are given each time. With the plans
themselves a transform may be recorded into a CUDA graph, which keeps the plan that it works by. Results are scaled by a
kernel of the device's compiler: CuPy's would round small numbers to zero, and take NVRTC a second at first.
"""

from __future__ import annotations

import functools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from lazyarray_cupy.work import Work

_FORWARD: Final = -1  # CUFFT_FORWARD
_INVERSE: Final = 1  # CUFFT_INVERSE
PLANS_LIMIT: Final = 16  # of one thread, as CuPy keeps
RECORDED_BYTES: Final = 16 << 20  # the GPU takes longer for larger ones than the host does to queue them
_ALIGNED: Final = 16


class _Kind(NamedTuple):
    values: str  # cuFFT's kind of input and output
    direction: int


_KINDS: Final = {
    "fft": _Kind("C2C", _FORWARD),
    "ifft": _Kind("C2C", _INVERSE),
    "rfft": _Kind("R2C", _FORWARD),
    "irfft": _Kind("C2R", _INVERSE),
}
# cuFFT's names for kinds, in single and in double precision.
_NUMBERS: Final = {
    "C2C_F": "CUFFT_C2C", "R2C_F": "CUFFT_R2C", "C2R_F": "CUFFT_C2R",
    "C2C_D": "CUFFT_Z2Z", "R2C_D": "CUFFT_D2Z", "C2R_D": "CUFFT_Z2D",
}  # fmt: skip


class _Plans(threading.local):
    """One thread's plans, the last used at the end: a plan may not be used by two threads at once."""

    def __init__(self) -> None:
        self.kept: OrderedDict[Any, Any] = OrderedDict()


_plans: Final = _Plans()


def transform(
    kind: _Kind, array: Any, out: Any, work: Work, *, s: Sequence[int], axes: Sequence[int], norm: str
) -> Any:
    """out[...] = NumPy's transform along the last axes, whose lengths `s` are those of the longer side."""
    wanted = _wanted(array.dtype, kind.values)
    plan = _plan(array, s, axes, kind.values, wanted)
    work.keep(plan)
    if kind.values == "C2R" or array.dtype != wanted or not array.flags.c_contiguous or array.data.ptr % _ALIGNED:
        # cuFFT also writes into what it transforms back to real numbers.
        copied = work.scratch(array.shape, wanted)
        work.copy(copied, array)
        array = copied
    plan.fft(array, out, kind.direction)
    factor = _factor(kind.direction, norm, math.prod(s))
    if factor != 1:
        # Part by part: infinity times a number is no NaN in the other part.
        work.scale(out.view(np.dtype(out.dtype.char.lower())), factor)
    return out


TRANSFORMS: Final[dict[str, Callable[..., Any]]] = {
    f"fft.{name}{many}": functools.partial(transform, kind) for name, kind in _KINDS.items() for many in ("", "2", "n")
}


def _factor(direction: int, norm: str, count: int) -> float:
    """What NumPy multiplies a result by."""
    if norm == "ortho":
        return 1 / math.sqrt(count)
    scaled = "forward" if direction == _FORWARD else "backward"
    return 1 / count if norm == scaled else 1.0


@functools.cache
def _wanted(dtype: Any, values: str) -> Any:
    """What cuFFT takes for an array of that dtype."""
    wide = np.result_type(np.float64 if dtype.kind in "iub" else dtype, np.complex64)
    return np.dtype(wide.char.lower()) if values == "R2C" else wide


def _plan(array: Any, lengths: Sequence[int], axes: Sequence[int], values: str, dtype: Any) -> Any:
    """The thread's plan for arrays of this shape, of a dtype, laid out row by row."""
    key = array.shape, dtype.char, tuple(lengths), values, array.device.id
    kept = _plans.kept
    plan = kept.get(key)
    if plan is None:
        # cuFFT finds the GPU of a new thread neither when it makes a plan of kernels that it has, nor when it runs one.
        array.device.use()
        plan = kept[key] = _new_plan(array.shape[: -len(axes)], tuple(lengths), f"{values}_{dtype.char.upper()}")
        if len(kept) > PLANS_LIMIT:
            kept.popitem(last=False)
    else:
        kept.move_to_end(key)
    return plan


def _new_plan(stack: tuple[int, ...], lengths: tuple[int, ...], kind: str) -> Any:
    """A plan for a stack of transforms of so many real or complex numbers, which are the longer side."""
    from cupy.cuda import cufft  # here: it loads cuFFT, which few programs need

    number, count = getattr(cufft, _NUMBERS[kind]), math.prod(stack)
    if len(lengths) == 1:
        return cufft.Plan1d(lengths[0], number, count)
    half = (*lengths[:-1], lengths[-1] // 2 + 1)
    read = half if kind.startswith("C2R") else lengths
    made = half if kind.startswith("R2C") else lengths
    last = len(stack) + len(lengths) - 1
    return cufft.PlanNd(lengths, read, 1, math.prod(read), made, 1, math.prod(made), number, count, "C", last, made[-1])


def forget() -> None:
    """Gives back the memory that the thread's plans work in."""
    _plans.kept.clear()


def fits(shapes: Sequence[tuple[int, ...]], codes: Sequence[str]) -> bool:
    """True for transforms that are recorded: so short that queueing them takes as long."""
    return math.prod(shapes[0]) * int(codes[0][1:]) <= RECORDED_BYTES


__all__ = ["TRANSFORMS", "fits", "forget"]
