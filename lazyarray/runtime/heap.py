"""Owns what the C library is told about memory that NumPy's own arrays come from and go back to.

Small arrays run in NumPy (`docs/evaluation.md`), whose memory is `malloc`'s. glibc gives blocks of 128 KiB and more
back to the system when they are freed, and whatever lies free at the heap's end beyond twice that: each temporary of
a loop over 150 x 150 arrays is then cleared page by page again, at several times what its arithmetic costs. Both
limits follow the largest block that was freed so far (mallopt(3), "dynamic mmap threshold"), up to 32 MiB: it is a
matter of chance whether a program has come there.
"""

from __future__ import annotations

from typing import Final

import numpy as np

# Freed once: blocks of less stay in the heap from then on, and twice as much at its end. Eight times the largest array
# that NumPy runs by default; from 4 MiB on NumPy asks for large pages, which cost less to clear.
KEPT: Final = 8 << 20


def keep_freed_memory() -> None:
    """Makes glibc keep what NumPy's arrays free, as if the program had freed an array of `KEPT` bytes.

    No page is touched. Without effect on other C libraries, and where MALLOC_MMAP_THRESHOLD_ or MALLOC_TRIM_THRESHOLD_
    are set.
    """
    np.empty(KEPT, np.uint8)
