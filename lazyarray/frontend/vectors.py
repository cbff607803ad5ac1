"""Owns how Python calls public objects: in C with the arguments where the interpreter has them, in no tuple or dict.

As `native/primitives.py`: these functions in the hot modules' Python form, those of `vectors.pxd` in the compiled one.
"""

from __future__ import annotations

from typing import Any


def begin(_made: Any) -> None:
    """Has Python call the ufunc or function that NumPy has in C the short way."""


def serving(function: Any, _source: Any, _guard: int) -> Any:
    """The public function or method, some arguments of which (`callables.py`) go to NumPy's `_source` first."""
    return function


def drawing(function: Any, _source: Any, _guard: int, _for_package: Any, _plain: Any) -> Any:
    """A generator's method: `function`, but for numbers, which go to NumPy's `_source` first (`callables.py`).

    `_for_package`: what installed packages call that do not know lazyarray (`callers.py`). `_plain`: gives NumPy's
    generator in the place of one, or None.
    """
    return function


def of_ufuncs(function: Any, _source: Any) -> Any:
    """A method of ufuncs: `function`, but for small arguments, which go to `_source`, that of NumPy's class."""
    return function
