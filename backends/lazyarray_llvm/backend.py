"""The LLVM backend's entry: kernels to programs, bands of programs, and ufuncs for small arrays.

What compiles and launches is imported when the first kernel comes: programs of small arrays do without.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lazyarray.ir.ops import OPS
from lazyarray.runtime.ledger import ledger
from lazyarray_llvm import engine

if TYPE_CHECKING:
    from lazyarray.schedule.bands import Bands
    from lazyarray.schedule.kernel import Kernel
    from lazyarray.schedule.plan import KernelStep
    from lazyarray_llvm.banded import BandedLaunch
    from lazyarray_llvm.program import Program
    from lazyarray_llvm.threads import Pool


def _pool() -> Pool:
    from lazyarray_llvm.threads import get_pool

    return get_pool()


class Backend:
    """Compiles kernels with LLVM; programs are kept by their kernel for the life of the process."""

    name = "llvm"

    def __init__(self) -> None:
        self._programs: dict[Kernel, Program] = {}

    def compile(self, kernel: Kernel) -> Program:
        """The program of a kernel, from memory, from disk or compiled now."""
        program = self._programs.get(kernel)
        if program is None:
            from lazyarray_llvm.program import Program

            program = self._programs[kernel] = Program(kernel)
        return program

    def foresee(self, kernels: Iterable[tuple[Kernel, tuple[int, ...], bool]]) -> None:
        """Begins to compile kernels that are going to be run at these extents, watched or not, if several are new."""
        threads_beside = _pool().nthreads - 1
        if threads_beside < 1:
            return
        missing: dict[tuple[Program, bool], tuple[int, ...]] = {}
        for kernel, extents, watched in kernels:
            program = self.compile(kernel)
            form = program, watched
            if form not in missing and not program.blind and program.is_missing(extents or (1,), watched):
                missing[form] = extents or (1,)
        if len(missing) > 1:
            start = time.perf_counter()
            for (program, watched), extents in missing.items():
                program.expect(extents, watched, threads_beside)
            ledger.emitted(time.perf_counter() - start, start)

    def workers(self) -> int:
        """How many threads launches run on."""
        return _pool().nthreads

    def banded(self, steps: Sequence[KernelStep], bands: Bands) -> BandedLaunch | None:
        """What runs the kernels of these steps in bands; None where NumPy's loops run in one of them."""
        programs = [self.compile(step.kernel) for step in steps]
        if any([program.loops for program in programs]):
            return None
        from lazyarray_llvm.banded import BandedLaunch

        return BandedLaunch(programs, steps, bands)

    def eager_ufunc(self, op: str) -> np.ufunc | None:
        """A ufunc with the bits of compiled kernels, for the transcendental ops; for others NumPy's own has them."""
        if not OPS[op].transcendental:
            return None
        from lazyarray_llvm import eager

        return eager.eager_ufunc(op)

    def quicker_loop(self, op: str, code: str, number: bool) -> int:
        """The address of an inner loop to run in the place of NumPy's, with its bits; 0 where there is none.

        `number`: the second operand is one.
        """
        from lazyarray_llvm import eager

        return eager.quicker_loop(op, code, number)

    def runs_numpy_loop(self, op: str, codes: tuple[str, ...]) -> bool:
        """Whether kernels can run NumPy's own inner loop of an op for arguments and result of these dtypes."""
        from lazyarray_llvm.numpy_calls import runs_numpy_loop

        return runs_numpy_loop(op, codes)

    def about(self) -> dict[str, str]:
        """What code is generated for, as `python -m lazyarray doctor` tells it."""
        host = engine.host()
        facts = {"CPU": host.cpu, "vectors of": f"{8 * host.vector_bytes} bits", "FMA": "yes" if host.has_fma else "no"}
        return {**facts, "threads": str(_pool().nthreads)}

    def has_workers(self) -> bool:
        """Whether workers have been made: `share` does not load LLVM for one transform."""
        # Another thread may be in the middle of importing it (`warm`): then nobody has had workers.
        had_workers = getattr(sys.modules.get("lazyarray_llvm.threads"), "had_workers", None)
        return had_workers is not None and (had_workers() or _pool().nthreads == 1)

    def share(self, function: int, argument: int, tasks: int, long: bool = False) -> None:
        """Has the workers call `void function(argument, begin, end, worker)` on ranges that cover all tasks.

        `long`: they take so long that workers are woken at once.
        """
        _pool().run(function, argument, tasks, long=long)

    def warm(self) -> None:
        """Loads LLVM and makes the workers, ahead of the first kernel."""
        from lazyarray_llvm import program  # noqa: F401

        engine.host()
        _pool().start()
