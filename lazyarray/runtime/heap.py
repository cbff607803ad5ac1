"""Owns where NumPy's own arrays lie, and what the C library is told about memory that they come from and go back to.

Small arrays run in NumPy (`docs/evaluation.md`), whose memory is `malloc`'s: it begins 16 bytes after a cache line
where it is large, and anywhere where it is not. Every load of 64 bytes then reads two lines: with AVX-512, adding two
arrays of 10,000 float64 takes NumPy 3.7 us so, and 2.0 us at lines; a dot product 2.0 and 1.3.

glibc gives blocks of 128 KiB and more
back to the system when they are freed, and whatever lies free at the heap's end beyond twice that: each temporary of
a loop over 150 x 150 arrays is then cleared page by page again, at several times what its arithmetic costs. Both
limits follow the largest block that was freed so far (mallopt(3), "dynamic mmap threshold"), up to 32 MiB: it is a
matter of chance whether a program has come there.
"""

from __future__ import annotations

import os
import sys
from typing import Final

import numpy as np

# The build reads such imports by the line.
# isort: split
from lazyarray.native.placement import place_at_lines  # cimport

# Freed once: blocks of less stay in the heap from then on, and twice as much at its end. Eight times the largest array
# that NumPy runs by default; from 4 MiB on NumPy asks for large pages, which cost less to clear.
KEPT: Final = 8 << 20


def keep_freed_memory() -> None:
    """Makes glibc keep what NumPy's arrays free, as if the program had freed an array of `KEPT` bytes.

    No page is touched. Without effect on other C libraries, and where MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_
    are set.
    """
    np.empty(KEPT, np.uint8)


def lay_at_lines() -> bool:
    """Whether arrays of 2 KiB and more that NumPy makes from now on, in this thread's context, begin at cache lines.

    Not in the Python form, with `LAZYARRAY_ALIGN=0`, or where an allocator of somebody else's is at work (NEP 49).
    """
    if os.environ.get("LAZYARRAY_ALIGN") == "0":
        return False
    return bool(place_at_lines(_wants_large_pages()))


def _wants_large_pages() -> bool:
    """Whether NumPy asks for large pages, as NUMPY_MADVISE_HUGEPAGE has it."""
    core = sys.modules.get("numpy._core.multiarray") or sys.modules.get("numpy.core.multiarray")
    change = getattr(core, "_set_madvise_hugepage", None)
    if change is None:
        return False
    wanted = bool(change(True))
    change(wanted)
    return wanted
