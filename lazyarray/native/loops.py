"""Owns calls of NumPy's ufuncs on memory that its inner loops take as it is: in C those loops alone, without the rest.

As `primitives.py`: these functions in the hot modules' Python form, those of `loops.pxd` in the compiled one. There the
loops that NumPy would choose run on the operands where they lie, into memory of NumPy's; what raised floating-point
errors is told by NumPy. Left to the ufunc: operands of several dtypes, results that are not in C order, and the like.
"""

from __future__ import annotations

from typing import Any


def run_unary(ufunc: Any, a: Any) -> Any:
    """`ufunc(a)` of a NumPy array."""
    return ufunc(a)


def run_numbers(ufunc: Any, x: Any, y: Any) -> Any:
    """`ufunc` of one number, or two, that it computes as float64; `y` is None for one."""
    return ufunc(x) if y is None else ufunc(x, y)


def doubles_of(a: Any) -> Any:
    """A NumPy array as float64 where that is what functions of floats make of its integers; others as they are."""
    return a


def run_binary(ufunc: Any, a: Any, b: Any) -> Any:
    """`ufunc(a, b)` of NumPy arrays, or of one and a number."""
    return ufunc(a, b)


def run_into(ufunc: Any, a: Any, b: Any) -> Any:
    """`ufunc(a, b, a)`: the work of an augmented assignment."""
    return ufunc(a, b, a)
