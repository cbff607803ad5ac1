"""Owns calls of compiled kernels, alone and by a pool's workers.

As `primitives.py`: these in the hot modules' Python form, those of `launches.pxd` in the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable


def run_shared(
    run: Callable[..., object], entry: int, pool: int, function: int, arguments: int, tasks: int, grain: int,
    shares: int, first: int,
) -> None:  # fmt: skip
    """A pool's launch of a kernel: `run`, whose machine code is at `entry`. Others may run Python meanwhile."""
    run(pool, function, arguments, tasks, grain, shares, first)


def tell(address: int) -> None:
    """Puts 1 into the int32 at an address."""
    from ctypes import c_int32

    c_int32.from_address(address).value = 1


def run_alone(call: Callable[..., object], function: int, arguments: int, first: int, past: int) -> None:
    """A kernel on one range in this thread: what `call` does. Others may run Python meanwhile."""
    call(function, arguments, first, past)
