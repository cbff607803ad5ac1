"""Owns the C slot through which CPython iterates over what has `__getitem__` and is no sequence.

NumPy's scalars can be indexed with `()`, and neither have `__iter__` nor can be iterated over: programs ask both ways
whether they hold a scalar. A class written in Python cannot say so, since `__getitem__` fills a slot (`sq_item`) that
makes its instances iterable, and `__iter__ = None` is found by `hasattr`. So the slot is emptied, as it is in NumPy's
classes; where the layout of classes is not the known one, nothing is done.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

_WORD: Final = ctypes.sizeof(ctypes.c_void_p)
# `tp_as_sequence` in PyTypeObject, and `sq_item` in PySequenceMethods (CPython's Include/cpython/object.h).
_SEQUENCE: Final = 104
_ITEM: Final = 3 * _WORD


class _Probe:
    def __getitem__(self, key: Any) -> Any:
        return key


def stop_iteration(cls: type) -> bool:
    """Makes instances of the class no iterables though they have `__getitem__`; False where that cannot be."""
    if sys.implementation.name != "cpython" or _WORD != 8:
        return False
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return False  # objects begin with another header
    if not _empty(_Probe):
        return False
    try:
        iter(_Probe())
    except TypeError:
        return _Probe()[()] == () and _empty(cls)
    return False


def _empty(cls: type) -> bool:
    methods = ctypes.c_size_t.from_address(id(cls) + _SEQUENCE).value
    size: Any = type.__basicsize__
    if not id(cls) < methods < id(cls) + size or methods % _WORD:
        return False
    item = ctypes.c_size_t.from_address(methods + _ITEM)
    # CPython fills the slot of all such classes with one function.
    expected = ctypes.c_size_t.from_address(ctypes.c_size_t.from_address(id(_Known) + _SEQUENCE).value + _ITEM).value
    if not item.value or item.value != expected:
        return False
    item.value = 0
    return True


class _Known:
    def __getitem__(self, key: Any) -> Any:
        return key
