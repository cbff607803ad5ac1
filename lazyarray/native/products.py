"""Owns products of vectors and matrices in NumPy's memory: in C BLAS, by NumPy's loops, without its look at operands.

As `loops.py`: the functions of the hot modules' Python form, those of `products.pxd` in the compiled one.
"""

from __future__ import annotations

from typing import Any


def run_product(matmul: Any, a: Any, b: Any) -> Any:
    """`matmul(a, b)` of NumPy arrays."""
    return matmul(a, b)
