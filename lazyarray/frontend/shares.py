"""Owns who runs the parts of a record of C's (see `native/lines.py`): the backend's workers, or this thread."""

from __future__ import annotations

from typing import Any, Final

# The build reads such imports by the line.
# isort: split
from lazyarray.native.lines import address_in, count_in, run_alone, runner  # cimport
from lazyarray.runtime.backend import miss_workers, workers

SHARED_FROM: Final = 1 << 14  # a few nanoseconds each, from which sharing out saves more than it costs
_LONG: Final = 1 << 18  # from which it does though workers sleep


def run_parts(record: Any, size: int) -> None:
    """Runs all parts, which take a few nanoseconds for each of `size`."""
    share = workers() if size >= SHARED_FROM else None
    if share is not None:
        share(runner(), address_in(record), count_in(record), size >= _LONG)
        return
    miss_workers(size)
    run_alone(record)
