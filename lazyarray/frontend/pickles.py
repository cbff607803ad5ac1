"""Owns how arrays are pickled: as NumPy's are, but they come back as lazyarray's."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyarray.frontend import array as core


def reduce(array: Any) -> tuple[Any, ...]:
    """`array.__reduce__()`: the class, and the state that `__setstate__` takes."""
    memory: Any = core.read_only(array)
    _, (_, *rest), state = memory.__reduce__()
    return begin, (core.ndarray, *rest), state


def reduce_with(array: Any, protocol: Any) -> tuple[Any, ...]:
    """`array.__reduce_ex__(protocol)`: from protocol 5 on contiguous memory is a buffer, which may go out of band."""
    memory: Any = core.to_numpy(array)
    found: tuple[Any, ...] = memory.__reduce_ex__(protocol)
    return (from_buffer, *found[1:]) if len(found) == 2 else reduce(array)


def begin(cls: type, shape: Any, kind: Any) -> Any:
    """An array for `__setstate__` to fill."""
    return core.plain(np.empty(shape, kind))


def from_buffer(*args: Any) -> Any:
    """An array over the buffer of a pickle."""
    made = np._core.numeric._frombuffer(*args)  # type: ignore[attr-defined]
    return core.plain(made)
