"""Owns the entry point of the device "cuda": while CuPy is imported, the compiler gets ready, if it will be wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lazyarray.runtime import backend

if TYPE_CHECKING:
    from lazyarray_cupy.device import Device

COMPILER: Final = "triton"


def open_device(number: int) -> Device:
    """The GPU of that number."""
    compiler: Any = backend.load(COMPILER)
    expect = getattr(compiler, "expect", None)
    if expect is not None:
        expect()
    from lazyarray_cupy import device

    return device.open_device(number)
