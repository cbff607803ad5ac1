"""Owns `Flags`: NumPy's flags object for arrays whose memory is not NumPy's yet."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

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


class Flags:
    """What NumPy's flags would say of the array."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "_array", array)

    @property
    def _real(self) -> Any:
        # An array of the same layout over one element of memory: nothing reads it.
        array = self._array
        if 0 in array.shape:
            return np.empty(array.shape, array.dtype).flags
        element = np.empty(1, array.dtype)
        return np.lib.stride_tricks.as_strided(element, array.shape, array.strides).flags

    @property
    def owndata(self) -> bool:
        array = self._array
        return array._node is not None or (array._map is None and array._part is None)

    @property
    def writeable(self) -> bool:
        array = self._array
        return array._node is not None or not array._fixed

    @writeable.setter
    def writeable(self, allowed: bool) -> None:
        self._array.setflags(write=allowed)

    def __getattr__(self, name: str) -> Any:
        real = self._real
        if name in ("behaved", "carray", "farray") and not self.writeable:
            return False
        return getattr(real, name)

    def __getitem__(self, name: str) -> Any:
        if name not in _LETTERS:
            raise KeyError("Unknown flag")
        return getattr(self, _LETTERS[name])

    def __setitem__(self, name: str, allowed: bool) -> None:
        if name not in _LETTERS:
            raise KeyError("Unknown flag")
        setattr(self, _LETTERS[name], allowed)

    @property
    def num(self) -> int:
        real = int(self._real.num) & ~(0x0004 | 0x0400)
        return real | (0x0004 if self.owndata else 0) | (0x0400 if self.writeable else 0)

    def __eq__(self, other: Any) -> bool:
        return bool(self.num == getattr(other, "num", None))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)
