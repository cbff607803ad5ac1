"""Owns `Root`: the fields of what arrays and their views share, reached without a look-up.

One of the modules that may run compiled (see `lazyarray/native`); `buffer.py` says what the fields mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyarray.ir.node import Node, Spec  # cimport


class Root:
    """Storage of an array and its views."""

    __slots__ = ("fixed", "lends", "lent", "memory", "node", "owner", "peeks", "pinned", "spec")

    def __init__(self, node: Node) -> None:
        self.spec: Spec = node.key.spec
        self.node: Node | None = node
        self.memory: Any = None
        self.pinned = self.fixed = False
        self.peeks = 0
        self.owner: Callable[[], Any] | None = None
        self.lends = True
        self.lent: list[Any] = []
