"""Owns the distinct elements of many integers, and the functions on sets that begin by finding them.

NumPy puts integers into a hash table and sorts what that holds (since 2.3): a million different ones take it half a
second, where sorting all of them takes ten milliseconds. What is returned is the same.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import FEW_SEARCHED
from lazyarray.frontend.renamed import with_names
from lazyarray.frontend.sorts import sort

NAMES: Final = frozenset({"unique", "union1d", "intersect1d", "setdiff1d", "setxor1d"})
# Of fewer bytes the table is small and quick.
_SORTED: Final = frozenset(map(np.dtype, ("i4", "u4", "i8", "u8")))
_functions: dict[str, Any] = {}


def unique(ar: Any, *args: Any, **options: Any) -> Any:
    """NumPy's; of integers alone their sorted distinct ones."""
    if args or options or type(ar) is not np.ndarray or ar.size < FEW_SEARCHED or ar.dtype not in _SORTED:
        return np.unique(ar, *args, **options)
    rising = sort(ar, None)
    first = np.empty(rising.shape, bool)
    first[0] = True
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return rising[first]


def function_of(name: str) -> Any:
    """NumPy's function of the name with `unique` from here; None where NumPy is written otherwise."""
    if not _functions:
        _functions["unique"] = unique
        for known in NAMES - {"unique"}:
            _functions[known] = with_names(getattr(np, known), {"unique": unique})
    return _functions.get(name)
