"""Owns dtype codes in Triton's words: types of values, of memory and of arguments, and literals."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

Class: TypeAlias = Literal["bool", "integer", "half", "float", "complex"]

PARTS: Final = {"c8": "f4", "c16": "f8"}
VALUE: Final = {
    "b1": "tl.int1", "i1": "tl.int8", "i2": "tl.int16", "i4": "tl.int32", "i8": "tl.int64",
    "u1": "tl.uint8", "u2": "tl.uint16", "u4": "tl.uint32", "u8": "tl.uint64",
    "f2": "tl.float16", "f4": "tl.float32", "f8": "tl.float64",
}  # fmt: skip
# Booleans are bytes in memory; a complex64 is read as one word of 8 bytes, a complex128 as two of them.
POINTER: Final = {
    "b1": "*u8", "i1": "*i8", "i2": "*i16", "i4": "*i32", "i8": "*i64", "u1": "*u8", "u2": "*u16", "u4": "*u32",
    "u8": "*u64", "f2": "*fp16", "f4": "*fp32", "f8": "*fp64", "c8": "*i64", "c16": "*fp64",
}  # fmt: skip
# Types of scalar arguments: small ones travel in 32 bits, half floats as floats.
SCALAR: Final = {
    "b1": "i32", "i1": "i32", "i2": "i32", "i4": "i32", "i8": "i64", "u1": "u32", "u2": "u32", "u4": "u32",
    "u8": "u64", "f2": "fp32", "f4": "fp32", "f8": "fp64",
}  # fmt: skip


def class_of(code: str) -> Class:
    if code == "b1":
        return "bool"
    if code == "f2":
        return "half"
    return "integer" if code[0] in "iu" else "float" if code[0] == "f" else "complex"


def itemsize(code: str) -> int:
    return int(code[1:])


def part(code: str) -> str:
    """The dtype of a complex dtype's parts; others are their own."""
    return PARTS.get(code, code)


def unit(code: str) -> int:
    """Bytes of what a pointer to elements of a dtype counts."""
    return min(itemsize(code), 8)


def words(code: str) -> int:
    """How many units an element has."""
    return itemsize(code) // unit(code)


def in_units(place: str, code: str) -> str:
    """A number of elements as one of units."""
    return f"({place}) * {words(code)}" if words(code) > 1 else place


def literal(value: complex, code: str) -> str:
    """A Python number as a scalar of a real dtype."""
    if code == "b1":
        return f"tl.full([], {int(bool(value))}, tl.int1)"
    if code[0] in "iu":
        return f"tl.full([], {int(value.real)}, {VALUE[code]})"
    number = float(value.real)
    if number == 0 and math.copysign(1, number) < 0:
        # Some releases of Triton make every constant that equals 0 a positive zero.
        bits = 8 * itemsize(code)
        return f"tl.full([], {-(1 << bits - 1)}, tl.int{bits}).to({VALUE[code]}, bitcast=True)"
    spelled = repr(number) if math.isfinite(number) else f'float("{number}")'
    return f"tl.full([], {spelled}, {VALUE[code]})"
