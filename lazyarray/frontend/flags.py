"""Owns `Flags`: NumPy's flags object for arrays whose memory is not NumPy's yet, or belongs to a pool."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from lazyarray.frontend import owners
from lazyarray.frontend.naming import Named, name_as_in_c, refuse_deleting, refuse_setting
from lazyarray.frontend.reforming import make_plain
from lazyarray.ir.index_map import IndexMap, c_strides
from lazyarray.ir.node import Shape, Spec

_TYPE: Final[type] = type(np.empty(0).flags)
_OWNER: Final = f"{_TYPE.__module__}.{_TYPE.__qualname__}"
_LETTERS: Final = {
    "C": "c_contiguous",
    "CONTIGUOUS": "c_contiguous",
    "C_CONTIGUOUS": "c_contiguous",
    "F": "f_contiguous",
    "FORTRAN": "f_contiguous",
    "F_CONTIGUOUS": "f_contiguous",
    "O": "owndata",
    "OWNDATA": "owndata",
    "W": "writeable",
    "WRITEABLE": "writeable",
    "A": "aligned",
    "ALIGNED": "aligned",
    "X": "writebackifcopy",
    "WRITEBACKIFCOPY": "writebackifcopy",
    "B": "behaved",
    "BEHAVED": "behaved",
    "CA": "carray",
    "CARRAY": "carray",
    "FA": "farray",
    "FARRAY": "farray",
    "FNC": "fnc",
    "FORC": "forc",
}
_SETTABLE: Final = frozenset({"writeable", "aligned", "writebackifcopy"})
_OWNS, _WRITES = 0x0004, 0x0400  # NPY_ARRAY_OWNDATA, NPY_ARRAY_WRITEABLE (numpy/ndarraytypes.h)


# By whether arrays lie in C and in Fortran order.
_LIKE: Final = {
    (True, True): np.empty(1).flags,
    (True, False): np.empty((2, 2)).flags,
    (False, True): np.empty((2, 2), order="F").flags,
    (False, False): np.empty((4, 2))[::2].flags,
}


def _without_gaps(extents: Shape, strides: tuple[int, ...]) -> bool:
    """Whether axes, the fastest first, follow on each other without gaps (`_UpdateContiguousFlags`, flagsobject.c)."""
    if 0 in extents:
        return True
    step = 1
    for extent, stride in zip(extents, strides, strict=True):
        if extent != 1:
            if stride != step:
                return False
            step *= extent
    return True


@functools.lru_cache(1024)
def _flags_like(spec: Spec, view: IndexMap | None, part: str | None) -> Any:
    """The flags of a small array that lies in memory as a map shows a root of this shape, or a part of its numbers."""
    shape, strides = (spec.shape, c_strides(spec.shape)) if view is None else (view.shape, view.strides)
    if part is not None:
        strides = tuple([2 * stride for stride in strides])  # a complex number holds two
    return _LIKE[_without_gaps(shape[::-1], strides[::-1]), _without_gaps(shape, strides)]


class Flags(metaclass=Named):
    """What NumPy's flags would say of the array."""

    __slots__ = ("_array",)
    __module__ = _TYPE.__module__
    __qualname__ = _TYPE.__qualname__
    __hash__: Any = None

    def __init__(self, array: Any) -> None:
        self._array = array

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return _TYPE

    @property
    def _real(self) -> Any:
        # Of a small array that lies in memory alike.
        array = self._array
        if array._np is not None:
            return array._np.flags
        if array._node is not None:
            return _flags_like(array._node.key.spec, None, None)
        return _flags_like(array._base.spec, array._map, array._part)

    @property
    def owndata(self) -> bool:
        array = self._array
        return (array._np is None and array._node is not None) or owners.base_of(array) is None

    @property
    def writeable(self) -> bool:
        array = self._array
        if array._np is not None:
            return bool(array._np.flags.writeable)
        return array._node is not None or not array._fixed

    @writeable.setter
    def writeable(self, allowed: Any) -> None:
        self._array.setflags(write=bool(allowed))

    @property
    def aligned(self) -> bool:
        return bool(self._real.aligned)

    @aligned.setter
    def aligned(self, allowed: Any) -> None:
        self._array.setflags(align=bool(allowed))

    @property
    def writebackifcopy(self) -> bool:
        return bool(self._real.writebackifcopy)

    @writebackifcopy.setter
    def writebackifcopy(self, allowed: Any) -> None:
        self._array.setflags(uic=bool(allowed))

    @property
    def _warn_on_write(self) -> bool:
        raise AttributeError("attribute '_warn_on_write' of '" + _OWNER + "' objects is not readable")

    @_warn_on_write.setter
    def _warn_on_write(self, allowed: Any) -> None:
        make_plain(self._array).flags._warn_on_write = allowed  # type: ignore[attr-defined]

    @property
    def num(self) -> int:
        real = int(self._real.num) & ~(_OWNS | _WRITES)
        return real | (_OWNS if self.owndata else 0) | (_WRITES if self.writeable else 0)

    def __getitem__(self, name: Any) -> Any:
        word = name.decode("latin-1") if isinstance(name, bytes) else name
        if not isinstance(word, str) or word not in _LETTERS:
            raise KeyError("Unknown flag")
        return getattr(self, _LETTERS[word])

    def __setitem__(self, name: Any, allowed: Any) -> None:
        if not isinstance(name, str) or _LETTERS.get(name) not in _SETTABLE:
            raise KeyError("Unknown flag")
        setattr(self, _LETTERS[name], allowed)

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, operator.ne)

    def _compare(self, other: Any, compare: Callable[[Any, Any], Any]) -> Any:
        theirs: Any = other
        return compare(self.num, theirs.num) if isinstance(other, _TYPE) else NotImplemented

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)


def _reading(name: str) -> property:
    def read(self: Flags) -> bool:
        if name in ("behaved", "carray") and not self.writeable:
            return False
        return bool(getattr(self._real, name))

    return property(read)


for _name in ("behaved", "c_contiguous", "carray", "contiguous", "f_contiguous", "farray", "fnc", "forc", "fortran"):
    setattr(Flags, _name, _reading(_name))


refuse_setting(Flags, _OWNER)
refuse_deleting(Flags, _OWNER, {name: f"flags {name} attribute" for name in _SETTABLE})
name_as_in_c(Flags)
