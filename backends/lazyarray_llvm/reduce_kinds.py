"""Owns how reductions run: the dtype that values have when they are combined, and the order that NumPy adds them in."""

from __future__ import annotations

from typing import Literal, TypeAlias

from lazyarray.schedule.kernel import Reduction
from lazyarray_llvm.builder import is_complex, is_float

Kind: TypeAlias = Literal["tree", "ordered", "free", "arg", "stretches"]

# NumPy sums inputs that its reduction casts by buffers of so many elements: each buffer is one pairwise sum.
BUFFER_ELEMENTS = 8192
_PAIRWISE_UNIT = {True: 4, False: 8}


def unit_elements(code: str) -> int:
    """Lanes that a pairwise sum adds side by side."""
    return _PAIRWISE_UNIT[is_complex(code)]


def sum_code(code: str) -> str:
    """The dtype that the elements of a run are added in: half floats are added as float32."""
    return "f4" if code == "f2" else code


def operand_code(reduction: Reduction, value: str) -> str:
    """The dtype that values have when they are combined."""
    if reduction.op in ("any", "all"):
        return "b1"
    return value if reduction.op in ("argmin", "argmax") else reduction.code


def kind_of(reduction: Reduction, code: str) -> Kind:
    """How a reduction along the vector axis runs; `code`: dtype of its operands."""
    inexact = is_float(code) or is_complex(code)
    if reduction.op in ("argmin", "argmax"):
        return "ordered" if is_complex(code) else "arg"
    if reduction.op in ("sum", "buffered_sum") and inexact:
        return "tree" if reduction.where is None else "stretches"
    if inexact and (reduction.op == "prod" or is_complex(code)):
        return "ordered"
    return "free"
