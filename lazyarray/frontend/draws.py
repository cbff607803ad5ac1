"""Owns long draws of uniform random numbers: NumPy's stream, its parts shared out to the backend's workers.

A PCG64, which `default_rng` makes, takes one step for each number of float64, and any number of steps at once: where a
part begins is known ahead. Results and the generator's state afterwards are NumPy's.

One of the modules that may run compiled (see `lazyarray/native`); only there it is that numbers are drawn.
"""

from __future__ import annotations

import math
import platform
from typing import Any, Final

import numpy as np

from lazyarray.frontend.callables import FEW_DRAWN
from lazyarray.frontend.shares import run_parts

# The build reads such imports by the line.
# isort: split
from lazyarray.native.streams import draws_of  # cimport

# isort: split
from lazyarray.runtime.pool import allocate

LEAST: Final = FEW_DRAWN
# Elsewhere compilers may have fused the multiplication and addition of NumPy's `uniform`.
_ROUNDS_TWICE: Final = platform.machine().lower() in ("x86_64", "amd64")
_LOWER: Final = (1 << 64) - 1
_FLOAT: Final = np.dtype(np.float64)


def random(generator: Any, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
    """`Generator.random`; None where NumPy is to draw."""
    if out is not None or (dtype is not np.float64 and dtype is not float):
        return None
    return _drawn(generator, size, 0.0, 1.0, False)


def uniform(generator: Any, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    """`Generator.uniform` between two numbers of Python's; None where NumPy is to draw."""
    if type(low) not in (int, float) or type(high) not in (int, float) or not _ROUNDS_TWICE:
        return None
    try:
        low, width = float(low), float(high) - float(low)
    except OverflowError:
        return None
    return _drawn(generator, size, low, width, True) if math.isfinite(width) and width >= 0.0 else None


def _drawn(generator: Any, size: Any, low: float, width: float, scaled: bool) -> Any:
    shape = size if type(size) is tuple else (size,)
    count = 1
    for extent in shape:
        if type(extent) is not int or extent < 0:
            return None
        count *= extent
    if count < LEAST:
        return None
    bits = generator.bit_generator
    if not isinstance(bits, np.random.PCG64):
        return None
    out = allocate(shape, _FLOAT)
    # The lock is held as long as the state is moved: whoever draws next has other numbers than these.
    with bits.lock:
        known = bits.state
        if known.get("bit_generator") != "PCG64":
            return None
        state, step = known["state"]["state"], known["state"]["inc"]
        draws = draws_of(out, (state >> 64, state & _LOWER), (step >> 64, step & _LOWER), low, width, scaled)
        if draws is None:
            return None
        bits.advance(count)  # this forgets half a word that is left, which draws of float64 leave
        bits.state = {**bits.state, "has_uint32": known["has_uint32"], "uinteger": known["uinteger"]}
    run_parts(draws, count)
    return out
