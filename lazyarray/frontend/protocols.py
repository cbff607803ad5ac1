"""Owns how NumPy is refused protocols that Python code may ask for: in C without a look at the same code again.

As `shared.py`: this function in the hot modules' Python form, that of `protocols.pxd` in the compiled one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import Any


def guard_protocol(
    cls: type, name: str, doc: str, answer: Callable[[Any], Any], settled: Callable[[FrameType], bool]
) -> None:
    """Has `cls` answer for the attribute as `answer` does, which raises AttributeError where NumPy asks.

    `settled` says of a frame that whenever it is where it is now nothing is asked for. In this form the property stays
    that the class has.
    """
