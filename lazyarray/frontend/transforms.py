"""Owns Fourier transforms of large arrays: NumPy's own loops, the lines of an array shared out to threads.

NumPy's functions work out shapes, norms and dtypes and call one loop for each axis. They run here as they are, but for
the names of these loops, so results have NumPy's bits. In the compiled form the backend's workers run the loops, else
threads of Python.

One of the modules that may run compiled (see `lazyarray/native`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import numpy as np

from lazyarray.config import config
from lazyarray.frontend.renamed import in_space

# The build reads such imports by the line.
# isort: split
from lazyarray.native.lines import address_in, count_in, lines_of, raised_in, runner  # cimport
from lazyarray.runtime import processors
from lazyarray.runtime.backend import miss_workers, workers

# isort: split
from lazyarray.runtime.floating import tells
from lazyarray.runtime.pool import allocate

# Elements from which sharing out saves more than it costs: 0.1 ms in NumPy, and 1 ms by threads of Python.
SHARED_FROM: Final = 1 << 15
LEAST: Final = 1 << 18
LOOPS: Final = ("fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft")

_functions: dict[str, Any] = {}
_lock = threading.RLock()


class _Workers:
    """Threads that run NumPy's loops, which let go of the interpreter's lock; made when first wanted."""

    pool: Any = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: setattr(_Workers, "pool", None))


def threads() -> int:
    """How many threads share the work."""
    if config.num_threads is not None:
        return config.num_threads
    return processors.usable()


def shared_out(loop: Any) -> Callable[..., Any]:
    """The loop over the lines of an array along one axis, on several threads where there is much to do."""

    def run(a: Any, factor: Any, axes: Any, out: Any) -> Any:
        count = threads()
        if count < 2 or a.size < SHARED_FROM or type(out) is not np.ndarray or np.may_share_memory(a, out):
            return loop(a, factor, axes=axes, out=out)
        raised = run_by_backend(loop, a, factor, axes[0][0], out)
        if raised is None:
            raised = run_by_python(loop, a, factor, axes, out, count)
        if raised is None or (raised and tells()):
            # What is to be told is told on the thread that asked, under its error state.
            return loop(a, factor, axes=axes, out=out)
        return out

    return run


def run_by_backend(loop: Any, a: Any, factor: Any, axis: int, out: Any) -> bool | None:
    """Whether the backend's workers met floating-point errors when they ran the loop; None where they cannot."""
    share = workers()
    if share is None:
        miss_workers(a.size)
    kind = type(factor)
    if share is None or (
        kind not in (int, float) and (not isinstance(factor, np.floating | np.ndarray) or factor.ndim)
    ):
        return None
    # With a number of Python's for a factor NumPy computes complex64 in complex128.
    taken = loop.resolve_dtypes((a.dtype, kind if kind in (int, float) else factor.dtype, None))
    if taken[0] != a.dtype or taken[2] != out.dtype:
        return None
    lines = lines_of(loop, a, float(factor), out, axis)
    if lines is None or count_in(lines) < 2:
        return None
    share(runner(), address_in(lines), count_in(lines))
    return raised_in(lines)


def run_by_python(loop: Any, a: Any, factor: Any, axes: Any, out: Any, count: int) -> bool | None:
    """Whether `count` threads of Python met floating-point errors; None where there is too little for them to do."""
    rest = [axis for axis in range(a.ndim) if axis != axes[0][0]]
    widest = max(rest, key=a.shape.__getitem__, default=None)
    if a.size < LEAST or widest is None or a.shape[widest] < 2 * count or out.shape[widest] != a.shape[widest]:
        return None
    before = (slice(None),) * widest
    watched: Any = {kind: told if told == "ignore" else "raise" for kind, told in np.geterr().items()}

    def transform(part: int) -> bool:
        first, last = (a.shape[widest] * k // count for k in (part, part + 1))
        lines = (*before, slice(first, last))
        with np.errstate(**watched):
            try:
                loop(a[lines], factor, axes=axes, out=out[lines])
            except FloatingPointError:
                return True
        return False

    pool = python_threads()
    others = [pool.submit(transform, part) for part in range(1, count)]
    try:
        raised = transform(0)
    finally:
        wait(others)
    return raised or any([other.result() for other in others])


def empty_like(a: Any, dtype: Any = None, shape: Any = None, **options: Any) -> Any:
    """NumPy's `empty_like`, in pooled memory: pages that are new to the process take as long as the transform."""
    if options or shape is None or type(a) is not np.ndarray or not a.flags.c_contiguous:
        return np.empty_like(a, dtype, shape=shape, **options)
    return allocate(shape, a.dtype if dtype is None else dtype)


def wait(jobs: list[Any]) -> None:
    """Returns when all jobs have ended, however they did."""
    for job in jobs:
        job.exception()


def python_threads() -> Any:
    """The pool of threads of Python's."""
    from concurrent.futures import ThreadPoolExecutor  # here, since importing it takes 5 ms

    with _lock:
        if _Workers.pool is None:
            _Workers.pool = ThreadPoolExecutor(max(threads() - 1, 1), "lazyarray-fft")
        return _Workers.pool


def function_of(name: str) -> Any:
    """NumPy's `numpy.fft` function of the name, with its loops shared out; None where NumPy is written otherwise."""
    if not _functions:
        from numpy.fft import _pocketfft

        names: dict[str, Any] = dict(vars(_pocketfft))
        loops = names.get("pfu")
        if loops is None or not all([hasattr(loops, loop) for loop in LOOPS]):  # before NumPy 2.0
            _functions[""] = None
            return None
        names["pfu"] = SimpleNamespace(**{loop: shared_out(getattr(loops, loop)) for loop in LOOPS})
        names["empty_like"] = empty_like
        for known, item in list(names.items()):
            source = getattr(item, "_implementation", item)
            if isinstance(source, FunctionType) and source.__module__ in (_pocketfft.__name__, "numpy.fft"):
                names[known] = _functions[known] = in_space(source, names)
    return _functions.get(name)
