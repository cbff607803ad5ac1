"""Owns how code is answered by who it is: protocols that NumPy is refused, and classes; in C after one look at it.

As `shared.py`: these functions in the hot modules' Python form, those of `protocols.pxd` in the compiled one.
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


def guard_class(
    cls: type, theirs: type, seen: Callable[[FrameType, type, type], type], put: Callable[[Any, Any], None]
) -> None:
    """Has `cls` answer for `__class__` as `seen(frame, own, theirs)` does, which looks at a code once.

    `isinstance` asks for it with every class that an array is not of. In this form the class keeps its property.
    """
