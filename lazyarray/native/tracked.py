"""Owns handing an object to the garbage collector again after `gc.freeze`: C's side stands in `tracked.pxd`."""

from __future__ import annotations

from typing import Any


def track_again(one: Any) -> bool:
    """Whether the object, if the collector tracks it, is among its young ones now: Python cannot do that."""
    return False
