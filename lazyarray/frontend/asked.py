"""Owns how NumPy asks arrays: in C what it usually asks, `__array_ufunc__` and `__array_function__` of small operands.

As `vectors.py`: these functions in the hot modules' Python form, those of `asked.pxd` in the compiled one.
"""

from __future__ import annotations

from typing import Any


def asking(function: Any, _ufuncs: Any, _kind: Any) -> Any:
    """An array's `__array_ufunc__`: `function`, but for small operands, which go to what `_ufuncs` has for NumPy's."""
    return function


def asking_functions(function: Any, _functions: Any, _kind: Any) -> Any:
    """An array's `__array_function__`: `function`, but for what `_functions` has by NumPy's, which are of the kind."""
    return function
