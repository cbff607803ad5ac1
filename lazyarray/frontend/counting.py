"""Owns counts on which shapes depend: how many elements of a mask are true, counted where the mask lies."""

from __future__ import annotations

from typing import Final

import numpy as np

from lazyarray.frontend.record import cast_, reduce_
from lazyarray.ir.node import Node
from lazyarray.runtime import evaluate as boundary
from lazyarray.runtime.device import in_use
from lazyarray.runtime.ledger import ledger

LARGE: Final = 1 << 18  # elements from which counting them in NumPy takes longer than a reduction more in a kernel
COUNTED: Final = "a shape follows from the number of true elements"


def look(reason: str) -> None:
    """Tells who records (`jit`) that what is recorded next depends on values, even if those lie in memory."""
    for refuse in ledger.refusing:
        refuse("evaluation", reason)


def count_true(mask: Node) -> int:
    """How many elements of the mask are true; it is evaluated."""
    look(COUNTED)
    spec = mask.key.spec
    if mask.data is None and spec.size and spec.ndim and (spec.size >= LARGE or in_use()):
        # With the mask, which is wanted next: one evaluation for both, and one pass over memory.
        total = reduce_("sum", cast_(mask, np.dtype(np.int64)), tuple(range(spec.ndim)))
        boundary.evaluate((mask, total), COUNTED, stay=True)
        boundary.evaluate((total,), COUNTED)
        assert total.data is not None
        return int(total.data[()])
    boundary.evaluate((mask,), COUNTED)
    assert mask.data is not None
    return int(np.count_nonzero(mask.data))
